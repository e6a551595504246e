//! The client: connect, or start a daemon and connect, ask, read replies; all by one deadline.
//!
//! It must never unlink a socket, start a second daemon, or block past its deadline: on Linux even `connect` blocks
//! when a daemon no longer accepts, so every step waits in `poll`.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect as connect_socket, socket_with};
use steward_wire::{Build, Envelope, FrameError, PROTOCOL, Reply, Request, body_length, decode, encode};
use thiserror::Error;

use crate::lock::{Lock, LockError};
use crate::runtime::Runtime;
use crate::start::{Start, StartError, readable_by};

/// Why the daemon could not be asked.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No daemon listens.
    #[error("no daemon listens on {}", socket.display())]
    NotRunning {
        /// The socket.
        socket: PathBuf,
    },
    /// The deadline passed.
    #[error("the daemon did not answer in time")]
    TimedOut,
    /// The socket may not be used, or connecting failed otherwise.
    #[error("the daemon's socket {} cannot be used", socket.display())]
    Unusable {
        /// The socket.
        socket: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The daemon went away, or said something that makes no sense.
    #[error("the daemon broke off")]
    BrokenOff(#[source] FrameError),
    /// The daemon is ending or is being replaced.
    #[error("the daemon is ending")]
    Ending,
    /// The daemon speaks another protocol and does not give way.
    #[error("the daemon speaks protocol {protocol}, not {PROTOCOL}")]
    Incompatible {
        /// The daemon's protocol.
        protocol: u16,
    },
    /// No daemon could be started.
    #[error("no daemon could be started")]
    NotStarted(#[source] StartError),
    /// The lock that guards the start cannot be used.
    #[error("no daemon could be started")]
    Lock(#[source] LockError),
}

/// Between two attempts to reach a daemon that is coming or going; there is nothing to wait on but the socket.
const PAUSE: Duration = Duration::from_millis(2);

/// How long a daemon that is ending is waited for.
const ENDING_PATIENCE: Duration = Duration::from_millis(20);

/// One connection: one request and its replies.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    deadline: Option<Instant>,
}

/// Connects to a running daemon by `deadline`; `None` waits as long as it takes once connected.
pub fn connect(runtime: &Runtime, deadline: Option<Instant>) -> Result<Connection, ClientError> {
    let socket = runtime.socket();
    let unusable = |errno: Errno| ClientError::Unusable { socket: socket.clone(), source: errno.into() };
    let address = SocketAddrUnix::new(&socket).map_err(unusable)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let descriptor = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(unusable)?;
    match connect_socket(&descriptor, &address) {
        Ok(()) => Ok(Connection { stream: UnixStream::from(descriptor), deadline }),
        Err(Errno::NOENT | Errno::CONNREFUSED) => Err(ClientError::NotRunning { socket }),
        // The backlog is full: a daemon that no longer accepts is as good as one that does not answer.
        Err(Errno::AGAIN | Errno::INPROGRESS) => Err(ClientError::TimedOut),
        Err(errno) => Err(unusable(errno)),
    }
}

/// Connects to the daemon; where none runs, starts one and connects to that.
pub fn connect_or_start(runtime: &Runtime, start: &Start, deadline: Instant) -> Result<Connection, ClientError> {
    match connect(runtime, Some(deadline)) {
        Err(ClientError::NotRunning { .. }) => {}
        other => return other,
    }
    match Lock::try_take(&runtime.start_lock()) {
        Ok(_starting) => {
            // Between the first attempt and the lock another client may have started one.
            match connect(runtime, Some(deadline)) {
                Err(ClientError::NotRunning { .. }) => start.run(deadline).map_err(ClientError::NotStarted)?,
                other => return other,
            }
            connect(runtime, Some(deadline))
        }
        Err(LockError::Held { .. }) => wait_for_other_starter(runtime, deadline),
        Err(error @ LockError::Unusable { .. }) => Err(ClientError::Lock(error)),
    }
}

/// Somebody else is starting the daemon, which takes a few milliseconds; there is nothing to wait on but the socket.
fn wait_for_other_starter(runtime: &Runtime, deadline: Instant) -> Result<Connection, ClientError> {
    loop {
        match connect(runtime, Some(deadline)) {
            Err(ClientError::NotRunning { .. }) if Instant::now() + PAUSE < deadline => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

/// Asks `request` of a daemon that is at least as new as `build`, the build of the daemon that this client would start.
/// An older one is asked to drain and to give way; where it needs longer for that than the deadline allows, the error
/// is [`ClientError::Ending`] and a later request will find the new one.
pub fn exchange(
    runtime: &Runtime,
    start: &Start,
    build: &Build,
    request: &Request,
    deadline: Instant,
) -> Result<(Connection, Reply), ClientError> {
    let envelope = Envelope { protocol: PROTOCOL, build: build.clone(), request: request.clone() };
    let patience = deadline.min(Instant::now() + ENDING_PATIENCE);
    let mut replaced = false;
    loop {
        match connect_or_start(runtime, start, deadline)?.ask(&envelope) {
            Ok((_, Reply::Incompatible { protocol, .. })) => {
                if replaced {
                    return Err(ClientError::Incompatible { protocol });
                }
                replace(runtime, build, deadline)?;
                replaced = true;
            }
            // A daemon that ends because nobody was there is gone in a moment; one that drains takes as long as its job.
            Ok((_, Reply::Draining)) if Instant::now() < patience => std::thread::sleep(PAUSE),
            Ok((_, Reply::Draining)) => return Err(ClientError::Ending),
            Ok(answered) => return Ok(answered),
            Err(error) => return Err(error),
        }
    }
}

/// Asks the running daemon to finish its work and end, and waits until its connection closes.
fn replace(runtime: &Runtime, build: &Build, deadline: Instant) -> Result<(), ClientError> {
    let request = Request::Stop { drain: true };
    let envelope = Envelope { protocol: PROTOCOL, build: build.clone(), request };
    let (mut connection, reply) = connect(runtime, Some(deadline))?.ask(&envelope)?;
    match reply {
        Reply::Stopping { .. } => connection.wait_closed(),
        Reply::Incompatible { protocol, .. } => Err(ClientError::Incompatible { protocol }),
        Reply::Delivery { .. }
        | Reply::Status(_)
        | Reply::Accepted { .. }
        | Reply::Progress(_)
        | Reply::Finished(_)
        | Reply::Refused { .. }
        | Reply::Daemon(_)
        | Reply::Draining
        | Reply::Failed { .. } => Err(ClientError::Ending),
    }
}

impl Connection {
    /// Sends `envelope` and returns the first reply.
    pub fn ask(mut self, envelope: &Envelope) -> Result<(Self, Reply), ClientError> {
        let frame = encode(envelope).map_err(ClientError::BrokenOff)?;
        self.write_all(&frame)?;
        let reply = self.reply()?;
        Ok((self, reply))
    }

    /// Returns the next reply. After one that is the last, there is none.
    pub fn reply(&mut self) -> Result<Reply, ClientError> {
        let mut prefix = [0; 4];
        self.read_exact(&mut prefix)?;
        let length = body_length(prefix).map_err(ClientError::BrokenOff)?;
        let mut body = vec![0; length];
        self.read_exact(&mut body)?;
        decode(&body).map_err(ClientError::BrokenOff)
    }

    /// Sets until when later replies are waited for; `None` waits as long as it takes.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Returns whether a reply, or the end of the connection, arrives by `moment`. It loses nothing of a reply.
    pub fn has_reply_by(&self, moment: Instant) -> bool {
        readable_by(&self.stream, moment)
    }

    /// Returns once the daemon has closed the connection, which it does when nothing of it is left to do.
    pub fn wait_closed(&mut self) -> Result<(), ClientError> {
        let mut rest = [0; 256];
        loop {
            match self.stream.read(&mut rest) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(PollFlags::IN)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The daemon is gone, which is all that was waited for.
                Err(_) => return Ok(()),
            }
        }
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), ClientError> {
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(PollFlags::OUT)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ClientError::BrokenOff(FrameError::Connection(error))),
            }
        }
        Ok(())
    }

    fn read_exact(&mut self, mut buffer: &mut [u8]) -> Result<(), ClientError> {
        while !buffer.is_empty() {
            match self.stream.read(buffer) {
                Ok(0) => {
                    let end = io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Err(ClientError::BrokenOff(FrameError::Connection(end)));
                }
                Ok(count) => buffer = buffer.get_mut(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(PollFlags::IN)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ClientError::BrokenOff(FrameError::Connection(error))),
            }
        }
        Ok(())
    }

    fn wait(&self, flags: PollFlags) -> Result<(), ClientError> {
        let timeout = match self.deadline {
            Some(deadline) => {
                let remaining = deadline.saturating_duration_since(Instant::now());
                Some(Timespec::try_from(remaining).map_err(|_| ClientError::TimedOut)?)
            }
            None => None,
        };
        let mut descriptors = [PollFd::new(&self.stream, flags)];
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(0) => Err(ClientError::TimedOut),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(ClientError::BrokenOff(FrameError::Connection(errno.into()))),
        }
    }
}
