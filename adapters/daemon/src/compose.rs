//! The composition root: which adapter stands behind which port.
//!
//! It must never decide anything but that.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use steward_cgc::Cgc;
use steward_clock::SystemClock;
use steward_filesystem::{FileStore, PosixLockProbe, SystemFileSystem, state_directory};
use steward_ports::{ProcessIdentity, ProcessWatch, ProcessWatchError};
use steward_process::{PidfdWatch, ProcessRunner};
use steward_session::Ports;
use thiserror::Error;

use crate::outbox::Outbox;

/// The ports, bound to this machine.
pub struct Composition {
    /// The ports.
    pub ports: Ports,
    /// Where notices and context wait for the sessions.
    pub outbox: Arc<Outbox>,
    /// Where records, ledgers and logs are kept.
    pub state: PathBuf,
}

/// Why the ports could not be bound.
#[derive(Debug, Error)]
pub enum ComposeError {
    /// Neither `XDG_STATE_HOME` nor `HOME` names a place to keep records.
    #[error("neither XDG_STATE_HOME nor HOME names a directory")]
    NoStateDirectory,
    /// Our own process could not be looked at.
    #[error("our own process cannot be identified")]
    Unidentified(#[source] ProcessWatchError),
    /// Our own process is not in the process table, as where `/proc` is not mounted.
    #[error("our own process is not in the process table")]
    NoProcessTable,
}

/// Binds the ports. `executable` is our own: the other programs lie beside it. Must be called inside a runtime.
pub async fn compose(
    executable: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Composition, ComposeError> {
    let (xdg, home) = (variable("XDG_STATE_HOME"), variable("HOME"));
    let state = state_directory(xdg.as_deref().map(OsStr::new), home.as_deref().map(OsStr::new))
        .ok_or(ComposeError::NoStateDirectory)?;
    let outbox = Arc::new(Outbox::default());
    let notifier: Arc<Outbox> = Arc::clone(&outbox);
    let ports = Ports {
        runner: Arc::new(ProcessRunner::new(executable.with_file_name("steward-guard"), state.join("processes"))),
        files: Arc::new(SystemFileSystem),
        store: Arc::new(FileStore::new(state.clone())),
        locks: Arc::new(PosixLockProbe),
        graph: Arc::new(Cgc),
        notifier,
        clock: Arc::new(SystemClock::new()),
        processes: Arc::new(PidfdWatch),
        own: own_identity().await?,
    };
    Ok(Composition { ports, outbox, state })
}

async fn own_identity() -> Result<ProcessIdentity, ComposeError> {
    let found = PidfdWatch.identify(std::process::id()).await.map_err(ComposeError::Unidentified)?;
    found.ok_or(ComposeError::NoProcessTable)
}
