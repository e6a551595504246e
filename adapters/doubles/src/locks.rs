//! The locks of simulated database files.
//!
//! It must never take a lock for free because nobody said so: an unknown file is absent.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use async_trait::async_trait;
use steward_ports::{Holder, LockProbe, LockProbeError, LockState};

use crate::script::locked;

#[derive(Debug, Default)]
struct Locks {
    states: BTreeMap<PathBuf, LockState>,
    unreadable: BTreeSet<PathBuf>,
    probes: usize,
}

/// Lock states as a test sets them.
#[derive(Debug, Default)]
pub struct FakeLocks {
    locks: Mutex<Locks>,
}

impl FakeLocks {
    /// Lets the process `pid`, called `name`, hold `database`.
    pub fn hold(&self, database: impl Into<PathBuf>, pid: u32, name: &str) {
        let holder = Holder { pid: Some(pid), name: name.to_owned(), directory: None };
        locked(&self.locks).states.insert(database.into(), LockState::Held(holder));
    }

    /// Lets nobody hold `database`, which exists.
    pub fn free(&self, database: impl Into<PathBuf>) {
        locked(&self.locks).states.insert(database.into(), LockState::Free);
    }

    /// Lets probes of `database` fail.
    pub fn make_unreadable(&self, database: impl Into<PathBuf>) {
        locked(&self.locks).unreadable.insert(database.into());
    }

    /// Returns how many probes there were.
    pub fn probes(&self) -> usize {
        locked(&self.locks).probes
    }
}

#[async_trait]
impl LockProbe for FakeLocks {
    async fn holder(&self, database: &Path) -> Result<LockState, LockProbeError> {
        let mut locks = locked(&self.locks);
        locks.probes += 1;
        if locks.unreadable.contains(database) {
            let source = io::Error::from(io::ErrorKind::PermissionDenied);
            return Err(LockProbeError::Unreadable { database: database.to_path_buf(), source });
        }
        Ok(locks.states.get(database).cloned().unwrap_or(LockState::Absent))
    }
}
