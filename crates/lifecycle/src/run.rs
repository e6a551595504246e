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

/// What happens to a run. What a group says carries its id, so that nothing is taken for another run's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEvent {
    /// cgc was started.
    Spawned(GroupId),
    /// It could not be started.
    SpawnFailed(Problem),
    /// It said something.
    Said {
        /// The group.
        group: GroupId,
        /// What it means, if anything.
        milestone: Option<Milestone>,
    },
    /// It ended.
    Ended {
        /// The group.
        group: GroupId,
        /// What the end means.
        verdict: Verdict,
    },
    /// It could not be followed to its end.
    FollowFailed {
        /// The group.
        group: GroupId,
        /// Why not.
        problem: Problem,
    },
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

#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    Ready,
    Timeout,
    Request,
    /// It can no longer be followed.
    Lost(Problem),
}

#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Whether the database was open: before that nothing can have changed.
    begun: bool,
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

impl Step {
    fn task(task: Task) -> Self {
        Self { tasks: vec![task], end: None }
    }
}

impl Run {
    /// Begins a run of `verb` that may take `budget` from its spawn.
    pub(crate) fn begin(verb: Verb, target: GraphTarget, budget: Duration) -> (Self, Task) {
        let task = Task::Spawn { verb, target: Box::new(target.clone()) };
        let phase = Phase::Starting { stop_wanted: false };
        (Self { verb, target, budget, phase, begun: false, ready: false, progress: None, last_output: None }, task)
    }

    pub(crate) fn progress(&self) -> Option<(u64, Option<u64>)> {
        self.progress
    }

    pub(crate) fn last_output(&self) -> Option<Tick> {
        self.last_output
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun
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
            RunEvent::SpawnFailed(problem) => self.not_spawned(problem),
            RunEvent::Said { group, milestone } if self.is(group) => self.said(group, milestone.as_ref(), now),
            RunEvent::Ended { group, verdict } if self.is(group) => self.ended(verdict),
            RunEvent::FollowFailed { group, problem } if self.is(group) => self.lost(group, problem, now),
            RunEvent::Said { .. } | RunEvent::Ended { .. } | RunEvent::FollowFailed { .. } => Step::default(),
            RunEvent::StopRequested => self.stop_requested(now),
            RunEvent::DeadlineReached => self.deadline_reached(now),
        }
    }

    fn spawned(&mut self, group: GroupId, now: Tick) -> Step {
        let Phase::Starting { stop_wanted } = self.phase else {
            return self.disowned(group);
        };
        self.phase = Phase::Running { group, budget_ends: now.after(self.budget) };
        let mut step = Step::task(self.follow(group));
        if stop_wanted {
            step.tasks.push(self.stop(group, Reason::Request, Stop::Interrupt, now));
        }
        step
    }

    /// A group that nobody waits for must not live on.
    fn disowned(&self, group: GroupId) -> Step {
        if self.is(group) { Step::default() } else { Step::task(Task::Stop { group, stop: Stop::Kill }) }
    }

    fn not_spawned(&mut self, problem: Problem) -> Step {
        match self.phase {
            Phase::Starting { .. } => self.over(RunEnd::NotStarted(problem)),
            Phase::Running { .. } | Phase::Stopping { .. } | Phase::Over => Step::default(),
        }
    }

    fn said(&mut self, group: GroupId, milestone: Option<&Milestone>, now: Tick) -> Step {
        self.last_output = Some(now);
        self.begun |= milestone.is_some();
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
        let end = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Stopping { reason: Reason::Timeout, .. } => RunEnd::TimedOut,
            // A reconcile that was asked to end after its ready line has done its work all the same.
            Phase::Stopping { reason: Reason::Request, .. } if !self.ready => RunEnd::Stopped,
            Phase::Stopping { reason: Reason::Request | Reason::Ready, .. } | Phase::Running { .. } => {
                RunEnd::Verdict(verdict)
            }
            Phase::Stopping { reason: Reason::Lost(problem), .. } => RunEnd::Lost(problem),
            Phase::Starting { .. } | Phase::Over => return Step::default(),
        };
        self.over(end)
    }

    /// A group that cannot be followed may still live and write: it is asked to end as gently as any other, and the run
    /// counts as over only once it was killed.
    fn lost(&mut self, group: GroupId, problem: Problem, now: Tick) -> Step {
        match &mut self.phase {
            Phase::Running { .. } => Step::task(self.stop(group, Reason::Lost(problem), Stop::Interrupt, now)),
            Phase::Stopping { sent: Stop::Kill, .. } => self.over(RunEnd::Lost(problem)),
            Phase::Stopping { reason, .. } => {
                *reason = Reason::Lost(problem);
                Step::default()
            }
            Phase::Starting { .. } | Phase::Over => Step::default(),
        }
    }

    fn stop_requested(&mut self, now: Tick) -> Step {
        match self.phase {
            Phase::Starting { .. } => {
                self.phase = Phase::Starting { stop_wanted: true };
                Step::default()
            }
            Phase::Running { group, .. } => Step::task(self.stop(group, Reason::Request, Stop::Interrupt, now)),
            Phase::Stopping { .. } | Phase::Over => Step::default(),
        }
    }

    fn deadline_reached(&mut self, now: Tick) -> Step {
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return Step::default();
        }
        match self.phase.clone() {
            Phase::Running { group, .. } => Step::task(self.stop(group, Reason::Timeout, Stop::Interrupt, now)),
            Phase::Stopping { group, reason, sent: Stop::Interrupt, .. } => {
                Step::task(self.stop(group, reason, Stop::Terminate, now))
            }
            Phase::Stopping { group, reason: Reason::Lost(problem), .. } => {
                let mut step = self.over(RunEnd::Lost(problem));
                step.tasks.push(Task::Stop { group, stop: Stop::Kill });
                step
            }
            Phase::Stopping { group, reason, .. } => Step::task(self.stop(group, reason, Stop::Kill, now)),
            Phase::Starting { .. } | Phase::Over => Step::default(),
        }
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

    /// Whether `group` is the one that runs.
    fn is(&self, group: GroupId) -> bool {
        match self.phase {
            Phase::Running { group: own, .. } | Phase::Stopping { group: own, .. } => own == group,
            Phase::Starting { .. } | Phase::Over => false,
        }
    }

    fn follow(&self, group: GroupId) -> Task {
        Task::Follow { group, verb: self.verb, target: Box::new(self.target.clone()), ready: self.ready }
    }
}

#[cfg(test)]
mod tests;
