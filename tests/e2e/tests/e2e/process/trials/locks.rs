//! Locks, shared work, failures that repeat, and damaged records.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use rstest::rstest;
use serde_json::{Value, json};
use steward_e2e::{Harness, Repository, World, content};
use steward_fake_cgc::{Behaviour, Command, Rule};

use crate::process::support::{
    BOUND, OtherCgc, assert_nothing_works, behave, calls_after, database, files, graph, hang, index, indexed,
    prompt_until_told, small_repository, times_told, verbs_after, wait_for_call, wait_for_rest, wait_for_writer,
};

/// A graph that another program made, so that cgc has to be asked about it.
fn made_by_another(world: &mut World) -> (Repository, Harness) {
    let repository = small_repository(world);
    let mut harness = world.harness(repository.root());
    let made = harness.run(&world.cgc().executable().unwrap(), &["index", "."], b"");
    assert_eq!(made.code, Some(0));
    (repository, harness)
}

/// What cgc says, over two lines, where another process has the database.
fn says_locked(world: &World) -> Behaviour {
    let text = format!(
        "Database Connection Error: IO exception: Could not set lock on file :\n{}\n",
        database(world).display()
    );
    Behaviour::Print { stdout: text, stderr: String::new(), exit: 1 }
}

/// B28 and B34: nobody that can be named holds the lock, or whoever did is gone.
#[rstest]
#[case::always(None, &["query", "query"], "unknown")]
#[case::once(Some(1), &["query", "query", "watch", "query"], "clean")]
fn trial_b34_a_lock_without_a_holder_is_busy_and_tried_once_more(
    #[case] times: Option<usize>,
    #[case] expected: &[&str],
    #[case] state: &str,
) {
    let mut world = World::with_fake_cgc();
    let (repository, mut harness) = made_by_another(&mut world);
    behave(&world, [Rule { times, ..Rule::always(Command::Query, says_locked(&world)) }]);
    let (before, found) = (world.cgc().calls().len(), content(database(&world).parent().unwrap()));

    let mut hooks = vec![harness.session_starts("startup")];
    hooks.extend(prompt_until_told(&mut harness, "holds the graph database"));
    for _ in 0..3 {
        hooks.extend([harness.human_prompts("Go."), harness.turn_ends()]);
        wait_for_rest(&world, &repository);
    }
    // By now nothing says that anybody holds it, and cgc is not asked a third time.
    let status = world.wait_for_state(repository.root(), state, BOUND);
    harness.leaves();

    assert_eq!(verbs_after(&world, before), expected);
    assert_eq!(times_told(&hooks, "holds the graph database"), 1, "{hooks:?}");
    assert!(times.is_some() || content(database(&world).parent().unwrap()) == found, "{status:#}");
}

#[test]
fn trial_b28_a_server_left_over_from_another_project_makes_busy_and_not_corrupt() {
    let mut world = World::with_fake_cgc();
    let (repository, mut harness) = made_by_another(&mut world);
    let other = world.repository("other");
    let mut holder = OtherCgc::watches(&world, &other);
    let before = world.cgc().calls().len();

    let mut hooks = vec![harness.session_starts("startup")];
    let status = world.wait_for_state(repository.root(), "busy", BOUND);
    hooks.extend((0..3).map(|_| harness.human_prompts("Go.")));
    harness.leaves();

    assert_eq!(status["freshness"]["status"], "skipped-busy");
    assert_eq!(times_told(&hooks, &holder.name()), 1, "{hooks:?}");
    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);
    assert!(holder.is_running());
}

#[test]
fn trial_b30_drift_is_remembered_and_synced_once_the_lock_is_free() {
    let (mut world, repository) = indexed();
    let other = world.repository("other");
    other.write_python("other.py", &["other"]);
    index(&world, &other);
    repository.write_python("a.py", &["other"]);
    let holder = OtherCgc::watches(&world, &other);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());
    harness.session_starts("startup");
    let mut hooks = prompt_until_told(&mut harness, &holder.name());
    hooks.extend([harness.turn_ends(), harness.human_prompts("Go.")]);
    let held = wait_for_rest(&world, &repository);
    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);

    drop(holder);
    harness.turn_ends();
    harness.human_prompts("Go on.");
    world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();

    assert_eq!(held["freshness"]["status"], "skipped-busy", "{held:#}");
    assert!(verbs_after(&world, before).contains(&"watch".to_owned()));
}

#[test]
fn trial_b31_three_sessions_at_once_share_one_sync() {
    let (mut world, repository) = indexed();
    repository.write_python("a.py", &["other"]);
    behave(&world, [Rule::always(Command::Watch, Behaviour::Slow(100))]);
    let before = world.cgc().calls().len();
    let mut harnesses: Vec<Harness> = (0..3).map(|_| world.harness(repository.root())).collect();

    for harness in &mut harnesses {
        harness.event_begins("SessionStart", &json!({ "source": "startup" }));
    }
    for harness in &mut harnesses {
        harness.event_ends().unwrap().assert_harmless();
    }
    // Where two of them tried to start the daemon, one may have given up; its next event makes up for it.
    for harness in &mut harnesses {
        harness.human_prompts("Go.");
    }
    let status = world.wait_for_state(repository.root(), "clean", BOUND);

    assert_eq!(verbs_after(&world, before), ["watch", "query"]);
    assert_eq!(status["sessions"].as_array().unwrap().len(), 3);
    for mut harness in harnesses {
        let hooks = [harness.human_prompts("Go on."), harness.turn_ends()];
        assert_eq!(times_told(&hooks, "could not be"), 0, "{hooks:?}");
        harness.leaves();
    }
}

#[test]
fn trial_b33_two_harnesses_that_edit_at_once_have_one_writer() {
    let (mut world, repository) = indexed();
    let before = world.cgc().calls().len();
    let mut harnesses: Vec<Harness> = (0..2).map(|_| world.harness(repository.root())).collect();
    for harness in &mut harnesses {
        harness.session_starts("startup");
    }
    world.wait_for_state(repository.root(), "clean", BOUND);

    for (harness, name) in harnesses.iter_mut().zip(["a.py", "b.py"]) {
        let file = repository.write_python(name, &["other"]);
        harness.agent_wrote(&file);
        harness.turn_ends();
    }
    world.wait_for_state(repository.root(), "clean", BOUND);
    for harness in harnesses {
        harness.leaves();
    }

    let calls = calls_after(&world, before);
    let mut pairs = calls.iter().zip(calls.iter().skip(1));
    assert!(pairs.all(|(one, next)| one.ended_ms.is_some_and(|end| end <= next.started_ms)), "{calls:?}");
    let expected: &[(&str, &[&str])] =
        &[("README.md", &[]), ("a.py", &["other"]), ("b.py", &["other"]), ("package/c.py", &["four"])];
    assert_eq!(graph(&world, &repository), files(expected));
}

/// Every file that the companion keeps.
fn kept_files(world: &World) -> Vec<PathBuf> {
    content(&world.scratch().path().join("state")).into_keys().collect()
}

#[rstest]
#[case::empty(b"".as_slice())]
#[case::garbage(b"\xff\x00{not json".as_slice())]
fn trial_b36_records_and_locks_that_cannot_be_read_count_as_none(#[case] bytes: &[u8]) {
    let (mut world, repository) = indexed();
    world.steward_succeeds(repository.root(), &["daemon", "stop"]);
    let mut files = kept_files(&world);
    assert!(files.len() >= 2, "{files:?}");
    files.extend(content(&world.scratch().path().join("run")).into_keys());
    for file in &files {
        fs::write(file, bytes).unwrap();
    }
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    harness.human_prompts("Go.");
    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();

    assert_eq!(verbs_after(&world, before), ["query", "watch", "query"]);
    assert_eq!(status["receipt"]["files"], 4);
}

#[test]
fn trial_b37_a_cgc_that_sleeps_holds_nobody_up_and_is_ended_with_its_group() {
    let mut world = World::with_fake_cgc();
    world.set("CGC_TIMEOUT_MS", "400");
    let (repository, mut harness) = made_by_another(&mut world);
    behave(&world, [Rule::always(Command::Query, hang(None)), Rule::always(Command::Query, Behaviour::Grandchild)]);
    let before = world.cgc().calls().len();

    harness.session_starts("startup");
    let status = world.wait_for_status(repository.root(), "the timeout", BOUND, |status| {
        status["lastError"]["message"].as_str().is_some_and(|message| message.contains("(timeout)"))
    });
    for _ in 0..3 {
        harness.human_prompts("Go.");
        harness.turn_ends();
        wait_for_rest(&world, &repository);
    }
    assert_nothing_works(&world);
    harness.leaves();

    assert_ne!(status["state"], "clean");
    assert_eq!(verbs_after(&world, before), ["query", "query"], "it is asked once more and not again");
}

#[test]
fn trial_b39_a_second_request_joins_the_running_sync_and_hears_so() {
    let (mut world, repository) = indexed();
    repository.write_python("a.py", &["other"]);
    behave(&world, [Rule::always(Command::Watch, Behaviour::Slow(400))]);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());
    harness.session_starts("startup");
    wait_for_call(&world, before, "watch");

    let said = world.steward_succeeds(repository.root(), &["sync"]);
    world.steward_succeeds(repository.root(), &["sync", "--wait"]);

    assert!(said.contains("was running already and goes on"), "{said}");
    harness.leaves();
    assert_eq!(verbs_after(&world, before), ["watch", "query"]);
}

#[test]
fn trial_b40_an_index_is_interrupted_first_and_the_next_session_sees_it_incomplete() {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = small_repository(&world);
    behave(&world, [Rule::always(Command::Index, hang(Some(2)))]);
    let mut harness = world.harness(repository.root());
    harness.session_starts("startup");
    wait_for_writer(&world);

    harness.leaves();
    assert_nothing_works(&world);

    // It obeyed the interrupt, and nothing harder came: it closed its database and said how it ended.
    assert_eq!(calls_after(&world, 0)[0].exit, Some(130));
    let mut next = world.harness(repository.root());
    let mut hooks = vec![next.session_starts("startup")];
    world.wait_for_state(repository.root(), "incomplete", BOUND);
    hooks.push(next.human_prompts("Go."));
    next.leaves();
    assert_eq!(times_told(&hooks, "is incomplete"), 1, "{hooks:?}");
    assert_eq!(verbs_after(&world, 0), ["index"]);
}

#[test]
fn trial_b42_work_that_fails_the_same_way_is_tried_and_told_once_a_session() {
    let (mut world, repository) = indexed();
    repository.write_python("a.py", &["other"]);
    let error = "An error occurred during indexing: it makes no sense\n".to_owned();
    behave(&world, [Rule::always(Command::Watch, Behaviour::Print { stdout: error, stderr: String::new(), exit: 1 })]);
    for session in 0..3 {
        let before = world.cgc().calls().len();
        let mut harness = world.harness(repository.root());
        let mut hooks = vec![harness.session_starts("startup")];
        wait_for_rest(&world, &repository);
        for edit in 0..5 {
            let file = repository.write_python("b.py", &[&format!("edit_{session}_{edit}")]);
            hooks.extend([harness.agent_wrote(&file), harness.turn_ends(), harness.human_prompts("Go.")]);
            wait_for_rest(&world, &repository);
        }
        harness.leaves();

        let verbs = verbs_after(&world, before);
        let tried = verbs.iter().filter(|verb| *verb != "query").count();
        assert_eq!(tried, 1, "in session {session}: {verbs:?}");
        assert_eq!(times_told(&hooks, "cgc-steward:"), 1, "{hooks:?}");
    }
}

#[test]
fn trial_b43_a_storage_error_is_kept_and_seen_and_never_clean() {
    let mut world = World::with_fake_cgc();
    let (repository, mut harness) = made_by_another(&mut world);
    let error =
        "Query Error (RuntimeError):\n  Database message: Storage exception: page 7 makes no sense\n".to_owned();
    behave(&world, [Rule::always(Command::Query, Behaviour::Print { stdout: error, stderr: String::new(), exit: 1 })]);

    let mut hooks = vec![harness.session_starts("startup")];
    world.wait_for_state(repository.root(), "corrupt", BOUND);
    hooks.extend((0..3).map(|_| harness.human_prompts("Go.")));
    let status = world.wait_for_state(repository.root(), "corrupt", BOUND);
    let doctor = world.steward(repository.root(), &["doctor"]);
    harness.leaves();

    assert!(status["lastError"]["message"].as_str().unwrap().contains("Storage exception"), "{status:#}");
    assert_eq!(times_told(&hooks, "Storage exception"), 1, "{hooks:?}");
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("corrupt"), "{doctor}");
}

#[test]
fn trial_b45_a_running_index_is_indexing_for_every_session() {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = small_repository(&world);
    behave(&world, [Rule::always(Command::Index, hang(Some(2)))]);
    let mut first = world.harness(repository.root());
    first.session_starts("startup");
    wait_for_writer(&world);
    let mut second = world.harness(repository.root());

    let mut hooks = vec![second.session_starts("startup")];
    hooks.extend([second.human_prompts("Go."), second.turn_ends()]);
    let status = world.status(repository.root());

    assert_eq!(status["activity"]["name"], "indexing", "{status:#}");
    assert_ne!(status["state"], "clean");
    assert_eq!((&status["receipt"], &status["lastAction"]), (&Value::Null, &Value::Null));
    assert_eq!(times_told(&hooks, "being created in the background"), 1, "{hooks:?}");
    assert_eq!(verbs_after(&world, 0), ["index"]);
    first.leaves();
    second.leaves();
}
