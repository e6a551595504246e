//! One group as the runner and its supervisor share it.
//!
//! It must never signal by number: only the supervisor knows whether the number is still the group's.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use steward_guard::Request;
use steward_ports::Stop;
use tokio::net::UnixStream;
use tokio::sync::Notify;

use crate::mailbox::Mailbox;

/// What outsiders may do with a group: ask its guard, and read its mailbox.
#[derive(Debug)]
pub(crate) struct Group {
    /// The program, for error messages.
    pub(crate) program: PathBuf,
    /// What the group did.
    pub(crate) mailbox: Arc<Mailbox>,
    /// `None` once the group has ended.
    lifeline: Mutex<Option<Arc<UnixStream>>>,
    kill: Notify,
}

impl Group {
    /// A group whose guard listens at the other end of `lifeline`.
    pub(crate) fn new(program: PathBuf, lifeline: Arc<UnixStream>) -> Self {
        Self {
            program,
            mailbox: Arc::new(Mailbox::default()),
            lifeline: Mutex::new(Some(lifeline)),
            kill: Notify::new(),
        }
    }

    /// Asks the guard to signal the group. A group that has ended is no error.
    pub(crate) fn stop(&self, stop: Stop) -> io::Result<()> {
        match stop {
            Stop::Interrupt => self.request(Request::Interrupt),
            Stop::Terminate => self.request(Request::Terminate),
            Stop::Kill => {
                self.kill.notify_one();
                match self.request(Request::Kill) {
                    // The supervisor kills by itself where the guard does not listen.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                    other => other,
                }
            }
        }
    }

    /// Sends one request. A guard that is gone is no error: its end is what the supervisor waits for.
    pub(crate) fn request(&self, request: Request) -> io::Result<()> {
        let Some(lifeline) = self.lock().clone() else {
            return Ok(());
        };
        // Not through the runtime, which would not write before its first look at the socket.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match send(&*lifeline, &[request.to_byte()], flags) {
            Ok(_) | Err(Errno::PIPE | Errno::CONNRESET) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns once a kill was asked for, also where that was before the call.
    pub(crate) async fn kill_asked(&self) {
        self.kill.notified().await;
    }

    /// Closes the daemon's end. Nothing can be asked any more.
    pub(crate) fn close(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<UnixStream>>> {
        // No holder of the lock can panic half way through a change.
        self.lifeline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
