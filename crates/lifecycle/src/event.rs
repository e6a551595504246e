//! What the machine hears and what it wants done.
//!
//! It must never hold behaviour beyond constructors: the tables are in `machine`, `job` and `run`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use steward_ports::{
    Comparison, Difference, Exclusions, GraphCounts, GraphQuery, GraphTarget, GroupId, JobKind, LockState, Manifest,
    Notice, Receipt, Scope, SessionId, Stop, SyncEngine, Timestamp, Verb, WorkspaceKind, WorkspaceRoot,
};

use crate::assess::Inspection;
use crate::run::RunEvent;

/// The settings that the lifecycle obeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// `lifecycle.autoCreate`: the user has agreed in advance that a missing graph is created.
    pub auto_create: bool,
    /// `lifecycle.syncOnStart`: a graph that is behind at session start is brought up to date.
    pub sync_on_start: bool,
    /// `cgc.timeoutMs`: how long one question to cgc may take.
    pub command_timeout: Duration,
    /// `cgc.maintenanceTimeoutMs`: how long an index, sync or rebuild may take.
    pub maintenance_timeout: Duration,
}

/// On whose terms the graph is looked at: a session's or a client's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The settings.
    pub policy: Policy,
    /// How cgc is found, and with which environment it runs.
    pub query: GraphQuery,
}

/// Somebody at a terminal who asked for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// What went wrong with a task, causes included, one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem(pub String);

impl Problem {
    /// Renders `error` with its causes.
    pub fn from_error(error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self(text)
    }
}

/// A manifest with what goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The files.
    pub manifest: Arc<Manifest>,
    /// The commit that HEAD named.
    pub head: Option<String>,
}

/// What the machine hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A session of this workspace began.
    Joined {
        /// The session.
        session: SessionId,
        /// Its terms.
        terms: Terms,
    },
    /// A session goes on with another conversation: each condition may be told once more.
    Replaced {
        /// The session.
        session: SessionId,
    },
    /// A session ended.
    Left {
        /// The session.
        session: SessionId,
    },
    /// A tool edited files of this workspace that cgc indexes, or may have.
    EditObserved,
    /// Files may have changed unseen; `session` wants to know.
    LookRequested {
        /// The session.
        session: SessionId,
    },
    /// The tree was found to differ and edits are quiet: a sync is due, charged to `session`.
    SyncRequested {
        /// The session.
        session: SessionId,
    },
    /// Somebody wants to read the status: records and tree are looked at, cgc is not started and nobody is told.
    Consulted {
        /// On which terms, where no session has set any.
        terms: Terms,
    },
    /// A human asked for a job and agreed to its effect.
    JobRequested {
        /// What.
        job: JobKind,
        /// Who waits for the answer.
        client: ClientId,
        /// On which terms.
        terms: Terms,
    },
    /// A client no longer waits.
    ClientLeft {
        /// The client.
        client: ClientId,
    },
    /// The daemon ends: running work is stopped.
    ShutdownRequested,
    /// The database was granted to this workspace.
    DatabaseGranted,
    /// Answer to [`Task::Inspect`].
    Inspected(Box<Inspection>),
    /// Answer to [`Task::Inspect`].
    InspectionFailed(Problem),
    /// Answer to [`Task::Compare`]; `None` where no manifest is stored.
    Compared(Option<Comparison>),
    /// Answer to [`Task::Compare`].
    CompareFailed(Problem),
    /// Answer to [`Task::ProbeLock`].
    LockProbed(LockState),
    /// Answer to [`Task::ProbeLock`].
    LockProbeFailed(Problem),
    /// Answer to [`Task::SetAside`].
    SetAside(PathBuf),
    /// Answer to [`Task::SetAside`].
    SetAsideFailed(Problem),
    /// Answer to [`Task::Scan`].
    Scanned(Scan),
    /// Answer to [`Task::Scan`].
    ScanFailed(Problem),
    /// Answer to [`Task::RecordIntent`].
    IntentRecorded,
    /// Answer to [`Task::RecordIntent`].
    IntentFailed(Problem),
    /// Answer to [`Task::ClearIntent`].
    IntentCleared,
    /// Answer to [`Task::ClearIntent`].
    ClearFailed(Problem),
    /// Answer to [`Task::DropReceipt`].
    ReceiptDropped,
    /// Answer to [`Task::DropReceipt`].
    DropFailed(Problem),
    /// Answer to [`Task::Spawn`] and [`Task::Follow`].
    Run(RunEvent),
    /// Answer to [`Task::Recheck`]: how the tree differs from the manifest that the job took.
    Rechecked(Comparison),
    /// Answer to [`Task::Recheck`].
    RecheckFailed(Problem),
    /// Answer to [`Task::SaveReceipt`].
    ReceiptSaved(Box<Receipt>),
    /// Answer to [`Task::SaveReceipt`].
    ReceiptFailed(Problem),
    /// Answer to [`Task::RecordDatabase`].
    DatabaseRecorded,
    /// Answer to [`Task::RecordDatabase`].
    DatabaseRecordFailed(Problem),
    /// Answer to [`Task::Stop`], [`Task::Notify`]: it could not be done.
    TaskFailed(Problem),
    /// `deadline()` was reached.
    DeadlineReached,
}

/// What a receipt is made of, before the database was looked at a last time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptDraft {
    /// The workspace.
    pub workspace: WorkspaceRoot,
    /// Its repository and worktree.
    pub kind: WorkspaceKind,
    /// The commit that HEAD named when the job began.
    pub head: Option<String>,
    /// The graph that was worked on.
    pub target: GraphTarget,
    /// What the graph holds.
    pub counts: GraphCounts,
    /// What the graph says of when it was indexed.
    pub indexed_at: Option<String>,
    /// The digest of its symbols and relationships.
    pub graph_digest: Option<String>,
    /// How far the graph is known to equal a fresh index.
    pub scope: Scope,
    /// How it was done.
    pub engine: SyncEngine,
    /// When the job took its manifest.
    pub started_at: Timestamp,
    /// When the graph was built as a whole before this job, where this job did not do so.
    pub full_index_at: Option<Timestamp>,
}

/// The database that a piece of work needs for itself: a file where it is embedded, else the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Database {
    /// An embedded database file, which may hold the graphs of many workspaces.
    File(PathBuf),
    /// A server: work on different workspaces goes on side by side.
    Server(WorkspaceRoot),
}

/// One port call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Read what files and records say.
    Inspect(GraphQuery),
    /// Compare the working tree with the receipt's manifest.
    Compare(Exclusions),
    /// Look at the lock of the database file.
    ProbeLock(PathBuf),
    /// Rename a ruined database file.
    SetAside(PathBuf),
    /// Take a manifest with content hashes.
    Scan(Exclusions),
    /// Record that a job is about to start.
    RecordIntent(JobKind),
    /// Record that the graph is as it was before the job.
    ClearIntent,
    /// Forget the last proof: the graph is of no use.
    DropReceipt,
    /// Start cgc.
    Spawn {
        /// To do what.
        verb: Verb,
        /// To which graph.
        target: Box<GraphTarget>,
    },
    /// Wait for what cgc does next.
    Follow {
        /// The group.
        group: GroupId,
        /// What it does.
        verb: Verb,
        /// To which graph.
        target: Box<GraphTarget>,
        /// Whether its ready line was seen.
        ready: bool,
    },
    /// Ask cgc to end.
    Stop {
        /// The group.
        group: GroupId,
        /// How hard.
        stop: Stop,
    },
    /// Compare the working tree with the manifest that the job took.
    Recheck {
        /// What the context keeps out of the graph.
        exclusions: Exclusions,
        /// The manifest.
        manifest: Arc<Manifest>,
    },
    /// Complete and save the receipt.
    SaveReceipt {
        /// The receipt so far.
        draft: Box<ReceiptDraft>,
        /// Its manifest.
        manifest: Arc<Manifest>,
    },
    /// Record how the companion left the database.
    RecordDatabase(PathBuf),
    /// Tell the human of a session.
    Notify {
        /// The session.
        session: SessionId,
        /// What.
        notice: Notice,
    },
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobAnswer {
    /// The job runs; `joined` tells that it ran already.
    Accepted {
        /// Whether it ran already.
        joined: bool,
    },
    /// The job is at this.
    Progressed,
    /// The job ended; the result is in `Lifecycle::last_job`.
    Finished {
        /// Whether it did what was asked.
        succeeded: bool,
        /// What happened.
        summary: String,
        /// What to do, if anything.
        advice: Option<String>,
    },
    /// Nothing was started.
    Refused {
        /// Why.
        reason: String,
        /// What to do, if anything.
        advice: Option<String>,
    },
}

/// What the machine wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// One port call, carried out by [`crate::perform`].
    Task(Task),
    /// The database is needed; answered by [`Event::DatabaseGranted`] once nobody else works on it.
    Acquire(Database),
    /// The database is no longer needed, or no longer waited for.
    Release(Database),
    /// Something for a client.
    Answer {
        /// The client.
        client: ClientId,
        /// What.
        answer: JobAnswer,
    },
}

/// Renders `difference` as `3 files: 1 changed, 1 added, 1 deleted`.
pub(crate) fn describe(difference: &Difference) -> String {
    let parts = [
        (difference.edited.len(), "changed"),
        (difference.added.len(), "added"),
        (difference.deleted.len(), "deleted"),
        (difference.renamed.len(), "renamed"),
    ];
    let details: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let noun = if difference.len() == 1 { "file" } else { "files" };
    format!("{} {noun}: {}", difference.len(), details.join(", "))
}
