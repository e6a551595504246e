//! Work that is going on: the answers it gets, its deadlines, its end on request.
//!
//! It must never let go of a run whose group may live.

use steward_ports::{Stop, Tick, Verb};

use super::{Lifecycle, Phase};
use crate::event::{Effect, Event, Task};
use crate::job::Outcome;
use crate::run::{Run, RunEvent};
use crate::state::State;

impl Lifecycle {
    pub(super) fn stop_work(&mut self, now: Tick) -> Vec<Effect> {
        match &mut self.phase {
            Phase::Working(job) => {
                let outcome = job.stop(now);
                self.job_outcome(outcome, now)
            }
            Phase::Asking(asking) => match &mut asking.run {
                Some(run) => tasks(run.on(RunEvent::StopRequested, now).tasks),
                None => {
                    let evidence = asking.evidence.clone();
                    let mut effects = self.release();
                    effects.extend(self.settle(State::Unknown, "asking the graph was given up", evidence, now));
                    effects
                }
            },
            Phase::Idle
            | Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Recording { .. }
            | Phase::Naming { .. } => Vec::new(),
        }
    }

    pub(super) fn database_granted(&mut self, now: Tick) -> Vec<Effect> {
        let (target, timeout) = (self.target(), self.terms.as_ref().map(|terms| terms.policy.command_timeout));
        match (&mut self.phase, target, timeout) {
            (Phase::Asking(asking), Some(target), Some(timeout)) if asking.run.is_none() => {
                let (run, task) = Run::begin(Verb::Inventory, target, timeout);
                asking.run = Some(run);
                vec![Effect::Task(task)]
            }
            // It was granted before.
            (Phase::Asking(_), _, _) => Vec::new(),
            (Phase::Working(_), _, _) => self.job_heard(Event::DatabaseGranted, now),
            // Nobody waits for it any more.
            (
                Phase::Idle
                | Phase::Inspecting { .. }
                | Phase::Comparing { .. }
                | Phase::Recording { .. }
                | Phase::Naming { .. },
                _,
                _,
            ) => self.release(),
        }
    }

    pub(super) fn run_heard(&mut self, event: RunEvent, now: Tick) -> Vec<Effect> {
        match &mut self.phase {
            Phase::Working(job) => {
                let outcome = job.on(Event::Run(event), now);
                let mut effects = self.progress_answers();
                effects.extend(self.job_outcome(outcome, now));
                effects
            }
            Phase::Asking(asking) => match &mut asking.run {
                Some(run) => {
                    let step = run.on(event, now);
                    let mut effects = tasks(step.tasks);
                    effects.extend(step.end.map(|end| self.answered(end, now)).unwrap_or_default());
                    effects
                }
                None => disown(&event),
            },
            Phase::Idle
            | Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Recording { .. }
            | Phase::Naming { .. } => disown(&event),
        }
    }

    pub(super) fn deadline_reached(&mut self, now: Tick) -> Vec<Effect> {
        match &self.phase {
            Phase::Working(_) => self.job_heard(Event::DeadlineReached, now),
            Phase::Asking(_) => self.run_heard(RunEvent::DeadlineReached, now),
            Phase::Idle
            | Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Recording { .. }
            | Phase::Naming { .. } => Vec::new(),
        }
    }

    pub(super) fn job_heard(&mut self, event: Event, now: Tick) -> Vec<Effect> {
        let Some(job) = self.job_mut() else { return Vec::new() };
        let outcome = job.on(event, now);
        self.job_outcome(outcome, now)
    }

    fn job_outcome(&mut self, outcome: Outcome, now: Tick) -> Vec<Effect> {
        let mut effects = tasks(outcome.tasks);
        effects.extend(outcome.end.map(|end| self.job_ended(end, now)).unwrap_or_default());
        effects
    }
}

/// A group that nobody waits for must not live on.
fn disown(event: &RunEvent) -> Vec<Effect> {
    match event {
        RunEvent::Spawned(group) => vec![Effect::Task(Task::Stop { group: *group, stop: Stop::Kill })],
        RunEvent::SpawnFailed(_)
        | RunEvent::Said { .. }
        | RunEvent::Ended { .. }
        | RunEvent::FollowFailed { .. }
        | RunEvent::StopRequested
        | RunEvent::DeadlineReached => Vec::new(),
    }
}

fn tasks(tasks: Vec<Task>) -> Vec<Effect> {
    tasks.into_iter().map(Effect::Task).collect()
}
