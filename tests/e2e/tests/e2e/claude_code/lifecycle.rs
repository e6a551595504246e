//! `docs/spec/lifecycle.feature` in a real Claude Code.

use std::time::Duration;

use steward_e2e::World;
use steward_harness_stubs::{Permissions, ScriptedModel, Step};

const BOUND: Duration = Duration::from_mins(1);

#[test]
fn lc_04_the_user_is_told_once_and_nothing_is_indexed() {
    let world = World::with_fake_cgc();
    let repository = world.repository("repo");
    repository.write_python("a.py", &["one", "two"]);
    let model = ScriptedModel::start([Step::text("First done."), Step::text("Second done.")]).unwrap();
    let claude = world.claude_code(&model);
    world.steward_succeeds(repository.root(), &["install", "claude-code", "--yes"]);
    let mut terminal = claude.terminal(repository.root(), Permissions::AcceptEdits).unwrap();

    terminal.type_line("Begin.").unwrap();
    terminal.wait_for_text("First done.", BOUND).unwrap();
    terminal.type_line("Go on.").unwrap();
    let screen = terminal.wait_for_text("Second done.", BOUND).unwrap();
    let status = world.status(repository.root());
    terminal.type_line("/exit").unwrap();
    terminal.wait_for_end(BOUND).unwrap();

    assert_eq!(screen.matches("cgc-steward:").count(), 1, "{screen}");
    assert!(screen.contains("has no code graph yet"), "{screen}");
    assert!(screen.contains("lifecycle.autoCreate"), "{screen}");
    assert_eq!(status["state"], "unindexed");
    assert_eq!(world.cgc().calls().len(), 0);
    assert_eq!(model.conversation().len(), 2);
    assert_eq!(model.requests_with("code graph"), 0);
}
