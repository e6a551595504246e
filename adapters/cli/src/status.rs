//! `steward status`.
//!
//! It must never start a daemon or cgc, and with `--json` never print anything but one JSON object, whatever fails.

mod render;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use steward_daemon::{Now, passive_status, unknown};
use steward_ipc::client::ClientError;
use steward_ports::Clock;
use steward_wire::{Reply, Request, StatusReport};

use crate::failure::Failure;
use crate::link::{Link, failed};
use crate::ports::{machine_ports, on_runtime};
use crate::surroundings::Surroundings;
use crate::terminal::Terminal;

/// Shows the status of the workspace of `path`, or of the current directory.
pub(crate) fn status(
    surroundings: &Surroundings,
    terminal: &mut Terminal,
    json: bool,
    path: Option<&Path>,
) -> Result<(), Failure> {
    let found = surroundings.directory(path).and_then(|directory| report(surroundings, directory));
    match (found, json) {
        (Ok(report), true) => print_json(terminal, &report),
        (Ok(report), false) => {
            terminal.say(&render::render(&report, Timestamp::now()));
            Ok(())
        }
        (Err(failure), true) => {
            let directory = path.map_or_else(PathBuf::new, Path::to_owned);
            let clock = steward_clock::SystemClock::new();
            let now = Now { tick: clock.now(), wall: clock.wall() };
            print_json(terminal, &unknown(directory, failure.message(), now))?;
            Err(failure)
        }
        (Err(failure), false) => Err(failure),
    }
}

/// Returns the status of `directory`'s workspace: the daemon's where one runs, else what records and files tell.
pub(crate) fn report(surroundings: &Surroundings, directory: PathBuf) -> Result<StatusReport, Failure> {
    let environment = surroundings.forwarded();
    let request = Request::Status { directory: directory.clone(), environment: environment.clone() };
    let reply = match Link::new(surroundings)?.try_running(&request) {
        Ok(reply) => reply,
        Err(error @ (ClientError::TimedOut | ClientError::BrokenOff(_))) => {
            let mut report = passive(surroundings, directory, &environment)?;
            report
                .warnings
                .push(format!("a daemon runs and was no help ({error}); this is what records and files tell"));
            return Ok(report);
        }
        Err(error) => return Err(failed(&error)),
    };
    match reply {
        Some(Reply::Status(report)) => Ok(*report),
        Some(Reply::Incompatible { protocol, build }) => {
            let mut report = passive(surroundings, directory, &environment)?;
            report.warnings.push(format!(
                "a daemon of another build runs (version {}, protocol {protocol}) and was not asked",
                build.version
            ));
            Ok(report)
        }
        Some(Reply::Draining) | None => passive(surroundings, directory, &environment),
        Some(Reply::Failed { reason } | Reply::Refused { reason, advice: _ }) => Err(Failure::new(reason)),
        Some(
            Reply::Delivery { .. }
            | Reply::Accepted { .. }
            | Reply::Progress(_)
            | Reply::Finished(_)
            | Reply::Daemon(_)
            | Reply::Stopping { .. },
        ) => Err(Failure::new("the daemon answered another question than was asked")),
    }
}

fn passive(
    surroundings: &Surroundings,
    directory: PathBuf,
    environment: &BTreeMap<String, String>,
) -> Result<StatusReport, Failure> {
    on_runtime(async {
        let ports = machine_ports(surroundings).await?;
        Ok(passive_status(directory, environment, &ports).await)
    })
}

fn print_json(terminal: &mut Terminal, report: &StatusReport) -> Result<(), Failure> {
    let text = serde_json::to_string(report).map_err(|error| Failure::caused_by(&error))?;
    terminal.say(&text);
    Ok(())
}
