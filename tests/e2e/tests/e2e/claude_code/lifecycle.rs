//! `docs/spec/lifecycle.feature` in a real Claude Code: what a session start finds, does and shows.

use rustix::process::Signal;
use serde_json::Value;
use steward_e2e::World;
use steward_fake_cgc::{Behaviour, Command, Rule, Script};
use steward_harness_stubs::{Gate, Step, kill};

use super::support::{BOUND, Stage, held};
use crate::real::support::{assert_nothing_was_indexed_anew, wait_for_writer};

#[test]
fn lc_01_an_index_that_is_behind_is_synced_while_the_agent_begins() {
    let gate = Gate::closed();
    let stage = Stage::new(World::with_real_cgc(), [held("All done.", &gate)]);
    stage.index();
    stage.repository.write_python("a.py", &["first", "two"]);
    let before = stage.world.cgc().calls().len();

    let run = stage.start_headless();
    stage.wait_for_the_agent();
    let status = stage.world.wait_for_status(stage.root(), "a ready state", BOUND, |status| {
        status["state"] == "clean" || status["activity"]["name"] == "syncing"
    });
    stage.world.wait_for_state(stage.root(), "clean", BOUND);
    gate.open();
    let events = run.finish();

    assert_eq!(events.result(), "All done.");
    assert_eq!(status["sessions"].as_array().unwrap().len(), 1, "{status:#}");
    let notices = events.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("was brought up to date: 1 file"), "{notices:?}");
    assert_nothing_was_indexed_anew(&stage.world, before);
    stage.assert_the_model_knows_nothing();
    let graph = stage.world.graph(stage.root());
    assert_eq!(graph, stage.world.fresh_graph(stage.root()));
    assert!(graph.iter().any(|line| line == "call a.py two -> a.py first"), "{graph:#?}");
}

#[test]
fn lc_01_the_agent_waits_for_no_check() {
    let stage = Stage::new(World::with_fake_cgc(), [Step::text("All done.")]);
    stage.index_by_cgc_alone();
    let hang = Behaviour::Hang { after_files: None, ignores_signals: false };
    stage.world.fake_cgc().set_script(&Script::of([Rule::always(Command::Query, hang)])).unwrap();

    // The graph was made by another program, so cgc has to be asked, and does not answer.
    let events = stage.headless();

    assert_eq!(events.result(), "All done.");
    assert_eq!(stage.model.conversation().len(), 1);
    let calls = stage.world.cgc().calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert_eq!(calls[1][0], "query", "{calls:?}");
}

#[test]
fn lc_02_without_an_index_the_session_is_as_it_is_without_the_companion() {
    let stage = Stage::unwired(World::with_fake_cgc(), [Step::text("First done."), Step::text("Second done.")]);

    let without = stage.headless();
    let asked_without = stage.model.conversation();
    stage.wire();
    let with = stage.headless();
    let asked_with = stage.model.conversation().split_off(asked_without.len());
    let status = stage.status();

    assert_eq!((without.result(), with.result()), ("First done.", "Second done."));
    assert!(without.hooks().is_empty(), "{:?}", without.hooks());
    assert_eq!(with.hooks()[..2], ["SessionStart", "UserPromptSubmit"]);
    assert_eq!(status["state"], "unindexed");
    assert_eq!(status["receipt"], Value::Null);
    assert_eq!(stage.world.cgc().calls().len(), 0);
    assert!(!stage.world.home().join(".codegraphcontext").exists());
    let said = |requests: &[Value]| -> Vec<(Value, Value)> {
        requests.iter().map(|request| (request["messages"].clone(), request["tools"].clone())).collect()
    };
    assert_eq!(said(&asked_with), said(&asked_without));
    stage.assert_the_model_knows_nothing();
}

#[test]
fn lc_04_the_user_is_told_once_and_nothing_is_indexed() {
    let stage = Stage::new(World::with_fake_cgc(), [Step::text("First done."), Step::text("Second done.")]);
    let mut terminal = stage.terminal();

    terminal.type_line("Begin.").unwrap();
    terminal.wait_for_text("First done.", BOUND).unwrap();
    terminal.type_line("Go on.").unwrap();
    let screen = terminal.wait_for_text("Second done.", BOUND).unwrap();
    let status = stage.status();
    terminal.type_line("/exit").unwrap();
    terminal.wait_for_end(BOUND).unwrap();

    assert_eq!(screen.matches("cgc-steward:").count(), 1, "{screen}");
    assert!(screen.contains("has no code graph yet"), "{screen}");
    assert!(screen.contains("lifecycle.autoCreate"), "{screen}");
    assert_eq!(status["state"], "unindexed");
    assert_eq!(stage.world.cgc().calls().len(), 0);
    assert_eq!(stage.model.conversation().len(), 2);
    stage.assert_the_model_knows_nothing();
}

#[test]
fn lc_05_a_missing_index_is_created_while_the_agent_works() {
    let mut world = World::with_real_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let stage = Stage::new(world, [Step::text("First done.")]);
    let mut terminal = stage.terminal();
    // Held up, the index lasts for as long as the agent's turn does.
    let writer = wait_for_writer(&stage.world);
    kill(writer, Signal::STOP);

    terminal.type_line("Begin.").unwrap();
    terminal.wait_for_text("being created in the background", BOUND).unwrap();
    terminal.wait_for_text("First done.", BOUND).unwrap();
    let status = stage.status();
    kill(writer, Signal::CONT);
    stage.world.wait_for_state(stage.root(), "clean", BOUND);
    stage.model.extend([Step::text("Second done.")]);
    terminal.type_line("Go on.").unwrap();
    terminal.wait_for_text("Second done.", BOUND).unwrap();
    let screen = terminal.wait_for_text("The code graph of this workspace is ready", BOUND).unwrap();
    terminal.type_line("/exit").unwrap();
    terminal.wait_for_end(BOUND).unwrap();

    assert_eq!(status["activity"]["name"], "indexing", "{status:#}");
    assert_eq!(screen.matches("cgc-steward:").count(), 2, "{screen}");
    stage.assert_the_model_knows_nothing();
    let graph = stage.world.graph(stage.root());
    assert_eq!(
        graph,
        [
            "call a.py two -> a.py one",
            "call package/c.py five -> package/c.py four",
            "file a.py",
            "file package/b.py",
            "file package/c.py",
            "function a.py one",
            "function a.py two",
            "function package/b.py three",
            "function package/c.py five",
            "function package/c.py four",
        ]
    );
}

#[test]
fn lc_10_further_sessions_on_a_healthy_index_run_nothing() {
    let steps = ["one", "two", "three"].map(Step::text);
    let stage = Stage::new(World::with_fake_cgc(), steps);
    stage.index();
    let before = stage.world.cgc().calls().len();

    for result in ["one", "two", "three"] {
        let events = stage.headless();
        assert_eq!(events.result(), result);
        assert_eq!(events.notices(), [] as [&str; 0]);
        assert_eq!(stage.status()["state"], "clean");
        // What the next session finds, it finds on disk.
        stage.world.steward_succeeds(stage.root(), &["daemon", "stop"]);
    }

    assert_eq!(stage.world.cgc().calls().len(), before);
    stage.assert_the_model_knows_nothing();
}
