//! Whatever fails, the agent stays usable: LC-14 and LC-15.

use super::*;

#[test]
fn lc_14_without_cgc_the_state_is_unavailable_and_told_once() {
    let mut world = World::default();
    world.graph.uninstall();

    let harness = world.start_session("session");
    for _ in 0..3 {
        world.turn(&harness);
    }

    assert_eq!(world.knowledge().state, State::Unavailable);
    assert_eq!(world.told(&harness), [NoticeKind::Unavailable]);
    assert_eq!(NoticeKind::Unavailable.severity(), Severity::Warning);
    assert!(world.steward().has_session(harness.id()));
}

type Fault = fn(&mut World);

fn cgc_cannot_start(world: &mut World) {
    for _ in 0..2 {
        world.expect(Script::command(&["reconcile"]).cannot_start());
    }
}

fn cgc_fails(world: &mut World) {
    world.expect(Script::command(&["reconcile"]).ends(Exit::Code(1)));
}

fn cgc_is_lost(world: &mut World) {
    let lost = Script::command(&["reconcile"]).then(ScriptStep::LoseTrack);
    world.expect(lost);
}

fn cgc_answers_nonsense(world: &mut World) {
    world.graph.will_mean(Verb::Reconcile, Verdict::Report("nonsense".to_owned()));
    world.expect(Script::command(&["reconcile"]).ends(Exit::Code(0)));
}

fn the_proof_fails(world: &mut World) {
    for _ in 0..2 {
        world.expect(Script::command(&["reconcile"]).says("ready").awaits(Stop::Interrupt).ends(Exit::Code(0)));
        world.expect(Script::command(&["inventory"]).ends(Exit::Code(1)));
    }
}

fn the_tree_cannot_be_read(world: &mut World) {
    world.files.make_unreadable(Path::new(ROOT));
}

fn the_intent_cannot_be_written(world: &mut World) {
    world.store.fail(StoreCall::RecordIntent, 2);
}

fn the_receipt_cannot_be_written(world: &mut World) {
    world.store.fail(StoreCall::SaveReceipt, 2);
    for _ in 0..2 {
        world.expect_reconcile();
    }
}

fn the_lock_cannot_be_probed(world: &mut World) {
    world.locks.make_unreadable(DATABASE);
}

fn cgcs_files_cannot_be_read(world: &mut World) {
    world.graph.fail_inspections(2);
}

#[rstest]
#[case::cgc_cannot_start(cgc_cannot_start)]
#[case::cgc_fails(cgc_fails)]
#[case::cgc_is_lost(cgc_is_lost)]
#[case::cgc_answers_nonsense(cgc_answers_nonsense)]
#[case::the_proof_fails(the_proof_fails)]
#[case::the_tree_cannot_be_read(the_tree_cannot_be_read)]
#[case::the_intent_cannot_be_written(the_intent_cannot_be_written)]
#[case::the_receipt_cannot_be_written(the_receipt_cannot_be_written)]
#[case::the_lock_cannot_be_probed(the_lock_cannot_be_probed)]
#[case::cgcs_files_cannot_be_read(cgcs_files_cannot_be_read)]
fn lc_15_an_error_is_kept_and_the_work_retried_at_most_once(#[case] fault: Fault) {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    let attempts_before = world.commands().iter().filter(|command| *command == "reconcile").count();
    fault(&mut world);
    let harness = world.harness("session");

    // The agent works on before anything has gone wrong, and after it.
    world.report_only(&harness, Happened::SessionStarted);
    world.report_only(&harness, Happened::PromptSubmitted);
    world.run();
    for _ in 0..5 {
        world.advance(Duration::from_secs(10));
        world.turn(&harness);
    }

    assert!(world.lifecycle().last_problem().is_some());
    assert_ne!(world.knowledge().state, State::Clean);
    assert_eq!((world.work(), world.runner.alive()), (None, vec![]));
    let attempts = world.commands().iter().filter(|command| *command == "reconcile").count() - attempts_before;
    assert!(attempts <= 2, "{attempts} attempts");
    assert!(world.graph.inspections().len() < 20);
    let told = world.told(&harness);
    assert!(told.len() <= 2, "{told:?}");
    assert!(world.steward().has_session(harness.id()));
}

#[test]
fn lc_15_a_failure_that_passes_is_made_good_by_the_second_attempt() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    world.expect(Script::command(&["reconcile"]).cannot_start());
    world.expect_reconcile();

    let harness = world.start_session("session");
    assert_eq!(world.knowledge().state, State::Drift);
    world.turn(&harness);

    assert_eq!(world.knowledge().state, State::Clean);
    assert_eq!(world.told(&harness), [NoticeKind::IndexingFailed, NoticeKind::SyncCompleted]);
}
