//! Disks, directories and daemons that are not as they should be: the hook is harmless, and the state says what is known.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rstest::rstest;
use rustix::process::Signal;
use serde_json::{Value, json};
use steward_e2e::{World, content};
use steward_harness_stubs::kill;

use super::support::{BOUND, indexed, small_repository, times_told, verbs_after, wait_for_rest};

/// Nobody can make a directory there, not even root.
fn no_directory(world: &World) -> PathBuf {
    let _ = world;
    PathBuf::from("/proc/cgc-steward-test")
}

fn a_file(world: &World) -> PathBuf {
    world.scratch().file("no-directory", "a file").unwrap()
}

#[rstest]
#[case::no_directory(no_directory)]
#[case::a_file(a_file)]
fn trial_b109_without_a_state_directory_nothing_is_begun_and_little_is_said(#[case] state: fn(&World) -> PathBuf) {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    world.set("XDG_STATE_HOME", state(&world));
    let repository = small_repository(&world);
    let mut harness = world.harness(repository.root());

    let mut hooks = vec![harness.session_starts("startup")];
    let status = world.wait_for_status(repository.root(), "the failure", BOUND, |status| {
        !status["lastError"].is_null() && status["activity"].is_null()
    });
    for _ in 0..3 {
        hooks.extend([harness.human_prompts("Go."), harness.turn_ends()]);
        wait_for_rest(&world, &repository);
    }
    let doctor = world.steward(repository.root(), &["doctor"]);
    harness.leaves();

    assert_ne!(status["state"], "clean");
    assert_eq!(verbs_after(&world, 0), [] as [&str; 0], "without a recorded intent nothing is started");
    assert!(times_told(&hooks, "cgc-steward:") <= 2, "{hooks:?}");
    let named = world.environment()[std::ffi::OsStr::new("XDG_STATE_HOME")].to_str().unwrap();
    assert!(String::from_utf8_lossy(&doctor.stdout).contains(named), "{}", String::from_utf8_lossy(&doctor.stdout));
}

/// What makes a directory read-only for the harness and for all that it starts.
fn read_only(directory: &Path) -> String {
    let directory = directory.display();
    format!("mount --bind '{directory}' '{directory}' && mount -o remount,bind,ro '{directory}'")
}

#[test]
fn trial_b109_with_everything_read_only_what_is_known_is_told_and_no_sync_begins() {
    let (mut world, repository) = indexed();
    let before = world.cgc().calls().len();
    world.steward_succeeds(repository.root(), &["daemon", "stop"]);
    let places = [world.home(), world.scratch().path().join("state")];
    let files: Vec<_> = places.iter().map(|place| content(place)).collect();
    let mount = places.iter().map(|place| read_only(place)).collect::<Vec<_>>().join(" && ");
    let mut harness = world.harness_after_mount(repository.root(), &mount);

    let mut hooks = vec![harness.session_starts("startup")];
    let clean = wait_for_rest(&world, &repository);
    repository.write_python("a.py", &["other"]);
    for _ in 0..3 {
        hooks.extend([harness.agent_wrote(&repository.path("a.py")), harness.turn_ends()]);
        wait_for_rest(&world, &repository);
        hooks.push(harness.human_prompts("Go."));
    }
    let drift = world.wait_for_status(repository.root(), "the failure", BOUND, |status| {
        status["state"] == "drift" && status["activity"].is_null() && !status["lastError"].is_null()
    });
    harness.leaves();

    assert_eq!(clean["state"], "clean", "{clean:#}");
    assert!(!drift["receipt"].is_null());
    assert_eq!(verbs_after(&world, before), [] as [&str; 0], "without a recorded intent nothing is started");
    assert!(times_told(&hooks, "cgc-steward:") <= 2, "{hooks:?}");
    let now: Vec<_> = places.iter().map(|place| content(place)).collect();
    assert!(now == files, "something was written");
}

#[rstest]
#[case::from_the_start("4k")]
#[case::after_a_record("12k")]
fn bad_input_a_full_state_directory_makes_no_graph_clean(#[case] size: &str) {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = small_repository(&world);
    let state = world.scratch().directory("state").unwrap();
    let mount = format!("mount -t tmpfs -o size={size},mode=700 none '{}'", state.display());
    let mut harness = world.harness_after_mount(repository.root(), &mount);

    let mut hooks = vec![harness.session_starts("startup")];
    for _ in 0..3 {
        wait_for_rest(&world, &repository);
        hooks.extend([harness.human_prompts("Go."), harness.turn_ends()]);
    }
    let status = world.wait_for_status(repository.root(), "the failure", BOUND, |status| {
        !status["lastError"].is_null() && status["activity"].is_null()
    });
    harness.leaves();

    assert_ne!(status["state"], "clean", "{status:#}");
    assert!(status["receipt"].is_null());
    let verbs = verbs_after(&world, 0);
    assert!(verbs.iter().filter(|verb| *verb == "index").count() <= 2, "{verbs:?}");
}

/// There is no cgc either, which without HOME would write into the account's own home.
#[rstest]
#[case::no_home(&["HOME"])]
#[case::nothing_at_all(&["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "LANG"])]
fn bad_input_without_a_home_the_session_goes_on(#[case] unset: &[&str]) {
    let mut world = World::without_cgc();
    let repository = small_repository(&world);
    for name in unset {
        world.unset(name);
    }
    let mut harness = world.harness(repository.root());

    let hooks = [harness.session_starts("startup"), harness.human_prompts("Go."), harness.turn_ends()];
    let status = world.steward(repository.root(), &["status", "--json"]);
    harness.leaves();

    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert!(["unavailable", "unknown"].contains(&status["state"].as_str().unwrap()), "{status:#}");
    assert!(hooks.iter().all(|hook| hook.context().is_empty()), "{hooks:?}");
}

#[test]
fn trial_b69_a_directory_that_is_gone_ends_no_session_and_tells_the_agent_nothing() {
    let (mut world, repository) = indexed();
    let elsewhere = world.repository("elsewhere");
    let mut harness = world.harness(elsewhere.root());
    let within = |fields: Value| {
        let mut fields = fields;
        fields["cwd"] = json!(repository.root());
        fields
    };
    harness.event("SessionStart", &within(json!({ "source": "startup" })));
    world.wait_for_state(repository.root(), "clean", BOUND);
    fs::remove_dir_all(repository.root()).unwrap();

    let mut hooks = vec![
        harness.event("UserPromptSubmit", &within(json!({ "prompt": "Go." }))),
        harness.event("Stop", &within(json!({}))),
    ];
    // The hook's own directory is gone as well.
    let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" hook";
    let hook = world.program("steward-claude-code");
    for (name, fields) in [("Stop", json!({})), ("SessionEnd", json!({ "reason": "other" }))] {
        let payload = harness.payload(name, &within(fields)).to_string();
        hooks.push(harness.run("/bin/sh".as_ref(), &["-c", script, hook.to_str().unwrap()], payload.as_bytes()));
    }

    for hook in &hooks {
        hook.assert_harmless();
        assert_eq!(hook.context(), "");
    }
    let sessions = world.steward_succeeds(elsewhere.root(), &["daemon", "status", "--json"]);
    let sessions: Value = serde_json::from_str(&sessions).unwrap();
    assert_eq!(sessions["daemon"]["sessions"], 0, "the end was heard: {sessions:#}");
}

fn in_a_place_of_the_kernels(_: &World) -> PathBuf {
    PathBuf::from("/proc")
}

fn with_a_file_in_the_way(world: &World) -> PathBuf {
    world.scratch().file("runtime/cgc-steward", "a file").unwrap();
    world.scratch().path().join("runtime")
}

fn open_to_everybody(world: &World) -> PathBuf {
    let directory = world.scratch().directory("runtime/cgc-steward").unwrap();
    fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
    world.scratch().path().join("runtime")
}

#[rstest]
#[case::in_a_place_of_the_kernels(in_a_place_of_the_kernels)]
#[case::with_a_file_in_the_way(with_a_file_in_the_way)]
#[case::open_to_everybody(open_to_everybody)]
fn bad_input_without_a_place_for_the_socket_no_daemon_is_started(#[case] runtime: fn(&World) -> PathBuf) {
    let (mut world, repository) = indexed();
    let before = world.cgc().calls().len();
    world.steward_succeeds(repository.root(), &["daemon", "stop"]);
    world.set("XDG_RUNTIME_DIR", runtime(&world));
    let mut harness = world.harness(repository.root());

    let hooks = [harness.session_starts("startup"), harness.human_prompts("Go."), harness.turn_ends()];
    let status = world.steward(repository.root(), &["status", "--json"]);
    harness.leaves();

    assert!(hooks.iter().all(|hook| hook.stdout.is_empty()), "{hooks:?}");
    let object: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert!(!object["lastError"].is_null(), "{object:#}");
    assert_eq!(world.processes_of("stewardd").len(), 0);
    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);
    let log = fs::read_to_string(world.scratch().path().join("state/cgc-steward/hook-errors.log")).unwrap();
    assert!(log.contains("there is no place for the daemon's socket"), "{log}");
}

/// How a daemon that is not ours behaves at its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Accepts and never answers.
    NeverAnswers,
    /// Closes each connection at once.
    HangsUp,
    /// Announces more than can be.
    Announces4GiB,
    /// Answers with what is no message.
    Garbage,
    /// Speaks protocol 0 and stays.
    Protocol0,
    /// Speaks protocol 0 and gives way to a newer one.
    Protocol0GivesWay,
}

/// A program at the daemon's socket. Dropping it ends it.
#[derive(Debug)]
struct ToyDaemon {
    socket: PathBuf,
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl ToyDaemon {
    fn listen(world: &World, manner: Manner) -> Self {
        let directory = world.scratch().path().join("run/cgc-steward");
        fs::DirBuilder::new().mode(0o700).recursive(true).create(&directory).unwrap();
        let socket = directory.join("daemon.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let thread = std::thread::spawn({
            let (stop, asked, socket) = (Arc::clone(&stop), Arc::clone(&asked), socket.clone());
            move || {
                let mut kept = Vec::new();
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    asked.fetch_add(1, Ordering::SeqCst);
                    if answer(&mut stream, manner) {
                        fs::remove_file(&socket).unwrap();
                        return;
                    }
                    if manner != Manner::HangsUp {
                        kept.push(stream);
                    }
                }
            }
        });
        Self { socket, stop, asked, thread: Some(thread) }
    }
}

impl Drop for ToyDaemon {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // It fails only where it has given way already.
        drop(UnixStream::connect(&self.socket));
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Answers one request; tells whether it was the one that ends this daemon.
fn answer(stream: &mut UnixStream, manner: Manner) -> bool {
    // It fails only where the hook has given up.
    let mut send = |bytes: &[u8]| drop(stream.write_all(bytes));
    match manner {
        Manner::NeverAnswers | Manner::HangsUp => {}
        Manner::Announces4GiB => send(&u32::MAX.to_le_bytes()),
        Manner::Garbage => send(b"\x04\0\0\0\xff\xfe{]"),
        Manner::Protocol0 | Manner::Protocol0GivesWay => {
            let mut length = [0; 4];
            stream.read_exact(&mut length).unwrap();
            let mut body = vec![0; u32::from_le_bytes(length) as usize];
            stream.read_exact(&mut body).unwrap();
            let is_stop = serde_json::from_slice::<Value>(&body).unwrap()["request"]["kind"] == "stop";
            let ends = is_stop && manner == Manner::Protocol0GivesWay;
            let reply = if ends {
                json!({ "kind": "stopping", "pid": std::process::id() })
            } else {
                json!({ "kind": "incompatible", "protocol": 0, "build": { "version": "0.0.1", "built_at": 1 } })
            };
            let reply = reply.to_string();
            let frame = [&u32::try_from(reply.len()).unwrap().to_le_bytes(), reply.as_bytes()].concat();
            stream.write_all(&frame).unwrap();
            return ends;
        }
    }
    false
}

#[rstest]
#[case::never_answers(Manner::NeverAnswers)]
#[case::hangs_up(Manner::HangsUp)]
#[case::announces_4_gib(Manner::Announces4GiB)]
#[case::garbage(Manner::Garbage)]
#[case::protocol_0(Manner::Protocol0)]
fn bad_input_a_daemon_that_makes_no_sense_holds_nobody_up(#[case] manner: Manner) {
    let (mut world, repository) = indexed();
    let before = world.cgc().calls().len();
    world.steward_succeeds(repository.root(), &["daemon", "stop"]);
    let toy = ToyDaemon::listen(&world, manner);
    let mut harness = world.harness(repository.root());

    let hooks = [
        harness.session_starts("startup"),
        harness.human_prompts("Go."),
        harness.turn_ends(),
        harness.session_ends("other"),
    ];

    assert!(hooks.iter().all(|hook| hook.stdout.is_empty()), "{hooks:?}");
    assert!(toy.asked.load(Ordering::SeqCst) >= hooks.len(), "each hook asked it");
    if manner == Manner::Protocol0 {
        let status = world.status(repository.root());
        assert!(status["warnings"][0].as_str().unwrap().contains("protocol 0"), "{status:#}");
        assert_eq!(status["receipt"]["files"], 4, "what the records tell is known all the same");
    }
    drop(harness);
    drop(toy);
    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);
    assert_eq!(world.processes_of("stewardd").len(), 0);
    fs::remove_file(world.scratch().path().join("run/cgc-steward/daemon.sock")).unwrap();
    assert_eq!(world.status(repository.root())["state"], "clean");
}

#[test]
fn bad_input_an_older_daemon_is_replaced() {
    let (mut world, repository) = indexed();
    world.steward_succeeds(repository.root(), &["daemon", "stop"]);
    let toy = ToyDaemon::listen(&world, Manner::Protocol0GivesWay);
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();

    assert_eq!(toy.asked.load(Ordering::SeqCst), 3, "twice with the event, once to give way");
    assert_ne!(status["daemon"], Value::Null);
    assert_eq!(world.processes_of("stewardd").len(), 1);
}

#[test]
fn bad_input_a_wedged_daemon_holds_nobody_up_and_goes_on_afterwards() {
    let (mut world, repository) = indexed();
    let mut harness = world.harness(repository.root());
    harness.session_starts("startup");
    let daemon = world.processes_of("stewardd").remove(0);

    kill(daemon.pid, Signal::STOP);
    let hooks: Vec<_> = (0..3).flat_map(|_| [harness.human_prompts("Go."), harness.turn_ends()]).collect();
    let status = world.status(repository.root());
    kill(daemon.pid, Signal::CONT);

    assert_eq!(status["state"], "clean", "records and files tell it without the daemon");
    assert_eq!(status["daemon"], Value::Null);
    assert!(status["warnings"][0].as_str().is_some_and(|warning| warning.contains("did not answer in time")));

    assert!(hooks.iter().all(|hook| hook.stdout.is_empty()), "{hooks:?}");
    world.wait_for_state(repository.root(), "clean", BOUND);
    assert!(world.processes_of("stewardd")[0].is(&daemon), "it is the same daemon");
    harness.leaves();
}
