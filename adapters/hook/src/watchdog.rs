//! A bound on work that may block.
//!
//! It must never wait longer than its deadline: a file system that does not answer, or a machine out of breath, would
//! otherwise hold the harness up where no timeout of a socket helps.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use thiserror::Error;

/// Why the work has no result.
#[derive(Debug, Error)]
pub(crate) enum Overrun {
    /// It was not done by the deadline. It goes on until the process ends.
    #[error("the deadline passed")]
    DeadlinePassed,
    /// There is no thread for it.
    #[error("no thread could be started")]
    NoThread(#[source] io::Error),
}

/// Does `work` and returns its result if that is there by `deadline`.
pub(crate) fn by<T: Send + 'static>(
    deadline: Instant,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Overrun> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::Builder::new()
        .spawn(move || {
            // Nobody listens any more where the deadline has passed.
            let _unheard = sender.send(work()).err();
        })
        .map_err(Overrun::NoThread)?;
    match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(result) => Ok(result),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(Overrun::DeadlinePassed),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn work_in_time_has_its_result() {
        let result = by(Instant::now() + Duration::from_mins(1), || 7);

        assert_eq!(result.unwrap(), 7);
    }

    #[test]
    fn work_that_never_ends_is_left_behind() {
        let (_never, blocked) = mpsc::channel::<()>();

        let result = by(Instant::now(), move || blocked.recv());

        assert!(matches!(result, Err(Overrun::DeadlinePassed)));
    }
}
