//! The ledger: one file for each group that may have to be swept by a later daemon.
//!
//! A file is written after the guard was started and before it is told to go on, so there is never a program without an
//! entry. Its owner holds a lock on it for as long as the group lives: a file that can be locked has no owner any more.
//!
//! Nothing here is synced to the disk. A file has to survive the death of processes, which the page cache does, and not
//! that of the machine: after a boot no process of the last one is left, and the boot id says so.
//!
//! It must never signal anything, and never remove an entry of a living owner.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use steward_ports::ProcessIdentity;

use crate::marker::Marker;

/// What an entry says of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The guard, whose number is the group's.
    pub(crate) guard: ProcessIdentity,
    /// The mark on everything below the guard.
    pub(crate) marker: Marker,
    /// How long the guard takes to end its group once the daemon is gone.
    pub(crate) orphan_grace: Duration,
    /// The program, for people.
    pub(crate) program: String,
}

/// An entry that this process has locked.
#[derive(Debug)]
pub(crate) struct Entry {
    path: PathBuf,
    /// Held for its lock.
    _locked: File,
}

/// An entry whose owner is gone, with what it says; `None` where that makes no sense, as after a kill amid the writing.
pub(crate) type Orphan = (Entry, Option<Record>);

impl Entry {
    /// Writes `record` into `directory`, which is made where it is missing, and locks it.
    pub(crate) fn create(directory: &Path, record: &Record) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let path = directory.join(record.marker.to_string());
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.try_lock()?;
        file.write_all(record.to_text().as_bytes())?;
        // Another daemon's sweep may have seen the file before its lock, empty and thus to be removed.
        if file.metadata()?.nlink() == 0 {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        Ok(Self { path, _locked: file })
    }

    /// Removes the entry: nothing of its group is left.
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks and reads the entries of `directory` that have no living owner. A missing directory holds none.
pub(crate) fn orphans(directory: &Path) -> io::Result<Vec<Orphan>> {
    let mut orphans = Vec::new();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(orphans),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            orphans.extend(lock_orphan(entry.path())?);
        }
    }
    Ok(orphans)
}

fn lock_orphan(path: PathBuf) -> io::Result<Option<Orphan>> {
    let mut file = match File::open(&path) {
        Ok(file) => file,
        // Its owner removed it meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let record = std::str::from_utf8(&bytes).ok().and_then(Record::parse);
    let entry = Entry { path, _locked: file };
    Ok(Some((entry, record)))
}

const HEADER: &str = "steward-group 1";

impl Record {
    fn to_text(&self) -> String {
        format!(
            "{HEADER}\nboot {}\nguard {} {}\nmarker {}\ngrace {}\nprogram {}\n",
            self.guard.boot_id,
            self.guard.pid,
            self.guard.start_time,
            self.marker,
            self.orphan_grace.as_millis(),
            self.program.escape_debug(),
        )
    }

    fn parse(text: &str) -> Option<Self> {
        // A text that was cut anywhere lacks the last line's ending.
        let mut lines = text.strip_suffix('\n')?.lines();
        if lines.next()? != HEADER {
            return None;
        }
        let boot_id = lines.next()?.strip_prefix("boot ")?.to_owned();
        let (pid, start_time) = lines.next()?.strip_prefix("guard ")?.split_once(' ')?;
        let marker = lines.next()?.strip_prefix("marker ")?;
        let grace = lines.next()?.strip_prefix("grace ")?;
        let program = lines.next()?.strip_prefix("program ")?;
        Some(Self {
            guard: ProcessIdentity { pid: pid.parse().ok()?, start_time: start_time.parse().ok()?, boot_id },
            marker: Marker::parse(marker)?,
            orphan_grace: Duration::from_millis(grace.parse().ok()?),
            program: program.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            guard: ProcessIdentity {
                pid: 4711,
                start_time: 123_456,
                boot_id: "0f4c1c44-98e8-4a64-a9f9-8c4e3d2b1a00".to_owned(),
            },
            marker: Marker::new().unwrap(),
            orphan_grace: Duration::from_mins(1),
            program: "/opt/cgc".to_owned(),
        }
    }

    #[test]
    fn an_entry_belongs_to_its_owner_and_to_anybody_after_that() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = directory.path().join("state/processes");
        let record = record();

        let owned = Entry::create(&ledger, &record).unwrap();
        assert!(orphans(&ledger).unwrap().is_empty());

        drop(owned);
        let mut orphans = orphans(&ledger).unwrap();
        let (entry, read) = orphans.pop().unwrap();

        assert_eq!(read, Some(record));
        entry.remove().unwrap();
        assert_eq!(fs::read_dir(&ledger).unwrap().count(), 0);
    }

    #[test]
    fn a_text_that_is_cut_anywhere_is_no_record() {
        let text = record().to_text();

        for length in 0..text.len() {
            assert_eq!(Record::parse(&text[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_name_with_a_line_ending_stays_on_its_line() {
        let record = Record { program: "/opt/a\nguard 1 2".to_owned(), ..record() };

        let read = Record::parse(&record.to_text()).unwrap();

        assert_eq!(read.program, "/opt/a\\nguard 1 2");
    }

    #[test]
    fn a_missing_ledger_holds_nothing() {
        assert!(orphans(Path::new("/nonexistent/ledger")).unwrap().is_empty());
    }
}
