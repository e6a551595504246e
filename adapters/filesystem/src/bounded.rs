//! Reading small files that somebody else may have made.
//!
//! Responsible for never waiting on a pipe or device and for never reading more than asked for. It must never follow a
//! link where the caller says so.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

/// What became of an attempt to read a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// There is no such file.
    Absent,
    /// All of its bytes.
    Bytes(Vec<u8>),
    /// It is no regular file, or has more bytes than the limit.
    Unusable(String),
}

/// Reads the regular file at `path`, links followed, where it has at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Content> {
    // Without NONBLOCK, opening a FIFO without a writer would wait for ever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let descriptor = match openat(CWD, path, flags, Mode::empty()) {
        Ok(descriptor) => descriptor,
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(Content::Absent),
        // A socket; a device without a driver.
        Err(rustix::io::Errno::NXIO) => {
            return Ok(Content::Unusable("not a regular file".to_owned()));
        }
        Err(errno) => return Err(errno.into()),
    };
    read_open(File::from(descriptor), limit)
}

/// Reads an open file where it is a regular one of at most `limit` bytes.
pub(crate) fn read_open(file: File, limit: u64) -> io::Result<Content> {
    let stat = fstat(&file)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Ok(Content::Unusable("not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    // One byte more than the limit tells a file that is too large, whatever its size said when it was opened.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Ok(Content::Unusable(format!("larger than {limit} bytes")));
    }
    Ok(Content::Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_regular_file_is_read_up_to_its_limit_and_not_beyond() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "12345").unwrap();

        assert_eq!(read(&path, 5).unwrap(), Content::Bytes(b"12345".to_vec()));
        assert_eq!(read(&path, 4).unwrap(), Content::Unusable("larger than 4 bytes".to_owned()));
    }

    #[test]
    fn a_missing_file_is_absent_also_below_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "").unwrap();

        assert_eq!(read(&directory.path().join("none"), 5).unwrap(), Content::Absent);
        assert_eq!(read(&path.join("below"), 5).unwrap(), Content::Absent);
    }

    #[test]
    fn pipes_sockets_devices_and_directories_are_refused_without_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let socket = directory.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();

        for path in [pipe.as_path(), socket.as_path(), directory.path(), Path::new("/dev/zero")] {
            assert_eq!(
                read(path, 5).unwrap(),
                Content::Unusable("not a regular file".to_owned()),
                "{}",
                path.display()
            );
        }
    }
}
