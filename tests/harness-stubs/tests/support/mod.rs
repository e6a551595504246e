//! A workspace and a Claude Code whose hooks note each event and print one message for the human and one for the agent.

use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use steward_harness_stubs::{ClaudeCode, Scratch, ScriptedModel, Step};

/// What the hook says to the human at session start.
pub(crate) const FOR_HUMAN: &str = "only the human reads this";

/// What the hook says to the agent at session start.
pub(crate) const FOR_AGENT: &str = "only the agent reads this";

const EVENTS: [&str; 6] =
    ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd"];

/// What a test of Claude Code needs. Its processes end before its scratch place does.
pub(crate) struct Stage {
    pub(crate) claude: ClaudeCode,
    pub(crate) model: ScriptedModel,
    pub(crate) workspace: PathBuf,
    log: PathBuf,
    pub(crate) scratch: Scratch,
}

impl Stage {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let scratch = Scratch::new().unwrap();
        let model = ScriptedModel::start(steps).unwrap();
        let claude = ClaudeCode::new(&scratch, &model).unwrap();
        let workspace = scratch.directory("workspace").unwrap();
        let log = scratch.path().join("events");

        let greeting = json!({
            "systemMessage": FOR_HUMAN,
            "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": FOR_AGENT },
        });
        let script = format!(
            "payload=$(cat)\nprintf '%s\\n' \"$payload\" >> '{log}'\n[ \"$1\" = SessionStart ] && echo '{greeting}'\nexit 0\n",
            log = log.display()
        );
        let script = scratch.file("hook.sh", script).unwrap();
        let hooks: Map<String, Value> = EVENTS
            .iter()
            .map(|event| {
                let command = format!("sh '{}' {event}", script.display());
                let hook = json!([{ "hooks": [{ "type": "command", "command": command }] }]);
                ((*event).to_owned(), hook)
            })
            .collect();
        claude.write_settings(&json!({ "hooks": hooks })).unwrap();
        Self { claude, model, workspace, log, scratch }
    }

    /// The events that hooks noted, each with the one word that tells it from others of its kind.
    pub(crate) fn events(&self) -> Vec<String> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .map(|event| {
                let word = ["source", "tool_name", "reason"].iter().find_map(|key| event[*key].as_str());
                let name = event["hook_event_name"].as_str().unwrap_or_default();
                word.map_or_else(|| name.to_owned(), |word| format!("{name} {word}"))
            })
            .collect()
    }
}
