//! What is in a graph, as far as the companion can ask for it.
//!
//! It must never know files or locks; `database` keeps it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The repositories and files of one database, by absolute path.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Graph {
    pub(crate) repositories: BTreeMap<String, Repository>,
    pub(crate) files: BTreeMap<String, FileNode>,
}

/// A repository's own node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Repository {
    pub(crate) indexed_at: String,
    pub(crate) commit: Option<String>,
}

/// A file and the symbols in it.
#[derive(Debug, Clone, Default, Hash, Serialize, Deserialize)]
pub(crate) struct FileNode {
    pub(crate) is_parsed: bool,
    pub(crate) functions: BTreeSet<String>,
    pub(crate) classes: BTreeSet<String>,
}

/// A change of a graph, as it is logged.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    /// A job begins; one that never commits has left the graph half done.
    Begin,
    /// The job is complete.
    Commit,
    /// A repository is known from now on.
    Repository { path: String, repository: Repository },
    /// A file's symbols are added to those that it has.
    Merge { path: String, node: FileNode },
    /// A file's symbols are replaced.
    Replace { path: String, node: FileNode },
    /// A file is gone.
    Remove { path: String },
    /// A repository is gone with all its files.
    Delete { path: String },
}

impl Graph {
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Begin | Change::Commit => {}
            Change::Repository { path, repository } => {
                self.repositories.insert(path, repository);
            }
            Change::Merge { path, node } => {
                let known = self.files.entry(path).or_default();
                known.is_parsed |= node.is_parsed;
                known.functions.extend(node.functions);
                known.classes.extend(node.classes);
            }
            Change::Replace { path, node } => {
                self.files.insert(path, node);
            }
            Change::Remove { path } => {
                self.files.remove(&path);
            }
            Change::Delete { path } => {
                self.repositories.remove(&path);
                let below = format!("{path}/");
                self.files.retain(|file, _| !file.starts_with(&below));
            }
        }
    }

    /// Returns the files below `root`.
    pub(crate) fn files_below(&self, root: &str) -> impl Iterator<Item = (&String, &FileNode)> {
        let below = format!("{root}/");
        self.files.iter().filter(move |(path, _)| path.starts_with(&below))
    }
}

impl FileNode {
    /// How many functions the graph counts: each parsed file has a synthetic one for its top level.
    pub(crate) fn function_nodes(&self) -> usize {
        self.functions.len() + usize::from(self.is_parsed)
    }
}
