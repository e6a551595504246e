//! Which layer counts, which files are used, and what a project may set, by tables.
//!
//! It must never reach past the public interface.

use std::path::Path;
use std::time::Duration;

use crate::support::{PROJECT, USER, environment, project, texts, user, variables};
use proptest::prelude::*;
use rstest::rstest;
use steward_config::{
    FileLayer, KEYS, Kind, Layers, Origin, Settings, Warning, WatchMode, WorktreeMode, resolve, user_file,
};

#[test]
fn without_layers_every_key_has_the_default_of_the_table() {
    let resolved = resolve(&Layers::default());

    assert_eq!(resolved.settings, Settings::default());
    assert_eq!(resolved.warnings, []);
    for key in KEYS {
        assert_eq!(resolved.values[key.name], (key.default.to_owned(), Origin::Default), "{}", key.name);
    }
}

#[test]
fn the_table_and_the_settings_know_the_same_keys_and_defaults() {
    let written: Vec<String> = KEYS
        .iter()
        .map(|key| match key.kind {
            Kind::Program | Kind::Mode | Kind::Choice(_) => {
                format!("{} = \"{}\"", key.name, key.default)
            }
            Kind::Flag | Kind::Number { .. } => format!("{} = {}", key.name, key.default),
        })
        .collect();

    let from_table: Settings = toml::from_str(&written.join("\n")).unwrap();

    assert_eq!(from_table, Settings::default());
    assert_eq!(leaves(&toml::Table::try_from(Settings::default()).unwrap()), KEYS.len());
}

fn leaves(table: &toml::Table) -> usize {
    table.values().map(|value| value.as_table().map_or(1, leaves)).sum()
}

#[test]
fn each_key_is_set_by_each_layer() {
    for key in KEYS {
        let (text, shown) = match key.kind {
            Kind::Program => ("\"/opt/cgc\"", "/opt/cgc"),
            Kind::Flag if key.default == "true" => ("false", "false"),
            Kind::Flag => ("true", "true"),
            Kind::Mode => ("\"on\"", "on"),
            Kind::Choice(words) if words.contains(&"isolate") => ("\"isolate\"", "isolate"),
            Kind::Choice(_) => ("\"reconcile\"", "reconcile"),
            Kind::Number { .. } => ("77", "77"),
        };
        let file = format!("{} = {text}", key.name);
        let layers = [user(&file), project(&file, true), variables(&[(key.variable, shown)])];
        for layers in layers {
            let resolved = resolve(&layers);

            assert_eq!(texts(&resolved), [""; 0], "{}", key.name);
            assert_eq!(resolved.values[key.name].0, shown, "{}", key.name);
            assert_ne!(resolved.settings, Settings::default(), "{}", key.name);
        }
    }
}

#[test]
fn the_highest_layer_wins_key_by_key_and_each_value_names_its_origin() {
    let resolved = resolve(&Layers {
        user: Some(FileLayer::text(USER, "[cgc]\ntimeoutMs = 1\nmaintenanceTimeoutMs = 2\n[freshness]\nquietMs = 3\n")),
        project: Some(FileLayer::text(PROJECT, "cgc.maintenanceTimeoutMs = 20\nfreshness.quietMs = 30")),
        project_trusted: false,
        environment: environment(&[("CGC_FRESHNESS_QUIET_MS", "300")]),
    });

    assert_eq!(resolved.settings.cgc.timeout, Duration::from_millis(1));
    assert_eq!(resolved.settings.cgc.maintenance_timeout, Duration::from_millis(20));
    assert_eq!(resolved.settings.freshness.quiet, Duration::from_millis(300));
    assert_eq!(
        [
            resolved.values["cgc.timeoutMs"].1.to_string(),
            resolved.values["cgc.maintenanceTimeoutMs"].1.to_string(),
            resolved.values["freshness.quietMs"].1.to_string(),
            resolved.values["output.maxBytes"].1.to_string(),
        ],
        [
            format!("user file {USER}, line 2"),
            format!("project file {PROJECT}, line 1"),
            "environment variable CGC_FRESHNESS_QUIET_MS".to_owned(),
            "default".to_owned(),
        ]
    );
    assert_eq!(texts(&resolved), [""; 0]);
}

#[test]
fn a_variable_that_is_set_to_nothing_counts_as_unset() {
    let resolved = resolve(&variables(&[("CGC_EXECUTABLE", ""), ("CGC_TIMEOUT_MS", "")]));

    assert_eq!(resolved, resolve(&Layers::default()));
}

#[test]
fn a_malformed_file_is_ignored_with_one_warning_that_names_the_line() {
    let resolved = resolve(&Layers {
        environment: environment(&[("CGC_TIMEOUT_MS", "7")]),
        ..user("[cgc]\nmaintenanceTimeoutMs = 5\ntimeoutMs = = 3\n")
    });

    let [warning] = texts(&resolved).try_into().unwrap();
    assert!(warning.starts_with(&format!("user file {USER}, line 3 is ignored: ")), "{warning}");
    assert_eq!(resolved.settings.cgc.timeout, Duration::from_millis(7));
    assert_eq!(resolved.settings.cgc.maintenance_timeout, Duration::from_mins(10));
}

#[test]
fn trial_b96_a_byte_order_mark_is_skipped_and_other_bytes_cost_the_layer_only() {
    let marked = "\u{feff}# naïve — café\ncgc.timeoutMs = 9\n".as_bytes();
    let garbled = b"# caf\xe9\ncgc.timeoutMs = 9\n";

    let good = resolve(&Layers { user: Some(FileLayer::bytes(USER, marked)), ..Layers::default() });
    let bad = resolve(&Layers { user: Some(FileLayer::bytes(USER, garbled)), ..Layers::default() });

    assert_eq!(good.settings.cgc.timeout, Duration::from_millis(9));
    assert_eq!(texts(&good), [""; 0]);
    assert_eq!(bad.settings, Settings::default());
    assert_eq!(texts(&bad), [format!("user file {USER}, line 1 is ignored: it is not UTF-8")]);
}

#[test]
fn a_file_that_could_not_be_read_is_one_warning() {
    let resolved =
        resolve(&Layers { project: Some(FileLayer::unusable(PROJECT, "permission denied")), ..Layers::default() });

    assert_eq!(texts(&resolved), [format!("project file {PROJECT} is ignored: permission denied")]);
}

#[test]
fn trial_b135_an_untrusted_project_starts_nothing_and_is_told_once() {
    let text = "cgc.executable = \"./evil\"\ncgc.timeoutMs = 5\nlifecycle.autoCreate = true\n\
                freshness.watch = \"on\"\nworktree.mode = \"isolate\"\noutput.redactSecrets = false\n\
                tools.cliGap.enabled = false\n";

    let untrusted = resolve(&project(text, false));
    let trusted = resolve(&project(text, true));

    let keys = [
        "cgc.executable",
        "lifecycle.autoCreate",
        "freshness.watch",
        "worktree.mode",
        "output.redactSecrets",
        "tools.cliGap.enabled",
    ];
    assert_eq!(untrusted.untrusted_keys, keys);
    assert_eq!(
        texts(&untrusted),
        [format!(
            "project file {PROJECT} sets {}, which counts only after you have trusted that file",
            keys.join(", ")
        )]
    );
    let mut expected = Settings::default();
    expected.cgc.timeout = Duration::from_millis(5);
    assert_eq!(untrusted.settings, expected);
    assert_eq!(trusted.settings.cgc.executable, Path::new("./evil"));
    assert_eq!(trusted.settings.freshness.watch, WatchMode::On);
    assert_eq!(trusted.settings.worktree.mode, WorktreeMode::Isolate);
    assert!(trusted.settings.lifecycle.auto_create);
    assert!(!trusted.settings.output.redact_secrets);
    assert!(!trusted.settings.tools.cli_gap.enabled);
    assert_eq!(trusted.untrusted_keys, [""; 0]);
    assert_eq!(texts(&trusted), [""; 0]);
}

#[test]
fn the_users_own_file_needs_no_trust() {
    let resolved = resolve(&user("cgc.executable = \"/opt/cgc\"\nlifecycle.autoCreate = true"));

    assert_eq!(resolved.settings.cgc.executable, Path::new("/opt/cgc"));
    assert!(resolved.settings.lifecycle.auto_create);
}

#[rstest]
#[case(&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")], Some("/x/cgc-steward/config.toml"))]
#[case(&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/h")], Some("/h/.config/cgc-steward/config.toml"))]
#[case(&[("XDG_CONFIG_HOME", ""), ("HOME", "/h")], Some("/h/.config/cgc-steward/config.toml"))]
#[case(&[("HOME", "")], None)]
#[case(&[], None)]
fn the_users_file_is_where_the_xdg_specification_puts_it(
    #[case] variables: &[(&str, &str)],
    #[case] expected: Option<&str>,
) {
    assert_eq!(user_file(&environment(variables)).as_deref(), expected.map(Path::new));
}

proptest! {
    #[test]
    fn any_file_and_any_variable_resolve_without_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        value in ".{0,20}",
        index in 0..KEYS.len(),
    ) {
        let resolved = resolve(&Layers {
            user: Some(FileLayer::bytes(USER, &bytes)),
            project: Some(FileLayer::text(PROJECT, format!("{} = {value}", KEYS[index].name))),
            project_trusted: true,
            environment: environment(&[(KEYS[index].variable, &value)]),
        });

        prop_assert_eq!(resolved.values.len(), KEYS.len());
        let merged = !resolved
            .warnings
            .iter()
            .any(|warning| matches!(warning, Warning::Unmergeable { .. }));
        prop_assert!(merged);
    }

    #[test]
    fn a_bad_value_never_changes_another_key(index in 0..KEYS.len(), other in 0..KEYS.len()) {
        prop_assume!(index != other);
        let value = match KEYS[other].kind {
            Kind::Number { .. } => "42".to_owned(),
            Kind::Flag => "false".to_owned(),
            Kind::Mode => "\"on\"".to_owned(),
            Kind::Choice(words) => format!("\"{}\"", words[words.len() - 1]),
            Kind::Program => "\"other\"".to_owned(),
        };
        let good = format!("{} = {value}", KEYS[other].name);

        let alone = resolve(&user(&good));
        let beside = resolve(&user(&format!("{} = []\n{good}", KEYS[index].name)));

        prop_assert_eq!(alone.settings, beside.settings);
        prop_assert_eq!(beside.warnings.len(), 1);
    }
}
