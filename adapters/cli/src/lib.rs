//! The command line for people.
//!
//! Responsible for what a person asks in a terminal: status, jobs with consent, the daemon's life, a health check, and
//! wiring the companion into a harness. It must never do work that the daemon owns: it asks for a job and shows it.

mod arguments;
mod daemon;
mod doctor;
mod failure;
mod install;
mod job;
mod link;
mod plain;
mod ports;
mod siblings;
mod status;
mod surroundings;
mod terminal;
mod words;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command, DaemonCommand, HarnessArgument, JobArguments};
use failure::Failure;
use steward_wire::JobVerb;
use surroundings::Surroundings;
use terminal::Terminal;

/// Runs the program: reads its arguments, does what they ask, and returns 0 only where that was done. Bad usage ends the
/// process with 2, as is the custom.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut terminal = Terminal::of_process();
    match run(&arguments.command, &Surroundings::of_process(), &mut terminal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal.complain(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command, surroundings: &Surroundings, terminal: &mut Terminal) -> Result<(), Failure> {
    let mut job = |verb, arguments: &JobArguments| {
        let choices = job::Choices { yes: arguments.yes, wait: arguments.wait };
        job::run(surroundings, terminal, verb, choices, arguments.path.as_deref())
    };
    match command {
        Command::Index(arguments) => job(JobVerb::Index, arguments),
        Command::Rebuild(arguments) => job(JobVerb::Rebuild, arguments),
        Command::Sync { wait, path } => {
            job(JobVerb::Sync, &JobArguments { yes: false, wait: *wait, path: path.clone() })
        }
        Command::Status { json, path } => status::status(surroundings, terminal, *json, path.as_deref()),
        Command::Doctor { json, path } => doctor::doctor(surroundings, terminal, *json, path.as_deref()),
        Command::Daemon(DaemonCommand::Run) => daemon::run(surroundings),
        Command::Daemon(DaemonCommand::Stop) => daemon::stop(surroundings, terminal),
        Command::Daemon(DaemonCommand::Status { json }) => daemon::status(surroundings, terminal, *json),
        Command::Install { harness: HarnessArgument::ClaudeCode, dry_run, yes } => {
            install::install(surroundings, terminal, install::Mode::new(*dry_run, *yes))
        }
        Command::Uninstall { harness: HarnessArgument::ClaudeCode, dry_run, yes: _ } => {
            install::uninstall(surroundings, terminal, *dry_run)
        }
    }
}
