//! Values that the unit tests are made of.
//!
//! It must never be compiled into anything else.

use std::path::PathBuf;
use std::sync::Arc;

use steward_ports::{
    Backend, Comparison, ContentHash, ContextMode, Difference, Environment, Exclusions, FileKind, FileStamp,
    GraphCounts, GraphLocation, GraphTarget, Installation, Inventory, Manifest, ManifestEntry, Timestamp,
};

use crate::event::Scan;

pub(crate) fn target(backend: Backend) -> GraphTarget {
    let database = (!backend.is_server()).then(|| PathBuf::from("/home/db/database"));
    GraphTarget {
        root: PathBuf::from("/repository"),
        installation: Installation { executable: PathBuf::from("/venv/bin/cgc"), interpreter: None, version: None },
        location: GraphLocation {
            backend,
            backend_source: "file magic".to_owned(),
            requested: None,
            database,
            context: None,
            mode: ContextMode::Global,
            exclusions: Exclusions::default(),
        },
        environment: Environment::default(),
    }
}

/// A parsed file with a stamp and a content that nobody looks at.
pub(crate) fn parsed(path: &str) -> ManifestEntry {
    let stamp = FileStamp { size: 1, modified: Timestamp::default(), changed: Timestamp::default(), inode: 1 };
    ManifestEntry { path: PathBuf::from(path), kind: FileKind::Parsed, stamp, hash: Some(ContentHash([0; 32])) }
}

pub(crate) fn manifest(paths: &[&str]) -> Manifest {
    Manifest { entries: paths.iter().map(|path| parsed(path)).collect(), taken_at: Timestamp::default() }
}

pub(crate) fn scan(paths: &[&str]) -> Scan {
    Scan { manifest: Arc::new(manifest(paths)), head: None }
}

pub(crate) fn inventory(paths: &[&str], functions: u64) -> Inventory {
    let files: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let counts = GraphCounts { files: files.len() as u64, functions, classes: 0 };
    Inventory { files, counts, indexed_at: None, commit: None, digest: None }
}

pub(crate) fn recheck(edited: &[&str]) -> Comparison {
    let difference = Difference { edited: edited.iter().map(PathBuf::from).collect(), ..Difference::default() };
    Comparison { difference, touched: Vec::new(), files: 0, parsed_files: 0, head: None }
}
