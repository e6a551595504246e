//! What a directory's `.git` says, read from files.
//!
//! Responsible for telling a checkout from a forged or broken one: a linked worktree counts only where its repository
//! names this very directory. It must never run git, wait on a pipe, or read more than a few kilobytes of any pointer.
//! The formats are those of gitrepository-layout(5); relative pointers are git 2.48's.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::bounded::{self, Content};

/// Pointer files hold one path.
const POINTER_LIMIT: u64 = 4 << 10;

/// A configuration larger than this is not looked into.
const CONFIGURATION_LIMIT: u64 = 1 << 20;

/// The directories that a checkout's `.git` leads to, canonical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkout {
    /// The directory with this checkout's own HEAD.
    pub(crate) own: PathBuf,
    /// The directory that all worktrees of the repository share.
    pub(crate) common: PathBuf,
    /// The name of a linked worktree.
    pub(crate) worktree: Option<String>,
}

/// What was found at `<directory>/.git`.
#[derive(Debug)]
pub(crate) enum GitEntry {
    /// Nothing, or a directory that is no repository; git looks further up as well.
    Absent,
    /// A repository without a working tree, so that its directory is no checkout.
    Bare,
    /// A checkout.
    Checkout(Checkout),
    /// Something that git would stop at with an error, or a pointer that proves nothing.
    Malformed(String),
    /// It could not be read.
    Unreadable(io::Error),
}

/// Looks at the `.git` of the canonical directory `top`.
pub(crate) fn look_at(top: &Path) -> GitEntry {
    let entry = top.join(".git");
    let metadata = match fs::metadata(&entry) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return GitEntry::Absent,
        Err(error) => return GitEntry::Unreadable(error),
    };
    let found = if metadata.is_dir() { look_at_directory(&entry) } else { follow_pointer(top, &entry) };
    found.unwrap_or_else(GitEntry::Unreadable)
}

/// Reads the one line of a pointer file; `None` where there is no such file or it makes no sense.
pub(crate) fn read_line(path: &Path) -> io::Result<Option<Vec<u8>>> {
    Ok(match bounded::read(path, POINTER_LIMIT)? {
        Content::Bytes(mut bytes) => {
            while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                bytes.pop();
            }
            let is_sound = !bytes.is_empty() && !bytes.iter().any(|byte| matches!(byte, 0 | b'\n'));
            is_sound.then_some(bytes)
        }
        Content::Absent | Content::Unusable(_) => None,
    })
}

fn look_at_directory(entry: &Path) -> io::Result<GitEntry> {
    let own = entry.canonicalize()?;
    Ok(if !is_repository(&own) {
        GitEntry::Absent
    } else if is_bare(&own)? {
        GitEntry::Bare
    } else {
        GitEntry::Checkout(Checkout { common: own.clone(), own, worktree: None })
    })
}

fn follow_pointer(top: &Path, entry: &Path) -> io::Result<GitEntry> {
    let malformed = |reason: &str| Ok(GitEntry::Malformed(reason.to_owned()));
    let Some(line) = read_line(entry)? else {
        return malformed("it is not one line in a regular file of at most 4 KiB");
    };
    let Some(target) = line.strip_prefix(b"gitdir: ") else {
        return malformed("it does not begin with `gitdir: `");
    };
    let Ok(own) = top.join(OsStr::from_bytes(target)).canonicalize() else {
        return malformed("the directory that it names does not exist");
    };
    match read_line(&own.join("commondir"))? {
        Some(common) => look_at_worktree(top, own, &common),
        None if !is_repository(&own) => malformed("the directory that it names is no repository"),
        // A submodule, or a repository that `--separate-git-dir` put elsewhere.
        None if is_bare(&own)? => Ok(GitEntry::Bare),
        None => Ok(GitEntry::Checkout(Checkout { common: own.clone(), own, worktree: None })),
    }
}

fn look_at_worktree(top: &Path, own: PathBuf, common: &[u8]) -> io::Result<GitEntry> {
    let malformed = |reason: &str| Ok(GitEntry::Malformed(reason.to_owned()));
    let Ok(common) = own.join(OsStr::from_bytes(common)).canonicalize() else {
        return malformed("the repository of the worktree does not exist");
    };
    if own.parent() != Some(common.join("worktrees").as_path()) || !is_repository(&common) {
        return malformed("the directory that it names is in no repository's store of worktrees");
    }
    let Some(worktree) = own.file_name().and_then(OsStr::to_str).map(str::to_owned) else {
        return malformed("the name of the worktree is no text");
    };
    if !points_back(&own, top)? {
        return malformed("the repository does not name this directory as its worktree");
    }
    Ok(GitEntry::Checkout(Checkout { own, common, worktree: Some(worktree) }))
}

/// Whether the worktree's entry in the repository names `top`, compared by what the system calls the same directory.
fn points_back(own: &Path, top: &Path) -> io::Result<bool> {
    let Some(line) = read_line(&own.join("gitdir"))? else {
        return Ok(false);
    };
    let pointer = own.join(OsStr::from_bytes(&line));
    let (Some(name), Some(directory)) = (pointer.file_name(), pointer.parent()) else {
        return Ok(false);
    };
    if name != ".git" {
        return Ok(false);
    }
    match fs::metadata(directory) {
        Ok(named) => {
            let own = fs::metadata(top)?;
            Ok((named.dev(), named.ino()) == (own.dev(), own.ino()))
        }
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// git's own test of a repository: a HEAD, an object store and references.
fn is_repository(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join("HEAD")).is_ok_and(|head| head.is_file() || head.is_symlink())
        && directory.join("objects").is_dir()
        && directory.join("refs").is_dir()
}

/// Whether the repository's own configuration says that it has no working tree.
fn is_bare(repository: &Path) -> io::Result<bool> {
    let text = match bounded::read(&repository.join("config"), CONFIGURATION_LIMIT)? {
        Content::Bytes(bytes) => String::from_utf8_lossy(&bytes).to_lowercase(),
        Content::Absent | Content::Unusable(_) => return Ok(false),
    };
    let mut in_core = false;
    let mut bare = false;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_core = section.split_once(']').is_some_and(|(name, _)| name.trim() == "core");
        } else if in_core {
            // A key without a value is true.
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            if key.trim() == "bare" {
                let value = value.split(['#', ';']).next().unwrap_or("").trim();
                bare = matches!(value, "true" | "yes" | "on" | "1");
            }
        }
    }
    Ok(bare)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
