//! The commands that talk to the daemon, against a scripted one on a real socket.
//!
//! It must never start a real daemon or cgc, nor touch the real home.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use rstest::rstest;
use serde_json::Value;
use steward_wire::{
    BackendReport, Envelope, FreshnessReport, FreshnessStatus, IndexState, JobOutcome, JobProgress, JobVerb, Reply,
    Request, StatusReport, read_frame, write_frame,
};
use tempfile::TempDir;

/// A home, a runtime directory, a repository and our programs.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        // Short, since a socket's path may not be long.
        let place = Self(tempfile::tempdir_in("/tmp").unwrap());
        for name in ["home", "repo/.git/objects", "repo/.git/refs"] {
            fs::create_dir_all(place.path(name)).unwrap();
        }
        fs::write(place.path("repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir(place.path("bin")).unwrap();
        for name in ["run", "run/cgc-steward"] {
            fs::DirBuilder::new().mode(0o700).create(place.path(name)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with_cgc(self) -> Self {
        let cgc = self.path("bin/cgc");
        fs::write(&cgc, "#!/usr/bin/python3\n").unwrap();
        fs::set_permissions(&cgc, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_steward"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", self.path("bin"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("ANTHROPIC_API_KEY", "secret")
            .current_dir(self.path("repo"))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Plays the daemon: each script answers one connection, which is then closed. Returns what was asked.
    fn play<const N: usize>(&self, scripts: [Vec<Reply>; N]) -> JoinHandle<Vec<Request>> {
        let listener = UnixListener::bind(self.path("run/cgc-steward/daemon.sock")).unwrap();
        std::thread::spawn(move || {
            scripts.into_iter().map(|replies| answer(&mut listener.accept().unwrap().0, &replies)).collect()
        })
    }

    fn files(&self) -> Vec<String> {
        fn below(directory: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    below(&path, found);
                } else {
                    found.push(path.display().to_string());
                }
            }
        }
        let mut found = Vec::new();
        below(&self.path("home"), &mut found);
        below(&self.path("repo"), &mut found);
        found.retain(|file| !file.contains("/repo/.git/"));
        found
    }
}

fn answer(stream: &mut UnixStream, replies: &[Reply]) -> Request {
    let envelope: Envelope = read_frame(stream).unwrap();
    for reply in replies {
        write_frame(stream, reply).unwrap();
    }
    envelope.request
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn report(state: IndexState) -> StatusReport {
    StatusReport {
        workspace: "/w/project".into(),
        state,
        activity: None,
        evidence: vec![],
        freshness: FreshnessReport {
            status: FreshnessStatus::Unknown,
            since: None,
            reason: "nothing was looked at".into(),
            scope: None,
        },
        backend: BackendReport {
            name: "kuzudb".into(),
            source: "file magic".into(),
            database: Some("/db/kuzudb".into()),
            requested: None,
        },
        context: None,
        receipt: None,
        last_action: None,
        last_error: None,
        sessions: vec![],
        warnings: vec![],
        daemon: Some(1),
    }
}

fn progress(done: u64) -> Reply {
    Reply::Progress(JobProgress {
        phase: "reading files".into(),
        done: Some(done),
        total: Some(10),
        elapsed_ms: 1_000,
        joined: false,
    })
}

fn finished(succeeded: bool) -> Reply {
    Reply::Finished(JobOutcome {
        succeeded,
        summary: "10 files were indexed".into(),
        advice: Some("steward status shows more".into()),
        elapsed_ms: 2_000,
    })
}

#[test]
fn status_shows_what_the_running_daemon_knows() {
    let place = Place::new();
    let daemon = place.play([vec![Reply::Status(Box::new(report(IndexState::Clean)))]]);

    let output = place.run(&["status", "--json"]);

    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(serde_json::from_str::<StatusReport>(&stdout(&output)).unwrap(), report(IndexState::Clean));
    let [Request::Status { directory, environment }] = &daemon.join().unwrap()[..] else {
        panic!("one status was to be asked for")
    };
    assert_eq!(directory, &place.path("repo"));
    assert!(environment.contains_key("PATH"));
    assert!(!environment.contains_key("ANTHROPIC_API_KEY"));
}

#[test]
fn status_without_a_daemon_starts_none_and_writes_nothing() {
    let place = Place::new().with_cgc();

    let output = place.run(&["status", "--json"]);

    assert!(output.status.success(), "{}", stderr(&output));
    let status: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(status["workspace"], place.path("repo").to_str().unwrap());
    assert_eq!(status["state"], "unindexed");
    assert_eq!(status["daemon"], Value::Null);
    assert_eq!(place.files(), [""; 0]);
    assert!(!place.path("run/cgc-steward/daemon.sock").exists());
}

#[rstest]
#[case::relative("../repo/../repo")]
#[case::subdirectory("sub")]
fn status_is_that_of_the_named_directorys_workspace(#[case] path: &str) {
    let place = Place::new().with_cgc();
    fs::create_dir(place.path("repo/sub")).unwrap();

    let output = place.run(&["status", "--json", path]);

    let status: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(status["workspace"], place.path("repo").to_str().unwrap());
}

#[test]
fn status_as_json_is_one_object_whatever_fails() {
    let vanished = Place::new();
    let mut in_vanished = vanished.command(&["status", "--json"]);
    let directory = vanished.path("repo/gone");
    fs::create_dir(&directory).unwrap();
    let script =
        format!("cd {0} && rmdir {0} && exec {1} status --json", directory.display(), env!("CARGO_BIN_EXE_steward"));
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &script])
        .env_clear()
        .env("HOME", vanished.path("home"))
        .env("XDG_RUNTIME_DIR", vanished.path("run"));
    let mut homeless = vanished.command(&["status", "--json"]);
    homeless.env_remove("HOME");
    let mut absent = vanished.command(&["status", "--json", "/nonexistent/x"]);
    fs::set_permissions(vanished.path("run/cgc-steward"), fs::Permissions::from_mode(0o755)).unwrap();

    for command in [&mut in_vanished, &mut shell, &mut homeless, &mut absent] {
        let output = command.output().unwrap();

        let status: StatusReport = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(status.state, IndexState::Unknown, "{command:?}");
        assert!(status.last_error.is_some(), "{command:?}");
    }
}

#[test]
fn status_of_a_daemon_that_breaks_off_is_what_records_tell_with_a_warning() {
    let place = Place::new();
    let daemon = place.play([vec![]]);

    let output = place.run(&["status", "--json"]);

    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["state"], "unavailable", "no cgc is on this path");
    assert!(report["warnings"][0].as_str().unwrap().contains("the daemon broke off"), "{report}");
    daemon.join().unwrap();
}

#[rstest]
#[case::index("index", JobVerb::Index)]
#[case::rebuild("rebuild", JobVerb::Rebuild)]
fn a_job_after_a_yes_waits_for_its_end(#[case] word: &str, #[case] verb: JobVerb) {
    let place = Place::new();
    let daemon = place.play([vec![progress(1), progress(9), finished(true)]]);

    let output = place.command(&[word, "--yes", "--wait"]).output().unwrap();

    assert_eq!(stderr(&output), "");
    assert!(output.status.success());
    assert_eq!(stdout(&output), "10 files were indexed\n");
    let [Request::Job { verb: asked, directory, wait, .. }] = &daemon.join().unwrap()[..] else {
        panic!("one job was to be asked for")
    };
    assert_eq!((*asked, directory, *wait), (verb, &place.path("repo"), true));
}

#[rstest]
#[case::failed(vec![progress(1), finished(false)], "10 files were indexed\nsteward status shows more")]
#[case::daemon_died(vec![progress(1)], "Nothing was started anew")]
#[case::refused(vec![Reply::Refused { reason: "the home directory".into(), advice: Some("go elsewhere".into()) }], "the home directory\ngo elsewhere")]
#[case::not_carried_out(vec![Reply::Failed { reason: "no idea".into() }], "no idea")]
fn a_job_that_did_not_succeed_is_no_success(#[case] replies: Vec<Reply>, #[case] words: &str) {
    let place = Place::new();
    let daemon = place.play([replies]);

    let output = place.run(&["index", "--yes", "--wait"]);

    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(words), "{}", stderr(&output));
    assert_eq!(daemon.join().unwrap().len(), 1);
}

#[test]
fn a_job_goes_on_in_the_background_unless_it_is_waited_for() {
    let place = Place::new();
    let daemon = place.play([vec![Reply::Accepted { joined: false }]]);

    let output = place.run(&["index", "--yes"]);

    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("in the background"), "{}", stdout(&output));
    assert!(matches!(daemon.join().unwrap()[..], [Request::Job { wait: false, .. }]));
}

#[rstest]
#[case::index("index", IndexState::Unindexed, &["read the code in /w/project", "/db/kuzudb", "/w/project/.cgcignore"])]
#[case::rebuild("rebuild", IndexState::Drift, &["delete the graph of /w/project from /db/kuzudb", "/w/project/.cgcignore"])]
#[case::rebuild_of_a_ruin("rebuild", IndexState::Corrupt, &["renamed to /db/kuzudb.set-aside-1", "/w/project/.cgcignore"])]
fn without_a_terminal_a_question_is_a_no_that_names_the_effect(
    #[case] word: &str,
    #[case] state: IndexState,
    #[case] effects: &[&str],
) {
    let place = Place::new();
    let daemon = place.play([vec![Reply::Status(Box::new(report(state)))]]);

    let output = place.run(&[word, "--wait"]);

    assert_eq!(output.status.code(), Some(1));
    for effect in effects.iter().chain(&["--yes"]) {
        assert!(stderr(&output).contains(effect), "{effect}: {}", stderr(&output));
    }
    assert!(matches!(daemon.join().unwrap()[..], [Request::Status { .. }]));
}

#[test]
fn without_cgc_a_job_says_how_to_get_it() {
    let place = Place::new();

    for word in ["index", "rebuild"] {
        let output = place.run(&[word]);

        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("pip install codegraphcontext"), "{}", stderr(&output));
    }
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn sync_asks_nothing() {
    let place = Place::new();
    let daemon = place.play([vec![finished(true)]]);

    let output = place.run(&["sync", "--wait"]);

    assert!(output.status.success(), "{}", stderr(&output));
    assert!(matches!(daemon.join().unwrap()[..], [Request::Job { verb: JobVerb::Sync, wait: true, .. }]));
}

#[test]
fn stopping_where_no_daemon_runs_is_a_success() {
    let place = Place::new();

    let output = place.run(&["daemon", "stop"]);

    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn stopping_returns_only_after_the_process_has_ended() {
    let place = Place::new();
    let mut process = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = process.id();
    let listener = UnixListener::bind(place.path("run/cgc-steward/daemon.sock")).unwrap();

    let mut client = place.command(&["daemon", "stop"]).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let asked = answer(&mut stream, &[Reply::Stopping { pid }]);
    drop(stream);
    drop(process.stdin.take());
    let ended = process.wait().unwrap();
    let mut said = String::new();
    client.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    let stopped = client.wait().unwrap();

    assert_eq!(asked, Request::Stop { drain: false });
    assert!(ended.success() && stopped.success());
    assert_eq!(said, "The daemon has ended.\n");
}

#[test]
fn the_daemons_status_is_told() {
    let place = Place::new();

    let output = place.run(&["daemon", "status", "--json"]);

    assert_eq!(
        serde_json::from_str::<Value>(&stdout(&output)).unwrap(),
        serde_json::json!({"running": false, "daemon": null})
    );
}

#[test]
fn doctor_names_what_is_missing_and_writes_only_state() {
    let place = Place::new();

    let output = place.run(&["doctor", "--json"]);

    assert_eq!(output.status.code(), Some(1));
    let doctor: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(doctor["healthy"], false);
    let cgc = doctor["checks"].as_array().unwrap().iter().find(|check| check["check"] == "cgc").unwrap();
    assert_eq!(cgc["verdict"], "fail");
    assert!(cgc["advice"].as_str().unwrap().contains("pip install codegraphcontext"));
    assert_eq!(doctor["cgcDoctor"], Value::Null);
    assert_eq!(place.files(), [""; 0]);
}
