//! The code graph as the domain sees it: where it is, what may be asked of cgc, and what cgc's answers mean.
//!
//! It must never know cgc's command lines or texts; `adapters/cgc` does.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use thiserror::Error;

use crate::manifest::Exclusions;
use crate::process::Environment;
use crate::runner::{CommandSpec, Ended, OutputLine};
use crate::time::Timestamp;

/// A database engine that cgc can use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// KuzuDB, embedded.
    Kuzu,
    /// LadybugDB, embedded.
    Ladybug,
    /// FalkorDB Lite: a private server that cgc starts and leaks (cgc 0.6.13). The companion does not drive it.
    FalkorLite,
    /// A FalkorDB server.
    FalkorRemote,
    /// A Neo4j server.
    Neo4j,
    /// None of the above, or nothing says which. It is treated as embedded.
    Unknown,
}

impl Backend {
    /// The name that cgc's `DEFAULT_DATABASE` takes.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Kuzu => "kuzudb",
            Self::Ladybug => "ladybugdb",
            Self::FalkorLite => "falkordb",
            Self::FalkorRemote => "falkordb-remote",
            Self::Neo4j => "neo4j",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a server keeps the graph, so that several processes can use it at once.
    pub const fn is_server(&self) -> bool {
        match self {
            Self::FalkorRemote | Self::Neo4j => true,
            Self::Kuzu | Self::Ladybug | Self::FalkorLite | Self::Unknown => false,
        }
    }
}

/// How cgc chooses a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContextMode {
    /// One database for everything.
    Global,
    /// One database in each repository.
    PerRepository,
    /// Named contexts, each with a database.
    Named,
}

/// Where the graph of a workspace is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphLocation {
    /// The backend in use: by the database file's magic where there is one, else by cgc's order of precedence.
    pub backend: Backend,
    /// What says so, for a person: `file magic`, `DEFAULT_DATABASE in the environment`, ….
    pub backend_source: String,
    /// The backend that was asked for, where it differs from the one in use.
    pub requested: Option<Backend>,
    /// The database file; `None` for a server.
    pub database: Option<PathBuf>,
    /// The named context, where one applies.
    pub context: Option<String>,
    /// How cgc chose.
    pub mode: ContextMode,
    /// What this context and cgc's settings keep out of the graph; a scan of the working tree needs it.
    pub exclusions: Exclusions,
}

/// A database file at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseIdentity {
    /// Where it is.
    pub path: PathBuf,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content. Every command of cgc, reading ones included, renews it (cgc 0.6.13).
    pub modified: Timestamp,
    /// Size of the write-ahead log beside it, 0 where there is none.
    pub log_size: u64,
}

/// An installed cgc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The script, as an absolute path.
    pub executable: PathBuf,
    /// The Python interpreter that the script's first line names.
    pub interpreter: Option<PathBuf>,
    /// The version, read from the installed package's metadata.
    pub version: Option<String>,
}

/// What files alone say about a workspace's graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphFacts {
    /// The installed cgc.
    pub installation: Installation,
    /// Where the graph is kept.
    pub location: GraphLocation,
    /// The database file; `None` where there is none (or a server keeps the graph).
    pub database: Option<DatabaseIdentity>,
    /// Whether the database was certainly never indexed for this workspace: the file is missing, empty, or its bytes
    /// do not hold the workspace's path.
    pub certainly_unindexed: bool,
    /// Whether the database's first bytes are those of no known backend.
    pub unreadable_magic: bool,
    /// Whether cgc keeps its grammars as files and none is there. Offline it then deletes the symbols of what it reads
    /// anew and reports success (cgc 0.6.13).
    pub grammars_missing: bool,
}

/// What is asked about a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphQuery {
    /// The workspace.
    pub root: PathBuf,
    /// The setting `cgc.executable`: a name looked up on the session's PATH, or a path.
    pub executable: PathBuf,
    /// The session's environment.
    pub environment: Environment,
}

/// A graph to act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphTarget {
    /// The workspace.
    pub root: PathBuf,
    /// The installed cgc.
    pub installation: Installation,
    /// Where the graph is kept.
    pub location: GraphLocation,
    /// The session's environment.
    pub environment: Environment,
}

/// What can be asked of cgc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// What the graph holds of this workspace: its files and counts.
    Inventory,
    /// Create the graph, or complete it.
    Index,
    /// Delete this workspace's graph and build it anew.
    Rebuild,
    /// Reconcile the graph with the working tree, then watch; stopped with an interrupt at its ready line.
    Reconcile,
    /// cgc's own report on its health.
    Doctor,
}

/// Counts of a workspace's graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GraphCounts {
    /// File nodes.
    pub files: u64,
    /// Function nodes.
    pub functions: u64,
    /// Class nodes.
    pub classes: u64,
}

/// What the graph holds of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// Paths of the file nodes, relative to the workspace root, sorted.
    pub files: Vec<PathBuf>,
    /// Counts.
    pub counts: GraphCounts,
    /// When the repository was last indexed as a whole, as cgc wrote it.
    pub indexed_at: Option<String>,
    /// The commit at that time.
    pub commit: Option<String>,
    /// A digest of the symbols and relationships; `None` where the backend cannot compute one. Counts and
    /// [`Self::indexed_at`] stay the same when a watcher replaces one function, or when an older copy of the database is
    /// put back (cgc 0.6.13).
    pub digest: Option<String>,
}

/// What the end of a cgc process means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The graph was asked and holds this.
    Holds(Inventory),
    /// The graph was asked and does not know the workspace.
    Unindexed,
    /// Work was done; whether it suffices is for the proof to say.
    Worked,
    /// The command said that it skipped the work.
    Skipped,
    /// The reconcile reached its ready line and was then stopped.
    Reconciled,
    /// Work was done and some files could not be parsed or written.
    Partial {
        /// How many files failed.
        failed: u64,
    },
    /// Files with code were seen and no symbol was made: the grammars are missing.
    NoGrammars,
    /// Another process holds the database.
    Busy,
    /// The database cannot be opened or crashes its reader.
    Corrupt {
        /// What was seen: cgc's words, or the signal.
        evidence: String,
    },
    /// The database server does not answer.
    ServerDown {
        /// cgc's words.
        evidence: String,
    },
    /// cgc silently used another backend than the one asked for.
    BackendChanged {
        /// cgc's words.
        evidence: String,
    },
    /// It was stopped before it was done.
    Interrupted,
    /// It failed for another reason.
    Failed {
        /// One line: cgc's words or the exit.
        reason: String,
    },
    /// A report in cgc's own words.
    Report(String),
}

/// Something that a running cgc said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Milestone {
    /// The database is open and work has begun.
    Started,
    /// So many files are done, of so many where cgc says how many.
    Progress {
        /// Files done.
        done: u64,
        /// Files in all.
        total: Option<u64>,
    },
    /// The reconcile is complete and live watching begins.
    Ready,
}

/// Why nothing could be said about a graph.
#[derive(Debug, Error)]
pub enum GraphToolError {
    /// There is no such program on the session's PATH.
    #[error("no executable `{}` on the search path", executable.display())]
    Missing {
        /// The setting `cgc.executable`.
        executable: PathBuf,
    },
    /// A file of cgc's could not be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Speaks cgc: finds it and its files without starting it, builds its command lines and reads its answers.
#[async_trait]
pub trait GraphTool: Send + Sync {
    /// Finds out what files alone say. Starts no process, changes nothing, and reads at most the database file's bytes.
    async fn inspect(&self, query: &GraphQuery) -> Result<GraphFacts, GraphToolError>;

    /// Returns how the companion finds a database file now; `None` where there is none.
    async fn database(&self, path: &Path) -> Result<Option<DatabaseIdentity>, GraphToolError>;

    /// Renames the database file and its logs to a free name beside it and returns that name. Only done after a human
    /// agreed to replace a database that cannot be opened; after a crash the file has either name, never none.
    async fn set_aside(&self, database: &Path) -> Result<PathBuf, GraphToolError>;

    /// Returns the command that does `verb` to `target`.
    fn command(&self, verb: Verb, target: &GraphTarget) -> CommandSpec;

    /// Returns what a line of `verb`'s output says, if anything.
    fn milestone(&self, verb: Verb, line: &OutputLine) -> Option<Milestone>;

    /// Returns what the end of `verb` means. `reached_ready` tells whether `Milestone::Ready` was seen.
    fn verdict(&self, verb: Verb, target: &GraphTarget, ended: &Ended, reached_ready: bool) -> Verdict;
}
