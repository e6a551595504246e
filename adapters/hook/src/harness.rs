//! What a harness binary knows about its harness.
//!
//! It must never do anything: a dialect is pure functions from bytes to values and back.

use std::ffi::OsString;
use std::path::PathBuf;

use steward_wire::{Carries, HarnessEvent, HarnessName};
use thiserror::Error;

use crate::answer::Answer;

/// One harness's dialect.
pub trait Harness {
    /// The harness.
    const NAME: HarnessName;
    /// How the name of the harness's process begins.
    const PROCESS: &'static str;

    /// What the answer needs to know of the event.
    type Origin: Copy;

    /// Reads a payload. `None` for an event that means nothing to the companion; then nobody is asked.
    fn decode(payload: &[u8]) -> Result<Option<Occurrence<Self::Origin>>, DecodeError>;

    /// Whether the harness runs without a screen; `variable` reads the hook's environment.
    fn is_headless(variable: impl Fn(&str) -> Option<OsString>) -> bool;

    /// Writes what the harness reads. Called only where there is something to tell.
    fn encode(origin: Self::Origin, answer: &Answer) -> Vec<u8>;
}

/// An event in the companion's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence<Origin> {
    /// What the answer needs to know of the event.
    pub origin: Origin,
    /// The harness's own session id.
    pub harness_session: Option<String>,
    /// The session's directory, absolute. It need not exist.
    pub directory: PathBuf,
    /// What happened.
    pub event: HarnessEvent,
    /// What the answer to this event can carry.
    pub carries: Carries,
}

/// Why a payload could not be read. It never holds any of the payload's content, since it goes to a log.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// It is not the JSON that was expected.
    #[error("the payload cannot be read ({problem} at line {line}, column {column})")]
    Malformed {
        /// What kind of problem.
        problem: &'static str,
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
    },
    /// The session's directory is missing or no absolute path.
    #[error("the payload names no absolute directory")]
    NoDirectory,
}

impl From<serde_json::Error> for DecodeError {
    fn from(error: serde_json::Error) -> Self {
        let problem = match error.classify() {
            serde_json::error::Category::Io => "unreadable",
            serde_json::error::Category::Syntax => "not JSON",
            serde_json::error::Category::Data => "not the expected fields",
            serde_json::error::Category::Eof => "cut short",
        };
        Self::Malformed { problem, line: error.line(), column: error.column() }
    }
}
