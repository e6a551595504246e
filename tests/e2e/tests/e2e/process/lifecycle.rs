//! `docs/spec/lifecycle.feature` in the process world: what a session start finds and does.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};
use steward_e2e::{Repository, World, content};
use steward_fake_cgc::{Behaviour, Command, Rule};

use super::support::{
    BOUND, OtherCgc, behave, database, files, graph, graph_in, hang, index, indexed, is_ready, prompt_until_told,
    small_repository, times_told, verbs_after,
};

fn nothing(_: &Repository) {}

fn edit(repository: &Repository) {
    repository.write_python("a.py", &["one", "two", "more"]);
}

#[rstest]
#[case::clean(nothing, "clean")]
#[case::drift_whose_sync_never_ends(edit, "drift")]
fn lc_01_a_usable_index_is_ready_before_the_agent_begins(#[case] change: fn(&Repository), #[case] state: &str) {
    let (mut world, repository) = indexed();
    behave(&world, [Rule::always(Command::Watch, hang(Some(1)))]);
    change(&repository);
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    harness.human_prompts("Go.");
    // Nothing that cgc does has ended by now, and no hook has waited for it.
    let status = world.wait_for_status(repository.root(), "a ready state", BOUND, is_ready);
    let turn = [harness.human_prompts("Go on."), harness.turn_ends()];
    harness.leaves();

    assert_eq!(status["state"], state);
    assert!(turn.iter().all(|hook| hook.context().is_empty()), "{turn:?}");
}

#[test]
fn lc_02_an_unindexed_workspace_is_reported_and_left_alone() {
    let mut world = World::with_fake_cgc();
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
fn lc_03_the_sessions_directory_is_managed_and_not_the_companions_own() {
    let mut world = World::with_fake_cgc();
    let repository = small_repository(&world);
    repository.write_python("src/deep/d.py", &["five"]);
    let elsewhere = world.repository("elsewhere");
    elsewhere.write_python("e.py", &["six"]);
    // Harness, hook and daemon run in other directories than the session's.
    let mut harness = world.harness(elsewhere.root());
    let session = json!({ "source": "startup", "cwd": repository.path("src/deep") });

    harness.event("SessionStart", &session);
    let status = world.wait_for_state(repository.root(), "unindexed", BOUND);
    let other = world.status(elsewhere.root());

    assert_eq!(status["workspace"], json!(repository.root()));
    assert_eq!(status["sessions"][0]["pid"], harness.pid());
    assert_eq!(other["sessions"], json!([]));
    harness.event("SessionEnd", &json!({ "reason": "other", "cwd": repository.path("src/deep") }));
}

#[test]
fn lc_04_a_missing_index_is_told_once_and_not_created() {
    let mut world = World::with_fake_cgc();
    let repository = small_repository(&world);
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    world.wait_for_state(repository.root(), "unindexed", BOUND);
    hooks.extend((0..3).flat_map(|_| [harness.human_prompts("Go."), harness.turn_ends()]));
    let unanswered = world.steward(repository.root(), &["index"]);
    harness.leaves();

    assert_eq!(times_told(&hooks, "has no code graph yet"), 1, "{hooks:?}");
    assert_eq!(times_told(&hooks, "lifecycle.autoCreate"), 1, "{hooks:?}");
    assert!(!unanswered.status.success(), "nobody said yes");
    assert_eq!(world.cgc().calls().len(), 0);
}

#[test]
fn lc_05_a_missing_index_is_created_in_the_background() {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = small_repository(&world);
    behave(&world, [Rule::always(Command::Index, Behaviour::Slow(300))]);
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    world.wait_for_status(repository.root(), "the index to run", BOUND, |status| {
        status["activity"]["name"] == "indexing"
    });
    hooks.push(harness.human_prompts("Go."));
    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    hooks.push(harness.human_prompts("Go on."));
    harness.leaves();

    assert_eq!(times_told(&hooks, "being created in the background"), 1, "{hooks:?}");
    assert_eq!(times_told(&hooks, "is ready: 4 files"), 1, "{hooks:?}");
    assert_eq!(status["receipt"]["files"], 4);
    assert_eq!((&status["lastAction"]["name"], &status["lastAction"]["succeeded"]), (&json!("index"), &json!(true)));
    assert_eq!(verbs_after(&world, 0), ["index", "query"]);
    let expected: &[(&str, &[&str])] =
        &[("README.md", &[]), ("a.py", &["one", "two"]), ("b.py", &["three"]), ("package/c.py", &["four"])];
    assert_eq!(graph(&world, &repository), files(expected));
}

#[rstest]
#[case::edited(|it: &Repository| drop(it.write_python("b.py", &["changed"])), "1 changed")]
#[case::added(|it: &Repository| drop(it.write_python("new.py", &["fresh"])), "1 added")]
#[case::deleted(|it: &Repository| it.remove("b.py"), "1 deleted")]
#[case::renamed(|it: &Repository| it.rename("b.py", "z.py"), "1 renamed")]
#[case::stored_file_added(|it: &Repository| drop(it.write("NOTES.md", "stored")), "1 added")]
fn lc_06_changed_files_are_synced_in_the_background(#[case] change: fn(&Repository), #[case] told: &str) {
    let (mut world, repository) = indexed();
    change(&repository);
    let before = world.cgc().calls().len();
    behave(&world, [Rule::always(Command::Watch, Behaviour::Slow(200))]);
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    world.wait_for_status(repository.root(), "the sync to run", BOUND, |status| {
        status["activity"]["name"] == "syncing" && status["freshness"]["status"] == "syncing"
    });
    hooks.push(harness.human_prompts("Go."));
    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    hooks.push(harness.human_prompts("Go on."));
    harness.leaves();

    assert_eq!(status["freshness"]["status"], "fresh");
    assert_eq!(verbs_after(&world, before), ["watch", "query"]);
    assert_eq!(times_told(&hooks, told), 1, "{hooks:?}");
    // The same tree, indexed from nothing in a home of its own.
    let other_home = world.scratch().directory("other-home").unwrap();
    world.set("HOME", &other_home);
    index(&world, &repository);
    let fresh = graph_in(&other_home.join(".codegraphcontext/global/db/kuzudb"), &repository);
    assert_eq!(graph(&world, &repository), fresh);
}

#[test]
fn lc_07_a_graph_that_matches_the_tree_starts_no_work() {
    let (mut world, repository) = indexed();
    repository.set_modified("a.py", 1_000_000_000);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let hooks = [harness.session_starts("startup"), harness.human_prompts("Go."), harness.turn_ends()];
    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();

    assert_eq!(status["freshness"]["status"], "fresh");
    assert!(hooks.iter().all(|hook| hook.message().is_empty()), "{hooks:?}");
    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);
}

/// Bytes that no backend begins with.
fn spoil_the_beginning(database: &Path) {
    let mut bytes = fs::read(database).unwrap();
    bytes[..4].copy_from_slice(b"JUNK");
    fs::write(database, bytes).unwrap();
}

/// What a full disk or a broken copy leaves.
fn truncate(database: &Path) {
    let bytes = fs::read(database).unwrap();
    fs::write(database, &bytes[..200]).unwrap();
}

#[rstest]
#[case::bytes_of_no_database(spoil_the_beginning)]
#[case::truncated(truncate)]
fn lc_08_a_corrupt_index_is_reported_and_left_alone(#[case] ruin: fn(&Path)) {
    let (mut world, repository) = indexed();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let database = database(&world);
    ruin(&database);
    let ruined = content(database.parent().unwrap());
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    world.wait_for_state(repository.root(), "corrupt", BOUND);
    hooks.extend((0..3).map(|_| harness.human_prompts("Go.")));
    let status = world.wait_for_state(repository.root(), "corrupt", BOUND);
    let unanswered = world.steward(repository.root(), &["rebuild"]);
    harness.leaves();

    assert_eq!(times_told(&hooks, "`steward rebuild`"), 1, "{hooks:?}");
    assert_eq!(times_told(&hooks, "Nothing was deleted"), 1, "{hooks:?}");
    assert!(!unanswered.status.success(), "nobody said yes");
    assert_ne!(status["receipt"], Value::Null);
    let verbs = verbs_after(&world, before);
    assert!(verbs.iter().all(|verb| verb == "query"), "{verbs:?}");
    assert!(content(database.parent().unwrap()) == ruined, "something was written beside or into the database");
}

#[test]
fn lc_08_only_a_human_has_a_corrupt_index_rebuilt() {
    let (world, repository) = indexed();
    let database = database(&world);
    truncate(&database);
    let ruined = fs::read(&database).unwrap();

    world.steward_succeeds(repository.root(), &["rebuild", "--yes", "--wait"]);

    assert_eq!(world.status(repository.root())["state"], "clean");
    assert_eq!(graph(&world, &repository).len(), 4);
    let kept = content(database.parent().unwrap());
    assert!(kept.values().any(|bytes| *bytes == ruined), "the ruined database was not kept: {:?}", kept.keys());
}

/// The graph is behind, and another workspace's watcher holds the database.
fn behind(world: &World) -> (Repository, OtherCgc) {
    let repository = small_repository(world);
    index(world, &repository);
    let other = world.repository("other");
    index(world, &other_with_code(&other));
    let holder = OtherCgc::watches(world, &other);
    edit(&repository);
    (repository, holder)
}

/// The database holds another workspace alone.
fn never_indexed(world: &World) -> (Repository, OtherCgc) {
    let other = world.repository("other");
    index(world, &other_with_code(&other));
    (small_repository(world), OtherCgc::watches(world, &other))
}

/// The graph was never seen by the companion.
fn unseen(world: &World) -> (Repository, OtherCgc) {
    let repository = small_repository(world);
    let holder = OtherCgc::watches(world, &repository);
    (repository, holder)
}

fn other_with_code(repository: &Repository) -> Repository {
    repository.write_python("other.py", &["other"]);
    repository.clone()
}

#[rstest]
#[case::it_needs_to_sync(behind)]
#[case::it_needs_to_index(never_indexed)]
#[case::it_needs_to_ask(unseen)]
fn lc_09_work_is_skipped_while_another_cgc_holds_the_database(#[case] given: fn(&World) -> (Repository, OtherCgc)) {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let (repository, mut holder) = given(&world);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    if times_told(&hooks, &holder.name()) == 0 {
        hooks.extend(prompt_until_told(&mut harness, &holder.name()));
    }
    hooks.extend((0..3).flat_map(|_| [harness.human_prompts("Go."), harness.turn_ends()]));
    let status = world.wait_for_status(repository.root(), "rest", BOUND, |status| status["activity"].is_null());
    harness.leaves();

    assert_eq!(times_told(&hooks, &holder.name()), 1, "{hooks:?}");
    assert_ne!(status["state"], "clean");
    assert_ne!(status["state"], "corrupt");
    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);
    assert!(holder.is_running());
}

#[test]
fn lc_10_further_sessions_on_a_healthy_index_run_nothing() {
    let (mut world, repository) = indexed();
    let before = world.cgc().calls().len();
    let kept = fs::metadata(database(&world)).unwrap().modified().unwrap();

    for _ in 0..3 {
        let mut harness = world.harness(repository.root());
        harness.session_starts("startup");
        harness.human_prompts("Go.");
        world.wait_for_state(repository.root(), "clean", BOUND);
        harness.turn_ends();
        harness.leaves();
        world.steward_succeeds(repository.root(), &["daemon", "stop"]);
    }

    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);
    assert_eq!(fs::metadata(database(&world)).unwrap().modified().unwrap(), kept);
}

#[test]
fn lc_16_with_start_time_syncs_off_drift_is_told_and_nothing_starts() {
    let (mut world, repository) = indexed();
    world.set("CGC_LIFECYCLE_SYNC_ON_START", "false");
    edit(&repository);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    world.wait_for_state(repository.root(), "drift", BOUND);
    hooks.extend((0..3).flat_map(|_| [harness.human_prompts("Go."), harness.turn_ends()]));
    let status = world.wait_for_state(repository.root(), "drift", BOUND);
    harness.leaves();

    assert_eq!(status["freshness"]["status"], "possibly-stale");
    assert_eq!(times_told(&hooks, "may be behind the working tree"), 1, "{hooks:?}");
    assert_eq!(times_told(&hooks, "`steward sync`"), 1, "{hooks:?}");
    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);
}
