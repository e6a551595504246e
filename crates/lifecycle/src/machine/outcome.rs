//! What follows from a job's end: what is known now, who is told, whether it is tried again.
//!
//! It must never call a graph clean that was edited after the job looked at the tree.

use steward_ports::{Difference, Holder, JobKind, NoticeKind, Receipt, Tick};

use super::decide::answer_all;
use super::{Depth, Lifecycle, Phase};
use crate::assess::{describe_holder, job_name};
use crate::event::{Effect, JobAnswer, Problem, describe};
use crate::job::{Job, JobEnd, Origin};
use crate::notices;
use crate::state::{Evidence, JobResult, State};

impl Lifecycle {
    pub(super) fn progress_answers(&self) -> Vec<Effect> {
        self.job().map(|job| answer_all(&job.clients, &JobAnswer::Progressed)).unwrap_or_default()
    }

    pub(super) fn job_ended(&mut self, end: JobEnd, now: Tick) -> Vec<Effect> {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle);
        let Phase::Working(job) = phase else {
            return Vec::new();
        };
        let mut effects = self.release();
        match end {
            JobEnd::Proved { receipt, left } => effects.extend(self.job_proved(&job, *receipt, left, now)),
            JobEnd::Busy { holder, cgc_ran } => effects.extend(self.job_busy(&job, holder, cgc_ran, now)),
            JobEnd::Failed { state, summary, advice, transient } => {
                let result = JobResult { job: job.order.kind, succeeded: false, summary, advice, at: now };
                effects.extend(self.job_failed(&job, state, result, transient, now));
            }
        }
        effects.extend(self.after_job(&job, now));
        effects
    }

    fn job_proved(&mut self, job: &Job, receipt: Receipt, left: Difference, now: Tick) -> Vec<Effect> {
        if let Origin::Session(session) = &job.order.origin
            && let Some(attendance) = self.sessions.get_mut(session)
        {
            attendance.failures = 0;
        }
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
        let (state, reason) = if !left.is_empty() {
            (State::Drift, format!("{} while the graph was brought up to date", describe(&left)))
        } else if self.edits_unseen {
            (State::Drift, "edits were observed while the graph was brought up to date".to_owned())
        } else {
            (State::Clean, "the graph was proved and no file has changed since".to_owned())
        };
        (self.knowledge.state, self.knowledge.reason) = (state, reason);
        self.knowledge.since = now;
        self.knowledge.evidence = vec![Evidence::new(job_name(job.order.kind), format!("it was proved: {summary}"))];
        self.receipt = Some(receipt);
        self.difference = Some(left);
        self.last_job =
            Some(JobResult { job: job.order.kind, succeeded: true, summary: summary.clone(), advice: None, at: now });
        let mut effects = self.tell_all(&notice);
        let answer = JobAnswer::Finished { succeeded: true, summary, advice: None };
        effects.extend(answer_all(&job.clients, &answer));
        effects
    }

    /// The graph is as it was found. Work that was skipped for somebody else's lock costs nothing and is taken up again
    /// with every look; only where cgc had to find out does it count as an attempt.
    fn job_busy(&mut self, job: &Job, holder: Option<Holder>, cgc_ran: bool, now: Tick) -> Vec<Effect> {
        let notice = notices::busy(holder.as_ref());
        let who = holder.as_ref().map_or_else(|| "another process".to_owned(), describe_holder);
        let summary = format!("{who} holds the database");
        self.holder = holder;
        if cgc_ran {
            self.count_failure(job, true);
        } else {
            self.retry_wanted |= job.order.origin != Origin::Client;
        }
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
        // The job found the graph as it was before it began, edits since then not counted.
        self.knowledge.state = if state == State::Clean && self.edits_unseen { State::Drift } else { state };
        self.knowledge.reason.clone_from(&result.summary);
        self.knowledge.since = now;
        self.knowledge.evidence.push(Evidence::new(job_name(job.order.kind), result.summary.clone()));
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
        // What the companion itself breaks off is no news.
        if !self.shutting_down {
            effects.extend(self.tell_all(&notice));
            self.hold_back(state);
        }
        effects
    }

    /// Who was told that work failed knows what state that left; the next look has nothing to add.
    fn hold_back(&mut self, state: State) {
        let kind = match state {
            State::Incomplete => NoticeKind::Incomplete,
            State::Drift => NoticeKind::PossiblyStale,
            State::Unindexed => NoticeKind::Unindexed,
            State::Unknown | State::Unavailable | State::Busy | State::Corrupt | State::Clean => return,
        };
        for attendance in self.sessions.values_mut() {
            attendance.told.insert(kind);
        }
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

    /// Edits that were seen while the job ran may have come after its last look at the tree, so it is looked at again.
    fn after_job(&mut self, job: &Job, now: Tick) -> Vec<Effect> {
        if job.order.origin == Origin::Client && self.next_terms.is_none() {
            self.next_terms = self.sessions.values().next().map(|attendance| attendance.terms.clone());
        }
        if self.edits_unseen && !self.shutting_down {
            return self.inspect(Depth::Decisive, now);
        }
        let bystanders = self.undecided.is_empty() && self.wish.is_none() && !self.look_again;
        if bystanders { Vec::new() } else { self.decide(now) }
    }
}
