//! `docs/spec/lifecycle.feature` with the real cgc: how work that hangs, or that nobody wants any more, is ended.

use rstest::rstest;
use rustix::process::Signal;
use steward_e2e::{Repository, World};
use steward_harness_stubs::{is_alive, kill};

use super::support::{BOUND, assert_cgc_is_gone, calls_after, small_repository, told, wait_for_writer};

/// Enough to write that the index is still at it when the test acts.
fn wide_repository(world: &World) -> Repository {
    let repository = small_repository(world);
    for number in 0..30 {
        let names: Vec<String> = (0..10).map(|function| format!("f{number}_{function}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        repository.write_python(&format!("wide/m{number}.py"), &names);
    }
    repository
}

#[test]
fn lc_12_a_command_that_hangs_is_ended_and_recorded_as_a_timeout() {
    let mut world = World::with_real_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    world.set("CGC_MAINTENANCE_TIMEOUT_MS", "10000");
    let repository = wide_repository(&world);
    let mut harness = world.harness(repository.root());
    harness.session_starts("startup");
    let writer = wait_for_writer(&world);

    // A stopped process answers neither SIGINT nor SIGTERM.
    kill(writer, Signal::STOP);
    let status = world.wait_for_state(repository.root(), "incomplete", BOUND);

    assert_cgc_is_gone(&world);
    assert!(!is_alive(writer));
    assert_eq!(status["lastAction"]["succeeded"], false);
    assert!(status["lastError"]["message"].as_str().unwrap().contains("(timeout)"), "{status:#}");
    let messages = ["Go.", "Go on."].map(|prompt| harness.human_prompts(prompt).message());
    assert_eq!(told(&messages, "(timeout)").len(), 1, "{messages:?}");
    harness.turn_ends();
    harness.leaves();
    assert_eq!(calls_after(&world, 0), ["index"], "what hung is not started again in this session");
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    HarnessLeaves,
    HarnessKilled,
    CompanionKilled,
}

#[rstest]
#[case::harness_leaves(Ending::HarnessLeaves)]
#[case::harness_killed(Ending::HarnessKilled)]
#[case::companion_killed(Ending::CompanionKilled)]
fn lc_13_the_end_of_a_session_ends_its_index_and_frees_the_database(#[case] ending: Ending) {
    let mut world = World::with_real_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = wide_repository(&world);
    let mut harness = world.harness(repository.root());
    harness.session_starts("startup");
    let writer = wait_for_writer(&world);

    match ending {
        Ending::HarnessLeaves => harness.leaves(),
        Ending::HarnessKilled => harness.is_killed(),
        Ending::CompanionKilled => world.kill("stewardd"),
    }

    assert_cgc_is_gone(&world);
    assert!(!is_alive(writer));
    let mut next = world.harness(repository.root());
    let start = next.session_starts("startup");
    world.wait_for_state(repository.root(), "incomplete", BOUND);
    let messages = [start, next.human_prompts("Go.")].map(|hook| hook.message());
    assert_eq!(told(&messages, "is incomplete").len(), 1, "{messages:?}");
    assert_eq!(told(&messages, "steward index").len(), 1, "{messages:?}");
    assert_eq!(calls_after(&world, 0), ["index"]);

    world.steward_succeeds(repository.root(), &["index", "--yes", "--wait"]);
    next.leaves();

    assert_eq!(world.status(repository.root())["state"], "clean");
    assert_eq!(world.graph(repository.root()), world.fresh_graph(repository.root()));
}
