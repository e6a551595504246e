//! The application machine.
//!
//! It must never know why a workspace does what it does; it routes, queues and counts.

mod places;
mod sessions;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use steward_config::{Resolved, Settings};
use steward_freshness::{Freshness, Graph};
use steward_lifecycle::{ClientId, JobAnswer, Lifecycle, Policy, Problem, State, Terms};
use steward_ports::{GraphQuery, JobKind, SessionId, Tick, WorkspaceRoot};

pub use self::view::StatusView;
use crate::databases::Databases;
use crate::event::{ClientAnswer, Effect, Event, Happened, Origin, RequestId, SessionFacts, StatusQuestion, Task};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Session {
    facts: SessionFacts,
    /// Where its workspace is, once that is known.
    root: Option<WorkspaceRoot>,
    /// The resolution that is under way.
    request: Option<RequestId>,
    /// What happened before the workspace was known.
    waiting: Vec<Happened>,
    /// Whether the human was told of ignored settings.
    told_of_settings: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Place {
    lifecycle: Lifecycle,
    freshness: Freshness,
    settings: Resolved,
    /// Clients that read the status as soon as the look is over.
    readers: Vec<ClientId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    AfterJobs,
    Now,
}

/// All sessions, workspaces and databases of one user.
#[derive(Debug, Clone, PartialEq)]
pub struct Steward {
    sessions: BTreeMap<SessionId, Session>,
    places: BTreeMap<WorkspaceRoot, Place>,
    databases: Databases,
    requests: BTreeMap<RequestId, Origin>,
    next_request: u64,
    ending: Ending,
    idle_exit: Duration,
    idle_since: Option<Tick>,
    last_problem: Option<(Problem, Tick)>,
}

impl Steward {
    /// Nobody is there at `now`.
    pub fn new(now: Tick) -> Self {
        Self {
            sessions: BTreeMap::new(),
            places: BTreeMap::new(),
            databases: Databases::default(),
            requests: BTreeMap::new(),
            next_request: 0,
            ending: Ending::No,
            idle_exit: Settings::default().daemon.idle_exit,
            idle_since: Some(now),
            last_problem: None,
        }
    }

    /// Hears `event` at `now` and returns what is to be done.
    #[must_use]
    pub fn on(&mut self, event: Event, now: Tick) -> Vec<Effect> {
        let effects = match event {
            Event::Harness { session, happened } => self.harness(session, happened, now),
            Event::HarnessGone(session) => self.session_gone(&session, now),
            Event::JobRequested { job, question } => self.job_requested(job, question),
            Event::StatusRequested(question) => self.status_requested(question),
            Event::ClientLeft(client) => self.client_left(client, now),
            Event::StopRequested { drain } => self.stop(drain, now),
            Event::Resolved { request, outcome } => self.resolved(request, *outcome, now),
            Event::Workspace { root, event } => self.tell(&root, event, now),
            Event::TaskFailed(problem) => {
                self.last_problem = Some((problem, now));
                Vec::new()
            }
            Event::DeadlineReached => self.deadline_reached(now),
        };
        self.note_idleness(now);
        effects
    }

    /// When [`Event::DeadlineReached`] is due, if nothing else happens before.
    pub fn deadline(&self) -> Option<Tick> {
        let idle = self.idle_since.map(|since| since.after(self.idle_exit));
        let lifecycles = self.places.values().filter_map(|place| place.lifecycle.deadline());
        let doubts =
            self.places.values().filter_map(|place| place.freshness.deadline()).filter(|_| self.ending == Ending::No);
        lifecycles.chain(doubts).chain(idle).min()
    }

    /// Whether the daemon may end: it was asked to and nothing is left, or nobody was there for long enough.
    pub fn is_finished(&self, now: Tick) -> bool {
        match self.ending {
            Ending::No => self.idle_since.is_some_and(|since| since.after(self.idle_exit) <= now),
            Ending::AfterJobs | Ending::Now => self.places.values().all(|place| place.lifecycle.is_idle()),
        }
    }

    /// Whether new work is refused.
    pub fn is_ending(&self) -> bool {
        self.ending != Ending::No
    }

    fn job_requested(&mut self, job: JobKind, question: StatusQuestion) -> Vec<Effect> {
        let StatusQuestion { client, directory, environment } = question;
        if self.is_ending() {
            let answer = JobAnswer::Refused { reason: "the companion is ending".to_owned(), advice: None };
            return vec![Effect::Answer { client, answer: ClientAnswer::Job { answer, activity: None } }];
        }
        self.resolve(Origin::Job { client, job, environment: environment.clone() }, directory, environment)
    }

    fn status_requested(&mut self, question: StatusQuestion) -> Vec<Effect> {
        let StatusQuestion { client, directory, environment } = question;
        self.resolve(Origin::Status { client, environment: environment.clone() }, directory, environment)
    }

    fn client_left(&mut self, client: ClientId, now: Tick) -> Vec<Effect> {
        self.requests.retain(|_, origin| match origin {
            Origin::Session(_) => true,
            Origin::Job { client: asking, .. } | Origin::Status { client: asking, .. } => *asking != client,
        });
        let roots: Vec<WorkspaceRoot> = self.places.keys().cloned().collect();
        let mut effects = Vec::new();
        for root in roots {
            if let Some(place) = self.places.get_mut(&root) {
                place.readers.retain(|reader| *reader != client);
            }
            effects.extend(self.tell(&root, steward_lifecycle::Event::ClientLeft { client }, now));
        }
        effects
    }

    fn stop(&mut self, drain: bool, now: Tick) -> Vec<Effect> {
        if drain && self.ending == Ending::Now {
            return Vec::new();
        }
        self.ending = if drain { Ending::AfterJobs } else { Ending::Now };
        let is_ended = |place: &Place| !drain || !place.lifecycle.has_job();
        let roots: Vec<WorkspaceRoot> =
            self.places.iter().filter(|(_, place)| is_ended(place)).map(|(root, _)| root.clone()).collect();
        roots.iter().flat_map(|root| self.tell(root, steward_lifecycle::Event::ShutdownRequested, now)).collect()
    }

    fn deadline_reached(&mut self, now: Tick) -> Vec<Effect> {
        let due = |deadline: Option<Tick>| deadline.is_some_and(|deadline| deadline <= now);
        let mut queue = VecDeque::new();
        for (root, place) in &mut self.places {
            if due(place.lifecycle.deadline()) {
                queue.push_back((root.clone(), steward_lifecycle::Event::DeadlineReached));
            }
            if self.ending == Ending::No && due(place.freshness.deadline()) {
                let effects = place.freshness.on(steward_freshness::Event::DeadlineReached, now);
                queue.extend(effects.into_iter().map(|effect| (root.clone(), carry_over(effect))));
            }
        }
        self.work_off(queue, now)
    }

    fn tell(&mut self, root: &WorkspaceRoot, event: steward_lifecycle::Event, now: Tick) -> Vec<Effect> {
        self.work_off(VecDeque::from([(root.clone(), event)]), now)
    }

    /// Hands the events to their workspaces and carries on until no machine has anything to say to another.
    fn work_off(&mut self, mut queue: VecDeque<(WorkspaceRoot, steward_lifecycle::Event)>, now: Tick) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some((root, event)) = queue.pop_front() {
            let Some(place) = self.places.get_mut(&root) else { continue };
            for effect in place.lifecycle.on(event, now) {
                self.route(&root, effect, &mut queue, &mut effects);
            }
            queue.extend(self.tell_freshness(&root, now));
            queue.extend(self.end_after_job(&root));
            effects.extend(self.answer_readers(&root));
        }
        effects
    }

    fn route(
        &mut self,
        root: &WorkspaceRoot,
        effect: steward_lifecycle::Effect,
        queue: &mut VecDeque<(WorkspaceRoot, steward_lifecycle::Event)>,
        effects: &mut Vec<Effect>,
    ) {
        let granted = match effect {
            steward_lifecycle::Effect::Task(task) => {
                effects.push(Effect::Task(Task::Workspace { root: root.clone(), task }));
                None
            }
            steward_lifecycle::Effect::Acquire(database) => self.databases.acquire(database, root.clone()),
            steward_lifecycle::Effect::Release(database) => self.databases.release(&database, root),
            steward_lifecycle::Effect::Answer { client, answer } => {
                let activity = self.places.get(root).and_then(|place| place.lifecycle.activity());
                effects.push(Effect::Answer { client, answer: ClientAnswer::Job { answer, activity } });
                None
            }
        };
        queue.extend(granted.map(|next| (next, steward_lifecycle::Event::DatabaseGranted)));
    }

    /// A workspace whose last job has ended takes up nothing new while the daemon drains.
    fn end_after_job(&self, root: &WorkspaceRoot) -> Option<(WorkspaceRoot, steward_lifecycle::Event)> {
        let lifecycle = &self.places.get(root)?.lifecycle;
        let is_due = self.ending == Ending::AfterJobs && !lifecycle.has_job() && !lifecycle.is_shutting_down();
        is_due.then(|| (root.clone(), steward_lifecycle::Event::ShutdownRequested))
    }

    /// Freshness hears what has become of the graph, and the lifecycle what freshness wants done about it.
    fn tell_freshness(&mut self, root: &WorkspaceRoot, now: Tick) -> Vec<(WorkspaceRoot, steward_lifecycle::Event)> {
        let is_ending = self.is_ending();
        let Some(place) = self.places.get_mut(root) else { return Vec::new() };
        let event = steward_freshness::Event::Graph(graph(&place.lifecycle));
        let effects = place.freshness.on(event, now);
        if is_ending {
            return Vec::new();
        }
        effects.into_iter().map(|effect| (root.clone(), carry_over(effect))).collect()
    }

    /// A status is read as soon as the look is over; work that goes on is part of the status.
    fn answer_readers(&mut self, root: &WorkspaceRoot) -> Vec<Effect> {
        let Some(place) = self.places.get_mut(root) else { return Vec::new() };
        if place.lifecycle.is_looking() {
            return Vec::new();
        }
        let answer = ClientAnswer::StatusReady(root.clone());
        place.readers.drain(..).map(|client| Effect::Answer { client, answer: answer.clone() }).collect()
    }

    fn note_idleness(&mut self, now: Tick) {
        let busy = !self.sessions.is_empty()
            || !self.requests.is_empty()
            || self.places.values().any(|place| !place.lifecycle.is_idle());
        self.idle_since = match (busy, self.idle_since) {
            (true, _) => None,
            (false, Some(since)) => Some(since),
            (false, None) => Some(now),
        };
    }
}

fn carry_over(effect: steward_freshness::Effect) -> steward_lifecycle::Event {
    match effect {
        steward_freshness::Effect::Look(session) => steward_lifecycle::Event::LookRequested { session },
        steward_freshness::Effect::Sync(session) => steward_lifecycle::Event::SyncRequested { session },
    }
}

fn graph(lifecycle: &Lifecycle) -> Graph {
    if !lifecycle.is_idle() {
        return Graph::Occupied;
    }
    match lifecycle.knowledge().state {
        State::Clean => Graph::Matches,
        State::Drift => Graph::Behind,
        State::Unknown | State::Unavailable | State::Unindexed | State::Incomplete | State::Busy | State::Corrupt => {
            Graph::Unusable
        }
    }
}

fn terms(settings: &Settings, root: &Path, environment: &steward_ports::Environment) -> Terms {
    Terms {
        policy: Policy {
            auto_create: settings.lifecycle.auto_create,
            sync_on_start: settings.lifecycle.sync_on_start,
            command_timeout: settings.cgc.timeout,
            maintenance_timeout: settings.cgc.maintenance_timeout,
        },
        query: GraphQuery {
            root: PathBuf::from(root),
            executable: settings.cgc.executable.clone(),
            environment: environment.clone(),
        },
    }
}
