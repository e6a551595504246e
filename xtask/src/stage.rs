//! A machine of its own for a demonstration or a measurement: a home, a PATH with a cgc on it, and our own programs.
//!
//! Nothing outside its temporary directory is written, and no process of it survives it: on the way out through an error
//! they are killed, and [`Stage::close`] proves that none is left.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;
use steward_harness_stubs::{Scratch, wait_for, wait_until};

use crate::command::{capture, program};

mod cgc;

pub(crate) use cgc::Cgc;

/// How long processes may take to end once the daemon was told to. Long: a loaded machine is no leak.
const LEFT_WITHIN: Duration = Duration::from_secs(10);

/// What all processes of a demonstration or measurement see of the machine.
#[derive(Debug)]
pub(crate) struct Stage {
    environment: BTreeMap<OsString, OsString>,
    programs: PathBuf,
    cgc: Cgc,
    scratch: Scratch,
}

impl Stage {
    /// Sets the stage for the programs in the directory `programs`, with the cgc that `install` makes.
    pub(crate) fn set(programs: &Path, install: impl FnOnce(&Scratch) -> anyhow::Result<Cgc>) -> anyhow::Result<Self> {
        let scratch = Scratch::new()?;
        let cgc = install(&scratch)?;
        let runtime = scratch.directory("run")?;
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700))
            .with_context(|| format!("cannot close {} to others", runtime.display()))?;
        let path = [programs, cgc.directory()].into_iter().map(Path::to_path_buf).chain(system_directories());
        let (mark, root) = scratch.mark().variable();
        let mut environment: BTreeMap<OsString, OsString> = [
            (mark, root.into()),
            ("HOME", scratch.directory("home")?.into()),
            ("TMPDIR", scratch.directory("tmp")?.into()),
            ("PATH", env::join_paths(path).context("a directory's name does not fit into PATH")?),
            ("LANG", "C.UTF-8".into()),
            ("XDG_RUNTIME_DIR", runtime.into()),
            ("XDG_CONFIG_HOME", root.join("config").into()),
            ("XDG_STATE_HOME", root.join("state").into()),
            ("XDG_CACHE_HOME", root.join("cache").into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect();
        environment.extend(cgc.environment().map(|(name, value)| (name.into(), value)));
        Ok(Self { environment, programs: programs.to_path_buf(), cgc, scratch })
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    pub(crate) fn cgc(&self) -> &Cgc {
        &self.cgc
    }

    pub(crate) fn environment(&self) -> &BTreeMap<OsString, OsString> {
        &self.environment
    }

    /// The path of one of our own programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// A program with this stage's environment, its working directory `directory` and no input.
    pub(crate) fn command(&self, name: impl AsRef<Path>, directory: &Path) -> Command {
        let mut command = program(name.as_ref());
        command.current_dir(directory).env_clear().envs(&self.environment);
        command
    }

    /// Runs `steward`, which must succeed, and returns what it printed.
    pub(crate) fn steward(&self, directory: &Path, arguments: &[&str]) -> anyhow::Result<String> {
        capture(self.command(self.program("steward"), directory).args(arguments))
    }

    /// The status of the workspace of `directory`, as `steward status --json` prints it.
    pub(crate) fn status(&self, directory: &Path) -> anyhow::Result<Value> {
        let text = self.steward(directory, &["status", "--json"])?;
        serde_json::from_str(&text).with_context(|| format!("steward status --json printed {text}"))
    }

    /// Waits until the workspace is in `state` and nothing is going on in it.
    pub(crate) fn wait_for_state(&self, directory: &Path, state: &str, bound: Duration) -> anyhow::Result<Value> {
        let mut last = Ok(Value::Null);
        let found = wait_for(bound, || {
            last = self.status(directory);
            let status = last.as_ref().ok()?;
            (status["state"] == state && status["activity"].is_null()).then(|| status.clone())
        });
        match found {
            Some(status) => Ok(status),
            None => bail!("waited {bound:?} in vain for the state {state}; the status is {:#}", last?),
        }
    }

    /// The process id of the daemon; none where none runs.
    pub(crate) fn daemon(&self) -> anyhow::Result<Option<u32>> {
        let text = self.steward(self.scratch.path(), &["daemon", "status", "--json"])?;
        let report: Value = serde_json::from_str(&text).with_context(|| format!("the daemon's status is {text}"))?;
        Ok(report["daemon"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()))
    }

    /// Ends the daemon and returns when it is gone.
    pub(crate) fn stop_daemon(&self) -> anyhow::Result<()> {
        self.steward(self.scratch.path(), &["daemon", "stop"]).map(drop)
    }

    /// Makes a git repository of a directory that has files, all of them committed.
    pub(crate) fn commit_all(&self, directory: &Path) -> anyhow::Result<()> {
        let identity = ["-c", "user.name=Stage", "-c", "user.email=stage@example.invalid"];
        for arguments in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message=Begin"]] {
            capture(self.command("git", directory).args(identity).args(arguments))?;
        }
        Ok(())
    }

    /// Ends the daemon, and fails where a process of this stage is still running after that.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        self.stop_daemon()?;
        let mark = self.scratch.mark();
        if wait_until(LEFT_WITHIN, || mark.processes().is_empty()) {
            return Ok(());
        }
        let left: Vec<String> = mark.processes().iter().map(ToString::to_string).collect();
        bail!("processes were left running:\n{}", left.join("\n"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be killed is reported by the scratch directory, which is dropped after this.
        let _killed = self.scratch.mark().kill_all();
    }
}

/// Where git and a shell are; the developer's own cgc, if there is one, may be among them, behind this stage's.
fn system_directories() -> impl Iterator<Item = PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default().into_iter()
}
