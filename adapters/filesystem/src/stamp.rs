//! Stamps and hashes of single files, and when a stamp proves that a content is the same.
//!
//! It must never follow a link or wait on a pipe, and never call a file clean whose stamp cannot tell.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use steward_ports::{ContentHash, FileStamp, ManifestEntry, Timestamp};

/// The kernel stamps files by a clock that ticks every 1 to 10 ms.
const FINE_GRANULARITY: i128 = 100_000_000;

/// The coarsest times in use (FAT) are two seconds apart.
const COARSE_GRANULARITY: i128 = 2_000_000_000;

const NANOSECONDS: i128 = 1_000_000_000;

/// What hashing a file led to.
#[derive(Debug)]
pub(crate) enum Hashed {
    /// Its stamp from before it was read, and its content. `None` where it may not be read.
    File(FileStamp, Option<ContentHash>),
    /// It vanished or is no regular file any more.
    Gone,
}

/// The wall time now, by the clock that file times are made with.
pub(crate) fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(i128::try_from(since_epoch.as_nanos()).unwrap_or(i128::MAX))
}

/// The stamp that a system call returned.
pub(crate) fn stamp_of(stat: &Stat) -> FileStamp {
    let instant =
        |seconds: i64, nanoseconds: i128| Timestamp::from_nanos(i128::from(seconds) * NANOSECONDS + nanoseconds);
    FileStamp {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: instant(stat.st_mtime, i128::from(stat.st_mtime_nsec)),
        changed: instant(stat.st_ctime, i128::from(stat.st_ctime_nsec)),
        inode: stat.st_ino,
    }
}

/// The stamp of `name` in `directory`; `None` where there is no regular file of that name any more.
pub(crate) fn stamp(directory: impl AsFd, name: impl rustix::path::Arg) -> io::Result<Option<FileStamp>> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => Ok(Some(stamp_of(&stat))),
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Hashes `name` in `directory`. An error means that the system is short of something, not that the file is bad.
pub(crate) fn hash(directory: impl AsFd, name: impl rustix::path::Arg + Copy) -> io::Result<Hashed> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(&directory, name, flags, Mode::empty()) {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => return Ok(Hashed::Gone),
        Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => return Err(errno.into()),
        Err(_) => {
            return Ok(match stamp(directory, name)? {
                Some(stamp) => Hashed::File(stamp, None),
                None => Hashed::Gone,
            });
        }
    };
    let stat = fstat(&file)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Ok(Hashed::Gone);
    }
    // The stamp is the one from before the reading: a write meanwhile makes the next comparison look again.
    let stamp = stamp_of(&stat);
    Ok(Hashed::File(stamp, hash_content(file).ok()))
}

/// Whether `entry`, of a manifest taken at `taken_at`, has the content that a file with `stamp` has now, as far as
/// stamps can tell. `false` means that the file has to be hashed.
pub(crate) fn is_certainly_unchanged(entry: &ManifestEntry, stamp: &FileStamp, taken_at: Timestamp) -> bool {
    entry.stamp == *stamp && !is_racily_clean(stamp, taken_at)
}

/// Whether a file could have been written again, after it was looked at, within the same tick of its times.
fn is_racily_clean(stamp: &FileStamp, taken_at: Timestamp) -> bool {
    let changed = stamp.changed.as_nanos();
    // A change time, which no tool can set, falls on a whole second only where the file system has no finer ones.
    let granularity = if changed % NANOSECONDS == 0 { COARSE_GRANULARITY } else { FINE_GRANULARITY };
    changed.max(stamp.modified.as_nanos()) >= taken_at.as_nanos() - granularity
}

fn hash_content(mut file: File) -> io::Result<ContentHash> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = [0; 16 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(ContentHash(*hasher.finalize().as_bytes())),
            Ok(length) => {
                hasher.update(&buffer[..length]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const SECOND: i128 = NANOSECONDS;

    #[rstest]
    #[case::long_before(SECOND + 1, SECOND + 1, 3 * SECOND, false)]
    #[case::in_the_same_tick(3 * SECOND - 1, 3 * SECOND - 1, 3 * SECOND, true)]
    #[case::after_the_scan_began(4 * SECOND, 4 * SECOND, 3 * SECOND, true)]
    #[case::modification_time_set_back(1, 3 * SECOND - 1, 3 * SECOND, true)]
    #[case::modification_time_in_the_future(9 * SECOND, SECOND + 1, 3 * SECOND, true)]
    #[case::whole_seconds_of_a_coarse_file_system(SECOND, SECOND, 3 * SECOND, true)]
    #[case::whole_seconds_long_before(SECOND, SECOND, 4 * SECOND, false)]
    fn a_stamp_as_young_as_the_scan_proves_nothing(
        #[case] modified: i128,
        #[case] changed: i128,
        #[case] taken_at: i128,
        #[case] racy: bool,
    ) {
        let stamp = FileStamp {
            size: 0,
            modified: Timestamp::from_nanos(modified),
            changed: Timestamp::from_nanos(changed),
            inode: 1,
        };

        assert_eq!(is_racily_clean(&stamp, Timestamp::from_nanos(taken_at)), racy);
    }
}
