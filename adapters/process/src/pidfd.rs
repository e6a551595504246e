//! A pidfd that a task can wait for: readable once its process has ended, zombie included.
//!
//! It must never be trusted to keep a number from being reused: it names a process, and does not hold its number.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A watched process.
#[derive(Debug)]
pub(crate) struct Pidfd(AsyncFd<OwnedFd>);

/// What opening a pidfd comes to.
#[derive(Debug)]
pub(crate) enum Opened {
    /// It is open.
    Pidfd(Pidfd),
    /// There is no process of that number.
    NoProcess,
    /// There are no pidfds to be had: unknown to the kernel, forbidden by a sandbox, or no descriptor left.
    Unavailable,
}

impl Pidfd {
    /// Opens one for the process that has the number `pid` at this moment.
    pub(crate) fn open(pid: Pid) -> io::Result<Opened> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Opened::Pidfd(Self(register(pidfd)?))),
            Err(Errno::SRCH) => Ok(Opened::NoProcess),
            Err(_) => Ok(Opened::Unavailable),
        }
    }

    /// Returns once the process has ended, and at once when asked again. Dropping the future loses nothing.
    pub(crate) async fn ended(&self) -> io::Result<()> {
        self.0.readable().await?.retain_ready();
        Ok(())
    }
}

#[expect(deprecated, reason = "its successor is an unsafe function, whose condition an owned descriptor meets")]
fn register(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(pidfd, Interest::READABLE)
}
