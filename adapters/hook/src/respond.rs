//! One event: read, decoded, asked about, answered.
//!
//! It must never end in anything but exit 0 and an empty or whole answer, nor take longer than 200 ms once the payload
//! has been read and understood, which takes as long as it is large.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::daemon::{self, Speaker};
use crate::descriptors;
use crate::error_log::ErrorLog;
use crate::failure::Failure;
use crate::harness::{Harness, Occurrence};
use crate::input::read_payload;
use crate::watchdog::{Watchdog, exit_as_if_nothing_had_happened};

/// How long the daemon is given to answer, or to be started and answer.
const DAEMON_BUDGET: Duration = Duration::from_millis(125);
/// When a start that blocks where no timeout helps is given up, and the process with it.
const WORK_BUDGET: Duration = Duration::from_millis(145);
/// How long noting a failure takes at most.
const RECORD_BUDGET: Duration = Duration::from_millis(55);

/// Answers the event on standard input. A failure is logged, not shown.
pub(crate) fn respond<H: Harness>(program: &str) {
    descriptors::close_inherited();
    let log = ErrorLog::locate(program, |name| std::env::var_os(name));
    log_panics(log.clone());
    let occurrence = read_payload(io::stdin())
        .map_err(Failure::Input)
        .and_then(|payload| H::decode(&payload).map_err(Failure::Decode));
    let started = Instant::now();
    let answered = match occurrence {
        Ok(Some(occurrence)) => answer::<H>(occurrence, started, log.clone()),
        Ok(None) => Ok(()),
        Err(failure) => Err(failure),
    };
    if let Err(failure) = answered {
        record(log.as_ref(), &failure);
    }
}

fn answer<H: Harness>(
    occurrence: Occurrence<H::Origin>,
    started: Instant,
    log: Option<ErrorLog>,
) -> Result<(), Failure> {
    let speaker =
        Speaker { harness: H::NAME, process: H::PROCESS, headless: H::is_headless(|name| std::env::var_os(name)) };
    let Occurrence { origin, harness_session, directory, event, carries } = occurrence;
    let occurrence = Occurrence { origin: (), harness_session, directory, event, carries };
    let watch = || {
        let last_words = move || record(log.as_ref(), &Failure::Overrun);
        Watchdog::start(started + WORK_BUDGET, last_words).map_err(Failure::Unwatched)
    };
    let answer = daemon::ask(speaker, occurrence, started + DAEMON_BUDGET, watch)?;
    tell::<H>(origin, &answer)
}

/// Writes the answer in one piece: a harness rejects an output that is cut short or has two documents in it.
fn tell<H: Harness>(origin: H::Origin, answer: &Answer) -> Result<(), Failure> {
    if answer.is_empty() {
        return Ok(());
    }
    let mut output = io::stdout().lock();
    output.write_all(&H::encode(origin, answer)).and_then(|()| output.flush()).map_err(Failure::Output)
}

/// Logs in time or not at all: the log may lie on a file system that does not answer. It is the last thing that the
/// process does.
fn record(log: Option<&ErrorLog>, failure: &Failure) {
    let Some(log) = log else { return };
    if Watchdog::start(Instant::now() + RECORD_BUDGET, || {}).is_ok() {
        // Where even the log cannot be written, there is nobody left to tell: standard error belongs to the harness.
        let _unlogged = log.append(failure).err();
    }
}

/// Makes a panic, on any thread, end the program like any other failure. The message is not logged, since it may quote
/// what was being read.
fn log_panics(log: Option<ErrorLog>) {
    std::panic::set_hook(Box::new(move |panic| {
        let location = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        record(log.as_ref(), &Failure::Panicked { location });
        exit_as_if_nothing_had_happened();
    }));
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::process::{Command, Stdio};

    use steward_wire::HarnessName;

    use super::*;
    use crate::harness::DecodeError;

    /// Tells a test that it is the child of the other.
    const CHILD: &str = "STEWARD_TEST_PANICS";

    struct Panicking;

    impl Harness for Panicking {
        const NAME: HarnessName = HarnessName::ClaudeCode;
        const PROCESS: &'static str = "panicking";
        type Origin = ();

        fn decode(_: &[u8]) -> Result<Option<Occurrence<()>>, DecodeError> {
            panic!("sk-secret")
        }

        fn is_headless(_: impl Fn(&str) -> Option<OsString>) -> bool {
            false
        }

        fn encode((): (), _: &Answer) -> Vec<u8> {
            Vec::new()
        }
    }

    #[test]
    fn a_panic_is_logged_without_its_message_and_ends_in_exit_0() {
        if std::env::var_os(CHILD).is_some() {
            return respond::<Panicking>("steward-test");
        }
        let state = tempfile::tempdir().unwrap();
        let own_name = "respond::tests::a_panic_is_logged_without_its_message_and_ends_in_exit_0";

        let path = state.path().join("cgc-steward/hook-errors.log");

        // On a machine out of breath the first one may have no time for the log.
        let log = (0..20).find_map(|_| {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", own_name])
                .env(CHILD, "1")
                .env("XDG_STATE_HOME", state.path())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert_eq!(child.status.code(), Some(0), "{child:?}");
            std::fs::read_to_string(&path).ok().filter(|log| !log.is_empty())
        });

        let log = log.unwrap();
        assert!(log.contains("a defect at adapters/hook/src/respond.rs:"), "{log}");
        assert!(!log.contains("secret"), "{log}");
    }
}
