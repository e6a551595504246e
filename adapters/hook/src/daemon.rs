//! Asking the daemon about one event.
//!
//! It must never start a daemon only to tell it that nothing is left to do, and never tell one event to two daemons.

use std::time::Instant;

use steward_ipc::client::{ClientError, connect, exchange};
use steward_ipc::{Runtime, Start, build_of, environment};
use steward_wire::{Envelope, HarnessEvent, HarnessName, PROTOCOL, Reply, Request, SessionContext};

use crate::answer::Answer;
use crate::failure::Failure;
use crate::harness::Occurrence;
use crate::harness_process::harness_process;
use crate::watchdog::Watchdog;

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
///
/// A running daemon is asked through a socket that waits no longer than `deadline`; the files looked at on the way are
/// `/proc`, the runtime directory and this program's own. Only starting one may block, so only then is `watch` called: a
/// thread would take a fifth of the time that such an answer takes.
pub(crate) fn ask(
    speaker: Speaker,
    occurrence: Occurrence<()>,
    deadline: Instant,
    watch: impl FnOnce() -> Result<Watchdog, Failure>,
) -> Result<Answer, Failure> {
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
    let envelope = Envelope { protocol: PROTOCOL, build: build.clone(), request };
    let reply = match connect(&runtime, Some(deadline)).and_then(|connection| connection.ask(&envelope)) {
        Ok((_, Reply::Draining | Reply::Incompatible { .. })) | Err(ClientError::NotRunning { .. }) => {
            if is_end {
                return Ok(Answer::default());
            }
            let watchdog = watch()?;
            let reply = exchange(&runtime, &Start { program, environment }, &build, &envelope.request, deadline);
            watchdog.call_off();
            reply
        }
        asked => asked,
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
