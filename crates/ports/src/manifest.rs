//! The files of a working tree that a graph is made of, at one moment, and how two such moments differ.
//!
//! It must never read the disk; the `FileSystem` port takes manifests.

use std::fmt;
use std::path::PathBuf;

use crate::time::Timestamp;

/// What cgc makes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// It is parsed: its content decides what is in the graph.
    Parsed,
    /// It is stored as a bare node (`.md`, `.toml` …): only its coming, going and renaming changes the graph.
    Bare,
}

/// What the file system says about a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileStamp {
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content.
    pub modified: Timestamp,
    /// Last change of the inode; unlike `modified` it cannot be set back by a tool.
    pub changed: Timestamp,
    /// Inode number.
    pub inode: u64,
}

/// A BLAKE3 hash of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// One file of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestEntry {
    /// Relative to the workspace root; need not be UTF-8.
    pub path: PathBuf,
    /// What cgc makes of it.
    pub kind: FileKind,
    /// Its stamp when the manifest was taken.
    pub stamp: FileStamp,
    /// Its content, where it was hashed; bare files never are.
    pub hash: Option<ContentHash>,
}

/// The files of a working tree that cgc indexes, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    /// Sorted by path, each path once.
    pub entries: Vec<ManifestEntry>,
    /// When the scan began: a file whose stamp is not older than this is racily clean and has to be hashed.
    pub taken_at: Timestamp,
}

/// What keeps files out of a graph besides the ignore files of the workspace itself. `adapters/cgc` finds it out from
/// cgc's settings; an indexed file that is not in the manifest, or the other way round, would be drift for ever.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exclusions {
    /// The ignore file of the context in use (`global/.cgcignore` in cgc's own directory, that of a named context, or
    /// that of a repository's own context); it need not exist. `None` where no context applies.
    pub ignore_file: Option<PathBuf>,
    /// The names of directories that are never entered, in any case of letters (cgc's setting `IGNORE_DIRS`); `None`
    /// where nothing overrides cgc's default.
    pub directories: Option<Vec<String>>,
}

/// A digest over paths, kinds and contents of a manifest: two equal digests mean two equal trees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManifestDigest(pub String);

/// A file that kept its content and changed its path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rename {
    /// The path in the baseline.
    pub from: PathBuf,
    /// The path in the tree.
    pub to: PathBuf,
}

/// How a working tree differs from a baseline, each list sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    /// Parsed files with other content.
    pub edited: Vec<PathBuf>,
    /// Files that the baseline does not have.
    pub added: Vec<PathBuf>,
    /// Files that only the baseline has.
    pub deleted: Vec<PathBuf>,
    /// Files that moved with their content unchanged; they are in neither `added` nor `deleted`.
    pub renamed: Vec<Rename>,
}

impl Difference {
    /// Whether the two are equal.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many files differ.
    pub fn len(&self) -> usize {
        self.edited.len() + self.added.len() + self.deleted.len() + self.renamed.len()
    }
}

/// The result of comparing a working tree with a baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// What differs.
    pub difference: Difference,
    /// Parsed files whose stamps differ and whose content does not, sorted by path.
    pub touched: Vec<PathBuf>,
    /// How many files the working tree has, and how many of them are parsed.
    pub files: usize,
    /// How many of `files` are parsed.
    pub parsed_files: usize,
    /// The commit that HEAD names, where there is one.
    pub head: Option<String>,
}
