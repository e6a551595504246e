//! One job: from waiting for the database to a proved receipt, each step a state.
//!
//! It must never start cgc before the intent is on disk, and never call a job done that the graph did not confirm.

mod end;
mod proof;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use steward_ports::{
    Comparison, Difference, GraphTarget, JobKind, LockState, SessionId, Tick, Verb, Verdict, WorkspaceKind,
    WorkspaceRoot,
};

pub(crate) use self::end::JobEnd;
use self::end::{NOT_BEGUN, half_done, no_grammars, stopped, unproved, untouched};
use crate::event::{ClientId, Event, Scan, Task};
use crate::run::{Run, RunEnd, RunEvent};
use crate::state::State;

/// Who caused a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The gate of this session; the job ends with the last session.
    Session(SessionId),
    /// A human at a terminal; the job goes on to its end.
    Client,
}

/// What a job works on and within which bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) kind: JobKind,
    pub(crate) origin: Origin,
    pub(crate) root: WorkspaceRoot,
    pub(crate) workspace: WorkspaceKind,
    pub(crate) target: GraphTarget,
    /// The state in which the job found the graph.
    pub(crate) found: State,
    pub(crate) question_timeout: Duration,
    pub(crate) maintenance_timeout: Duration,
    /// What the tree differed by when the job was ordered, if that is known.
    pub(crate) difference: Option<Difference>,
    pub(crate) full_index_at: Option<steward_ports::Timestamp>,
}

/// Where a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobStep {
    /// Somebody else works on the database.
    WaitingForDatabase,
    /// The lock is looked at.
    ProbingLock,
    /// The ruined database is renamed.
    SettingAside,
    /// The working tree is hashed.
    Scanning,
    /// The intent is written.
    RecordingIntent,
    /// cgc works.
    Working,
    /// The tree is compared with the manifest.
    Rechecking,
    /// The graph is asked.
    Proving,
    /// The receipt is written.
    Saving,
    /// The intent is removed because the graph is as it was.
    ClearingIntent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    WaitingForDatabase,
    ProbingLock,
    SettingAside,
    Scanning,
    RecordingIntent,
    Working(Box<Run>),
    Rechecking,
    Proving(Box<Run>),
    Saving,
    ClearingIntent(Box<JobEnd>),
}

/// A running job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) order: Order,
    pub(crate) since: Tick,
    pub(crate) clients: BTreeSet<ClientId>,
    step: Step,
    verb: Verb,
    scan: Option<Scan>,
    recheck: Option<Comparison>,
    stop_wanted: bool,
}

/// What a step of a job gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    pub(crate) tasks: Vec<Task>,
    pub(crate) end: Option<JobEnd>,
}

impl Outcome {
    fn task(task: Task) -> Self {
        Self { tasks: vec![task], end: None }
    }

    fn end(end: JobEnd) -> Self {
        Self { tasks: Vec::new(), end: Some(end) }
    }
}

impl Job {
    pub(crate) fn new(order: Order, clients: BTreeSet<ClientId>, now: Tick) -> Self {
        let verb = match (order.kind, order.found) {
            (JobKind::Rebuild, State::Corrupt | State::Unindexed) => Verb::Index,
            (JobKind::Rebuild, _) => Verb::Rebuild,
            (JobKind::Index, State::Unindexed) => Verb::Index,
            // cgc's index skips a half-built graph for ever; its reconcile re-parses everything (cgc 0.6.13).
            (JobKind::Index | JobKind::Sync, _) => Verb::Reconcile,
        };
        Self {
            order,
            since: now,
            clients,
            step: Step::WaitingForDatabase,
            verb,
            scan: None,
            recheck: None,
            stop_wanted: false,
        }
    }

    pub(crate) fn step(&self) -> JobStep {
        match &self.step {
            Step::WaitingForDatabase => JobStep::WaitingForDatabase,
            Step::ProbingLock => JobStep::ProbingLock,
            Step::SettingAside => JobStep::SettingAside,
            Step::Scanning => JobStep::Scanning,
            Step::RecordingIntent => JobStep::RecordingIntent,
            Step::Working(_) => JobStep::Working,
            Step::Rechecking => JobStep::Rechecking,
            Step::Proving(_) => JobStep::Proving,
            Step::Saving => JobStep::Saving,
            Step::ClearingIntent(_) => JobStep::ClearingIntent,
        }
    }

    pub(crate) fn run(&self) -> Option<&Run> {
        match &self.step {
            Step::Working(run) | Step::Proving(run) => Some(run),
            Step::WaitingForDatabase
            | Step::ProbingLock
            | Step::SettingAside
            | Step::Scanning
            | Step::RecordingIntent
            | Step::Rechecking
            | Step::Saving
            | Step::ClearingIntent(_) => None,
        }
    }

    pub(crate) fn files(&self) -> Option<u64> {
        self.scan.as_ref().map(|scan| scan.manifest.entries.len() as u64)
    }

    pub(crate) fn deadline(&self) -> Option<Tick> {
        self.run().and_then(Run::deadline)
    }

    /// Wants the job to end. Steps that are one quick port call finish first, so that no answer arrives unasked for.
    pub(crate) fn stop(&mut self, now: Tick) -> Outcome {
        self.stop_wanted = true;
        match &mut self.step {
            Step::Working(run) | Step::Proving(run) => {
                let step = run.on(RunEvent::StopRequested, now);
                Outcome { tasks: step.tasks, end: None }
            }
            Step::WaitingForDatabase => Outcome::end(untouched(&self.order, NOT_BEGUN, true)),
            Step::ProbingLock
            | Step::SettingAside
            | Step::Scanning
            | Step::RecordingIntent
            | Step::Rechecking
            | Step::Saving
            | Step::ClearingIntent(_) => Outcome::default(),
        }
    }

    /// Hears an answer. An answer to a question that this step did not ask changes nothing.
    pub(crate) fn on(&mut self, event: Event, now: Tick) -> Outcome {
        match (&mut self.step, event) {
            (Step::WaitingForDatabase, Event::DatabaseGranted) => self.granted(),
            (Step::ProbingLock, Event::LockProbed(LockState::Held(holder))) => Outcome::end(JobEnd::Busy(Some(holder))),
            (Step::ProbingLock, Event::LockProbed(LockState::Free | LockState::Absent)) => self.unlocked(),
            (Step::SettingAside, Event::SetAside(_)) => self.scan(),
            (Step::Scanning, Event::Scanned(scan)) => self.scanned(scan),
            (Step::RecordingIntent, Event::IntentRecorded) => self.recorded(),
            (Step::ProbingLock, Event::LockProbeFailed(problem))
            | (Step::SettingAside, Event::SetAsideFailed(problem))
            | (Step::Scanning, Event::ScanFailed(problem))
            | (Step::RecordingIntent, Event::IntentFailed(problem)) => {
                Outcome::end(untouched(&self.order, &problem.0, true))
            }
            (Step::Working(run), Event::Run(event)) => {
                let step = run.on(event, now);
                self.worked(step.tasks, step.end)
            }
            (Step::Working(run), Event::DeadlineReached) => {
                let step = run.on(RunEvent::DeadlineReached, now);
                self.worked(step.tasks, step.end)
            }
            (Step::Rechecking, Event::Rechecked(comparison)) => self.rechecked(comparison),
            (Step::Rechecking, Event::RecheckFailed(problem)) => self.clear_then(unproved(&problem.0)),
            (Step::Proving(run), Event::Run(event)) => {
                let step = run.on(event, now);
                self.asked(step.tasks, step.end)
            }
            (Step::Proving(run), Event::DeadlineReached) => {
                let step = run.on(RunEvent::DeadlineReached, now);
                self.asked(step.tasks, step.end)
            }
            (Step::Saving, Event::ReceiptSaved(receipt)) => {
                let left = self.recheck.take().map(|recheck| recheck.difference).unwrap_or_default();
                Outcome::end(JobEnd::Proved { receipt, left })
            }
            (Step::Saving, Event::ReceiptFailed(problem)) => self.clear_then(unproved(&problem.0)),
            (Step::ClearingIntent(end), Event::IntentCleared | Event::ClearFailed(_)) => Outcome::end((**end).clone()),
            // The step did not ask this.
            (_, _) => Outcome::default(),
        }
    }

    fn granted(&mut self) -> Outcome {
        match &self.order.target.location.database {
            Some(database) if !self.order.target.location.backend.is_server() => {
                let task = Task::ProbeLock(database.clone());
                self.step = Step::ProbingLock;
                Outcome::task(task)
            }
            Some(_) | None => self.scan(),
        }
    }

    fn unlocked(&mut self) -> Outcome {
        match (&self.order.target.location.database, self.order.kind, self.order.found) {
            (Some(database), JobKind::Rebuild, State::Corrupt) => {
                let task = Task::SetAside(database.clone());
                self.step = Step::SettingAside;
                Outcome::task(task)
            }
            (_, _, _) => self.scan(),
        }
    }

    fn scan(&mut self) -> Outcome {
        if self.stop_wanted {
            return Outcome::end(untouched(&self.order, NOT_BEGUN, true));
        }
        self.step = Step::Scanning;
        Outcome::task(Task::Scan(self.order.target.location.exclusions.clone()))
    }

    fn scanned(&mut self, scan: Scan) -> Outcome {
        if self.stop_wanted {
            return Outcome::end(untouched(&self.order, NOT_BEGUN, true));
        }
        if scan.manifest.entries.is_empty() && self.order.kind != JobKind::Sync {
            let summary = format!("{} holds no file that cgc indexes", self.order.root.as_path().display());
            let advice = "If its code lies in nested repositories or ignored folders, index those.".to_owned();
            let state = self.order.found;
            return Outcome::end(JobEnd::Failed { state, summary, advice: Some(advice), transient: false });
        }
        self.scan = Some(scan);
        self.step = Step::RecordingIntent;
        Outcome::task(Task::RecordIntent(self.order.kind))
    }

    fn recorded(&mut self) -> Outcome {
        if self.stop_wanted {
            return self.clear_then(untouched(&self.order, NOT_BEGUN, true));
        }
        self.begin_work()
    }

    fn begin_work(&mut self) -> Outcome {
        let (run, task) = Run::begin(self.verb, self.order.target.clone(), self.order.maintenance_timeout);
        self.step = Step::Working(Box::new(run));
        Outcome::task(task)
    }

    fn worked(&mut self, mut tasks: Vec<Task>, end: Option<RunEnd>) -> Outcome {
        let next = match end {
            None => Outcome::default(),
            Some(RunEnd::Verdict(Verdict::Worked | Verdict::Reconciled | Verdict::Partial { .. })) => self.recheck(),
            Some(RunEnd::Verdict(Verdict::Skipped)) if self.verb == Verb::Index => {
                self.verb = Verb::Reconcile;
                self.begin_work()
            }
            Some(RunEnd::Verdict(verdict)) => self.refused(verdict),
            Some(RunEnd::NotStarted(problem)) => self.clear_then(untouched(&self.order, &problem.0, true)),
            Some(RunEnd::TimedOut) => {
                let bound = self.order.maintenance_timeout.as_secs();
                let summary = format!("cgc did not finish within {bound} s and was stopped (timeout)");
                Outcome::end(half_done(&self.order, summary, Some("Raise cgc.maintenanceTimeoutMs.".to_owned())))
            }
            Some(RunEnd::Stopped) => Outcome::end(stopped(&self.order)),
            Some(RunEnd::Lost(problem)) => Outcome::end(half_done(&self.order, problem.0, None)),
        };
        tasks.extend(next.tasks);
        Outcome { tasks, end: next.end }
    }

    fn refused(&mut self, verdict: Verdict) -> Outcome {
        match verdict {
            Verdict::Busy => self.clear_then(JobEnd::Busy(None)),
            Verdict::Corrupt { evidence } => self.clear_then(JobEnd::Failed {
                state: State::Corrupt,
                summary: evidence,
                advice: Some("Replace the graph with `steward rebuild`.".to_owned()),
                transient: false,
            }),
            Verdict::ServerDown { evidence } => self.clear_then(untouched(&self.order, &evidence, true)),
            Verdict::BackendChanged { evidence } => self.clear_then(JobEnd::Failed {
                state: State::Unknown,
                summary: evidence,
                advice: Some("Choose the backend with DEFAULT_DATABASE.".to_owned()),
                transient: false,
            }),
            Verdict::NoGrammars => Outcome::end(no_grammars()),
            Verdict::Interrupted => Outcome::end(stopped(&self.order)),
            Verdict::Skipped => {
                Outcome::end(half_done(&self.order, "cgc skipped the work and changed nothing".to_owned(), None))
            }
            Verdict::Failed { reason } => Outcome::end(half_done(&self.order, reason, None)),
            Verdict::Worked
            | Verdict::Reconciled
            | Verdict::Partial { .. }
            | Verdict::Holds(_)
            | Verdict::Unindexed
            | Verdict::Report(_) => {
                Outcome::end(half_done(&self.order, "cgc answered something unexpected".to_owned(), None))
            }
        }
    }

    fn recheck(&mut self) -> Outcome {
        self.step = Step::Rechecking;
        match &self.scan {
            Some(scan) => Outcome::task(Task::Recheck {
                exclusions: self.order.target.location.exclusions.clone(),
                manifest: Arc::clone(&scan.manifest),
            }),
            None => Outcome::default(),
        }
    }

    fn rechecked(&mut self, comparison: Comparison) -> Outcome {
        self.recheck = Some(comparison);
        let (run, task) = Run::begin(Verb::Inventory, self.order.target.clone(), self.order.question_timeout);
        self.step = Step::Proving(Box::new(run));
        let mut outcome = Outcome::task(task);
        if self.stop_wanted {
            let stop = self.stop(self.since);
            outcome.tasks.extend(stop.tasks);
        }
        outcome
    }

    /// The graph is as it was, or whole and merely unproved: the intent must not call it half built.
    fn clear_then(&mut self, end: JobEnd) -> Outcome {
        self.step = Step::ClearingIntent(Box::new(end));
        Outcome::task(Task::ClearIntent)
    }
}
