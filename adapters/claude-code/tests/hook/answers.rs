//! What the daemon is told, and what the harness is told in turn.

use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};
use steward_wire::{
    Carries, EditCertainty, Envelope, HarnessEvent, HarnessName, Notice, Reply, Request, SessionContext, Severity,
    StartSource,
};

use crate::support::{Answering, World, assert_silent, feed};
use crate::{payload, session_end, session_start};

fn delivery() -> Reply {
    let notice = Notice {
        name: "unindexed".to_owned(),
        severity: Severity::Info,
        text: "This workspace has no code graph yet.".to_owned(),
        advice: Some("Create it with `steward index`.".to_owned()),
    };
    Reply::Delivery { notices: vec![notice], context: vec!["card".to_owned()] }
}

fn nothing() -> Reply {
    Reply::Delivery { notices: Vec::new(), context: Vec::new() }
}

fn event(envelope: Envelope) -> (SessionContext, HarnessEvent, Carries) {
    match envelope.request {
        Request::Event { session, event, carries } => (session, event, carries),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_notice_goes_to_the_human_and_context_to_the_agent() {
    let world = World::new();
    let daemon = Answering::new(&world, delivery());

    let (_, output) = daemon.heard(|| world.hook(&session_start()));

    assert_eq!(output.status.code(), Some(0));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        told,
        json!({
            "systemMessage":
                "cgc-steward: This workspace has no code graph yet.\nCreate it with `steward index`.",
            "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": "card" },
        })
    );
    assert!(output.stderr.is_empty());
}

/// Runtimes that announce themselves on standard output do so where these variables are set.
#[test]
fn trial_b87_an_agent_is_told_in_one_document() {
    let world = World::new();
    let daemon = Answering::new(&world, delivery());

    let (_, output) = daemon.heard(|| {
        let mut command = world.command(world.program());
        let agent = "claude-code_2-1-197_harness";
        feed(command.arg("hook").env("CLAUDECODE", "1").env("AI_AGENT", agent), &session_start())
    });

    let documents = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    assert_eq!(documents.map(|document| document.map(|told| told.is_object()).ok()).collect::<Vec<_>>(), [Some(true)]);
}

#[test]
fn trial_b126_an_event_that_needs_nothing_says_nothing() {
    let world = World::new();
    let daemon = Answering::new(&world, nothing());

    let (_, output) = daemon.heard(|| world.hook(&session_start()));

    assert_silent(&output);
}

#[test]
fn the_daemon_learns_whose_event_it_is_and_no_secret() {
    let world = World::new();
    let daemon = Answering::new(&world, nothing());

    let (envelope, _) = daemon.heard(|| {
        let mut command = world.command(world.program());
        command
            .arg("hook")
            .env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
            .env("CLAUDE_PROJECT_DIR", "/main")
            .env("ANTHROPIC_API_KEY", "sk-secret")
            .env("DEFAULT_DATABASE", "kuzudb");
        feed(&mut command, &session_start())
    });

    let (session, event, carries) = event(envelope);
    assert_eq!(session.harness, HarnessName::ClaudeCode);
    assert_eq!(session.process.pid, std::process::id());
    assert_eq!(session.harness_session.as_deref(), Some("s-1"));
    assert_eq!(session.directory, Path::new("/w"));
    assert_eq!(session.environment.get("DEFAULT_DATABASE").map(String::as_str), Some("kuzudb"));
    assert!(!session.environment.values().any(|value| value.contains("sk-secret") || value == "/main"));
    assert!(session.headless);
    assert_eq!(event, HarnessEvent::SessionStarted { source: StartSource::Startup });
    assert_eq!(carries, Carries { notices: true, context: true });
}

#[test]
fn what_the_end_of_a_session_cannot_show_is_not_asked_for() {
    let world = World::new();
    let daemon = Answering::new(&world, delivery());

    let (envelope, output) = daemon.heard(|| world.hook(&session_end()));

    assert_silent(&output);
    let (_, event, carries) = event(envelope);
    assert_eq!(event, HarnessEvent::SessionEnded { continues: false });
    assert_eq!(carries, Carries { notices: false, context: false });
}

#[test]
fn a_payload_of_ten_megabytes_is_read_to_its_end_and_understood() {
    let world = World::new();
    let daemon = Answering::new(&world, nothing());
    let content = "0123456789abcdef".repeat(640 * 1024);
    let payload = payload(&json!({
        "hook_event_name": "PostToolUse",
        "tool_name": "Write",
        "tool_input": { "content": content, "file_path": "/w/big.py" },
        "tool_response": { "type": "create", "filePath": "/w/big.py" },
    }));

    let (envelope, output) = daemon.heard(|| world.hook(&payload));

    assert_silent(&output);
    let (_, event, _) = event(envelope);
    assert_eq!(event, HarnessEvent::Edited { certainty: EditCertainty::Certain, paths: vec!["/w/big.py".into()] });
}

#[rstest]
#[case::a_tool_that_edits_nothing(json!({ "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {} }))]
#[case::an_event_of_no_interest(json!({ "hook_event_name": "Notification", "message": "waiting" }))]
#[case::an_event_of_the_future(json!({ "hook_event_name": "SomethingNew" }))]
fn what_means_nothing_is_not_brought_to_the_daemon(#[case] event: Value) {
    let world = World::new();
    let listener = world.listen();
    listener.set_nonblocking(true).unwrap();

    assert_silent(&world.hook(&payload(&event)));

    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(world.logged(), Vec::<String>::new());
}
