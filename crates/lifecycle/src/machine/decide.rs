//! What follows from a settled state: automatic work, requested work, notices.
//!
//! It must never start work for a session that has neither consented nor is live.

use std::collections::BTreeSet;

use steward_ports::{JobKind, Notice, NoticeKind, SessionId, Tick, WorkspaceKind};

use super::{Depth, Lifecycle, Phase, refuse};
use crate::event::{ClientId, Effect, JobAnswer, Policy, Problem, Task};
use crate::job::{Job, Order, Origin};
use crate::notices;
use crate::state::State;

impl Lifecycle {
    /// Decides on requests first, then for the sessions that have just started, then looks again if somebody asked.
    pub(super) fn decide(&mut self, now: Tick) -> Vec<Effect> {
        if self.shutting_down {
            return self.refuse_wish("the companion is ending", None);
        }
        if self.has_other_terms() && (self.look_again || !self.undecided.is_empty()) {
            return self.inspect(Depth::Decisive, now);
        }
        let mut effects = self.grant_wish(now);
        if !matches!(self.phase, Phase::Idle) {
            return effects;
        }
        effects.extend(self.gate(now));
        if matches!(self.phase, Phase::Idle) && self.look_again {
            effects.extend(self.inspect(Depth::Decisive, now));
        }
        effects
    }

    /// Whether what was found on one's terms would be decided on for somebody with others: another cgc, another
    /// database.
    fn has_other_terms(&self) -> bool {
        self.next_terms.is_some() && self.next_terms != self.terms
    }

    /// The start-time decision of LC-02, LC-04 … LC-09 and LC-16. It waits as long as nothing is there to decide on: no
    /// cgc, a database that somebody else holds, a question without an answer.
    fn gate(&mut self, now: Tick) -> Vec<Effect> {
        let starting = match self.knowledge.state {
            State::Unavailable | State::Busy => return self.tell_state(),
            State::Unknown if self.caution.is_none() => return self.tell_state(),
            State::Unknown | State::Unindexed | State::Incomplete | State::Corrupt | State::Drift | State::Clean => {
                std::mem::take(&mut self.undecided)
            }
        };
        let creates = |policy: &Policy| policy.auto_create;
        let syncs = |policy: &Policy| policy.sync_on_start;
        let starter = match self.knowledge.state {
            State::Unindexed if self.may_create_here() => {
                self.starter(&starting, creates).map(|it| (JobKind::Index, it))
            }
            State::Drift => self.starter(&starting, syncs).map(|it| (JobKind::Sync, it)),
            State::Unindexed
            | State::Unknown
            | State::Unavailable
            | State::Incomplete
            | State::Busy
            | State::Corrupt
            | State::Clean => None,
        };
        match starter {
            Some((job, session)) => self.start(job, Origin::Session(session), BTreeSet::new(), now),
            None => self.tell_state(),
        }
    }

    /// Starts a sync that freshness found due, if the graph is still known to be behind and nothing else goes on.
    pub(super) fn sync_requested(&mut self, session: SessionId, now: Tick) -> Vec<Effect> {
        let due = self.knowledge.state == State::Drift && matches!(self.phase, Phase::Idle) && !self.shutting_down;
        if due && self.may_try(&session) {
            self.start(JobKind::Sync, Origin::Session(session), BTreeSet::new(), now)
        } else {
            Vec::new()
        }
    }

    /// The first of `starting` that agrees and has not failed too often.
    fn starter(&self, starting: &BTreeSet<SessionId>, agrees: impl Fn(&Policy) -> bool) -> Option<SessionId> {
        let may = |session: &&SessionId| {
            let attendance = self.sessions.get(*session);
            attendance.is_some_and(|attendance| agrees(&attendance.terms.policy)) && self.may_try(session)
        };
        starting.iter().find(may).cloned()
    }

    /// Failing work is tried a second time and not again (LC-15).
    pub(super) fn may_try(&self, session: &SessionId) -> bool {
        self.sessions.get(session).is_some_and(|attendance| attendance.failures <= 1)
    }

    fn may_create_here(&self) -> bool {
        match self.kind {
            WorkspaceKind::Repository { .. } => true,
            WorkspaceKind::Plain | WorkspaceKind::Forbidden => false,
        }
    }

    fn tell_state(&mut self) -> Vec<Effect> {
        let reason = self.knowledge.reason.clone();
        let notice = match self.knowledge.state {
            State::Unknown => match self.caution {
                Some(_) => notices::unsupported_backend(&reason),
                None => return Vec::new(),
            },
            State::Clean => return Vec::new(),
            State::Unavailable => notices::unavailable(&reason),
            State::Unindexed => notices::unindexed(self.root.as_path()),
            State::Incomplete => notices::incomplete(&reason),
            State::Busy => notices::busy(self.holder.as_ref()),
            State::Corrupt => notices::corrupt(&reason),
            State::Drift => notices::possibly_stale(&reason),
        };
        self.tell_all(&notice)
    }

    pub(super) fn tell_all(&mut self, notice: &Notice) -> Vec<Effect> {
        let untold = |told: &BTreeSet<NoticeKind>| !told.contains(&notice.kind);
        let mut effects = Vec::new();
        for (session, attendance) in self.sessions.iter_mut().filter(|(_, attendance)| untold(&attendance.told)) {
            attendance.told.insert(notice.kind);
            effects.push(Effect::Task(Task::Notify { session: session.clone(), notice: notice.clone() }));
        }
        effects
    }

    /// Does what a human asked for, as far as the state allows it.
    fn grant_wish(&mut self, now: Tick) -> Vec<Effect> {
        let Some(wish) = self.wish.take() else {
            return Vec::new();
        };
        let reason = self.knowledge.reason.clone();
        let all = |answer: &JobAnswer| answer_all(&wish.clients, answer);
        if self.caution.is_some() {
            let advice = notices::unsupported_backend(&reason).advice;
            return all(&JobAnswer::Refused { reason, advice });
        }
        let job = match (wish.job, self.knowledge.state) {
            (_, State::Unavailable) => {
                return all(&JobAnswer::Refused { reason, advice: notices::unavailable("").advice });
            }
            (_, State::Busy) => {
                let advice = notices::busy(self.holder.as_ref()).advice;
                return all(&JobAnswer::Finished { succeeded: false, summary: reason, advice });
            }
            (JobKind::Index | JobKind::Sync, State::Corrupt) => {
                return all(&JobAnswer::Refused { reason, advice: notices::corrupt("").advice });
            }
            (JobKind::Sync, State::Unindexed) => {
                let advice = Some("Create it with `steward index`.".to_owned());
                return all(&JobAnswer::Refused { reason: "there is no graph yet".to_owned(), advice });
            }
            (JobKind::Index | JobKind::Sync, State::Unknown) => {
                let advice = Some("See `steward doctor`.".to_owned());
                return all(&JobAnswer::Refused { reason, advice });
            }
            (JobKind::Index | JobKind::Sync, State::Clean) => {
                let summary = format!("nothing to do: {reason}");
                return all(&JobAnswer::Finished { succeeded: true, summary, advice: None });
            }
            (JobKind::Index, State::Drift) => JobKind::Sync,
            (JobKind::Sync, State::Incomplete) => JobKind::Index,
            (JobKind::Rebuild, State::Unindexed) => JobKind::Index,
            (JobKind::Index, State::Unindexed | State::Incomplete) => JobKind::Index,
            (JobKind::Sync, State::Drift) => JobKind::Sync,
            (JobKind::Rebuild, State::Unknown | State::Incomplete | State::Corrupt | State::Drift | State::Clean) => {
                JobKind::Rebuild
            }
        };
        self.start(job, Origin::Client, wish.clients, now)
    }

    pub(super) fn refuse_wish(&mut self, reason: &str, advice: Option<&str>) -> Vec<Effect> {
        let clients = self.wish.take().map(|wish| wish.clients).unwrap_or_default();
        clients.into_iter().map(|client| refuse(client, reason, advice)).collect()
    }

    /// A sync without grammars would delete the symbols of every file that it reads, so the graph is better left behind.
    fn refuse_sync(&mut self, clients: &BTreeSet<ClientId>, now: Tick) -> Vec<Effect> {
        let reason = "cgc's grammars are gone, and a sync without them would delete symbols";
        let advice = "Put the grammars back (`steward doctor` says where), or go online and run `steward rebuild`.";
        self.last_problem = Some((Problem(reason.to_owned()), now));
        let answer = JobAnswer::Refused { reason: reason.to_owned(), advice: Some(advice.to_owned()) };
        let mut effects = answer_all(clients, &answer);
        effects.extend(self.tell_all(&notices::indexing_failed(reason, Some(advice))));
        effects
    }

    fn start(&mut self, kind: JobKind, origin: Origin, clients: BTreeSet<ClientId>, now: Tick) -> Vec<Effect> {
        if kind == JobKind::Sync && self.facts.as_ref().is_some_and(|facts| facts.grammars_missing) {
            return self.refuse_sync(&clients, now);
        }
        let (Some(target), Some(terms), Some(database)) = (self.target(), &self.terms, self.database()) else {
            return clients.into_iter().map(|client| refuse(client, "cgc was not found", None)).collect();
        };
        let order = Order {
            kind,
            origin,
            root: self.root.clone(),
            workspace: self.kind.clone(),
            target,
            found: self.knowledge.state,
            question_timeout: terms.policy.command_timeout,
            maintenance_timeout: terms.policy.maintenance_timeout,
            difference: self.difference.clone(),
            full_index_at: self.receipt.as_ref().and_then(|receipt| receipt.full_index_at),
        };
        // The job takes its own look at the tree, later than anybody who asked for one.
        self.edits_unseen = false;
        self.look_again = false;
        self.phase = Phase::Working(Box::new(Job::new(order, clients.clone(), now)));
        let mut effects = answer_all(&clients, &JobAnswer::Accepted { joined: false });
        effects.push(Effect::Acquire(database));
        if kind == JobKind::Index {
            effects.extend(self.tell_all(&notices::indexing_started()));
        }
        effects
    }
}

pub(super) fn answer_all(clients: &BTreeSet<ClientId>, answer: &JobAnswer) -> Vec<Effect> {
    clients.iter().map(|client| Effect::Answer { client: *client, answer: answer.clone() }).collect()
}
