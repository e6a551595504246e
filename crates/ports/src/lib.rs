//! The ports of the hexagon: traits through which the domain reaches the world, and the values they speak.
//!
//! Responsible for the vocabulary that domain and adapters share. It must never do IO, read a clock, know a foreign
//! format (cgc's, a harness's, a file's) or hold a test double; those live in `adapters/`.
//!
//! Every trait is `#[async_trait]`, takes `&self`, is held as `Arc<dyn …>`, and says what holds after a crash.

#![warn(clippy::wildcard_enum_match_arm)]

mod consent;
mod filesystem;
mod graph;
mod inject;
mod lock;
mod manifest;
mod notice;
mod process;
mod runner;
mod store;
mod time;

pub use consent::{Answer, Consent, ConsentError, Question};
pub use filesystem::{FileSystem, FileSystemError, FileText, Workspace, WorkspaceKind, WorkspaceRoot};
pub use graph::{
    Backend, ContextMode, DatabaseIdentity, GraphCounts, GraphFacts, GraphLocation, GraphQuery, GraphTarget, GraphTool,
    GraphToolError, Installation, Inventory, Milestone, Verb, Verdict,
};
pub use inject::{ContextInjector, InjectError};
pub use lock::{Holder, LockProbe, LockProbeError, LockState};
pub use manifest::{
    Comparison, ContentHash, Difference, Exclusions, FileKind, FileStamp, Manifest, ManifestDigest, ManifestEntry,
    Rename,
};
pub use notice::{Notice, NoticeKind, Notifier, NotifyError, Severity};
pub use process::{Environment, ProcessIdentity, ProcessWatch, ProcessWatchError, SessionId};
pub use runner::{
    Captured, CommandSpec, Ended, Exit, GroupId, OutputLine, OutputStream, ProcessEvent, Runner, RunnerError, Stop,
};
pub use store::{Intent, JobKind, Receipt, Record, Scope, Store, StoreError, SyncEngine};
pub use time::{Clock, Tick, Timestamp};
