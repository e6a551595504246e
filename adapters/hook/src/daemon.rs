//! Asking the daemon about one event.
//!
//! It must never start a daemon only to tell it that nothing is left to do, and never ask twice.

use std::time::Instant;

use steward_ipc::client::{ClientError, connect, exchange};
use steward_ipc::{Runtime, Start, build_of, environment};
use steward_wire::{Envelope, HarnessEvent, HarnessName, PROTOCOL, Reply, Request, SessionContext};

use crate::answer::Answer;
use crate::failure::Failure;
use crate::harness::Occurrence;
use crate::harness_process::harness_process;

/// The daemon's program, which lies beside this one.
const DAEMON: &str = "stewardd";

/// Who speaks to the daemon.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speaker {
    pub(crate) harness: HarnessName,
    /// How the harness's process is named.
    pub(crate) process: &'static str,
    pub(crate) headless: bool,
}

/// Tells the daemon what happened, starting one where none runs, and returns what is to be told with the event.
pub(crate) fn ask(speaker: Speaker, occurrence: Occurrence<()>, deadline: Instant) -> Result<Answer, Failure> {
    let Occurrence { origin: (), harness_session, directory, event, carries } = occurrence;
    let process = harness_process(speaker.process).map_err(Failure::NoHarness)?;
    let runtime = Runtime::locate(std::env::var_os("XDG_RUNTIME_DIR").as_deref()).map_err(Failure::Runtime)?;
    let program = std::env::current_exe().map_err(Failure::Executable)?.with_file_name(DAEMON);
    let environment = environment::forwarded(std::env::vars_os());
    let build = build_of(&program);
    let is_end = matches!(event, HarnessEvent::SessionEnded { continues: false });
    let session = SessionContext {
        harness: speaker.harness,
        process,
        harness_session,
        directory,
        environment: environment.clone(),
        headless: speaker.headless,
    };
    let request = Request::Event { session, event, carries };
    let reply = if is_end {
        let envelope = Envelope { protocol: PROTOCOL, build, request };
        match connect(&runtime, Some(deadline)).and_then(|connection| connection.ask(&envelope)) {
            Ok((_, Reply::Draining | Reply::Incompatible { .. })) | Err(ClientError::NotRunning { .. }) => {
                return Ok(Answer::default());
            }
            asked => asked,
        }
    } else {
        exchange(&runtime, &Start { program, environment }, &build, &request, deadline)
    };
    match reply.map_err(Failure::Client)? {
        (_, Reply::Delivery { notices, context }) => Ok(Answer::new(&notices, &context, carries)),
        (_, Reply::Failed { reason } | Reply::Refused { reason, .. }) => Err(Failure::Refused { reason }),
        (
            _,
            Reply::Status(_)
            | Reply::Accepted { .. }
            | Reply::Progress(_)
            | Reply::Finished(_)
            | Reply::Daemon(_)
            | Reply::Stopping { .. }
            | Reply::Incompatible { .. }
            | Reply::Draining,
        ) => Err(Failure::UnexpectedReply),
    }
}
