//! The protocol over a Unix socket.
//!
//! Responsible for where the socket is and whose it is, for reaching a daemon or starting one within a deadline
//! ([`client`]), and for accepting requests of the same user only ([`server`], behind the feature `server`). It must
//! never remove a socket without holding the daemon's lock, wait past a deadline, or hand a descriptor to a child.

mod build;
pub mod client;
pub mod environment;
mod lock;
mod runtime;
#[cfg(feature = "server")]
pub mod server;
mod start;

pub use build::build_of;
pub use lock::{Lock, LockError};
pub use runtime::{MAXIMUM_SOCKET_PATH, Runtime, RuntimeError};
pub use start::{ALLOCATOR, Start, StartError};
