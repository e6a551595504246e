//! A store below a scratch directory, and sample records for it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use steward_filesystem::{FileStore, SystemFileSystem};
use steward_ports::{
    Backend, ContentHash, DatabaseIdentity, FileKind, FileStamp, FileSystem, GraphCounts, Intent, JobKind, Manifest,
    ManifestEntry, ProcessIdentity, Receipt, Record, Scope, Store, SyncEngine, Timestamp, WorkspaceKind, WorkspaceRoot,
};

use crate::support::Sandbox;

pub(crate) fn workspace(path: &str) -> WorkspaceRoot {
    WorkspaceRoot::from_canonical(path.into())
}

pub(crate) fn manifest(content: u8) -> Manifest {
    let entry = |path: &[u8], kind, hash| ManifestEntry {
        path: std::ffi::OsStr::from_bytes(path).into(),
        kind,
        stamp: FileStamp {
            size: 7,
            modified: Timestamp::from_nanos(-1),
            changed: Timestamp::from_nanos(1_900_000_000_123_456_789),
            inode: u64::MAX,
        },
        hash,
    };
    Manifest {
        entries: vec![
            entry(b"README.md", FileKind::Bare, None),
            entry(b"caf\xe9.py", FileKind::Parsed, Some(ContentHash([content; 32]))),
            entry(b"src/unreadable.py", FileKind::Parsed, None),
        ],
        taken_at: Timestamp::from_nanos(1_900_000_000_987_654_321),
    }
}

pub(crate) fn database(path: &str) -> DatabaseIdentity {
    DatabaseIdentity {
        path: path.into(),
        device: 2049,
        inode: u64::MAX,
        size: 1 << 40,
        modified: Timestamp::from_nanos(1_900_000_000_000_000_001),
        log_size: 14,
    }
}

pub(crate) fn receipt(workspace: &WorkspaceRoot, manifest: &Manifest) -> Receipt {
    Receipt {
        workspace: workspace.clone(),
        kind: WorkspaceKind::Repository {
            common_directory: std::ffi::OsStr::from_bytes(b"/r/caf\xe9/100%/.git").into(),
            worktree: Some("wt".to_owned()),
        },
        head: Some("a".repeat(40)),
        manifest: SystemFileSystem.digest(manifest),
        files: 2,
        cgc_version: "0.6.13".to_owned(),
        backend: Backend::Ladybug,
        context: Some("wt-x".to_owned()),
        database: Some(database("/db/kuzudb")),
        counts: GraphCounts { files: 2, functions: 3, classes: 1 },
        indexed_at: Some("2026-11-30T00:00:00".to_owned()),
        graph_digest: Some("17/4".to_owned()),
        scope: Scope::Symbols,
        engine: SyncEngine::ChangedFiles,
        started_at: Timestamp::from_millis(1),
        finished_at: Timestamp::from_millis(2),
        full_index_at: Some(Timestamp::from_millis(-3)),
    }
}

pub(crate) fn intent(pid: u32) -> Intent {
    Intent {
        job: JobKind::Rebuild,
        started_at: Timestamp::from_nanos(1_900_000_000_000_000_003),
        owner: ProcessIdentity { pid, start_time: 99, boot_id: "boot".to_owned() },
    }
}

pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// The one file below the state directory whose name begins so.
pub(crate) fn file(state: &Path, prefix: &str) -> PathBuf {
    let found: Vec<PathBuf> = files_below(state)
        .into_iter()
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

pub(crate) struct Fixture {
    _sandbox: Sandbox,
    pub(crate) state: PathBuf,
    pub(crate) store: FileStore,
    pub(crate) workspace: WorkspaceRoot,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::new();
        let state = sandbox.path("home/.local/state/cgc-steward");
        Self {
            store: FileStore::new(state.clone()),
            workspace: workspace("/work tree/\u{e9}"),
            state,
            _sandbox: sandbox,
        }
    }

    pub(crate) async fn saved(manifest: &Manifest) -> Self {
        let fixture = Self::new();
        fixture.store.save_receipt(&receipt(&fixture.workspace, manifest), manifest).await.unwrap();
        fixture
    }

    pub(crate) async fn load(&self) -> Record {
        self.store.load(&self.workspace, None).await.unwrap()
    }
}
