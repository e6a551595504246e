//! The `LockProbe` port by `F_GETLK`.
//!
//! Responsible for asking the kernel who holds a lock, and `/proc` who that is. It must never take a lock, and must run
//! in a process that holds no POSIX lock on the file itself: closing a descriptor would release it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use steward_ports::{Holder, LockProbe, LockProbeError, LockState};

use crate::blocking;

/// The longest name of a holder that is shown, in characters.
const NAME_LIMIT: usize = 80;

/// What a holder is called of which nothing can be read.
const UNKNOWN: &str = "another process";

/// Options of cgc before its verb that take a value (cgc 0.6.13).
const OPTIONS_WITH_VALUE: &[&str] = &["--database", "--db", "-db", "--db-path"];

/// Asks the kernel about POSIX locks, which is what KuzuDB and LadybugDB take on their database file.
#[derive(Debug, Clone, Copy, Default)]
pub struct PosixLockProbe;

#[async_trait]
impl LockProbe for PosixLockProbe {
    async fn holder(&self, database: &Path) -> Result<LockState, LockProbeError> {
        let path = database.to_owned();
        blocking::run(move || holder(&path))
            .await
            .and_then(|result| result)
            .map_err(|source| LockProbeError::Unreadable { database: database.to_owned(), source })
    }
}

fn holder(database: &Path) -> io::Result<LockState> {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(database);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LockState::Absent),
        Err(error) => return Err(error),
    };
    Ok(match conflicting_lock(&file)? {
        Conflict::None => LockState::Free,
        Conflict::Process(pid) => LockState::Held(describe(Some(pid))),
        Conflict::Unnumbered => LockState::Held(describe(listed_holder(&file)?)),
    })
}

/// What stands in the way of a lock.
enum Conflict {
    /// Nothing.
    None,
    /// A lock of this process.
    Process(u32),
    /// A lock of a process in another pid namespace, or of an open file that several processes may share.
    Unnumbered,
}

/// Asks what stands in the way of a write lock on the whole file.
fn conflicting_lock(file: &File) -> io::Result<Conflict> {
    let mut lock = libc::flock {
        l_type: i16::try_from(libc::F_WRLCK).unwrap_or_default(),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_GETLK(&mut lock))?;
    Ok(match u32::try_from(lock.l_pid) {
        _ if i32::from(lock.l_type) == libc::F_UNLCK => Conflict::None,
        Ok(pid) if pid != 0 => Conflict::Process(pid),
        Ok(_) | Err(_) => Conflict::Unnumbered,
    })
}

/// Looks for the holder in `/proc/locks`, which may know it where this process's pid namespace does not.
fn listed_holder(file: &File) -> io::Result<Option<u32>> {
    let metadata = file.metadata()?;
    let device = metadata.dev();
    let wanted = format!("{:02x}:{:02x}:{}", libc::major(device), libc::minor(device), metadata.ino());
    // Without the list there is only less to tell.
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    Ok(locks.lines().find_map(|line| holder_in_line(line, &wanted)))
}

/// Reads a line like `1: POSIX  ADVISORY  WRITE 4711 08:01:1234 0 EOF`. A lock that is waited for has `->` in second
/// place and is skipped.
fn holder_in_line(line: &str, wanted: &str) -> Option<u32> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, "POSIX" | "OFDLCK", _, _, pid, file, ..] = fields.as_slice() else {
        return None;
    };
    pid.parse().ok().filter(|pid| *pid != 0 && *file == wanted)
}

fn describe(pid: Option<u32>) -> Holder {
    let Some(pid) = pid else {
        return Holder { pid: None, name: UNKNOWN.to_owned(), directory: None };
    };
    let process = PathBuf::from(format!("/proc/{pid}"));
    let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
    let name = name_of(&arguments)
        .or_else(|| fs::read(process.join("comm")).ok().map(|name| clean(&name)))
        .filter(|name| !name.is_empty());
    Holder {
        pid: Some(pid),
        name: name.unwrap_or_else(|| UNKNOWN.to_owned()),
        directory: fs::read_link(process.join("cwd")).ok(),
    }
}

/// What a process is by its arguments: `cgc watch` for cgc in any of the ways it is started, else the program's name.
fn name_of(command_line: &[u8]) -> Option<String> {
    let arguments: Vec<&[u8]> = command_line.split(|byte| *byte == 0).filter(|argument| !argument.is_empty()).collect();
    let program = file_name(arguments.first()?);
    // `cgc` itself, `python …/bin/cgc`, or `python -m codegraphcontext`.
    let start =
        arguments.iter().take(3).position(|argument| matches!(file_name(argument), b"cgc" | b"codegraphcontext"));
    Some(match start {
        Some(start) => match verb(&arguments[start + 1..]) {
            Some(verb) => format!("cgc {}", clean(verb)),
            None => "cgc".to_owned(),
        },
        None => clean(program),
    })
}

fn verb<'a>(arguments: &[&'a [u8]]) -> Option<&'a [u8]> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if OPTIONS_WITH_VALUE.iter().any(|option| option.as_bytes() == *argument) {
            arguments.next();
        } else if !argument.starts_with(b"-") {
            return Some(argument);
        }
    }
    None
}

fn file_name(argument: &[u8]) -> &[u8] {
    Path::new(std::ffi::OsStr::from_bytes(argument)).file_name().map_or(argument, OsStrExt::as_bytes)
}

/// Text for people: whoever chose the bytes, they stay on one line and move no cursor.
fn clean(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().filter(|character| !character.is_control()).take(NAME_LIMIT).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/venv/bin/python\0/venv/bin/cgc\0watch\0.\0", "cgc watch")]
    #[case("/venv/bin/python3.11\0/venv/bin/cgc\0mcp\0start\0", "cgc mcp")]
    #[case("python\0-m\0codegraphcontext\0index\0.\0", "cgc index")]
    #[case("python\0/bin/cgc\0--db-path\0/tmp/watch\0--database\0kuzudb\0list\0", "cgc list")]
    #[case("/usr/bin/cgc\0", "cgc")]
    #[case("/usr/bin/python3\0/tmp/cgc-notes/holder.py\0", "python3")]
    #[case("/opt/ev\u{1b}[2Jil\n\0", "ev[2Jil")]
    fn a_holder_is_called_by_what_it_does(#[case] command_line: &str, #[case] name: &str) {
        assert_eq!(name_of(command_line.as_bytes()).as_deref(), Some(name));
    }

    #[test]
    fn a_process_without_arguments_has_no_name_of_its_own() {
        assert_eq!(name_of(b""), None);
    }

    #[rstest]
    #[case("1: POSIX  ADVISORY  WRITE 4711 08:01:1234 0 EOF", Some(4711))]
    #[case("1: OFDLCK ADVISORY  WRITE -1 08:01:1234 0 EOF", None)]
    #[case("1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF", None)]
    #[case("1: POSIX  ADVISORY  WRITE 4711 08:01:12345 0 EOF", None)]
    #[case("1: -> POSIX  ADVISORY  WRITE 4711 08:01:1234 0 EOF", None)]
    #[case("", None)]
    fn only_a_lock_on_the_very_file_counts(#[case] line: &str, #[case] holder: Option<u32>) {
        assert_eq!(holder_in_line(line, "08:01:1234"), holder);
    }
}
