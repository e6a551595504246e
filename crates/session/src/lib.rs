//! The application machine: who is there, in which workspace, and who may work on which database.
//!
//! [`Steward`] composes the domain machines: it resolves the workspace of each session and client, loads its settings,
//! routes events to the workspace's lifecycle, gives each database to one piece of work at a time, and knows when
//! nothing is left to do. Like them it is pure: [`Steward::on`], [`Steward::deadline`], and [`perform`] for its effects.
//! It must never speak a harness's dialect or know that there is a socket.

#![warn(clippy::wildcard_enum_match_arm)]

mod databases;
mod event;
mod perform;
mod steward;

pub use event::{
    ClientAnswer, Effect, Event, Happened, Origin, RequestId, Resolution, SessionFacts, StatusQuestion, Task,
};
pub use perform::perform;
pub use steward::{StatusView, Steward};
pub use steward_freshness::Certainty;
pub use steward_lifecycle::{ClientId, Ports};
