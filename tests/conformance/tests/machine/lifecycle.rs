//! `lifecycle.feature`, each scenario as it is written.
//!
//! It must never assert on how the machine gets there, only on what the scenario says.

mod faults;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rstest::rstest;
use steward_conformance::{ROOT, World};
use steward_doubles::{DATABASE, Gate, STARTED_LINE, Script, ScriptStep, StoreCall};
use steward_lifecycle::{JobAnswer, State, Work};
use steward_ports::{Exit, GroupId, JobKind, NoticeKind, Severity, Stop, Verb, Verdict};
use steward_session::{ClientAnswer, Happened};

const AUTO_CREATE: &str = "CGC_LIFECYCLE_AUTO_CREATE";
const SYNC_ON_START: &str = "CGC_LIFECYCLE_SYNC_ON_START";

/// `cgc.maintenanceTimeoutMs` by default.
const MAINTENANCE: Duration = Duration::from_mins(10);

/// What the tree holds is what the graph holds, files and symbols.
fn assert_graph_equals_tree(world: &World) {
    let manifest = world.files.manifest(Path::new(ROOT));
    let tree: Vec<PathBuf> = manifest.entries.into_iter().map(|entry| entry.path).collect();
    assert_eq!(world.graph.inventory(Path::new(ROOT)).map(|held| held.files), Some(tree));
}

#[rstest]
#[case::clean(false, State::Clean, None)]
#[case::drift(true, State::Drift, Some(Work::Syncing))]
fn lc_01_a_usable_index_is_reported_ready_while_the_agent_begins(
    #[case] is_edited: bool,
    #[case] state: State,
    #[case] work: Option<Work>,
) {
    let mut world = World::indexed();
    if is_edited {
        world.files.write(&world.path("a.py"), "edited since");
    }
    let gate = Gate::default();
    world.expect_reconcile_at(&gate);
    let harness = world.harness("session");

    // The agent's first prompt comes before anything that was begun for the session has ended.
    world.report_only(&harness, Happened::SessionStarted);
    world.report_only(&harness, Happened::PromptSubmitted);
    world.run();

    assert_eq!((world.knowledge().state, world.work()), (state, work));
    assert!(world.knowledge().state.is_ready());
    assert!(world.steward().has_settled(harness.id()));
    let has_ended = world.runner.alive().is_empty();
    assert_eq!(has_ended, !is_edited, "the sync is still at work and nobody waits for it");
}

#[test]
fn lc_02_a_workspace_without_an_index_is_reported_unindexed() {
    let mut world = World::default();

    let harness = world.start_session("session");

    assert_eq!(world.knowledge().state, State::Unindexed);
    world.turn(&harness);
    world.end(&harness);
    assert_eq!(world.commands(), [] as [&str; 0]);
    assert_eq!(world.activity(), None);
}

#[test]
fn lc_03_the_sessions_directory_decides() {
    let mut world = World::default();
    let companions_own = Path::new("/opt/companion");
    world.files.make_repository(companions_own, "commit");
    world.files.write(&companions_own.join("main.py"), "main");
    world.files.make_directory(&world.path("src/deep"));
    let harness = world.harness("session").in_directory("/home/user/repository/src/deep");

    world.start(&harness);

    let managed: Vec<_> = world.steward().sessions_of(&world.root()).map(|session| session.id.clone()).collect();
    assert_eq!(managed, [harness.id().clone()]);
    let inspected: Vec<_> = world.graph.inspections().into_iter().map(|query| query.root).collect();
    assert_eq!(inspected, [PathBuf::from(ROOT)]);
}

#[test]
fn lc_04_without_consent_nothing_is_indexed_and_the_user_is_told_once() {
    let mut world = World::default();

    let harness = world.start_session("session");
    for _ in 0..3 {
        world.turn(&harness);
    }

    assert_eq!(world.commands(), [] as [&str; 0]);
    assert_eq!(world.told(&harness), [NoticeKind::Unindexed]);
    let notice = &world.notifier.told(harness.id())[0];
    assert!(notice.advice.as_ref().is_some_and(|advice| advice.contains("lifecycle.autoCreate")), "{notice:?}");
    assert!(world.steward().has_session(harness.id()));
}

#[test]
fn lc_05_with_consent_the_index_is_created_in_the_background() {
    let mut world = World::default();
    let gate = Gate::default();
    world.expect_index_at(&gate);
    let harness = world.harness("session").with(AUTO_CREATE, "true");

    world.start(&harness);

    assert_eq!(world.work(), Some(Work::Indexing));
    world.turn(&harness);
    assert_eq!(world.work(), Some(Work::Indexing));
    gate.open();
    world.run();
    assert_eq!((world.work(), world.knowledge().state), (None, State::Clean));
    assert_graph_equals_tree(&world);
    assert_eq!(world.told(&harness), [NoticeKind::IndexingStarted, NoticeKind::IndexingDone]);
}

#[rstest]
#[case::edited(|world: &World| world.files.write(&world.path("a.py"), "edited"))]
#[case::added(|world: &World| world.files.write(&world.path("c.py"), "added"))]
#[case::deleted(|world: &World| world.files.remove(&world.path("a.py")))]
#[case::renamed(|world: &World| world.files.rename(&world.path("a.py"), &world.path("z.py")))]
#[case::stored_file_added(|world: &World| world.files.write(&world.path("notes.md"), "stored and not parsed"))]
fn lc_06_changed_files_are_synced_in_the_background(#[case] change: fn(&World)) {
    let mut world = World::indexed();
    change(&world);
    let gate = Gate::default();
    world.expect_reconcile_at(&gate);

    let harness = world.start_session("session");

    assert_eq!(world.work(), Some(Work::Syncing));
    world.turn(&harness);
    assert_eq!(world.work(), Some(Work::Syncing));
    gate.open();
    world.run();
    assert_eq!((world.work(), world.knowledge().state), (None, State::Clean));
    assert_graph_equals_tree(&world);
    assert_eq!(world.told(&harness), [NoticeKind::SyncCompleted]);
}

#[test]
fn lc_07_a_graph_that_matches_starts_no_work() {
    let mut world = World::indexed();
    world.files.touch(&world.path("a.py"));
    let before = world.commands();

    let harness = world.start_session("session");

    assert_eq!(world.knowledge().state, State::Clean);
    assert_eq!(world.commands(), before);
    assert_eq!((world.work(), world.told(&harness)), (None, vec![]));
}

/// Ruins the database in a way that files show.
fn spoil_magic(world: &mut World) {
    world.graph.spoil_magic();
}

/// Ruins the database in a way that only a question shows.
fn crash_readers(world: &mut World) {
    world.graph.renew_database();
    world
        .graph
        .will_mean(Verb::Inventory, Verdict::Corrupt { evidence: "cgc died of a segmentation fault".to_owned() });
    world.expect(Script::command(&["inventory"]).ends(Exit::Signal(11)));
}

#[rstest]
#[case::bytes_of_no_database(spoil_magic)]
#[case::a_reader_crashes(crash_readers)]
fn lc_08_a_corrupt_index_is_reported_and_left_alone(#[case] ruin: fn(&mut World)) {
    let mut world = World::indexed();
    ruin(&mut world);
    let (files, receipt) = (world.files.files(Path::new("/")), world.store.record(&world.root()).receipt);
    let harness = world.harness("session").with(AUTO_CREATE, "true");

    world.start(&harness);
    world.turn(&harness);

    assert_eq!(world.knowledge().state, State::Corrupt);
    assert_eq!(world.told(&harness), [NoticeKind::Corrupt]);
    let notice = &world.notifier.told(harness.id())[0];
    assert!(notice.advice.as_ref().is_some_and(|advice| advice.contains("steward rebuild")), "{notice:?}");
    assert!(!world.commands().iter().any(|command| command == "rebuild" || command == "reconcile"));
    assert_eq!(world.graph.set_aside_databases(), [] as [PathBuf; 0]);
    assert_eq!(world.files.files(Path::new("/")), files);
    assert_eq!(world.store.record(&world.root()).receipt, receipt);
    assert!(world.steward().has_session(harness.id()));
}

#[test]
fn lc_08_only_a_human_has_a_corrupt_index_rebuilt() {
    let mut world = World::indexed();
    spoil_magic(&mut world);
    let harness = world.start_session("session");
    world.expect_index();

    let client = world.request(JobKind::Rebuild);

    assert_eq!(world.graph.set_aside_databases().len(), 1);
    assert_eq!(world.knowledge().state, State::Clean);
    assert!(matches!(
        world.answers(client).last(),
        Some(ClientAnswer::Job { answer: JobAnswer::Finished { succeeded: true, .. }, .. })
    ));
    assert_eq!(world.told(&harness).last(), Some(&NoticeKind::IndexingDone));
}

/// The graph is behind and the database is held.
fn behind() -> World {
    let world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    world
}

/// The database holds no graph of this workspace.
fn never_indexed() -> World {
    let world = World::default();
    world.graph.create_database(true);
    world
}

/// The database was written by whoever holds it.
fn written_by_the_holder() -> World {
    let world = World::indexed();
    world.graph.renew_database();
    world
}

#[rstest]
#[case::it_needs_to_sync(behind, State::Drift)]
#[case::it_needs_to_index(never_indexed, State::Unindexed)]
#[case::it_needs_to_ask(written_by_the_holder, State::Busy)]
fn lc_09_work_is_skipped_while_another_cgc_holds_the_database(#[case] given: fn() -> World, #[case] state: State) {
    let mut world = given();
    world.hold_database(4711, "cgc mcp");
    let before = world.commands();
    let harness = world.harness("session").with(AUTO_CREATE, "true");

    world.start(&harness);
    world.turn(&harness);

    assert_eq!(world.commands(), before);
    assert_eq!((world.knowledge().state, world.work()), (state, None));
    assert_eq!(world.lifecycle().holder().and_then(|holder| holder.pid), Some(4711));
    let busy: Vec<_> =
        world.notifier.told(harness.id()).into_iter().filter(|notice| notice.kind == NoticeKind::Busy).collect();
    assert_eq!(busy.len(), 1);
    assert!(busy[0].text.contains("cgc mcp (pid 4711)"), "{busy:?}");
    assert!(world.steward().has_session(harness.id()));
    assert_eq!(world.runner.stops().iter().filter(|stop| stop.stop != Stop::Interrupt).count(), 0);
}

#[test]
fn lc_10_further_sessions_on_a_healthy_index_run_nothing() {
    let mut world = World::indexed();
    let (commands, scans) = (world.commands(), world.files.scans());

    for number in 0..3 {
        let harness = world.start_session(&format!("session {number}"));
        assert_eq!(world.knowledge().state, State::Clean);
        world.turn(&harness);
        world.end(&harness);
        world.restart_companion();
    }

    assert_eq!((world.commands(), world.files.scans()), (commands, scans));
}

#[test]
fn lc_11_a_command_within_its_budget_updates_the_state_and_runs_alone() {
    let mut world = World::default();
    let gate = Gate::default();
    world.expect_index_at(&gate);
    let harness = world.harness("first").with(AUTO_CREATE, "true");
    world.start(&harness);
    let other = world.harness("second").with(AUTO_CREATE, "true");
    world.start(&other);
    let client = world.request(JobKind::Sync);

    world.advance(Duration::from_mins(9));
    assert_eq!(world.work(), Some(Work::Indexing));
    gate.open();
    world.run();

    assert_eq!(world.runner.stops(), []);
    assert!(world.runner.spawned().iter().all(|command| command.capture_limit <= 1 << 20));
    assert_eq!(world.knowledge().state, State::Clean);
    assert!(world.lifecycle().last_job().is_some_and(|job| job.succeeded));
    assert_eq!(
        (world.commands().as_slice(), world.runner.most_at_once()),
        (["index", "inventory"].map(String::from).as_slice(), 1)
    );
    assert!(matches!(
        world.answers(client).first(),
        Some(ClientAnswer::Job { answer: JobAnswer::Accepted { joined: true }, .. })
    ));
}

#[test]
fn lc_12_a_command_that_hangs_is_ended_and_recorded_as_a_timeout() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    world.expect(Script::command(&["reconcile"]).says(STARTED_LINE).awaits(Stop::Kill).ends(Exit::Signal(9)));
    let harness = world.start_session("session");
    let hanging = world.runner.alive();
    assert_eq!(hanging.len(), 1);

    world.advance(MAINTENANCE + Duration::from_secs(5));

    assert_eq!(world.runner.alive(), [] as [GroupId; 0]);
    let stops: Vec<_> = world.runner.stops().into_iter().filter(|stop| stop.group == hanging[0]).collect();
    assert_eq!(stops.iter().map(|stop| stop.stop).collect::<Vec<_>>(), [Stop::Interrupt, Stop::Terminate, Stop::Kill]);
    let result = world.lifecycle().last_job().expect("a job ended");
    assert!(!result.succeeded && result.summary.contains("(timeout)"), "{result:?}");
    assert!(world.lifecycle().last_problem().is_some_and(|(problem, _)| problem.0.contains("(timeout)")));
    assert_eq!((world.knowledge().state, world.work()), (State::Drift, None));
    world.turn(&harness);
    assert!(world.steward().has_session(harness.id()));
    assert_eq!(world.runner.alive(), [] as [GroupId; 0], "what hung once is not started again in this session");
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Reported,
    HarnessKilled,
    CompanionStopped,
    CompanionKilled,
}

#[rstest]
#[case::as_the_harness_reports_it(Ending::Reported)]
#[case::by_a_kill_of_the_harness(Ending::HarnessKilled)]
#[case::with_the_companion(Ending::CompanionStopped)]
#[case::by_a_kill_of_the_companion(Ending::CompanionKilled)]
fn lc_13_the_end_of_a_session_ends_its_work(#[case] ending: Ending) {
    for obeys in [Stop::Interrupt, Stop::Terminate, Stop::Kill] {
        let mut world = World::indexed();
        world.files.write(&world.path("a.py"), "edited");
        world.expect(Script::command(&["reconcile"]).says(STARTED_LINE).awaits(obeys).ends(Exit::Code(130)));
        let harness = world.start_session("session");
        assert_eq!(world.runner.alive().len(), 1);

        match ending {
            Ending::Reported => world.end(&harness),
            Ending::HarnessKilled => world.kill(&harness),
            Ending::CompanionStopped => world.stop_companion(),
            Ending::CompanionKilled => world.kill_companion(),
        }
        world.advance(Duration::from_secs(5));

        assert_eq!(world.runner.alive(), [] as [GroupId; 0], "cgc obeys {obeys:?}");
        // The database is free for whoever comes next.
        world.restart_companion();
        world.expect_reconcile();
        world.start_session("next");
        assert_eq!(world.knowledge().state, State::Clean);
    }
}

#[test]
fn lc_13_work_that_a_live_session_shares_goes_on() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    let gate = Gate::default();
    world.expect_reconcile_at(&gate);
    let first = world.start_session("first");
    let second = world.start_session("second");

    world.end(&first);

    assert_eq!(world.runner.stops().len(), 0);
    assert_eq!(world.work(), Some(Work::Syncing));
    gate.open();
    world.run();
    assert_eq!(world.knowledge().state, State::Clean);
    assert_eq!(world.told(&second), [NoticeKind::SyncCompleted]);
}

#[test]
fn lc_16_with_start_time_syncs_off_drift_is_told_and_nothing_starts() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    let before = world.commands();
    let harness = world.harness("session").with(SYNC_ON_START, "false");

    world.start(&harness);
    for _ in 0..3 {
        world.turn(&harness);
    }

    assert_eq!((world.knowledge().state, world.work()), (State::Drift, None));
    assert_eq!(world.told(&harness), [NoticeKind::PossiblyStale]);
    assert_eq!(world.commands(), before);
}
