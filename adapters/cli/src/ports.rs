//! The ports on the operating system, for what the command line does itself.
//!
//! It must never be used for a job; those are the daemon's.

use std::sync::Arc;

use steward_cgc::Cgc;
use steward_clock::SystemClock;
use steward_daemon::Outbox;
use steward_filesystem::{FileStore, PosixLockProbe, SystemFileSystem};
use steward_ports::ProcessWatch;
use steward_process::{PidfdWatch, ProcessRunner};
use steward_session::Ports;

use crate::failure::Failure;
use crate::surroundings::Surroundings;

/// Returns the ports on the operating system.
pub(crate) async fn machine_ports(surroundings: &Surroundings) -> Result<Ports, Failure> {
    let state = surroundings.state_directory()?;
    let own = PidfdWatch
        .identify(std::process::id())
        .await
        .map_err(|error| Failure::caused_by(&error))?
        .ok_or_else(|| Failure::new("this process cannot be found in /proc"))?;
    let guard = surroundings.executable()?.with_file_name("steward-guard");
    Ok(Ports {
        runner: Arc::new(ProcessRunner::new(guard, state.join("client-ledger"))),
        files: Arc::new(SystemFileSystem),
        store: Arc::new(FileStore::new(state)),
        locks: Arc::new(PosixLockProbe),
        graph: Arc::new(Cgc),
        notifier: Arc::new(Outbox::default()),
        clock: Arc::new(SystemClock::new()),
        processes: Arc::new(PidfdWatch),
        own,
    })
}

/// Runs `work` to its end on a runtime of its own, one thread and what it needs for blocking calls.
pub(crate) fn on_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused_by(&error))?
        .block_on(work)
}
