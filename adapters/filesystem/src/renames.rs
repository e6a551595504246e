//! Finding the files that only changed their path.
//!
//! Responsible for pairing what vanished with what appeared. It must never read the disk; what has to be hashed was
//! hashed before.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::hash::Hash;
use std::path::{Path, PathBuf};

use steward_ports::{ContentHash, FileKind, FileStamp, Rename, Timestamp};

/// A file that only one of two trees has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unpaired {
    /// Relative to the root.
    pub(crate) path: PathBuf,
    /// What cgc makes of it.
    pub(crate) kind: FileKind,
    /// Its stamp in its tree.
    pub(crate) stamp: FileStamp,
    /// Its content, where known.
    pub(crate) hash: Option<ContentHash>,
}

/// What by all that is known stays the same when a file is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Constant {
    /// A parsed file is its content.
    Content(ContentHash),
    /// A bare file is never read; a rename keeps these three.
    Inode(u64, u64, Timestamp),
}

impl Unpaired {
    fn constant(&self) -> Option<Constant> {
        match self.kind {
            FileKind::Parsed => self.hash.map(Constant::Content),
            FileKind::Bare => Some(Constant::Inode(self.stamp.inode, self.stamp.size, self.stamp.modified)),
        }
    }

    fn name(&self) -> Option<&OsStr> {
        self.path.file_name()
    }
}

/// Takes the pairs out of `deleted` and `added`, both sorted by path, and returns them sorted by their old path.
///
/// Where several files have the same content, the same inode is preferred, then the same name, then the order of paths.
pub(crate) fn pair(deleted: &mut Vec<Unpaired>, added: &mut Vec<Unpaired>) -> Vec<Rename> {
    let mut renames = Vec::new();
    pair_by(deleted, added, &mut renames, |file| Some((file.constant()?, file.stamp.inode)));
    pair_by(deleted, added, &mut renames, |file| Some((file.constant()?, file.name()?.to_owned())));
    pair_by(deleted, added, &mut renames, Unpaired::constant);
    renames.sort();
    renames
}

fn pair_by<Key: Eq + Hash>(
    deleted: &mut Vec<Unpaired>,
    added: &mut Vec<Unpaired>,
    renames: &mut Vec<Rename>,
    key: impl Fn(&Unpaired) -> Option<Key>,
) {
    let mut sources: HashMap<Key, VecDeque<&Path>> = HashMap::new();
    for file in deleted.iter() {
        if let Some(key) = key(file) {
            sources.entry(key).or_default().push_back(&file.path);
        }
    }
    let first = renames.len();
    added.retain(|file| {
        let source = key(file).and_then(|key| sources.get_mut(&key)).and_then(VecDeque::pop_front);
        if let Some(source) = source {
            renames.push(Rename { from: source.to_owned(), to: file.path.clone() });
        }
        source.is_none()
    });
    let mut paired: Vec<&Path> = renames[first..].iter().map(|rename| rename.from.as_path()).collect();
    paired.sort_unstable();
    deleted.retain(|file| paired.binary_search(&file.path.as_path()).is_err());
}
