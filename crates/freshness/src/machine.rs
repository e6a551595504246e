//! The freshness machine of one workspace.
//!
//! It must never spend a sync where a look at the tree would have withdrawn the doubt, nor more syncs than a session's
//! budget allows.

use std::collections::BTreeMap;
use std::time::Duration;

use steward_ports::{SessionId, Tick};

/// The settings that freshness obeys, per session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// `freshness.autoSync`: whether edits are followed by a sync without asking.
    pub auto_sync: bool,
    /// `freshness.maxSyncsPerSession`: how many syncs one session may cause.
    pub max_syncs: u32,
    /// `freshness.quietMs`: how long edits must have been quiet before something is done.
    pub quiet: Duration,
}

/// How sure it is that files changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// A shell command or a subagent ran.
    Possible,
    /// A tool said that it edited files which cgc indexes.
    Certain,
}

/// What is known of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Graph {
    /// It was found to match the tree.
    Matches,
    /// It was found to differ from the tree.
    Behind,
    /// It is being looked at or worked on.
    Occupied,
    /// There is none that could be brought up to date now.
    Unusable,
}

/// What freshness hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A session began.
    Joined {
        /// The session.
        session: SessionId,
        /// Its settings.
        policy: Policy,
    },
    /// A session ended.
    Left(SessionId),
    /// A session edited files, or may have.
    Edited {
        /// The session.
        session: SessionId,
        /// How sure that is.
        certainty: Certainty,
    },
    /// A session's turn ended: its edits have landed.
    TurnEnded(SessionId),
    /// A session's human spoke: files may have changed unseen since the last turn.
    PromptSubmitted(SessionId),
    /// What is known of the graph changed, or was confirmed by a look or a job that ended.
    Graph(Graph),
    /// `deadline()` was reached.
    DeadlineReached,
}

/// What freshness wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Look at the tree on behalf of this session.
    Look(SessionId),
    /// Bring the graph up to date, charged to this session.
    Sync(SessionId),
}

/// Edits that no look at the tree has settled.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Doubt {
    first: Tick,
    certainty: Certainty,
    /// The session that caused the latest of them; it pays.
    session: SessionId,
    /// When something is done about it.
    due: Tick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Account {
    policy: Policy,
    spent: u32,
    /// Syncs of this session in a row that left the graph behind.
    failures: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// Nothing was asked for.
    Watching,
    /// A look was asked for.
    Looking(SessionId),
    /// A look was asked for at a graph that was behind before, and left so on purpose (LC-16) or for want of means.
    Reviewing(SessionId),
    /// A sync was asked for.
    Syncing(SessionId),
}

/// How the graph stands, for surfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// No edit was observed that a look has not settled.
    Undoubted,
    /// Edits were observed since this instant, and nobody has looked.
    Doubted {
        /// The first of them.
        since: Tick,
    },
}

/// The freshness of one workspace, shared by all its sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freshness {
    accounts: BTreeMap<SessionId, Account>,
    doubt: Option<Doubt>,
    graph: Graph,
    phase: Phase,
}

impl Default for Freshness {
    fn default() -> Self {
        Self { accounts: BTreeMap::new(), doubt: None, graph: Graph::Unusable, phase: Phase::Watching }
    }
}

impl Freshness {
    /// Hears `event` at `now` and returns what is to be done.
    #[must_use]
    pub fn on(&mut self, event: Event, now: Tick) -> Vec<Effect> {
        match event {
            Event::Joined { session, policy } => {
                let account = self.accounts.entry(session).or_insert(Account { policy, spent: 0, failures: 0 });
                account.policy = policy;
                Vec::new()
            }
            Event::Left(session) => self.left(&session),
            Event::Edited { session, certainty } => self.edited(session, certainty, now),
            Event::TurnEnded(session) => self.turn_ended(&session, now),
            Event::PromptSubmitted(session) => self.prompt_submitted(session),
            Event::Graph(graph) => self.graph_changed(graph, now),
            Event::DeadlineReached => self.act(now),
        }
    }

    /// When [`Event::DeadlineReached`] is due, if nothing else happens before.
    pub fn deadline(&self) -> Option<Tick> {
        match (&self.phase, self.graph) {
            (Phase::Watching, Graph::Matches | Graph::Behind) => self.doubt.as_ref().map(|doubt| doubt.due),
            // What occupies the graph ends with an event; what makes it unusable is no reason to look.
            (Phase::Watching, Graph::Occupied | Graph::Unusable)
            | (
                Phase::Looking(_) | Phase::Reviewing(_) | Phase::Syncing(_),
                Graph::Matches | Graph::Behind | Graph::Occupied | Graph::Unusable,
            ) => None,
        }
    }

    /// How the graph stands.
    pub fn standing(&self) -> Standing {
        match &self.doubt {
            Some(doubt) => Standing::Doubted { since: doubt.first },
            None => Standing::Undoubted,
        }
    }

    fn left(&mut self, session: &SessionId) -> Vec<Effect> {
        self.accounts.remove(session);
        match &self.phase {
            Phase::Looking(asked) | Phase::Reviewing(asked) | Phase::Syncing(asked) if asked == session => {
                self.phase = Phase::Watching;
            }
            Phase::Looking(_) | Phase::Reviewing(_) | Phase::Syncing(_) | Phase::Watching => {}
        }
        // Its edits are on disk all the same; somebody who stays may have them synced.
        match (&mut self.doubt, self.accounts.keys().next()) {
            (Some(doubt), Some(heir)) if doubt.session == *session => doubt.session = heir.clone(),
            (doubt @ Some(_), None) => *doubt = None,
            (Some(_) | None, _) => {}
        }
        Vec::new()
    }

    fn edited(&mut self, session: SessionId, certainty: Certainty, now: Tick) -> Vec<Effect> {
        let Some(account) = self.accounts.get_mut(&session) else { return Vec::new() };
        account.failures = 0;
        let due = now.after(account.policy.quiet);
        self.doubt = Some(match self.doubt.take() {
            Some(doubt) => Doubt { first: doubt.first, certainty: doubt.certainty.max(certainty), session, due },
            None => Doubt { first: now, certainty, session, due },
        });
        Vec::new()
    }

    /// Edits have landed at the latest when the turn ends, so nothing is gained by waiting for quiet. A sync that failed
    /// is tried once more then.
    fn turn_ended(&mut self, session: &SessionId, now: Tick) -> Vec<Effect> {
        if let Some(doubt) = &mut self.doubt
            && doubt.session == *session
        {
            doubt.due = now;
        }
        let retry = self.doubt.is_none()
            && self.graph == Graph::Behind
            && self.phase == Phase::Watching
            && self.accounts.get(session).is_some_and(|account| account.failures == 1);
        if retry { self.sync(session.clone()) } else { self.act(now) }
    }

    /// The human may have edited, pulled or switched branches; only a look can tell.
    fn prompt_submitted(&mut self, session: SessionId) -> Vec<Effect> {
        if !self.accounts.contains_key(&session) {
            return Vec::new();
        }
        if self.phase == Phase::Watching && self.graph != Graph::Occupied {
            let is_left_behind = self.graph == Graph::Behind && self.doubt.is_none();
            self.doubt = None;
            self.phase =
                if is_left_behind { Phase::Reviewing(session.clone()) } else { Phase::Looking(session.clone()) };
        }
        vec![Effect::Look(session)]
    }

    /// Looks at the tree where doubt is due and nothing stands in the way.
    fn act(&mut self, now: Tick) -> Vec<Effect> {
        if self.deadline().is_none_or(|due| due > now) {
            return Vec::new();
        }
        match self.doubt.take() {
            Some(doubt) => {
                self.phase = Phase::Looking(doubt.session.clone());
                vec![Effect::Look(doubt.session)]
            }
            None => Vec::new(),
        }
    }

    fn graph_changed(&mut self, graph: Graph, now: Tick) -> Vec<Effect> {
        self.graph = graph;
        match (graph, std::mem::replace(&mut self.phase, Phase::Watching)) {
            (Graph::Occupied, phase) => {
                self.phase = phase;
                Vec::new()
            }
            // Edits that came while somebody looked have to be quiet first, like all edits.
            (Graph::Behind, Phase::Looking(_)) if self.doubt.is_some() => self.act(now),
            (Graph::Behind, Phase::Looking(session)) => self.sync(session),
            (Graph::Behind, Phase::Syncing(session)) => {
                // Edits that came while it ran explain that; without any, the sync did not do what it was for.
                if self.doubt.is_none()
                    && let Some(account) = self.accounts.get_mut(&session)
                {
                    account.failures += 1;
                }
                self.act(now)
            }
            (Graph::Matches, Phase::Syncing(session)) => {
                if let Some(account) = self.accounts.get_mut(&session) {
                    account.failures = 0;
                }
                self.act(now)
            }
            (Graph::Matches | Graph::Unusable, _) | (Graph::Behind, Phase::Watching | Phase::Reviewing(_)) => {
                self.act(now)
            }
        }
    }

    fn sync(&mut self, session: SessionId) -> Vec<Effect> {
        let Some(account) = self.accounts.get_mut(&session) else { return Vec::new() };
        let allowed = account.policy.auto_sync && account.spent < account.policy.max_syncs && account.failures <= 1;
        if !allowed {
            return Vec::new();
        }
        account.spent += 1;
        self.phase = Phase::Syncing(session.clone());
        vec![Effect::Sync(session)]
    }
}

#[cfg(test)]
mod tests;
