//! What follows from a settled state: automatic work, requested work, notices; and what follows from a job's end.
//!
//! It must never start work for a session that has neither consented nor is live.

use std::collections::BTreeSet;

use steward_ports::{Difference, Holder, JobKind, Notice, NoticeKind, Receipt, SessionId, Tick, WorkspaceKind};

use super::{Depth, Lifecycle, Phase, refuse};
use crate::assess::describe_holder;
use crate::event::{ClientId, Effect, JobAnswer, Problem, Task, describe};
use crate::job::{Job, JobEnd, Order, Origin};
use crate::notices;
use crate::state::{JobResult, State};

impl Lifecycle {
    /// Decides on requests first, then for the sessions that have just started, then looks again if somebody asked.
    pub(super) fn decide(&mut self, now: Tick) -> Vec<Effect> {
        if self.shutting_down {
            return self.refuse_wish("the companion is ending", None);
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

    /// The start-time decision of LC-02, LC-04 … LC-09 and LC-16.
    fn gate(&mut self, now: Tick) -> Vec<Effect> {
        let starting = std::mem::take(&mut self.undecided);
        let starter = starting.iter().find(|session| self.may_try(session)).cloned();
        match (self.knowledge.state, starter) {
            (State::Unindexed, Some(session)) if self.may_create() => {
                let mut effects = self.start(JobKind::Index, Origin::Session(session), BTreeSet::new(), now);
                effects.extend(self.tell_all(&notices::indexing_started()));
                effects
            }
            (State::Drift, Some(session)) if self.may_sync() => {
                self.start(JobKind::Sync, Origin::Session(session), BTreeSet::new(), now)
            }
            (_, _) => self.tell_state(),
        }
    }

    fn may_try(&self, session: &SessionId) -> bool {
        self.sessions.get(session).is_some_and(|attendance| attendance.failures <= 1)
    }

    fn may_create(&self) -> bool {
        let consented = self.terms.as_ref().is_some_and(|terms| terms.policy.auto_create);
        match self.kind {
            WorkspaceKind::Repository { .. } => consented,
            WorkspaceKind::Plain | WorkspaceKind::Forbidden => false,
        }
    }

    fn may_sync(&self) -> bool {
        self.terms.as_ref().is_some_and(|terms| terms.policy.sync_on_start)
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

    fn tell_all(&mut self, notice: &Notice) -> Vec<Effect> {
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
        let mut effects = all(&JobAnswer::Accepted { joined: false });
        effects.extend(self.start(job, Origin::Client, wish.clients, now));
        effects
    }

    pub(super) fn refuse_wish(&mut self, reason: &str, advice: Option<&str>) -> Vec<Effect> {
        let clients = self.wish.take().map(|wish| wish.clients).unwrap_or_default();
        clients.into_iter().map(|client| refuse(client, reason, advice)).collect()
    }

    fn start(&mut self, kind: JobKind, origin: Origin, clients: BTreeSet<ClientId>, now: Tick) -> Vec<Effect> {
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
        self.edits_unseen = false;
        self.phase = Phase::Working(Box::new(Job::new(order, clients, now)));
        vec![Effect::Acquire(database)]
    }

    pub(super) fn progress_answers(&self) -> Vec<Effect> {
        match &self.phase {
            Phase::Working(job) => answer_all(&job.clients, &JobAnswer::Progressed),
            Phase::Idle
            | Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Asking(_)
            | Phase::Recording { .. } => Vec::new(),
        }
    }

    pub(super) fn job_ended(&mut self, end: JobEnd, now: Tick) -> Vec<Effect> {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle);
        let Phase::Working(job) = phase else {
            return Vec::new();
        };
        let mut effects = self.release();
        match end {
            JobEnd::Proved { receipt, left } => effects.extend(self.job_proved(&job, *receipt, left, now)),
            JobEnd::Busy(holder) => effects.extend(self.job_busy(&job, holder, now)),
            JobEnd::Failed { state, summary, advice, transient } => {
                let result = JobResult { job: job.order.kind, succeeded: false, summary, advice, at: now };
                effects.extend(self.job_failed(&job, state, result, transient, now));
            }
        }
        effects.extend(self.after_job(now));
        effects
    }

    fn job_proved(&mut self, job: &Job, receipt: Receipt, left: Difference, now: Tick) -> Vec<Effect> {
        let elapsed = now.duration_since(job.since).as_secs_f64();
        let counts = receipt.counts;
        let summary = match (job.order.kind, &job.order.difference) {
            (JobKind::Sync, Some(difference)) if !difference.is_empty() => {
                format!("{}, {elapsed:.1} s", describe(difference))
            }
            (JobKind::Sync | JobKind::Index | JobKind::Rebuild, _) => format!(
                "{} files with {} functions and {} classes, {elapsed:.1} s",
                receipt.files, counts.functions, counts.classes
            ),
        };
        let notice = match job.order.kind {
            JobKind::Sync => notices::sync_completed(&summary),
            JobKind::Index | JobKind::Rebuild => notices::indexing_done(&summary),
        };
        self.knowledge.state = if left.is_empty() { State::Clean } else { State::Drift };
        self.knowledge.reason = if left.is_empty() {
            "the graph was proved and no file has changed since".to_owned()
        } else {
            format!("{} while the graph was brought up to date", describe(&left))
        };
        self.knowledge.since = now;
        self.receipt = Some(receipt);
        self.difference = Some(left);
        self.last_job =
            Some(JobResult { job: job.order.kind, succeeded: true, summary: summary.clone(), advice: None, at: now });
        let mut effects = self.tell_all(&notice);
        let answer = JobAnswer::Finished { succeeded: true, summary, advice: None };
        effects.extend(answer_all(&job.clients, &answer));
        effects
    }

    fn job_busy(&mut self, job: &Job, holder: Option<Holder>, now: Tick) -> Vec<Effect> {
        let notice = notices::busy(holder.as_ref());
        let who = holder.as_ref().map_or_else(|| "another process".to_owned(), describe_holder);
        let summary = format!("{who} holds the database");
        self.holder = holder;
        self.count_failure(job, true);
        self.last_job = Some(JobResult {
            job: job.order.kind,
            succeeded: false,
            summary: summary.clone(),
            advice: notice.advice.clone(),
            at: now,
        });
        let answer = JobAnswer::Finished { succeeded: false, summary, advice: notice.advice.clone() };
        let mut effects = answer_all(&job.clients, &answer);
        effects.extend(self.tell_all(&notice));
        effects
    }

    fn job_failed(&mut self, job: &Job, state: State, result: JobResult, transient: bool, now: Tick) -> Vec<Effect> {
        self.count_failure(job, transient);
        self.knowledge.state = state;
        self.knowledge.reason.clone_from(&result.summary);
        self.knowledge.since = now;
        self.last_problem = Some((Problem(result.summary.clone()), now));
        let notice = match state {
            State::Corrupt => notices::corrupt(&result.summary),
            State::Unknown
            | State::Unavailable
            | State::Unindexed
            | State::Incomplete
            | State::Busy
            | State::Drift
            | State::Clean => notices::indexing_failed(&result.summary, result.advice.as_deref()),
        };
        let answer =
            JobAnswer::Finished { succeeded: false, summary: result.summary.clone(), advice: result.advice.clone() };
        self.last_job = Some(result);
        let mut effects = answer_all(&job.clients, &answer);
        effects.extend(self.tell_all(&notice));
        effects
    }

    fn count_failure(&mut self, job: &Job, transient: bool) {
        let Origin::Session(session) = &job.order.origin else {
            return;
        };
        if let Some(attendance) = self.sessions.get_mut(session) {
            attendance.failures += if transient { 1 } else { 2 };
            self.retry_wanted = transient;
        }
    }

    /// Edits that were seen while the job ran may have come after its last look at the tree, so the tree is looked at
    /// again before anything is called clean.
    fn after_job(&mut self, now: Tick) -> Vec<Effect> {
        if self.edits_unseen && !self.shutting_down {
            self.look_again = true;
            if self.knowledge.state == State::Clean {
                self.knowledge.state = State::Drift;
                "edits were observed while the graph was brought up to date".clone_into(&mut self.knowledge.reason);
            }
            return self.inspect(Depth::Decisive, now);
        }
        let bystanders = self.undecided.is_empty() && self.wish.is_none() && !self.look_again;
        if bystanders { Vec::new() } else { self.decide(now) }
    }
}

fn answer_all(clients: &BTreeSet<ClientId>, answer: &JobAnswer) -> Vec<Effect> {
    clients.iter().map(|client| Effect::Answer { client: *client, answer: answer.clone() }).collect()
}
