//! Payloads, programs and databases that make no sense: the hook is harmless, nothing is believed, nothing is deleted.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use rstest::rstest;
use serde_json::json;
use steward_e2e::{World, content};
use steward_fake_cgc::{Behaviour, Command, Rule};

use super::support::{
    BOUND, assert_nothing_works, behave, database, hang, indexed, small_repository, verbs_after, wait_for_rest,
};

/// A start in a directory whose name is no text.
fn not_utf8() -> Vec<u8> {
    [b"{\"hook_event_name\":\"SessionStart\",\"session_id\":\"s\",\"cwd\":\"/\xff\xfe\"}".as_slice()].concat()
}

#[rstest]
#[case::nothing(Vec::new())]
#[case::garbage(b"\x00\xff\xfe{]".to_vec())]
#[case::truncated(br#"{"hook_event_name":"SessionStart","session_id":"#.to_vec())]
#[case::not_utf8(not_utf8())]
#[case::another_shape(b"[1, 2, 3]".to_vec())]
#[case::another_event(br#"{"hook_event_name":"Unheard","session_id":"s","cwd":"/"}"#.to_vec())]
#[case::without_a_directory(br#"{"hook_event_name":"SessionStart","session_id":"s","source":"startup"}"#.to_vec())]
#[case::two_documents(br#"{"hook_event_name":"Stop"}{"hook_event_name":"Stop"}"#.to_vec())]
#[case::ten_megabytes(vec![b'{'; 10 << 20])]
#[case::deep(b"[".repeat(1 << 20))]
fn bad_input_a_payload_that_makes_no_sense_is_answered_with_nothing(#[case] payload: Vec<u8>) {
    let (mut world, repository) = indexed();
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    let hook = harness.hook(&payload);

    hook.assert_harmless();
    assert_eq!((hook.stdout, hook.stderr), (Vec::new(), Vec::new()));
    harness.session_starts("startup");
    world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();
    assert_eq!(verbs_after(&world, before), [] as [&str; 0]);
}

#[test]
fn bad_input_an_edit_of_ten_megabytes_is_heard() {
    let (mut world, repository) = indexed();
    let mut harness = world.harness(repository.root());
    harness.session_starts("startup");
    world.wait_for_state(repository.root(), "clean", BOUND);
    behave(&world, [Rule::always(Command::Watch, hang(Some(1)))]);
    let file = repository.write_python("a.py", &["other"]);

    let input = json!({ "file_path": file, "content": "x".repeat(10 << 20) });
    let response = json!({ "type": "update", "filePath": file });
    let edit = json!({ "tool_name": "Write", "tool_input": input, "tool_response": response });
    harness.event("PostToolUse", &edit);

    world.wait_for_status(repository.root(), "the edit to be known", BOUND, |status| status["state"] == "drift");
    harness.leaves();
}

#[rstest]
#[case::hangs(hang(None), "incomplete")]
#[case::hangs_half_way(hang(Some(2)), "incomplete")]
#[case::segfaults(Behaviour::Crash { after_files: None, signal: 11 }, "unindexed")]
#[case::segfaults_half_way(Behaviour::Crash { after_files: Some(2), signal: 11 }, "corrupt")]
#[case::is_killed_half_way(Behaviour::Crash { after_files: Some(2), signal: 9 }, "incomplete")]
#[case::lies(Behaviour::Lie, "incomplete")]
#[case::says_garbage(Behaviour::Garbage, "incomplete")]
#[case::has_no_grammars(Behaviour::NoGrammars, "incomplete")]
#[case::burns(Behaviour::Burn, "incomplete")]
fn bad_input_a_cgc_that_misbehaves_creates_no_clean_graph(#[case] behaviour: Behaviour, #[case] state: &str) {
    let mut world = World::with_fake_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    world.set("CGC_MAINTENANCE_TIMEOUT_MS", "700");
    let repository = small_repository(&world);
    behave(&world, [Rule::always(Command::Index, behaviour)]);
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    let status = world.wait_for_status(repository.root(), "the index to end", BOUND, |status| {
        status["lastAction"]["name"] == "index" && status["activity"].is_null()
    });
    harness.human_prompts("Go.");
    harness.turn_ends();
    harness.leaves();

    assert_nothing_works(&world);
    assert_eq!(status["lastAction"]["succeeded"], false);
    assert_eq!(status["state"], state, "{status:#}");
    assert_ne!(status["lastError"]["message"], "");
    assert_ne!(status["freshness"]["status"], "fresh");
    assert!(status["receipt"].is_null());
}

#[rstest]
#[case::hangs(hang(Some(1)))]
#[case::segfaults(Behaviour::Crash { after_files: Some(1), signal: 11 })]
#[case::lies(Behaviour::Lie)]
#[case::says_garbage(Behaviour::Garbage)]
#[case::has_no_grammars(Behaviour::NoGrammars)]
fn bad_input_a_cgc_that_misbehaves_syncs_no_graph(#[case] behaviour: Behaviour) {
    let (mut world, repository) = indexed();
    world.set("CGC_MAINTENANCE_TIMEOUT_MS", "700");
    repository.write_python("a.py", &["other"]);
    behave(&world, [Rule::always(Command::Watch, behaviour)]);
    let before = world.cgc().calls().len();
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    let status = world.wait_for_status(repository.root(), "the sync to end", BOUND, |status| {
        status["lastAction"]["name"] == "sync" && status["activity"].is_null()
    });
    harness.human_prompts("Go.");
    harness.turn_ends();
    let kept = wait_for_rest(&world, &repository);
    harness.leaves();

    assert_nothing_works(&world);
    assert_eq!(status["lastAction"]["succeeded"], false);
    assert!(!status["lastError"].is_null());
    assert_ne!(kept["state"], "clean");
    let verbs = verbs_after(&world, before);
    assert!(verbs.iter().all(|verb| verb == "watch" || verb == "query"), "nothing is rebuilt: {verbs:?}");
}

fn empty(database: &Path) {
    fs::write(database, b"").unwrap();
}

fn one_byte(database: &Path) {
    fs::write(database, b"K").unwrap();
}

fn nothing_but_the_header(database: &Path) {
    let bytes = fs::read(database).unwrap();
    fs::write(database, &bytes[..12]).unwrap();
}

fn a_directory(database: &Path) {
    fs::remove_file(database).unwrap();
    fs::create_dir(database).unwrap();
}

/// What an interrupted replacement leaves: the log without its database.
fn a_log_alone(database: &Path) {
    fs::rename(database, database.with_extension("wal")).unwrap();
    let log = format!("{}.wal", database.display());
    fs::rename(database.with_extension("wal"), log).unwrap();
}

#[rstest]
#[case::empty(empty, "unindexed")]
#[case::one_byte(one_byte, "corrupt")]
#[case::nothing_but_the_header(nothing_but_the_header, "corrupt")]
#[case::a_directory(a_directory, "corrupt")]
#[case::a_log_alone(a_log_alone, "unindexed")]
fn bad_input_a_spoilt_database_is_told_apart_and_left_alone(#[case] spoil: fn(&Path), #[case] state: &str) {
    let (mut world, repository) = indexed();
    let database = database(&world);
    spoil(&database);
    let spoilt = content(database.parent().unwrap());
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    let status = world.wait_for_state(repository.root(), state, BOUND);
    harness.human_prompts("Go.");
    harness.turn_ends();
    harness.leaves();

    assert!(content(database.parent().unwrap()) == spoilt, "something was written beside or into the database");
    assert!(!status["evidence"].as_array().unwrap().is_empty());
}
