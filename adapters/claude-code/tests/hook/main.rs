//! The compiled hook as a harness starts it.
//!
//! Whatever it meets, it must exit 0 and write nothing or one JSON object.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod answers;
mod bad_input;
mod daemon;
mod support;
mod surroundings;

use serde_json::{Value, json};

/// An event's payload, with the fields that Claude Code puts into all of them.
fn payload(extra: &Value) -> Vec<u8> {
    let mut payload = json!({ "session_id": "s-1", "transcript_path": "/t.jsonl", "cwd": "/w", "prompt_id": "p-1" });
    payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    payload.to_string().into_bytes()
}

fn session_start() -> Vec<u8> {
    payload(&json!({ "hook_event_name": "SessionStart", "source": "startup" }))
}

fn session_end() -> Vec<u8> {
    payload(&json!({ "hook_event_name": "SessionEnd", "reason": "other" }))
}
