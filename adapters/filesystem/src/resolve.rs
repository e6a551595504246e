//! Finding the workspace of a directory.
//!
//! Responsible for taking the nearest git top level above the directory and for naming the places where a graph is
//! never created unasked. It must never run git and never use the process's own working directory.

use std::io;
use std::path::{Path, PathBuf};

use steward_ports::{FileSystemError, Workspace, WorkspaceKind, WorkspaceRoot};

use crate::git::{self, GitEntry};
use crate::head;

/// Returns the workspace of `directory`.
pub(crate) fn workspace(directory: &Path, home: Option<&Path>) -> Result<Workspace, FileSystemError> {
    let directory = canonical_directory(directory)?;
    let (root, kind) = nearest_top_level(&directory);
    let kind = if is_forbidden(&root, home) { WorkspaceKind::Forbidden } else { kind };
    Ok(Workspace { root: WorkspaceRoot::from_canonical(root), kind })
}

/// Returns the commit that HEAD names in the checkout whose top level is `root`; `None` where there is none.
pub(crate) fn head_commit(root: &Path) -> Result<Option<String>, FileSystemError> {
    match git::look_at(root) {
        GitEntry::Checkout(checkout) => Ok(head::commit(&checkout)),
        GitEntry::Absent | GitEntry::Bare | GitEntry::Malformed(_) => Ok(None),
        GitEntry::Unreadable(source) => Err(FileSystemError::Unreadable { path: root.join(".git"), source }),
    }
}

fn canonical_directory(directory: &Path) -> Result<PathBuf, FileSystemError> {
    if !directory.is_absolute() {
        return Err(FileSystemError::Unusable {
            path: directory.to_owned(),
            reason: "the path is not absolute".to_owned(),
        });
    }
    let canonical = directory.canonicalize().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            FileSystemError::Vanished { path: directory.to_owned() }
        }
        _ => FileSystemError::Unreadable { path: directory.to_owned(), source },
    })?;
    if canonical.is_dir() {
        Ok(canonical)
    } else {
        Err(FileSystemError::Unusable { path: directory.to_owned(), reason: "it is not a directory".to_owned() })
    }
}

fn nearest_top_level(directory: &Path) -> (PathBuf, WorkspaceKind) {
    for top in directory.ancestors() {
        let problem = match git::look_at(top) {
            GitEntry::Absent => continue,
            GitEntry::Bare => break,
            GitEntry::Checkout(checkout) => {
                let kind = WorkspaceKind::Repository { common_directory: checkout.common, worktree: checkout.worktree };
                return (top.to_owned(), kind);
            }
            GitEntry::Malformed(reason) => reason,
            GitEntry::Unreadable(error) => error.to_string(),
        };
        let entry = top.join(".git");
        tracing::warn!(path = %entry.display(), problem, "a .git file is taken for no worktree");
        // Its own entry stands for the repository, so that nothing is shared with the one it may point into.
        let kind = WorkspaceKind::Repository { common_directory: entry, worktree: None };
        return (top.to_owned(), kind);
    }
    (directory.to_owned(), WorkspaceKind::Plain)
}

/// The home directory and whatever contains it, the root of the file system included.
fn is_forbidden(root: &Path, home: Option<&Path>) -> bool {
    let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
    root.parent().is_none() || home.is_some_and(|home| home.starts_with(root))
}
