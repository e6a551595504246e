//! The daemon: the composition root in which ports are bound and the application machine is driven.
//!
//! Responsible for one event loop: requests and answers in, effects out. It must never decide what a machine can decide,
//! and never outlive its last session by more than the idle time.

mod clients;
mod compose;
mod driver;
mod log;
mod outbox;
mod passive;
mod report;
mod sessions;
mod translate;

pub use clients::Replies;
pub use compose::{ComposeError, Composition, compose};
pub use driver::{Driver, Identity};
pub use log::start_log;
pub use outbox::Outbox;
pub use passive::passive_status;
pub use report::{Now, report, unknown};
