//! The documents against the program: every key and every command that exists is named, and nothing else.
//!
//! It must never rewrite a document; a failure prints what the document should hold.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use steward_config::{KEYS, Key, Kind};

/// Keys that are read and checked, and that nothing obeys yet.
const NOT_OBEYED_YET: &[&str] = &[
    "freshness.readBarrier",
    "freshness.readBarrierMs",
    "freshness.watch",
    "freshness.watcherLivenessMs",
    "guidance.routingSkill",
    "output.maxBytes",
    "output.redactSecrets",
    "output.spillToTemp",
    "proactive.driftSteers",
    "proactive.resultAnnotations",
    "proactive.sessionNote",
    "sync.engine",
    "tools.cliGap.enabled",
    "worktree.mode",
];

fn document(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", name].iter().collect();
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
}

fn values(key: &Key) -> String {
    match key.kind {
        Kind::Program => "a program".to_owned(),
        Kind::Flag => "true, false".to_owned(),
        Kind::Mode => "off, on, auto".to_owned(),
        Kind::Choice(words) => words.join(", "),
        Kind::Number { minimum, maximum } => format!("{minimum} to {maximum}"),
    }
}

fn table() -> String {
    let mut table = String::from("| key | default | takes | variable | what it does |\n|---|---|---|---|---|\n");
    for key in KEYS {
        let trust = if key.needs_trust { " †" } else { "" };
        let later = if NOT_OBEYED_YET.contains(&key.name) { " ‡" } else { "" };
        writeln!(
            table,
            "| `{}`{trust}{later} | {} | {} | `{}` | {} |",
            key.name,
            key.default,
            values(key),
            key.variable,
            key.help
        )
        .expect("a string takes all that is written");
    }
    table
}

#[test]
fn the_settings_page_holds_every_key_as_the_program_has_it() {
    let table = table();

    let page = document("docs/settings.md");

    assert!(page.contains(&table), "docs/settings.md should hold:\n{table}");
}

#[test]
fn every_key_that_is_said_to_be_not_obeyed_yet_exists() {
    for name in NOT_OBEYED_YET {
        assert!(KEYS.iter().any(|key| key.name == *name), "{name}");
    }
}

#[test]
fn the_readme_names_every_command() {
    let help = Command::new(env!("CARGO_BIN_EXE_steward")).arg("--help").output().expect("steward runs");
    let help = String::from_utf8(help.stdout).expect("help is text");
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.len() >= 8, "{help}");

    let readme = document("README.md");

    for command in commands {
        assert!(readme.contains(&format!("`steward {command}")), "README.md does not name `steward {command}`");
    }
}

#[test]
fn every_page_that_is_linked_exists() {
    let pages = ["README.md", "ARCHITECTURE.md", "adr/README.md"];
    for page in pages {
        let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", page].iter().collect();
        let folder = folder.parent().map(Path::to_owned).expect("a page lies in a folder");
        for target in links(&document(page)) {
            assert!(folder.join(&target).exists(), "{page} links {target}, which does not exist");
        }
    }
}

fn links(page: &str) -> Vec<String> {
    page.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://") && !target.starts_with('#'))
        .map(|target| target.split('#').next().unwrap_or(target).to_owned())
        .collect()
}
