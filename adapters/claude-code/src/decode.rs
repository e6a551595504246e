//! From a hook's payload to an event in the companion's words.
//!
//! It must never keep more of a payload than the event needs, nor trust `CLAUDE_PROJECT_DIR`: after a change into a
//! worktree that variable still names the main checkout, while the payload's `cwd` and the files' paths are right.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use steward_hook::{DecodeError, Occurrence};
use steward_wire::{EditCertainty, HarnessEvent, StartSource};

use crate::event::HookEvent;

/// The fields of a payload that matter. The others, whole files among them, are skipped while reading.
#[derive(Debug, Deserialize)]
struct Payload<'a> {
    hook_event_name: String,
    session_id: Option<String>,
    cwd: Option<PathBuf>,
    /// Of `SessionStart`.
    source: Option<String>,
    /// Of `SessionEnd`.
    reason: Option<String>,
    /// Of the tool events.
    tool_name: Option<String>,
    /// Of the tool events. Its form is the tool's own, so it is looked into only where the tool is known.
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
}

/// The input of a tool that edits one file.
#[derive(Debug, Deserialize)]
struct EditInput {
    /// Of `Write` and `Edit`.
    file_path: Option<PathBuf>,
    /// Of `NotebookEdit`.
    notebook_path: Option<PathBuf>,
}

/// Reads a payload; `None` where the event means nothing to the companion.
pub(crate) fn decode(payload: &[u8]) -> Result<Option<Occurrence<HookEvent>>, DecodeError> {
    let payload: Payload<'_> = serde_json::from_slice(payload)?;
    let Some(origin) = HookEvent::from_name(&payload.hook_event_name) else { return Ok(None) };
    let directory = payload.cwd.filter(|path| path.is_absolute()).ok_or(DecodeError::NoDirectory)?;
    let event = match origin {
        HookEvent::SessionStart => {
            Some(HarnessEvent::SessionStarted { source: start_source(payload.source.as_deref()) })
        }
        HookEvent::UserPromptSubmit => Some(HarnessEvent::PromptSubmitted),
        HookEvent::PostToolUse => edited(payload.tool_name.as_deref(), payload.tool_input, &directory),
        HookEvent::PostToolUseFailure => (payload.tool_name.as_deref() == Some("Bash")).then(possibly_edited),
        HookEvent::Stop => Some(HarnessEvent::TurnEnded),
        HookEvent::SessionEnd => Some(HarnessEvent::SessionEnded { continues: continues(payload.reason.as_deref()) }),
    };
    Ok(event.map(|event| Occurrence {
        origin,
        harness_session: payload.session_id,
        directory,
        event,
        carries: origin.carries(),
    }))
}

fn start_source(source: Option<&str>) -> StartSource {
    match source {
        Some("startup") => StartSource::Startup,
        Some("resume") => StartSource::Resume,
        Some("clear") => StartSource::Clear,
        Some("compact") => StartSource::Compact,
        Some(_) | None => StartSource::Other,
    }
}

/// Whether the process goes on with another conversation: `/clear`, `/resume` and `/branch` end one and start the next.
fn continues(reason: Option<&str>) -> bool {
    matches!(reason, Some("clear" | "resume"))
}

fn edited(tool: Option<&str>, input: Option<&RawValue>, directory: &Path) -> Option<HarnessEvent> {
    match tool {
        Some("Write" | "Edit" | "NotebookEdit") => Some(edited_file(input, directory)),
        // `Agent` was called `Task` before; a subagent's own edits come as events of their own, its shell's do not say.
        Some("Bash" | "Agent" | "Task") => Some(possibly_edited()),
        Some(_) | None => None,
    }
}

/// An editing tool always names its file; where that changes, something was edited all the same.
fn edited_file(input: Option<&RawValue>, directory: &Path) -> HarnessEvent {
    let input: Option<EditInput> = input.and_then(|input| serde_json::from_str(input.get()).ok());
    match input.and_then(|input| input.file_path.or(input.notebook_path)) {
        // Joining an absolute path, which it is, gives that path.
        Some(path) => HarnessEvent::Edited { certainty: EditCertainty::Certain, paths: vec![directory.join(path)] },
        None => possibly_edited(),
    }
}

fn possibly_edited() -> HarnessEvent {
    HarnessEvent::Edited { certainty: EditCertainty::Possible, paths: Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn event(payload: &serde_json::Value) -> Option<HarnessEvent> {
        decode(payload.to_string().as_bytes()).unwrap().map(|occurrence| occurrence.event)
    }

    fn payload(extra: &serde_json::Value) -> serde_json::Value {
        let mut payload = json!({ "session_id": "s", "cwd": "/w/deep", "prompt_id": "p", "transcript_path": "/t" });
        payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        payload
    }

    #[test]
    fn every_captured_payload_is_understood() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
        let mut paths: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let mut table = String::new();
        for path in paths.iter().filter(|path| !path.ends_with("StatusLine-startup.json")) {
            let decoded = decode(&std::fs::read(path).unwrap()).unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap();
            match decoded {
                Some(occurrence) => writeln!(
                    table,
                    "{name}: {:?} in {} of {}, carries {:?}",
                    occurrence.event,
                    occurrence.directory.display(),
                    occurrence.harness_session.unwrap(),
                    occurrence.carries,
                ),
                None => writeln!(table, "{name}: -"),
            }
            .unwrap();
        }

        insta::assert_snapshot!(table);
    }

    #[rstest]
    #[case("clear", true)]
    #[case("resume", true)]
    #[case("prompt_input_exit", false)]
    #[case("logout", false)]
    #[case("other", false)]
    fn a_conversation_that_gives_way_to_another_does_not_end_the_process(#[case] reason: &str, #[case] expected: bool) {
        let ended = event(&payload(&json!({ "hook_event_name": "SessionEnd", "reason": reason })));

        assert_eq!(ended, Some(HarnessEvent::SessionEnded { continues: expected }));
    }

    #[rstest]
    #[case::fork(Some("fork"))]
    #[case::none(None)]
    fn an_unknown_way_to_start_is_a_start(#[case] source: Option<&str>) {
        let started = event(&payload(&json!({ "hook_event_name": "SessionStart", "source": source })));

        assert_eq!(started, Some(HarnessEvent::SessionStarted { source: StartSource::Other }));
    }

    #[test]
    fn trial_b61_the_payload_says_where_an_edit_happened() {
        let payload = payload(&json!({
            "hook_event_name": "PostToolUse",
            "cwd": "/main/.claude/worktrees/x",
            "tool_name": "Edit",
            "tool_input": { "file_path": "/main/.claude/worktrees/x/a.py", "old_string": "a", "new_string": "b" },
            "tool_response": { "originalFile": "a" },
        }));

        let occurrence = decode(payload.to_string().as_bytes()).unwrap().unwrap();

        assert_eq!(occurrence.directory, Path::new("/main/.claude/worktrees/x"));
        let paths = vec![PathBuf::from("/main/.claude/worktrees/x/a.py")];
        assert_eq!(occurrence.event, HarnessEvent::Edited { certainty: EditCertainty::Certain, paths });
    }

    #[rstest]
    #[case::no_path("Write", json!({ "content": "x" }))]
    #[case::path_of_another_type("Edit", json!({ "file_path": 7 }))]
    #[case::no_object("NotebookEdit", json!("text"))]
    #[case::no_input("Write", serde_json::Value::Null)]
    #[case::shell("Bash", json!({ "command": "sed -i s/a/b/ a.py" }))]
    #[case::subagent("Task", json!({ "prompt": "go" }))]
    fn an_edit_of_unknown_files_is_possible(#[case] tool: &str, #[case] input: serde_json::Value) {
        let payload = payload(&json!({ "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input }));

        let possible = HarnessEvent::Edited { certainty: EditCertainty::Possible, paths: Vec::new() };
        assert_eq!(event(&payload), Some(possible));
    }

    #[test]
    fn a_tool_of_a_server_may_have_any_input() {
        let input = json!({ "file_path": { "not": ["a", "path"] } });
        let payload = payload(
            &json!({ "hook_event_name": "PostToolUse", "tool_name": "mcp__files__write", "tool_input": input }),
        );

        assert_eq!(event(&payload), None);
    }

    #[rstest]
    #[case::relative(json!("deep"))]
    #[case::missing(serde_json::Value::Null)]
    fn a_session_without_a_directory_is_an_error(#[case] directory: serde_json::Value) {
        let payload = payload(&json!({ "hook_event_name": "Stop", "cwd": directory }));

        assert_eq!(decode(payload.to_string().as_bytes()), Err(DecodeError::NoDirectory));
    }

    #[test]
    fn an_error_quotes_nothing_of_the_payload() {
        let payload = payload(&json!({ "hook_event_name": "SessionEnd", "reason": ["sk-secret"] }));

        let error = decode(payload.to_string().as_bytes()).unwrap_err();

        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn deep_nesting_is_refused_or_skipped_without_exhausting_the_stack() {
        let deep = "[".repeat(1_000_000);
        let payload = format!(r#"{{"hook_event_name":"Stop","cwd":"/w","last_assistant_message":{deep}"#);

        assert!(decode(payload.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = decode(&bytes).is_ok();
        }

        #[test]
        fn a_payload_cut_anywhere_is_refused(cut in 0_usize..900) {
            let whole = include_bytes!("../tests/captures/PostToolUse-Edit.json");
            prop_assert!(decode(&whole[..cut]).is_err());
        }

        #[test]
        fn a_payload_with_a_byte_changed_never_panics(at in 0_usize..900, byte in any::<u8>()) {
            let mut changed = include_bytes!("../tests/captures/PostToolUse-Edit.json").to_vec();
            changed[at] = byte;
            let _ = decode(&changed).is_ok();
        }
    }
}
