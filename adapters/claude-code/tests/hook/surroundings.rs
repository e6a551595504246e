//! Directories that are missing, planted or not the user's.

use std::fs;
use std::os::unix::fs::symlink;

use steward_wire::{HarnessEvent, Reply, Request};

use crate::support::{Answering, World, assert_logged, assert_silent, attempt, feed};
use crate::{payload, session_end, session_start};

#[test]
fn a_runtime_directory_that_cannot_be_made_is_logged() {
    let world = World::new();

    let logged = attempt(|| {
        let mut command = world.command(world.program());
        assert_silent(&feed(command.arg("hook").env("XDG_RUNTIME_DIR", "/proc"), &session_start()));
        world.logged().pop()
    });

    assert!(logged.contains("/proc/cgc-steward"), "{logged}");
}

#[test]
fn a_planted_runtime_directory_is_refused() {
    let world = World::new();
    let planted = world.home().join("planted");
    fs::create_dir(&planted).unwrap();
    symlink(&planted, world.runtime_directory().join("cgc-steward")).unwrap();

    assert_logged(&world, &session_start(), "not a directory");

    assert_eq!(fs::read_dir(planted).unwrap().count(), 0);
}

#[test]
fn without_a_home_there_is_no_log_and_nothing_else_is_missing() {
    let world = World::new();
    let daemon = Answering::new(&world, Reply::Delivery { notices: Vec::new(), context: Vec::new() });
    let homeless = |payload: &[u8]| feed(world.command(world.program()).arg("hook").env_remove("HOME"), payload);

    let (envelope, output) = daemon.heard(|| homeless(&session_start()));

    assert_silent(&output);
    assert!(matches!(envelope.request, Request::Event { .. }));
    assert_silent(&homeless(b"garbage"));
}

#[test]
fn trial_b69_a_deleted_directory_ends_its_session_all_the_same() {
    let world = World::new();
    let directory = world.home().join("gone");
    let daemon = Answering::new(&world, Reply::Delivery { notices: Vec::new(), context: Vec::new() });
    let ended = payload(
        &serde_json::json!({ "hook_event_name": "SessionEnd", "reason": "other", "cwd": directory.to_str().unwrap() }),
    );

    let (envelope, output) = daemon.heard(|| {
        fs::create_dir(&directory).unwrap();
        let mut shell = world.command("/bin/sh");
        shell.current_dir(&directory).args(["-c", r#"rmdir "$PWD" && exec "$0" hook"#]).arg(world.program());
        feed(&mut shell, &ended)
    });

    assert_silent(&output);
    match envelope.request {
        Request::Event { session, event, .. } => {
            assert_eq!(session.directory, directory);
            assert_eq!(event, HarnessEvent::SessionEnded { continues: false });
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn trial_b84_ending_twice_starts_nothing() {
    let world = World::new();
    world.install_daemon(r#"touch "$HOME/started""#);

    assert_silent(&world.hook(&session_end()));
    assert_silent(&world.hook(&session_end()));

    assert!(!world.home().join("started").exists());
    assert_eq!(world.logged(), Vec::<String>::new());
}
