//! What surfaces may read of a lifecycle.
//!
//! It must never change anything.

use steward_ports::{GraphFacts, Holder, Receipt, SessionId, Tick, WorkspaceKind, WorkspaceRoot};

use super::{Lifecycle, Phase};
use crate::event::Problem;
use crate::job::JobStep;
use crate::run::Run;
use crate::state::{Activity, JobResult, Knowledge, Work};

impl Lifecycle {
    /// The workspace.
    pub fn root(&self) -> &WorkspaceRoot {
        &self.root
    }

    /// What kind of place the workspace is.
    pub fn kind(&self) -> &WorkspaceKind {
        &self.kind
    }

    /// What is known of the graph.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// What cgc's files said when they were last read.
    pub fn facts(&self) -> Option<&GraphFacts> {
        self.facts.as_ref()
    }

    /// The last proved job.
    pub fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_ref()
    }

    /// Who held the database when that last mattered.
    pub fn holder(&self) -> Option<&Holder> {
        self.holder.as_ref()
    }

    /// How the last job of this daemon ended.
    pub fn last_job(&self) -> Option<&JobResult> {
        self.last_job.as_ref()
    }

    /// What last went wrong, and when.
    pub fn last_problem(&self) -> Option<(&Problem, Tick)> {
        self.last_problem.as_ref().map(|(problem, at)| (problem, *at))
    }

    /// The live sessions.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionId> {
        self.sessions.keys()
    }

    /// Whether a graph can be used or is being created.
    pub fn guidance_ready(&self) -> bool {
        let being_made = self.activity().is_some_and(|activity| match activity.work {
            Work::Indexing | Work::Rebuilding | Work::Syncing => true,
            Work::Probing => false,
        });
        self.knowledge.state.is_ready() || being_made
    }

    /// Whether nothing is going on and nobody waits.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle) && self.wish.is_none()
    }

    /// Whether records are being read or the tree is being compared: what is known may change in a moment.
    pub fn is_looking(&self) -> bool {
        matches!(self.phase, Phase::Inspecting { .. } | Phase::Comparing { .. })
    }

    /// Whether records are being read, which takes no longer than a few file reads.
    pub fn is_inspecting(&self) -> bool {
        matches!(self.phase, Phase::Inspecting { .. })
    }

    /// Whether the machine was told that the companion ends.
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// Whether nothing needs this machine any more.
    pub fn is_abandoned(&self) -> bool {
        self.is_idle() && self.sessions.is_empty()
    }

    /// Whether a job runs or is about to.
    pub fn has_job(&self) -> bool {
        matches!(self.phase, Phase::Working(_)) || self.wish.is_some()
    }

    /// What is going on.
    pub fn activity(&self) -> Option<Activity> {
        let probing = |phase: &str, since: Tick, run: Option<&Run>| Activity {
            work: Work::Probing,
            phase: phase.to_owned(),
            since,
            done: None,
            total: None,
            last_output: run.and_then(Run::last_output),
        };
        match &self.phase {
            Phase::Idle => None,
            Phase::Inspecting { since, .. } => Some(probing("reading records", *since, None)),
            Phase::Comparing { since, .. } => Some(probing("comparing the working tree", *since, None)),
            Phase::Recording { since, .. } => Some(probing("recording the database", *since, None)),
            Phase::Naming { since, .. } => Some(probing("looking at the database's lock", *since, None)),
            Phase::Asking(asking) => Some(probing("asking the graph", asking.since, asking.run.as_ref())),
            Phase::Working(job) => {
                let progress = job.run().and_then(Run::progress);
                Some(Activity {
                    work: Work::from(job.order.kind),
                    phase: phase_name(job.step()).to_owned(),
                    since: job.since,
                    done: progress.map(|(done, _)| done),
                    total: progress.and_then(|(_, total)| total).or(job.files()),
                    last_output: job.run().and_then(Run::last_output),
                })
            }
        }
    }
}

const fn phase_name(step: JobStep) -> &'static str {
    match step {
        JobStep::WaitingForDatabase => "waiting for the database",
        JobStep::ProbingLock => "looking at the database's lock",
        JobStep::SettingAside => "setting the ruined database aside",
        JobStep::Scanning => "hashing the working tree",
        JobStep::RecordingIntent => "recording the intent",
        JobStep::Working => "cgc is at work",
        JobStep::Rechecking => "comparing the working tree",
        JobStep::Proving => "asking the graph",
        JobStep::Saving => "saving the receipt",
        JobStep::DroppingReceipt | JobStep::ClearingIntent => "recording the outcome",
        JobStep::NamingHolder => "looking at the database's lock",
    }
}
