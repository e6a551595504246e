//! `docs/spec/lifecycle.feature` with the real cgc: what a session start finds and does.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use rstest::rstest;
use serde_json::Value;
use steward_e2e::{Repository, World, content};

use super::support::{
    BOUND, OtherCgc, SMALL_GRAPH, assert_nothing_was_indexed_anew, calls_after, database, indexed, is_ready,
    small_repository, told,
};

#[test]
fn lc_01_an_index_that_is_as_it_was_left_is_ready_without_cgc() {
    let (mut world, repository) = indexed();
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    harness.human_prompts("Go.");
    let status = world.wait_for_status(repository.root(), "a ready state", BOUND, is_ready);
    harness.leaves();

    assert_eq!(status["state"], "clean");
    assert_eq!(calls_after(&world, before), [] as [&str; 0]);
}

#[test]
fn lc_01_an_index_that_another_program_made_is_brought_up_to_date_once() {
    let mut world = World::with_real_cgc();
    let repository = small_repository(&world);
    let mut harness = world.harness(repository.root());
    let cgc = world.cgc().executable().unwrap();
    let root = repository.root().to_str().unwrap();
    let made = harness.run(&cgc, &["index", "--no-progress", root], b"");
    assert_eq!(made.code, Some(0), "{}", String::from_utf8_lossy(&made.stdout));
    let before = world.cgc().calls().len();

    harness.session_starts("startup");
    world.wait_for_status(repository.root(), "a ready state", BOUND, is_ready);
    world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();

    assert_nothing_was_indexed_anew(&world, before);
    assert_eq!(world.graph(repository.root()), SMALL_GRAPH);
}

#[test]
fn lc_02_a_workspace_without_an_index_is_left_alone() {
    let mut world = World::with_real_cgc();
    let repository = small_repository(&world);
    let mut harness = world.harness(repository.root());

    let hooks = [harness.session_starts("startup"), harness.human_prompts("Go."), harness.turn_ends()];
    let status = world.wait_for_state(repository.root(), "unindexed", BOUND);
    harness.leaves();

    assert_eq!(status["receipt"], Value::Null);
    assert!(hooks.iter().all(|hook| hook.context().is_empty()), "{hooks:?}");
    assert_eq!(world.cgc().calls().len(), 0);
    assert!(!world.home().join(".codegraphcontext").exists());
    assert!(!repository.path(".cgcignore").exists());
}

#[test]
fn lc_02_a_database_of_another_workspace_is_no_index() {
    let (mut world, _) = indexed();
    let repository = world.repository("other");
    repository.write_python("c.py", &["three"]);
    let before = (world.cgc().calls().len(), content(&world.home()));
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    harness.human_prompts("Go.");
    world.wait_for_state(repository.root(), "unindexed", BOUND);
    harness.leaves();

    assert_eq!(world.cgc().calls().len(), before.0);
    assert!(content(&world.home()) == before.1, "something was written below the home");
}

#[test]
fn lc_04_a_missing_index_is_told_once_and_not_created() {
    let mut world = World::with_real_cgc();
    let repository = small_repository(&world);
    let mut harness = world.harness(repository.root());

    let mut messages = vec![harness.session_starts("startup").message()];
    world.wait_for_state(repository.root(), "unindexed", BOUND);
    messages.extend(["Go.", "Go on."].map(|prompt| harness.human_prompts(prompt).message()));
    let refused = world.steward(repository.root(), &["index"]);
    harness.leaves();

    assert_eq!(told(&messages, "has no code graph yet").len(), 1, "{messages:?}");
    assert_eq!(told(&messages, "lifecycle.autoCreate").len(), 1, "{messages:?}");
    assert!(!refused.status.success(), "nobody said yes");
    assert_eq!(world.cgc().calls().len(), 0);
    assert!(!world.home().join(".codegraphcontext").exists());
}

#[test]
fn lc_05_a_missing_index_is_created_in_the_background() {
    let mut world = World::with_real_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = small_repository(&world);
    let mut harness = world.harness(repository.root());

    let start = harness.session_starts("startup");
    world.wait_for_status(repository.root(), "the index to run", BOUND, |status| {
        status["activity"]["name"] == "indexing"
    });
    let messages = [start, harness.human_prompts("Go.")].map(|hook| hook.message());
    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();

    assert_eq!(told(&messages, "being created in the background").len(), 1, "{messages:?}");
    assert_eq!(status["receipt"]["files"], 4);
    assert_eq!(status["receipt"]["cgcVersion"], "0.6.13");
    assert_eq!(status["backend"]["name"], "kuzudb");
    assert_eq!(calls_after(&world, 0), ["index", "query"]);
    assert_eq!(world.graph(repository.root()), SMALL_GRAPH);
}

/// Edits, adds, deletes and renames, so that calls appear, move and vanish.
fn change_everything(repository: &Repository) {
    repository.write_python("a.py", &["first", "two", "three"]);
    repository.write("c.py", "from a import three\n\n\ndef four():\n    return three()\n");
    repository.remove("README.md");
    repository.rename("base.py", "package/base.py");
}

/// Goes to another branch, which changes, brings and takes files at once.
fn switch_branch(repository: &Repository) {
    repository.git(&["switch", "--quiet", "other"]);
}

#[rstest]
#[case::edited_added_deleted_and_renamed(change_everything)]
#[case::on_another_branch(switch_branch)]
fn lc_06_after_the_sync_the_graph_is_that_of_a_fresh_index(#[case] change: fn(&Repository)) {
    let (mut world, repository) = indexed();
    repository.commit("main");
    repository.git(&["switch", "--quiet", "--create", "other"]);
    change_everything(&repository);
    repository.commit("other");
    repository.git(&["switch", "--quiet", "main"]);
    // The switch there and back gave the files other times.
    let before = world.cgc().calls().len();
    change(&repository);
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    world.wait_for_status(repository.root(), "the sync to run", BOUND, |status| {
        status["activity"]["name"] == "syncing" && status["freshness"]["status"] == "syncing"
    });
    harness.human_prompts("Go.");
    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();

    assert_eq!(status["freshness"]["status"], "fresh");
    assert_eq!(status["lastAction"]["name"], "sync");
    assert_nothing_was_indexed_anew(&world, before);
    let graph = world.graph(repository.root());
    assert_eq!(graph, world.fresh_graph(repository.root()));
    for expected in ["function c.py four", "call c.py four -> a.py three", "class package/base.py Base"] {
        assert!(graph.iter().any(|line| line == expected), "{graph:#?}");
    }
    for gone in ["a.py one", "README.md", " base.py"] {
        assert!(!graph.iter().any(|line| line.contains(gone)), "{graph:#?}");
    }
}

#[test]
fn lc_07_a_graph_that_matches_the_tree_starts_no_work() {
    let (mut world, repository) = indexed();
    repository.set_modified("a.py", 1_000_000_000);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let start = harness.session_starts("startup");
    let prompt = harness.human_prompts("Go.");
    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    let messages = [start, prompt, harness.turn_ends()].map(|hook| hook.message());
    harness.leaves();

    assert_eq!(status["freshness"]["status"], "fresh");
    assert_eq!(messages, ["", "", ""]);
    assert_eq!(calls_after(&world, before), [] as [&str; 0]);
    assert_eq!(world.graph(repository.root()), SMALL_GRAPH);
}

/// Bytes that no backend begins with.
fn spoil_the_beginning(database: &Path) {
    let mut bytes = fs::read(database).unwrap();
    bytes[..4].copy_from_slice(b"JUNK");
    fs::write(database, bytes).unwrap();
}

/// What a full disk or a broken copy leaves.
fn truncate(database: &Path) {
    let file = fs::OpenOptions::new().write(true).open(database).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
}

/// Nonsense in the pages behind a sound header.
fn garble(database: &Path) {
    let mut bytes = fs::read(database).unwrap();
    bytes[4096..].iter_mut().for_each(|byte| *byte ^= 0x5a);
    fs::write(database, bytes).unwrap();
}

#[rstest]
#[case::bytes_of_no_database(spoil_the_beginning)]
#[case::truncated(truncate)]
#[case::garbled(garble)]
fn lc_08_a_corrupt_index_is_reported_and_left_alone(#[case] ruin: fn(&Path)) {
    let (mut world, repository) = indexed();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let database = database(&world);
    ruin(&database);
    let files = content(database.parent().unwrap());
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let mut messages = vec![harness.session_starts("startup").message()];
    world.wait_for_state(repository.root(), "corrupt", BOUND);
    messages.extend(["Go.", "Go on."].map(|prompt| harness.human_prompts(prompt).message()));
    let status = world.wait_for_state(repository.root(), "corrupt", BOUND);
    harness.leaves();

    assert_eq!(told(&messages, "steward rebuild").len(), 1, "{messages:?}");
    assert_eq!(told(&messages, "Nothing was deleted").len(), 1, "{messages:?}");
    assert_ne!(status["receipt"], Value::Null);
    let calls = calls_after(&world, before);
    assert!(calls.iter().all(|verb| verb == "query"), "{calls:?}");
    assert!(content(database.parent().unwrap()) == files, "something was written beside or into the database");
}

#[test]
fn lc_08_only_a_human_has_a_corrupt_index_rebuilt() {
    let (world, repository) = indexed();
    let database = database(&world);
    truncate(&database);
    let ruined = fs::read(&database).unwrap();

    let unanswered = world.steward(repository.root(), &["rebuild", "--wait"]);
    assert!(!unanswered.status.success(), "nobody said yes");
    assert!(fs::read(&database).unwrap() == ruined, "something was written into the database");
    world.steward_succeeds(repository.root(), &["rebuild", "--yes", "--wait"]);

    assert_eq!(world.status(repository.root())["state"], "clean");
    assert_eq!(world.graph(repository.root()), SMALL_GRAPH);
    let kept = content(database.parent().unwrap());
    assert!(kept.values().any(|bytes| *bytes == ruined), "the ruined database was not kept: {:?}", kept.keys());
}

type Holder = fn(&World, &Repository) -> OtherCgc;

#[rstest]
#[case::an_agents_server(OtherCgc::server, "cgc mcp")]
#[case::a_humans_watcher(OtherCgc::watcher, "cgc watch")]
fn lc_09_a_sync_waits_for_another_cgc_and_names_it(#[case] holder: Holder, #[case] name: &str) {
    let (mut world, repository) = indexed();
    let mut other = holder(&world, &repository);
    let before = world.cgc().calls().len();
    repository.write_python("a.py", &["first", "two"]);
    let mut harness = world.harness(repository.root());

    let mut messages = vec![harness.session_starts("startup").message()];
    let named = format!("{name} (pid {})", other.pid());
    let status = world.wait_for_status(repository.root(), "the sync to be skipped", BOUND, |status| {
        status["freshness"]["status"] == "skipped-busy" && status["activity"].is_null()
    });
    messages.extend(["Go.", "Go on."].map(|prompt| harness.human_prompts(prompt).message()));
    harness.turn_ends();

    assert_eq!(told(&messages, &named).len(), 1, "{messages:?}\n{status:#}");
    assert_eq!(told(&messages, "holds the graph database").len(), 1, "{messages:?}");
    assert!(other.is_running(), "somebody else's process was ended");
    assert_eq!(calls_after(&world, before), [] as [&str; 0]);

    drop(other);
    harness.human_prompts("Now?");
    world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();

    let synced = SMALL_GRAPH.map(|line| line.replace("a.py one", "a.py first"));
    assert_eq!(world.graph(repository.root()), synced);
}

#[test]
fn lc_09_an_index_waits_for_an_agents_server_and_names_it() {
    let mut world = World::with_real_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = small_repository(&world);
    let mut other = OtherCgc::server(&world, &repository);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let mut messages = vec![harness.session_starts("startup").message()];
    let named = format!("cgc mcp (pid {})", other.pid());
    world.wait_for_status(repository.root(), "the index to be skipped", BOUND, |status| {
        status["lastAction"]["outcome"].as_str().is_some_and(|outcome| outcome.contains(&named))
            || status["freshness"]["reason"].as_str().is_some_and(|reason| reason.contains(&named))
    });
    messages.extend(["Go.", "Go on."].map(|prompt| harness.human_prompts(prompt).message()));
    harness.leaves();

    assert_eq!(told(&messages, &named).len(), 1, "{messages:?}");
    assert!(other.is_running(), "somebody else's process was ended");
    assert_eq!(calls_after(&world, before), [] as [&str; 0]);
}

#[test]
fn lc_10_further_sessions_on_a_healthy_index_run_nothing() {
    let (mut world, repository) = indexed();
    let before = world.cgc().calls().len();

    for _ in 0..3 {
        let mut harness = world.harness(repository.root());
        let start = harness.session_starts("startup");
        world.wait_for_state(repository.root(), "clean", BOUND);
        let messages = [start, harness.human_prompts("Go."), harness.turn_ends()].map(|hook| hook.message());
        assert_eq!(messages, ["", "", ""]);
        harness.leaves();
        // What the next session finds, it finds on disk.
        world.steward_succeeds(repository.root(), &["daemon", "stop"]);
    }

    assert_eq!(calls_after(&world, before), [] as [&str; 0]);
    assert_eq!(world.graph(repository.root()), SMALL_GRAPH);
}

#[test]
fn lc_16_with_start_time_syncs_off_drift_is_told_and_nothing_starts() {
    let (mut world, repository) = indexed();
    world.set("CGC_LIFECYCLE_SYNC_ON_START", "false");
    repository.write_python("a.py", &["first", "two"]);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let mut messages = vec![harness.session_starts("startup").message()];
    world.wait_for_state(repository.root(), "drift", BOUND);
    messages.extend(["Go.", "Go on."].map(|prompt| harness.human_prompts(prompt).message()));
    let status = world.wait_for_state(repository.root(), "drift", BOUND);
    harness.leaves();

    assert_eq!(status["freshness"]["status"], "possibly-stale");
    assert_eq!(told(&messages, "may be behind the working tree").len(), 1, "{messages:?}");
    assert_eq!(calls_after(&world, before), [] as [&str; 0]);
    assert_eq!(world.graph(repository.root()), SMALL_GRAPH);
}
