//! What the tests of this package start as a process of its own: the guard, and a daemon that runs one group.
//!
//! It must never be installed.
//!
//! ```text
//! process-test-helper run|exec …                                   the guard, as `steward-guard` is
//! process-test-helper daemon LEDGER GRACE-MS PROGRAM ARGUMENT…     prints "spawned", then what the group does
//! ```

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use steward_ports::{CommandSpec, ProcessEvent, Runner};
use steward_process::ProcessRunner;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let role = arguments.next().unwrap_or_default();
    if role != "daemon" {
        return steward_guard::main(std::iter::once(role).chain(arguments));
    }
    match run_daemon(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run_daemon(mut arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    let mut next = || arguments.next().ok_or(io::ErrorKind::InvalidInput);
    let ledger = PathBuf::from(next()?);
    let grace = next()?;
    let grace = grace.to_str().and_then(|text| text.parse().ok());
    let command = CommandSpec {
        program: PathBuf::from(next()?),
        orphan_grace: Duration::from_millis(grace.ok_or(io::ErrorKind::InvalidInput)?),
        arguments: arguments.collect(),
        directory: std::env::current_dir()?,
        environment: std::env::vars_os().collect(),
        capture_limit: 16384,
        niceness: 0,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    runtime.block_on(async {
        let runner = ProcessRunner::new(std::env::current_exe()?, ledger);
        let group = runner.spawn(&command).await.map_err(io::Error::other)?;
        say("spawned");
        loop {
            match runner.next(group).await.map_err(io::Error::other)? {
                ProcessEvent::Line(line) if line.text.len() < 100 => say(&line.text),
                ProcessEvent::Line(_) => {}
                ProcessEvent::Ended(ended) => {
                    say(&format!("ended {:?} dropped {}", ended.exit, ended.stdout.dropped));
                    // Kept alive so that a test can look at it.
                    std::future::pending::<()>().await;
                }
            }
        }
    })
}

#[expect(clippy::print_stdout, reason = "the tests read what it says")]
fn say(text: &str) {
    println!("{text}");
}
