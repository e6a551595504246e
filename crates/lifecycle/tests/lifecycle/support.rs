//! Values that the tests are made of.
//!
//! It must never assert.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use steward_lifecycle::{Effect, Event, Inspection, Lifecycle, Policy, Scan, Task, Terms};
use steward_ports::{
    Backend, Comparison, ContentHash, ContextMode, DatabaseIdentity, Difference, Environment, Exclusions, FileKind,
    FileStamp, GraphCounts, GraphFacts, GraphLocation, GraphQuery, GraphTarget, Holder, Installation, Intent,
    Inventory, JobKind, LockState, Manifest, ManifestDigest, ManifestEntry, Notice, ProcessIdentity, Receipt, Record,
    Scope, SessionId, SyncEngine, Tick, Timestamp, WorkspaceKind, WorkspaceRoot,
};

pub(crate) const ROOT: &str = "/repository";
pub(crate) const DATABASE: &str = "/home/db/kuzudb";

pub(crate) fn root() -> WorkspaceRoot {
    WorkspaceRoot::from_canonical(PathBuf::from(ROOT))
}

pub(crate) fn session(name: &str) -> SessionId {
    SessionId::new(name)
}

pub(crate) fn own_process() -> ProcessIdentity {
    ProcessIdentity { pid: 100, start_time: 1, boot_id: "boot".to_owned() }
}

pub(crate) fn repository() -> WorkspaceKind {
    WorkspaceKind::Repository { common_directory: PathBuf::from("/repository/.git"), worktree: None }
}

pub(crate) fn terms(auto_create: bool, sync_on_start: bool) -> Terms {
    Terms {
        policy: Policy {
            auto_create,
            sync_on_start,
            command_timeout: Duration::from_secs(30),
            maintenance_timeout: Duration::from_mins(10),
        },
        query: GraphQuery {
            root: PathBuf::from(ROOT),
            executable: PathBuf::from("cgc"),
            environment: Environment::default(),
        },
    }
}

pub(crate) fn joined(name: &str) -> Event {
    Event::Joined { session: session(name), terms: terms(false, true) }
}

pub(crate) fn location() -> GraphLocation {
    GraphLocation {
        backend: Backend::Kuzu,
        backend_source: "file magic".to_owned(),
        requested: None,
        database: Some(PathBuf::from(DATABASE)),
        context: None,
        mode: ContextMode::Global,
        exclusions: Exclusions::default(),
    }
}

pub(crate) fn database() -> DatabaseIdentity {
    DatabaseIdentity {
        path: PathBuf::from(DATABASE),
        device: 1,
        inode: 2,
        size: 4096,
        modified: Timestamp::from_nanos(3),
        log_size: 0,
    }
}

pub(crate) fn installation() -> Installation {
    Installation {
        executable: PathBuf::from("/venv/bin/cgc"),
        interpreter: Some(PathBuf::from("/venv/bin/python")),
        version: Some("0.6.13".to_owned()),
    }
}

pub(crate) fn facts() -> GraphFacts {
    GraphFacts {
        installation: installation(),
        location: location(),
        database: Some(database()),
        certainly_unindexed: false,
        unreadable_magic: false,
        grammars_missing: false,
    }
}

pub(crate) fn target() -> GraphTarget {
    GraphTarget {
        root: PathBuf::from(ROOT),
        installation: installation(),
        location: location(),
        environment: Environment::default(),
    }
}

pub(crate) fn counts() -> GraphCounts {
    GraphCounts { files: 1, functions: 2, classes: 0 }
}

pub(crate) fn receipt() -> Receipt {
    Receipt {
        workspace: root(),
        kind: repository(),
        head: Some("commit".to_owned()),
        manifest: ManifestDigest("digest".to_owned()),
        files: 1,
        cgc_version: "0.6.13".to_owned(),
        backend: Backend::Kuzu,
        context: None,
        database: Some(database()),
        counts: counts(),
        indexed_at: Some("yesterday".to_owned()),
        graph_digest: Some("17/4".to_owned()),
        scope: Scope::Exact,
        engine: SyncEngine::Full,
        started_at: Timestamp::from_millis(1),
        finished_at: Timestamp::from_millis(2),
        full_index_at: Some(Timestamp::from_millis(2)),
    }
}

pub(crate) fn intent(job: JobKind) -> Intent {
    Intent { job, started_at: Timestamp::from_millis(5), owner: own_process() }
}

/// A graph that was proved and not written since.
pub(crate) fn trusted_record() -> Record {
    Record { receipt: Some(receipt()), intent: None, database: Some(database()), last_backend: Some(Backend::Kuzu) }
}

pub(crate) fn inspection(record: Record) -> Inspection {
    Inspection {
        facts: Ok(facts()),
        lock: Some(LockState::Free),
        record,
        intent_is_foreign: false,
        problems: Vec::new(),
    }
}

pub(crate) fn trusted() -> Inspection {
    inspection(trusted_record())
}

pub(crate) fn no_database() -> Inspection {
    let mut found = inspection(Record::default());
    found.facts = Ok(GraphFacts { database: None, certainly_unindexed: true, ..facts() });
    found.lock = Some(LockState::Absent);
    found
}

/// A database that the companion has not seen before.
pub(crate) fn unknown_database() -> Inspection {
    inspection(Record::default())
}

/// A graph that was proved, in a database that was written since.
pub(crate) fn rewritten_database() -> Inspection {
    let mut found = trusted();
    found.record.database = Some(DatabaseIdentity { modified: Timestamp::from_nanos(1), ..database() });
    found
}

pub(crate) fn holder() -> Holder {
    Holder { pid: Some(4711), name: "cgc mcp".to_owned(), directory: None }
}

pub(crate) fn inventory() -> Inventory {
    Inventory {
        files: vec![PathBuf::from("a.py")],
        counts: counts(),
        indexed_at: Some("yesterday".to_owned()),
        commit: None,
        digest: Some("17/4".to_owned()),
    }
}

pub(crate) fn manifest() -> Manifest {
    let stamp = FileStamp { size: 1, modified: Timestamp::default(), changed: Timestamp::default(), inode: 1 };
    let entry =
        ManifestEntry { path: PathBuf::from("a.py"), kind: FileKind::Parsed, stamp, hash: Some(ContentHash([7; 32])) };
    Manifest { entries: vec![entry], taken_at: Timestamp::from_millis(9) }
}

pub(crate) fn scan() -> Scan {
    Scan { manifest: Arc::new(manifest()), head: Some("commit".to_owned()) }
}

pub(crate) fn comparison(difference: Difference) -> Comparison {
    Comparison { difference, touched: Vec::new(), files: 1, parsed_files: 1, head: Some("commit".to_owned()) }
}

pub(crate) fn unchanged() -> Comparison {
    comparison(Difference::default())
}

pub(crate) fn edited() -> Comparison {
    comparison(Difference { edited: vec![PathBuf::from("a.py")], ..Difference::default() })
}

pub(crate) fn lifecycle() -> Lifecycle {
    Lifecycle::new(root(), repository())
}

pub(crate) fn tasks(effects: &[Effect]) -> Vec<&Task> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Task(task) => Some(task),
            Effect::Acquire(_) | Effect::Release(_) | Effect::Answer { .. } => None,
        })
        .collect()
}

/// What each session was told by `effects`, in order.
pub(crate) fn notices(effects: &[Effect]) -> Vec<(&SessionId, &Notice)> {
    tasks(effects)
        .into_iter()
        .filter_map(|task| match task {
            Task::Notify { session, notice } => Some((session, notice)),
            _ => None,
        })
        .collect()
}

/// Hears `events` one after the other at the start of time and returns the effects of the last.
pub(crate) fn hear(lifecycle: &mut Lifecycle, events: impl IntoIterator<Item = Event>) -> Vec<Effect> {
    let mut effects = Vec::new();
    for event in events {
        effects = lifecycle.on(event, Tick::default());
    }
    effects
}
