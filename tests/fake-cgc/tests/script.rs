//! What a script makes of the stand-in, and that its log tells what it was asked.
//!
//! It must never leave a process behind.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command as Process, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;
use steward_fake_cgc::{Behaviour, Command, Install, Rule, Script};

struct World {
    directory: tempfile::TempDir,
    install: Install,
}

impl World {
    fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let installation = directory.path().join("installation");
        let install = Install::new(&installation, Path::new(env!("CARGO_BIN_EXE_fake-cgc"))).unwrap();
        install.set_script(&Script::of(rules)).unwrap();
        fs::create_dir(directory.path().join("tree")).unwrap();
        for name in ["a.py", "b.py", "c.py"] {
            fs::write(directory.path().join("tree").join(name), "def f():\n    pass\n").unwrap();
        }
        Self { directory, install }
    }

    fn process(&self, arguments: &[&str]) -> Process {
        let mut process = Process::new(self.install.executable());
        process
            .args(arguments)
            .current_dir(self.directory.path().join("tree"))
            .env_clear()
            .env("HOME", self.directory.path())
            .stdin(Stdio::null());
        process
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.process(arguments).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "the condition did not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn calls_are_logged_with_what_they_were_given_and_how_they_ended() {
    let world = World::new([]);

    world.run(&["index", "."]);
    world.run(&["nonsense"]);

    let calls = world.install.calls().unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].command, Command::Index);
    assert_eq!(calls[0].arguments, ["index", "."]);
    assert_eq!(calls[0].directory, fs::canonicalize(world.directory.path().join("tree")).unwrap());
    assert_eq!(calls[0].environment["HOME"], world.directory.path().to_str().unwrap());
    assert_eq!(calls[0].exit, Some(0));
    assert!(calls[0].ended_ms.unwrap() >= calls[0].started_ms);
    assert_eq!((calls[1].command, calls[1].exit), (Command::Other, Some(2)));
}

#[test]
fn a_rule_for_one_call_leaves_the_next_alone() {
    let world = World::new([Rule::once(Command::Index, Behaviour::Lie)]);

    let lie = world.run(&["index", "."]);
    let truth = world.run(&["index", "."]);

    assert!(lie.status.success() && text(&lie.stdout).is_empty());
    assert!(text(&truth.stdout).contains("Successfully finished indexing"));
}

#[rstest]
#[case::at_once(None, 0)]
#[case::in_the_middle(Some(2), 2)]
fn a_crash_ends_by_its_signal_and_leaves_what_was_written(#[case] after_files: Option<usize>, #[case] written: usize) {
    let world = World::new([Rule::always(Command::Index, Behaviour::Crash { after_files, signal: 11 })]);

    let output = world.run(&["index", "."]);

    assert_eq!(output.status.signal(), Some(11));
    assert_eq!(world.install.calls().unwrap()[0].exit, None);
    let log = fs::read_to_string(world.directory.path().join(".codegraphcontext/global/db/kuzudb.wal"));
    assert_eq!(log.unwrap_or_default().matches("\"merge\"").count(), written);
}

#[test]
fn a_hang_that_ignores_signals_ends_by_nothing_but_a_kill() {
    let hang = Behaviour::Hang { after_files: Some(1), ignores_signals: true };
    let world = World::new([Rule::always(Command::Index, hang)]);
    let mut child = world.process(&["index", "."]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = Pid::from_raw(child.id().try_into().unwrap());
    let caught = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_owned();
        u64::from_str_radix(&mask, 16).unwrap() & (1 << 14) != 0
    };
    until(caught);

    kill(pid, Signal::SIGINT).unwrap();
    kill(pid, Signal::SIGTERM).unwrap();
    let other = world.run(&["list"]);
    assert!(text(&other.stdout).contains("Could not set lock on file"), "it still holds the lock");
    assert!(child.try_wait().unwrap().is_none());

    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_hang_obeys_an_interrupt() {
    let hang = Behaviour::Hang { after_files: None, ignores_signals: false };
    let world = World::new([Rule::always(Command::Query, hang)]);
    let mut child = world.process(&["query", "x"]).spawn().unwrap();
    until(|| !world.install.calls().unwrap().is_empty());

    // The log is written before the signal is caught, so that one interrupt may come too early.
    until(|| {
        kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
        true
    });

    let status = child.wait().unwrap();
    assert!(status.code() == Some(130) || status.signal() == Some(2), "{status:?}");
}

#[test]
fn a_grandchild_outlives_the_command_and_holds_its_output() {
    let world = World::new([Rule::always(Command::Index, Behaviour::Grandchild)]);
    let output = fs::File::create(world.directory.path().join("output")).unwrap();
    let status = world.process(&["index", "."]).stdout(output.try_clone().unwrap()).stderr(output).status().unwrap();
    let grandchild = || {
        fs::read_dir("/proc").unwrap().find_map(|entry| {
            let entry = entry.unwrap();
            let arguments = fs::read(entry.path().join("cmdline")).ok()?;
            let held = fs::read_link(entry.path().join("fd/1")).ok()?;
            (text(&arguments).contains("--be-a-grandchild") && held.starts_with(world.directory.path()))
                .then(|| entry.file_name().to_str().unwrap().parse::<i32>().unwrap())
        })
    };

    assert!(status.success());
    let pid = grandchild().expect("a grandchild");
    until(|| nix::unistd::getsid(Some(Pid::from_raw(pid))) == Ok(Pid::from_raw(pid)));
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    until(|| grandchild().is_none());
}

#[rstest]
#[case::garbage(Behaviour::Garbage, 0, 8)]
#[case::flood(Behaviour::Flood(3_000_000), 0, 3_000_000)]
#[case::print(Behaviour::Print { stdout: "out".into(), stderr: "error".into(), exit: 7 }, 7, 3)]
fn output_is_what_was_asked_for(#[case] behaviour: Behaviour, #[case] exit: i32, #[case] at_least: usize) {
    let world = World::new([Rule::always(Command::Index, behaviour)]);

    let output = world.run(&["index", "."]);

    assert_eq!(output.status.code(), Some(exit));
    assert!(output.stdout.len() >= at_least && output.stderr.len() >= at_least);
}

#[test]
fn additions_leave_the_work_as_it_is() {
    let world = World::new([
        Rule::always(Command::Index, Behaviour::Banner("a banner".into())),
        Rule::always(Command::Index, Behaviour::Fallback { taken: "KùzuDB at /h/kuzudb".into() }),
        Rule::always(Command::Index, Behaviour::Slow(10)),
    ]);
    let started = Instant::now();

    let output = world.run(&["index", "."]);

    assert!(started.elapsed() >= Duration::from_millis(30));
    assert!(text(&output.stdout).starts_with("a banner\n"));
    assert!(text(&output.stderr).contains("Now using KùzuDB at /h/kuzudb."));
    assert!(text(&output.stdout).contains("Successfully finished indexing"));
}
