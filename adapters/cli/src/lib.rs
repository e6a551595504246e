//! The command line for people.
//!
//! Responsible for what a person asks in a terminal: status, jobs with consent, the daemon's life, a health check, and
//! wiring the companion into a harness. It must never do work that the daemon owns: it asks for a job and shows it.

mod arguments;
mod failure;
mod install;
mod plain;
mod siblings;
mod surroundings;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command, HarnessArgument};
use failure::Failure;
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
    match command {
        Command::Install { harness: HarnessArgument::ClaudeCode, dry_run, yes } => {
            install::install(surroundings, terminal, install::Mode::new(*dry_run, *yes))
        }
        Command::Uninstall { harness: HarnessArgument::ClaudeCode, dry_run, yes: _ } => {
            install::uninstall(surroundings, terminal, *dry_run)
        }
    }
}
