//! The files of an embedded database, looked at from outside.
//!
//! It must never open one as a database, and never change a byte of it; `set_aside` only renames.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;
use steward_ports::{Backend, DatabaseIdentity, GraphToolError, Timestamp};

use crate::files;

/// The write-ahead log comes first: until it is gone a database is what its last checkpoint left.
const LOG: &str = ".wal";

/// What Kuzu 0.11 and Ladybug 0.19 keep beside a database, most of it only for moments.
const COMPANIONS: [&str; 6] =
    [LOG, ".wal.checkpoint", ".shadow", ".tmp", ".checkpoint.intent.lock", ".checkpoint.apply.lock"];

/// How much of a database is held in memory while its bytes are searched.
const CHUNK: usize = 1 << 20;

/// What a database file's bytes say, without opening it as a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// No file keeps this graph.
    NotAFile,
    /// There is no file, or an empty one.
    Nothing,
    /// A database in which the workspace's path occurs nowhere.
    WithoutWorkspace,
    /// A database in which the workspace's path occurs. That proves nothing: a deleted graph leaves its bytes behind.
    MentionsWorkspace,
    /// Its first bytes are those of no known backend.
    UnknownFormat,
}

impl Contents {
    /// Whether the workspace was certainly never indexed here.
    pub(crate) fn is_certainly_without_workspace(self) -> bool {
        match self {
            Self::Nothing | Self::WithoutWorkspace => true,
            Self::NotAFile | Self::MentionsWorkspace | Self::UnknownFormat => false,
        }
    }
}

/// Returns how the database file looks now, `None` where there is none.
pub(crate) fn identify(path: &Path) -> Result<Option<DatabaseIdentity>, GraphToolError> {
    let Some(metadata) = present(path, fs::metadata(path))? else {
        return Ok(None);
    };
    let log = beside(path, LOG);
    let log_size = present(&log, fs::metadata(&log))?.map_or(0, |metadata| metadata.len());
    Ok(Some(DatabaseIdentity {
        path: path.to_path_buf(),
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.len(),
        modified: Timestamp::from_nanos(
            i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
        ),
        log_size,
    }))
}

/// Returns the backend whose magic the file begins with; `None` for no file, an empty one and an unknown magic.
pub(crate) fn backend_of(path: &Path) -> Result<Option<Backend>, GraphToolError> {
    let start = match files::read_start(path, 5) {
        // A directory or a device is no database; what opens it will say so.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => None,
        result => present(path, result)?,
    };
    Ok(start.and_then(|start| magic(&start)))
}

/// Searches the database and its log for the path of the workspace. Reads each at most once, in bounded memory.
///
/// Kuzu 0.11 and Ladybug 0.19 store strings uncompressed, so a path that occurs nowhere was never indexed. The log
/// counts as well: until the first checkpoint everything is in it.
pub(crate) fn look_into(path: &Path, root: &Path) -> Result<Contents, GraphToolError> {
    let size = present(path, fs::metadata(path))?.map_or(0, |metadata| metadata.len());
    if size == 0 {
        return Ok(Contents::Nothing);
    }
    match backend_of(path)? {
        Some(Backend::Kuzu | Backend::Ladybug) => {}
        // FalkorDB compresses its dumps, so its bytes say nothing.
        Some(Backend::FalkorLite | Backend::FalkorRemote | Backend::Neo4j | Backend::Unknown) => {
            return Ok(Contents::MentionsWorkspace);
        }
        None => return Ok(Contents::UnknownFormat),
    }
    let finder = Finder::new(root.as_os_str().as_bytes());
    for file in [path.to_path_buf(), beside(path, LOG)] {
        if present(&file, contains(&file, &finder))?.unwrap_or(false) {
            return Ok(Contents::MentionsWorkspace);
        }
    }
    Ok(Contents::WithoutWorkspace)
}

/// Renames the database with all that belongs to it to the first free `NAME.set-aside-N`, and returns that path.
///
/// The database itself goes last: a crash in between leaves it under its old name with its log set aside, which both
/// backends open at its last checkpoint.
pub(crate) fn set_aside(database: &Path) -> Result<PathBuf, GraphToolError> {
    let target = (1..10_000)
        .map(|number| beside(database, &format!(".set-aside-{number}")))
        .find(|candidate| family(candidate).all(|file| fs::symlink_metadata(file).is_err()))
        .unwrap_or_else(|| beside(database, ".set-aside"));
    let parts = COMPANIONS.iter().map(|suffix| (beside(database, suffix), beside(&target, suffix)));
    for (from, to) in parts {
        present(&from, fs::rename(&from, to))?;
    }
    fs::rename(database, &target)
        .map_err(|source| GraphToolError::Unreadable { path: database.to_path_buf(), source })?;
    Ok(target)
}

fn magic(start: &[u8]) -> Option<Backend> {
    [(&b"KUZU"[..], Backend::Kuzu), (b"LBUG", Backend::Ladybug), (b"REDIS", Backend::FalkorLite)]
        .into_iter()
        .find_map(|(magic, backend)| start.starts_with(magic).then_some(backend))
}

fn contains(path: &Path, finder: &Finder<'_>) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let overlap = finder.needle().len().saturating_sub(1);
    let mut buffer = vec![0; CHUNK.max(2 * overlap)];
    let mut kept = 0;
    loop {
        let read = match file.read(&mut buffer[kept..]) {
            Ok(0) => return Ok(false),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let filled = kept + read;
        if finder.find(&buffer[..filled]).is_some() {
            return Ok(true);
        }
        // A path may lie across two chunks.
        let keep_from = filled.saturating_sub(overlap);
        buffer.copy_within(keep_from..filled, 0);
        kept = filled - keep_from;
    }
}

fn family(database: &Path) -> impl Iterator<Item = PathBuf> {
    let companions = COMPANIONS.map(|suffix| beside(database, suffix));
    [database.to_path_buf()].into_iter().chain(companions)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Turns the absence of a file into `None`.
fn present<T>(path: &Path, result: io::Result<T>) -> Result<Option<T>, GraphToolError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if files::is_absence(&error) => Ok(None),
        Err(source) => Err(GraphToolError::Unreadable { path: path.to_path_buf(), source }),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ROOT: &str = "/home/dev/ws/project";

    fn database(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kuzudb");
        fs::write(&path, bytes).unwrap();
        (directory, path)
    }

    fn filled_to(length: usize, tail: &[u8]) -> Vec<u8> {
        let mut bytes = b"KUZU".to_vec();
        bytes.resize(length, b'/');
        bytes.extend_from_slice(tail);
        bytes
    }

    #[rstest]
    #[case::empty(b"", Contents::Nothing)]
    #[case::text(b"hello", Contents::UnknownFormat)]
    #[case::shorter_than_a_magic(b"KU", Contents::UnknownFormat)]
    #[case::kuzu_without(b"KUZU\0\0/home/dev/ws/other", Contents::WithoutWorkspace)]
    #[case::kuzu_with(b"KUZU\0\0/home/dev/ws/project\0", Contents::MentionsWorkspace)]
    #[case::ladybug_with(b"LBUG/home/dev/ws/project", Contents::MentionsWorkspace)]
    #[case::falkor(b"REDIS0012", Contents::MentionsWorkspace)]
    fn the_bytes_tell_whether_a_workspace_was_ever_indexed(#[case] bytes: &[u8], #[case] expected: Contents) {
        let (_directory, path) = database(bytes);

        assert_eq!(look_into(&path, Path::new(ROOT)).unwrap(), expected);
    }

    #[test]
    fn no_file_is_nothing() {
        let absent = Path::new("/nonexistent/kuzudb");

        assert_eq!(look_into(absent, Path::new(ROOT)).unwrap(), Contents::Nothing);
        assert_eq!(identify(absent).unwrap(), None);
        assert_eq!(backend_of(absent).unwrap(), None);
    }

    #[rstest]
    #[case::at_the_very_end(CHUNK - ROOT.len())]
    #[case::across(CHUNK - 5)]
    #[case::one_byte_over(CHUNK - 1)]
    #[case::at_the_start_of_the_next(CHUNK)]
    #[case::across_the_second(2 * CHUNK - ROOT.len() - 3)]
    fn a_path_across_two_chunks_is_found(#[case] position: usize) {
        let (_directory, path) = database(&filled_to(position, ROOT.as_bytes()));

        assert_eq!(look_into(&path, Path::new(ROOT)).unwrap(), Contents::MentionsWorkspace);
    }

    #[test]
    fn what_is_only_in_the_log_counts() {
        let (_directory, path) = database(b"KUZU");
        fs::write(beside(&path, LOG), format!("..{ROOT}..")).unwrap();

        assert_eq!(look_into(&path, Path::new(ROOT)).unwrap(), Contents::MentionsWorkspace);
        assert_eq!(identify(&path).unwrap().unwrap().log_size, ROOT.len() as u64 + 4);
    }

    #[test]
    fn a_directory_in_place_of_a_database_is_no_known_format() {
        let directory = tempfile::tempdir().unwrap();

        assert_eq!(backend_of(directory.path()).unwrap(), None);
    }

    #[test]
    fn a_database_is_set_aside_with_its_log_under_a_free_name() {
        let (directory, path) = database(b"garbage");
        fs::write(beside(&path, LOG), "log").unwrap();
        fs::write(beside(&path, ".set-aside-1.wal"), "older log").unwrap();

        let aside = set_aside(&path).unwrap();

        assert_eq!(aside, beside(&path, ".set-aside-2"));
        assert_eq!(fs::read(&aside).unwrap(), b"garbage");
        assert_eq!(fs::read(beside(&aside, LOG)).unwrap(), b"log");
        assert_eq!(fs::read(beside(&path, ".set-aside-1.wal")).unwrap(), b"older log");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
    }

    #[test]
    fn nothing_to_set_aside_is_an_error() {
        let directory = tempfile::tempdir().unwrap();

        assert!(set_aside(&directory.path().join("kuzudb")).is_err());
    }
}
