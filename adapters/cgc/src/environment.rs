//! The environment of a cgc process: the session's own, with what unattended use needs pinned.
//!
//! It must never let a repository's settings through, and never leave open which backend and database file are used.

use std::ffi::OsString;
use std::path::Path;

use steward_ports::{Backend, ContextMode, Environment, GraphTarget};

use crate::files;

/// Every one of these is a fact about cgc 0.6.13 or the library that prints for it.
const PINS: [(&str, &str); 10] = [
    // Without it every message, JSON included, is broken at 80 columns.
    ("COLUMNS", "10000"),
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("LANG", "C.UTF-8"),
    // The first emoji ends a process whose output is not UTF-8.
    ("PYTHONUTF8", "1"),
    // Names fallbacks and missing grammars on stderr; without it both are silent.
    ("ENABLE_APP_LOGS", "WARNING"),
    // `index` would go on as a watcher, and without the context.
    ("ENABLE_AUTO_WATCH", "false"),
    ("ALLOW_DB_DELETION", "false"),
    ("CGC_ALLOW_NEO4J_FALLBACK", "false"),
    ("CGC_IGNORE_PROJECT_ENV", "1"),
];

/// Variables that would undo a pin.
const UNSET: [&str; 5] =
    ["FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONIOENCODING", "CGC_LOAD_PROJECT_ENV"];

/// Returns the environment in which cgc runs for `target`.
///
/// Backend and database file are pinned to what was found, both of them: the file's name follows from other settings
/// than the backend does, so a pinned backend alone would open another file (cgc 0.6.13).
pub(crate) fn build(target: &GraphTarget) -> Environment {
    let mut environment = target.environment.clone();
    if target.location.mode == ContextMode::PerRepository {
        withhold_repository_variables(&mut environment, &target.root);
    }
    for name in UNSET {
        environment.unset(name);
    }
    for (name, value) in PINS {
        environment.set(name, value);
    }
    let backend = &target.location.backend;
    if *backend != Backend::Unknown {
        for name in ["DEFAULT_DATABASE", "CGC_RUNTIME_DB_TYPE"] {
            environment.set(name, backend.name());
        }
    }
    if let Some(database) = &target.location.database {
        environment.set("CGC_RUNTIME_DB_PATH", database.as_os_str());
    }
    environment
}

/// In per-repository mode cgc has to run in the repository, where it takes variables from `mcp.json` unless they are
/// set already. The file comes with the repository, so each variable that it names is pinned to the session's value,
/// or to nothing.
fn withhold_repository_variables(environment: &mut Environment, root: &Path) {
    let Ok(Some(text)) = files::read_text(&root.join("mcp.json")) else {
        return;
    };
    let content: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let named = content.pointer("/mcpServers/CodeGraphContext/env").and_then(serde_json::Value::as_object);
    for name in named.into_iter().flat_map(serde_json::Map::keys) {
        if environment.get(name).is_none() && !name.is_empty() && !name.contains(['=', '\0']) {
            environment.set(OsString::from(name), "");
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::command::tests::target;

    #[test]
    fn what_unattended_use_needs_is_pinned_whatever_the_session_says() {
        let mut target = target(Backend::Kuzu);
        for (name, value) in [
            ("HOME", "/home/dev"),
            ("COLUMNS", "80"),
            ("FORCE_COLOR", "1"),
            ("PYTHONIOENCODING", "ascii"),
            ("ENABLE_AUTO_WATCH", "true"),
            ("ALLOW_DB_DELETION", "true"),
            ("CGC_LOAD_PROJECT_ENV", "1"),
            ("DEFAULT_DATABASE", "falkordb"),
        ] {
            target.environment.set(name, value);
        }

        let environment = build(&target);

        let value = |name: &str| environment.get(name).map(|value| value.to_str().unwrap());
        assert_eq!(value("HOME"), Some("/home/dev"));
        assert_eq!(value("COLUMNS"), Some("10000"));
        assert_eq!(value("FORCE_COLOR"), None);
        assert_eq!(value("PYTHONIOENCODING"), None);
        assert_eq!(value("ENABLE_AUTO_WATCH"), Some("false"));
        assert_eq!(value("ALLOW_DB_DELETION"), Some("false"));
        assert_eq!(value("CGC_LOAD_PROJECT_ENV"), None);
        assert_eq!(value("CGC_IGNORE_PROJECT_ENV"), Some("1"));
        assert_eq!(value("DEFAULT_DATABASE"), Some("kuzudb"));
        assert_eq!(value("CGC_RUNTIME_DB_TYPE"), Some("kuzudb"));
        assert_eq!(value("CGC_RUNTIME_DB_PATH"), Some("/h/.codegraphcontext/global/db/kuzudb"));
    }

    #[rstest]
    #[case::server(Backend::FalkorRemote, Some("falkordb-remote"))]
    #[case::unknown(Backend::Unknown, None)]
    fn only_a_known_backend_is_pinned(#[case] backend: Backend, #[case] expected: Option<&str>) {
        let environment = build(&target(backend));

        assert_eq!(environment.get("DEFAULT_DATABASE").and_then(|value| value.to_str()), expected);
    }

    #[test]
    fn variables_that_a_repository_brings_along_are_withheld() {
        let repository = tempfile::tempdir().unwrap();
        std::fs::write(
            repository.path().join("mcp.json"),
            r#"{"mcpServers": {"CodeGraphContext": {"env": {"NEO4J_URI": "bolt://evil", "PATH": "/evil", "LD_PRELOAD": "x"}}}}"#,
        )
        .unwrap();
        let mut target = target(Backend::Kuzu);
        target.root = repository.path().to_path_buf();
        target.location.mode = ContextMode::PerRepository;
        target.environment.set("PATH", "/usr/bin");

        let environment = build(&target);

        assert_eq!(environment.get("NEO4J_URI"), Some("".as_ref()));
        assert_eq!(environment.get("LD_PRELOAD"), Some("".as_ref()));
        assert_eq!(environment.get("PATH"), Some("/usr/bin".as_ref()));
    }
}
