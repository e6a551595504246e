//! What a harness says of a session beyond what the domain needs: its name and its own session id.
//!
//! It must never key anything; the domain's session id does.

use std::collections::BTreeMap;

use steward_ports::SessionId;
use steward_wire::{HarnessName, SessionContext, SessionReport};

#[derive(Debug)]
struct Attributes {
    harness: HarnessName,
    harness_session: Option<String>,
}

/// The attributes of the live sessions.
#[derive(Debug, Default)]
pub(crate) struct SessionAttributes {
    sessions: BTreeMap<SessionId, Attributes>,
}

impl SessionAttributes {
    /// Notes what `context` says of `session`; a harness may change its own session id within one process.
    pub(crate) fn note(&mut self, session: &SessionId, context: &SessionContext) {
        let attributes = Attributes { harness: context.harness, harness_session: context.harness_session.clone() };
        self.sessions.insert(session.clone(), attributes);
    }

    pub(crate) fn forget(&mut self, session: &SessionId) {
        self.sessions.remove(session);
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &SessionId> {
        self.sessions.keys()
    }

    pub(crate) fn report(&self, session: &SessionId, pid: u32) -> Option<SessionReport> {
        let attributes = self.sessions.get(session)?;
        Some(SessionReport { harness: attributes.harness, pid, id: attributes.harness_session.clone() })
    }
}
