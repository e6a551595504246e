//! The log of what kept an event from being answered: one JSON object a line.
//!
//! It must never follow a link, wait for a reader, grow without bound, or hold anything of a payload.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, Mode, OFlags, openat, renameat};
use serde::Serialize;

use crate::failure::{LogError, chain};

/// The log's name in the state directory.
const NAME: &str = "hook-errors.log";
/// What the log becomes when it is full.
const PREVIOUS: &str = "hook-errors.log.1";
/// The size in bytes at which a log is full. With the previous one, twice as much is kept.
const FULL: u64 = 256 << 10;
/// The longest text of one failure in bytes.
const LONGEST: usize = 2 << 10;

/// Where failures are kept.
#[derive(Debug, Clone)]
pub(crate) struct ErrorLog {
    /// The companion's state directory.
    directory: PathBuf,
    program: String,
}

/// One line of the log.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    /// Milliseconds since the epoch.
    at: u64,
    program: &'a str,
    version: &'a str,
    error: &'a str,
}

impl ErrorLog {
    /// Finds the log of `program`: in `$XDG_STATE_HOME/cgc-steward`, else in `~/.local/state/cgc-steward`. `None` where
    /// neither variable is an absolute path, so that there is no place for it.
    pub(crate) fn locate(program: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state =
            absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local").join("state")))?;
        Some(Self { directory: state.join("cgc-steward"), program: program.to_owned() })
    }

    /// Appends one line with `failure` and its causes.
    pub(crate) fn append(&self, failure: &(dyn std::error::Error + 'static)) -> Result<(), LogError> {
        self.write(&chain(failure)).map_err(|source| LogError { path: self.directory.join(NAME), source })
    }

    fn write(&self, error: &str) -> io::Result<()> {
        let entry = Entry {
            at: milliseconds_since_epoch(),
            program: &self.program,
            version: env!("CARGO_PKG_VERSION"),
            error: cut(error),
        };
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        // One write of an appending descriptor: lines of hooks that run at the same time do not mix.
        self.open()?.write_all(&line)
    }

    fn open(&self) -> io::Result<File> {
        let directory = open_directory(&self.directory)?;
        let log = open_log(&directory)?;
        if log.metadata()?.len() < FULL {
            return Ok(log);
        }
        renameat(&directory, NAME, &directory, PREVIOUS)?;
        open_log(&directory)
    }
}

fn open_directory(path: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = File::from(openat(CWD, path, flags, Mode::empty())?);
    if directory.metadata()?.uid() == rustix::process::geteuid().as_raw() {
        Ok(directory)
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the directory belongs to another user"))
    }
}

fn open_log(directory: &File) -> io::Result<File> {
    // Non-blocking, or opening a planted FIFO would wait for its reader.
    let flags =
        OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let log = File::from(openat(directory, NAME, flags, Mode::RUSR | Mode::WUSR)?);
    if log.metadata()?.is_file() { Ok(log) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or(text)
}

fn milliseconds_since_epoch() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::{fs, str};

    use rstest::rstest;

    use super::*;
    use crate::failure::Failure;

    fn failure() -> Failure {
        Failure::Output(io::ErrorKind::BrokenPipe.into())
    }

    fn log_in(state: &Path) -> ErrorLog {
        ErrorLog::locate("steward-test", |name| (name == "XDG_STATE_HOME").then(|| state.into())).unwrap()
    }

    #[rstest]
    #[case::chosen(&[("XDG_STATE_HOME", "/state"), ("HOME", "/home/a")], Some("/state/cgc-steward"))]
    #[case::relative(&[("XDG_STATE_HOME", "state"), ("HOME", "/home/a")], Some("/home/a/.local/state/cgc-steward"))]
    #[case::empty(&[("XDG_STATE_HOME", ""), ("HOME", "/home/a")], Some("/home/a/.local/state/cgc-steward"))]
    #[case::homeless(&[], None)]
    fn the_log_lies_where_the_state_does(#[case] variables: &[(&str, &str)], #[case] expected: Option<&str>) {
        let lookup = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());

        let log = ErrorLog::locate("steward-test", lookup);

        assert_eq!(log.map(|log| log.directory), expected.map(PathBuf::from));
    }

    #[test]
    fn a_failure_is_one_line_with_its_causes_for_the_user_only() {
        let state = tempfile::tempdir().unwrap();
        let log = log_in(&state.path().join("not/yet"));

        log.append(&failure()).unwrap();
        log.append(&failure()).unwrap();

        let path = state.path().join("not/yet/cgc-steward/hook-errors.log");
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        let entry: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(entry["error"], "the answer could not be written: broken pipe");
        assert_eq!(entry["program"], "steward-test");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_full_log_makes_room_and_one_before_it_is_kept() {
        let state = tempfile::tempdir().unwrap();
        let log = log_in(state.path());
        let directory = state.path().join("cgc-steward");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(NAME), vec![b'x'; usize::try_from(FULL).unwrap()]).unwrap();

        log.append(&failure()).unwrap();

        assert_eq!(fs::metadata(directory.join(PREVIOUS)).unwrap().len(), FULL);
        assert_eq!(fs::read_to_string(directory.join(NAME)).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_planted_link_is_not_followed() {
        let state = tempfile::tempdir().unwrap();
        let victim = state.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        fs::create_dir(state.path().join("cgc-steward")).unwrap();
        symlink(&victim, state.path().join("cgc-steward").join(NAME)).unwrap();

        let refused = log_in(state.path()).append(&failure());

        assert!(refused.is_err());
        assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    }

    #[test]
    fn a_planted_fifo_is_not_waited_for() {
        let state = tempfile::tempdir().unwrap();
        let directory = state.path().join("cgc-steward");
        fs::create_dir(&directory).unwrap();
        rustix::fs::mkfifoat(CWD, directory.join(NAME), Mode::RWXU).unwrap();

        assert!(log_in(state.path()).append(&failure()).is_err());
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let text = "é".repeat(LONGEST);

        assert_eq!(cut(&text).len(), LONGEST);
        assert_eq!(cut("short"), "short");
        assert!(str::from_utf8(cut(&format!("x{text}")).as_bytes()).is_ok());
    }
}
