//! What the human is told.
//!
//! It must never reach the agent: a notice is delivered by a channel that only the human sees.

use async_trait::async_trait;
use thiserror::Error;

use crate::process::SessionId;

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Something does not work until the human acts.
    Warning,
}

/// The condition that a notice tells of. Each is told once per session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoticeKind {
    /// There is no usable cgc.
    Unavailable,
    /// The workspace has no graph.
    Unindexed,
    /// A graph is being created.
    IndexingStarted,
    /// A graph was created and proved.
    IndexingDone,
    /// Creating a graph, or bringing it up to date at session start, failed.
    IndexingFailed,
    /// An earlier job was cut short and the graph is half built.
    Incomplete,
    /// Another process holds the database.
    Busy,
    /// The database cannot be opened or contradicts itself.
    Corrupt,
    /// Files changed since the graph was brought up to date.
    PossiblyStale,
    /// A sync completed and was proved.
    SyncCompleted,
    /// The managed watcher was seen to live.
    WatcherStarted,
    /// No watcher was started because the database is embedded.
    WatcherNotStartedEmbedded,
    /// No watcher was started because the workspace has no graph.
    WatcherNotStartedUnindexed,
    /// The managed watcher died before it was seen to live.
    WatcherNotVerified,
    /// A context is recorded for another worktree.
    IdentityMismatch,
    /// A context's worktree is gone.
    WorktreePruned,
    /// A project file sets keys that count only after the human trusted it, or a value that means nothing.
    UntrustedConfiguration,
    /// The backend is one that the companion does not drive.
    UnsupportedBackend,
}

impl NoticeKind {
    /// The name by which documents and machine-readable output call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Unindexed => "unindexed",
            Self::IndexingStarted => "indexing-started",
            Self::IndexingDone => "indexing-done",
            Self::IndexingFailed => "indexing-failed",
            Self::Incomplete => "incomplete",
            Self::Busy => "skipped-busy",
            Self::Corrupt => "corrupt",
            Self::PossiblyStale => "possibly-stale",
            Self::SyncCompleted => "sync-completed",
            Self::WatcherStarted => "watcher-started",
            Self::WatcherNotStartedEmbedded => "watcher-not-started-embedded",
            Self::WatcherNotStartedUnindexed => "watcher-not-started-unindexed",
            Self::WatcherNotVerified => "watcher-not-verified",
            Self::IdentityMismatch => "identity-mismatch",
            Self::WorktreePruned => "worktree-pruned",
            Self::UntrustedConfiguration => "untrusted-config",
            Self::UnsupportedBackend => "unsupported-backend",
        }
    }

    /// Whether a notice of kind `older` that was not shown yet is no longer true once this one is there.
    pub fn supersedes(self, older: Self) -> bool {
        match self {
            Self::IndexingDone => matches!(older, Self::Unindexed | Self::IndexingStarted | Self::Incomplete),
            Self::IndexingFailed | Self::Incomplete | Self::Corrupt => matches!(older, Self::IndexingStarted),
            Self::SyncCompleted => matches!(older, Self::PossiblyStale),
            Self::WatcherStarted
            | Self::Unavailable
            | Self::Unindexed
            | Self::IndexingStarted
            | Self::Busy
            | Self::PossiblyStale
            | Self::WatcherNotStartedEmbedded
            | Self::WatcherNotStartedUnindexed
            | Self::WatcherNotVerified
            | Self::IdentityMismatch
            | Self::WorktreePruned
            | Self::UntrustedConfiguration
            | Self::UnsupportedBackend => false,
        }
    }

    /// How much it matters.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Unindexed
            | Self::IndexingStarted
            | Self::IndexingDone
            | Self::PossiblyStale
            | Self::SyncCompleted
            | Self::WatcherStarted
            | Self::WatcherNotStartedEmbedded
            | Self::WatcherNotStartedUnindexed => Severity::Info,
            Self::Unavailable
            | Self::IndexingFailed
            | Self::Incomplete
            | Self::Busy
            | Self::Corrupt
            | Self::WatcherNotVerified
            | Self::IdentityMismatch
            | Self::WorktreePruned
            | Self::UntrustedConfiguration
            | Self::UnsupportedBackend => Severity::Warning,
        }
    }
}

/// One message to the human: what happened, what it means, and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The condition.
    pub kind: NoticeKind,
    /// What happened and what it means, one or two plain sentences. Control characters are stripped at delivery.
    pub text: String,
    /// What the human can do, if anything.
    pub advice: Option<String>,
}

/// Why a notice did not reach the human.
#[derive(Debug, Error)]
pub enum NotifyError {
    /// The session is gone or its harness has no way to show it.
    #[error("session {session} cannot be notified: {reason}")]
    Refused {
        /// The session.
        session: SessionId,
        /// Why not.
        reason: String,
    },
}

/// Tells the human of a session something.
#[async_trait]
pub trait Notifier: Send + Sync {
    /// Hands over `notice`; in a hook harness it goes with the next event that can carry it. It is delivered at most
    /// once; after a crash of the daemon an undelivered notice is lost.
    async fn notify(&self, session: &SessionId, notice: &Notice) -> Result<(), NotifyError>;
}
