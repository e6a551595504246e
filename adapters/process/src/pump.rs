//! Emptying one output pipe of a program.
//!
//! It must never make the program wait: whatever comes is read at once, kept as far as the bounds allow, and dropped
//! otherwise.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, mem};

use steward_ports::{Captured, OutputLine, OutputStream};
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinHandle;

use crate::capture::Capture;
use crate::lines::LineSplitter;
use crate::mailbox::Mailbox;

/// Reads a pipe to its end in a task of its own. Dropping it closes the pipe.
#[derive(Debug)]
pub(crate) struct Pump {
    stream: OutputStream,
    task: JoinHandle<()>,
    capture: Arc<Mutex<Capture>>,
}

/// How much is read at once, in bytes.
const CHUNK: usize = 8192;

impl Pump {
    /// Starts to read `pipe`, keeping at most `limit` bytes and handing lines to `mailbox`.
    pub(crate) fn start(pipe: OwnedFd, stream: OutputStream, limit: usize, mailbox: Arc<Mailbox>) -> io::Result<Self> {
        let receiver = Receiver::from_owned_fd(pipe)?;
        let capture = Arc::new(Mutex::new(Capture::new(limit)));
        let reader =
            Reader { stream, receiver, capture: Arc::clone(&capture), mailbox, lines: LineSplitter::default() };
        Ok(Self { stream, task: tokio::spawn(reader.read_to_end()), capture })
    }

    /// Returns what was kept once the pipe has ended, or after `patience`: a process outside the group, to which the
    /// pipe was handed, may hold it for ever.
    pub(crate) async fn finish(mut self, patience: Duration) -> Captured {
        if tokio::time::timeout(patience, &mut self.task).await.is_err() {
            tracing::warn!(stream = ?self.stream, "an output pipe is held by a process outside its group");
        }
        lock(&self.capture).take()
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Reader {
    stream: OutputStream,
    receiver: Receiver,
    capture: Arc<Mutex<Capture>>,
    mailbox: Arc<Mailbox>,
    lines: LineSplitter,
}

impl Reader {
    async fn read_to_end(mut self) {
        if let Err(error) = self.read().await {
            tracing::warn!(stream = ?self.stream, %error, "an output pipe cannot be read to its end");
        }
        let mut lines = mem::take(&mut self.lines);
        lines.finish(|text| self.emit(text));
    }

    async fn read(&mut self) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        loop {
            self.receiver.readable().await?;
            let bytes = match self.receiver.try_read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(length) => &chunk[..length],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            };
            lock(&self.capture).push(bytes);
            let mut lines = mem::take(&mut self.lines);
            lines.push(bytes, |text| self.emit(text));
            self.lines = lines;
        }
    }

    fn emit(&self, text: String) {
        self.mailbox.push_line(OutputLine { stream: self.stream, text });
    }
}

fn lock(capture: &Mutex<Capture>) -> MutexGuard<'_, Capture> {
    // No holder of the lock can panic half way through a change.
    capture.lock().unwrap_or_else(PoisonError::into_inner)
}
