//! The end of a program that takes too long.
//!
//! It must never leave a deadline to the work that it bounds: a file system that does not answer, or a machine out of
//! breath, would hold the harness up where no timeout of a socket helps.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

/// Ends the process at a deadline, unless it is called off before.
#[derive(Debug)]
pub(crate) struct Watchdog {
    /// Set by who comes first, the end of the work or the deadline.
    is_decided: Arc<AtomicBool>,
}

impl Watchdog {
    /// Starts watching. At `deadline`, `last_words` are spoken, which have to end by themselves, and the process exits 0.
    pub(crate) fn start(deadline: Instant, last_words: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let is_decided = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&is_decided);
        // The work stays on the thread that waits for it, which saves two changes of the running thread.
        thread::Builder::new().spawn(move || {
            thread::sleep(deadline.saturating_duration_since(Instant::now()));
            if !watched.swap(true, Ordering::AcqRel) {
                last_words();
                exit_as_if_nothing_had_happened();
            }
        })?;
        Ok(Self { is_decided })
    }

    /// Lets the process live. Where the deadline has passed it does not return: an answer must not be cut short by the
    /// end of the process.
    pub(crate) fn call_off(self) {
        while self.is_decided.swap(true, Ordering::AcqRel) {
            thread::park();
        }
    }
}

/// Ends the process with 0. Nothing is left undone by it: an answer is written before or not at all.
#[expect(clippy::exit, reason = "neither a deadline nor a panic, which aborts, can make main return")]
pub(crate) fn exit_as_if_nothing_had_happened() -> ! {
    std::process::exit(0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// Tells a test that it is the child of the other, and where to leave its last words.
    const CHILD: &str = "STEWARD_TEST_LAST_WORDS";

    #[test]
    fn work_that_never_ends_is_left_behind() {
        if let Some(path) = std::env::var_os(CHILD) {
            let watchdog = Watchdog::start(Instant::now(), move || fs::write(path, "too late").unwrap()).unwrap();
            let (_never, blocked) = mpsc::channel::<()>();
            let _unreachable = blocked.recv();
            watchdog.call_off();
            panic!("the process outlived its deadline");
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("words");

        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "watchdog::tests::work_that_never_ends_is_left_behind"])
            .env(CHILD, &path)
            .output()
            .unwrap();

        assert_eq!(child.status.code(), Some(0), "{child:?}");
        assert_eq!(fs::read_to_string(path).unwrap(), "too late");
    }

    #[test]
    fn work_in_time_is_not_disturbed() {
        let (last_words, spoken) = mpsc::channel();

        let watchdog = Watchdog::start(Instant::now() + Duration::from_millis(500), move || {
            last_words.send(()).unwrap();
        });
        watchdog.unwrap().call_off();

        // The thread has ended without a word.
        assert_eq!(spoken.recv(), Err(mpsc::RecvError));
    }
}
