//! The ports on the operating system, for what the command line looks at itself.
//!
//! It must never be used for a job; those are the daemon's.

use steward_daemon::compose;
use steward_session::Ports;

use crate::failure::Failure;
use crate::surroundings::Surroundings;

/// Binds the ports as the daemon does. Must be called inside a runtime.
pub(crate) async fn machine_ports(surroundings: &Surroundings) -> Result<Ports, Failure> {
    let variable = |name: &str| surroundings.environment.get(name).map(ToOwned::to_owned);
    let composed = compose(surroundings.executable()?, variable).await;
    composed.map(|composition| composition.ports).map_err(|error| Failure::caused_by(&error))
}

/// Runs `work` to its end on a runtime of its own, one thread and what it needs for blocking calls.
pub(crate) fn on_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused_by(&error))?
        .block_on(work)
}
