//! Work that hangs, fails, is cut short or ruined.

use super::*;

#[test]
fn trial_b37_a_cgc_that_sleeps_holds_nobody_up_and_is_ended_with_its_group() {
    let mut world = World::default();
    world.graph.create_database(false);
    world.expect(Script::command(&["inventory"]).awaits(Stop::Kill).ends(Exit::Signal(9)));
    world.expect(Script::command(&["inventory"]).awaits(Stop::Kill).ends(Exit::Signal(9)));

    let harness = world.start_session("session");
    assert!(world.steward().has_settled(harness.id()));
    world.advance(Duration::from_secs(29));
    assert_eq!((world.runner.stops(), world.runner.alive()), (vec![], vec![GroupId(1)]));
    world.advance(Duration::from_secs(6));

    assert_eq!(world.runner.alive(), [] as [GroupId; 0]);
    assert!(world.knowledge().reason.contains("(timeout)"), "{}", world.knowledge().reason);
    for _ in 0..5 {
        world.turn(&harness);
        world.advance(Duration::from_secs(40));
    }
    assert_eq!(world.commands().len(), 2, "it is asked once more and not again");
}

#[test]
fn trial_b40_an_index_is_ended_step_by_step_and_the_next_session_sees_it_incomplete() {
    let mut world = World::default();
    world.expect(Script::command(&["index"]).says(STARTED_LINE).awaits(Stop::Kill).ends(Exit::Signal(9)));
    let harness = consenting(&mut world, "session");
    world.start(&harness);

    world.end(&harness);
    assert_eq!(world.runner.stops().iter().map(|stop| stop.stop).collect::<Vec<_>>(), [Stop::Interrupt]);
    world.advance(Duration::from_secs(5));

    let stops: Vec<Stop> = world.runner.stops().iter().map(|stop| stop.stop).collect();
    assert_eq!(stops, [Stop::Interrupt, Stop::Terminate, Stop::Kill]);
    world.graph.hold_inventory(Path::new(ROOT), foreign_inventory(&["a.py"]));
    world.restart_companion();
    let next = world.start_session("next");
    assert_eq!(world.knowledge().state, State::Incomplete);
    assert!(world.knowledge().reason.contains("cut short"), "{}", world.knowledge().reason);
    assert_eq!(world.told(&next), [NoticeKind::Incomplete]);
}

#[test]
fn trial_b42_work_that_fails_the_same_way_is_tried_once_a_session() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    let before = world.commands().len();
    for number in 1..=10 {
        world.expect(Script::command(&["reconcile"]).ends(Exit::Code(1)));
        let harness = world.start_session(&format!("session {number}"));
        for edit in 0..5 {
            world.edit(&harness, "b.py", &format!("edit {edit} of session {number}"));
            world.turn(&harness);
            world.advance(Duration::from_secs(5));
        }

        assert_eq!(world.commands().len(), before + number, "in session {number}");
        let failures = world.told(&harness).iter().filter(|kind| **kind == NoticeKind::IndexingFailed).count();
        assert_eq!(failures, 1);
        world.end(&harness);
    }
}

#[test]
fn trial_b43_a_storage_error_is_kept_and_seen_and_never_clean() {
    let mut world = World::indexed();
    world.graph.renew_database();
    let evidence = "RuntimeError: Storage exception".to_owned();
    world.graph.will_mean(Verb::Inventory, Verdict::Corrupt { evidence: evidence.clone() });
    world.expect(Script::command(&["inventory"]).ends(Exit::Code(1)));

    let harness = world.start_session("session");
    let client = world.consult();
    world.turn(&harness);

    assert_eq!(world.answers(client), [&ClientAnswer::StatusReady(world.root())]);
    assert_eq!((world.knowledge().state, world.knowledge().reason.as_str()), (State::Corrupt, evidence.as_str()));
    assert!(world.lifecycle().last_problem().is_some_and(|(problem, _)| problem.0 == evidence));
    assert_eq!(world.told(&harness), [NoticeKind::Corrupt]);
}

#[test]
fn trial_b45_a_running_index_is_indexing_for_every_session() {
    let mut world = World::default();
    let gate = Gate::default();
    let build = index(&world.graph, &world.files, Path::new(ROOT), &gate);
    let mut script = Script::command(&["index"]).says(STARTED_LINE).says(PROGRESS_LINE);
    for step in build.into_steps().skip(1) {
        script = script.then(step);
    }
    world.expect(script);
    world.expect(inventory());
    let first = consenting(&mut world, "first");
    world.start(&first);

    let second = world.start_session("second");

    let activity = world.activity().expect("the index runs");
    assert_eq!((activity.work, activity.done, activity.total), (Work::Indexing, Some(40), Some(100)));
    assert_ne!(world.knowledge().state, State::Clean);
    assert_eq!(world.told(&second), [NoticeKind::IndexingStarted]);
    assert_eq!(world.commands(), ["index"]);
    gate.open();
    world.run();
    assert_eq!(world.knowledge().state, State::Clean);
    assert_eq!(world.commands(), ["index", "inventory"]);
}

#[test]
fn trial_b115_an_index_that_burns_for_ever_is_ended_and_not_restarted() {
    let mut world = World::default();
    world.expect(Script::command(&["index"]).awaits(Stop::Terminate).ends(Exit::Signal(15)));
    let harness = consenting(&mut world, "session");
    world.start(&harness);

    world.advance(Duration::from_mins(11));
    for _ in 0..5 {
        world.turn(&harness);
        world.advance(Duration::from_mins(11));
    }

    assert_eq!((world.runner.alive(), world.commands()), (vec![], vec!["index".to_owned()]));
    assert!(world.lifecycle().last_job().is_some_and(|job| job.summary.contains("(timeout)")));
    assert_eq!(world.knowledge().state, State::Incomplete);
    assert_eq!(world.told(&harness), [NoticeKind::IndexingStarted, NoticeKind::IndexingFailed]);
}
