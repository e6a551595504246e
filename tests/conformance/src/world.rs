//! The world and what can happen in it.
//!
//! It must never hand an event to the machine that the daemon could not hand to it.

use std::collections::VecDeque;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use steward_doubles::{
    DATABASE, FakeGraph, FakeLocks, FakeProcesses, Gate, ManualClock, MemoryFs, MemoryStore, RecordingNotifier, Script,
    ScriptedRunner,
};
use steward_lifecycle::{Activity, Knowledge, Lifecycle, Work};
use steward_ports::{Clock as _, Environment, JobKind, NoticeKind, SessionId, WorkspaceRoot};
use steward_session::{
    Certainty, ClientAnswer, ClientId, Effect, Event, Happened, Ports, SessionFacts, StatusQuestion, Steward, perform,
};

use crate::cgc;

/// The repository in which the scenarios play.
pub const ROOT: &str = "/home/user/repository";

const HOME: &str = "/home/user";
const OWN_PID: u32 = 100;

type Answering = Pin<Box<dyn Future<Output = Option<Event>> + Send>>;

/// A session of a harness.
#[derive(Debug, Clone)]
pub struct Harness {
    facts: SessionFacts,
}

impl Harness {
    /// Its name.
    pub fn id(&self) -> &SessionId {
        &self.facts.id
    }

    /// Lets it work in `directory`.
    #[must_use]
    pub fn in_directory(mut self, directory: &str) -> Self {
        self.facts.directory = PathBuf::from(directory);
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn with(mut self, variable: &str, value: &str) -> Self {
        self.facts.environment.set(variable, value);
        self
    }
}

/// Everything there is. Its parts are the doubles themselves, to be set up and asked directly.
pub struct World {
    /// Process groups.
    pub runner: Arc<ScriptedRunner>,
    /// The working trees.
    pub files: Arc<MemoryFs>,
    /// What the companion remembers.
    pub store: Arc<MemoryStore>,
    /// Locks of database files.
    pub locks: Arc<FakeLocks>,
    /// cgc and its graph.
    pub graph: Arc<FakeGraph>,
    /// What the humans were told.
    pub notifier: Arc<RecordingNotifier>,
    /// Other processes.
    pub processes: Arc<FakeProcesses>,
    clock: Arc<ManualClock>,
    steward: Steward,
    ports: Ports,
    events: VecDeque<Event>,
    answering: Vec<Answering>,
    answers: Vec<(ClientId, ClientAnswer)>,
    next_pid: u32,
    next_client: u64,
}

impl Default for World {
    /// A repository of three files, an installed cgc without a database, and nobody there.
    fn default() -> Self {
        let files = Arc::new(MemoryFs::default());
        files.make_repository(Path::new(ROOT), "commit-1");
        for name in ["a.py", "b.py", "README.md"] {
            files.write(&Path::new(ROOT).join(name), name);
        }
        let runner = Arc::new(ScriptedRunner::default());
        let store = Arc::new(MemoryStore::default());
        let locks = Arc::new(FakeLocks::default());
        let graph = Arc::new(FakeGraph::default());
        let notifier = Arc::new(RecordingNotifier::default());
        let processes = Arc::new(FakeProcesses::default());
        let clock = Arc::new(ManualClock::default());
        let ports = Ports {
            runner: Arc::clone(&runner) as _,
            files: Arc::clone(&files) as _,
            store: Arc::clone(&store) as _,
            locks: Arc::clone(&locks) as _,
            graph: Arc::clone(&graph) as _,
            notifier: Arc::clone(&notifier) as _,
            clock: Arc::clone(&clock) as _,
            processes: Arc::clone(&processes) as _,
            own: processes.start(OWN_PID),
        };
        let steward = Steward::new(clock.now());
        Self {
            runner,
            files,
            store,
            locks,
            graph,
            notifier,
            processes,
            clock,
            steward,
            ports,
            events: VecDeque::new(),
            answering: Vec::new(),
            answers: Vec::new(),
            next_pid: 1000,
            next_client: 1,
        }
    }
}

impl World {
    /// A world in which the repository was indexed and proved, and everybody has gone since.
    pub fn indexed() -> Self {
        let mut world = Self::default();
        world.expect_index();
        world.request(JobKind::Index);
        world.restart_companion();
        world
    }

    /// Returns the path of `name` in the repository.
    pub fn path(&self, name: &str) -> PathBuf {
        Path::new(ROOT).join(name)
    }

    /// Expects an index that succeeds, and the question that proves it.
    pub fn expect_index(&mut self) {
        let gate = Gate::default();
        gate.open();
        self.expect_index_at(&gate);
    }

    /// Like [`World::expect_index`], held up at `gate`.
    pub fn expect_index_at(&mut self, gate: &Gate) {
        self.runner.expect(cgc::index(&self.graph, &self.files, Path::new(ROOT), gate));
        self.runner.expect(cgc::inventory());
    }

    /// Expects a reconcile that succeeds, and the question that proves it.
    pub fn expect_reconcile(&mut self) {
        let gate = Gate::default();
        gate.open();
        self.expect_reconcile_at(&gate);
    }

    /// Like [`World::expect_reconcile`], held up at `gate`.
    pub fn expect_reconcile_at(&mut self, gate: &Gate) {
        self.runner.expect(cgc::reconcile(&self.graph, &self.files, Path::new(ROOT), gate));
        self.runner.expect(cgc::inventory());
    }

    /// Expects a command.
    pub fn expect(&mut self, script: Script) {
        self.runner.expect(script);
    }

    /// A harness in the repository, whose process runs and which has said nothing yet.
    pub fn harness(&mut self, name: &str) -> Harness {
        self.next_pid += 1;
        let environment = Environment::from_iter([("HOME".into(), HOME.into())]);
        let facts = SessionFacts {
            id: SessionId::new(name),
            process: self.processes.start(self.next_pid),
            directory: PathBuf::from(ROOT),
            environment,
        };
        Harness { facts }
    }

    /// Starts a session and lets everything happen that follows from it.
    pub fn start(&mut self, harness: &Harness) {
        self.report(harness, Happened::SessionStarted);
    }

    /// Starts a plain session in the repository.
    pub fn start_session(&mut self, name: &str) -> Harness {
        let harness = self.harness(name);
        self.start(&harness);
        harness
    }

    /// Lets `harness` report `happened`, and everything happen that follows from it.
    pub fn report(&mut self, harness: &Harness, happened: Happened) {
        self.report_only(harness, happened);
        self.run();
    }

    /// Lets `harness` report `happened` while nothing else happens.
    pub fn report_only(&mut self, harness: &Harness, happened: Happened) {
        self.hear(Event::Harness { session: harness.facts.clone(), happened });
    }

    /// Plays one prompt and the end of its turn.
    pub fn turn(&mut self, harness: &Harness) {
        self.report(harness, Happened::PromptSubmitted);
        self.report(harness, Happened::TurnEnded);
    }

    /// Lets the agent of `harness` write `content` to a file of the repository.
    pub fn edit(&mut self, harness: &Harness, name: &str, content: &str) {
        let path = self.path(name);
        self.files.write(&path, content);
        self.report(harness, Happened::Edited { paths: vec![path], certainty: Certainty::Certain });
    }

    /// Ends the session as its harness reports it.
    pub fn end(&mut self, harness: &Harness) {
        self.report(harness, Happened::SessionEnded { continues: false });
    }

    /// Kills the harness.
    pub fn kill(&mut self, harness: &Harness) {
        self.processes.end(harness.facts.process.pid);
        self.run();
    }

    /// Lets somebody at a terminal ask for `job` and agree to it.
    pub fn request(&mut self, job: JobKind) -> ClientId {
        let question = self.question();
        let client = question.client;
        self.hear(Event::JobRequested { job, question });
        self.run();
        client
    }

    /// Lets somebody at a terminal ask for the status.
    pub fn consult(&mut self) -> ClientId {
        let question = self.question();
        let client = question.client;
        self.hear(Event::StatusRequested(question));
        self.run();
        client
    }

    /// Lets a client go.
    pub fn leave(&mut self, client: ClientId) {
        self.hear(Event::ClientLeft(client));
        self.run();
    }

    /// Ends the companion with running work stopped.
    pub fn stop_companion(&mut self) {
        self.hear(Event::StopRequested { drain: false });
        self.run();
    }

    /// Puts a new companion in the place of the old one, which is gone with all that it had in mind.
    pub fn restart_companion(&mut self) {
        self.events.clear();
        self.answering.clear();
        self.ports.own = self.processes.start(OWN_PID);
        self.steward = Steward::new(self.clock.now());
    }

    /// Kills the companion, and with it all that its guards watch over; then a new one takes its place.
    pub fn kill_companion(&mut self) {
        self.runner.kill_all();
        self.restart_companion();
    }

    /// Lets `duration` pass; whatever is due meanwhile happens at its time.
    pub fn advance(&mut self, duration: Duration) {
        let end = self.clock.now().after(duration);
        self.run();
        while let Some(deadline) = self.steward.deadline().filter(|deadline| *deadline <= end) {
            self.clock.advance_to(deadline);
            if self.steward.is_finished(self.clock.now()) {
                break;
            }
            self.hear(Event::DeadlineReached);
            self.run();
        }
        self.clock.advance_to(end);
    }

    /// Lets everything happen that can happen without time passing.
    pub fn run(&mut self) {
        loop {
            while let Some(event) = self.events.pop_front() {
                self.hear(event);
            }
            let before = self.answering.len();
            let mut context = Context::from_waker(Waker::noop());
            let events = &mut self.events;
            self.answering.retain_mut(|answering| match answering.as_mut().poll(&mut context) {
                Poll::Ready(event) => {
                    events.extend(event);
                    false
                }
                Poll::Pending => true,
            });
            // What one answer changed may let another one come that was asked for earlier.
            if self.answering.len() == before {
                return;
            }
        }
    }

    /// Returns the state of the repository's graph.
    pub fn knowledge(&self) -> &Knowledge {
        self.lifecycle().knowledge()
    }

    /// Returns what is being done to the repository's graph.
    pub fn activity(&self) -> Option<Activity> {
        self.lifecycle().activity()
    }

    /// Returns what kind of work is being done.
    pub fn work(&self) -> Option<Work> {
        self.activity().map(|activity| activity.work)
    }

    /// Returns the machine of the repository.
    pub fn lifecycle(&self) -> &Lifecycle {
        match self.steward.status(&self.root()) {
            Some(view) => view.lifecycle,
            None => panic!("nobody was ever in {ROOT}"),
        }
    }

    /// Returns the application.
    pub fn steward(&self) -> &Steward {
        &self.steward
    }

    /// Returns the repository's root.
    pub fn root(&self) -> WorkspaceRoot {
        WorkspaceRoot::from_canonical(PathBuf::from(ROOT))
    }

    /// Returns the conditions that the human of `harness` was told of, oldest first.
    pub fn told(&self, harness: &Harness) -> Vec<NoticeKind> {
        self.notifier.kinds(harness.id())
    }

    /// Returns what `client` was told, oldest first.
    pub fn answers(&self, client: ClientId) -> Vec<&ClientAnswer> {
        self.answers.iter().filter(|(listener, _)| *listener == client).map(|(_, answer)| answer).collect()
    }

    /// Returns the commands that were started, oldest first.
    pub fn commands(&self) -> Vec<String> {
        let spawned = self.runner.spawned();
        spawned.iter().map(|command| command.arguments[0].to_string_lossy().into_owned()).collect()
    }

    /// Lets `pid`, called `name`, hold the database.
    pub fn hold_database(&mut self, pid: u32, name: &str) {
        self.locks.hold(DATABASE, pid, name);
    }

    /// Lets nobody hold the database.
    pub fn free_database(&mut self) {
        self.locks.free(DATABASE);
    }

    fn question(&mut self) -> StatusQuestion {
        let client = ClientId(self.next_client);
        self.next_client += 1;
        let environment = Environment::from_iter([("HOME".into(), HOME.into())]);
        StatusQuestion { client, directory: PathBuf::from(ROOT), environment }
    }

    fn hear(&mut self, event: Event) {
        for effect in self.steward.on(event, self.clock.now()) {
            match effect {
                Effect::Task(task) => {
                    let ports = self.ports.clone();
                    self.answering.push(Box::pin(async move { perform(task, &ports).await }));
                }
                Effect::Answer { client, answer } => self.answers.push((client, answer)),
            }
        }
    }
}
