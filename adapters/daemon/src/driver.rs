//! Drives the application machine: requests and answers in, effects out, one sleep for all deadlines.
//!
//! It must never decide what a machine can decide, block on a port, or wake up without a reason.

use std::sync::Arc;
use std::time::Duration;

use steward_ipc::server::Incoming;
use steward_ports::{Clock, SessionId, Tick, WorkspaceRoot};
use steward_session::{ClientAnswer, ClientId, Effect, Event, Ports, StatusQuestion, Steward, Task, perform};
use steward_wire::{Build, DaemonReport, HarnessEvent, PROTOCOL, Reply, Request, SessionReport};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::clients::{Clients, Delivery, Replies};
use crate::outbox::Outbox;
use crate::report::{Now, report, unknown};
use crate::sessions::SessionAttributes;
use crate::translate::{environment, happened, job_kind, milliseconds, session_facts};

/// How long the reply to a session's start waits for what a few file reads can tell. It is far below what a person
/// notices; every other event is answered at once.
const REPLY_GRACE: Duration = Duration::from_millis(10);

/// What the daemon is, for those who ask.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The process id.
    pub pid: u32,
    /// The build.
    pub build: Build,
    /// The socket.
    pub socket: std::path::PathBuf,
    /// This boot's id.
    pub boot_id: String,
}

/// The running daemon.
pub struct Driver {
    steward: Steward,
    ports: Ports,
    clock: Arc<dyn Clock>,
    outbox: Arc<Outbox>,
    identity: Identity,
    started: Tick,
    clients: Clients,
    attributes: SessionAttributes,
    deliveries: Vec<Delivery>,
    /// Connections that stay open until nothing is left.
    stopping: Vec<Replies>,
    tasks: JoinSet<Option<Event>>,
    departures: (mpsc::UnboundedSender<ClientId>, mpsc::UnboundedReceiver<ClientId>),
}

impl Driver {
    /// Prepares to drive; nothing runs yet.
    pub fn new(ports: Ports, outbox: Arc<Outbox>, identity: Identity) -> Self {
        let clock = Arc::clone(&ports.clock);
        let started = clock.now();
        Self {
            steward: Steward::new(started),
            ports,
            clock,
            outbox,
            identity,
            started,
            clients: Clients::default(),
            attributes: SessionAttributes::default(),
            deliveries: Vec::new(),
            stopping: Vec::new(),
            tasks: JoinSet::new(),
            departures: mpsc::unbounded_channel(),
        }
    }

    /// Drives until the machine says that the daemon may end. `stop` resolves when the operating system asks for it.
    /// Returns the connections of those who asked for the end; dropping them tells that nothing is left.
    pub async fn run(mut self, mut requests: mpsc::Receiver<Incoming>, stop: impl Future<Output = ()>) -> Vec<Replies> {
        tokio::pin!(stop);
        let mut asked = false;
        while !self.steward.is_finished(self.clock.now()) {
            let deadline = self.deadline();
            let clock = Arc::clone(&self.clock);
            tokio::select! {
                Some(incoming) = requests.recv() => self.request(incoming).await,
                Some(client) = self.departures.1.recv() => self.client_gone(client).await,
                Some(finished) = self.tasks.join_next() => self.task_finished(finished).await,
                () = sleep_until(clock, deadline), if deadline.is_some() => self.hear(Event::DeadlineReached).await,
                () = &mut stop, if !asked => {
                    asked = true;
                    self.hear(Event::StopRequested { drain: false }).await;
                }
            }
            self.deliver();
        }
        // Who came too late is told so, and starts the next daemon.
        requests.close();
        while let Ok(incoming) = requests.try_recv() {
            send(&incoming.replies, Reply::Draining);
        }
        self.stopping
    }

    fn deadline(&self) -> Option<Tick> {
        self.deliveries.iter().map(|delivery| delivery.due).chain(self.steward.deadline()).min()
    }

    async fn request(&mut self, incoming: Incoming) {
        let Incoming { envelope, replies } = incoming;
        let outdated = envelope.build.built_at > self.identity.build.built_at;
        if (envelope.protocol != PROTOCOL || outdated) && !is_about_daemon(&envelope.request) {
            let build = self.identity.build.clone();
            return send(&replies, Reply::Incompatible { protocol: PROTOCOL, build });
        }
        match envelope.request {
            Request::Daemon => send(&replies, Reply::Daemon(self.daemon_report())),
            Request::Stop { drain } => {
                send(&replies, Reply::Stopping { pid: self.identity.pid });
                self.stopping.push(replies);
                self.hear(Event::StopRequested { drain }).await;
            }
            Request::Status { directory, environment: variables } => {
                let client = self.clients.add_status(replies.clone());
                self.watch_client(client, replies);
                let question = StatusQuestion { client, directory, environment: environment(&variables) };
                self.hear(Event::StatusRequested(question)).await;
            }
            Request::Event { .. } | Request::Job { .. } if self.steward.is_ending() => send(&replies, Reply::Draining),
            Request::Event { session, event, carries } => {
                let facts = session_facts(&session, &self.identity.boot_id);
                let grace = if is_start(&event) { REPLY_GRACE } else { Duration::ZERO };
                self.attributes.note(&facts.id, &session);
                let delivery = Delivery {
                    session: facts.id.clone(),
                    notices: carries.notices,
                    context: carries.context,
                    replies,
                    due: self.clock.now().after(grace),
                };
                self.deliveries.push(delivery);
                let happened = happened(event, |path| self.ports.files.kind_by_name(path).is_some());
                self.hear(Event::Harness { session: facts, happened }).await;
            }
            Request::Job { verb, directory, environment: variables, wait } => {
                let client = self.clients.add_job(wait, self.clock.now(), replies.clone());
                self.watch_client(client, replies);
                let question = StatusQuestion { client, directory, environment: environment(&variables) };
                self.hear(Event::JobRequested { job: job_kind(verb), question }).await;
            }
        }
    }

    fn watch_client(&mut self, client: ClientId, replies: Replies) {
        let departures = self.departures.0.clone();
        self.tasks.spawn(async move {
            replies.closed().await;
            // The receiver lives as long as the driver.
            let _ended = departures.send(client).err();
            None
        });
    }

    async fn client_gone(&mut self, client: ClientId) {
        if self.clients.remove(client) {
            self.hear(Event::ClientLeft(client)).await;
        }
    }

    async fn task_finished(&mut self, finished: Result<Option<Event>, tokio::task::JoinError>) {
        match finished {
            Ok(Some(event)) => self.hear(event).await,
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "a task of the daemon broke off"),
        }
    }

    async fn hear(&mut self, event: Event) {
        let mut events = std::collections::VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            tracing::debug!(?event, "heard");
            for effect in self.steward.on(event, self.clock.now()) {
                match effect {
                    Effect::Task(task) if is_immediate(&task) => events.extend(perform(task, &self.ports).await),
                    Effect::Task(task) => self.spawn(task),
                    Effect::Answer { client, answer } => self.answer(client, answer),
                }
            }
        }
        self.forget_gone_sessions();
    }

    fn spawn(&mut self, task: Task) {
        let ports = self.ports.clone();
        self.tasks.spawn(async move { perform(task, &ports).await });
    }

    fn answer(&mut self, client: ClientId, answer: ClientAnswer) {
        match answer {
            ClientAnswer::StatusReady(root) => {
                let status = self.status(&root);
                self.clients.send(client, Reply::Status(Box::new(status)));
            }
            ClientAnswer::StatusFailed(_) | ClientAnswer::Job { .. } => {
                self.clients.answer(client, answer, self.clock.now());
            }
        }
    }

    fn status(&self, root: &WorkspaceRoot) -> steward_wire::StatusReport {
        let now = Now { tick: self.clock.now(), wall: self.clock.wall() };
        match self.steward.status(root) {
            Some(view) => {
                let sessions: Vec<SessionReport> = self
                    .steward
                    .sessions_of(root)
                    .filter_map(|facts| self.attributes.report(&facts.id, facts.process.pid))
                    .collect();
                report(view, sessions, Some(self.identity.pid), now)
            }
            None => unknown(root.as_path().to_path_buf(), "the workspace is not known", now),
        }
    }

    /// Sends every reply that has waited for all that can be known at once, or for long enough.
    fn deliver(&mut self) {
        let now = self.clock.now();
        let (ready, waiting): (Vec<Delivery>, Vec<Delivery>) = std::mem::take(&mut self.deliveries)
            .into_iter()
            .partition(|delivery| delivery.due <= now || self.steward.has_settled(&delivery.session));
        self.deliveries = waiting;
        for delivery in ready {
            let notices = if delivery.notices { self.outbox.take_notices(&delivery.session) } else { Vec::new() };
            let context = if delivery.context { self.outbox.take_context(&delivery.session) } else { Vec::new() };
            let notices = notices.into_iter().map(crate::translate::notice).collect();
            send(&delivery.replies, Reply::Delivery { notices, context });
        }
    }

    fn forget_gone_sessions(&mut self) {
        let gone: Vec<SessionId> =
            self.attributes.sessions().filter(|session| !self.steward.has_session(session)).cloned().collect();
        for session in gone {
            self.attributes.forget(&session);
            self.outbox.forget(&session);
        }
    }

    fn daemon_report(&self) -> DaemonReport {
        DaemonReport {
            pid: self.identity.pid,
            build: self.identity.build.clone(),
            protocol: PROTOCOL,
            socket: self.identity.socket.clone(),
            uptime_ms: milliseconds(self.clock.now(), self.started),
            sessions: self.steward.session_count(),
            jobs: self.steward.job_count(),
        }
    }
}

fn is_start(event: &HarnessEvent) -> bool {
    match event {
        HarnessEvent::SessionStarted { .. } => true,
        HarnessEvent::PromptSubmitted
        | HarnessEvent::Edited { .. }
        | HarnessEvent::TurnEnded
        | HarnessEvent::SessionEnded { .. } => false,
    }
}

/// What a newer client asks of an older daemon in order to replace it.
fn is_about_daemon(request: &Request) -> bool {
    match request {
        Request::Daemon | Request::Stop { .. } => true,
        Request::Event { .. } | Request::Status { .. } | Request::Job { .. } => false,
    }
}

/// A notice only goes into the outbox; it must be there before the reply that can carry it.
fn is_immediate(task: &Task) -> bool {
    match task {
        Task::Notify { .. } => true,
        Task::Workspace { task, .. } => matches!(task, steward_lifecycle::Task::Notify { .. }),
        Task::Resolve { .. } | Task::WatchHarness { .. } => false,
    }
}

fn send(replies: &Replies, reply: Reply) {
    // A client that is gone needs no reply.
    let _unsent = replies.try_send(reply).err();
}

async fn sleep_until(clock: Arc<dyn Clock>, deadline: Option<Tick>) {
    match deadline {
        Some(deadline) => clock.sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
