//! Who holds the lock of an embedded database.
//!
//! It must never take a lock or start a process to find that out.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use thiserror::Error;

/// A process that holds a database's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process id; `None` where it lives in another pid namespace.
    pub pid: Option<u32>,
    /// What it is, for a person: `cgc watch`, `cgc mcp`, or the program's name. Control characters are stripped.
    pub name: String,
    /// The directory it runs in, where that can be read.
    pub directory: Option<PathBuf>,
}

/// The state of a database file's lock at one moment. A cgc that was just spawned takes the lock only about 0.6 s
/// after its start (cgc 0.6.13), so `Free` promises nothing for the next moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockState {
    /// There is no such file.
    Absent,
    /// Nobody holds it.
    Free,
    /// This process holds it.
    Held(Holder),
}

/// Why the lock could not be looked at.
#[derive(Debug, Error)]
pub enum LockProbeError {
    /// The database file cannot be opened or asked.
    #[error("the lock of {} cannot be read", database.display())]
    Unreadable {
        /// The database file.
        database: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Looks at the lock of an embedded database.
#[async_trait]
pub trait LockProbe: Send + Sync {
    /// Returns the lock's state. Changes nothing, starts nothing, takes microseconds.
    async fn holder(&self, database: &Path) -> Result<LockState, LockProbeError>;
}
