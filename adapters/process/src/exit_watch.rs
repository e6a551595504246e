//! Learning of the end of a child without reaping it.
//!
//! It must never reap: the zombie is what keeps the group's number from being reused.

use std::io;
use std::thread;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::sync::oneshot;

use crate::pidfd::{Opened, Pidfd};

/// A watch on one child of this process.
#[derive(Debug)]
pub(crate) enum ExitWatch {
    /// The kernel tells.
    Pidfd(Pidfd),
    /// Where there are no pidfds, a thread waits and tells; it costs no wakeup until then.
    Thread(oneshot::Receiver<()>),
}

impl ExitWatch {
    /// Watches `child`, which must be an unreaped child of this process.
    pub(crate) fn of_child(child: Pid) -> io::Result<Self> {
        match Pidfd::open(child)? {
            Opened::Pidfd(pidfd) => Ok(Self::Pidfd(pidfd)),
            Opened::NoProcess => Err(Errno::SRCH.into()),
            Opened::Unavailable => Self::by_thread(child),
        }
    }

    /// Returns once the child has ended and is a zombie. Dropping the future loses nothing.
    pub(crate) async fn ended(&mut self) -> io::Result<()> {
        match self {
            Self::Pidfd(pidfd) => pidfd.ended().await,
            Self::Thread(ended) => match ended.await {
                Ok(()) => Ok(()),
                Err(_) => Err(io::Error::other("the thread that waits for a child is gone")),
            },
        }
    }

    fn by_thread(child: Pid) -> io::Result<Self> {
        let (sender, receiver) = oneshot::channel();
        thread::Builder::new().name("exit-watch".to_owned()).spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(child), options), Err(Errno::INTR)) {}
            // Nobody may be interested any more.
            let _unwatched = sender.send(());
        })?;
        Ok(Self::Thread(receiver))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use rstest::rstest;
    use steward_guard::process_table;

    use super::*;

    fn pid_of(child: &Child) -> Pid {
        process_table::to_pid(child.id()).unwrap()
    }

    #[rstest]
    #[case::pidfd(ExitWatch::of_child)]
    #[case::thread(ExitWatch::by_thread)]
    #[tokio::test]
    async fn the_end_of_a_child_is_seen_and_the_child_is_still_there_to_reap(
        #[case] watch: fn(Pid) -> io::Result<ExitWatch>,
    ) {
        let mut child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let mut watch = watch(pid_of(&child)).unwrap();

        watch.ended().await.unwrap();

        let stat = process_table::read(child.id()).unwrap().unwrap();
        assert!(!stat.is_alive);
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }
}
