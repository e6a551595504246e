//! The settings as types, with their defaults.
//!
//! It must never hold a value that the table of keys would refuse; the resolver checks each value before it gets here.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Every setting, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// How cgc is called.
    pub cgc: CgcSettings,
    /// What happens when a session starts.
    pub lifecycle: LifecycleSettings,
    /// How the graph is kept up to date.
    pub freshness: FreshnessSettings,
    /// How a sync is carried out.
    pub sync: SyncSettings,
    /// What linked worktrees get.
    pub worktree: WorktreeSettings,
    /// What is said to the agent unasked.
    pub proactive: ProactiveSettings,
    /// What guides the agent to the graph.
    pub guidance: GuidanceSettings,
    /// The daemon itself.
    pub daemon: DaemonSettings,
    /// What output of cgc looks like when it is handed on.
    pub output: OutputSettings,
    /// Additional tools for the agent.
    pub tools: ToolsSettings,
}

/// How cgc is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgcSettings {
    /// The program: a name that is looked up on the session's PATH, or a path.
    pub executable: PathBuf,
    /// How long a question to cgc may take.
    #[serde(rename = "timeoutMs", with = "milliseconds")]
    pub timeout: Duration,
    /// How long an index, sync or rebuild may take.
    #[serde(rename = "maintenanceTimeoutMs", with = "milliseconds")]
    pub maintenance_timeout: Duration,
}

impl Default for CgcSettings {
    fn default() -> Self {
        Self {
            executable: PathBuf::from("cgc"),
            timeout: Duration::from_secs(30),
            maintenance_timeout: Duration::from_mins(10),
        }
    }
}

/// What happens when a session starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleSettings {
    /// Whether the graph of a repository that has none is created without asking.
    pub auto_create: bool,
    /// Whether a graph that is behind at session start is brought up to date.
    pub sync_on_start: bool,
}

impl Default for LifecycleSettings {
    fn default() -> Self {
        Self { auto_create: false, sync_on_start: true }
    }
}

/// How the graph is kept up to date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FreshnessSettings {
    /// Whether edits are followed by a sync without asking.
    pub auto_sync: bool,
    /// How many syncs a session may spend; 0 means none.
    pub max_syncs_per_session: u32,
    /// How long edits must have been quiet before a sync begins.
    #[serde(rename = "quietMs", with = "milliseconds")]
    pub quiet: Duration,
    /// Whether cgc's watcher is run.
    pub watch: WatchMode,
    /// How long a watcher must have lived before it counts as running.
    #[serde(rename = "watcherLivenessMs", with = "milliseconds")]
    pub watcher_liveness: Duration,
    /// Whether a read waits for a pending sync.
    pub read_barrier: ReadBarrier,
    /// How long a read waits at most.
    #[serde(rename = "readBarrierMs", with = "milliseconds")]
    pub read_barrier_limit: Duration,
}

impl Default for FreshnessSettings {
    fn default() -> Self {
        Self {
            auto_sync: true,
            max_syncs_per_session: 20,
            quiet: Duration::from_secs(2),
            watch: WatchMode::Off,
            watcher_liveness: Duration::from_secs(15),
            read_barrier: ReadBarrier::Auto,
            read_barrier_limit: Duration::from_secs(5),
        }
    }
}

/// Whether cgc's watcher is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchMode {
    /// Never.
    #[default]
    Off,
    /// Always.
    On,
    /// Where the database is a server's and the workspace is indexed.
    Auto,
}

/// Whether a read waits for a pending sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadBarrier {
    /// Never.
    Off,
    /// Always.
    On,
    /// Where reads come through the graph host, which can hold them back.
    #[default]
    Auto,
}

/// How a sync is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SyncSettings {
    /// Which engine is used.
    pub engine: EngineChoice,
}

/// Which sync engine is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineChoice {
    /// The quickest one that can be proved, then the next.
    #[default]
    Auto,
    /// Only the one that updates the changed files.
    ChangedFiles,
    /// Only cgc's own reconciliation of the whole tree.
    Reconcile,
}

/// What linked worktrees get.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorktreeSettings {
    /// Whether each has a graph of its own.
    pub mode: WorktreeMode,
}

/// Whether each linked worktree has a graph of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorktreeMode {
    /// No: cgc's own choice stands.
    #[default]
    Off,
    /// Yes, in a named context that is created after consent.
    Isolate,
}

/// What is said to the agent unasked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProactiveSettings {
    /// Whether a session's agent gets one note on what the graph covers.
    pub session_note: bool,
    /// Whether the agent is told that the graph has fallen behind.
    pub drift_steers: bool,
    /// Whether results of cgc's tools are annotated with their freshness.
    pub result_annotations: bool,
}

impl Default for ProactiveSettings {
    fn default() -> Self {
        Self { session_note: true, drift_steers: false, result_annotations: false }
    }
}

/// What guides the agent to the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GuidanceSettings {
    /// Whether the routing skill is offered where the harness knows skills.
    pub routing_skill: bool,
}

impl Default for GuidanceSettings {
    fn default() -> Self {
        Self { routing_skill: true }
    }
}

/// The daemon itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonSettings {
    /// How long the daemon stays after its last session and job.
    #[serde(rename = "idleExitMs", with = "milliseconds")]
    pub idle_exit: Duration,
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self { idle_exit: Duration::from_secs(30) }
    }
}

/// What output of cgc looks like when it is handed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputSettings {
    /// How many bytes of it are handed on.
    pub max_bytes: u32,
    /// Whether the rest is kept in a temporary file.
    pub spill_to_temp: bool,
    /// Whether what looks like a secret is blotted out.
    pub redact_secrets: bool,
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self { max_bytes: 16_384, spill_to_temp: true, redact_secrets: true }
    }
}

/// Additional tools for the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolsSettings {
    /// What cgc's command line can do and its MCP server cannot.
    #[serde(rename = "cliGap")]
    pub cli_gap: CliGapSettings,
}

/// What cgc's command line can do and its MCP server cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CliGapSettings {
    /// Whether it is offered as tools.
    pub enabled: bool,
}

impl Default for CliGapSettings {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// Durations as whole milliseconds, as files and variables write them.
mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
