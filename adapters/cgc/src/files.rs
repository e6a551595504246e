//! Reading cgc's small text files, and the home directory that cgc takes for the user's.
//!
//! It must never wait on a pipe or a device, and never read more than a bounded number of bytes: some of these files
//! come with the repository.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::{Uid, User};
use steward_ports::{Environment, GraphToolError};

/// No settings file of cgc's is anywhere near this large.
const LIMIT: u64 = 1 << 20;

/// Reads a regular file as text, the way Python's text mode with replacement does; `None` where there is none. A file
/// that is no regular file or larger than a mebibyte counts as unreadable.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, GraphToolError> {
    match read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if is_absence(&error) => Ok(None),
        Err(source) => Err(GraphToolError::Unreadable { path: path.to_path_buf(), source }),
    }
}

/// Reads at most the first `limit` bytes of a regular file.
pub(crate) fn read_start(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // Without O_NONBLOCK the opening of a pipe would wait for a writer.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether an error only says that there is no such file.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the directory that Python's `Path.home()` returns in a session with `environment`: `HOME` where it is set
/// (an empty one stands for `/`), else the home in the user's account entry.
pub(crate) fn home_directory(environment: &Environment) -> Result<PathBuf, GraphToolError> {
    if let Some(home) = environment.get("HOME") {
        return Ok(if home.is_empty() { PathBuf::from("/") } else { PathBuf::from(home) });
    }
    let account = User::from_uid(Uid::current()).map_err(io::Error::from);
    match account {
        Ok(Some(user)) => Ok(user.dir),
        Ok(None) => Err(io::Error::new(io::ErrorKind::NotFound, "HOME is not set and the user has no account entry")),
        Err(source) => Err(source),
    }
    .map_err(|source| GraphToolError::Unreadable { path: PathBuf::from("~"), source })
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read_start(path, LIMIT + 1)?;
    if bytes.len() as u64 > LIMIT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "larger than a settings file can be"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_pipe_is_unreadable_and_nothing_waits_for_its_writer() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("config.yaml");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();

        let result = read_text(&pipe);

        assert!(matches!(result, Err(GraphToolError::Unreadable { path, .. }) if path == pipe));
    }

    #[test]
    fn an_absent_file_is_no_error_and_an_oversized_one_is() {
        let directory = tempfile::tempdir().unwrap();
        let large = directory.path().join("large");
        std::fs::write(&large, vec![b'#'; usize::try_from(LIMIT).unwrap() + 1]).unwrap();

        assert_eq!(read_text(&directory.path().join("absent")).unwrap(), None);
        assert_eq!(read_text(&large.join("below-a-file")).unwrap(), None);
        assert!(read_text(&large).is_err());
    }

    #[test]
    fn home_comes_from_the_session_and_else_from_the_account() {
        let with =
            |home: &str| -> Environment { [(OsString::from("HOME"), OsString::from(home))].into_iter().collect() };

        assert_eq!(home_directory(&with("/h")).unwrap(), Path::new("/h"));
        assert_eq!(home_directory(&with("")).unwrap(), Path::new("/"));
        assert_eq!(
            home_directory(&Environment::default()).unwrap(),
            User::from_uid(Uid::current()).unwrap().unwrap().dir
        );
    }
}
