//! What all harness binaries that run once per event share.
//!
//! Responsible for one event from standard input to standard output: reading it, asking the daemon, answering, all
//! within a deadline. Whatever fails on the way, the harness sees a program that exits 0 and says nothing, and the
//! failure is one line in a log. It must never know a dialect (that is [`Harness`]), use an async runtime, or hold the
//! harness up.

mod answer;
mod daemon;
mod descriptors;
mod error_log;
mod failure;
mod harness;
mod harness_process;
mod input;
mod invocation;
mod respond;
mod watchdog;

use std::process::ExitCode;

pub use answer::{Answer, MAXIMUM_TEXT};
pub use harness::{DecodeError, Harness, Occurrence};

use invocation::Invocation;

/// The whole of a harness binary's `main`.
///
/// `hook` answers the event on standard input and exits 0 whatever happens. Any other invocation is a person's: it
/// prints the version, or the usage and exits 1. No argument names a file or a program, since a repository can bring a
/// harness configuration along that calls this binary.
pub fn run<H: Harness>() -> ExitCode {
    let program = format!("steward-{}", H::NAME.name());
    match Invocation::parse(std::env::args_os().skip(1)) {
        Invocation::Hook => {
            respond::respond::<H>(&program);
            ExitCode::SUCCESS
        }
        Invocation::Version => print_version(&program),
        Invocation::Usage => print_usage(&program),
    }
}

#[expect(clippy::print_stdout, reason = "a person asked for it")]
fn print_version(program: &str) -> ExitCode {
    println!("{program} {}", env!("CARGO_PKG_VERSION"));
    ExitCode::SUCCESS
}

/// Exits 1 and not 2: several harnesses take 2 for a refusal of what the agent or the human was about to do.
#[expect(clippy::print_stderr, reason = "a person called the program in a way that makes no sense")]
fn print_usage(program: &str) -> ExitCode {
    eprintln!("usage: {program} hook < EVENT\n       {program} --version");
    ExitCode::FAILURE
}
