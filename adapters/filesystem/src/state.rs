//! A directory of the user's own, and files in it that are replaced as a whole.
//!
//! Responsible for writing so that a reader finds the old content or the new one, after any crash, and for refusing what
//! somebody else planted: links, and directories of others or open to them. It must never follow a link at or below the
//! directory, and never know what the files hold.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fchmod, fstat, fsync, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::bounded::{self, Content};

/// How the names of files begin that are still being written.
const UNFINISHED: &str = ".unfinished-";

/// Tells the unfinished files of one process apart.
static NEXT_UNFINISHED: AtomicU64 = AtomicU64::new(0);

/// An open directory, verified to be the user's own and closed to others.
#[derive(Debug)]
pub(crate) struct StateDirectory {
    path: PathBuf,
    descriptor: OwnedFd,
}

impl StateDirectory {
    /// Opens the directory at `path`, links above it followed; `None` where there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        verified(path.to_owned(), open_directory(CWD, path))
    }

    /// Opens the directory at `path` and makes it, and what is missing above it, where there is none.
    pub(crate) fn open_or_create(path: &Path) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        create_directory(CWD, path)?;
        Self::open(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens the directory `name` in this one; `None` where there is none.
    pub(crate) fn open_below(&self, name: &str) -> io::Result<Option<Self>> {
        verified(self.path.join(name), open_directory(&self.descriptor, name))
    }

    /// Opens the directory `name` in this one and makes it where there is none.
    pub(crate) fn open_or_create_below(&self, name: &str) -> io::Result<Self> {
        create_directory(&self.descriptor, name)?;
        self.open_below(name)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The path of the file `name`, for messages.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads the file `name` where it has at most `limit` bytes.
    pub(crate) fn read(&self, name: &str, limit: u64) -> io::Result<Content> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.descriptor, name, flags, Mode::empty()) {
            Ok(descriptor) => bounded::read_open(File::from(descriptor), limit),
            Err(Errno::NOENT) => Ok(Content::Absent),
            Err(Errno::LOOP) => Ok(Content::Unusable("it is a symbolic link".to_owned())),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Replaces the file `name` by one with this content, mode 0600. On return it is on the disk; after a crash in
    /// between, the file has its old content, or is still missing.
    pub(crate) fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let unfinished =
            format!("{UNFINISHED}{}-{}", std::process::id(), NEXT_UNFINISHED.fetch_add(1, Ordering::Relaxed));
        let written = self.write_new(&unfinished, content).and_then(|()| {
            renameat(&self.descriptor, &unfinished, &self.descriptor, name)?;
            fsync(&self.descriptor)?;
            Ok(())
        });
        if written.is_err() {
            // What failed is reported; a file left over is removed with the next tidying.
            self.remove(&unfinished).ok();
        }
        written
    }

    /// Removes the file `name`; a missing one is no error.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.descriptor, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Removes what earlier processes left unfinished, and the files whose names begin with `prefix` except `kept`.
    pub(crate) fn tidy(&self, prefix: &str, kept: &str) -> io::Result<()> {
        for entry in Dir::read_from(&self.descriptor)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let Some(name) = name.to_str() else {
                continue;
            };
            if name.starts_with(UNFINISHED) || (name.starts_with(prefix) && name != kept) {
                self.remove(name)?;
            }
        }
        Ok(())
    }

    fn write_new(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A leftover of an earlier process with the same number would stand in the way for ever.
        self.remove(name)?;
        let descriptor = openat(&self.descriptor, name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(descriptor);
        file.write_all(content)?;
        file.sync_all()
    }
}

fn open_directory(parent: impl std::os::fd::AsFd, path: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, path, flags, Mode::empty())
}

fn create_directory(parent: impl std::os::fd::AsFd, path: impl rustix::path::Arg) -> io::Result<()> {
    match mkdirat(parent, path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn verified(path: PathBuf, opened: rustix::io::Result<OwnedFd>) -> io::Result<Option<StateDirectory>> {
    let descriptor = match opened {
        Ok(descriptor) => descriptor,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return Err(refused("it is a symbolic link or no directory"));
        }
        Err(errno) => return Err(errno.into()),
    };
    let stat = fstat(&descriptor)?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    if let Some(objection) = objection(stat.st_uid, geteuid().as_raw(), mode) {
        return Err(refused(objection));
    }
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        fchmod(&descriptor, Mode::RWXU)?;
    }
    Ok(Some(StateDirectory { path, descriptor }))
}

/// Why a directory with this owner and mode is not used.
fn objection(owner: u32, user: u32, mode: Mode) -> Option<&'static str> {
    if owner != user {
        Some("it belongs to another user")
    } else if mode.intersects(Mode::WGRP | Mode::WOTH) {
        // Whatever lies in it may be somebody else's already.
        Some("others may write to it")
    } else {
        None
    }
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::own(1000, 0o700, None)]
    #[case::own_and_readable(1000, 0o755, None)]
    #[case::of_another_user(0, 0o700, Some("it belongs to another user"))]
    #[case::writable_for_the_group(1000, 0o770, Some("others may write to it"))]
    #[case::writable_for_all(1000, 0o1777, Some("others may write to it"))]
    fn only_the_users_own_directory_is_used(#[case] owner: u32, #[case] mode: u32, #[case] expected: Option<&str>) {
        assert_eq!(objection(owner, 1000, Mode::from_raw_mode(mode)), expected);
    }
}
