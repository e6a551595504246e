//! What the application hears and what it wants done.
//!
//! It must never hold behaviour; `steward` does.

use std::path::PathBuf;

use steward_config::Resolved;
use steward_freshness::Certainty;
use steward_lifecycle::{Activity, ClientId, JobAnswer, Problem};
use steward_ports::{Environment, JobKind, Notice, ProcessIdentity, SessionId, Workspace, WorkspaceRoot};

/// A session as its harness describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFacts {
    /// The session.
    pub id: SessionId,
    /// The process whose life is the session's life.
    pub process: ProcessIdentity,
    /// Where it works.
    pub directory: PathBuf,
    /// Its environment.
    pub environment: Environment,
}

/// What happened in a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// A session began, or began anew within its process.
    SessionStarted,
    /// The human sent a prompt.
    PromptSubmitted,
    /// Files were edited, or may have been.
    Edited {
        /// How sure that is.
        certainty: Certainty,
        /// Absolute paths of files that cgc indexes; no path means that they are unknown.
        paths: Vec<PathBuf>,
    },
    /// Something that concerns no graph; the session is there.
    Unconcerned,
    /// The agent's turn ended.
    TurnEnded,
    /// The conversation ended; the process goes on with another one if `continues`.
    SessionEnded {
        /// Whether the harness process stays.
        continues: bool,
    },
}

/// A place that is being resolved, for whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// What a directory was resolved to.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolution {
    /// The workspace.
    pub workspace: Workspace,
    /// Its settings.
    pub settings: Resolved,
}

/// Whose place it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A session's.
    Session(SessionId),
    /// A client's who wants a job.
    Job {
        /// The client.
        client: ClientId,
        /// What it wants.
        job: JobKind,
        /// Its environment.
        environment: Environment,
    },
    /// A client's who wants the status.
    Status {
        /// The client.
        client: ClientId,
        /// Its environment.
        environment: Environment,
    },
}

/// What a client wants to know or have done about a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusQuestion {
    /// Who asks.
    pub client: ClientId,
    /// About which directory.
    pub directory: PathBuf,
    /// With which environment.
    pub environment: Environment,
}

/// What the application hears.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A harness reported something.
    Harness {
        /// The session.
        session: SessionFacts,
        /// What.
        happened: Happened,
    },
    /// A harness process is gone, however it ended.
    HarnessGone(SessionId),
    /// A human at a terminal asked for a job and agreed to its effect.
    JobRequested {
        /// What.
        job: JobKind,
        /// Who asks, about which directory.
        question: StatusQuestion,
    },
    /// Somebody wants the status.
    StatusRequested(StatusQuestion),
    /// A client no longer waits.
    ClientLeft(ClientId),
    /// The daemon is to end: after running jobs if `drain`, else by stopping them.
    StopRequested {
        /// Whether running jobs end by themselves first.
        drain: bool,
    },
    /// Answer to [`Task::Resolve`].
    Resolved {
        /// Which.
        request: RequestId,
        /// What came out.
        outcome: Box<Result<Resolution, Problem>>,
    },
    /// Answer to a workspace's task.
    Workspace {
        /// The workspace.
        root: WorkspaceRoot,
        /// The answer.
        event: steward_lifecycle::Event,
    },
    /// A session's process could not be watched, or a notice could not be handed over.
    TaskFailed(Problem),
    /// `deadline()` was reached.
    DeadlineReached,
}

/// One port call.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// Resolve a directory to its workspace and load the settings.
    Resolve {
        /// For whom.
        request: RequestId,
        /// The directory.
        directory: PathBuf,
        /// The environment.
        environment: Environment,
    },
    /// Wait for the end of a harness process.
    WatchHarness {
        /// The session.
        session: SessionId,
        /// The process.
        process: ProcessIdentity,
    },
    /// Tell the human of a session.
    Notify {
        /// The session.
        session: SessionId,
        /// What.
        notice: Notice,
    },
    /// A workspace's task.
    Workspace {
        /// The workspace.
        root: WorkspaceRoot,
        /// The task.
        task: steward_lifecycle::Task,
    },
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientAnswer {
    /// About a job.
    Job {
        /// What.
        answer: JobAnswer,
        /// How far the job is.
        activity: Option<Activity>,
    },
    /// The status of this workspace can be read.
    StatusReady(WorkspaceRoot),
    /// There is no status to read.
    StatusFailed(Problem),
}

/// What the application wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// One port call, carried out by [`crate::perform`].
    Task(Task),
    /// Something for a client.
    Answer {
        /// The client.
        client: ClientId,
        /// What.
        answer: ClientAnswer,
    },
}
