//! The death of the daemon: what its guards end, what a later daemon sweeps, and what nobody touches.

#![expect(clippy::unwrap_used, reason = "the helpers below are called by tests only")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rstest::rstest;
use rustix::process::{Signal, kill_process};
use steward_guard::process_table::{self, ProcessStat};
use steward_ports::Runner;

use crate::support::{HELPER, World, holds, line, wait_until};

/// Says "ready" when its escapee has escaped.
const STUBBORN: &str =
    "trap '' HUP INT TERM; sleep 600 & setsid sh -c 'echo ready; exec sleep 600' & while :; do wait; done";

fn signal(pid: u32, signal: Signal) {
    kill_process(process_table::to_pid(pid).unwrap(), signal).unwrap();
}

#[tokio::test]
async fn trial_b48_a_killed_daemon_leaves_nothing_and_its_program_may_close_its_work() {
    let world = World::new();
    let script =
        "trap 'sleep 0.2; echo closed > trace; exit' INT; sleep 600 & echo ready; while :; do sleep 0.05; done";
    let mut daemon = world.daemon(Duration::from_secs(10), script);
    assert_eq!(daemon.line(), "ready");

    daemon.kill();

    wait_until("nothing is left", || world.living().is_empty()).await;
    assert!(holds(&world.path("trace"), "closed\n"));
}

#[tokio::test]
async fn trial_b48_what_ignores_int_and_term_is_gone_when_the_grace_is_spent() {
    let world = World::new();
    let grace = Duration::from_millis(400);
    let mut daemon = world.daemon(grace, STUBBORN);
    assert_eq!(daemon.line(), "ready");
    let killed_at = Instant::now();

    daemon.kill();

    wait_until("nothing is left", || world.living().is_empty()).await;
    assert!(killed_at.elapsed() >= grace);
    assert!(killed_at.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn trial_b48_a_daemon_killed_amid_a_spawn_leaves_nothing() {
    for step in 0..30 {
        let world = World::new();
        let mut daemon = Command::new(HELPER)
            .arg("daemon")
            .arg(world.ledger())
            .args(["0", "/bin/sh", "-c", "touch started; exec sleep 600"])
            .current_dir(world.directory.path())
            .envs(world.script("").environment.iter())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();

        // Not a wait for anything: it moves the kill over all the steps of a spawn.
        tokio::time::sleep(Duration::from_micros(300 * step)).await;
        daemon.kill().unwrap();
        daemon.wait().unwrap();

        wait_until("nothing is left", || world.living().is_empty()).await;
        let runner = world.runner();
        runner.sweep().await.unwrap();
        wait_until("the ledger is empty", || world.entries() == 0).await;
    }
}

#[tokio::test]
async fn what_a_daemon_and_its_guard_left_when_killed_together_is_swept() {
    let world = World::new();
    let mut daemon = world.daemon(Duration::from_secs(10), STUBBORN);
    assert_eq!(daemon.line(), "ready");
    let guard = world.guard();
    // Stopped, it cannot react to its daemon's death before its own.
    signal(guard, Signal::STOP);
    daemon.kill();
    signal(guard, Signal::KILL);
    wait_until("the kernel has killed guard and program", || {
        let living = world.living();
        !living.contains(&guard) && living.len() == 2
    })
    .await;

    let swept = world.runner().sweep().await.unwrap();

    assert_eq!(swept, 2);
    assert!(world.living().is_empty());
    assert_eq!(world.entries(), 0);
}

#[tokio::test]
async fn a_sweep_leaves_a_living_guard_its_grace() {
    let world = World::new();
    let script = "trap 'sleep 0.5; echo closed > trace; exit' INT; echo ready; while :; do sleep 0.05; done";
    let mut daemon = world.daemon(Duration::from_secs(10), script);
    assert_eq!(daemon.line(), "ready");
    let runner = world.runner();

    daemon.kill();
    let swept = runner.sweep().await.unwrap();

    assert_eq!(swept, 0);
    assert!(!world.living().is_empty());
    wait_until("the ledger is empty", || world.entries() == 0).await;
    assert!(world.living().is_empty());
    assert!(holds(&world.path("trace"), "closed\n"));
}

#[tokio::test]
async fn a_guard_that_is_stuck_after_its_daemon_died_is_swept_when_its_grace_is_spent() {
    let world = World::new();
    let mut daemon = world.daemon(Duration::ZERO, STUBBORN);
    assert_eq!(daemon.line(), "ready");
    signal(world.guard(), Signal::STOP);
    daemon.kill();
    let runner = world.runner();

    runner.sweep().await.unwrap();

    wait_until("the ledger is empty", || world.entries() == 0).await;
    assert!(world.living().is_empty());
}

#[tokio::test]
async fn a_sweep_does_not_touch_the_groups_of_a_living_daemon() {
    let world = World::new();
    let runner = world.runner();
    let script = world.script("echo ready; exec sleep 600");
    let group = runner.spawn(&script).await.unwrap();
    assert_eq!(line(&runner, group).await, "ready");
    let before = world.living();

    let swept = world.runner().sweep().await.unwrap();

    assert_eq!(swept, 0);
    assert_eq!(world.living(), before);
    assert_eq!(world.entries(), 1);
}

/// A process that leads a group of its own and has nothing to do with the companion.
struct Bystander(Child);

impl Bystander {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").process_group(0).spawn().unwrap())
    }

    fn stat(&self) -> ProcessStat {
        process_table::read(self.0.id()).unwrap().unwrap()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _reaped_already = self.0.wait();
    }
}

fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    text.trim().to_owned()
}

/// An entry for a group whose leader is said to have had this number and start time.
fn write_entry(world: &World, boot_id: &str, guard: u32, start_time: u64) {
    const MARKER: &str = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";
    fs::create_dir_all(world.ledger()).unwrap();
    let text = format!(
        "steward-group 1\nboot {boot_id}\nguard {guard} {start_time}\nmarker {MARKER}\ngrace 0\nprogram /opt/cgc\n"
    );
    fs::write(world.ledger().join(MARKER), text).unwrap();
}

#[tokio::test]
async fn a_number_that_another_process_has_by_now_is_left_alone() {
    let world = World::new();
    let bystander = Bystander::start();
    let stat = bystander.stat();
    write_entry(&world, &boot_id(), stat.pid, stat.start_time - 1);

    let swept = world.runner().sweep().await.unwrap();

    assert_eq!(swept, 0);
    assert!(bystander.stat().is_alive);
    assert_eq!(world.entries(), 0);
}

#[tokio::test]
async fn an_entry_of_another_boot_is_removed_and_nothing_is_killed() {
    let world = World::new();
    let bystander = Bystander::start();
    let stat = bystander.stat();
    let last_boot = "00000000-0000-0000-0000-000000000000";
    write_entry(&world, last_boot, stat.pid, stat.start_time);

    let swept = world.runner().sweep().await.unwrap();

    assert_eq!(swept, 0);
    assert!(bystander.stat().is_alive);
    assert_eq!(world.entries(), 0);
}

#[tokio::test]
async fn a_group_that_cannot_be_proved_to_be_ours_is_left_alone_and_its_entry_kept() {
    let world = World::new();
    let mut leader = Bystander::start();
    let stat = leader.stat();
    let member = Command::new("sleep").arg("600").process_group(i32::try_from(stat.pid).unwrap()).spawn().unwrap();
    let member = Bystander(member);
    leader.0.kill().unwrap();
    leader.0.wait().unwrap();
    write_entry(&world, &boot_id(), stat.pid, stat.start_time);

    let swept = world.runner().sweep().await.unwrap();

    assert_eq!(swept, 0);
    assert!(member.stat().is_alive);
    assert_eq!(world.entries(), 1);
}

#[rstest]
#[case::empty(b"")]
#[case::cut(b"steward-group 1\nboot 0f4c")]
#[case::garbage(b"\xFF\x00\xFE")]
#[case::another_version(b"steward-group 2\n")]
#[tokio::test]
async fn an_entry_that_makes_no_sense_is_removed(#[case] content: &[u8]) {
    let world = World::new();
    fs::create_dir_all(world.ledger()).unwrap();
    fs::write(world.ledger().join("entry"), content).unwrap();

    let swept = world.runner().sweep().await.unwrap();

    assert_eq!(swept, 0);
    assert_eq!(world.entries(), 0);
}

#[tokio::test]
async fn where_nothing_was_ever_run_there_is_nothing_to_sweep() {
    let world = World::new();

    assert_eq!(world.runner().sweep().await.unwrap(), 0);
    assert!(!world.ledger().exists());
}
