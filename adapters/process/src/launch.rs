//! Starting a guard and writing it down.
//!
//! It must never let a program start before the ledger names its group: the guard waits to be told.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use rustix::process::Pid;
use steward_guard::{RunArguments, process_table};
use steward_ports::{CommandSpec, OutputStream, RunnerError};

use crate::exit_watch::ExitWatch;
use crate::group::Group;
use crate::identity;
use crate::ledger::{Entry, Record};
use crate::marker::{self, Marker};
use crate::pump::Pump;
use crate::reports::Reports;

/// A guard that waits to be told to start its program.
#[derive(Debug)]
pub(crate) struct Launched {
    /// The guard, not reaped.
    pub(crate) guard: Child,
    /// When it was started.
    pub(crate) started_at: Instant,
    /// What ties it to this daemon.
    pub(crate) ties: Ties,
}

/// What ties a guard to its daemon.
#[derive(Debug)]
pub(crate) struct Ties {
    /// The guard's number, which is the group's.
    pub(crate) pid: Pid,
    /// The mark on everything below the guard.
    pub(crate) marker: Marker,
    /// Sees the guard's end.
    pub(crate) exit: ExitWatch,
    /// What outsiders may do with the group.
    pub(crate) group: Arc<Group>,
    /// What the guard reports.
    pub(crate) reports: Reports,
    /// Empties descriptor 1 of the program.
    pub(crate) stdout: Pump,
    /// Empties descriptor 2 of the program.
    pub(crate) stderr: Pump,
    /// The group's entry in the ledger.
    pub(crate) entry: Entry,
}

/// Starts a guard for `command`. On an error nothing is running and the ledger holds nothing new.
pub(crate) fn launch(guard_program: &Path, ledger: &Path, command: &CommandSpec) -> Result<Launched, RunnerError> {
    let started_at = Instant::now();
    let marker = Marker::new().map_err(|source| not_started(guard_program, source))?;
    let (mut guard, lifeline) = start_guard(guard_program, &marker, command)?;
    match tie(&mut guard, lifeline, marker, ledger, command) {
        Ok(ties) => Ok(Launched { guard, started_at, ties }),
        Err(error) => {
            // It has started nothing, so there is no one but itself to end.
            let _ended_meanwhile = guard.kill();
            let _reaped = guard.wait();
            Err(error)
        }
    }
}

fn start_guard(
    guard_program: &Path,
    marker: &Marker,
    command: &CommandSpec,
) -> Result<(Child, UnixStream), RunnerError> {
    let arguments = RunArguments {
        orphan_grace: command.orphan_grace,
        niceness: command.niceness,
        program: command.program.clone(),
        arguments: command.arguments.clone(),
    };
    let start = || -> io::Result<(Child, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let guard = Command::new(guard_program)
            .args(arguments.to_arguments())
            .env_clear()
            .envs(command.environment.iter())
            .env(marker::VARIABLE, marker.to_value())
            .current_dir(&command.directory)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        Ok((guard, ours))
    };
    start().map_err(|source| {
        if command.directory.is_dir() {
            return not_started(guard_program, source);
        }
        // The system says the same for a missing directory as for a missing program.
        let text = format!("no working directory {}", command.directory.display());
        not_started(&command.program, io::Error::new(source.kind(), text))
    })
}

fn tie(
    guard: &mut Child,
    lifeline: UnixStream,
    marker: Marker,
    ledger: &Path,
    command: &CommandSpec,
) -> Result<Ties, RunnerError> {
    let failed = |source| not_started(&command.program, source);
    let pid = process_table::to_pid(guard.id()).ok_or_else(|| failed(vanished()))?;
    let exit = ExitWatch::of_child(pid).map_err(failed)?;
    let lifeline = tokio::net::UnixStream::from_std(lifeline).map_err(failed)?;
    let lifeline = Arc::new(lifeline);
    let group = Arc::new(Group::new(command.program.clone(), Arc::clone(&lifeline)));
    let pump = |pipe: Option<OwnedFd>, stream| {
        let pipe = pipe.ok_or_else(vanished)?;
        Pump::start(pipe, stream, command.capture_limit, Arc::clone(&group.mailbox))
    };
    let stdout = pump(guard.stdout.take().map(OwnedFd::from), OutputStream::Stdout);
    let stderr = pump(guard.stderr.take().map(OwnedFd::from), OutputStream::Stderr);
    let (stdout, stderr) = (stdout.map_err(failed)?, stderr.map_err(failed)?);
    // Last, so that nothing can fail between it and the return.
    let entry = write_down(guard.id(), &marker, ledger, command)?;
    Ok(Ties { pid, marker, exit, group, reports: Reports::new(lifeline), stdout, stderr, entry })
}

fn write_down(guard: u32, marker: &Marker, ledger: &Path, command: &CommandSpec) -> Result<Entry, RunnerError> {
    let write = || -> io::Result<Entry> {
        let record = Record {
            guard: identity::of(guard)?.ok_or_else(vanished)?,
            marker: marker.clone(),
            orphan_grace: command.orphan_grace,
            program: command.program.to_string_lossy().into_owned(),
        };
        Entry::create(ledger, &record)
    };
    write().map_err(|source| RunnerError::Ledger { ledger: ledger.to_owned(), source })
}

fn not_started(program: &Path, source: io::Error) -> RunnerError {
    RunnerError::Spawn { program: program.to_owned(), source }
}

fn vanished() -> io::Error {
    io::Error::other("the guard ended before it was told to start")
}
