//! Reading the user's files: workspaces, working trees and small configuration files.
//!
//! It must never write into a workspace, follow a symbolic link out of it, or run git.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use thiserror::Error;

use crate::manifest::{Comparison, Exclusions, FileKind, Manifest, ManifestDigest};

/// The canonical directory whose graph is looked after: absolute, symbolic links resolved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceRoot(PathBuf);

impl WorkspaceRoot {
    /// Takes a path that an adapter has made canonical.
    pub fn from_canonical(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

/// What kind of place a workspace is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// The top level of a git checkout.
    Repository {
        /// The canonical common directory that all worktrees of the repository share.
        common_directory: PathBuf,
        /// The worktree's name in the common directory's `worktrees` store; `None` for a main checkout.
        worktree: Option<String>,
    },
    /// A directory outside any repository. A graph is never created there automatically.
    Plain,
    /// The home directory or one that contains it, as the root of the file system does. A graph is never created there
    /// automatically.
    Forbidden,
}

/// A resolved workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Where it is.
    pub root: WorkspaceRoot,
    /// What it is.
    pub kind: WorkspaceKind,
}

/// The content of a small text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileText {
    /// There is no such file.
    Absent,
    /// The text; a byte order mark is dropped.
    Text(String),
}

/// Why a file or directory could not be read.
#[derive(Debug, Error)]
pub enum FileSystemError {
    /// The system refused.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// It is larger than the caller accepts, not a regular file, or not UTF-8.
    #[error("{} is not a usable file: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The directory is gone.
    #[error("directory {} does not exist", path.display())]
    Vanished {
        /// The directory.
        path: PathBuf,
    },
}

/// Reads workspaces and their files. Every call reads the disk as it is; nothing is cached and nothing is written.
#[async_trait]
pub trait FileSystem: Send + Sync {
    /// Returns the workspace of `directory`: the nearest git top level above it, else the directory itself.
    /// `home` is the user's home directory, which is never taken for a workspace with a graph of its own accord.
    async fn resolve_workspace<'a>(
        &self,
        directory: &Path,
        home: Option<&'a Path>,
    ) -> Result<Workspace, FileSystemError>;

    /// Reads a regular file of at most `limit` bytes as UTF-8, without waiting on pipes or devices.
    async fn read_text(&self, path: &Path, limit: u64) -> Result<FileText, FileSystemError>;

    /// Takes the manifest of `root` with every parsed file's hash. A hash is taken over from `previous` where the stamp
    /// proves that the content is the same. Files that vanish meanwhile are left out.
    async fn scan<'a>(
        &self,
        root: &Path,
        exclusions: &Exclusions,
        previous: Option<&'a Manifest>,
    ) -> Result<Manifest, FileSystemError>;

    /// Compares the working tree with `baseline`. A file is hashed only where its stamp differs or is racily clean, or
    /// where it may be another one's new name.
    async fn compare(
        &self,
        root: &Path,
        exclusions: &Exclusions,
        baseline: &Manifest,
    ) -> Result<Comparison, FileSystemError>;

    /// Returns the commit that HEAD of the checkout at `root` names; `None` where there is none or its format is not
    /// readable as files.
    async fn head(&self, root: &Path) -> Result<Option<String>, FileSystemError>;

    /// Returns what cgc makes of a file with the name of `path`, `None` where it does not index such files. Reads
    /// nothing: whether an ignore file leaves it out is for a look at the tree to say.
    fn kind_by_name(&self, path: &Path) -> Option<FileKind>;

    /// Returns the digest of `manifest`.
    fn digest(&self, manifest: &Manifest) -> ManifestDigest;
}
