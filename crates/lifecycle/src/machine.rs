//! The lifecycle machine of one workspace: who is there, what is known, what is going on, what is told.
//!
//! It must never start two pieces of cgc work at once, start work that nobody agreed to, or tell a session the same
//! condition twice.

mod attend;
mod decide;
mod look;
mod outcome;
mod view;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use steward_ports::{
    Difference, GraphFacts, GraphTarget, Holder, JobKind, NoticeKind, Receipt, SessionId, Tick, WorkspaceKind,
    WorkspaceRoot,
};

use crate::event::{ClientId, Database, Effect, Event, JobAnswer, Problem, Terms};
use crate::job::Job;
use crate::run::Run;
use crate::state::{Evidence, JobResult, Knowledge, State};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Attendance {
    terms: Terms,
    told: BTreeSet<NoticeKind>,
    /// Automatic jobs of this session that did not do what they were for.
    failures: u32,
    /// How often the graph was asked while this session was there, requests of humans aside.
    questions: u32,
    /// How many looks and questions came to nothing.
    unanswered: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Wish {
    job: JobKind,
    clients: BTreeSet<ClientId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Asking {
    evidence: Vec<Evidence>,
    receipt: Option<Box<Receipt>>,
    /// `None` while the database is waited for.
    run: Option<Run>,
    /// Whether it counts against the sessions that are there.
    counts: bool,
    since: Tick,
}

/// How far a look goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// For the status: nothing is started, told or decided.
    Passive,
    /// For a session or a request: the graph is asked where records do not suffice, and the outcome is acted on.
    Decisive,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Idle,
    Inspecting {
        since: Tick,
        depth: Depth,
    },
    Comparing {
        evidence: Vec<Evidence>,
        since: Tick,
        depth: Depth,
    },
    Asking(Box<Asking>),
    /// The database's identity is written down after the companion's own question changed its times.
    Recording {
        evidence: Vec<Evidence>,
        since: Tick,
    },
    /// cgc found another process in its way, which is looked up.
    Naming {
        evidence: Vec<Evidence>,
        since: Tick,
    },
    Working(Box<Job>),
}

/// The lifecycle of one workspace's graph, shared by all its sessions.
#[expect(clippy::struct_excessive_bools, reason = "four facts that are true or false independently of each other")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifecycle {
    root: WorkspaceRoot,
    kind: WorkspaceKind,
    /// On which terms the last look was taken; work goes on on the same ones.
    terms: Option<Terms>,
    /// On which terms the next look is to be taken, where they may differ.
    next_terms: Option<Terms>,
    sessions: BTreeMap<SessionId, Attendance>,
    knowledge: Knowledge,
    caution: Option<NoticeKind>,
    facts: Option<GraphFacts>,
    receipt: Option<Receipt>,
    holder: Option<Holder>,
    difference: Option<Difference>,
    phase: Phase,
    /// Sessions whose start-time decision is still to be made.
    undecided: BTreeSet<SessionId>,
    /// Somebody wanted to know while something else was going on.
    look_again: bool,
    /// An automatic job failed for a reason that may pass.
    retry_wanted: bool,
    /// Edits were observed that no comparison has seen yet.
    edits_unseen: bool,
    wish: Option<Wish>,
    last_job: Option<JobResult>,
    last_problem: Option<(Problem, Tick)>,
    shutting_down: bool,
}

impl Lifecycle {
    /// A workspace of which nothing is known yet.
    pub fn new(root: WorkspaceRoot, kind: WorkspaceKind) -> Self {
        Self {
            root,
            kind,
            terms: None,
            next_terms: None,
            sessions: BTreeMap::new(),
            knowledge: Knowledge { reason: "nothing was looked at yet".to_owned(), ..Knowledge::default() },
            caution: None,
            facts: None,
            receipt: None,
            holder: None,
            difference: None,
            phase: Phase::Idle,
            undecided: BTreeSet::new(),
            look_again: false,
            retry_wanted: false,
            edits_unseen: false,
            wish: None,
            last_job: None,
            last_problem: None,
            shutting_down: false,
        }
    }

    /// Hears `event` at `now` and returns what is to be done.
    #[must_use]
    pub fn on(&mut self, event: Event, now: Tick) -> Vec<Effect> {
        match event {
            Event::Joined { session, terms } => self.joined(session, terms, now),
            Event::Replaced { session } => self.replaced(&session),
            Event::Left { session } => self.left(&session, now),
            Event::EditObserved => self.edit_observed(now),
            Event::LookRequested { session } => self.look_requested(session, now),
            Event::SyncRequested { session } => self.sync_requested(session, now),
            Event::Consulted { terms } => self.consulted(terms, now),
            Event::JobRequested { job, client, terms } => self.job_requested(job, client, terms, now),
            Event::ClientLeft { client } => self.client_left(client, now),
            Event::ShutdownRequested => self.shut_down(now),
            Event::DatabaseGranted => self.database_granted(now),
            Event::Inspected(inspection) => self.inspected(*inspection, now),
            Event::InspectionFailed(problem) => self.not_inspected(problem, now),
            Event::Compared(comparison) => self.compared(comparison, now),
            Event::CompareFailed(problem) => self.not_compared(problem, now),
            Event::DatabaseRecorded => self.database_recorded(now),
            Event::DatabaseRecordFailed(problem) => {
                self.last_problem = Some((problem, now));
                self.database_recorded(now)
            }
            Event::TaskFailed(problem) => {
                self.last_problem = Some((problem, now));
                Vec::new()
            }
            Event::LockProbed(state) => self.lock_probed(state, now),
            Event::LockProbeFailed(problem) => self.lock_not_probed(problem, now),
            Event::Run(event) => self.run_heard(event, now),
            Event::DeadlineReached => self.deadline_reached(now),
            // The job goes on without these, so only here can they be kept.
            Event::ClearFailed(ref problem) | Event::DropFailed(ref problem) => {
                let problem = problem.clone();
                let effects = self.job_heard(event, now);
                self.last_problem = Some((problem, now));
                effects
            }
            answer @ (Event::SetAside(_)
            | Event::SetAsideFailed(_)
            | Event::Scanned(_)
            | Event::ScanFailed(_)
            | Event::IntentRecorded
            | Event::IntentFailed(_)
            | Event::IntentCleared
            | Event::ReceiptDropped
            | Event::Rechecked(_)
            | Event::RecheckFailed(_)
            | Event::ReceiptSaved(_)
            | Event::ReceiptFailed(_)) => self.job_heard(answer, now),
        }
    }

    /// When `Event::DeadlineReached` is due, if nothing else happens before.
    pub fn deadline(&self) -> Option<Tick> {
        match &self.phase {
            Phase::Asking(asking) => asking.run.as_ref().and_then(Run::deadline),
            Phase::Working(job) => job.deadline(),
            Phase::Idle
            | Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Recording { .. }
            | Phase::Naming { .. } => None,
        }
    }

    /// Settles on `state` and decides what follows from it.
    fn settle(&mut self, state: State, reason: &str, evidence: Vec<Evidence>, now: Tick) -> Vec<Effect> {
        self.learn(state, reason, evidence, now);
        self.decide(now)
    }

    fn learn(&mut self, state: State, reason: &str, evidence: Vec<Evidence>, now: Tick) {
        if self.knowledge.state != state || self.knowledge.reason != reason {
            self.knowledge.since = now;
        }
        self.knowledge = Knowledge { state, reason: reason.to_owned(), evidence, since: self.knowledge.since };
        self.phase = Phase::Idle;
    }

    /// Notes `state` for the status and leaves decisions to a look that goes deeper, which follows where one is due.
    fn note(&mut self, state: State, reason: &str, evidence: Vec<Evidence>, now: Tick) -> Vec<Effect> {
        self.learn(state, reason, evidence, now);
        if self.shutting_down {
            return self.refuse_wish("the companion is ending", None);
        }
        if self.look_again { self.inspect(Depth::Decisive, now) } else { Vec::new() }
    }

    fn job(&self) -> Option<&Job> {
        match &self.phase {
            Phase::Working(job) => Some(job),
            Phase::Idle
            | Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Asking(_)
            | Phase::Recording { .. }
            | Phase::Naming { .. } => None,
        }
    }

    fn job_mut(&mut self) -> Option<&mut Job> {
        match &mut self.phase {
            Phase::Working(job) => Some(job),
            Phase::Idle
            | Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Asking(_)
            | Phase::Recording { .. }
            | Phase::Naming { .. } => None,
        }
    }

    fn target(&self) -> Option<GraphTarget> {
        let facts = self.facts.as_ref()?;
        let terms = self.terms.as_ref()?;
        Some(GraphTarget {
            root: self.root.as_path().to_path_buf(),
            installation: facts.installation.clone(),
            location: facts.location.clone(),
            environment: terms.query.environment.clone(),
        })
    }

    fn database(&self) -> Option<Database> {
        let location = &self.facts.as_ref()?.location;
        Some(match &location.database {
            Some(path) if !location.backend.is_server() => Database::File(path.clone()),
            Some(_) | None => Database::Server(self.root.clone()),
        })
    }

    fn release(&self) -> Vec<Effect> {
        self.database().map(Effect::Release).into_iter().collect()
    }
}

fn refuse(client: ClientId, reason: &str, advice: Option<&str>) -> Effect {
    let answer = JobAnswer::Refused { reason: reason.to_owned(), advice: advice.map(str::to_owned) };
    Effect::Answer { client, answer }
}
