//! The lifecycle machine of one workspace: who is there, what is known, what is going on, what is told.
//!
//! It must never start two pieces of cgc work at once, start work that nobody agreed to, or tell a session the same
//! condition twice.

mod decide;
mod look;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use steward_ports::{
    Difference, GraphFacts, GraphTarget, Holder, JobKind, NoticeKind, Receipt, SessionId, Tick, Verb, WorkspaceKind,
    WorkspaceRoot,
};

use crate::event::{ClientId, Database, Effect, Event, JobAnswer, Problem, Task, Terms};
use crate::job::{Job, Origin, Outcome};
use crate::run::{Run, RunEvent};
use crate::state::{Evidence, JobResult, Knowledge, State, Work};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Attendance {
    told: BTreeSet<NoticeKind>,
    /// Automatic jobs of this session that did not do what they were for.
    failures: u32,
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
    Working(Box<Job>),
}

/// The lifecycle of one workspace's graph, shared by all its sessions.
#[expect(clippy::struct_excessive_bools, reason = "four facts that are true or false independently of each other")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifecycle {
    root: WorkspaceRoot,
    kind: WorkspaceKind,
    terms: Option<Terms>,
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
    /// A session that wants to know again while something else is going on.
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
            Event::Consulted { terms } => self.consulted(terms, now),
            Event::JobRequested { job, client, terms } => self.job_requested(job, client, terms, now),
            Event::ClientLeft { client } => self.client_left(client),
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
            Event::Run(event) => self.run_heard(event, now),
            Event::DeadlineReached => self.deadline_reached(now),
            answer @ (Event::LockProbed(_)
            | Event::LockProbeFailed(_)
            | Event::SetAside(_)
            | Event::SetAsideFailed(_)
            | Event::Scanned(_)
            | Event::ScanFailed(_)
            | Event::IntentRecorded
            | Event::IntentFailed(_)
            | Event::IntentCleared
            | Event::ClearFailed(_)
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
            Phase::Idle | Phase::Inspecting { .. } | Phase::Comparing { .. } | Phase::Recording { .. } => None,
        }
    }

    fn joined(&mut self, session: SessionId, terms: Terms, now: Tick) -> Vec<Effect> {
        self.terms = Some(terms);
        self.sessions.entry(session.clone()).or_default();
        self.undecided.insert(session);
        self.look(now)
    }

    fn replaced(&mut self, session: &SessionId) -> Vec<Effect> {
        if let Some(attendance) = self.sessions.get_mut(session) {
            attendance.told.clear();
        }
        Vec::new()
    }

    fn left(&mut self, session: &SessionId, now: Tick) -> Vec<Effect> {
        self.sessions.remove(session);
        self.undecided.remove(session);
        if !self.sessions.is_empty() {
            return Vec::new();
        }
        match &self.phase {
            Phase::Working(job) if job.order.origin != Origin::Client => self.stop_work(now),
            Phase::Asking(_) if self.wish.is_none() => self.stop_work(now),
            Phase::Working(_)
            | Phase::Asking(_)
            | Phase::Idle
            | Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Recording { .. } => Vec::new(),
        }
    }

    fn edit_observed(&mut self, now: Tick) -> Vec<Effect> {
        self.edits_unseen = true;
        if self.knowledge.state == State::Clean && matches!(self.phase, Phase::Idle) {
            self.knowledge.state = State::Drift;
            self.knowledge.reason = "edits were observed since the graph was proved".to_owned();
            self.knowledge.since = now;
        }
        Vec::new()
    }

    fn look_requested(&mut self, session: SessionId, now: Tick) -> Vec<Effect> {
        let failures = self.sessions.get(&session).map_or(0, |attendance| attendance.failures);
        let retry = self.retry_wanted && failures == 1;
        if !retry && !self.edits_unseen && self.knowledge.state == State::Clean {
            return Vec::new();
        }
        if retry {
            self.retry_wanted = false;
            self.undecided.insert(session);
        }
        self.look(now)
    }

    fn job_requested(&mut self, job: JobKind, client: ClientId, terms: Terms, now: Tick) -> Vec<Effect> {
        if self.shutting_down {
            return vec![refuse(client, "the companion is ending", None)];
        }
        if let Phase::Working(running) = &mut self.phase {
            if job == JobKind::Rebuild && running.order.kind != JobKind::Rebuild {
                let name = Work::from(running.order.kind).name();
                let advice = "Ask again when it has ended; `steward status` shows how far it is.";
                return vec![refuse(client, &format!("{name} is running"), Some(advice))];
            }
            running.clients.insert(client);
            return vec![Effect::Answer { client, answer: JobAnswer::Accepted { joined: true } }];
        }
        match &mut self.wish {
            Some(wish) if wish.job == job => {
                wish.clients.insert(client);
            }
            Some(_) => {
                return vec![refuse(client, "another request is being looked at", Some("Ask again."))];
            }
            None => {
                self.wish = Some(Wish { job, clients: BTreeSet::from([client]) });
            }
        }
        self.terms = Some(terms);
        self.look(now)
    }

    fn consulted(&mut self, terms: Terms, now: Tick) -> Vec<Effect> {
        self.terms.get_or_insert(terms);
        match self.phase {
            Phase::Idle => self.inspect(Depth::Passive, now),
            Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Asking(_)
            | Phase::Recording { .. }
            | Phase::Working(_) => Vec::new(),
        }
    }

    fn client_left(&mut self, client: ClientId) -> Vec<Effect> {
        if let Phase::Working(job) = &mut self.phase {
            job.clients.remove(&client);
        }
        if let Some(wish) = &mut self.wish {
            wish.clients.remove(&client);
            if wish.clients.is_empty() {
                self.wish = None;
            }
        }
        Vec::new()
    }

    fn shut_down(&mut self, now: Tick) -> Vec<Effect> {
        self.shutting_down = true;
        let mut effects = self.refuse_wish("the companion is ending", None);
        effects.extend(self.stop_work(now));
        effects
    }

    fn stop_work(&mut self, now: Tick) -> Vec<Effect> {
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
            Phase::Idle | Phase::Inspecting { .. } | Phase::Comparing { .. } | Phase::Recording { .. } => Vec::new(),
        }
    }

    fn database_granted(&mut self, now: Tick) -> Vec<Effect> {
        let target = self.target();
        match (&mut self.phase, target, &self.terms) {
            (Phase::Asking(asking), Some(target), Some(terms)) if asking.run.is_none() => {
                let (run, task) = Run::begin(Verb::Inventory, target, terms.policy.command_timeout);
                asking.run = Some(run);
                vec![Effect::Task(task)]
            }
            (Phase::Working(job), _, _) => {
                let outcome = job.on(Event::DatabaseGranted, now);
                self.job_outcome(outcome, now)
            }
            (_, _, _) => self.release(),
        }
    }

    fn run_heard(&mut self, event: RunEvent, now: Tick) -> Vec<Effect> {
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
                    if let Some(end) = step.end {
                        effects.extend(self.answered(end, now));
                    }
                    effects
                }
                None => Vec::new(),
            },
            Phase::Idle | Phase::Inspecting { .. } | Phase::Comparing { .. } | Phase::Recording { .. } => Vec::new(),
        }
    }

    fn deadline_reached(&mut self, now: Tick) -> Vec<Effect> {
        match &mut self.phase {
            Phase::Working(job) => {
                let outcome = job.on(Event::DeadlineReached, now);
                self.job_outcome(outcome, now)
            }
            Phase::Asking(asking) => match &mut asking.run {
                Some(run) => tasks(run.on(RunEvent::DeadlineReached, now).tasks),
                None => Vec::new(),
            },
            Phase::Idle | Phase::Inspecting { .. } | Phase::Comparing { .. } | Phase::Recording { .. } => Vec::new(),
        }
    }

    fn job_heard(&mut self, event: Event, now: Tick) -> Vec<Effect> {
        match &mut self.phase {
            Phase::Working(job) => {
                let outcome = job.on(event, now);
                self.job_outcome(outcome, now)
            }
            Phase::Idle
            | Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Asking(_)
            | Phase::Recording { .. } => Vec::new(),
        }
    }

    fn job_outcome(&mut self, outcome: Outcome, now: Tick) -> Vec<Effect> {
        let mut effects = tasks(outcome.tasks);
        if let Some(end) = outcome.end {
            effects.extend(self.job_ended(end, now));
        }
        effects
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
        let due = self.look_again || !self.undecided.is_empty() || self.wish.is_some();
        if due { self.inspect(Depth::Decisive, now) } else { Vec::new() }
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

fn tasks(tasks: Vec<Task>) -> Vec<Effect> {
    tasks.into_iter().map(Effect::Task).collect()
}

fn refuse(client: ClientId, reason: &str, advice: Option<&str>) -> Effect {
    let answer = JobAnswer::Refused { reason: reason.to_owned(), advice: advice.map(str::to_owned) };
    Effect::Answer { client, answer }
}
