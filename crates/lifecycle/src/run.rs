//! One supervised run of cgc: its budget, its ready line, and its end by INT, TERM and KILL.
//!
//! It must never know why cgc runs; `machine` and `job` do.

use std::time::Duration;

use steward_ports::{Backend, GraphTarget, GroupId, Milestone, Stop, Tick, Verb, Verdict};

use crate::event::{Problem, Task};

/// How long each step of an ending may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopBudget {
    /// From INT to TERM.
    pub interrupt: Duration,
    /// From TERM to KILL.
    pub terminate: Duration,
}

impl StopBudget {
    /// The budget for a backend. A Ladybug writer takes up to 27 s to obey INT and its database is ruined by anything
    /// harder; a Kuzu writer takes 2.3 s and recovers from a kill (cgc 0.6.13).
    pub const fn for_backend(backend: &Backend) -> Self {
        match backend {
            Backend::Ladybug => Self { interrupt: Duration::from_secs(55), terminate: Duration::from_secs(2) },
            Backend::Kuzu | Backend::FalkorLite | Backend::FalkorRemote | Backend::Neo4j | Backend::Unknown => {
                Self { interrupt: Duration::from_millis(3500), terminate: Duration::from_millis(500) }
            }
        }
    }
}

/// What happens to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEvent {
    /// cgc was started.
    Spawned(GroupId),
    /// It could not be started.
    SpawnFailed(Problem),
    /// It said something.
    Said(Option<Milestone>),
    /// It ended.
    Ended(Verdict),
    /// It could not be followed to its end.
    FollowFailed(Problem),
    /// Its end is wanted.
    StopRequested,
    /// The deadline was reached.
    DeadlineReached,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// By itself, or by the planned interrupt at its ready line.
    Verdict(Verdict),
    /// It ran over its budget and was stopped.
    TimedOut,
    /// Its end was asked for.
    Stopped,
    /// It never started.
    NotStarted(Problem),
    /// Its end could not be observed.
    Lost(Problem),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Ready,
    Timeout,
    Request,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting { stop_wanted: bool },
    Running { group: GroupId, budget_ends: Tick },
    Stopping { group: GroupId, reason: Reason, sent: Stop, escalates: Option<Tick> },
    Over,
}

/// One run of cgc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    verb: Verb,
    target: GraphTarget,
    budget: Duration,
    phase: Phase,
    ready: bool,
    progress: Option<(u64, Option<u64>)>,
    last_output: Option<Tick>,
}

/// What a step of a run gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Step {
    pub(crate) tasks: Vec<Task>,
    pub(crate) end: Option<RunEnd>,
}

impl Run {
    /// Begins a run of `verb` that may take `budget` from its spawn.
    pub(crate) fn begin(verb: Verb, target: GraphTarget, budget: Duration) -> (Self, Task) {
        let task = Task::Spawn { verb, target: Box::new(target.clone()) };
        let phase = Phase::Starting { stop_wanted: false };
        (Self { verb, target, budget, phase, ready: false, progress: None, last_output: None }, task)
    }

    pub(crate) fn progress(&self) -> Option<(u64, Option<u64>)> {
        self.progress
    }

    pub(crate) fn last_output(&self) -> Option<Tick> {
        self.last_output
    }

    pub(crate) fn deadline(&self) -> Option<Tick> {
        match self.phase {
            Phase::Running { budget_ends, .. } => Some(budget_ends),
            Phase::Stopping { escalates, .. } => escalates,
            Phase::Starting { .. } | Phase::Over => None,
        }
    }

    pub(crate) fn on(&mut self, event: RunEvent, now: Tick) -> Step {
        match event {
            RunEvent::Spawned(group) => self.spawned(group, now),
            RunEvent::SpawnFailed(problem) => self.over(RunEnd::NotStarted(problem)),
            RunEvent::Said(milestone) => self.said(milestone.as_ref(), now),
            RunEvent::Ended(verdict) => self.ended(verdict),
            RunEvent::FollowFailed(problem) => self.lost(problem),
            RunEvent::StopRequested => self.stop_requested(now),
            RunEvent::DeadlineReached => self.deadline_reached(now),
        }
    }

    fn spawned(&mut self, group: GroupId, now: Tick) -> Step {
        let Phase::Starting { stop_wanted } = self.phase else {
            return Step::default();
        };
        self.phase = Phase::Running { group, budget_ends: now.after(self.budget) };
        let mut step = Step { tasks: vec![self.follow(group)], end: None };
        if stop_wanted {
            step.tasks.push(self.stop(group, Reason::Request, Stop::Interrupt, now));
        }
        step
    }

    fn said(&mut self, milestone: Option<&Milestone>, now: Tick) -> Step {
        self.last_output = Some(now);
        let Some(group) = self.group() else {
            return Step::default();
        };
        let mut tasks = Vec::new();
        match milestone {
            Some(Milestone::Progress { done, total }) => self.progress = Some((*done, *total)),
            Some(Milestone::Ready) => {
                self.ready = true;
                if matches!(self.phase, Phase::Running { .. }) {
                    tasks.push(self.stop(group, Reason::Ready, Stop::Interrupt, now));
                }
            }
            Some(Milestone::Started) | None => {}
        }
        tasks.push(self.follow(group));
        Step { tasks, end: None }
    }

    fn ended(&mut self, verdict: Verdict) -> Step {
        let end = match self.phase {
            Phase::Stopping { reason: Reason::Timeout, .. } => RunEnd::TimedOut,
            // A reconcile that was asked to end after its ready line has done its work all the same.
            Phase::Stopping { reason: Reason::Request, .. } if !self.ready => RunEnd::Stopped,
            Phase::Stopping { reason: Reason::Request | Reason::Ready, .. }
            | Phase::Running { .. }
            | Phase::Starting { .. } => RunEnd::Verdict(verdict),
            Phase::Over => return Step::default(),
        };
        self.over(end)
    }

    /// A group that cannot be followed may still live: it is killed, and the run counts as over only then.
    fn lost(&mut self, problem: Problem) -> Step {
        let kill = self.group().map(|group| Task::Stop { group, stop: Stop::Kill });
        let mut step = self.over(RunEnd::Lost(problem));
        step.tasks.extend(kill);
        step
    }

    fn stop_requested(&mut self, now: Tick) -> Step {
        match self.phase {
            Phase::Starting { .. } => {
                self.phase = Phase::Starting { stop_wanted: true };
                Step::default()
            }
            Phase::Running { group, .. } => {
                Step { tasks: vec![self.stop(group, Reason::Request, Stop::Interrupt, now)], end: None }
            }
            Phase::Stopping { .. } | Phase::Over => Step::default(),
        }
    }

    fn deadline_reached(&mut self, now: Tick) -> Step {
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return Step::default();
        }
        let task = match self.phase {
            Phase::Running { group, .. } => self.stop(group, Reason::Timeout, Stop::Interrupt, now),
            Phase::Stopping { group, reason, sent: Stop::Interrupt, .. } => {
                self.stop(group, reason, Stop::Terminate, now)
            }
            Phase::Stopping { group, reason, sent: Stop::Terminate | Stop::Kill, .. } => {
                self.stop(group, reason, Stop::Kill, now)
            }
            Phase::Starting { .. } | Phase::Over => return Step::default(),
        };
        Step { tasks: vec![task], end: None }
    }

    fn stop(&mut self, group: GroupId, reason: Reason, stop: Stop, now: Tick) -> Task {
        let budget = StopBudget::for_backend(&self.target.location.backend);
        let escalates = match stop {
            Stop::Interrupt => Some(now.after(budget.interrupt)),
            Stop::Terminate => Some(now.after(budget.terminate)),
            // Nothing is harder than KILL; the runner reports the end.
            Stop::Kill => None,
        };
        self.phase = Phase::Stopping { group, reason, sent: stop, escalates };
        Task::Stop { group, stop }
    }

    fn over(&mut self, end: RunEnd) -> Step {
        self.phase = Phase::Over;
        Step { tasks: Vec::new(), end: Some(end) }
    }

    fn group(&self) -> Option<GroupId> {
        match self.phase {
            Phase::Running { group, .. } | Phase::Stopping { group, .. } => Some(group),
            Phase::Starting { .. } | Phase::Over => None,
        }
    }

    fn follow(&self, group: GroupId) -> Task {
        Task::Follow { group, verb: self.verb, target: Box::new(self.target.clone()), ready: self.ready }
    }
}
