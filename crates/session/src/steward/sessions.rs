//! What happens in sessions, and what it means to the machines of their workspaces.
//!
//! It must never decide what follows; the workspace's machines do.

use std::collections::VecDeque;

use steward_config::Settings;
use steward_ports::{SessionId, Tick, WorkspaceRoot};

use super::{Session, Steward, carry_over};
use crate::event::{Effect, Happened, SessionFacts, Task};

impl Steward {
    pub(super) fn harness(&mut self, facts: SessionFacts, happened: Happened, now: Tick) -> Vec<Effect> {
        if self.is_ending() {
            return Vec::new();
        }
        let id = facts.id.clone();
        if matches!(happened, Happened::SessionEnded { continues: false }) {
            return self.session_gone(&id, now);
        }
        let mut effects = Vec::new();
        let moved = match self.sessions.get(&id) {
            None => {
                effects.push(watch(&facts));
                true
            }
            Some(session) => session.facts.directory != facts.directory && may_move(&happened),
        };
        let session = self.sessions.entry(id.clone()).or_insert_with(|| Session::new(facts.clone()));
        if moved {
            session.facts = facts;
            effects.extend(self.resolve_session(&id));
        }
        effects.extend(self.session_event(&id, happened, now));
        effects
    }

    pub(super) fn session_event(&mut self, id: &SessionId, happened: Happened, now: Tick) -> Vec<Effect> {
        let Some(session) = self.sessions.get_mut(id) else { return Vec::new() };
        let Some(root) = session.root.clone().filter(|_| session.request.is_none()) else {
            session.waiting.push(happened);
            return Vec::new();
        };
        let (freshness, lifecycle) = self.translate(id, &root, happened);
        let mut queue = VecDeque::from_iter(lifecycle.map(|event| (root.clone(), event)));
        if let (Some(event), Some(place)) = (freshness, self.places.get_mut(&root)) {
            queue.extend(place.freshness.on(event, now).into_iter().map(|effect| (root.clone(), carry_over(effect))));
        }
        self.work_off(queue, now)
    }

    /// What `happened` means to freshness and to the lifecycle.
    fn translate(
        &self,
        id: &SessionId,
        root: &WorkspaceRoot,
        happened: Happened,
    ) -> (Option<steward_freshness::Event>, Option<steward_lifecycle::Event>) {
        let session = id.clone();
        match happened {
            Happened::SessionStarted => self.start_of(id, root),
            Happened::PromptSubmitted => (Some(steward_freshness::Event::PromptSubmitted(session)), None),
            Happened::TurnEnded => (Some(steward_freshness::Event::TurnEnded(session)), None),
            Happened::Edited { certainty, paths } => {
                let inside = paths.is_empty() || paths.iter().any(|path| path.starts_with(root.as_path()));
                if inside {
                    let event = steward_freshness::Event::Edited { session, certainty };
                    (Some(event), Some(steward_lifecycle::Event::EditObserved))
                } else {
                    (None, None)
                }
            }
            Happened::Unconcerned => (None, None),
            Happened::SessionEnded { continues: true } => (None, Some(steward_lifecycle::Event::Replaced { session })),
            Happened::SessionEnded { continues: false } => {
                let left = steward_lifecycle::Event::Left { session: session.clone() };
                (Some(steward_freshness::Event::Left(session)), Some(left))
            }
        }
    }

    fn start_of(
        &self,
        id: &SessionId,
        root: &WorkspaceRoot,
    ) -> (Option<steward_freshness::Event>, Option<steward_lifecycle::Event>) {
        let Some(terms) = self.terms_of_session(id, root) else { return (None, None) };
        let joined = steward_lifecycle::Event::Joined { session: id.clone(), terms };
        let policy = self.places.get(root).map(|place| freshness_policy(&place.settings.settings));
        let freshness = policy.map(|policy| steward_freshness::Event::Joined { session: id.clone(), policy });
        (freshness, Some(joined))
    }

    pub(super) fn session_gone(&mut self, id: &SessionId, now: Tick) -> Vec<Effect> {
        let Some(session) = self.sessions.remove(id) else { return Vec::new() };
        if let Some(request) = session.request {
            self.requests.remove(&request);
        }
        match session.root {
            Some(root) => self.leave(id, &root, now),
            None => Vec::new(),
        }
    }

    pub(super) fn leave(&mut self, id: &SessionId, root: &WorkspaceRoot, now: Tick) -> Vec<Effect> {
        let mut queue = VecDeque::from([(root.clone(), steward_lifecycle::Event::Left { session: id.clone() })]);
        if let Some(place) = self.places.get_mut(root) {
            let effects = place.freshness.on(steward_freshness::Event::Left(id.clone()), now);
            queue.extend(effects.into_iter().map(|effect| (root.clone(), carry_over(effect))));
        }
        self.work_off(queue, now)
    }
}

impl Session {
    fn new(facts: SessionFacts) -> Self {
        Self { facts, root: None, request: None, waiting: Vec::new(), told_of_settings: false }
    }
}

fn watch(facts: &SessionFacts) -> Effect {
    Effect::Task(Task::WatchHarness { session: facts.id.clone(), process: facts.process.clone() })
}

/// A session moves to another workspace with its conversation, not with every `cd` of a tool.
fn may_move(happened: &Happened) -> bool {
    match happened {
        Happened::SessionStarted | Happened::PromptSubmitted => true,
        Happened::Edited { .. } | Happened::Unconcerned | Happened::TurnEnded | Happened::SessionEnded { .. } => false,
    }
}

fn freshness_policy(settings: &Settings) -> steward_freshness::Policy {
    steward_freshness::Policy {
        auto_sync: settings.freshness.auto_sync,
        max_syncs: settings.freshness.max_syncs_per_session,
        quiet: settings.freshness.quiet,
    }
}
