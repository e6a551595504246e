//! Who holds a lock, with real processes that hold one.
//!
//! The holders are Python processes, as cgc's are. Each must be gone when its test ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rstest::rstest;
use steward_filesystem::PosixLockProbe;
use steward_ports::{Holder, LockProbe, LockState};

use crate::support::{Sandbox, write};

/// Takes a lock, says so, and holds it until its standard input ends.
const HOLDER: &str = r"
import fcntl, os, struct, sys
file = os.open(sys.argv[-2], os.O_RDWR)
kind = sys.argv[-1]
if kind == 'write':
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
elif kind == 'read':
    fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
elif kind == 'one-byte':
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 1000)
elif kind == 'open-file':
    F_OFD_SETLK = 37
    fcntl.fcntl(file, F_OFD_SETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0))
elif kind == 'flock':
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
print('locked', flush=True)
sys.stdin.read()
";

struct LockHolder(Child);

impl LockHolder {
    /// Starts `python <directory>/<script> <arguments> <database> <kind>` and waits until it holds the lock.
    fn start(directory: &Path, script: &str, arguments: &[&str], database: &Path, kind: &str) -> Self {
        let script = directory.join(script);
        write(&script, HOLDER);
        let mut child = Command::new("python3")
            .current_dir(directory)
            .arg(&script)
            .args(arguments)
            .arg(database)
            .arg(kind)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "locked\n");
        Self(child)
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for LockHolder {
    fn drop(&mut self) {
        // Gone already in the test that kills it.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn database(sandbox: &Sandbox) -> PathBuf {
    let database = sandbox.path("kuzudb");
    write(&database, "KUZU");
    database
}

#[tokio::test]
async fn trial_b28_the_holder_of_a_database_is_named() {
    let sandbox = Sandbox::new();
    let database = database(&sandbox);
    let bin = sandbox.path("bin");
    fs::create_dir(&bin).unwrap();
    let holder = LockHolder::start(&bin, "cgc", &["mcp", "start"], &database, "write");

    let state = PosixLockProbe.holder(&database).await.unwrap();

    let expected = Holder { pid: Some(holder.id()), name: "cgc mcp".to_owned(), directory: Some(bin) };
    assert_eq!(state, LockState::Held(expected));
}

#[rstest]
#[case("read")]
#[case("one-byte")]
#[tokio::test]
async fn any_posix_lock_that_stands_in_a_writers_way_counts(#[case] kind: &str) {
    let sandbox = Sandbox::new();
    let database = database(&sandbox);
    let holder = LockHolder::start(&sandbox.path(""), "holder.py", &[], &database, kind);

    let state = PosixLockProbe.holder(&database).await.unwrap();

    assert!(matches!(state, LockState::Held(found) if found.pid == Some(holder.id())));
}

/// Such a lock belongs to no one process; the kernel gives no number for it.
#[tokio::test]
async fn a_lock_of_an_open_file_has_a_holder_without_a_number() {
    let sandbox = Sandbox::new();
    let database = database(&sandbox);
    let _holder = LockHolder::start(&sandbox.path(""), "holder.py", &[], &database, "open-file");

    let state = PosixLockProbe.holder(&database).await.unwrap();

    let expected = Holder { pid: None, name: "another process".to_owned(), directory: None };
    assert_eq!(state, LockState::Held(expected));
}

/// cgc's databases take POSIX locks, with which such a lock does not conflict.
#[tokio::test]
async fn a_lock_of_another_family_holds_nothing() {
    let sandbox = Sandbox::new();
    let database = database(&sandbox);
    let _holder = LockHolder::start(&sandbox.path(""), "holder.py", &[], &database, "flock");

    assert_eq!(PosixLockProbe.holder(&database).await.unwrap(), LockState::Free);
}

#[tokio::test]
async fn trial_b34_a_holder_that_was_killed_holds_nothing() {
    let sandbox = Sandbox::new();
    let database = database(&sandbox);
    let mut holder = LockHolder::start(&sandbox.path(""), "holder.py", &[], &database, "write");
    holder.0.kill().unwrap();
    holder.0.wait().unwrap();

    assert_eq!(PosixLockProbe.holder(&database).await.unwrap(), LockState::Free);
}

#[tokio::test]
async fn looking_takes_no_lock_and_makes_no_file() {
    let sandbox = Sandbox::new();
    let database = database(&sandbox);
    let missing = sandbox.path("none");

    assert_eq!(PosixLockProbe.holder(&database).await.unwrap(), LockState::Free);
    assert_eq!(PosixLockProbe.holder(&missing).await.unwrap(), LockState::Absent);
    assert!(!missing.exists());
    // The next process gets the lock at once, so the probe left none.
    drop(LockHolder::start(&sandbox.path(""), "holder.py", &[], &database, "write"));
}
