//! The status report: one structure for `steward status --json`, status lines and commands.
//!
//! It must never hold a rendered sentence where a value will do: renderers are elsewhere.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::message::HarnessName;

/// The state of a workspace's graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexState {
    /// Nothing is known yet.
    Unknown,
    /// There is no usable cgc.
    Unavailable,
    /// The workspace has no graph.
    Unindexed,
    /// The graph is half built, or holds nothing although there are files.
    Incomplete,
    /// Another process holds the database and nothing else is known.
    Busy,
    /// The database cannot be opened or contradicts itself.
    Corrupt,
    /// There is a graph and the working tree differs from it, or it is not known to match.
    Drift,
    /// The graph is known to equal a fresh index.
    Clean,
}

/// Work that is going on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// `probing`, `indexing`, `syncing` or `rebuilding`.
    pub name: String,
    /// What it is doing, in plain words.
    pub phase: String,
    /// When it began, RFC 3339 in UTC.
    pub since: String,
    /// Files done, where known.
    pub done: Option<u64>,
    /// Files in all, where known.
    pub total: Option<u64>,
    /// Milliseconds since cgc last said something.
    pub silent_ms: Option<u64>,
}

/// One piece of evidence for the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceItem {
    /// Where it was read: a file, a record, a command.
    pub source: String,
    /// What it says.
    pub finding: String,
}

/// Whether the graph is known to match the working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreshnessStatus {
    /// It matches.
    Fresh,
    /// Files changed, or may have.
    PossiblyStale,
    /// It is being brought up to date.
    Syncing,
    /// It is behind and another process holds the database.
    SkippedBusy,
    /// Nothing is known.
    Unknown,
}

/// Freshness with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreshnessReport {
    /// Whether.
    pub status: FreshnessStatus,
    /// Since when, RFC 3339 in UTC.
    pub since: Option<String>,
    /// Why, in plain words.
    pub reason: String,
    /// `exact` or `symbols`, where something is fresh.
    pub scope: Option<String>,
}

/// Which database engine is in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendReport {
    /// The engine in use, in cgc's spelling.
    pub name: String,
    /// What says so.
    pub source: String,
    /// The database file, where the engine is embedded.
    pub database: Option<PathBuf>,
    /// The engine that was asked for, where it is another one.
    pub requested: Option<String>,
}

/// The receipt in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptReport {
    /// When the job was proved, RFC 3339 in UTC.
    pub at: String,
    /// The commit at that time.
    pub commit: Option<String>,
    /// How many files the graph holds.
    pub files: u64,
    /// The version of cgc.
    pub cgc_version: String,
    /// `exact` or `symbols`.
    pub scope: String,
    /// How it was done.
    pub engine: String,
    /// When the graph was last built as a whole, RFC 3339 in UTC.
    pub full_index_at: Option<String>,
}

/// The last job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastAction {
    /// `index`, `sync` or `rebuild`.
    pub name: String,
    /// How it ended, in plain words.
    pub outcome: String,
    /// Whether it succeeded.
    pub succeeded: bool,
    /// When it ended, RFC 3339 in UTC.
    pub at: String,
}

/// The last thing that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureReport {
    /// What, in plain words.
    pub message: String,
    /// When, RFC 3339 in UTC.
    pub at: String,
}

/// A live session of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionReport {
    /// The harness.
    pub harness: HarnessName,
    /// The harness process.
    pub pid: u32,
    /// The harness's own session id.
    pub id: Option<String>,
}

/// All that is known of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// The workspace root.
    pub workspace: PathBuf,
    /// The state of its graph.
    pub state: IndexState,
    /// Running work, `null` where there is none.
    pub activity: Option<Activity>,
    /// What the state rests on.
    pub evidence: Vec<EvidenceItem>,
    /// Whether the graph is known to match the working tree.
    pub freshness: FreshnessReport,
    /// The database engine.
    pub backend: BackendReport,
    /// The named context, if any.
    pub context: Option<String>,
    /// The last proved job.
    pub receipt: Option<ReceiptReport>,
    /// The last job.
    pub last_action: Option<LastAction>,
    /// The last failure.
    pub last_error: Option<FailureReport>,
    /// Live sessions; empty where no daemon runs.
    pub sessions: Vec<SessionReport>,
    /// What in the configuration was ignored, and why.
    pub warnings: Vec<String>,
    /// The daemon's process id, `null` where none runs.
    pub daemon: Option<u32>,
}
