//! A place for the hook to run in, and a scripted daemon to ask.
//!
//! It must never touch the user's own directories, and never start a real daemon: the program lies in a directory of
//! its own, where no daemon lies beside it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{PoisonError, RwLock, mpsc};
use std::thread;
use std::time::Duration;

use steward_wire::{Envelope, Reply, Request, read_frame, write_frame};
use tempfile::TempDir;

/// Excludes starting a process, which reads, while an executable is written. A child holds everything that is open until
/// it executes its own program, and what is held open for writing cannot be executed.
static EXECUTABLES: RwLock<()> = RwLock::new(());

/// How often an event is repeated on a machine that leaves no time to answer it.
const ATTEMPTS: usize = 20;

/// A home, a runtime directory and a copy of the program.
pub(crate) struct World {
    root: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for directory in ["bin", "home", "run"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        write_executable(|| {
            fs::copy(env!("CARGO_BIN_EXE_steward-claude-code"), root.path().join("bin/steward-claude-code")).unwrap();
        });
        Self { root }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn runtime_directory(&self) -> PathBuf {
        self.root.path().join("run")
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.root.path().join("bin/steward-claude-code")
    }

    /// Puts a shell script where the daemon belongs.
    pub(crate) fn install_daemon(&self, script: &str) {
        let path = self.root.path().join("bin/stewardd");
        write_executable(|| fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The program, not yet told what to do, with nothing in its environment but this world.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home())
            .env("XDG_RUNTIME_DIR", self.runtime_directory())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the hook on `payload`.
    pub(crate) fn hook(&self, payload: &[u8]) -> Output {
        feed(self.command(self.program()).arg("hook"), payload)
    }

    /// Binds the daemon's socket.
    pub(crate) fn listen(&self) -> UnixListener {
        UnixListener::bind(self.make_socket_path()).unwrap()
    }

    /// Makes the directory of the daemon's socket and returns where that belongs.
    pub(crate) fn make_socket_path(&self) -> PathBuf {
        let directory = self.runtime_directory().join("cgc-steward");
        fs::DirBuilder::new().mode(0o700).create(&directory).unwrap();
        directory.join("daemon.sock")
    }

    /// The causes that the hook logged, one an entry.
    pub(crate) fn logged(&self) -> Vec<String> {
        let path = self.home().join(".local/state/cgc-steward/hook-errors.log");
        let Ok(text) = fs::read_to_string(path) else { return Vec::new() };
        let entry = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text.lines().map(|line| entry(line)["error"].as_str().unwrap().to_owned()).collect()
    }
}

fn write_executable(write: impl FnOnce()) {
    let _nothing_is_started = EXECUTABLES.write().unwrap_or_else(PoisonError::into_inner);
    write();
}

/// Runs `command` with `payload` on its standard input, to the end of its output.
pub(crate) fn feed(command: &mut Command, payload: &[u8]) -> Output {
    let mut child = {
        let _no_executable_is_written = EXECUTABLES.read().unwrap_or_else(PoisonError::into_inner);
        // Returns once the child executes its program.
        command.spawn().unwrap()
    };
    child.stdin.take().unwrap().write_all(payload).unwrap();
    child.wait_with_output().unwrap()
}

/// A daemon that gives every client the same answer.
pub(crate) struct Answering {
    requests: mpsc::Receiver<Envelope>,
    tells: bool,
}

impl Answering {
    pub(crate) fn new(world: &World, reply: Reply) -> Self {
        let listener = world.listen();
        let (sender, requests) = mpsc::channel();
        let tells = matches!(&reply, Reply::Delivery { notices, .. } if !notices.is_empty());
        thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                // A hook that has given up is not answered.
                let Ok(envelope) = read_frame(&mut client) else { continue };
                if write_frame(&mut client, &reply).is_ok() && sender.send(envelope).is_err() {
                    break;
                }
            }
        });
        Self { requests, tells }
    }

    /// Returns what the daemon was told by `run`, which runs a hook, and the hook's output. A machine out of breath may
    /// let a hook give up; so it is run again until it was heard, and its answer came where there is one.
    pub(crate) fn heard(&self, run: impl Fn() -> Output) -> (Envelope, Output) {
        attempt(|| {
            let output = run();
            let envelope = self.requests.recv_timeout(Duration::from_secs(1)).ok()?;
            (!self.tells || !output.stdout.is_empty() || !carries_notices(&envelope)).then_some((envelope, output))
        })
    }
}

fn carries_notices(envelope: &Envelope) -> bool {
    matches!(&envelope.request, Request::Event { carries, .. } if carries.notices)
}

/// Returns what one of several attempts brings.
pub(crate) fn attempt<T>(mut trial: impl FnMut() -> Option<T>) -> T {
    (0..ATTEMPTS).find_map(|_| trial()).unwrap()
}

/// Hands every client to `treat`.
pub(crate) fn treat_all(listener: UnixListener, treat: impl Fn(UnixStream) + Send + 'static) {
    thread::spawn(move || listener.incoming().for_each(|client| treat(client.unwrap())));
}

/// Asserts that `payload` is not answered, that the harness sees nothing of it, and that `problem` is logged. A machine
/// out of breath may let a hook give up before it meets the problem, so the event is repeated until it did.
pub(crate) fn assert_logged(world: &World, payload: &[u8], problem: &str) {
    for _ in 0..ATTEMPTS {
        assert_silent(&world.hook(payload));
        if world.logged().iter().any(|error| error.contains(problem)) {
            return;
        }
    }
    panic!("{problem:?} was not logged: {:?}", world.logged());
}

/// Asserts what has to hold whatever happened: exit 0, and nothing that the harness would show or misread.
pub(crate) fn assert_silent(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
