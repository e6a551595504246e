//! The ways in which a job ends, and the state in which each leaves the graph.
//!
//! It must never claim less doubt than there is: half-built is incomplete, unproved is drift.

use steward_ports::{Difference, Holder, JobKind, Receipt};

use super::Order;
use crate::state::State;

pub(super) const NOT_BEGUN: &str = "it was stopped before it began";

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobEnd {
    /// It was proved. `left` is what changed in the tree while it ran.
    Proved { receipt: Box<Receipt>, left: Difference },
    /// Another process holds the database; nothing was done. `cgc_ran` tells that only cgc found out.
    Busy { holder: Option<Holder>, cgc_ran: bool },
    /// It did not do what it was for.
    Failed { state: State, summary: String, advice: Option<String>, transient: bool },
}

pub(super) fn untouched(order: &Order, reason: &str, transient: bool) -> JobEnd {
    JobEnd::Failed { state: order.found, summary: reason.to_owned(), advice: None, transient }
}

/// The work was done, so there is a graph; without a proof it only is not known to match.
pub(super) fn unproved(reason: &str) -> JobEnd {
    let summary = format!("the work was done and could not be proved: {reason}");
    JobEnd::Failed { state: State::Drift, summary, advice: None, transient: true }
}

pub(super) fn half_done(order: &Order, summary: String, advice: Option<String>) -> JobEnd {
    let state = match order.kind {
        JobKind::Index | JobKind::Rebuild => State::Incomplete,
        // A sync deletes nothing; what it left is behind at worst.
        JobKind::Sync => State::Drift,
    };
    JobEnd::Failed { state, summary, advice, transient: false }
}

pub(super) fn stopped(order: &Order) -> JobEnd {
    half_done(order, "it was stopped before it was done".to_owned(), None)
}

pub(super) fn no_grammars() -> JobEnd {
    let summary = "cgc found code and made no symbol of it: its grammars are missing".to_owned();
    let advice = "cgc fetches tree-sitter grammars when it first needs them: go online once, or set \
                  TREE_SITTER_LANGUAGE_PACK_LIBS_DIR, then run `steward rebuild`.";
    JobEnd::Failed { state: State::Incomplete, summary, advice: Some(advice.to_owned()), transient: false }
}
