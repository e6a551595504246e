//! The lifecycle of one workspace's graph: its state, the work that changes it, and what the human is told.
//!
//! [`Lifecycle`] is a pure machine: [`Lifecycle::on`] takes an [`Event`] and returns [`Effect`]s, [`Lifecycle::deadline`]
//! replaces timers, and [`perform`] carries out one [`Task`] through the ports and returns its answer as the next event.
//! The crate must never read a clock, start a process or decide anything in `perform`.
//!
//! A failed task is an event too, so that what happens after a failure can be read in the machine.

#![warn(clippy::wildcard_enum_match_arm)]

mod assess;
mod event;
mod job;
mod machine;
mod notices;
mod perform;
mod prove;
mod run;
#[cfg(test)]
mod samples;
mod state;

pub use assess::{Assessment, Inspection, assess};
pub use event::{ClientId, Database, Effect, Event, JobAnswer, Policy, Problem, ReceiptDraft, Scan, Task, Terms};
pub use job::{JobStep, Origin};
pub use machine::Lifecycle;
pub use perform::{Ports, perform};
pub use prove::{Proof, prove};
pub use run::{RunEnd, RunEvent, StopBudget};
pub use state::{Activity, Evidence, JobResult, Knowledge, State, Work};
