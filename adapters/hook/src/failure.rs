//! Everything that can go wrong with one event.
//!
//! It must never hold content of a payload: it is written to a log.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use steward_ipc::RuntimeError;
use steward_ipc::client::ClientError;
use thiserror::Error;

use crate::harness::DecodeError;
use crate::harness_process::NoHarness;
use crate::input::InputError;

/// Why an event was not answered.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("the event could not be read")]
    Input(#[source] InputError),
    #[error("the event could not be understood")]
    Decode(#[source] DecodeError),
    #[error("the harness's process was not found")]
    NoHarness(#[source] NoHarness),
    #[error("the path of this program cannot be found out")]
    Executable(#[source] io::Error),
    #[error("there is no place for the daemon's socket")]
    Runtime(#[source] RuntimeError),
    #[error("the daemon could not be asked")]
    Client(#[source] ClientError),
    #[error("the daemon could not carry the event out: {reason}")]
    Refused { reason: String },
    #[error("the daemon answered something else than was asked")]
    UnexpectedReply,
    #[error("the event took too long")]
    Overrun,
    #[error("the event's deadline could not be watched")]
    Unwatched(#[source] io::Error),
    #[error("the answer could not be written")]
    Output(#[source] io::Error),
    #[error("a defect at {location}")]
    Panicked { location: String },
}

/// Why a failure could not be logged.
#[derive(Debug, Error)]
#[error("the log {} cannot be written", path.display())]
pub(crate) struct LogError {
    pub(crate) path: PathBuf,
    #[source]
    pub(crate) source: io::Error,
}

/// Returns the error and its causes as one line.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
