//! Running file system work away from the daemon's one thread.
//!
//! It must never lose a failure: work that panics is an error of its caller.

use std::io;

/// Runs `work` on a thread where it may block. Once begun, it runs to its end even if the returned future is dropped.
pub(crate) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}
