//! The guard as a program: what it starts, what it passes on, and that nothing outlives it.

mod support;

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rstest::rstest;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Signal, kill_process};
use steward_guard::{Report, Request, RunArguments, process_table};

use support::{Lead, wait_until};

const LONG_GRACE: Duration = Duration::from_secs(30);

#[test]
fn nothing_is_started_before_the_request() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let mut lead = Lead::of_script(&format!("touch {}", trace.display()), LONG_GRACE);

    lead.orphan();

    assert!(lead.ends_well());
    assert!(!trace.exists());
}

#[rstest]
#[case::success("exit 0", Report::Exited(0))]
#[case::failure("exit 37", Report::Exited(37))]
#[case::highest_code("exit 255", Report::Exited(255))]
#[case::crash("kill -SEGV $$", Report::Signaled(11))]
#[case::killed("kill -KILL $$", Report::Signaled(9))]
fn the_end_of_the_program_is_reported(#[case] script: &str, #[case] expected: Report) {
    let mut lead = Lead::of_script(script, LONG_GRACE);
    lead.start();

    assert_eq!(lead.report(), expected);
    assert!(lead.ends_well());
}

#[rstest]
#[case::missing("/nonexistent/program", Errno::NOENT)]
#[case::not_executable("/etc/passwd", Errno::ACCESS)]
#[case::a_directory("/", Errno::ACCESS)]
fn a_program_that_cannot_be_started_is_reported_with_its_cause(#[case] program: &str, #[case] expected: Errno) {
    let mut lead = Lead::of(&RunArguments {
        orphan_grace: LONG_GRACE,
        niceness: 0,
        program: PathBuf::from(program),
        arguments: Vec::new(),
    });
    lead.request(Request::Start);

    assert_eq!(lead.report(), Report::Failed(expected.raw_os_error()));
    assert!(lead.ends_well());
}

#[test]
fn the_program_is_nicer_than_its_guard() {
    let mut lead = Lead::of(&RunArguments {
        orphan_grace: LONG_GRACE,
        niceness: 7,
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".into(), "nice".into()],
    });
    let own = rustix::process::getpriority_process(None).unwrap();
    lead.start();

    assert_eq!(lead.line(), (own + 7).to_string());
}

#[test]
fn signals_that_the_daemon_ignores_have_their_default_meaning_in_the_program() {
    let arguments = RunArguments {
        orphan_grace: LONG_GRACE,
        niceness: 0,
        program: PathBuf::from("/bin/grep"),
        arguments: vec!["SigIgn".into(), "/proc/self/status".into()],
    };
    // A shell hands what it ignores on to what it becomes.
    let mut ignoring = Command::new("/bin/sh");
    ignoring
        .args(["-c", "trap '' INT TERM HUP QUIT; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_steward-guard"))
        .args(arguments.to_arguments());
    let mut lead = Lead::by(ignoring);
    lead.start();

    let line = lead.line();
    let ignored = u64::from_str_radix(line.trim_start_matches("SigIgn:\t"), 16).unwrap();
    let bit = |signal: Signal| 1 << (signal.as_raw() - 1);
    let asked = bit(Signal::INT) | bit(Signal::TERM) | bit(Signal::HUP) | bit(Signal::QUIT);
    assert_eq!(ignored & (asked | bit(Signal::PIPE)), 0, "{line}");
}

#[test]
fn trial_b52_descriptors_of_the_daemon_do_not_reach_the_program() {
    let leaked = tempfile::NamedTempFile::new().unwrap();
    fcntl_setfd(leaked.as_file(), FdFlags::empty()).unwrap();
    let mut lead = Lead::of_script("readlink /proc/$$/fd/* | sort; exec true", LONG_GRACE);
    lead.start();

    let mut open = String::new();
    lead.stdout.read_to_string(&mut open).unwrap();

    assert!(open.starts_with("/dev/null\n"), "{open}");
    assert!(!open.contains(leaked.path().to_str().unwrap()), "{open}");
    assert!(!open.contains("socket:"), "{open}");
}

#[rstest]
#[case::interrupt(Request::Interrupt, "INT")]
#[case::terminate(Request::Terminate, "TERM")]
fn a_signal_reaches_the_program_once(#[case] request: Request, #[case] signal: &str) {
    let mut lead =
        Lead::of_script(&format!("trap 'exit 7' {signal}; echo ready; while :; do sleep 0.05; done"), LONG_GRACE);
    lead.start();
    assert_eq!(lead.line(), "ready");

    lead.request(request);

    assert_eq!(lead.report(), Report::Exited(7));
    assert!(lead.ends_well());
}

#[rstest]
#[case::interrupt(Signal::INT)]
#[case::terminate(Signal::TERM)]
#[case::hangup(Signal::HUP)]
#[case::quit(Signal::QUIT)]
#[case::terminal_stop(Signal::TSTP)]
fn a_signal_to_the_guard_itself_ends_nothing(#[case] signal: Signal) {
    let mut lead = Lead::of_script("echo ready; exec sleep 600", LONG_GRACE);
    lead.start();
    assert_eq!(lead.line(), "ready");

    let guard = process_table::to_pid(lead.guard.id()).unwrap();
    kill_process(guard, signal).unwrap();
    lead.request(Request::Kill);

    // A guard that had died of the signal would report nothing.
    assert_eq!(lead.report(), Report::Signaled(9));
    assert!(lead.ends_well());
}

#[test]
fn what_ignores_int_and_term_is_killed_on_request() {
    let mut lead =
        Lead::of_script("trap '' INT TERM; sleep 600 & echo ready; while :; do sleep 0.05; done", LONG_GRACE);
    lead.start();
    assert_eq!(lead.line(), "ready");

    lead.request(Request::Interrupt);
    lead.request(Request::Terminate);
    lead.request(Request::Kill);

    assert_eq!(lead.report(), Report::Signaled(9));
    assert!(lead.ends_well());
    assert!(lead.living().is_empty());
}

#[test]
fn a_program_that_obeys_int_closes_its_work_after_the_daemon_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let mut lead = Lead::of_script(
        &format!(
            "trap 'sleep 0.2; echo closed > {}; exit' INT; echo ready; while :; do sleep 0.05; done",
            trace.display()
        ),
        LONG_GRACE,
    );
    lead.start();
    assert_eq!(lead.line(), "ready");

    lead.orphan();

    assert!(lead.ends_well());
    assert_eq!(fs::read_to_string(trace).unwrap(), "closed\n");
    assert!(lead.living().is_empty());
}

#[test]
fn what_ignores_int_and_term_is_killed_when_the_grace_is_spent() {
    let grace = Duration::from_millis(300);
    let mut lead = Lead::of_script("trap '' INT TERM; sleep 600 & echo ready; while :; do sleep 0.05; done", grace);
    lead.start();
    assert_eq!(lead.line(), "ready");
    let orphaned_at = Instant::now();

    lead.orphan();

    assert!(lead.ends_well());
    assert!(orphaned_at.elapsed() >= grace);
    assert!(lead.living().is_empty());
}

#[test]
fn an_interrupted_program_is_not_interrupted_again_when_the_daemon_dies() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let mut lead = Lead::of_script(
        &format!("trap 'echo INT >> {}' INT; trap '' TERM; echo ready; while :; do sleep 0.05; done", trace.display()),
        Duration::from_millis(300),
    );
    lead.start();
    assert_eq!(lead.line(), "ready");
    lead.request(Request::Interrupt);
    wait_until("the program noted the signal", || trace.exists());

    lead.orphan();

    assert!(lead.ends_well());
    assert_eq!(fs::read_to_string(trace).unwrap(), "INT\n");
}

#[rstest]
#[case::in_the_group("sleep 600 & exit 3")]
#[case::in_a_session_of_its_own("setsid sleep 600 & exit 3")]
#[case::twice_removed("(setsid sh -c 'sleep 600 & exec sleep 600' &) ; exit 3")]
#[case::deaf("(trap '' INT TERM HUP; exec setsid sleep 600) & exit 3")]
fn nothing_outlives_the_program(#[case] script: &str) {
    let mut lead = Lead::of_script(script, LONG_GRACE);
    lead.start();

    assert_eq!(lead.report(), Report::Exited(3));
    assert!(lead.ends_well());
    assert!(lead.living().is_empty());
    // Nobody holds the output any more either.
    assert_eq!(lead.stdout.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn a_chain_of_processes_that_start_their_successor_and_exit_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("link.sh");
    fs::write(&link, "sh \"$0\" &\nexit 0\n").unwrap();
    let script = format!("sh {0} & sh {0} & sh {0} & exit 0", link.display());
    let mut lead = Lead::of_script(&script, LONG_GRACE);
    lead.start();

    assert_eq!(lead.report(), Report::Exited(0));
    // Whether it outran the guard or not, the last resort included.
    lead.ends_well();

    assert!(lead.living().is_empty());
}

#[test]
fn a_program_whose_guard_is_killed_dies_with_it() {
    let mut lead = Lead::of_script("echo ready; exec sleep 600", LONG_GRACE);
    lead.start();
    assert_eq!(lead.line(), "ready");

    lead.guard.kill().unwrap();

    assert!(!lead.ends_well());
    wait_until("the program is gone", || lead.living().is_empty());
}

#[test]
fn a_guard_without_sensible_arguments_starts_nothing() {
    let status = Command::new(env!("CARGO_BIN_EXE_steward-guard")).arg("/bin/true").output().unwrap().status;

    assert_eq!(status.code(), Some(2));
}
