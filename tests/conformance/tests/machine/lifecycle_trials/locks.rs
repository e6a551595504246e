//! Locks, shared work and damaged records.

use super::*;

#[test]
fn trial_b28_a_lock_that_only_cgc_sees_is_busy_and_names_its_holder() {
    let mut world = World::default();
    world.graph.create_database(false);
    world.graph.will_mean(Verb::Inventory, Verdict::Busy);
    let locks = std::sync::Arc::clone(&world.locks);
    let take_it = move || locks.hold(DATABASE, 4711, "cgc mcp");
    world.expect(Script::command(&["inventory"]).does(take_it).ends(Exit::Code(1)));

    let harness = world.start_session("session");
    world.turn(&harness);

    assert_eq!(world.knowledge().state, State::Busy);
    assert_eq!(world.told(&harness), [NoticeKind::Busy]);
    assert!(world.notifier.told(harness.id())[0].text.contains("cgc mcp (pid 4711)"));
    assert_eq!((world.runner.stops(), world.commands()), (vec![], vec!["inventory".to_owned()]));
    assert_eq!(world.graph.set_aside_databases(), [] as [PathBuf; 0]);
}

#[test]
fn trial_b30_drift_is_remembered_and_synced_once_the_lock_is_free() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    world.hold_database(4711, "cgc mcp");
    let harness = world.start_session("session");
    for _ in 0..5 {
        world.turn(&harness);
        assert_eq!(world.knowledge().state, State::Drift);
    }
    let result = world.lifecycle().last_job().expect("a sync was tried");
    assert!(!result.succeeded && result.summary.contains("cgc mcp (pid 4711) holds the database"), "{result:?}");

    world.free_database();
    world.expect_reconcile();
    world.turn(&harness);

    assert_eq!(world.knowledge().state, State::Clean);
    assert_eq!(world.told(&harness), [NoticeKind::Busy, NoticeKind::SyncCompleted]);
}

#[test]
fn trial_b30_drift_behind_a_foreign_writer_is_synced_once_it_has_gone() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    world.graph.renew_database();
    world.hold_database(4711, "cgc mcp");
    let harness = world.start_session("session");
    assert_eq!(world.knowledge().state, State::Busy);

    world.free_database();
    world.expect(inventory());
    world.expect_reconcile();
    world.turn(&harness);

    assert_eq!(world.knowledge().state, State::Clean);
}

#[test]
fn trial_b31_three_sessions_at_once_share_one_sync() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    let before = world.commands().len();
    world.expect_reconcile();
    let harnesses: Vec<Harness> = (0..3).map(|number| world.harness(&format!("session {number}"))).collect();

    for harness in &harnesses {
        world.report_only(harness, Happened::SessionStarted);
    }
    world.run();

    assert_eq!(world.commands().split_off(before), ["reconcile", "inventory"]);
    assert_eq!((world.knowledge().state, world.work()), (State::Clean, None));
    for harness in &harnesses {
        assert_eq!(world.told(harness), [NoticeKind::SyncCompleted]);
    }
}

#[test]
fn trial_b34_a_holder_that_is_gone_is_called_gone_and_the_question_is_asked_once_more() {
    let mut world = World::default();
    world.graph.create_database(false);
    for _ in 0..2 {
        world.graph.will_mean(Verb::Inventory, Verdict::Busy);
        world.expect(Script::command(&["inventory"]).ends(Exit::Code(1)));
    }
    world.free_database();

    let harness = world.start_session("session");
    assert_eq!(world.knowledge().state, State::Busy);
    assert!(world.knowledge().reason.contains("has let go of it"), "{}", world.knowledge().reason);
    for _ in 0..5 {
        world.turn(&harness);
    }

    assert_eq!(world.commands(), ["inventory", "inventory"]);
    assert_eq!(world.told(&harness), [NoticeKind::Busy]);
    assert_eq!(world.graph.set_aside_databases(), [] as [PathBuf; 0]);
}

#[test]
fn trial_b36_a_record_that_cannot_be_read_counts_as_none_and_is_replaced() {
    let mut world = World::indexed();
    world.store.forget(&world.root());
    world.store.fail(StoreCall::Load, 1);
    world.expect(inventory());
    world.expect_reconcile();

    let harness = world.start_session("session");

    assert_eq!(world.knowledge().state, State::Clean);
    assert_eq!(world.told(&harness), [NoticeKind::SyncCompleted]);
    assert!(world.store.record(&world.root()).receipt.is_some());
    assert!(world.lifecycle().last_problem().is_some());
}

#[test]
fn trial_b39_a_second_request_joins_the_running_sync_and_hears_so() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    let gate = Gate::default();
    world.expect_reconcile_at(&gate);
    world.start_session("session");
    world.advance(Duration::from_mins(1));
    let before = world.commands().len();

    let client = world.request(JobKind::Sync);

    match world.answers(client).as_slice() {
        [ClientAnswer::Job { answer: JobAnswer::Accepted { joined: true }, activity: Some(activity) }] => {
            assert_eq!((activity.work, activity.since), (Work::Syncing, Tick::default()));
        }
        answers => panic!("{answers:?}"),
    }
    gate.open();
    world.run();
    assert!(end_of(&world.answers(client)).is_some_and(|(succeeded, ..)| succeeded));
    assert_eq!(world.commands().len(), before + 1, "nothing but the proof of the first");
}

#[test]
fn trial_b75_a_start_that_is_reported_twice_is_one_start() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    let before = world.commands().len();
    world.expect_reconcile();
    let harness = world.harness("session");

    world.report_only(&harness, Happened::SessionStarted);
    world.report_only(&harness, Happened::SessionStarted);
    world.run();

    assert_eq!(world.commands().split_off(before), ["reconcile", "inventory"]);
    assert_eq!(world.told(&harness), [NoticeKind::SyncCompleted]);
}
