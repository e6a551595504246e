//! The table of keys: name, default, variable, kind, and whether a project file needs the user's trust to set it.
//!
//! It must never be the only place that knows a default: a test holds it against [`crate::Settings`].

/// The longest duration that a key takes, in milliseconds: 24 days, so that no sum of a few can overflow.
pub const MAXIMUM_MILLISECONDS: u64 = 2_147_483_647;

/// What values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A program's name or path: any text that is not blank.
    Program,
    /// Yes or no: a native boolean, or `true`, `yes`, `on`, `1`, `false`, `no`, `off`, `0` in any case.
    Flag,
    /// `off`, `on` or `auto`; what a flag takes means `on` and `off`.
    Mode,
    /// One of these words, in any case.
    Choice(&'static [&'static str]),
    /// A whole number within these bounds.
    Number {
        /// The smallest.
        minimum: u64,
        /// The largest.
        maximum: u64,
    },
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The dotted name, as files write it.
    pub name: &'static str,
    /// The default, as a file would write it (without quotes).
    pub default: &'static str,
    /// The environment variable that sets it.
    pub variable: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Whether it counts in a project file only after the user has trusted that content: it starts something, grants
    /// consent or weakens a protection.
    pub needs_trust: bool,
    /// What it does, in one line for a person.
    pub help: &'static str,
}

const POSITIVE_MILLISECONDS: Kind = Kind::Number { minimum: 1, maximum: MAXIMUM_MILLISECONDS };
const MILLISECONDS: Kind = Kind::Number { minimum: 0, maximum: MAXIMUM_MILLISECONDS };

/// Every key, grouped by section.
pub const KEYS: &[Key] = &[
    Key {
        name: "cgc.executable",
        default: "cgc",
        variable: "CGC_EXECUTABLE",
        kind: Kind::Program,
        needs_trust: true,
        help: "The cgc to use: a name on the PATH, or a path",
    },
    Key {
        name: "cgc.timeoutMs",
        default: "30000",
        variable: "CGC_TIMEOUT_MS",
        kind: POSITIVE_MILLISECONDS,
        needs_trust: false,
        help: "How long a question to cgc may take, in milliseconds",
    },
    Key {
        name: "cgc.maintenanceTimeoutMs",
        default: "600000",
        variable: "CGC_MAINTENANCE_TIMEOUT_MS",
        kind: POSITIVE_MILLISECONDS,
        needs_trust: false,
        help: "How long an index, sync or rebuild may take, in milliseconds",
    },
    Key {
        name: "lifecycle.autoCreate",
        default: "false",
        variable: "CGC_LIFECYCLE_AUTO_CREATE",
        kind: Kind::Flag,
        needs_trust: true,
        help: "Create the graph of a repository that has none without asking",
    },
    Key {
        name: "lifecycle.syncOnStart",
        default: "true",
        variable: "CGC_LIFECYCLE_SYNC_ON_START",
        kind: Kind::Flag,
        needs_trust: false,
        help: "Bring a graph that is behind up to date when a session starts",
    },
    Key {
        name: "freshness.autoSync",
        default: "true",
        variable: "CGC_FRESHNESS_AUTO_SYNC",
        kind: Kind::Flag,
        needs_trust: false,
        help: "Bring the graph up to date after edits",
    },
    Key {
        name: "freshness.maxSyncsPerSession",
        default: "20",
        variable: "CGC_FRESHNESS_MAX_SYNCS_PER_SESSION",
        kind: Kind::Number { minimum: 0, maximum: 1_000_000 },
        needs_trust: false,
        help: "How many syncs a session may spend; 0 means none",
    },
    Key {
        name: "freshness.quietMs",
        default: "2000",
        variable: "CGC_FRESHNESS_QUIET_MS",
        kind: MILLISECONDS,
        needs_trust: false,
        help: "How long edits must have been quiet before a sync begins, in milliseconds",
    },
    Key {
        name: "sync.engine",
        default: "auto",
        variable: "CGC_SYNC_ENGINE",
        kind: Kind::Choice(&["auto", "changed-files", "reconcile"]),
        needs_trust: false,
        help: "How a sync is carried out",
    },
    Key {
        name: "freshness.watch",
        default: "off",
        variable: "CGC_FRESHNESS_WATCH",
        kind: Kind::Mode,
        needs_trust: true,
        help: "Run cgc's own watcher; auto runs it where the database is a server's",
    },
    Key {
        name: "freshness.watcherLivenessMs",
        default: "15000",
        variable: "CGC_FRESHNESS_WATCHER_LIVENESS_MS",
        kind: POSITIVE_MILLISECONDS,
        needs_trust: false,
        help: "How long a watcher must have lived before it counts as running, in milliseconds",
    },
    Key {
        name: "freshness.readBarrier",
        default: "auto",
        variable: "CGC_FRESHNESS_READ_BARRIER",
        kind: Kind::Mode,
        needs_trust: false,
        help: "Let a read wait for a pending sync; auto does so through the graph host",
    },
    Key {
        name: "freshness.readBarrierMs",
        default: "5000",
        variable: "CGC_FRESHNESS_READ_BARRIER_MS",
        kind: POSITIVE_MILLISECONDS,
        needs_trust: false,
        help: "How long a read waits at most, in milliseconds",
    },
    Key {
        name: "worktree.mode",
        default: "off",
        variable: "CGC_WORKTREE_MODE",
        kind: Kind::Choice(&["off", "isolate"]),
        needs_trust: true,
        help: "Give each linked worktree a graph of its own",
    },
    Key {
        name: "proactive.sessionNote",
        default: "true",
        variable: "CGC_PROACTIVE_SESSION_NOTE",
        kind: Kind::Flag,
        needs_trust: false,
        help: "Give the agent one note per session on what the graph covers",
    },
    Key {
        name: "proactive.driftSteers",
        default: "false",
        variable: "CGC_PROACTIVE_DRIFT_STEERS",
        kind: Kind::Flag,
        needs_trust: false,
        help: "Tell the agent when the graph has fallen behind",
    },
    Key {
        name: "proactive.resultAnnotations",
        default: "false",
        variable: "CGC_PROACTIVE_RESULT_ANNOTATIONS",
        kind: Kind::Flag,
        needs_trust: false,
        help: "Annotate the results of cgc's tools with their freshness",
    },
    Key {
        name: "guidance.routingSkill",
        default: "true",
        variable: "CGC_GUIDANCE_ROUTING_SKILL",
        kind: Kind::Flag,
        needs_trust: false,
        help: "Offer the routing skill where the harness knows skills",
    },
    Key {
        name: "daemon.idleExitMs",
        default: "30000",
        variable: "CGC_DAEMON_IDLE_EXIT_MS",
        kind: MILLISECONDS,
        needs_trust: false,
        help: "How long the daemon stays after its last session and job, in milliseconds",
    },
    Key {
        name: "output.maxBytes",
        default: "16384",
        variable: "CGC_OUTPUT_MAX_BYTES",
        kind: Kind::Number { minimum: 1, maximum: 67_108_864 },
        needs_trust: false,
        help: "How many bytes of cgc's output are handed on",
    },
    Key {
        name: "output.spillToTemp",
        default: "true",
        variable: "CGC_OUTPUT_SPILL_TO_TEMP",
        kind: Kind::Flag,
        needs_trust: false,
        help: "Keep the rest of cgc's output in a temporary file",
    },
    Key {
        name: "output.redactSecrets",
        default: "true",
        variable: "CGC_OUTPUT_REDACT_SECRETS",
        kind: Kind::Flag,
        needs_trust: true,
        help: "Blot out what looks like a secret in cgc's output",
    },
    Key {
        name: "tools.cliGap.enabled",
        default: "true",
        variable: "CGC_TOOLS_CLI_GAP_ENABLED",
        kind: Kind::Flag,
        needs_trust: true,
        help: "Offer what cgc's command line can do and its MCP server cannot",
    },
];

impl Key {
    /// Returns the key called `name`, in exactly this spelling.
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }
}
