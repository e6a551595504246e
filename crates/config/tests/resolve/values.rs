//! What single values and names mean, by tables.
//!
//! It must never reach past the public interface.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use crate::support::{USER, environment, texts, user, variables};
use rstest::rstest;
use steward_config::{EngineChoice, Layers, ReadBarrier, Settings, WatchMode, WorktreeMode, resolve};

#[rstest]
#[case("true", WatchMode::On)]
#[case("false", WatchMode::Off)]
#[case("\"true\"", WatchMode::On)]
#[case("\"TRUE\"", WatchMode::On)]
#[case("\"Yes\"", WatchMode::On)]
#[case("\"on\"", WatchMode::On)]
#[case("\"1\"", WatchMode::On)]
#[case("\"false\"", WatchMode::Off)]
#[case("\"no\"", WatchMode::Off)]
#[case("\"off\"", WatchMode::Off)]
#[case("\"0\"", WatchMode::Off)]
#[case("\" AUTO \"", WatchMode::Auto)]
#[case("\"auto\"", WatchMode::Auto)]
fn the_watch_mode_is_a_word_or_a_boolean(#[case] value: &str, #[case] mode: WatchMode) {
    let from_file = resolve(&user(&format!("freshness.watch = {value}")));
    let from_variable = resolve(&variables(&[("CGC_FRESHNESS_WATCH", value.trim_matches('"'))]));

    assert_eq!(from_file.settings.freshness.watch, mode);
    assert_eq!(from_variable.settings.freshness.watch, mode);
    assert_eq!(texts(&from_file), [""; 0]);
    assert_eq!(texts(&from_variable), [""; 0]);
}

#[rstest]
#[case("freshness.watch = \"sometimes\"", "freshness.watch = \"sometimes\"", "off, on or auto")]
#[case("freshness.watch = 1", "freshness.watch = 1", "off, on or auto")]
#[case("freshness.watch = {on = true}", "freshness.watch = {…}", "off, on or auto")]
#[case("freshness.watcherLivenessMs = 0", "freshness.watcherLivenessMs = 0", "a whole number from 1 to 2147483647")]
#[case("freshness.watcherLivenessMs = -5", "freshness.watcherLivenessMs = -5", "a whole number from 1 to 2147483647")]
#[case("freshness.watcherLivenessMs = 1.5", "freshness.watcherLivenessMs = 1.5", "a whole number from 1 to 2147483647")]
#[case(
    "freshness.watcherLivenessMs = \"soon\"",
    "freshness.watcherLivenessMs = \"soon\"",
    "a whole number from 1 to 2147483647"
)]
#[case(
    "freshness.watcherLivenessMs = 99999999999999999999999",
    "freshness.watcherLivenessMs = 99999999999999999999999",
    "a whole number from 1 to 2147483647"
)]
#[case(
    "freshness.maxSyncsPerSession = 1000001",
    "freshness.maxSyncsPerSession = 1000001",
    "a whole number from 0 to 1000000"
)]
#[case("lifecycle.autoCreate = 1", "lifecycle.autoCreate = 1", "true or false")]
#[case("lifecycle.autoCreate = [true]", "lifecycle.autoCreate = […]", "true or false")]
#[case("sync.engine = true", "sync.engine = true", "auto or changed-files or reconcile")]
#[case("worktree.mode = \"yes\"", "worktree.mode = \"yes\"", "off or isolate")]
#[case("cgc.executable = \"  \"", "cgc.executable = \"  \"", "the name or path of a program")]
#[case("cgc.timeoutMs = 2026-01-01", "cgc.timeoutMs = 2026-01-01", "a whole number from 1 to 2147483647")]
fn a_bad_value_is_named_and_costs_nothing_else(#[case] line: &str, #[case] shown: &str, #[case] expected: &str) {
    let resolved = resolve(&user(&format!("output.maxBytes = 5\n{line}\ndaemon.idleExitMs = 6")));

    assert_eq!(texts(&resolved), [format!("{shown} (user file {USER}, line 2) is ignored: it takes {expected}")]);
    assert_eq!(resolved.settings.output.max_bytes, 5);
    assert_eq!(resolved.settings.daemon.idle_exit, Duration::from_millis(6));
}

#[test]
fn a_bad_value_leaves_the_lower_layers_value() {
    let resolved = resolve(&Layers {
        environment: environment(&[("CGC_FRESHNESS_WATCH", "maybe"), ("CGC_FRESHNESS_WATCHER_LIVENESS_MS", "1e3")]),
        ..user("freshness.watch = \"auto\"")
    });

    assert_eq!(resolved.settings.freshness.watch, WatchMode::Auto);
    assert_eq!(resolved.settings.freshness.watcher_liveness, Duration::from_secs(15));
    assert_eq!(
        texts(&resolved),
        [
            "freshness.watch = \"maybe\" (environment variable CGC_FRESHNESS_WATCH) is ignored: it takes off, on or auto",
            "freshness.watcherLivenessMs = \"1e3\" (environment variable CGC_FRESHNESS_WATCHER_LIVENESS_MS) is ignored: it takes a whole number from 1 to 2147483647",
        ]
    );
}

#[test]
fn words_and_numbers_are_read_alike_in_files_and_variables() {
    let resolved = resolve(&Layers {
        environment: environment(&[
            ("CGC_LIFECYCLE_SYNC_ON_START", " No "),
            ("CGC_FRESHNESS_READ_BARRIER", "1"),
            ("CGC_SYNC_ENGINE", "Changed-Files"),
            ("CGC_OUTPUT_MAX_BYTES", " 4096 "),
        ]),
        ..user("cgc.timeoutMs = \"250\"\nfreshness.quietMs = 1_000\nworktree.mode = \"Isolate\"")
    });

    assert!(!resolved.settings.lifecycle.sync_on_start);
    assert_eq!(resolved.settings.freshness.read_barrier, ReadBarrier::On);
    assert_eq!(resolved.settings.sync.engine, EngineChoice::ChangedFiles);
    assert_eq!(resolved.settings.output.max_bytes, 4096);
    assert_eq!(resolved.settings.cgc.timeout, Duration::from_millis(250));
    assert_eq!(resolved.settings.freshness.quiet, Duration::from_secs(1));
    assert_eq!(resolved.settings.worktree.mode, WorktreeMode::Isolate);
    assert_eq!(texts(&resolved), [""; 0]);
}

#[rstest]
#[case("freshness.autosync = false", "freshness.autosync", "; did you mean freshness.autoSync?")]
#[case("[cgc]\ntimeoutMS = 3", "cgc.timeoutMS", "; did you mean cgc.timeoutMs?")]
#[case("colour = \"blue\"", "colour", "")]
#[case("cgc = 3", "cgc", "")]
fn an_unknown_key_is_named(#[case] text: &str, #[case] name: &str, #[case] advice: &str) {
    let resolved = resolve(&user(text));

    let line = text.lines().count();
    assert_eq!(texts(&resolved), [format!("{name} (user file {USER}, line {line}) is no setting{advice}")]);
    assert_eq!(resolved.settings, Settings::default());
}

#[test]
fn a_slip_in_a_variables_name_is_named_and_cgcs_own_variables_are_not() {
    let resolved = resolve(&variables(&[
        ("CGC_FRESHNESS_WACTH", "on"),
        ("CGC_RUNTIME_DB_TYPE", "kuzudb"),
        ("CGC_IGNORE_PROJECT_ENV", "1"),
        ("PATH", "/usr/bin"),
    ]));

    assert_eq!(
        texts(&resolved),
        [
            "CGC_FRESHNESS_WACTH (environment variable CGC_FRESHNESS_WACTH) is no setting; did you mean CGC_FRESHNESS_WATCH?"
        ]
    );
}

#[test]
fn a_variable_that_is_not_text_is_a_bad_value() {
    let resolved = resolve(&Layers {
        environment: [(OsString::from("CGC_EXECUTABLE"), OsString::from_vec(b"/opt/\xff/cgc".to_vec()))]
            .into_iter()
            .collect(),
        ..Layers::default()
    });

    assert_eq!(resolved.settings, Settings::default());
    assert_eq!(resolved.warnings.len(), 1);
}

#[test]
fn a_warning_prints_no_control_characters_and_no_endless_value() {
    let resolved = resolve(&user(&format!("sync.engine = \"\\u001b[2J\\n{}\"", "x".repeat(5000))));

    let [warning] = texts(&resolved).try_into().unwrap();
    assert!(!warning.contains(char::is_control), "{warning:?}");
    assert!(warning.contains("\\u{1b}[2J\\n"), "{warning}");
    assert!(warning.len() < 300, "{warning}");
}
