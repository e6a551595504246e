//! Locks that die with their holder.
//!
//! It must never take the existence of a lock file for a lock, and never remove one: the next holder would lock a file
//! that nobody else sees.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A lock that is held until this value is dropped or the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why a lock was not taken.
#[derive(Debug, Error)]
pub enum LockError {
    /// Somebody else holds it.
    #[error("the lock {} is held by another process", path.display())]
    Held {
        /// The lock file.
        path: PathBuf,
    },
    /// It cannot be opened, or the file system has no locks.
    #[error("the lock {} cannot be taken", path.display())]
    Unusable {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Lock {
    /// Takes the lock at `path` without waiting.
    pub fn try_take(path: &Path) -> Result<Self, LockError> {
        let unusable = |source| LockError::Unusable { path: path.to_owned(), source };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
            .map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(LockError::Held { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder_and_is_free_after_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daemon.lock");

        let held = Lock::try_take(&path).unwrap();

        assert!(matches!(Lock::try_take(&path), Err(LockError::Held { .. })));
        drop(held);
        assert!(Lock::try_take(&path).is_ok());
    }

    #[test]
    fn trial_b36_garbage_in_a_lock_file_is_no_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daemon.lock");
        std::fs::write(&path, b"\0garbage").unwrap();

        assert!(Lock::try_take(&path).is_ok());
    }
}
