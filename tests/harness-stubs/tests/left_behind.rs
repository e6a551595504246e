//! Proves that what a test leaves running is found, named and ended.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use steward_harness_stubs::{Scratch, Terminal, descendants, is_alive, wait_until};

const BOUND: Duration = Duration::from_secs(30);

fn quiet(program: &str) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn stub_a_marked_process_is_found_until_it_ends() {
    let scratch = Scratch::new().unwrap();
    let (name, value) = scratch.mark().variable();
    let mut child = quiet("sleep").arg("300").env(name, value).spawn().unwrap();

    let found = scratch.mark().processes();
    child.kill().unwrap();

    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].pid, child.id());
    assert!(found[0].command_line.contains("sleep"), "{found:?}");
    // Not reaped yet: what has ended does not count.
    assert!(wait_until(BOUND, || scratch.mark().processes().is_empty()));
    assert!(!is_alive(child.id()));
    child.wait().unwrap();
}

#[test]
fn stub_a_working_directory_marks_a_process_too() {
    let scratch = Scratch::new().unwrap();
    let directory = scratch.directory("below").unwrap();
    let child = quiet("sleep").arg("300").env_clear().current_dir(directory).spawn().unwrap();

    // The child changes its directory before it becomes another program, so it carries the mark from the start.
    let found = scratch.mark().processes();
    end(child);

    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn stub_a_scratch_place_fails_over_a_process_and_ends_it() {
    let mut scratch = Scratch::new().unwrap();
    scratch.set_patience(Duration::ZERO);
    let (name, value) = scratch.mark().variable();
    let mut child = quiet("sleep").arg("300").env(name, value).spawn().unwrap();

    let outcome = catch_unwind(AssertUnwindSafe(|| drop(scratch)));

    let complaint = outcome.unwrap_err().downcast::<String>().unwrap();
    assert!(complaint.contains(&format!("{} (parent", child.id())), "{complaint}");
    assert!(!child.wait().unwrap().success());
}

#[test]
fn stub_descendants_are_found_at_every_depth() {
    let scratch = Scratch::new().unwrap();
    let ready = scratch.path().join("ready");
    let script = "(sh -c 'sleep 300 & touch \"$0\"; wait' \"$0\"); true";
    let (name, value) = scratch.mark().variable();
    let child = quiet("sh").arg("-c").arg(script).arg(&ready).env(name, value).spawn().unwrap();
    assert!(wait_until(BOUND, || ready.exists()));

    let family = descendants(child.id());

    assert!(family.iter().any(|process| process.command_line == "sleep 300"), "{family:?}");
    assert!(scratch.mark().kill_all());
    end(child);
}

#[test]
fn stub_a_terminal_tells_what_stood_on_its_screen() {
    let scratch = Scratch::new().unwrap();
    let mut terminal = Terminal::start(
        "/bin/sh".as_ref(),
        &["-c", "printf 'your name? '; read name; echo \"hello $name\"; exit 3"],
        scratch.path(),
        &std::collections::BTreeMap::new(),
    )
    .unwrap();
    terminal.wait_for_text("your name?", BOUND).unwrap();

    terminal.type_line("Ada").unwrap();
    let status = terminal.wait_for_end(BOUND).unwrap();
    let error = terminal.wait_for_text("never said", BOUND).unwrap_err();

    assert_eq!(status.exit_code(), 3);
    assert!(format!("{error:?}").contains("hello Ada"), "{error:?}");
}
