//! The runner on real processes: what it passes through, what it bounds, and that a group's end is the end of all of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rstest::rstest;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Signal, kill_process};
use steward_guard::process_table;
use steward_ports::{CommandSpec, Exit, OutputLine, OutputStream, ProcessEvent, Runner, RunnerError, Stop};
use steward_process::ProcessRunner;

use crate::support::{HELPER, World, end, holds, line, wait_until};

#[rstest]
#[case::success("exit 0", Exit::Code(0))]
#[case::failure("exit 37", Exit::Code(37))]
#[case::crash("kill -SEGV $$", Exit::Signal(11))]
#[case::killed("kill -KILL $$", Exit::Signal(9))]
#[tokio::test]
async fn the_programs_end_is_passed_through(#[case] script: &str, #[case] expected: Exit) {
    let world = World::new();
    let runner = world.runner();
    let group = runner.spawn(&world.script(script)).await.unwrap();

    assert_eq!(end(&runner, group).await.exit, expected);
    assert_eq!(world.entries(), 0);
    assert!(world.living().is_empty());
}

#[tokio::test]
async fn lines_and_captures_keep_the_two_outputs_apart() {
    let world = World::new();
    let runner = world.runner();
    let script = world.script("echo one; echo two >&2; printf three");
    let group = runner.spawn(&script).await.unwrap();

    let mut lines = Vec::new();
    let ended = loop {
        match runner.next(group).await.unwrap() {
            ProcessEvent::Line(line) => lines.push(line),
            ProcessEvent::Ended(ended) => break ended,
        }
    };

    let written = |stream, text: &str| OutputLine { stream, text: text.to_owned() };
    assert_eq!(lines.len(), 3);
    assert!(lines.contains(&written(OutputStream::Stdout, "one")));
    assert!(lines.contains(&written(OutputStream::Stderr, "two")));
    assert!(lines.contains(&written(OutputStream::Stdout, "three")));
    assert_eq!(ended.stdout.text(), "one\nthree");
    assert_eq!(ended.stderr.text(), "two\n");
    assert_eq!(runner.next(group).await.unwrap(), ProcessEvent::Ended(ended));
}

#[tokio::test]
async fn the_program_gets_its_directory_and_its_environment_and_no_input() {
    let world = World::new();
    let runner = world.runner();
    let mut command = world.script("pwd; readlink /proc/$$/fd/0; env | cut -d= -f1 | sort; exit");
    command.environment.set("GIVEN", "1");
    let group = runner.spawn(&command).await.unwrap();

    let stdout = end(&runner, group).await.stdout.text();

    let directory = world.directory.path().canonicalize().unwrap();
    let expected = format!("{}\n/dev/null\nGIVEN\nPATH\nPROCESS_TEST_MARK\nPWD\nSTEWARD_GROUP\n", directory.display());
    assert_eq!(stdout, expected);
}

#[tokio::test]
async fn a_reader_that_is_behind_stops_nothing_and_the_capture_is_bounded() {
    const WRITTEN: u64 = 50 * 1024 * 1024;
    let world = World::new();
    let runner = world.runner();
    let script = world.script(&format!("yes 0123456789 | head -c {WRITTEN}; printf last"));
    let group = runner.spawn(&script).await.unwrap();
    wait_until("it ended without a reader", || world.living().is_empty()).await;

    let ended = end(&runner, group).await;

    assert_eq!(ended.exit, Exit::Code(0));
    assert_eq!(ended.stdout.head.len(), 512);
    assert_eq!(ended.stdout.tail.len(), 512);
    assert!(ended.stdout.tail.ends_with(b"last"));
    assert_eq!(ended.stdout.dropped, WRITTEN + 4 - 1024);
}

#[tokio::test]
async fn a_flood_of_output_does_not_grow_the_daemon() {
    let world = World::new();
    let mut daemon = world.daemon(
        Duration::from_secs(10),
        "head -c 52428800 /dev/zero | tr '\\0' x; yes 0123456789 | head -c 52428800 >&2; sleep 0.1",
    );
    let mut last = daemon.line();
    while !last.starts_with("ended") {
        last = daemon.line();
    }

    let status = fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: u64 = peak.unwrap().trim().trim_end_matches(" kB").parse().unwrap();

    assert_eq!(last, format!("ended Code(0) dropped {}", 52_428_800 - 16384));
    assert!(kilobytes < 20_000, "{kilobytes} kB");
}

#[rstest]
#[case::interrupt(Stop::Interrupt, "INT")]
#[case::terminate(Stop::Terminate, "TERM")]
#[tokio::test]
async fn a_program_that_obeys_ends_by_itself(#[case] stop: Stop, #[case] signal: &str) {
    let world = World::new();
    let runner = world.runner();
    let script = format!("trap 'exit 7' {signal}; echo ready; while :; do sleep 0.05; done");
    let group = runner.spawn(&world.script(&script)).await.unwrap();
    assert_eq!(line(&runner, group).await, "ready");

    runner.stop(group, stop).await.unwrap();

    assert_eq!(end(&runner, group).await.exit, Exit::Code(7));
}

#[tokio::test]
async fn what_ignores_int_and_term_is_killed_with_its_descendants() {
    let world = World::new();
    let runner = world.runner();
    let script = "trap '' INT TERM; sleep 600 & setsid sh -c 'echo ready; exec sleep 600' & while :; do wait; done";
    let group = runner.spawn(&world.script(script)).await.unwrap();
    assert_eq!(line(&runner, group).await, "ready");

    for stop in [Stop::Interrupt, Stop::Terminate, Stop::Kill] {
        runner.stop(group, stop).await.unwrap();
    }

    assert_eq!(end(&runner, group).await.exit, Exit::Signal(9));
    assert!(world.living().is_empty());
    assert_eq!(world.entries(), 0);
}

#[tokio::test]
async fn a_member_that_forks_without_end_is_killed_with_the_rest() {
    let world = World::new();
    let runner = world.runner();
    fs::write(world.path("link.sh"), "sh \"$0\" &\nexit 0\n").unwrap();
    let script = world.script("sh link.sh & sh link.sh & echo ready; exec sleep 600");
    let group = runner.spawn(&script).await.unwrap();
    assert_eq!(line(&runner, group).await, "ready");

    runner.stop(group, Stop::Kill).await.unwrap();
    end(&runner, group).await;

    assert!(world.living().is_empty());
    assert_eq!(world.entries(), 0);
}

#[rstest]
#[case::in_the_group("sleep 600 & exit 3")]
#[case::escaped("(setsid sh -c 'sleep 600 & exec sleep 600' &) ; exit 3")]
#[tokio::test]
async fn trial_b51_a_grandchild_that_holds_the_output_does_not_hold_the_end_up(#[case] script: &str) {
    let world = World::new();
    let runner = world.runner();
    let group = runner.spawn(&world.script(script)).await.unwrap();

    assert_eq!(end(&runner, group).await.exit, Exit::Code(3));
    assert!(world.living().is_empty());
}

#[tokio::test]
async fn trial_b52_descriptors_of_the_daemon_do_not_reach_the_program() {
    let world = World::new();
    let leaked = fs::File::create(world.path("leaked")).unwrap();
    fcntl_setfd(&leaked, FdFlags::empty()).unwrap();
    let runner = world.runner();
    let script = world.script("readlink /proc/$$/fd/*; exit");
    let group = runner.spawn(&script).await.unwrap();

    let open = end(&runner, group).await.stdout.text();

    assert!(open.starts_with("/dev/null\n"), "{open}");
    assert!(!open.contains("leaked") && !open.contains("socket:"), "{open}");
}

#[tokio::test]
async fn a_killed_guard_leaves_nothing() {
    let world = World::new();
    let runner = world.runner();
    let script = "sleep 600 & setsid sh -c 'echo ready; exec sleep 600' & exec sleep 600";
    let group = runner.spawn(&world.script(script)).await.unwrap();
    assert_eq!(line(&runner, group).await, "ready");

    kill_process(process_table::to_pid(world.guard()).unwrap(), Signal::KILL).unwrap();

    assert_eq!(end(&runner, group).await.exit, Exit::Signal(9));
    assert!(world.living().is_empty());
    assert_eq!(world.entries(), 0);
}

#[tokio::test]
async fn a_guard_that_does_not_listen_is_killed_with_its_group() {
    let world = World::new();
    let runner = world.runner();
    let script = "setsid sh -c 'echo ready; exec sleep 600' & exec sleep 600";
    let group = runner.spawn(&world.script(script)).await.unwrap();
    assert_eq!(line(&runner, group).await, "ready");
    kill_process(process_table::to_pid(world.guard()).unwrap(), Signal::STOP).unwrap();

    runner.stop(group, Stop::Kill).await.unwrap();

    assert_eq!(end(&runner, group).await.exit, Exit::Signal(9));
    assert!(world.living().is_empty());
}

#[tokio::test]
async fn a_dropped_runner_leaves_nothing() {
    let world = World::new();
    let runner = world.runner();
    let script = "trap 'echo closed > trace; exit' INT; echo ready; while :; do sleep 0.05; done";
    let group = runner.spawn(&world.script(script)).await.unwrap();
    assert_eq!(line(&runner, group).await, "ready");

    drop(runner);

    wait_until("the group has ended", || world.living().is_empty()).await;
    assert!(holds(&world.path("trace"), "closed\n"));
}

#[tokio::test]
async fn a_spawn_that_is_given_up_leaves_nothing() {
    let world = World::new();
    let runner = world.runner();

    let given_up = tokio::time::timeout(Duration::ZERO, runner.spawn(&world.script("exec sleep 600"))).await;

    assert!(given_up.is_err());
    wait_until("the group has ended", || world.living().is_empty() && world.entries() == 0).await;
}

#[rstest]
#[case::missing("/nonexistent/cgc", "No such file or directory (os error 2)")]
#[case::not_executable("/etc/passwd", "Permission denied (os error 13)")]
#[tokio::test]
async fn a_program_that_cannot_be_started_is_an_error_and_leaves_nothing(#[case] program: &str, #[case] cause: &str) {
    let world = World::new();
    let command = CommandSpec { program: PathBuf::from(program), ..world.script("") };

    let error = world.runner().spawn(&command).await.unwrap_err();

    let RunnerError::Spawn { program: named, source } = error else {
        panic!("{error}");
    };
    assert_eq!(named, Path::new(program));
    assert_eq!(source.to_string(), cause);
    assert!(world.living().is_empty());
    assert_eq!(world.entries(), 0);
}

#[tokio::test]
async fn a_missing_directory_is_named() {
    let world = World::new();
    let command = CommandSpec { directory: world.path("gone"), ..world.script("exit 0") };

    let error = world.runner().spawn(&command).await.unwrap_err();

    let RunnerError::Spawn { source, .. } = error else {
        panic!("{error}");
    };
    assert!(source.to_string().contains("/gone"), "{source}");
}

#[tokio::test]
async fn a_missing_guard_is_named() {
    let world = World::new();
    let runner = ProcessRunner::new("/nonexistent/steward-guard", world.ledger());

    let error = runner.spawn(&world.script("exit 0")).await.unwrap_err();

    assert_eq!(error.to_string(), "/nonexistent/steward-guard cannot be started");
    assert_eq!(world.entries(), 0);
}

#[tokio::test]
async fn without_a_ledger_nothing_is_started() {
    let world = World::new();
    fs::write(world.path("file"), "").unwrap();
    let runner = ProcessRunner::new(HELPER, world.path("file"));

    let error = runner.spawn(&world.script("touch trace")).await.unwrap_err();

    assert!(matches!(error, RunnerError::Ledger { .. }), "{error}");
    assert!(world.living().is_empty());
    assert!(!world.path("trace").exists());
}

#[tokio::test]
async fn a_group_that_has_ended_can_be_stopped_and_one_that_never_was_cannot() {
    let world = World::new();
    let runner = world.runner();
    let group = runner.spawn(&world.script("exit 0")).await.unwrap();
    end(&runner, group).await;

    runner.stop(group, Stop::Kill).await.unwrap();
    let error = world.runner().stop(group, Stop::Kill).await.unwrap_err();

    assert!(matches!(error, RunnerError::Unknown(unknown) if unknown == group));
}

#[tokio::test]
async fn the_output_of_groups_long_ended_is_given_up_and_their_end_is_not() {
    let world = World::new();
    let runner = world.runner();
    let mut groups = Vec::new();
    for number in 0..18 {
        let group = runner.spawn(&world.script(&format!("echo {number}"))).await.unwrap();
        end(&runner, group).await;
        groups.push(group);
    }

    let first = end(&runner, groups[0]).await;
    let last = end(&runner, groups[17]).await;

    assert_eq!((first.exit, first.stdout.dropped), (Exit::Code(0), 2));
    assert_eq!((last.stdout.text().as_str(), last.stdout.dropped), ("17\n", 0));
}
