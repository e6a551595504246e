//! What is called an index, and where one is made.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};
use steward_e2e::World;
use steward_fake_cgc::{Behaviour, Command, Rule};

use crate::process::support::{
    BOUND, behave, database, graph, index, indexed, small_repository, times_told, verbs_after, wait_for_call,
    wait_for_rest,
};

#[rstest]
#[case::and_is_only_told("false", "drift", &[])]
#[case::and_is_completed("true", "clean", &["watch"])]
fn trial_b01_one_indexed_file_of_four_is_no_clean_index(
    #[case] syncs: &str,
    #[case] state: &str,
    #[case] work: &[&str],
) {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_SYNC_ON_START", syncs);
    let repository = world.repository("repo");
    repository.write_python("a.py", &["one"]);
    let mut harness = world.harness(repository.root());
    let made = harness.run(&world.cgc().executable().unwrap(), &["index", "."], b"");
    assert_eq!(made.code, Some(0));
    for name in ["b.py", "c.py", "d.py"] {
        repository.write_python(name, &["other"]);
    }
    let before = world.cgc().calls().len();

    let mut hooks = vec![harness.session_starts("startup")];
    hooks.push(harness.human_prompts("Go."));
    world.wait_for_state(repository.root(), state, BOUND);
    hooks.push(harness.human_prompts("Go on."));
    harness.leaves();

    assert_eq!(times_told(&hooks, "is ready"), 0, "{hooks:?}");
    let verbs: Vec<String> = verbs_after(&world, before).into_iter().filter(|verb| verb != "query").collect();
    assert_eq!(verbs, work);
    assert_eq!(graph(&world, &repository).len(), if work.is_empty() { 1 } else { 4 });
}

#[test]
fn trial_b03_a_cold_worktree_is_unindexed_and_nothing_is_created() {
    let mut world = World::with_fake_cgc();
    let repository = small_repository(&world);
    repository.commit("one");
    let worktree = world.scratch().path().join("work/worktree");
    repository.git(&["worktree", "add", "--quiet", worktree.to_str().unwrap()]);
    let mut harness = world.harness(&worktree);

    harness.session_starts("startup");
    let status = world.wait_for_state(&worktree, "unindexed", BOUND);
    harness.human_prompts("Go.");
    harness.leaves();

    assert_eq!(status["workspace"], json!(worktree));
    assert_eq!(verbs_after(&world, 0), [] as [&str; 0]);
    assert!(!world.home().join(".codegraphcontext").exists());
    let mut names: Vec<_> = fs::read_dir(&worktree).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".git", "README.md", "a.py", "b.py", "package"]);
}

#[test]
fn trial_b04_a_repository_without_files_of_its_own_is_not_called_indexed() {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = world.repository("super");
    // Excluded here rather than in a .gitignore, which cgc would store as a file.
    repository.write(".git/info/exclude", "sub/\n");
    repository.write(".cgcignore", "sub/\n");
    repository.write_python("sub/a.py", &["one"]);
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    let status = wait_for_rest(&world, &repository);
    hooks.push(harness.human_prompts("Go."));
    let asked = world.steward(repository.root(), &["index", "--yes", "--wait"]);
    harness.leaves();

    assert_eq!(status["state"], "unindexed");
    assert!(!asked.status.success());
    let complaint = String::from_utf8_lossy(&asked.stderr) + String::from_utf8_lossy(&asked.stdout);
    assert!(complaint.contains("holds no file that cgc indexes"), "{complaint}");
    assert!(complaint.contains("nested repositories"), "{complaint}");
    assert_eq!(times_told(&hooks, "is ready"), 0, "{hooks:?}");
    assert!(hooks.iter().all(|hook| hook.context().is_empty()), "{hooks:?}");
    assert_eq!(verbs_after(&world, 0), [] as [&str; 0]);
}

#[test]
fn trial_b06_a_backend_that_changed_stops_all_automatic_work() {
    let (mut world, repository) = indexed();
    repository.write_python("a.py", &["other"]);
    world.set("DEFAULT_DATABASE", "ladybugdb");
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    let status = wait_for_rest(&world, &repository);
    hooks.extend((0..3).map(|_| harness.human_prompts("Go.")));
    harness.leaves();

    assert_eq!(status["state"], "unknown", "{status:#}");
    assert!(status["freshness"]["reason"].as_str().unwrap().contains("ladybugdb"), "{status:#}");
    assert_eq!(times_told(&hooks, "is left alone"), 1, "{hooks:?}");
    assert_eq!(times_told(&hooks, "no code graph"), 0, "{hooks:?}");
    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);
}

#[test]
fn trial_b06_a_fallback_during_a_job_is_no_success() {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = small_repository(&world);
    behave(
        &world,
        [Rule::always(Command::Index, Behaviour::Fallback { taken: "LadybugDB at /h/ladybugdb".to_owned() })],
    );
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    let status = world.wait_for_status(repository.root(), "the index to end", BOUND, |status| {
        !status["lastAction"].is_null() && status["activity"].is_null()
    });
    hooks.push(harness.human_prompts("Go."));
    harness.leaves();

    assert_eq!(status["lastAction"]["succeeded"], false);
    assert_ne!(status["state"], "clean");
    assert_eq!(times_told(&hooks, "is ready"), 0, "{hooks:?}");
}

#[test]
fn trial_b07_the_backend_in_use_and_its_source_are_shown() {
    let mut world = World::with_fake_cgc();
    world.set("DEFAULT_DATABASE", "kuzudb");
    let repository = small_repository(&world);
    index(&world, &repository);

    let status = world.status(repository.root());
    let doctor = world.steward(repository.root(), &["doctor"]);

    assert_eq!(status["backend"]["name"], "kuzudb");
    assert!(status["backend"]["source"].as_str().unwrap().contains("DEFAULT_DATABASE"), "{status:#}");
    assert_eq!(status["backend"]["database"], json!(database(&world)));
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("kuzudb") && doctor.contains("DEFAULT_DATABASE"), "{doctor}");
}

#[test]
fn trial_b09_cgcs_own_directory_in_the_home_is_no_index_of_what_lies_below() {
    let mut world = World::with_fake_cgc();
    let other = world.repository("other");
    other.write_python("other.py", &["other"]);
    index(&world, &other);
    let repository = world.repository("../home/x");
    repository.write_python("a.py", &["one"]);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    let status = world.wait_for_state(repository.root(), "unindexed", BOUND);
    harness.human_prompts("Go.");
    repository.commit("one");
    let hook = harness.agent_ran("git commit -m one");
    harness.leaves();

    assert_eq!(status["workspace"], json!(fs::canonicalize(repository.root()).unwrap()));
    assert_eq!(hook.output(), Value::Null);
    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);
}

#[test]
fn trial_b10_an_index_that_exits_with_0_and_did_nothing_is_not_shown_as_one() {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = small_repository(&world);
    let said = "Successfully finished indexing: . in 0.10 seconds\n";
    let lie = Behaviour::Print { stdout: said.to_owned(), stderr: String::new(), exit: 0 };
    behave(&world, [Rule::always(Command::Index, lie)]);
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    let status = world.wait_for_status(repository.root(), "the index to end", BOUND, |status| {
        !status["lastAction"].is_null() && status["activity"].is_null()
    });
    hooks.push(harness.human_prompts("Go."));
    harness.leaves();

    assert_eq!(status["lastAction"]["succeeded"], false);
    assert_ne!(status["state"], "clean");
    assert_ne!(status["freshness"]["status"], "fresh");
    assert_eq!(times_told(&hooks, "is ready"), 0, "{hooks:?}");
    assert_eq!(times_told(&hooks, "could not be brought up to date"), 1, "{hooks:?}");
}

#[test]
fn trial_b111_what_cgc_itself_writes_causes_no_second_sync() {
    let (mut world, repository) = indexed();
    repository.remove(".cgcignore");
    repository.write_python("a.py", &["other"]);
    behave(&world, [Rule::always(Command::Watch, Behaviour::Slow(150))]);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());
    harness.session_starts("startup");
    wait_for_call(&world, before, "watch");
    repository.set_modified("b.py", 1_700_000_000);
    world.wait_for_state(repository.root(), "clean", BOUND);

    for _ in 0..3 {
        harness.human_prompts("Go.");
        harness.turn_ends();
        wait_for_rest(&world, &repository);
    }
    harness.leaves();
    world.steward_succeeds(repository.root(), &["daemon", "stop"]);
    let mut next = world.harness(repository.root());
    next.session_starts("startup");
    world.wait_for_state(repository.root(), "clean", BOUND);
    next.leaves();

    assert!(repository.path(".cgcignore").exists());
    assert_eq!(verbs_after(&world, before), ["watch", "query"]);
}

#[rstest]
#[case::home("home")]
#[case::outside_any_repository("tmp")]
fn trial_b114_nothing_is_created_outside_a_repository(#[case] directory: &str) {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let directory = world.scratch().path().join(directory);
    fs::write(directory.join("a.py"), "def one():\n    return 1\n").unwrap();
    let mut harness = world.harness(&directory);

    let mut hooks = vec![harness.session_starts("startup")];
    world.wait_for_state(&directory, "unindexed", BOUND);
    hooks.extend([harness.human_prompts("Go."), harness.turn_ends()]);
    harness.leaves();

    assert_eq!(verbs_after(&world, 0), [] as [&str; 0]);
    assert_eq!(times_told(&hooks, "has no code graph yet"), 1, "{hooks:?}");
}

#[test]
fn trial_b115_an_index_that_burns_for_ever_is_ended_and_not_restarted() {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    world.set("CGC_MAINTENANCE_TIMEOUT_MS", "500");
    let repository = small_repository(&world);
    behave(&world, [Rule::always(Command::Index, Behaviour::Burn)]);
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    let status = world.wait_for_state(repository.root(), "incomplete", BOUND);
    for _ in 0..3 {
        harness.human_prompts("Go.");
        harness.turn_ends();
        wait_for_rest(&world, &repository);
    }
    harness.leaves();

    assert!(status["lastError"]["message"].as_str().unwrap().contains("(timeout)"), "{status:#}");
    assert_eq!(verbs_after(&world, 0), ["index"]);
}
