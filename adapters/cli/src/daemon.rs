//! `steward daemon`.
//!
//! It must never start a daemon to ask or stop it.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::json;
use steward_ipc::ALLOCATOR;
use steward_ipc::client::{ClientError, Connection};
use steward_wire::{DaemonReport, Reply, Request};

use crate::failure::Failure;
use crate::link::{DAEMON_PROGRAM, Link, failed};
use crate::plain::{plain, shown};
use crate::siblings::sibling;
use crate::surroundings::Surroundings;
use crate::terminal::Terminal;
use crate::words::duration;

/// How long a daemon may need to end: the longest that a database takes to obey an interrupt (LadybugDB, 60 s), and a
/// little.
const LONGEST_STOP: Duration = Duration::from_secs(90);

/// Becomes the daemon, in the foreground.
pub(crate) fn run(surroundings: &Surroundings) -> Result<(), Failure> {
    let program = sibling(surroundings.executable()?, DAEMON_PROGRAM).map_err(|error| Failure::caused_by(&error))?;
    let error = Command::new(&program).envs(ALLOCATOR).exec();
    Err(Failure::new(format!("{} cannot be started: {error}", shown(&program))))
}

/// Ends the daemon and returns when nothing of it is left.
pub(crate) fn stop(surroundings: &Surroundings, terminal: &mut Terminal) -> Result<(), Failure> {
    let request = Request::Stop { drain: false };
    let Some((connection, reply)) = Link::new(surroundings)?.open_running(&request)? else {
        terminal.say("No daemon was running.");
        return Ok(());
    };
    let pid = match reply {
        Reply::Stopping { pid } => pid,
        Reply::Incompatible { protocol, .. } => return Err(failed(&ClientError::Incompatible { protocol })),
        Reply::Draining
        | Reply::Failed { .. }
        | Reply::Delivery { .. }
        | Reply::Status(_)
        | Reply::Accepted { .. }
        | Reply::Progress(_)
        | Reply::Finished(_)
        | Reply::Refused { .. }
        | Reply::Daemon(_) => return Err(Failure::new("the daemon did not agree to end")),
    };
    wait_until_gone(connection, pid, Instant::now() + LONGEST_STOP)?;
    terminal.say("The daemon has ended.");
    Ok(())
}

/// Shows who the daemon is.
pub(crate) fn status(surroundings: &Surroundings, terminal: &mut Terminal, json: bool) -> Result<(), Failure> {
    let report = match Link::new(surroundings)?.ask_running(&Request::Daemon)? {
        None => None,
        Some(Reply::Daemon(report)) => Some(report),
        Some(Reply::Incompatible { protocol, .. }) => return Err(failed(&ClientError::Incompatible { protocol })),
        Some(
            Reply::Draining
            | Reply::Failed { .. }
            | Reply::Delivery { .. }
            | Reply::Status(_)
            | Reply::Accepted { .. }
            | Reply::Progress(_)
            | Reply::Finished(_)
            | Reply::Refused { .. }
            | Reply::Stopping { .. },
        ) => return Err(failed(&ClientError::Ending)),
    };
    terminal.say(&match (report, json) {
        (Some(report), true) => json!({"running": true, "daemon": report}).to_string(),
        (None, true) => json!({"running": false, "daemon": null}).to_string(),
        (Some(report), false) => describe(&report),
        (None, false) => "No daemon is running.".to_owned(),
    });
    Ok(())
}

fn describe(report: &DaemonReport) -> String {
    format!(
        "Process {} of version {}, for {}, with {} session(s) and {} job(s), on {}",
        report.pid,
        plain(&report.build.version),
        duration(report.uptime_ms),
        report.sessions,
        report.jobs,
        shown(&report.socket)
    )
}

/// Waits until the daemon has closed the connection, which tells that all its work is gone, and then until the process
/// itself is, whose locks go with it.
fn wait_until_gone(mut connection: Connection, pid: u32, deadline: Instant) -> Result<(), Failure> {
    // Taken while the connection proves that the number is still the daemon's.
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    connection.set_deadline(Some(deadline));
    connection.wait_closed().map_err(|error| failed(&error))?;
    match process {
        Some(Ok(process)) => {
            let remaining = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], remaining.as_ref()) {
                Ok(0) => Err(Failure::new(format!("the daemon, process {pid}, does not end"))),
                Ok(_) => Ok(()),
                Err(errno) => Err(Failure::new(format!("the end of process {pid} cannot be seen: {errno}"))),
            }
        }
        // It was gone already, or pids are numbered differently here; the closed connection has to do.
        Some(Err(_)) | None => Ok(()),
    }
}
