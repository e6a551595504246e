//! The file formats of records and databases: the port's values as JSON.
//!
//! Responsible for the format alone, so that the port's types stay free of it. A change that an older reader would
//! misunderstand raises the version; a reader refuses versions other than its own. It must never read or write a file.

use serde::{Deserialize, Serialize};
use steward_ports::{
    Backend, DatabaseIdentity, GraphCounts, Intent, JobKind, ManifestDigest, ProcessIdentity, Receipt, Scope,
    SyncEngine, Timestamp, WorkspaceKind, WorkspaceRoot,
};

use crate::path_text::PathText;

/// The version of the formats in this module.
pub(crate) const VERSION: u32 = 1;

/// What is remembered of a workspace, in one file, so that all of it is replaced together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordFile {
    pub(crate) version: u32,
    /// The workspace, which the name of the file tells only as a hash.
    pub(crate) workspace: PathText,
    pub(crate) receipt: Option<ReceiptEntry>,
    pub(crate) intent: Option<IntentEntry>,
    pub(crate) last_backend: Option<BackendName>,
}

/// A receipt and the file of its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReceiptEntry {
    /// BLAKE3 of the manifest file, in hexadecimal digits; the file is called after it.
    pub(crate) manifest_file: String,
    workspace: PathText,
    kind: KindEntry,
    head: Option<String>,
    manifest: String,
    files: u64,
    cgc_version: String,
    backend: BackendName,
    context: Option<String>,
    database: Option<DatabaseEntry>,
    counts: CountsEntry,
    indexed_at: Option<String>,
    graph_digest: Option<String>,
    scope: ScopeName,
    engine: EngineName,
    started_at: Instant,
    finished_at: Instant,
    full_index_at: Option<Instant>,
}

/// A job that was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IntentEntry {
    job: JobName,
    started_at: Instant,
    owner: OwnerEntry,
}

/// The file of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DatabaseFile {
    pub(crate) version: u32,
    pub(crate) database: DatabaseEntry,
}

/// A database as it was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DatabaseEntry {
    path: PathText,
    device: u64,
    inode: u64,
    size: u64,
    modified: Instant,
    log_size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerEntry {
    pid: u32,
    start_time: u64,
    boot_id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct CountsEntry {
    files: u64,
    functions: u64,
    classes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum KindEntry {
    Repository { common_directory: PathText, worktree: Option<String> },
    Plain,
    Forbidden,
}

/// Nanoseconds since the Unix epoch, as text: JSON readers take numbers of this size for floating point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Instant(Timestamp);

/// Declares the names of one of the port's enums, and the way in both directions.
macro_rules! names {
    ($(#[$documentation:meta])* $visibility:vis $name:ident for $port:ident { $($variant:ident),+ $(,)? }) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        $visibility enum $name { $($variant),+ }

        impl From<&$port> for $name {
            fn from(value: &$port) -> Self {
                match value { $($port::$variant => Self::$variant),+ }
            }
        }

        impl From<$name> for $port {
            fn from(name: $name) -> Self {
                match name { $($name::$variant => Self::$variant),+ }
            }
        }
    };
}

names! {
    /// A backend.
    pub(crate) BackendName for Backend { Kuzu, Ladybug, FalkorLite, FalkorRemote, Neo4j, Unknown }
}
names! { JobName for JobKind { Index, Sync, Rebuild } }
names! { ScopeName for Scope { Exact, Symbols } }
names! { EngineName for SyncEngine { ChangedFiles, Reconcile, Full } }

impl ReceiptEntry {
    /// Takes in a receipt whose manifest is in the file with this hash.
    pub(crate) fn new(receipt: &Receipt, manifest_file: String) -> Self {
        Self {
            manifest_file,
            workspace: PathText(receipt.workspace.as_path().to_owned()),
            kind: (&receipt.kind).into(),
            head: receipt.head.clone(),
            manifest: receipt.manifest.0.clone(),
            files: receipt.files,
            cgc_version: receipt.cgc_version.clone(),
            backend: (&receipt.backend).into(),
            context: receipt.context.clone(),
            database: receipt.database.as_ref().map(DatabaseEntry::from),
            counts: CountsEntry {
                files: receipt.counts.files,
                functions: receipt.counts.functions,
                classes: receipt.counts.classes,
            },
            indexed_at: receipt.indexed_at.clone(),
            graph_digest: receipt.graph_digest.clone(),
            scope: (&receipt.scope).into(),
            engine: (&receipt.engine).into(),
            started_at: Instant(receipt.started_at),
            finished_at: Instant(receipt.finished_at),
            full_index_at: receipt.full_index_at.map(Instant),
        }
    }
}

impl From<ReceiptEntry> for Receipt {
    fn from(entry: ReceiptEntry) -> Self {
        Self {
            workspace: WorkspaceRoot::from_canonical(entry.workspace.0),
            kind: entry.kind.into(),
            head: entry.head,
            manifest: ManifestDigest(entry.manifest),
            files: entry.files,
            cgc_version: entry.cgc_version,
            backend: entry.backend.into(),
            context: entry.context,
            database: entry.database.map(DatabaseIdentity::from),
            counts: GraphCounts {
                files: entry.counts.files,
                functions: entry.counts.functions,
                classes: entry.counts.classes,
            },
            indexed_at: entry.indexed_at,
            graph_digest: entry.graph_digest,
            scope: entry.scope.into(),
            engine: entry.engine.into(),
            started_at: entry.started_at.0,
            finished_at: entry.finished_at.0,
            full_index_at: entry.full_index_at.map(|instant| instant.0),
        }
    }
}

impl From<&Intent> for IntentEntry {
    fn from(intent: &Intent) -> Self {
        Self {
            job: (&intent.job).into(),
            started_at: Instant(intent.started_at),
            owner: OwnerEntry {
                pid: intent.owner.pid,
                start_time: intent.owner.start_time,
                boot_id: intent.owner.boot_id.clone(),
            },
        }
    }
}

impl From<IntentEntry> for Intent {
    fn from(entry: IntentEntry) -> Self {
        Self {
            job: entry.job.into(),
            started_at: entry.started_at.0,
            owner: ProcessIdentity {
                pid: entry.owner.pid,
                start_time: entry.owner.start_time,
                boot_id: entry.owner.boot_id,
            },
        }
    }
}

impl From<&DatabaseIdentity> for DatabaseEntry {
    fn from(database: &DatabaseIdentity) -> Self {
        Self {
            path: PathText(database.path.clone()),
            device: database.device,
            inode: database.inode,
            size: database.size,
            modified: Instant(database.modified),
            log_size: database.log_size,
        }
    }
}

impl From<DatabaseEntry> for DatabaseIdentity {
    fn from(entry: DatabaseEntry) -> Self {
        Self {
            path: entry.path.0,
            device: entry.device,
            inode: entry.inode,
            size: entry.size,
            modified: entry.modified.0,
            log_size: entry.log_size,
        }
    }
}

impl From<&WorkspaceKind> for KindEntry {
    fn from(kind: &WorkspaceKind) -> Self {
        match kind {
            WorkspaceKind::Repository { common_directory, worktree } => {
                Self::Repository { common_directory: PathText(common_directory.clone()), worktree: worktree.clone() }
            }
            WorkspaceKind::Plain => Self::Plain,
            WorkspaceKind::Forbidden => Self::Forbidden,
        }
    }
}

impl From<KindEntry> for WorkspaceKind {
    fn from(entry: KindEntry) -> Self {
        match entry {
            KindEntry::Repository { common_directory, worktree } => {
                Self::Repository { common_directory: common_directory.0, worktree }
            }
            KindEntry::Plain => Self::Plain,
            KindEntry::Forbidden => Self::Forbidden,
        }
    }
}

impl From<Instant> for String {
    fn from(instant: Instant) -> Self {
        instant.0.as_nanos().to_string()
    }
}

impl TryFrom<String> for Instant {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(|nanoseconds| Self(Timestamp::from_nanos(nanoseconds)))
    }
}
