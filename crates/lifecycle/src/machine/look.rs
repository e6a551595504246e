//! Looking: reading records, asking the graph once where they do not suffice, comparing the tree.
//!
//! It must never start work that changes a graph.

use steward_ports::{Comparison, GraphCounts, LockState, NoticeKind, Receipt, Tick, Verdict};

use super::{Asking, Depth, Lifecycle, Phase};
use crate::assess::{Assessment, Inspection, assess, describe_holder};
use crate::event::{Effect, Event, Problem, Task, describe};
use crate::run::RunEnd;
use crate::state::{Evidence, State};

impl Lifecycle {
    pub(super) fn look(&mut self, now: Tick) -> Vec<Effect> {
        if matches!(self.phase, Phase::Idle) {
            return self.inspect(Depth::Decisive, now);
        }
        self.look_again = true;
        Vec::new()
    }

    pub(super) fn inspect(&mut self, depth: Depth, now: Tick) -> Vec<Effect> {
        if let Some(terms) = self.next_terms.take() {
            self.terms = Some(terms);
        }
        let Some(terms) = &self.terms else {
            return Vec::new();
        };
        if depth == Depth::Decisive {
            self.look_again = false;
        }
        self.phase = Phase::Inspecting { since: now, depth };
        vec![Effect::Task(Task::Inspect(terms.query.clone()))]
    }

    pub(super) fn inspected(&mut self, inspection: Inspection, now: Tick) -> Vec<Effect> {
        let Phase::Inspecting { since, depth } = self.phase else {
            return Vec::new();
        };
        let (assessment, evidence) = assess(&inspection);
        self.holder = inspection.holder().cloned();
        self.facts = inspection.facts.ok();
        self.receipt = inspection.record.receipt;
        self.difference = None;
        if let Some(problem) = inspection.problems.last() {
            self.last_problem = Some((problem.clone(), now));
        }
        match assessment {
            Assessment::Known { state, reason, caution } => {
                self.caution = caution;
                self.conclude(depth, state, &reason, evidence, now)
            }
            Assessment::Compare => {
                self.caution = None;
                self.phase = Phase::Comparing { evidence, since, depth };
                vec![Effect::Task(self.compare_task())]
            }
            Assessment::Ask { reason, receipt } if depth == Depth::Decisive && self.may_ask() => {
                self.caution = None;
                let mut evidence = evidence;
                evidence.push(Evidence::new("question", reason));
                self.ask(evidence, receipt, since)
            }
            Assessment::Ask { reason, .. } => {
                self.caution = None;
                self.leave_unasked(depth, &reason, evidence, now)
            }
        }
    }

    /// Whether cgc may be started for a question. A human who asks for a job may always have one. Otherwise an embedded
    /// database is asked once for each session, and a server, of which nothing else tells who wrote it, at each look;
    /// a question that got no answer is tried a second time and not again (LC-15).
    fn may_ask(&self) -> bool {
        let is_server = self.facts.as_ref().is_some_and(|facts| facts.location.backend.is_server());
        let has_one_left = self.sessions.iter().any(|(session, attendance)| {
            let is_due = is_server || attendance.questions == 0 || self.undecided.contains(session);
            is_due && attendance.may_look_again()
        });
        self.is_wanted() && (self.wish.is_some() || has_one_left)
    }

    fn ask(&mut self, evidence: Vec<Evidence>, receipt: Option<Box<Receipt>>, since: Tick) -> Vec<Effect> {
        let counts = self.wish.is_none();
        if counts {
            self.sessions.values_mut().for_each(|attendance| attendance.questions += 1);
        }
        self.phase = Phase::Asking(Box::new(Asking { evidence, receipt, run: None, counts, since }));
        self.database().map(Effect::Acquire).into_iter().collect()
    }

    fn conclude(
        &mut self,
        depth: Depth,
        state: State,
        reason: &str,
        evidence: Vec<Evidence>,
        now: Tick,
    ) -> Vec<Effect> {
        match depth {
            Depth::Passive => self.note(state, reason, evidence, now),
            Depth::Decisive => self.settle(state, reason, evidence, now),
        }
    }

    /// cgc may not be started: what an earlier look found stands, except a claim that the graph is clean.
    fn leave_unasked(&mut self, depth: Depth, reason: &str, evidence: Vec<Evidence>, now: Tick) -> Vec<Effect> {
        let earlier = self.knowledge.reason.clone();
        let (state, reason) = match self.knowledge.state {
            State::Clean | State::Drift => (State::Drift, reason),
            State::Unknown | State::Unavailable | State::Busy => (State::Unknown, reason),
            stands @ (State::Unindexed | State::Incomplete | State::Corrupt) => (stands, earlier.as_str()),
        };
        self.conclude(depth, state, reason, evidence, now)
    }

    pub(super) fn not_inspected(&mut self, problem: Problem, now: Tick) -> Vec<Effect> {
        let Phase::Inspecting { depth, .. } = self.phase else {
            return Vec::new();
        };
        let reason = problem.0.clone();
        self.look_failed(depth, problem, now);
        self.conclude(depth, State::Unknown, &reason, Vec::new(), now)
    }

    pub(super) fn compared(&mut self, comparison: Option<Comparison>, now: Tick) -> Vec<Effect> {
        let Phase::Comparing { evidence, depth, .. } = &self.phase else {
            return Vec::new();
        };
        let (mut evidence, depth) = (evidence.clone(), *depth);
        // An edit that was seen meanwhile may have come after the file was compared.
        if self.edits_unseen && comparison.as_ref().is_some_and(|comparison| comparison.difference.is_empty()) {
            return vec![Effect::Task(self.compare_task())];
        }
        let Some(comparison) = comparison else {
            evidence.push(Evidence::new("manifest", "it is gone"));
            let reason = "what the graph was made of is no longer recorded";
            return self.conclude(depth, State::Drift, reason, evidence, now);
        };
        let (state, reason) = if comparison.difference.is_empty() {
            (State::Clean, "every file is as it was when the graph was proved".to_owned())
        } else {
            (State::Drift, describe(&comparison.difference))
        };
        evidence.push(Evidence::new("working tree", reason.clone()));
        self.difference = Some(comparison.difference);
        self.conclude(depth, state, &reason, evidence, now)
    }

    pub(super) fn not_compared(&mut self, problem: Problem, now: Tick) -> Vec<Effect> {
        let Phase::Comparing { evidence, depth, .. } = &self.phase else {
            return Vec::new();
        };
        let (evidence, depth) = (evidence.clone(), *depth);
        let reason = problem.0.clone();
        self.look_failed(depth, problem, now);
        self.conclude(depth, State::Unknown, &reason, evidence, now)
    }

    fn look_failed(&mut self, depth: Depth, problem: Problem, now: Tick) {
        self.last_problem = Some((problem, now));
        if depth == Depth::Decisive {
            self.count_unanswered();
        }
    }

    fn count_unanswered(&mut self) {
        self.sessions.values_mut().for_each(|attendance| attendance.unanswered += 1);
    }

    pub(super) fn database_recorded(&mut self, now: Tick) -> Vec<Effect> {
        let Phase::Recording { evidence, since } = &self.phase else {
            return Vec::new();
        };
        let (evidence, since) = (evidence.clone(), *since);
        if self.shutting_down {
            return self.settle(State::Unknown, "the companion is ending", evidence, now);
        }
        self.phase = Phase::Comparing { evidence, since, depth: Depth::Decisive };
        vec![Effect::Task(self.compare_task())]
    }

    pub(super) fn answered(&mut self, end: RunEnd, now: Tick) -> Vec<Effect> {
        let Phase::Asking(asking) = &self.phase else {
            return Vec::new();
        };
        let Asking { mut evidence, receipt, counts, since, .. } = (**asking).clone();
        let mut effects = self.release();
        let was_stopped = matches!(end, RunEnd::Stopped);
        let (state, reason) = match end {
            RunEnd::Verdict(Verdict::Holds(inventory)) => {
                evidence.push(Evidence::new("graph", holds(&inventory.counts)));
                if let Some(receipt) = receipt
                    && receipt.counts == inventory.counts
                    && receipt.indexed_at == inventory.indexed_at
                    && receipt.graph_digest == inventory.digest
                {
                    effects.extend(self.vouch(evidence, since));
                    return effects;
                }
                if inventory.counts.files == 0 {
                    (State::Incomplete, "the graph holds no file of this workspace".to_owned())
                } else {
                    (State::Drift, "the graph was made or changed by another program and is not proved".to_owned())
                }
            }
            RunEnd::Verdict(Verdict::Unindexed) => {
                (State::Unindexed, "the graph does not hold this workspace".to_owned())
            }
            RunEnd::Verdict(Verdict::Busy) => (State::Busy, "another process holds the database".to_owned()),
            RunEnd::Verdict(Verdict::Corrupt { evidence }) => (State::Corrupt, evidence),
            RunEnd::Verdict(Verdict::BackendChanged { evidence }) => {
                self.caution = Some(NoticeKind::UnsupportedBackend);
                (State::Unknown, evidence)
            }
            RunEnd::Verdict(Verdict::ServerDown { evidence: reason } | Verdict::Failed { reason }) => {
                (State::Unknown, reason)
            }
            RunEnd::Verdict(
                Verdict::Worked
                | Verdict::Skipped
                | Verdict::Reconciled
                | Verdict::Partial { .. }
                | Verdict::NoGrammars
                | Verdict::Interrupted
                | Verdict::Report(_),
            ) => (State::Unknown, "cgc answered something unexpected".to_owned()),
            RunEnd::TimedOut => (State::Unknown, "cgc did not answer in time and was stopped (timeout)".to_owned()),
            RunEnd::Stopped => (State::Unknown, "asking the graph was given up".to_owned()),
            RunEnd::NotStarted(problem) | RunEnd::Lost(problem) => (State::Unknown, problem.0),
        };
        match state {
            State::Corrupt => self.last_problem = Some((Problem(reason.clone()), now)),
            State::Unknown | State::Busy => {
                self.last_problem = Some((Problem(reason.clone()), now));
                if counts && !was_stopped {
                    self.count_unanswered();
                }
            }
            State::Unavailable | State::Unindexed | State::Incomplete | State::Drift | State::Clean => {}
        }
        match self.facts.as_ref().and_then(|facts| facts.location.database.clone()) {
            Some(database) if state == State::Busy => {
                self.phase = Phase::Naming { evidence, since };
                effects.push(Effect::Task(Task::ProbeLock(database)));
            }
            Some(_) | None => effects.extend(self.settle(state, &reason, evidence, now)),
        }
        effects
    }

    pub(super) fn lock_probed(&mut self, lock: LockState, now: Tick) -> Vec<Effect> {
        let Phase::Naming { evidence, .. } = &self.phase else {
            return self.job_heard(Event::LockProbed(lock), now);
        };
        let evidence = evidence.clone();
        let (holder, reason) = match lock {
            LockState::Held(holder) => {
                let reason = format!("{} holds the database", describe_holder(&holder));
                (Some(holder), reason)
            }
            LockState::Free | LockState::Absent => {
                (None, "another process held the database and has let go of it".to_owned())
            }
        };
        self.holder = holder;
        self.settle(State::Busy, &reason, evidence, now)
    }

    pub(super) fn lock_not_probed(&mut self, problem: Problem, now: Tick) -> Vec<Effect> {
        self.last_problem = Some((problem.clone(), now));
        let Phase::Naming { evidence, .. } = &self.phase else {
            return self.job_heard(Event::LockProbeFailed(problem), now);
        };
        let evidence = evidence.clone();
        self.settle(State::Busy, "another process holds the database", evidence, now)
    }

    /// The graph is as the receipt says, so only the database's times had changed.
    fn vouch(&mut self, evidence: Vec<Evidence>, since: Tick) -> Vec<Effect> {
        let database = self.facts.as_ref().and_then(|facts| facts.location.database.clone());
        match database {
            Some(path) => {
                self.phase = Phase::Recording { evidence, since };
                vec![Effect::Task(Task::RecordDatabase(path))]
            }
            None => {
                self.phase = Phase::Comparing { evidence, since, depth: Depth::Decisive };
                vec![Effect::Task(self.compare_task())]
            }
        }
    }

    /// What is edited from here on, this comparison may miss.
    fn compare_task(&mut self) -> Task {
        self.edits_unseen = false;
        Task::Compare(self.facts.as_ref().map(|facts| facts.location.exclusions.clone()).unwrap_or_default())
    }
}

fn holds(counts: &GraphCounts) -> String {
    format!("it holds {} files, {} functions and {} classes", counts.files, counts.functions, counts.classes)
}
