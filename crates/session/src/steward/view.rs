//! What surfaces may read of the application.
//!
//! It must never change anything.

use steward_config::Resolved;
use steward_lifecycle::{Lifecycle, Problem};
use steward_ports::{SessionId, Tick, WorkspaceRoot};

use super::Steward;
use crate::event::SessionFacts;

/// One workspace, to be rendered.
#[derive(Debug, Clone, Copy)]
pub struct StatusView<'a> {
    /// Its lifecycle.
    pub lifecycle: &'a Lifecycle,
    /// Its settings.
    pub settings: &'a Resolved,
    /// The last problem that belongs to no workspace.
    pub problem: Option<(&'a Problem, Tick)>,
}

impl Steward {
    /// Returns what is known of the workspace at `root`.
    pub fn status(&self, root: &WorkspaceRoot) -> Option<StatusView<'_>> {
        let place = self.places.get(root)?;
        let problem = self.last_problem.as_ref().map(|(problem, at)| (problem, *at));
        Some(StatusView { lifecycle: &place.lifecycle, settings: &place.settings, problem })
    }

    /// Returns the sessions of the workspace at `root`.
    pub fn sessions_of<'a>(&'a self, root: &'a WorkspaceRoot) -> impl Iterator<Item = &'a SessionFacts> {
        self.sessions.values().filter(move |session| session.root.as_ref() == Some(root)).map(|session| &session.facts)
    }

    /// Whether `session` is known.
    pub fn has_session(&self, session: &SessionId) -> bool {
        self.sessions.contains_key(session)
    }

    /// Whether everything that can be known without waiting for cgc or for a scan is known of `session`'s workspace.
    pub fn has_settled(&self, session: &SessionId) -> bool {
        let Some(session) = self.sessions.get(session) else { return true };
        match &session.root {
            Some(root) if session.request.is_none() => {
                self.places.get(root).is_none_or(|place| !place.lifecycle.is_inspecting())
            }
            Some(_) => false,
            None => session.request.is_none(),
        }
    }

    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// How many jobs run or are queued.
    pub fn job_count(&self) -> usize {
        self.places.values().filter(|place| place.lifecycle.has_job()).count()
    }
}
