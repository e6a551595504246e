//! What the guard's tests share: a guard with a shell script as its program, and waiting with a bound.
//!
//! It must never leave a process behind: a `Lead` that is dropped takes its group along.

#![expect(clippy::unwrap_used, reason = "only tests call this, and a failure here is a failed test")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use steward_guard::{Report, Request, RunArguments, process_table};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A guard that waits for its first request.
pub(crate) struct Lead {
    pub(crate) guard: Child,
    pub(crate) lifeline: Option<UnixStream>,
    pub(crate) stdout: ChildStdout,
    mark: String,
}

impl Lead {
    /// Starts a guard whose program is `sh -c script`.
    pub(crate) fn of_script(script: &str, orphan_grace: Duration) -> Self {
        Self::of(&RunArguments {
            orphan_grace,
            niceness: 0,
            program: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".into(), script.into()],
        })
    }

    pub(crate) fn of(arguments: &RunArguments) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_steward-guard"));
        command.args(arguments.to_arguments());
        Self::by(command)
    }

    /// Starts a guard by a command of the test's own making.
    pub(crate) fn by(mut command: Command) -> Self {
        let mark = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
        let mark = mark.trim().to_owned();
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut guard = command
            .env("GUARD_TEST_MARK", &mark)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        Self { stdout: guard.stdout.take().unwrap(), guard, lifeline: Some(ours), mark }
    }

    pub(crate) fn request(&mut self, request: Request) {
        let lifeline = self.lifeline.as_mut().unwrap();
        lifeline.write_all(&[request.to_byte()]).unwrap();
    }

    pub(crate) fn report(&mut self) -> Report {
        let mut bytes = [0; Report::LENGTH];
        self.lifeline.as_mut().unwrap().read_exact(&mut bytes).unwrap();
        Report::decode(bytes).unwrap()
    }

    /// Has the program started and returns once it runs.
    pub(crate) fn start(&mut self) {
        self.request(Request::Start);
        assert_eq!(self.report(), Report::Started);
    }

    /// Reads one line of the program's output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = Vec::new();
        let mut byte = [0];
        while self.stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap()
    }

    /// Does to the guard what the end of the daemon does.
    pub(crate) fn orphan(&mut self) {
        self.lifeline = None;
    }

    /// Waits for the guard's end, and returns whether it ended by itself and well.
    pub(crate) fn ends_well(&mut self) -> bool {
        wait_until("the guard ends", || self.guard.try_wait().unwrap().is_some());
        self.guard.wait().unwrap().success()
    }

    /// The live processes that descend from this guard, whatever group or session they fled to; the guard included.
    pub(crate) fn living(&self) -> BTreeSet<u32> {
        let mark = format!("GUARD_TEST_MARK={}", self.mark);
        process_table::all()
            .unwrap()
            .into_iter()
            .filter(|process| process.is_alive)
            .filter(|process| {
                let environment = std::fs::read(format!("/proc/{}/environ", process.pid));
                environment.is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
            })
            .map(|process| process.pid)
            .collect()
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        // A failed test must not leave anything either; one that passed has nothing left to kill.
        for pid in self.living() {
            if let Some(process) = process_table::read(pid).ok().flatten() {
                let _ended_meanwhile = process_table::kill(&process, || true);
            }
        }
        let _reaped_already = self.guard.wait();
    }
}

/// Returns once `condition` holds; fails the test where it does not within `PATIENCE`.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
