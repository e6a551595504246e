//! What a graph is taken for, and what is never created.

use super::*;

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
