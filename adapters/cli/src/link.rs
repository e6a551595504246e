//! The connection to the daemon.
//!
//! It must never start a daemon for a question that needs none.

use std::time::{Duration, Instant};

use steward_ipc::client::{ClientError, Connection, connect, exchange};
use steward_ipc::{Runtime, Start, build_of};
use steward_wire::{Build, Envelope, PROTOCOL, Reply, Request};

use crate::failure::Failure;
use crate::surroundings::Surroundings;

/// How long a person waits for a first reply. The daemon may have a large tree to look at before it can say anything.
const FIRST_REPLY: Duration = Duration::from_secs(30);

/// How long a daemon may take over what records and files tell as well. A stopped one would never answer.
const DISPENSABLE_REPLY: Duration = Duration::from_secs(5);

/// The daemon's program, beside our own.
pub(crate) const DAEMON_PROGRAM: &str = "stewardd";

/// A way to the user's daemon.
#[derive(Debug)]
pub(crate) struct Link<'a> {
    surroundings: &'a Surroundings,
    runtime: Runtime,
    build: Build,
}

impl<'a> Link<'a> {
    /// Finds the runtime directory.
    pub(crate) fn new(surroundings: &'a Surroundings) -> Result<Self, Failure> {
        let runtime = Runtime::locate(surroundings.environment.get("XDG_RUNTIME_DIR"))
            .map_err(|error| Failure::caused_by(&error).with_advice("Remove it, or set XDG_RUNTIME_DIR."))?;
        let build = build_of(&surroundings.executable()?.with_file_name(DAEMON_PROGRAM));
        Ok(Self { surroundings, runtime, build })
    }

    /// Returns the build that a daemon beside this program has.
    pub(crate) fn build(&self) -> &Build {
        &self.build
    }

    /// Asks a running daemon; `None` where none runs.
    pub(crate) fn ask_running(&self, request: &Request) -> Result<Option<Reply>, Failure> {
        Ok(self.open_running(request)?.map(|(_, reply)| reply))
    }

    /// Asks a running daemon and keeps the connection; `None` where none runs.
    pub(crate) fn open_running(&self, request: &Request) -> Result<Option<(Connection, Reply)>, Failure> {
        self.try_open(request, FIRST_REPLY).map_err(|error| failed(&error))
    }

    /// Asks a running daemon for something that can be found out without it, and so waits for a few seconds only.
    pub(crate) fn try_running(&self, request: &Request) -> Result<Option<Reply>, ClientError> {
        Ok(self.try_open(request, DISPENSABLE_REPLY)?.map(|(_, reply)| reply))
    }

    fn try_open(&self, request: &Request, patience: Duration) -> Result<Option<(Connection, Reply)>, ClientError> {
        let envelope = Envelope { protocol: PROTOCOL, build: self.build.clone(), request: request.clone() };
        let deadline = Some(Instant::now() + patience);
        match connect(&self.runtime, deadline).and_then(|connection| connection.ask(&envelope)) {
            Ok(answered) => Ok(Some(answered)),
            Err(ClientError::NotRunning { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks the daemon, which is started where none runs and replaced where an older build runs.
    pub(crate) fn open(&self, request: &Request) -> Result<(Connection, Reply), Failure> {
        let program = self.surroundings.executable()?.with_file_name(DAEMON_PROGRAM);
        let start = Start { program, environment: self.surroundings.forwarded() };
        exchange(&self.runtime, &start, &self.build, request, deadline()).map_err(|error| failed(&error))
    }
}

/// Tells why the daemon could not be asked.
pub(crate) fn failed(error: &ClientError) -> Failure {
    let failure = Failure::caused_by(error);
    match error {
        ClientError::NotRunning { .. } | ClientError::Unusable { .. } | ClientError::Lock(_) => failure,
        ClientError::TimedOut => failure.with_advice("If it stays so, end the process `stewardd` and try again."),
        ClientError::BrokenOff(_) => {
            failure.with_advice("Nothing was started anew. `steward status` shows what is known.")
        }
        ClientError::Ending => failure.with_advice("It finishes its work first. Try again in a while."),
        ClientError::Incompatible { .. } => failure.with_advice("End it by the `steward` of its own build."),
        ClientError::NotStarted(_) => failure.with_advice("`steward doctor` looks for the reason."),
    }
}

fn deadline() -> Instant {
    Instant::now() + FIRST_REPLY
}
