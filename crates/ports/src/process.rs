//! Processes that are not ours to run: who they are, when they ended, and the environment they handed over.
//!
//! It must never treat a bare process id as an identity: ids are reused.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

use async_trait::async_trait;
use thiserror::Error;

/// A session of one harness, as the companion counts it: one per harness process, whatever session ids that process uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// Names a session. `text` is opaque to the domain.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A process, told apart from a later one that reuses its number.
///
/// A pid alone is no identity, and "cannot be verified" is not "is another process".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// The start time in clock ticks since boot (field 22 of `/proc/<pid>/stat`).
    pub start_time: u64,
    /// The boot id (`/proc/sys/kernel/random/boot_id`), without which start times of two boots could coincide.
    pub boot_id: String,
}

/// The variables of a session's environment that its cgc processes inherit.
///
/// Its `Debug` output shows the names only: values may be secrets.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Returns the value of `name`, `None` where it is unset; an empty value is returned as such.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Sets `name` to `value`.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.0.insert(name.into(), value.into());
    }

    /// Removes `name`.
    pub fn unset(&mut self, name: &str) {
        self.0.remove(OsStr::new(name));
    }

    /// Iterates over the variables in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// Why a process could not be watched.
#[derive(Debug, Error)]
pub enum ProcessWatchError {
    /// The operating system refused to name or watch the process.
    #[error("process {pid} cannot be watched")]
    Unwatchable {
        /// The process id.
        pid: u32,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Learns of the end of processes that the companion did not start.
#[async_trait]
pub trait ProcessWatch: Send + Sync {
    /// Returns the identity of the live process `pid`, `None` where there is none (a zombie counts as none).
    async fn identify(&self, pid: u32) -> Result<Option<ProcessIdentity>, ProcessWatchError>;

    /// Returns when `process` has ended; at once where it already has or the number belongs to another process.
    async fn wait_ended(&self, process: &ProcessIdentity) -> Result<(), ProcessWatchError>;
}
