//! What the companion remembers across its own deaths: receipts of proved jobs and intents of running ones.
//!
//! It must never hold what can be read from the workspace or the database itself.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use thiserror::Error;

use crate::filesystem::{WorkspaceKind, WorkspaceRoot};
use crate::graph::{Backend, DatabaseIdentity, GraphCounts};
use crate::manifest::{Manifest, ManifestDigest};
use crate::process::ProcessIdentity;
use crate::time::Timestamp;

/// What a job does to the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobKind {
    /// Creates the graph of an unindexed or half-indexed workspace.
    Index,
    /// Brings an existing graph up to date without deleting it.
    Sync,
    /// Deletes the workspace's graph and builds it anew, after a yes.
    Rebuild,
}

/// The way in which a sync was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncEngine {
    /// The program that updates the changed files and writes only the difference.
    ChangedFiles,
    /// `cgc watch --sync-on-start`, stopped at its ready line.
    Reconcile,
    /// A whole index or rebuild.
    Full,
}

/// How far a graph is known to equal a fresh index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Symbols and relationships.
    Exact,
    /// Symbols only; cgc's own watcher drops call edges (cgc 0.6.13).
    Symbols,
}

/// The record of a job that was seen to leave the graph equal to a fresh index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The workspace.
    pub workspace: WorkspaceRoot,
    /// Its repository and worktree.
    pub kind: WorkspaceKind,
    /// The commit that HEAD named when the job began.
    pub head: Option<String>,
    /// The digest of the working tree as it was indexed.
    pub manifest: ManifestDigest,
    /// How many files the graph holds of this workspace.
    pub files: u64,
    /// The version of cgc that did it.
    pub cgc_version: String,
    /// The backend in use.
    pub backend: Backend,
    /// The named context, if any.
    pub context: Option<String>,
    /// The database when the job ended; `None` for a server.
    pub database: Option<DatabaseIdentity>,
    /// What the graph held when it was asked afterwards.
    pub counts: GraphCounts,
    /// What the graph says of when this repository was indexed, as cgc wrote it.
    pub indexed_at: Option<String>,
    /// The digest of the graph's symbols and relationships; `None` where the backend cannot compute one.
    pub graph_digest: Option<String>,
    /// How far the graph is known to equal a fresh index.
    pub scope: Scope,
    /// How the job was done.
    pub engine: SyncEngine,
    /// When the job began.
    pub started_at: Timestamp,
    /// When the job was proved.
    pub finished_at: Timestamp,
    /// When the graph was last built as a whole.
    pub full_index_at: Option<Timestamp>,
}

/// The record of a job that may leave a half-built graph, written before the job starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// What the job does.
    pub job: JobKind,
    /// When it was recorded.
    pub started_at: Timestamp,
    /// The daemon that runs it. An intent whose daemon is gone means that the graph is incomplete.
    pub owner: ProcessIdentity,
}

/// All that is remembered of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// The last proved job.
    pub receipt: Option<Receipt>,
    /// A job that was begun and whose outcome was never recorded.
    pub intent: Option<Intent>,
    /// The database as the companion last left it, whichever workspace's job that was; databases are shared.
    pub database: Option<DatabaseIdentity>,
    /// The backend of the last receipt or job, kept when the receipt is gone.
    pub last_backend: Option<Backend>,
}

/// Why the store could not be read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The system refused (read-only or full disk, missing permission, a planted link).
    #[error("the state file {} cannot be used", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The content makes no sense; it counts as absent and is replaced by the next write.
    #[error("the state file {} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Keeps records in files of the user's own, mode 0600, each replaced as a whole: after a crash a reader finds either
/// the old content or the new one.
#[async_trait]
pub trait Store: Send + Sync {
    /// Returns what is remembered of `workspace` with a database at `database`. A damaged file counts as absent.
    async fn load<'a>(&self, workspace: &WorkspaceRoot, database: Option<&'a Path>) -> Result<Record, StoreError>;

    /// Returns the manifest that belongs to the workspace's receipt.
    async fn load_manifest(&self, workspace: &WorkspaceRoot) -> Result<Option<Manifest>, StoreError>;

    /// Records that a job is about to start. On an error the job must not start.
    async fn record_intent(&self, workspace: &WorkspaceRoot, intent: &Intent) -> Result<(), StoreError>;

    /// Removes the intent: the job's outcome is known and left the graph as it was or whole.
    async fn clear_intent(&self, workspace: &WorkspaceRoot) -> Result<(), StoreError>;

    /// Saves receipt and manifest together and clears the intent. After a crash either all of it holds or none.
    async fn save_receipt(&self, receipt: &Receipt, manifest: &Manifest) -> Result<(), StoreError>;

    /// Removes the receipt: the graph is about to be replaced or is known to be of no use.
    async fn drop_receipt(&self, workspace: &WorkspaceRoot) -> Result<(), StoreError>;

    /// Records how the companion left a database.
    async fn save_database(&self, database: &DatabaseIdentity) -> Result<(), StoreError>;
}
