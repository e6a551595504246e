//! `docs/spec/lifecycle.feature` in a real Claude Code: its end ends the work that it began.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use rstest::rstest;
use rustix::process::Signal;
use steward_e2e::World;
use steward_fake_cgc::{Behaviour, Command, Rule, Script};
use steward_harness_stubs::{Gate, Step, wait_until};

use super::support::{BOUND, Stage, held};

/// A session that creates an index, which hangs with the lock held and obeys nothing but SIGKILL.
fn stage_with_a_hanging_index(steps: impl IntoIterator<Item = Step>) -> Stage {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let hang = Behaviour::Hang { after_files: Some(1), ignores_signals: true };
    world.fake_cgc().set_script(&Script::of([Rule::once(Command::Index, hang)])).unwrap();
    Stage::new(world, steps)
}

#[track_caller]
fn wait_for_the_index(stage: &Stage) {
    let runs = wait_until(BOUND, || !stage.world.processes_of("cgc").is_empty());
    assert!(runs, "no index was begun: {:#}", stage.status());
}

/// Fails unless cgc and its guard go, and the next session finds the database free and the graph half built.
#[track_caller]
fn assert_work_is_gone(stage: &Stage) {
    for program in ["cgc", "steward-guard"] {
        let gone = wait_until(BOUND, || stage.world.processes_of(program).is_empty());
        assert!(gone, "{:#?}", stage.world.processes_of(program));
    }
    stage.world.wait_for_state(stage.root(), "incomplete", BOUND);
    stage.index();
    assert_eq!(stage.status()["state"], "clean");
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    ByItself,
    By(Signal),
}

#[rstest]
#[case::by_itself(Ending::ByItself)]
#[case::terminated(Ending::By(Signal::TERM))]
#[case::killed(Ending::By(Signal::KILL))]
fn lc_13_the_end_of_a_run_without_a_screen_ends_its_work(#[case] ending: Ending) {
    let gate = Gate::closed();
    let stage = stage_with_a_hanging_index([held("All done.", &gate)]);
    let run = stage.start_headless();
    wait_for_the_index(&stage);
    stage.wait_for_the_agent();

    match ending {
        Ending::ByItself => {
            gate.open();
            assert_eq!(run.finish().result(), "All done.");
        }
        Ending::By(signal) => {
            run.0.signal(signal);
            assert!(!run.0.finish(BOUND).unwrap().status.success());
        }
    }

    assert_work_is_gone(&stage);
    stage.assert_the_model_knows_nothing();
}

#[rstest]
#[case::exit(None)]
#[case::hung_up(Some(Signal::HUP))]
#[case::killed(Some(Signal::KILL))]
fn lc_13_the_end_of_a_session_in_a_terminal_ends_its_work(#[case] signal: Option<Signal>) {
    let stage = stage_with_a_hanging_index([]);
    let mut terminal = stage.terminal();
    wait_for_the_index(&stage);

    match signal {
        None => terminal.type_line("/exit").unwrap(),
        Some(signal) => terminal.signal(signal),
    }
    terminal.wait_for_end(BOUND).unwrap();

    assert_work_is_gone(&stage);
}

#[test]
fn lc_13_a_killed_companion_leaves_no_work_and_a_working_agent() {
    let gate = Gate::closed();
    let stage = stage_with_a_hanging_index([held("All done.", &gate)]);
    let run = stage.start_headless();
    wait_for_the_index(&stage);
    stage.wait_for_the_agent();

    stage.world.kill("stewardd");
    for program in ["cgc", "steward-guard"] {
        let gone = wait_until(BOUND, || stage.world.processes_of(program).is_empty());
        assert!(gone, "{:#?}", stage.world.processes_of(program));
    }
    gate.open();
    let events = run.finish();

    assert_eq!(events.result(), "All done.");
    assert_work_is_gone(&stage);
    stage.assert_the_model_knows_nothing();
}
