//! The directory that holds the socket and its locks.
//!
//! It must never be a place that somebody else can write to or has put there, and never depend on anything in which a
//! hook and the daemon could differ.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The longest socket path in bytes that every supported system can bind.
pub const MAXIMUM_SOCKET_PATH: usize = 103;

/// Where the socket and its locks are. The directory exists, is the user's and is closed to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    directory: PathBuf,
}

/// Why there is no usable runtime directory.
#[derive(Debug, Error)]
pub enum RuntimeError {
    /// It could not be created or looked at.
    #[error("the runtime directory {} cannot be used", directory.display())]
    Unusable {
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is not a directory of this user's, or others may enter it.
    #[error("the runtime directory {} is refused: {reason}", directory.display())]
    Unsafe {
        /// The directory.
        directory: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A socket in it could not be bound.
    #[error("the socket path {} is longer than {MAXIMUM_SOCKET_PATH} bytes", socket.display())]
    TooLong {
        /// The socket.
        socket: PathBuf,
    },
}

impl Runtime {
    /// Finds the directory, `$XDG_RUNTIME_DIR/cgc-steward` or else `/tmp/cgc-steward-<uid>`, creates it where it is
    /// missing and verifies it. An empty or relative variable counts as unset.
    pub fn locate(xdg_runtime_dir: Option<&OsStr>) -> Result<Self, RuntimeError> {
        let uid = rustix::process::getuid().as_raw();
        let chosen = xdg_runtime_dir.map(Path::new).filter(|path| path.is_absolute() && path.is_dir());
        let directory = match chosen {
            Some(parent) => parent.join("cgc-steward"),
            None => PathBuf::from(format!("/tmp/cgc-steward-{uid}")),
        };
        Self::at(directory, uid)
    }

    fn at(directory: PathBuf, uid: u32) -> Result<Self, RuntimeError> {
        let unusable = |source| RuntimeError::Unusable { directory: directory.clone(), source };
        match fs::DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unusable(error)),
        }
        let metadata = fs::symlink_metadata(&directory).map_err(unusable)?;
        let reason = if !metadata.is_dir() {
            Some("it is not a directory")
        } else if metadata.uid() != uid {
            Some("it belongs to another user")
        } else if metadata.mode() & 0o077 != 0 {
            Some("others may enter it")
        } else {
            None
        };
        if let Some(reason) = reason {
            return Err(RuntimeError::Unsafe { directory, reason });
        }
        let runtime = Self { directory };
        let socket = runtime.socket();
        if socket.as_os_str().as_bytes().len() > MAXIMUM_SOCKET_PATH {
            return Err(RuntimeError::TooLong { socket });
        }
        Ok(runtime)
    }

    /// The socket that the daemon listens on.
    pub fn socket(&self) -> PathBuf {
        self.directory.join("daemon.sock")
    }

    /// The lock that the daemon holds for its whole life.
    pub fn daemon_lock(&self) -> PathBuf {
        self.directory.join("daemon.lock")
    }

    /// The lock that a client holds while it starts a daemon.
    pub fn start_lock(&self) -> PathBuf {
        self.directory.join("start.lock")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn uid() -> u32 {
        rustix::process::getuid().as_raw()
    }

    #[test]
    fn the_directory_is_made_closed_to_others() {
        let parent = tempfile::tempdir().unwrap();

        let runtime = Runtime::locate(Some(parent.path().as_os_str())).unwrap();

        let directory = runtime.socket().parent().unwrap().to_owned();
        assert_eq!(directory, parent.path().join("cgc-steward"));
        assert_eq!(fs::metadata(directory).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let unset = Runtime::locate(None).unwrap();

        assert_eq!(Runtime::locate(Some(OsStr::new(""))).unwrap(), unset);
    }

    #[test]
    fn trial_b138_a_planted_link_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), parent.path().join("cgc-steward")).unwrap();

        let refused = Runtime::locate(Some(parent.path().as_os_str()));

        assert!(matches!(refused, Err(RuntimeError::Unsafe { reason: "it is not a directory", .. })));
    }

    #[test]
    fn a_directory_that_others_may_enter_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("cgc-steward");
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();

        let refused = Runtime::at(directory, uid());

        assert!(matches!(refused, Err(RuntimeError::Unsafe { reason: "others may enter it", .. })));
    }

    #[test]
    fn a_path_that_cannot_be_bound_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let deep = parent.path().join("d".repeat(100));
        fs::create_dir(&deep).unwrap();

        let refused = Runtime::locate(Some(deep.as_os_str()));

        assert!(matches!(refused, Err(RuntimeError::TooLong { socket }) if socket.ends_with("daemon.sock")));
    }
}
