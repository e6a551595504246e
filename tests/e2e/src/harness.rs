//! A harness process of the test's own, and the events that it hands to the hook as Claude Code does.
//!
//! The payloads have the fields of those that Claude Code 2.1.197 sends.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::BufReader;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use steward_harness_stubs::{kill, wait_for};

use crate::exchange::{self, Order, Outcome};
use crate::world::World;

/// Far above the hook's own deadline: a loaded machine is no defect, a hook that waits for something is.
const HOOK_ENDS_WITHIN: Duration = Duration::from_secs(5);

/// How long the harness process may take to end when it is told to.
const HARNESS_ENDS_WITHIN: Duration = Duration::from_secs(10);

/// A running harness with one session. Dropping it kills it.
#[derive(Debug)]
pub struct Harness {
    child: Child,
    orders: Option<ChildStdin>,
    outcomes: BufReader<ChildStdout>,
    hook: PathBuf,
    directory: PathBuf,
    session: String,
}

/// What a hook process did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRun {
    /// The exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// What it printed for the harness.
    pub stdout: Vec<u8>,
    /// What it printed beside that.
    pub stderr: Vec<u8>,
    /// From its start until it had ended and nothing held its output open.
    pub elapsed: Duration,
}

impl HookRun {
    /// The object that it printed; null where it printed nothing.
    pub fn output(&self) -> Value {
        if self.stdout.is_empty() {
            return Value::Null;
        }
        let text = String::from_utf8_lossy(&self.stdout);
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("the hook printed no JSON ({error}): {text}"))
    }

    /// What the human is shown; empty where nothing is.
    pub fn message(&self) -> String {
        self.output()["systemMessage"].as_str().unwrap_or_default().to_owned()
    }

    /// What the agent is told; empty where nothing is.
    pub fn context(&self) -> String {
        self.output()["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    /// Fails unless the agent was left alone: exit code 0, in time, nothing printed or one object.
    #[track_caller]
    pub fn assert_harmless(&self) {
        assert_eq!(self.code, Some(0), "the hook failed: {}", String::from_utf8_lossy(&self.stderr));
        assert!(self.elapsed < HOOK_ENDS_WITHIN, "the hook took {:?}", self.elapsed);
        let output = self.output();
        assert!(output.is_null() || output.is_object(), "the hook printed {output}");
    }
}

impl Harness {
    /// Starts a harness process in `directory`, with the world's environment. `wrapper` is a program with its first
    /// arguments that becomes the harness process, which are its last; empty where there is none.
    pub(crate) fn start(world: &World, directory: &Path, session: &str, wrapper: &[OsString]) -> Self {
        let words: Vec<OsString> = wrapper.iter().cloned().chain([world.harness_program().into()]).collect();
        let program = Path::new(&words[0]);
        let mut child = Command::new(program)
            .args(&words[1..])
            .current_dir(directory)
            .env_clear()
            .envs(world.environment())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
        Self {
            orders: child.stdin.take(),
            outcomes: BufReader::new(child.stdout.take().unwrap()),
            child,
            hook: world.program("steward-claude-code"),
            directory: directory.to_path_buf(),
            session: session.to_owned(),
        }
    }

    /// The process that sessions are keyed by.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `SessionStart`; `source` is startup, resume, clear or compact.
    #[track_caller]
    pub fn session_starts(&mut self, source: &str) -> HookRun {
        self.event("SessionStart", &json!({ "source": source }))
    }

    /// `UserPromptSubmit`.
    #[track_caller]
    pub fn human_prompts(&mut self, prompt: &str) -> HookRun {
        self.event("UserPromptSubmit", &json!({ "permission_mode": "default", "prompt": prompt }))
    }

    /// `PostToolUse` of the tool that writes a whole file. The file is the caller's to write.
    #[track_caller]
    pub fn agent_wrote(&mut self, file: &Path) -> HookRun {
        let input = json!({ "file_path": file, "content": "" });
        let response = json!({ "type": "update", "filePath": file, "content": "", "structuredPatch": [] });
        self.event("PostToolUse", &json!({ "tool_name": "Write", "tool_input": input, "tool_response": response }))
    }

    /// `PostToolUse` of the shell. What the command does is the caller's to do.
    #[track_caller]
    pub fn agent_ran(&mut self, command: &str) -> HookRun {
        let input = json!({ "command": command, "description": "scripted" });
        let response = json!({ "stdout": "", "stderr": "", "interrupted": false });
        self.event("PostToolUse", &json!({ "tool_name": "Bash", "tool_input": input, "tool_response": response }))
    }

    /// Stop: the turn ended.
    #[track_caller]
    pub fn turn_ends(&mut self) -> HookRun {
        self.event("Stop", &json!({ "stop_hook_active": false, "last_assistant_message": "Done." }))
    }

    /// `SessionEnd`; `reason` is `prompt_input_exit`, other, clear, resume or logout.
    #[track_caller]
    pub fn session_ends(&mut self, reason: &str) -> HookRun {
        self.event("SessionEnd", &json!({ "reason": reason }))
    }

    /// The human leaves: the session ends, then the harness process does.
    #[track_caller]
    pub fn leaves(mut self) {
        self.session_ends("prompt_input_exit");
        self.exits();
    }

    /// The harness process ends well and reports no end of its session.
    #[track_caller]
    pub fn exits(mut self) {
        drop(self.orders.take());
        let ended = wait_for(HARNESS_ENDS_WITHIN, || self.child.try_wait().transpose());
        assert!(ended.is_some_and(|status| status.unwrap().success()), "the harness process did not end well");
    }

    /// Kills the harness process at once, which tells nobody.
    pub fn is_killed(mut self) {
        kill(self.pid(), Signal::KILL);
        self.child.wait().unwrap();
    }

    /// Hands one event of this session to the hook, which must be harmless.
    #[track_caller]
    pub fn event(&mut self, name: &str, fields: &Value) -> HookRun {
        let payload = self.payload(name, fields);
        let run = self.hook(payload.to_string().as_bytes());
        run.assert_harmless();
        run
    }

    /// Hands one event of this session to the hook and does not wait for it.
    #[track_caller]
    pub fn event_begins(&mut self, name: &str, fields: &Value) {
        let payload = self.payload(name, fields);
        let hook = self.hook.clone();
        self.begin(&hook, &["hook"], payload.to_string().as_bytes());
    }

    /// Waits for the hook that `event_begins` started; none where the harness process is gone.
    #[track_caller]
    pub fn event_ends(&mut self) -> Option<HookRun> {
        self.end()
    }

    /// What the harness sends with an event of this session. `fields` displace what every event has.
    pub fn payload(&self, name: &str, fields: &Value) -> Value {
        let mut payload = json!({
            "session_id": self.session,
            "transcript_path": self.directory.join("transcript.jsonl"),
            "cwd": self.directory,
            "hook_event_name": name,
        });
        for (key, value) in fields.as_object().unwrap() {
            payload[key] = value.clone();
        }
        payload
    }

    /// Hands any bytes to the hook.
    #[track_caller]
    pub fn hook(&mut self, input: &[u8]) -> HookRun {
        let hook = self.hook.clone();
        self.run(&hook, &["hook"], input)
    }

    /// Runs any program as this harness runs a hook.
    #[track_caller]
    pub fn run(&mut self, program: &Path, arguments: &[&str], input: &[u8]) -> HookRun {
        self.begin(program, arguments, input);
        self.end().unwrap()
    }

    #[track_caller]
    fn begin(&mut self, program: &Path, arguments: &[&str], input: &[u8]) {
        let order = Order {
            program: program.to_path_buf(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            directory: self.directory.clone(),
            environment: BTreeMap::new(),
            input: input.len(),
        };
        exchange::write(self.orders.as_mut().unwrap(), &order, &[input]).unwrap();
    }

    #[track_caller]
    fn end(&mut self) -> Option<HookRun> {
        let outcome: Outcome = exchange::read_line(&mut self.outcomes).unwrap()?;
        let stdout = exchange::read_bytes(&mut self.outcomes, outcome.stdout).unwrap();
        let stderr = exchange::read_bytes(&mut self.outcomes, outcome.stderr).unwrap();
        assert_eq!(outcome.failure, None);
        Some(HookRun { code: outcome.code, stdout, stderr, elapsed: Duration::from_micros(outcome.microseconds) })
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        // It fails only where the process has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rstest::rstest;
    use steward_harness_stubs::is_alive;

    use super::*;

    const SHELL: &str = "/bin/sh";

    #[rstest]
    #[case::success("cat; echo beside >&2", Some(0), b"in\xffput", b"beside\n")]
    #[case::failure("echo out; exit 7", Some(7), b"out\n", b"")]
    #[case::signal("kill -9 $$", None, b"", b"")]
    #[case::reads_nothing("exec 0<&-; echo out", Some(0), b"out\n", b"")]
    fn a_harness_runs_a_program_and_tells_how_it_ended(
        #[case] script: &str,
        #[case] code: Option<i32>,
        #[case] stdout: &[u8],
        #[case] stderr: &[u8],
    ) {
        let mut world = World::without_cgc();
        let repository = world.repository("repo");
        let mut harness = world.harness(repository.root());

        let run = harness.run(SHELL.as_ref(), &["-c", script], b"in\xffput");

        assert_eq!((run.code, run.stdout.as_slice(), run.stderr.as_slice()), (code, stdout, stderr));
    }

    #[test]
    fn a_harness_waits_until_nothing_holds_the_output() {
        let mut world = World::without_cgc();
        let repository = world.repository("repo");
        let mut harness = world.harness(repository.root());
        let script = "(until [ -e release ]; do :; done; echo late) & touch release";

        let run = harness.run(SHELL.as_ref(), &["-c", script], b"");

        assert_eq!(run.stdout, b"late\n");
    }

    #[test]
    fn a_program_sees_the_harness_as_its_parent_and_the_world_as_its_environment() {
        let mut world = World::without_cgc();
        let repository = world.repository("repo");
        let mut harness = world.harness(repository.root());

        let run = harness.run(SHELL.as_ref(), &["-c", "cat /proc/$PPID/comm; echo $PPID; pwd; echo $HOME"], b"");

        let home = world.home();
        let expected = format!("claude\n{}\n{}\n{}\n", harness.pid(), repository.root().display(), home.display());
        assert_eq!(String::from_utf8(run.stdout).unwrap(), expected);
    }

    #[test]
    fn a_killed_harness_is_gone() {
        let mut world = World::without_cgc();
        let repository = world.repository("repo");
        let harness = world.harness(repository.root());
        let pid = harness.pid();
        assert!(is_alive(pid));

        harness.is_killed();

        assert!(!is_alive(pid));
    }

    #[test]
    fn a_repository_keeps_commits_apart_from_the_working_tree() {
        let world = World::without_cgc();
        let repository = world.repository("repo");
        let path = repository.write_python("package/a.py", &["first", "second"]);

        let commit = repository.commit("one");
        repository.rename("package/a.py", "b.py");

        assert_eq!(commit.len(), 40);
        assert!(!path.exists());
        let text = fs::read_to_string(repository.path("b.py")).unwrap();
        assert_eq!(text, "def first():\n    return 1\n\n\ndef second():\n    return first()\n\n\n");
        assert_eq!(repository.git(&["status", "--porcelain"]), " D package/a.py\n?? b.py");
    }
}
