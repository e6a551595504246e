//! SIGKILL to every process and every pair of them, at every stage of an index: nothing works on, nothing is lost.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command as Program, Stdio};

use rstest::rstest;
use rustix::process::Signal;
use serde_json::json;
use steward_e2e::{Harness, Repository, World};
use steward_fake_cgc::{Command, Rule};
use steward_harness_stubs::{kill, wait_for, wait_until};

use super::support::{
    BOUND, assert_nothing_works, behave, graph, hang, index, indexed, small_repository, verbs_after, wait_for_call,
    wait_for_writer,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Hook,
    Daemon,
    Guard,
    Cgc,
    Harness,
}

use Victim::{Cgc, Daemon, Guard, Hook};

/// How far the index is when the kill comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It waits for another workspace's index; the guard and the cgc that are killed are that one's.
    BeforeSpawn,
    /// cgc has the database and has written a file.
    Working,
    /// cgc is asked what the graph holds.
    Proving,
}

impl Victim {
    fn program(self) -> &'static str {
        match self {
            Self::Hook => "steward-claude-code",
            Self::Daemon => "stewardd",
            Self::Guard => "steward-guard",
            Self::Cgc => "cgc",
            Self::Harness => "claude",
        }
    }
}

/// A session whose index is at `stage`, and where that needs one, the session that it waits for.
fn staged(world: &mut World, stage: Stage) -> (Repository, Harness, Option<Harness>) {
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let before = world.cgc().calls().len();
    match stage {
        Stage::BeforeSpawn | Stage::Working => behave(world, [Rule::always(Command::Index, hang(Some(1)))]),
        Stage::Proving => behave(world, [Rule::always(Command::Query, hang(None))]),
    }
    let first = (stage == Stage::BeforeSpawn).then(|| {
        let other = world.repository("first");
        other.write_python("first.py", &["first"]);
        let mut harness = world.harness(other.root());
        harness.session_starts("startup");
        wait_for_writer(world);
        harness
    });
    let repository = small_repository(world);
    let mut harness = world.harness(repository.root());
    harness.session_starts("startup");
    match stage {
        Stage::BeforeSpawn => {
            world.wait_for_status(repository.root(), "the index to wait", BOUND, |status| {
                status["activity"]["name"] == "indexing"
            });
        }
        Stage::Working => drop(wait_for_writer(world)),
        Stage::Proving => drop(wait_for_call(world, before, "query")),
    }
    (repository, harness, first)
}

/// Kills the victims one right after the other. A hook lives for a millisecond, so one is made to wait for the daemon.
fn kill_all(world: &World, harness: &mut Harness, victims: &[Victim]) {
    let daemons = world.processes_of("stewardd");
    let with_hook = victims.contains(&Hook);
    if with_hook {
        for daemon in &daemons {
            kill(daemon.pid, Signal::STOP);
        }
        harness.event_begins("UserPromptSubmit", &json!({ "prompt": "Go." }));
        assert!(wait_until(BOUND, || !world.processes_of(Hook.program()).is_empty()), "the hook never ran");
    }
    let doomed: Vec<u32> = victims
        .iter()
        .flat_map(|victim| match victim {
            Victim::Harness => vec![harness.pid()],
            Hook | Daemon | Guard | Cgc => {
                world.processes_of(victim.program()).into_iter().map(|process| process.pid).collect()
            }
        })
        .collect();
    for pid in doomed {
        kill(pid, Signal::KILL);
    }
    if with_hook {
        for daemon in &daemons {
            kill(daemon.pid, Signal::CONT);
        }
        if let Some(hook) = harness.event_ends() {
            // On a machine that stalls its own deadline was quicker.
            assert!(matches!(hook.code, None | Some(0)), "{hook:?}");
        }
    }
}

#[rstest]
#[case::hook(&[Hook])]
#[case::daemon(&[Daemon])]
#[case::guard(&[Guard])]
#[case::cgc(&[Cgc])]
#[case::harness(&[Victim::Harness])]
#[case::hook_and_daemon(&[Hook, Daemon])]
#[case::hook_and_guard(&[Hook, Guard])]
#[case::hook_and_cgc(&[Hook, Cgc])]
#[case::hook_and_harness(&[Hook, Victim::Harness])]
#[case::daemon_and_guard(&[Daemon, Guard])]
#[case::daemon_and_cgc(&[Daemon, Cgc])]
#[case::daemon_and_harness(&[Daemon, Victim::Harness])]
#[case::guard_and_cgc(&[Guard, Cgc])]
#[case::guard_and_harness(&[Guard, Victim::Harness])]
#[case::cgc_and_harness(&[Cgc, Victim::Harness])]
fn kill_matrix_of_processes_and_stages(
    #[case] victims: &[Victim],
    #[values(Stage::BeforeSpawn, Stage::Working, Stage::Proving)] stage: Stage,
) {
    let mut world = World::with_fake_cgc();
    let proved = world.repository("proved");
    proved.write_python("proved.py", &["proved"]);
    index(&world, &proved);
    let receipt = world.status(proved.root())["receipt"].clone();
    let (repository, mut harness, first) = staged(&mut world, stage);

    kill_all(&world, &mut harness, victims);

    if victims.contains(&Victim::Harness) {
        harness.is_killed();
    } else {
        harness.leaves();
    }
    if let Some(first) = first {
        first.leaves();
    }
    // Nothing of ours is left to end what outlived both its guard and the daemon, but for the next daemon.
    if victims != [Daemon, Guard] {
        assert_nothing_works(&world);
    }
    behave(&world, []);
    world.unset("CGC_LIFECYCLE_AUTO_CREATE");
    let mut next = world.harness(repository.root());
    next.session_starts("startup");
    let expected: &[&str] = match stage {
        // Where the index that it waits for is killed, it may begin before its session ends.
        Stage::BeforeSpawn if victims.contains(&Guard) || victims.contains(&Cgc) => &["unindexed", "incomplete"],
        Stage::BeforeSpawn => &["unindexed"],
        Stage::Working => &["incomplete"],
        Stage::Proving if victims.contains(&Daemon) => &["incomplete"],
        // Whoever saw cgc's work done knows that the graph is whole; a sync proves it.
        Stage::Proving => &["clean"],
    };
    let status = world.wait_for_status(repository.root(), &format!("{expected:?}"), BOUND, |status| {
        status["activity"].is_null() && expected.iter().any(|state| status["state"] == *state)
    });
    assert_eq!(status["receipt"].is_null(), status["state"] != "clean", "{status:#}");
    assert_nothing_works(&world);
    next.leaves();
    assert_eq!(world.status(proved.root())["receipt"], receipt);

    index(&world, &repository);
    assert_eq!(graph(&world, &repository).len(), 4);
}

/// Starts a human's rebuild that hangs once the old graph is deleted and a file of the new one is written.
fn rebuilding(world: &World, repository: &Repository) -> std::process::Child {
    behave(world, [Rule::always(Command::Rebuild, hang(Some(1)))]);
    let client = Program::new(world.program("steward"))
        .args(["rebuild", "--yes", "--wait"])
        .current_dir(repository.root())
        .env_clear()
        .envs(world.environment())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_writer(world);
    client
}

#[rstest]
#[case::daemon(Daemon)]
#[case::guard(Guard)]
#[case::cgc(Cgc)]
fn kill_of_a_rebuild_fails_its_client_and_leaves_the_graph_incomplete(#[case] victim: Victim) {
    let (mut world, repository) = indexed();
    let before = world.cgc().calls().len();
    let mut client = rebuilding(&world, &repository);

    world.kill(victim.program());

    let ended = wait_for(BOUND, || client.try_wait().unwrap()).expect("the client waits for nothing");
    assert!(!ended.success());
    assert_nothing_works(&world);
    assert_eq!(verbs_after(&world, before), ["index"], "nothing is started anew");
    let mut next = world.harness(repository.root());
    next.session_starts("startup");
    world.wait_for_state(repository.root(), "incomplete", BOUND);
    next.leaves();
    behave(&world, []);
    index(&world, &repository);
    assert_eq!(graph(&world, &repository).len(), 4);
}

#[test]
fn kill_of_a_client_leaves_its_job_to_the_daemon() {
    let (world, repository) = indexed();
    let mut client = rebuilding(&world, &repository);

    client.kill().unwrap();
    client.wait().unwrap();

    let status = world.status(repository.root());
    assert_eq!(status["activity"]["name"], "rebuilding", "{status:#}");
}
