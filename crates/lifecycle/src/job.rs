//! One job: from waiting for the database to a proved receipt, each step a state.
//!
//! It must never start cgc before the intent is on disk, and never call a job done that the graph did not confirm.

mod end;
mod prepare;
mod proof;
mod work;

use std::collections::BTreeSet;
use std::time::Duration;

use steward_ports::{
    Comparison, Difference, GraphTarget, JobKind, LockState, SessionId, Tick, Timestamp, Verb, WorkspaceKind,
    WorkspaceRoot,
};

pub(crate) use self::end::JobEnd;
use self::end::{NOT_BEGUN, untouched};
use crate::event::{ClientId, Event, Scan, Task};
use crate::run::{Run, RunEvent};
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
    pub(crate) full_index_at: Option<Timestamp>,
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
    /// The last proof is forgotten because the graph is of no use.
    DroppingReceipt,
    /// The intent is removed because the graph is as it was.
    ClearingIntent,
    /// The process that cgc found in its way is looked up.
    NamingHolder,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    WaitingForDatabase,
    ProbingLock,
    SettingAside,
    Scanning,
    RecordingIntent(Scan),
    Working { run: Box<Run>, scan: Scan },
    Rechecking(Scan),
    Proving { run: Box<Run>, scan: Scan, recheck: Box<Comparison> },
    Saving { left: Difference },
    DroppingReceipt(Box<JobEnd>),
    ClearingIntent(Box<JobEnd>),
    NamingHolder,
}

/// A running job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) order: Order,
    pub(crate) since: Tick,
    pub(crate) clients: BTreeSet<ClientId>,
    step: Step,
    verb: Verb,
    stop_wanted: bool,
    /// Whether edits were observed while it ran.
    disturbed: bool,
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
        Self { order, since: now, clients, step: Step::WaitingForDatabase, verb, stop_wanted: false, disturbed: false }
    }

    pub(crate) fn step(&self) -> JobStep {
        match &self.step {
            Step::WaitingForDatabase => JobStep::WaitingForDatabase,
            Step::ProbingLock => JobStep::ProbingLock,
            Step::SettingAside => JobStep::SettingAside,
            Step::Scanning => JobStep::Scanning,
            Step::RecordingIntent(_) => JobStep::RecordingIntent,
            Step::Working { .. } => JobStep::Working,
            Step::Rechecking(_) => JobStep::Rechecking,
            Step::Proving { .. } => JobStep::Proving,
            Step::Saving { .. } => JobStep::Saving,
            Step::DroppingReceipt(_) => JobStep::DroppingReceipt,
            Step::ClearingIntent(_) => JobStep::ClearingIntent,
            Step::NamingHolder => JobStep::NamingHolder,
        }
    }

    pub(crate) fn run(&self) -> Option<&Run> {
        match &self.step {
            Step::Working { run, .. } | Step::Proving { run, .. } => Some(run),
            Step::WaitingForDatabase
            | Step::ProbingLock
            | Step::SettingAside
            | Step::Scanning
            | Step::RecordingIntent(_)
            | Step::Rechecking(_)
            | Step::Saving { .. }
            | Step::DroppingReceipt(_)
            | Step::ClearingIntent(_)
            | Step::NamingHolder => None,
        }
    }

    /// How many files the job has to do with, once they were counted.
    pub(crate) fn files(&self) -> Option<u64> {
        match &self.step {
            Step::RecordingIntent(scan)
            | Step::Working { scan, .. }
            | Step::Rechecking(scan)
            | Step::Proving { scan, .. } => Some(scan.manifest.entries.len() as u64),
            Step::WaitingForDatabase
            | Step::ProbingLock
            | Step::SettingAside
            | Step::Scanning
            | Step::Saving { .. }
            | Step::DroppingReceipt(_)
            | Step::ClearingIntent(_)
            | Step::NamingHolder => None,
        }
    }

    pub(crate) fn deadline(&self) -> Option<Tick> {
        self.run().and_then(Run::deadline)
    }

    /// Whether the job was told to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop_wanted
    }

    /// Notes that files were edited, or may have been, while the job ran.
    pub(crate) fn disturb(&mut self) {
        self.disturbed = true;
    }

    /// Wants the job to end. Steps that are one quick port call finish first, so that no answer arrives unasked for.
    pub(crate) fn stop(&mut self, now: Tick) -> Outcome {
        self.stop_wanted = true;
        match &mut self.step {
            Step::Working { run, .. } | Step::Proving { run, .. } => {
                Outcome { tasks: run.on(RunEvent::StopRequested, now).tasks, end: None }
            }
            Step::WaitingForDatabase => Outcome::end(untouched(&self.order, NOT_BEGUN, true)),
            Step::ProbingLock
            | Step::SettingAside
            | Step::Scanning
            | Step::RecordingIntent(_)
            | Step::Rechecking(_)
            | Step::Saving { .. }
            | Step::DroppingReceipt(_)
            | Step::ClearingIntent(_)
            | Step::NamingHolder => Outcome::default(),
        }
    }

    /// Hears an answer. An answer to a question that this step did not ask changes nothing.
    pub(crate) fn on(&mut self, event: Event, now: Tick) -> Outcome {
        match (&mut self.step, event) {
            (Step::Working { .. } | Step::Proving { .. }, Event::Run(event)) => self.run_heard(event, now),
            (Step::Working { .. } | Step::Proving { .. }, Event::DeadlineReached) => {
                self.run_heard(RunEvent::DeadlineReached, now)
            }
            (Step::WaitingForDatabase, Event::DatabaseGranted) => self.granted(),
            (Step::ProbingLock, Event::LockProbed(LockState::Held(holder))) => {
                Outcome::end(JobEnd::Busy { holder: Some(holder), cgc_ran: false })
            }
            (Step::ProbingLock, Event::LockProbed(LockState::Free | LockState::Absent)) => self.unlocked(),
            (Step::SettingAside, Event::SetAside(_)) => self.set_aside(),
            (Step::Scanning, Event::Scanned(scan)) => self.scanned(scan),
            (Step::RecordingIntent(scan), Event::IntentRecorded) => {
                let scan = scan.clone();
                self.recorded(scan)
            }
            (Step::ProbingLock, Event::LockProbeFailed(problem))
            | (Step::SettingAside, Event::SetAsideFailed(problem))
            | (Step::Scanning, Event::ScanFailed(problem))
            | (Step::RecordingIntent(_), Event::IntentFailed(problem)) => {
                Outcome::end(untouched(&self.order, &problem.0, true))
            }
            (Step::Rechecking(scan), Event::Rechecked(comparison)) => {
                let scan = scan.clone();
                self.rechecked(scan, comparison)
            }
            (Step::Rechecking(_), Event::RecheckFailed(problem))
            | (Step::Saving { .. }, Event::ReceiptFailed(problem)) => self.unproved(&problem.0),
            (Step::Saving { left }, Event::ReceiptSaved(receipt)) => {
                Outcome::end(JobEnd::Proved { receipt, left: std::mem::take(left) })
            }
            (Step::DroppingReceipt(end), Event::ReceiptDropped | Event::DropFailed(_)) => {
                let end = (**end).clone();
                self.clear_then(end)
            }
            (Step::ClearingIntent(end), Event::IntentCleared | Event::ClearFailed(_)) => {
                let end = (**end).clone();
                self.cleared(end)
            }
            (Step::NamingHolder, Event::LockProbed(LockState::Held(holder))) => {
                Outcome::end(JobEnd::Busy { holder: Some(holder), cgc_ran: true })
            }
            (
                Step::NamingHolder,
                Event::LockProbed(LockState::Free | LockState::Absent) | Event::LockProbeFailed(_),
            ) => Outcome::end(JobEnd::Busy { holder: None, cgc_ran: true }),
            // The step did not ask this.
            (_, _) => Outcome::default(),
        }
    }
}

#[cfg(test)]
mod tests;
