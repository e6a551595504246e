//! Freshness: whether the graph of one workspace is known to match its tree, and when something is done about it.
//!
//! [`Freshness`] observes edits and turns, and says when the tree has to be looked at and when a sync is due. It must never
//! know how a sync is done, start anything itself, or call a graph fresh that nobody has compared with the tree.

#![warn(clippy::wildcard_enum_match_arm)]

mod machine;

pub use machine::{Certainty, Effect, Event, Freshness, Graph, Policy, Standing};
