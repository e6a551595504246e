//! `docs/spec/lifecycle.feature` in the process world: how each run of cgc is bounded and ended, and what an error does.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};
use steward_e2e::{Harness, HookRun, Repository, World};
use steward_fake_cgc::{Behaviour, Command, Rule};

use super::support::{
    BOUND, assert_nothing_works, behave, calls_after, hang, indexed, prompt_until_told, small_repository, times_told,
    verbs_after, wait_for_call, wait_for_writer,
};

/// A session on a workspace that has no graph, with consent to create one.
fn consenting(world: &mut World) -> (Repository, Harness, HookRun) {
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = small_repository(world);
    let mut harness = world.harness(repository.root());
    let start = harness.session_starts("startup");
    (repository, harness, start)
}

/// The most memory that the daemon has had, in KiB.
fn peak_memory_of_the_daemon(world: &World) -> u64 {
    let daemon = &world.processes_of("stewardd")[0];
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid)).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn lc_11_a_command_within_its_budget_updates_the_state_and_runs_alone() {
    let mut world = World::with_fake_cgc();
    behave(&world, [Rule::always(Command::Index, Behaviour::Slow(200))]);
    let (repository, mut first, _) = consenting(&mut world);
    let mut second = world.harness(repository.root());
    second.session_starts("startup");
    wait_for_call(&world, 0, "index");

    world.steward_succeeds(repository.root(), &["sync", "--wait"]);

    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    first.turn_ends();
    first.leaves();
    second.leaves();
    assert_eq!(status["lastAction"]["succeeded"], true);
    let calls = calls_after(&world, 0);
    assert_eq!(verbs_after(&world, 0), ["index", "query"]);
    assert!(calls[0].ended_ms.unwrap() <= calls[1].started_ms, "{calls:?}");
}

#[test]
fn lc_11_what_a_command_says_is_kept_in_bounded_memory() {
    const SAID: usize = 10 << 20;
    const KEPT: u64 = 6 << 10;
    let mut world = World::with_fake_cgc();
    behave(&world, [Rule::always(Command::Index, Behaviour::Flood(SAID))]);
    let (repository, harness, _) = consenting(&mut world);
    let before = peak_memory_of_the_daemon(&world);

    let status =
        world.wait_for_status(repository.root(), "the index to end", BOUND, |status| !status["lastAction"].is_null());

    let more = peak_memory_of_the_daemon(&world) - before;
    assert!(more < KEPT, "{more} KiB");
    assert_eq!(status["lastAction"]["succeeded"], false);
    assert_eq!(calls_after(&world, 0)[0].exit, Some(0), "all that it said was read");
    harness.leaves();
}

#[test]
fn lc_12_a_command_that_hangs_is_ended_with_its_descendants_and_recorded() {
    let mut world = World::with_fake_cgc();
    world.set("CGC_MAINTENANCE_TIMEOUT_MS", "500");
    let stubborn = Behaviour::Hang { after_files: Some(2), ignores_signals: true };
    behave(&world, [Rule::always(Command::Index, Behaviour::Grandchild), Rule::always(Command::Index, stubborn)]);
    let (repository, mut harness, _) = consenting(&mut world);

    let status = world.wait_for_state(repository.root(), "incomplete", BOUND);
    assert_nothing_works(&world);

    assert_eq!(status["lastAction"]["succeeded"], false);
    assert!(status["lastError"]["message"].as_str().unwrap().contains("(timeout)"), "{status:#}");
    let hooks = [harness.human_prompts("Go."), harness.turn_ends(), harness.human_prompts("Go on.")];
    harness.leaves();
    assert_eq!(times_told(&hooks, "(timeout)"), 1, "{hooks:?}");
    assert_eq!(verbs_after(&world, 0), ["index"], "what hung is not started again in this session");
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    HarnessLeaves,
    HarnessKilled,
    CompanionStopped,
    CompanionKilled,
}

#[rstest]
#[case::as_the_harness_reports_it(Ending::HarnessLeaves)]
#[case::by_a_kill_of_the_harness(Ending::HarnessKilled)]
#[case::with_the_companion(Ending::CompanionStopped)]
#[case::by_a_kill_of_the_companion(Ending::CompanionKilled)]
fn lc_13_the_end_of_a_session_ends_its_work_and_frees_the_database(#[case] ending: Ending) {
    let (mut world, repository) = indexed();
    repository.write_python("a.py", &["other"]);
    behave(&world, [Rule::always(Command::Watch, Behaviour::Grandchild), Rule::always(Command::Watch, hang(Some(1)))]);
    let mut harness = world.harness(repository.root());
    harness.session_starts("startup");
    let writer = wait_for_writer(&world);
    let before = world.cgc().calls().len();

    let begun = Instant::now();
    match ending {
        Ending::HarnessLeaves => harness.leaves(),
        Ending::HarnessKilled => harness.is_killed(),
        Ending::CompanionStopped => {
            world.steward_succeeds(repository.root(), &["daemon", "stop"]);
        }
        Ending::CompanionKilled => world.kill("stewardd"),
    }
    assert_nothing_works(&world);

    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    assert!(!std::path::Path::new(&format!("/proc/{writer}/exe")).exists());
    behave(&world, []);
    let mut next = world.harness(repository.root());
    next.session_starts("startup");
    world.wait_for_state(repository.root(), "clean", BOUND);
    next.leaves();
    assert_eq!(verbs_after(&world, before), ["watch", "query"]);
}

#[test]
fn lc_13_work_that_a_live_session_shares_goes_on() {
    let (mut world, repository) = indexed();
    repository.write_python("a.py", &["other"]);
    behave(&world, [Rule::always(Command::Watch, Behaviour::Slow(300))]);
    let before = world.cgc().calls().len();
    let mut first = world.harness(repository.root());
    first.session_starts("startup");
    let mut second = world.harness(repository.root());
    second.session_starts("startup");
    wait_for_writer(&world);

    first.is_killed();

    world.wait_for_state(repository.root(), "clean", BOUND);
    let hooks = prompt_until_told(&mut second, "was brought up to date");
    second.leaves();
    assert_eq!(times_told(&hooks, "was brought up to date"), 1);
    assert_eq!(verbs_after(&world, before), ["watch", "query"]);
}

#[test]
fn lc_14_a_missing_cgc_is_told_once_and_disturbs_nobody() {
    let mut world = World::without_cgc();
    let repository = small_repository(&world);
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    let status = world.wait_for_state(repository.root(), "unavailable", BOUND);
    hooks.extend((0..3).flat_map(|_| [harness.human_prompts("Go."), harness.turn_ends()]));
    let asked = world.steward(repository.root(), &["index", "--yes", "--wait"]);
    harness.leaves();

    assert_eq!(times_told(&hooks, "cgc cannot be used"), 1, "{hooks:?}");
    assert_eq!(status["receipt"], Value::Null);
    assert!(!asked.status.success());
    assert!(!world.home().join(".codegraphcontext").exists());
}

/// cgc is found and cannot be started: its interpreter is gone.
fn cannot_be_spawned(world: &mut World) {
    let broken = world.scratch().file("broken/cgc", "#!/nowhere/python\n").unwrap();
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    world.set("CGC_EXECUTABLE", broken);
}

fn answers_garbage(world: &mut World) {
    behave(world, [Rule::always(Command::Query, Behaviour::Garbage), Rule::always(Command::Watch, Behaviour::Garbage)]);
}

fn is_killed(world: &mut World) {
    let crash = || Behaviour::Crash { after_files: None, signal: 9 };
    behave(world, [Rule::always(Command::Query, crash()), Rule::always(Command::Watch, crash())]);
}

#[rstest]
#[case::spawning_fails(cannot_be_spawned)]
#[case::parsing_fails(answers_garbage)]
#[case::the_command_is_killed(is_killed)]
fn lc_15_an_error_is_kept_and_tried_at_most_once_more(#[case] break_it: fn(&mut World)) {
    let (mut world, repository) = indexed();
    repository.write_python("a.py", &["other"]);
    break_it(&mut world);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    let status = world.wait_for_status(repository.root(), "the error", BOUND, |status| {
        !status["lastError"].is_null() && status["activity"].is_null()
    });
    for _ in 0..4 {
        hooks.push(harness.human_prompts("Go."));
        world.wait_for_status(repository.root(), "rest", BOUND, |status| status["activity"].is_null());
        hooks.push(harness.turn_ends());
        world.wait_for_status(repository.root(), "rest", BOUND, |status| status["activity"].is_null());
    }
    let kept = world.status(repository.root());
    harness.leaves();

    assert_ne!(status["lastError"]["message"], json!(""));
    assert_ne!(kept["lastError"], Value::Null);
    assert_ne!(kept["state"], "clean");
    assert_ne!(kept["receipt"], Value::Null, "nothing that was known is lost");
    let verbs = verbs_after(&world, before);
    assert!(verbs.len() <= 2, "{verbs:?}");
    assert!(times_told(&hooks, "cgc-steward") <= 2, "{hooks:?}");
}
