//! Faults that users of such tools met, as far as the machines decide about them: detection, locks, corruption, ends.
//!
//! It must never pass where the fault merely takes another form.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rstest::rstest;
use steward_conformance::{Harness, ROOT, World, index, inventory};
use steward_doubles::{DATABASE, Gate, PROGRESS_LINE, READY_LINE, STARTED_LINE, Script, StoreCall};
use steward_lifecycle::{JobAnswer, State, Work};
use steward_ports::{
    Backend, Exit, GraphCounts, GroupId, Inventory, JobKind, NoticeKind, Stop, SyncEngine, Tick, Verb, Verdict,
};
use steward_session::{ClientAnswer, Happened};

const AUTO_CREATE: &str = "CGC_LIFECYCLE_AUTO_CREATE";
const SYNC_ON_START: &str = "CGC_LIFECYCLE_SYNC_ON_START";

/// A graph that somebody else made, holding `files`.
fn foreign_inventory(files: &[&str]) -> Inventory {
    let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let counts = GraphCounts { files: files.len() as u64, functions: files.len() as u64, classes: 0 };
    Inventory { files, counts, indexed_at: Some("some day".to_owned()), commit: None }
}

fn consenting(world: &mut World, name: &str) -> Harness {
    world.harness(name).with(AUTO_CREATE, "true")
}

/// The last thing that a client was told, if it is the end of its job: success, summary, advice.
fn end_of(answers: &[&ClientAnswer]) -> Option<(bool, String, Option<String>)> {
    match answers.last() {
        Some(ClientAnswer::Job { answer: JobAnswer::Finished { succeeded, summary, advice }, .. }) => {
            Some((*succeeded, summary.clone(), advice.clone()))
        }
        _ => None,
    }
}

#[test]
fn trial_b01_one_indexed_file_of_four_is_no_ready_index() {
    let mut world = World::default();
    for name in ["c.py", "d.py"] {
        world.files.write(&world.path(name), name);
    }
    world.graph.hold_inventory(Path::new(ROOT), foreign_inventory(&["a.py"]));
    world.expect(inventory());
    let harness = world.harness("session").with(SYNC_ON_START, "false");

    world.start(&harness);

    assert_eq!(world.knowledge().state, State::Drift);
    assert_eq!(world.told(&harness), [NoticeKind::PossiblyStale]);
    assert!(world.knowledge().evidence.iter().any(|evidence| evidence.finding.contains("1 files")));
}

#[test]
fn trial_b03_a_cold_worktree_is_unindexed_and_nothing_is_created() {
    let mut world = World::default();
    let worktree = Path::new("/home/user/worktrees/feature");
    world.files.make_worktree(worktree, &world.path(".git"), "feature", "commit-1");
    world.files.write(&worktree.join("a.py"), "a");
    let files = world.files.files(Path::new("/"));
    let harness = world.harness("session").in_directory("/home/user/worktrees/feature");

    world.start(&harness);
    world.turn(&harness);

    assert_eq!(world.told(&harness), [NoticeKind::Unindexed]);
    assert_eq!(world.commands(), [] as [&str; 0]);
    assert_eq!((world.files.files(Path::new("/")), world.graph.database_now()), (files, None));
}

#[test]
fn trial_b04_a_repository_without_files_of_its_own_is_not_called_indexed() {
    let mut world = World::default();
    for name in ["a.py", "b.py", "README.md"] {
        world.files.remove(&world.path(name));
    }
    let harness = world.start_session("session");

    let client = world.request(JobKind::Index);

    let (succeeded, summary, advice) = end_of(&world.answers(client)).expect("the job ended");
    assert!(!succeeded && summary.contains("no file that cgc indexes"), "{summary}");
    assert!(advice.is_some_and(|advice| advice.contains("nested repositories")));
    assert_eq!(world.knowledge().state, State::Unindexed);
    assert!(!world.lifecycle().guidance_ready());
    assert!(!world.told(&harness).contains(&NoticeKind::IndexingDone));
}

#[test]
fn trial_b06_a_backend_that_changed_silently_stops_all_automatic_work() {
    let mut world = World::default();
    world.store.remember_backend(&world.root(), Backend::FalkorRemote);
    world.graph.create_database(true);
    let harness = consenting(&mut world, "session");

    world.start(&harness);
    world.turn(&harness);

    assert_eq!(world.knowledge().state, State::Unknown);
    assert_eq!(world.told(&harness), [NoticeKind::UnsupportedBackend]);
    let text = &world.notifier.told(harness.id())[0].text;
    assert!(text.contains("kuzudb") && text.contains("falkordb-remote"), "{text}");
    assert_eq!(world.commands(), [] as [&str; 0]);
}

#[test]
fn trial_b06_a_fallback_during_a_job_is_no_success() {
    let mut world = World::default();
    let fallback = "Database backend fallback: now using KùzuDB".to_owned();
    world.graph.will_mean(Verb::Index, Verdict::BackendChanged { evidence: fallback.clone() });
    world.expect(Script::command(&["index"]).ends(Exit::Code(0)));
    let harness = consenting(&mut world, "session");

    world.start(&harness);

    assert_eq!((world.knowledge().state, world.knowledge().reason.as_str()), (State::Unknown, fallback.as_str()));
    world.turn(&harness);
    assert!(!world.told(&harness).contains(&NoticeKind::IndexingDone));
    assert_eq!(world.commands(), ["index"]);
}

#[test]
fn trial_b07_the_backend_in_use_is_evidence_and_part_of_the_record() {
    let mut world = World::indexed();

    world.start_session("session");

    let evidence = &world.knowledge().evidence[0];
    assert_eq!((evidence.source.as_str(), evidence.finding.as_str()), ("file magic", "the backend is kuzudb"));
    let receipt = world.store.record(&world.root()).receipt.expect("the graph was proved");
    assert_eq!(receipt.backend, Backend::Kuzu);
}

#[rstest]
#[case::nothing_at_all(Inventory::default())]
#[case::files_without_symbols(Inventory {
    counts: GraphCounts { files: 3, functions: 0, classes: 0 },
    ..foreign_inventory(&["README.md", "a.py", "b.py"])
})]
#[case::half_of_them(foreign_inventory(&["a.py"]))]
fn trial_b10_an_index_that_exits_with_0_is_done_only_when_the_graph_says_so(#[case] held: Inventory) {
    let mut world = World::default();
    let graph = std::sync::Arc::clone(&world.graph);
    let build = move || graph.hold_inventory(Path::new(ROOT), held);
    world.expect(Script::command(&["index"]).does(build).ends(Exit::Code(0)));
    world.expect(inventory());
    let harness = consenting(&mut world, "session");

    world.start(&harness);
    world.turn(&harness);

    assert_eq!(world.knowledge().state, State::Incomplete);
    assert!(!world.lifecycle().guidance_ready());
    assert_eq!(world.told(&harness), [NoticeKind::IndexingStarted, NoticeKind::IndexingFailed]);
    assert_eq!(world.store.record(&world.root()).receipt, None);
}

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

#[test]
fn trial_b111_what_cgc_itself_touches_causes_no_second_sync() {
    let mut world = World::indexed();
    world.files.write(&world.path("a.py"), "edited");
    let (graph, files, root) = (world.graph.clone(), world.files.clone(), Path::new(ROOT));
    let build = move || {
        files.write(&root.join(".cgcignore"), "build/");
        files.touch(&root.join("b.py"));
        graph.hold(root, &files.manifest(root), false);
    };
    world.expect(
        Script::command(&["reconcile"]).does(build).says(READY_LINE).awaits(Stop::Interrupt).ends(Exit::Code(0)),
    );
    world.expect(inventory());
    let harness = world.start_session("session");
    assert_eq!(world.knowledge().state, State::Clean);
    let commands = world.commands();

    for _ in 0..3 {
        world.turn(&harness);
        world.advance(Duration::from_secs(10));
    }
    world.end(&harness);
    world.restart_companion();
    world.start_session("next");

    assert_eq!((world.knowledge().state, world.commands()), (State::Clean, commands));
}

#[rstest]
#[case::home("/home/user")]
#[case::root("/")]
#[case::outside_any_repository("/tmp/scratch")]
fn trial_b114_nothing_is_created_outside_a_repository(#[case] directory: &str) {
    let mut world = World::default();
    world.files.make_directory(Path::new("/tmp/scratch"));
    let harness = consenting(&mut world, "session").in_directory(directory);

    world.start(&harness);
    world.turn(&harness);

    assert_eq!(world.commands(), [] as [&str; 0]);
    assert_eq!(world.told(&harness), [NoticeKind::Unindexed]);
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

#[test]
fn trial_b24_the_last_whole_index_and_the_last_sync_are_kept_apart() {
    let mut world = World::indexed();
    let whole = world.store.record(&world.root()).receipt.expect("the graph was proved");
    world.advance(Duration::from_mins(5));
    world.files.write(&world.path("a.py"), "edited");
    world.expect_reconcile();

    world.start_session("session");

    let receipt = world.store.record(&world.root()).receipt.expect("the sync was proved");
    assert_eq!((whole.engine, receipt.engine), (SyncEngine::Full, SyncEngine::Reconcile));
    assert_eq!(receipt.full_index_at, Some(whole.finished_at));
    assert!(receipt.finished_at > whole.finished_at);
    assert!(world.lifecycle().last_job().is_some_and(|job| job.summary.starts_with("1 file: 1 changed")));
}
