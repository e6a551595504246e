//! The protocol between a client (a harness binary, the command line) and the daemon.
//!
//! Responsible for the messages, their version and their framing: a little-endian `u32` length and that many bytes of
//! JSON, at most [`MAXIMUM_FRAME`]. It must never open a socket, hold a deadline or depend on the domain: the daemon
//! translates. One connection carries one [`Request`] and its [`Reply`]s; the last reply is one for which
//! [`Reply::is_last`] holds.

mod frame;
mod message;
mod report;

pub use frame::{FrameError, MAXIMUM_FRAME, body_length, decode, encode, read_frame, write_frame};
pub use message::{
    Ancestor, Build, Carries, DaemonReport, EditCertainty, Envelope, HarnessEvent, HarnessName, Hello, JobOutcome,
    JobProgress, JobVerb, Notice, PROTOCOL, Reply, Request, SessionContext, Severity, StartSource,
};
pub use report::{
    Activity, BackendReport, EvidenceItem, FailureReport, FreshnessReport, FreshnessStatus, IndexState, LastAction,
    ReceiptReport, SessionReport, StatusReport,
};
