//! A stage with a real Claude Code that was wired by the installer.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use steward_e2e::{Repository, World};
use steward_harness_stubs::{ClaudeCode, Gate, HeadlessRun, Permissions, ScriptedModel, Step, Terminal, wait_until};

/// Generous: Claude Code takes seconds to start, and more where other tests run beside it.
pub(crate) const BOUND: Duration = Duration::from_mins(1);

/// What a test of Claude Code needs. Its processes end before its world does.
pub(crate) struct Stage {
    pub(crate) claude: ClaudeCode,
    pub(crate) model: ScriptedModel,
    pub(crate) repository: Repository,
    pub(crate) world: World,
}

impl Stage {
    /// A repository of three files, a model that follows `steps`, and a Claude Code without our hooks.
    pub(crate) fn unwired(world: World, steps: impl IntoIterator<Item = Step>) -> Self {
        let repository = world.repository("repo");
        repository.write_python("a.py", &["one", "two"]);
        repository.write_python("package/b.py", &["three"]);
        repository.write_python("package/c.py", &["four", "five"]);
        let model = ScriptedModel::start(steps).unwrap();
        let claude = world.claude_code(&model);
        Self { claude, model, repository, world }
    }

    /// The same with our hooks installed as a user does it.
    pub(crate) fn new(world: World, steps: impl IntoIterator<Item = Step>) -> Self {
        let stage = Self::unwired(world, steps);
        stage.wire();
        stage
    }

    pub(crate) fn wire(&self) {
        self.world.steward_succeeds(self.root(), &["install", "claude-code", "--yes"]);
    }

    /// Has the human create the graph.
    pub(crate) fn index(&self) {
        self.world.steward_succeeds(self.root(), &["index", "--yes", "--wait"]);
    }

    /// Has cgc create the graph, of which the companion learns nothing.
    pub(crate) fn index_by_cgc_alone(&self) {
        let status = Command::new(self.world.cgc().executable().unwrap())
            .arg("index")
            .arg(self.root())
            .env_clear()
            .envs(self.world.environment())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    }

    pub(crate) fn root(&self) -> &Path {
        self.repository.root()
    }

    pub(crate) fn status(&self) -> Value {
        self.world.status(self.root())
    }

    /// Runs one prompt without a screen to its end, which must be a good one, and returns its events.
    #[track_caller]
    pub(crate) fn headless(&self) -> Events {
        self.start_headless().finish()
    }

    #[track_caller]
    pub(crate) fn start_headless(&self) -> Running {
        let run = self.claude.start_headless(self.root(), "Go.", Permissions::AcceptEdits).unwrap();
        Running(run)
    }

    /// Starts a session on a screen, in the workspace.
    #[track_caller]
    pub(crate) fn terminal(&self) -> Terminal {
        self.claude.terminal(self.root(), Permissions::AcceptEdits).unwrap()
    }

    /// Waits until the agent has begun: its request has reached the model, which holds the answer back.
    #[track_caller]
    pub(crate) fn wait_for_the_agent(&self) {
        assert!(wait_until(BOUND, || self.model.steps_left() == 0), "the agent asked its model nothing");
    }

    /// Fails where a request to the model, of any kind, holds anything that was meant for the human.
    #[track_caller]
    pub(crate) fn assert_the_model_knows_nothing(&self) {
        for words in ["cgc-steward:", "code graph", "steward index", "steward status", "lifecycle.autoCreate"] {
            assert_eq!(self.model.requests_with(words), 0, "`{words}` reached the model");
        }
        assert!(!self.model.conversation().is_empty());
    }
}

/// A step that answers once `gate` is open.
pub(crate) fn held(text: &str, gate: &Gate) -> Step {
    Step::text(text).held_by(gate)
}

/// A run without a screen.
pub(crate) struct Running(pub(crate) HeadlessRun);

impl Running {
    #[track_caller]
    pub(crate) fn finish(self) -> Events {
        let output = self.0.finish(BOUND).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        Events(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }
}

/// The stream of a run without a screen.
pub(crate) struct Events(Vec<Value>);

impl Events {
    /// The agent's last words.
    pub(crate) fn result(&self) -> &str {
        let result = self.0.iter().find(|event| event["type"] == "result").unwrap();
        assert_eq!(result["is_error"], false, "{result}");
        result["result"].as_str().unwrap()
    }

    /// What hooks told the human, each with the event that carried it.
    pub(crate) fn notices(&self) -> Vec<String> {
        let responses = self.0.iter().filter(|event| event["subtype"] == "hook_response");
        let notices = responses.filter_map(|response| {
            assert_eq!(response["exit_code"], 0, "{response}");
            let output: Value = serde_json::from_str(response["stdout"].as_str()?.trim()).ok()?;
            let context = &output["hookSpecificOutput"]["additionalContext"];
            assert_eq!(*context, Value::Null, "{response}");
            Some(format!("{}: {}", response["hook_event"].as_str()?, output["systemMessage"].as_str()?))
        });
        notices.collect()
    }

    /// The events whose hooks ran.
    pub(crate) fn hooks(&self) -> Vec<&str> {
        let responses = self.0.iter().filter(|event| event["subtype"] == "hook_response");
        responses.filter_map(|response| response["hook_event"].as_str()).collect()
    }
}
