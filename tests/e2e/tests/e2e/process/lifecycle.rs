//! `docs/spec/lifecycle.feature` in the process world.

use std::time::Duration;

use serde_json::Value;
use steward_e2e::World;
use steward_fake_cgc::{Behaviour, Command, Rule, Script};

const BOUND: Duration = Duration::from_secs(30);

#[test]
fn lc_02_an_unindexed_workspace_is_reported_and_left_alone() {
    let mut world = World::with_fake_cgc();
    let repository = world.repository("repo");
    repository.write_python("a.py", &["one", "two"]);
    let mut harness = world.harness(repository.root());

    let hooks = [harness.session_starts("startup"), harness.human_prompts("Go."), harness.turn_ends()];
    let status = world.wait_for_state(repository.root(), "unindexed", BOUND);
    harness.leaves();

    assert_eq!(status["receipt"], Value::Null);
    assert!(hooks.iter().all(|hook| hook.context().is_empty()), "{hooks:?}");
    assert_eq!(world.cgc().calls().len(), 0);
    assert!(!world.home().join(".codegraphcontext").exists());
    assert_eq!(repository.git(&["status", "--porcelain"]), "?? a.py");
}

#[test]
fn lc_05_a_missing_index_is_created_in_the_background() {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = world.repository("repo");
    repository.write_python("a.py", &["one", "two"]);
    repository.write_python("package/b.py", &["three"]);
    let script = Script::of([Rule::always(Command::Index, Behaviour::Slow(500))]);
    world.fake_cgc().set_script(&script).unwrap();
    let mut harness = world.harness(repository.root());

    let start = harness.session_starts("startup");
    world.wait_for_status(repository.root(), "the index to run", BOUND, |status| {
        status["activity"]["name"] == "indexing"
    });
    let prompt = harness.human_prompts("Go.");
    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();

    // It goes with the first event that finds the daemon up.
    let told = start.message() + &prompt.message();
    assert_eq!(told.matches("being created in the background").count(), 1, "{told}");
    assert_eq!(status["receipt"]["files"], 2);
    assert_eq!(status["lastAction"]["name"], "index");
    let calls = world.cgc().calls();
    let first: Vec<&str> = calls.iter().map(|arguments| arguments[0].as_str()).collect();
    assert_eq!(first, ["index", "query"]);
}
