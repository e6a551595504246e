//! One event: read, decoded, asked about, answered.
//!
//! It must never end in anything but exit 0 and an empty or whole answer, nor take longer than [`BUDGET`] once the
//! payload has been read.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::daemon::{self, Speaker};
use crate::descriptors;
use crate::error_log::ErrorLog;
use crate::failure::Failure;
use crate::harness::{Harness, Occurrence};
use crate::input::read_payload;
use crate::watchdog;

/// How long a hook takes at most, in all.
const BUDGET: Duration = Duration::from_millis(200);
/// How much of it the daemon is given. What is left is for telling why there was no answer.
const DAEMON_BUDGET: Duration = Duration::from_millis(150);
/// When work that blocks where no timeout helps is left behind.
const WORK_BUDGET: Duration = Duration::from_millis(175);
/// How long logging a panic takes at most.
const RECORD_BUDGET: Duration = Duration::from_millis(25);

/// Answers the event on standard input. A failure is logged, not shown.
pub(crate) fn respond<H: Harness>(program: &str) {
    descriptors::close_inherited();
    let log = ErrorLog::locate(program, |name| std::env::var_os(name));
    log_panics(log.clone());
    let payload = read_payload(io::stdin());
    let started = Instant::now();
    let answered = payload
        .map_err(Failure::Input)
        .and_then(|payload| H::decode(&payload).map_err(Failure::Decode))
        .and_then(|occurrence| match occurrence {
            Some(occurrence) => answer::<H>(occurrence, started),
            None => Ok(()),
        });
    if let Err(failure) = answered {
        record(log, failure, started + BUDGET);
    }
}

fn answer<H: Harness>(occurrence: Occurrence<H::Origin>, started: Instant) -> Result<(), Failure> {
    let speaker =
        Speaker { harness: H::NAME, process: H::PROCESS, headless: H::is_headless(|name| std::env::var_os(name)) };
    let Occurrence { origin, harness_session, directory, event, carries } = occurrence;
    let occurrence = Occurrence { origin: (), harness_session, directory, event, carries };
    let answer = watchdog::by(started + WORK_BUDGET, move || daemon::ask(speaker, occurrence, started + DAEMON_BUDGET))
        .map_err(Failure::Overrun)??;
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

/// Logs by `deadline`, or not at all: the log may lie on a file system that does not answer.
fn record(log: Option<ErrorLog>, failure: Failure, deadline: Instant) {
    let Some(log) = log else { return };
    // Where even the log cannot be written, there is nobody left to tell: standard error belongs to the harness.
    let _unlogged = watchdog::by(deadline, move || log.append(&failure)).err();
}

/// Makes a panic, on any thread, end the program like any other failure. The message is not logged, since it may quote
/// what was being read.
fn log_panics(log: Option<ErrorLog>) {
    std::panic::set_hook(Box::new(move |panic| {
        let location = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        record(log.clone(), Failure::Panicked { location }, Instant::now() + RECORD_BUDGET);
        exit_as_if_nothing_had_happened();
    }));
}

/// In a release build a panic ends in `abort`, which no `catch_unwind` can turn into exit 0.
#[expect(clippy::exit, reason = "the only way to exit 0 out of a panic where panics abort")]
fn exit_as_if_nothing_had_happened() -> ! {
    std::process::exit(0)
}
