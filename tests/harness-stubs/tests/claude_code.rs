//! Proves that a real Claude Code can be driven offline, and what it does with what a hook prints.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::time::Duration;

use rstest::rstest;
use rustix::process::Signal;
use steward_harness_stubs::{
    Gate, Permissions, Step, assert_no_process_left, descendants, is_alive, tools, wait_until,
};

use crate::support::{FOR_AGENT, FOR_HUMAN, Stage};

/// Generous: two cores and other tests beside it.
const BOUND: Duration = Duration::from_mins(1);

#[test]
fn stub_a_headless_run_shows_the_hook_message_and_tells_the_model_the_context() {
    let stage = Stage::new([Step::text("All done.")]);

    let run = stage.claude.headless(&stage.workspace, "Go.", Permissions::AcceptEdits, BOUND).unwrap();

    let output = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{output}");
    assert!(output.contains("All done."), "{output}");
    assert!(output.contains(FOR_HUMAN), "{output}");
    assert_eq!(stage.model.conversation().len(), 1);
    assert_eq!(stage.model.requests_with(FOR_AGENT), 1);
    assert_eq!(stage.model.requests_with(FOR_HUMAN), 0);
    assert_eq!(stage.events(), ["SessionStart startup", "UserPromptSubmit", "Stop", "SessionEnd other"]);
}

#[test]
fn stub_a_terminal_shows_the_hook_message_and_tells_the_model_the_context() {
    let stage = Stage::new([Step::text("All done.")]);
    let mut terminal = stage.claude.terminal(&stage.workspace, Permissions::AcceptEdits).unwrap();

    terminal.wait_for_text(FOR_HUMAN, BOUND).unwrap();
    terminal.type_line("Go on with it.").unwrap();
    let screen = terminal.wait_for_text("All done.", BOUND).unwrap();

    assert!(!screen.contains(FOR_AGENT), "{screen}");
    assert_eq!(stage.model.steps_left(), 0);
    assert_eq!(stage.model.conversation().len(), 1);
    assert_eq!(stage.model.requests_with(FOR_AGENT), 1);
    assert_eq!(stage.model.requests_with(FOR_HUMAN), 0);
}

#[rstest]
#[case::without_a_screen(false)]
#[case::in_a_terminal(true)]
fn stub_tools_write_edit_and_run_commands(#[case] in_terminal: bool) {
    let stage = Stage::new([]);
    let old = stage.workspace.join("old.py");
    let new = stage.workspace.join("new.py");
    fs::write(&old, "def one():\n    return 1\n").unwrap();
    stage.model.extend([
        Step::calls([tools::read(&old), tools::write(&new, "def three(): pass\n")]),
        Step::calls([tools::edit(&old, "return 1", "return 2")]),
        Step::calls([tools::bash("printf 'x = 1\\n' > made.py")]),
        Step::text("All done."),
    ]);

    if in_terminal {
        let mut terminal = stage.claude.terminal(&stage.workspace, Permissions::Bypass).unwrap();
        terminal.type_line("Go.").unwrap();
        terminal.wait_for_text("All done.", BOUND).unwrap();
    } else {
        let run = stage.claude.headless(&stage.workspace, "Go.", Permissions::Bypass, BOUND);
        assert!(run.unwrap().status.success());
    }

    assert_eq!(fs::read_to_string(&old).unwrap(), "def one():\n    return 2\n");
    assert_eq!(fs::read_to_string(&new).unwrap(), "def three(): pass\n");
    assert_eq!(fs::read_to_string(stage.workspace.join("made.py")).unwrap(), "x = 1\n");
    let after_tools: Vec<String> =
        stage.events().into_iter().filter(|event| event.starts_with("PostToolUse")).collect();
    let mut expected = ["Read", "Write", "Edit", "Bash"].map(|tool| format!("PostToolUse {tool}"));
    expected[..2].sort_unstable_by_key(|event| after_tools.iter().position(|seen| seen == event));
    assert_eq!(after_tools, expected);
}

#[test]
fn stub_clear_and_exit_end_a_session_each() {
    let stage = Stage::new([]);
    let mut terminal = stage.claude.terminal(&stage.workspace, Permissions::AcceptEdits).unwrap();
    terminal.wait_for_text(FOR_HUMAN, BOUND).unwrap();

    terminal.type_line("/clear").unwrap();
    assert!(wait_until(BOUND, || stage.events().len() == 3), "{:?}", stage.events());
    terminal.type_line("/exit").unwrap();
    let status = terminal.wait_for_end(BOUND).unwrap();

    assert!(status.success(), "{status:?}");
    assert_eq!(
        stage.events(),
        ["SessionStart startup", "SessionEnd clear", "SessionStart clear", "SessionEnd prompt_input_exit",]
    );
}

#[test]
fn stub_a_killed_terminal_session_leaves_nothing() {
    let gate = Gate::closed();
    let stage = Stage::new([Step::text("Never said.").held_by(&gate)]);
    let mut terminal = stage.claude.terminal(&stage.workspace, Permissions::AcceptEdits).unwrap();
    terminal.type_line("Go.").unwrap();
    assert!(wait_until(BOUND, || stage.model.steps_left() == 0));

    terminal.signal(Signal::KILL);
    let status = terminal.wait_for_end(BOUND).unwrap();

    assert!(!status.success());
    assert!(!is_alive(terminal.pid()));
    assert_no_process_left(stage.scratch.mark(), BOUND);
    assert!(!stage.events().iter().any(|event| event.starts_with("SessionEnd")));
}

#[test]
fn stub_a_killed_headless_run_leaves_nothing() {
    let gate = Gate::closed();
    let stage = Stage::new([Step::text("Never said.").held_by(&gate)]);
    let run = stage.claude.start_headless(&stage.workspace, "Go.", Permissions::AcceptEdits).unwrap();
    assert!(wait_until(BOUND, || stage.model.steps_left() == 0));

    run.signal(Signal::KILL);
    let output = run.finish(BOUND).unwrap();

    assert!(!output.status.success());
    assert_no_process_left(stage.scratch.mark(), BOUND);
}

#[test]
fn stub_a_dropped_terminal_takes_a_running_command_along() {
    let stage = Stage::new([Step::calls([tools::bash("touch started; sleep 300")])]);
    let mut terminal = stage.claude.terminal(&stage.workspace, Permissions::Bypass).unwrap();
    terminal.type_line("Go.").unwrap();
    let started = stage.workspace.join("started");
    assert!(wait_until(BOUND, || started.exists()), "{}", terminal.screen_text());
    assert!(!descendants(terminal.pid()).is_empty());

    drop(terminal);

    assert_no_process_left(stage.scratch.mark(), BOUND);
}
