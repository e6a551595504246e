//! Daemons that are absent, do not start, do not answer, or answer nonsense.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, Signal, kill_process};
use steward_wire::{Reply, read_frame, write_frame};

use crate::session_start;
use crate::support::{World, assert_logged, assert_silent, attempt, feed, treat_all};

#[test]
fn without_a_daemon_program_the_harness_goes_on() {
    let world = World::new();

    assert_logged(&world, &session_start(), "stewardd cannot be started");
}

#[test]
fn a_daemon_that_dies_while_it_starts_is_logged() {
    let world = World::new();
    world.install_daemon("exit 3");

    assert_logged(&world, &session_start(), "ended before it was ready");
}

/// The daemon's stand-in lives on; the harness must see the end of the hook's output meanwhile.
#[test]
fn trial_b52_a_daemon_holds_nothing_of_the_harness() {
    let world = World::new();
    world.install_daemon(
        r#"mkdir "$HOME/started" || exit; pwd > "$HOME/directory"; echo $$ > "$HOME/pid"; exec sleep 60"#,
    );
    let mut shell = world.command("/bin/sh");
    shell.args(["-c", r#"exec 3>&1 4>&1 5>&1 6>&1 7>&2 8>&0 9>&1; exec "$0" hook"#]).arg(world.program());

    attempt(|| {
        assert_silent(&feed(&mut shell, &session_start()));
        world.home().join("started").exists().then_some(())
    });

    // The output has ended although the daemon lives.
    let pid: i32 = await_some(|| fs::read_to_string(world.home().join("pid")).ok()?.trim().parse().ok());
    let held = await_some(|| descriptors_of(pid, "sleep"));
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let numbers: Vec<&str> = held.keys().map(String::as_str).collect();
    assert_eq!(numbers, ["0", "1", "2"], "{held:?}");
    assert_eq!((held["0"].as_path(), held["2"].as_path()), (Path::new("/dev/null"), Path::new("/dev/null")));
    assert_eq!(fs::read_to_string(world.home().join("directory")).unwrap(), "/\n");
}

#[test]
fn a_daemon_that_accepts_and_never_answers_is_given_up() {
    let world = World::new();
    treat_all(world.listen(), |mut client| {
        // Ends when the hook hangs up.
        client.read_to_end(&mut Vec::new()).unwrap();
    });

    assert_logged(&world, &session_start(), "did not answer in time");
}

#[test]
fn a_daemon_that_does_not_even_accept_is_given_up() {
    let world = World::new();
    let _listener = world.listen();

    assert_logged(&world, &session_start(), "did not answer in time");
}

#[test]
fn a_full_backlog_is_given_up() {
    let world = World::new();
    let address = SocketAddrUnix::new(world.make_socket_path()).unwrap();
    let socket = || {
        rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )
        .unwrap()
    };
    let listener = socket();
    rustix::net::bind(&listener, &address).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let mut waiting = Vec::new();
    loop {
        let client = socket();
        match rustix::net::connect(&client, &address) {
            Ok(()) => waiting.push(client),
            Err(errno) => break assert_eq!(errno, Errno::AGAIN),
        }
    }

    assert_logged(&world, &session_start(), "did not answer in time");
}

#[rstest]
#[case::hangs_up("broke off", |client| drop(client))]
#[case::hangs_up_after_reading("broke off", |mut client| drop(read_frame::<serde_json::Value>(&mut client)))]
#[case::garbage("no valid message", |mut client| say(&mut client, b"\x05\x00\x00\x00hello"))]
#[case::an_endless_frame("over the limit", |mut client| say(&mut client, b"\xff\xff\xff\xff"))]
#[case::half_a_frame("broke off", |mut client| say(&mut client, b"\x20\x00\x00\x00{\"kind\":"))]
#[case::another_answer("something else", |mut client| answer(&mut client, &Reply::Accepted { joined: false }))]
#[case::a_refusal("out of memory", |mut client| answer(&mut client, &Reply::Failed { reason: "out of memory".into() }))]
fn nonsense_is_logged_and_not_shown(#[case] problem: &str, #[case] treat: fn(UnixStream)) {
    let world = World::new();
    treat_all(world.listen(), treat);

    assert_logged(&world, &session_start(), problem);
}

fn say(client: &mut UnixStream, bytes: &[u8]) {
    if read_frame::<serde_json::Value>(client).is_ok() {
        let _hook_has_given_up = client.write_all(bytes).err();
    }
}

fn answer(client: &mut UnixStream, reply: &Reply) {
    if read_frame::<serde_json::Value>(client).is_ok() {
        let _hook_has_given_up = write_frame(client, reply).err();
    }
}

/// Returns what the process `pid` holds once it has become the program `name`.
fn descriptors_of(pid: i32, name: &str) -> Option<BTreeMap<String, PathBuf>> {
    if fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim() != name {
        return None;
    }
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    entries
        .map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().into_string().ok()?, fs::read_link(entry.path()).ok()?))
        })
        .collect()
}

/// Returns what `look` finds once it finds something.
fn await_some<T>(look: impl Fn() -> Option<T>) -> T {
    const BOUND: Duration = Duration::from_secs(20);
    let start = Instant::now();
    while start.elapsed() < BOUND {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("nothing was found within {BOUND:?}");
}
