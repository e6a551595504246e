//! A stand-in for `cgc` 0.6.13: its texts, its exit codes and what it does to files and locks.
//!
//! Responsible for the commands that the companion runs, and for misbehaving on request. It must never be more helpful
//! than the real one; the contract test runs the same cases against both.

mod commands;
mod database;
mod graph;
mod interrupt;
mod misbehaviour;
mod place;
mod report;
mod services;
mod terminal;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, io};

use steward_fake_cgc::{Call, CallLog, Command, Script};

use crate::interrupt::Interrupt;
use crate::misbehaviour::Misbehaviour;

fn main() -> ExitCode {
    if env::args_os().nth(1).is_some_and(|argument| argument == misbehaviour::GRANDCHILD) {
        return misbehaviour::be_a_grandchild();
    }
    match run() {
        Ok(exit) => ExitCode::from(exit),
        Err(error) => {
            terminal::complain(&format!("Traceback (most recent call last):\n{error}"));
            ExitCode::from(1)
        }
    }
}

/// Runs one command and returns what it exits with.
fn run() -> io::Result<u8> {
    let executable = executable()?;
    let arguments: Vec<String> =
        env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let command = commands::classify(&arguments);
    let log = CallLog::beside(&executable);
    let earlier = log.read()?;
    let call = log.start(command)?;
    let script = Script::read(&executable)?;
    let behaviours = script.behaviours(command, count(&earlier, command), earlier.len());
    let misbehaviour = Misbehaviour::new(behaviours);
    let interrupt = Interrupt::watch()?;

    let exit = match misbehaviour.instead(&interrupt)? {
        Some(exit) => exit,
        None => commands::run(command, &arguments, &script, &misbehaviour, &interrupt)?,
    };
    log.end(&call, i32::from(exit))?;
    Ok(exit)
}

/// The path under which it was called: script and log lie beside the link, not beside the binary that it leads to.
fn executable() -> io::Result<PathBuf> {
    let called = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    if called.is_absolute() { Ok(called) } else { env::current_exe() }
}

fn count(calls: &[Call], command: Command) -> usize {
    calls.iter().filter(|call| call.command == command).count()
}
