//! What the tests of the runner share: a ledger, commands that carry a mark, and waiting with a bound.
//!
//! It must never leave a process behind: a `World` that is dropped kills whatever carries its mark.

#![expect(clippy::unwrap_used, reason = "only tests call this, and a failure here is a failed test")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use steward_guard::process_table;
use steward_ports::{CommandSpec, Ended, Environment, GroupId, ProcessEvent, Runner};
use steward_process::ProcessRunner;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_process-test-helper");

/// A directory with a ledger, and everything that was started in it.
pub(crate) struct World {
    pub(crate) directory: tempfile::TempDir,
    mark: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let mark = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
        Self { directory: tempfile::tempdir().unwrap(), mark: mark.trim().to_owned() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.path("processes")
    }

    pub(crate) fn runner(&self) -> ProcessRunner {
        ProcessRunner::new(HELPER, self.ledger())
    }

    /// `sh -c script`, with an environment that names this world.
    pub(crate) fn script(&self, script: &str) -> CommandSpec {
        let variables = [("PATH", "/usr/bin:/bin"), ("PROCESS_TEST_MARK", &self.mark)];
        CommandSpec {
            program: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".into(), script.into()],
            directory: self.directory.path().to_owned(),
            environment: variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect::<Environment>(),
            capture_limit: 1024,
            orphan_grace: Duration::from_secs(10),
            niceness: 0,
        }
    }

    /// A daemon in a process of its own that runs `sh -c script`; returned when the program runs.
    pub(crate) fn daemon(&self, grace: Duration, script: &str) -> Daemon {
        let mut child = Command::new(HELPER)
            .arg("daemon")
            .arg(self.ledger())
            .arg(grace.as_millis().to_string())
            .args(["/bin/sh", "-c", script])
            .current_dir(self.directory.path())
            .env("PROCESS_TEST_MARK", &self.mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut daemon = Daemon { child, output };
        assert_eq!(daemon.line(), "spawned");
        daemon
    }

    /// The number of the only guard in the ledger.
    pub(crate) fn guard(&self) -> u32 {
        let entry = fs::read_dir(self.ledger()).unwrap().next().unwrap().unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("guard "));
        line.unwrap().split_once(' ').unwrap().0.parse().unwrap()
    }

    pub(crate) fn entries(&self) -> usize {
        fs::read_dir(self.ledger()).map_or(0, Iterator::count)
    }

    /// The live processes of this world, whatever group or session they fled to.
    pub(crate) fn living(&self) -> BTreeSet<u32> {
        let mark = format!("PROCESS_TEST_MARK={}", self.mark);
        process_table::all()
            .unwrap()
            .into_iter()
            .filter(|process| process.is_alive)
            .filter(|process| {
                let environment = fs::read(format!("/proc/{}/environ", process.pid));
                environment.is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
            })
            .map(|process| process.pid)
            .collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for pid in self.living() {
            if let Some(process) = process_table::read(pid).ok().flatten() {
                let _ended_meanwhile = process_table::kill(&process, || true);
            }
        }
    }
}

/// A process that holds a runner.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    output: BufReader<ChildStdout>,
}

impl Daemon {
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// SIGKILL, as the out-of-memory killer would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped_already = self.child.wait();
    }
}

/// Returns the text of the group's next line.
pub(crate) async fn line(runner: &ProcessRunner, group: GroupId) -> String {
    match tokio::time::timeout(PATIENCE, runner.next(group)).await.unwrap().unwrap() {
        ProcessEvent::Line(line) => line.text,
        ProcessEvent::Ended(ended) => panic!("ended too early: {ended:?}"),
    }
}

/// Returns the group's end, past all its lines.
pub(crate) async fn end(runner: &ProcessRunner, group: GroupId) -> Ended {
    let end = async {
        loop {
            if let ProcessEvent::Ended(ended) = runner.next(group).await.unwrap() {
                return ended;
            }
        }
    };
    tokio::time::timeout(PATIENCE, end).await.unwrap()
}

/// Returns once `condition` holds; fails the test where it does not within `PATIENCE`.
pub(crate) async fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether `path` exists and holds `text`.
pub(crate) fn holds(path: &Path, text: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|held| held == text)
}
