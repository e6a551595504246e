//! Each task is one port call, and its answer is the next event.
//!
//! It must never test what the machine makes of an answer.

mod inspections;
mod receipts;
mod runs;
mod trees_and_intents;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use mockall::predicate::{always, eq};
use rstest::rstest;
use steward_doubles::mocks::{
    MockClock, MockFileSystem, MockGraphTool, MockLockProbe, MockNotifier, MockProcessWatch, MockRunner, MockStore,
};
use steward_lifecycle::{Event, Ports, Problem, ReceiptDraft, RunEvent, Task, perform};
use steward_ports::{
    Captured, CommandSpec, DatabaseIdentity, Ended, Environment, Exclusions, Exit, FileSystemError, GraphToolError,
    GroupId, JobKind, LockProbeError, LockState, ManifestDigest, Milestone, Notice, NoticeKind, NotifyError,
    OutputLine, OutputStream, ProcessEvent, ProcessIdentity, Receipt, Record, RunnerError, Scope, Stop, StoreError,
    SyncEngine, Timestamp, Verb, Verdict,
};

use crate::support::*;

const GROUP: GroupId = GroupId(3);
const NOW: Timestamp = Timestamp::from_millis(77);

/// A mock for each port; a port that a test does not set up must not be called.
#[derive(Default)]
struct Mocks {
    runner: MockRunner,
    files: MockFileSystem,
    store: MockStore,
    locks: MockLockProbe,
    graph: MockGraphTool,
    notifier: MockNotifier,
    clock: MockClock,
    processes: MockProcessWatch,
}

impl Mocks {
    fn perform(self, task: Task) -> Option<Event> {
        let ports = Ports {
            runner: Arc::new(self.runner),
            files: Arc::new(self.files),
            store: Arc::new(self.store),
            locks: Arc::new(self.locks),
            graph: Arc::new(self.graph),
            notifier: Arc::new(self.notifier),
            clock: Arc::new(self.clock),
            processes: Arc::new(self.processes),
            own: own_process(),
        };
        perform(task, &root(), &ports).now_or_never().expect("a mock never waits")
    }
}

fn denied() -> io::Error {
    io::Error::from(io::ErrorKind::PermissionDenied)
}

fn no_store() -> StoreError {
    StoreError::Unusable { path: PathBuf::from("/state"), source: denied() }
}

fn no_files() -> FileSystemError {
    FileSystemError::Unreadable { path: PathBuf::from(ROOT), source: denied() }
}

fn no_cgc_files() -> GraphToolError {
    GraphToolError::Unreadable { path: PathBuf::from("/home/.env"), source: denied() }
}

fn problem(text: &str) -> Problem {
    Problem(format!("{text}: permission denied"))
}

fn command() -> CommandSpec {
    CommandSpec {
        program: PathBuf::from("/venv/bin/cgc"),
        arguments: vec!["index".into()],
        directory: PathBuf::from(ROOT),
        environment: Environment::default(),
        capture_limit: 1024,
        orphan_grace: Duration::from_secs(5),
        niceness: 10,
    }
}

fn ended() -> Ended {
    Ended {
        exit: Exit::Code(0),
        stdout: Captured::default(),
        stderr: Captured::default(),
        elapsed: Duration::from_secs(1),
    }
}

fn notice() -> Notice {
    Notice { kind: NoticeKind::Busy, text: "It is held.".to_owned(), advice: None }
}

fn follow() -> Task {
    Task::Follow { group: GROUP, verb: Verb::Reconcile, target: Box::new(target()), ready: true }
}

fn inspect() -> Task {
    Task::Inspect(terms(false, true).query)
}
