//! The server: binds the socket under the daemon's lock, admits the same user only, frames requests and replies.
//!
//! It must never interpret a request, wait without a bound for a client that says nothing, or wake up while nobody talks.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use steward_wire::{Build, Envelope, FrameError, Hello, PROTOCOL, Reply, body_length, decode, encode};
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, watch};

use crate::lock::{Lock, LockError};
use crate::runtime::Runtime;

/// How long a client may take to say what it wants.
const REQUEST_DEADLINE: Duration = Duration::from_secs(2);
/// How long a client may take to read a reply.
const REPLY_DEADLINE: Duration = Duration::from_secs(5);
/// Replies that may wait for a slow client.
const REPLY_QUEUE: usize = 64;
/// Clients that are served at a time; more wait in the socket's backlog.
const CONVERSATIONS: usize = 128;
/// How long the end of the daemon waits for replies that were given and not yet written.
const FLUSH_DEADLINE: Duration = Duration::from_secs(1);
/// Requests that may wait for the daemon.
const REQUEST_QUEUE: usize = 256;

/// A request that arrived.
#[derive(Debug)]
pub struct Incoming {
    /// What is asked.
    pub envelope: Envelope,
    /// Where the replies go. The connection closes after the last reply, or after `Stopping` once all senders are
    /// dropped; the channel closes when the client goes away.
    pub replies: mpsc::Sender<Reply>,
}

/// Why the daemon cannot listen.
#[derive(Debug, Error)]
pub enum ServerError {
    /// Another daemon runs, or the lock cannot be used.
    #[error("the daemon's lock was not taken")]
    Lock(#[source] LockError),
    /// The socket cannot be bound.
    #[error("the socket {} cannot be bound", socket.display())]
    Bind {
        /// The socket.
        socket: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A bound socket. The lock is held, and no other daemon of this user runs, until this is dropped.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    socket: PathBuf,
    build: Build,
    _lock: Lock,
}

impl Server {
    /// Takes the daemon's lock, removes a socket that a dead daemon left, and binds. `build` is what clients of another
    /// protocol are told. Must be called inside a runtime.
    pub fn bind(runtime: &Runtime, build: Build) -> Result<Self, ServerError> {
        let lock = Lock::try_take(&runtime.daemon_lock()).map_err(ServerError::Lock)?;
        let socket = runtime.socket();
        let failed = |source| ServerError::Bind { socket: socket.clone(), source };
        match std::fs::remove_file(&socket) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let listener = UnixListener::bind(&socket).map_err(failed)?;
        Ok(Self { listener, socket, build, _lock: lock })
    }

    /// The socket's path.
    pub fn socket(&self) -> &std::path::Path {
        &self.socket
    }

    /// Returns the requests as they arrive. The returned handle keeps the server accepting and holds the lock.
    pub fn serve(self) -> (mpsc::Receiver<Incoming>, Serving) {
        let (requests, receiver) = mpsc::channel(REQUEST_QUEUE);
        let socket = self.socket.clone();
        let (unanswered, answered) = watch::channel(0_usize);
        let accepting = tokio::spawn(async move { self.accept(requests, unanswered).await });
        (receiver, Serving { accepting, socket, unanswered: answered })
    }

    async fn accept(self, requests: mpsc::Sender<Incoming>, unanswered: watch::Sender<usize>) {
        let own = rustix::process::getuid().as_raw();
        let places = Arc::new(Semaphore::new(CONVERSATIONS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => match stream.peer_cred() {
                    Ok(peer) if peer.uid() == own => {
                        let requests = requests.clone();
                        let unanswered = Unanswered::new(unanswered.clone());
                        let build = self.build.clone();
                        tokio::spawn(async move {
                            converse(stream, requests, unanswered, build).await;
                            drop(place);
                        });
                    }
                    Ok(peer) => tracing::warn!(uid = peer.uid(), "a client of another user was refused"),
                    Err(error) => tracing::warn!(%error, "a client without credentials was refused"),
                },
                Err(error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    // Out of descriptors: without a pause this loop would spin until one is free.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// A server that accepts.
#[derive(Debug)]
pub struct Serving {
    accepting: tokio::task::JoinHandle<()>,
    socket: PathBuf,
    unanswered: watch::Receiver<usize>,
}

impl Serving {
    /// Writes the replies that were given, stops accepting, removes the socket and gives the lock up, in this order.
    pub async fn close(mut self) {
        let flushed = self.unanswered.wait_for(|unanswered| *unanswered == 0);
        if tokio::time::timeout(FLUSH_DEADLINE, flushed).await.is_err() {
            tracing::warn!("some clients did not take their replies");
        }
        // The socket goes while the lock is still held: afterwards it could be the next daemon's.
        if let Err(error) = std::fs::remove_file(&self.socket) {
            tracing::warn!(%error, "the socket could not be removed");
        }
        self.accepting.abort();
        // An aborted task returns an error, which is what is wanted.
        let _aborted = self.accepting.await.err();
    }
}

/// Counts a conversation until its last reply is written or its client is gone.
#[derive(Debug)]
struct Unanswered(watch::Sender<usize>);

impl Unanswered {
    fn new(count: watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

async fn converse(mut stream: UnixStream, requests: mpsc::Sender<Incoming>, unanswered: Unanswered, build: Build) {
    let envelope = match tokio::time::timeout(REQUEST_DEADLINE, read_request(&mut stream, &build)).await {
        Ok(Ok(Asked::Envelope(envelope))) => *envelope,
        Ok(Ok(Asked::OtherProtocol(reply))) => {
            // Whether the client still reads it is its own affair.
            let _unsent = write_reply(&mut stream, &reply).await.err();
            return;
        }
        Ok(Err(error)) => return tracing::debug!(%error, "a request could not be read"),
        Err(_) => return tracing::debug!("a client said nothing"),
    };
    let (replies, mut pending) = mpsc::channel(REPLY_QUEUE);
    if requests.send(Incoming { envelope, replies }).await.is_err() {
        return;
    }
    let mut unanswered = Some(unanswered);
    let mut byte = [0];
    loop {
        tokio::select! {
            reply = pending.recv() => match reply {
                Some(reply) => {
                    if let Err(error) = write_reply(&mut stream, &reply).await {
                        return tracing::debug!(%error, "a reply could not be sent");
                    }
                    if matches!(reply, Reply::Stopping { .. }) {
                        // The client waits for the end of this connection, which is the end of the daemon.
                        drop(unanswered.take());
                    } else if reply.is_last() {
                        return;
                    }
                }
                None => return,
            },
            // A client has nothing more to say, so anything readable is its end.
            _ = stream.read(&mut byte) => return,
        }
    }
}

enum Asked {
    Envelope(Box<Envelope>),
    /// The request is none of this protocol's; the reply says so.
    OtherProtocol(Reply),
}

/// Reads a request. One of another protocol need not be readable as a whole to be answered.
async fn read_request(stream: &mut UnixStream, build: &Build) -> Result<Asked, FrameError> {
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix).await.map_err(FrameError::Connection)?;
    let mut body = vec![0; body_length(prefix)?];
    stream.read_exact(&mut body).await.map_err(FrameError::Connection)?;
    match decode(&body) {
        Ok(envelope) => Ok(Asked::Envelope(Box::new(envelope))),
        Err(error) => match decode::<Hello>(&body) {
            Ok(hello) if hello.protocol != PROTOCOL => {
                Ok(Asked::OtherProtocol(Reply::Incompatible { protocol: PROTOCOL, build: build.clone() }))
            }
            Ok(_) | Err(_) => Err(error),
        },
    }
}

async fn write_reply(stream: &mut UnixStream, reply: &Reply) -> Result<(), FrameError> {
    let frame = encode(reply)?;
    match tokio::time::timeout(REPLY_DEADLINE, stream.write_all(&frame)).await {
        Ok(written) => written.map_err(FrameError::Connection),
        Err(_) => Err(FrameError::Connection(io::Error::from(io::ErrorKind::TimedOut))),
    }
}
