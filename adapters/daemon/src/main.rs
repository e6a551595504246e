//! `stewardd`: started on demand by the first harness binary, gone soon after the last session.
//!
//! Responsible for the order of starting and ending. It must never stay without the daemon's lock, and never end before
//! nothing that it started is left.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use steward_daemon::{ComposeError, Composition, Driver, Identity, compose, start_log};
use steward_ipc::server::{Server, ServerError};
use steward_ipc::{LockError, Runtime, RuntimeError, build_of};
use steward_lifecycle::Problem;
use thiserror::Error;
use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Debug, Error)]
enum DaemonError {
    #[error("our own executable cannot be found")]
    Executable(#[source] io::Error),
    #[error("the runtime directory cannot be used")]
    Runtime(#[source] RuntimeError),
    #[error("the event loop cannot be built")]
    EventLoop(#[source] io::Error),
    #[error("the ports cannot be bound")]
    Compose(#[source] ComposeError),
    #[error("the socket cannot be served")]
    Server(#[source] ServerError),
    #[error("signals cannot be heard")]
    Signals(#[source] io::Error),
}

fn main() -> ExitCode {
    steward_process::close_inherited_descriptors();
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        // Another client started one first, which is as good.
        Err(DaemonError::Server(ServerError::Lock(LockError::Held { .. }))) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<(), DaemonError> {
    let executable = std::env::current_exe().map_err(DaemonError::Executable)?;
    let runtime = Runtime::locate(std::env::var_os("XDG_RUNTIME_DIR").as_deref()).map_err(DaemonError::Runtime)?;
    let event_loop = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // A thread that waits for work costs memory; file reads are rare enough to start one anew.
        .thread_keep_alive(std::time::Duration::from_secs(1))
        .max_blocking_threads(4)
        .build()
        .map_err(DaemonError::EventLoop)?;
    event_loop.block_on(serve(&executable, &runtime))
}

async fn serve(executable: &Path, runtime: &Runtime) -> Result<(), DaemonError> {
    let build = build_of(executable);
    let server = Server::bind(runtime, build.clone()).map_err(DaemonError::Server)?;
    let stop = Stop::listen().map_err(DaemonError::Signals)?;
    let socket = server.socket().to_path_buf();
    let (requests, serving) = server.serve();
    // Whoever started us waits for this line; what follows need not hold anybody up.
    announce(&socket);
    let Composition { ports, outbox, state } = compose(executable, variable).await.map_err(DaemonError::Compose)?;
    let level = std::env::var("STEWARD_LOG").ok();
    if let Err(error) = start_log(&state, level.as_deref()) {
        complain(&error);
    }
    match ports.runner.sweep().await {
        Ok(0) => {}
        Ok(ended) => tracing::warn!(ended, "processes of an earlier daemon were ended"),
        Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "leftovers could not be looked for"),
    }
    let identity =
        Identity { pid: std::process::id(), build: build_of(executable), socket, boot_id: ports.own.boot_id.clone() };
    tracing::info!(pid = identity.pid, "listening");
    let stopping = Driver::new(ports, outbox, identity).run(requests, stop.heard()).await;
    serving.close().await;
    tracing::info!("ended");
    drop(stopping);
    Ok(())
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Tells whoever started us that the socket is bound, and lets go of their pipe.
fn announce(socket: &Path) {
    let mut stdout = io::stdout();
    // A starter that has given up reads nothing.
    let _unread = writeln!(stdout, "ready {}", socket.display()).and_then(|()| stdout.flush()).err();
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty());
    if let Ok(null) = null {
        // Where this fails the starter's pipe stays open, and nobody reads it to its end.
        let _kept = rustix::stdio::dup2_stdout(&null).err();
    }
}

#[expect(clippy::print_stderr, reason = "before the log is open there is no other place")]
fn complain(error: &dyn std::error::Error) {
    eprintln!("stewardd: {}", Problem::from_error(error).0);
}

struct Stop {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Stop {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn heard(mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
