//! Claude Code in a home of its own, set up so that it asks nothing and reaches no network but the scripted model.
//!
//! Facts about its files and variables hold for Claude Code 2.1.197. It must never see the developer's own settings or keys.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::anthropic::ScriptedModel;
use crate::error::HarnessError;
use crate::processes::{kill, kill_family, wait_for};
use crate::scratch::{Scratch, failed};
use crate::terminal::Terminal;

pub mod tools {
    //! Claude Code's own tools, as a model calls them.

    use std::path::Path;

    use serde_json::json;

    use crate::script::ToolCall;

    /// Writes a whole file.
    pub fn write(path: &Path, content: &str) -> ToolCall {
        ToolCall::new("Write", json!({ "file_path": path, "content": content }))
    }

    /// Reads a file, which has to come before an edit of one that the agent did not write.
    pub fn read(path: &Path) -> ToolCall {
        ToolCall::new("Read", json!({ "file_path": path }))
    }

    /// Replaces one piece of text.
    pub fn edit(path: &Path, old: &str, new: &str) -> ToolCall {
        let input = json!({ "file_path": path, "old_string": old, "new_string": new, "replace_all": false });
        ToolCall::new("Edit", input)
    }

    /// Runs a shell command.
    pub fn bash(command: &str) -> ToolCall {
        ToolCall::new("Bash", json!({ "command": command, "description": "scripted" }))
    }
}

/// Made up: no service knows it.
const API_KEY: &str = "sk-ant-api03-scripted-model-on-loopback-0000";

/// How much of a key Claude Code keeps to remember that its user approved it.
const KEY_TAIL: usize = 20;

/// How long it may take to start on a loaded machine.
const START_WITHIN: Duration = Duration::from_mins(1);

/// What the agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permissions {
    /// Edit files; commands are asked about, and denied where nobody can answer.
    AcceptEdits,
    /// Everything.
    Bypass,
}

impl Permissions {
    const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::AcceptEdits => &["--permission-mode", "acceptEdits"],
            Self::Bypass => &["--dangerously-skip-permissions"],
        }
    }
}

/// Claude Code, ready to run any number of times in one home.
#[derive(Debug, Clone)]
pub struct ClaudeCode {
    executable: PathBuf,
    home: PathBuf,
    environment: BTreeMap<OsString, OsString>,
}

impl ClaudeCode {
    /// Makes a home in `scratch` in which Claude Code starts at once, and points it at `model`.
    ///
    /// Panics where `STEWARD_TEST_CLAUDE` does not name the executable.
    pub fn new(scratch: &Scratch, model: &ScriptedModel) -> Result<Self, HarnessError> {
        Self::with_executable(executable(), scratch, model)
    }

    /// Makes the same of any Claude Code.
    pub fn with_executable(
        executable: PathBuf,
        scratch: &Scratch,
        model: &ScriptedModel,
    ) -> Result<Self, HarnessError> {
        let home = scratch.directory("home")?;
        scratch.directory("home/.claude")?;
        let temporary = scratch.directory("tmp")?;
        let mut claude = Self { executable, home, environment: BTreeMap::new() };
        let (mark, root) = scratch.mark().variable();
        claude.set(mark, root);
        if let Some(run) = env::var_os("STEWARD_TEST_RUN") {
            claude.set("STEWARD_TEST_RUN", run);
        }
        claude.set("HOME", claude.home.clone());
        claude.set("TMPDIR", temporary);
        claude.set("PATH", env::var_os("PATH").unwrap_or_default());
        claude.set("SHELL", "/bin/sh");
        claude.set("TERM", "xterm-256color");
        claude.set("LANG", "C.UTF-8");
        claude.set("ANTHROPIC_BASE_URL", model.base_url());
        claude.set("ANTHROPIC_API_KEY", API_KEY);
        claude.set("DISABLE_AUTOUPDATER", "1");
        claude.set("DISABLE_TELEMETRY", "1");
        claude.set("DISABLE_ERROR_REPORTING", "1");
        claude.set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        // Without it the root user, whom containers run as, may not skip permissions.
        claude.set("IS_SANDBOX", "1");
        write_json(&claude.state_path(), &state_after_first_start())?;
        Ok(claude)
    }

    /// Points it at another model, for the runs that follow.
    pub fn ask(&mut self, model: &ScriptedModel) {
        self.set("ANTHROPIC_BASE_URL", model.base_url());
    }

    /// Sets a variable for the runs that follow.
    pub fn set(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        let (name, value) = (name.as_ref().to_owned(), value.as_ref().to_owned());
        self.environment.insert(name, value);
    }

    /// Its environment, exactly.
    pub fn environment(&self) -> &BTreeMap<OsString, OsString> {
        &self.environment
    }

    /// Its home directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The user's settings file, which need not exist.
    pub fn settings_path(&self) -> PathBuf {
        self.home.join(".claude/settings.json")
    }

    /// Writes the user's settings, hooks included.
    pub fn write_settings(&self, settings: &Value) -> Result<(), HarnessError> {
        write_json(&self.settings_path(), settings)
    }

    /// Runs one prompt without a screen and waits for its end.
    pub fn headless(
        &self,
        workspace: &Path,
        prompt: &str,
        permissions: Permissions,
        bound: Duration,
    ) -> Result<Output, HarnessError> {
        self.start_headless(workspace, prompt, permissions)?.finish(bound)
    }

    /// Starts one prompt without a screen. Its output is a stream of JSON lines, with the hooks' events among them.
    pub fn start_headless(
        &self,
        workspace: &Path,
        prompt: &str,
        permissions: Permissions,
    ) -> Result<HeadlessRun, HarnessError> {
        HeadlessRun::start(self.headless_command(workspace, prompt, permissions), &self.executable)
    }

    /// The command line of a run without a screen, for a caller that follows the stream itself. It leads a group of its own.
    pub fn headless_command(&self, workspace: &Path, prompt: &str, permissions: Permissions) -> Command {
        let mut command = Command::new(&self.executable);
        command
            .args(["-p", prompt, "--output-format", "stream-json"])
            .args(["--include-hook-events", "--verbose"])
            .args(permissions.arguments())
            .current_dir(workspace)
            .env_clear()
            .envs(&self.environment)
            .process_group(0);
        command
    }

    /// Starts it in a terminal, in a workspace that its user trusts, and waits until it takes a prompt.
    pub fn terminal(&self, workspace: &Path, permissions: Permissions) -> Result<Terminal, HarnessError> {
        self.trust(workspace)?;
        let arguments = permissions.arguments();
        let terminal = Terminal::start(&self.executable, arguments, workspace, &self.environment)?;
        terminal.wait_for("the prompt", START_WITHIN, |screen| screen.contains('❯'))?;
        Ok(terminal)
    }

    fn trust(&self, workspace: &Path) -> Result<(), HarnessError> {
        let path = self.state_path();
        let text = fs::read(&path).map_err(|source| failed("read", &path, source))?;
        let mut state: Value = serde_json::from_slice(&text).map_err(|error| failed("read", &path, error.into()))?;
        let workspace = workspace.to_string_lossy();
        state["projects"][workspace.as_ref()]["hasTrustDialogAccepted"] = true.into();
        write_json(&path, &state)
    }

    /// The file in which Claude Code keeps that its user has been through the first start.
    fn state_path(&self) -> PathBuf {
        self.home.join(".claude.json")
    }
}

/// The state after a first start in which every question was answered.
fn state_after_first_start() -> Value {
    json!({
        "hasCompletedOnboarding": true,
        "bypassPermissionsModeAccepted": true,
        "customApiKeyResponses": { "approved": [&API_KEY[API_KEY.len() - KEY_TAIL..]], "rejected": [] },
    })
}

/// A run without a screen, going on. Dropping it ends it and all that descends from it.
#[derive(Debug)]
pub struct HeadlessRun {
    child: Child,
    output: Option<JoinHandle<io::Result<Vec<u8>>>>,
    errors: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl HeadlessRun {
    fn start(mut command: Command, program: &Path) -> Result<Self, HarnessError> {
        let start = |source| HarnessError::Start { program: program.to_path_buf(), source };
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.map_err(start)?;
        let output = child.stdout.take().map(read_to_end);
        let errors = child.stderr.take().map(read_to_end);
        Ok(Self { child, output, errors })
    }

    /// The process id of Claude Code itself.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to Claude Code, and to nothing that descends from it.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal);
    }

    /// Waits until it has ended, and returns all that it wrote. Ends it where the bound passes.
    pub fn finish(mut self, bound: Duration) -> Result<Output, HarnessError> {
        let ended = wait_for(bound, || self.child.try_wait().transpose());
        self.end();
        let stdout = collect(self.output.take())?;
        let stderr = collect(self.errors.take())?;
        match ended {
            Some(Ok(status)) => Ok(Output { status, stdout, stderr }),
            Some(Err(source)) => Err(HarnessError::System { action: "wait for a run without a screen", source }),
            None => Err(HarnessError::TimedOut {
                awaited: "the end of a run without a screen".to_owned(),
                bound,
                evidence: format!(
                    "its output:\n{}\n{}",
                    String::from_utf8_lossy(&stdout),
                    String::from_utf8_lossy(&stderr)
                ),
            }),
        }
    }

    fn end(&mut self) {
        // Once reaped, the number may be another process's.
        if let Ok(None) = self.child.try_wait() {
            kill_family(self.pid());
            drop(self.child.wait());
        }
    }
}

impl Drop for HeadlessRun {
    fn drop(&mut self) {
        self.end();
    }
}

fn read_to_end(mut source: impl Read + Send + 'static) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

fn collect(reader: Option<JoinHandle<io::Result<Vec<u8>>>>) -> Result<Vec<u8>, HarnessError> {
    let read = reader.map_or(Ok(Vec::new()), |reader| {
        reader.join().unwrap_or_else(|_| Err(io::Error::other("the reading thread panicked")))
    });
    read.map_err(|source| HarnessError::System { action: "read a program's output", source })
}

fn write_json(path: &Path, value: &Value) -> Result<(), HarnessError> {
    fs::write(path, value.to_string()).map_err(|source| failed("write", path, source))
}

fn executable() -> PathBuf {
    let Some(path) = env::var_os("STEWARD_TEST_CLAUDE").filter(|value| !value.is_empty()) else {
        panic!("STEWARD_TEST_CLAUDE is not set: `cargo xtask test` sets it, and `cargo xtask env` prints it");
    };
    path.into()
}
