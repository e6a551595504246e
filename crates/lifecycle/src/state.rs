//! The states of a graph, what they rest on, and the work that is going on.
//!
//! It must never decide a transition; `assess` and `machine` do.

use steward_ports::{JobKind, Tick};

/// The state of a workspace's graph. Uncertainty has a state of its own, so that it never leads to destructive work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum State {
    /// Nothing is known yet, or what is known contradicts itself without being dangerous.
    #[default]
    Unknown,
    /// There is no usable cgc.
    Unavailable,
    /// The workspace has no graph.
    Unindexed,
    /// The graph is half built, or holds less than the working tree for a reason other than edits.
    Incomplete,
    /// Another process holds the database and nothing else is known.
    Busy,
    /// The database cannot be opened or contradicts itself.
    Corrupt,
    /// There is a graph, and it is not known to match the working tree.
    Drift,
    /// The graph is known to equal a fresh index of the working tree.
    Clean,
}

impl State {
    /// Whether the graph can be asked with profit.
    pub const fn is_ready(self) -> bool {
        match self {
            Self::Drift | Self::Clean => true,
            Self::Unknown | Self::Unavailable | Self::Unindexed | Self::Incomplete | Self::Busy | Self::Corrupt => {
                false
            }
        }
    }
}

/// One thing that was found, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The file, record or command.
    pub source: String,
    /// What it says.
    pub finding: String,
}

impl Evidence {
    /// Notes that `source` says `finding`.
    pub fn new(source: impl Into<String>, finding: impl Into<String>) -> Self {
        Self { source: source.into(), finding: finding.into() }
    }
}

/// What is known of a graph, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Knowledge {
    /// The state.
    pub state: State,
    /// One plain sentence: why this state.
    pub reason: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// When it was found.
    pub since: Tick,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// Files and records are read, or cgc is asked once.
    Probing,
    /// A graph is being created or completed.
    Indexing,
    /// A graph is being brought up to date.
    Syncing,
    /// A graph is being replaced.
    Rebuilding,
}

impl Work {
    /// The word that surfaces use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Probing => "probing",
            Self::Indexing => "indexing",
            Self::Syncing => "syncing",
            Self::Rebuilding => "rebuilding",
        }
    }
}

impl From<JobKind> for Work {
    fn from(job: JobKind) -> Self {
        match job {
            JobKind::Index => Self::Indexing,
            JobKind::Sync => Self::Syncing,
            JobKind::Rebuild => Self::Rebuilding,
        }
    }
}

/// Work that is going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// What kind of work.
    pub work: Work,
    /// What it is at, in plain words.
    pub phase: String,
    /// When it began.
    pub since: Tick,
    /// Files done, where cgc tells.
    pub done: Option<u64>,
    /// Files in all, where known.
    pub total: Option<u64>,
    /// When cgc last said something.
    pub last_output: Option<Tick>,
}

/// How the last job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobResult {
    /// What it was.
    pub job: JobKind,
    /// Whether it did what it was for and was proved.
    pub succeeded: bool,
    /// What happened, one plain sentence.
    pub summary: String,
    /// What the human can do, if anything.
    pub advice: Option<String>,
    /// When it ended.
    pub at: Tick,
}
