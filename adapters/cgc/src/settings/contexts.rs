//! `config.yaml`: how cgc chooses a database, and the named contexts.
//!
//! It must never fail where cgc goes on: a file that makes no sense means the defaults to cgc, so it does here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use steward_ports::{ContextMode, GraphToolError};

use crate::files;

/// The backend that cgc 0.6.13 writes down where nobody chose one. It stands for "the first that works".
pub(crate) const DEFAULT_DATABASE: &str = "falkordb";

/// A named context as cgc registered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedContext {
    /// The backend's name.
    pub(crate) database: String,
    /// The database file; relative paths are cgc's working directory's.
    pub(crate) path: PathBuf,
    /// The ignore file, which need not exist.
    pub(crate) ignore_file: PathBuf,
}

/// The content of `config.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contexts {
    /// How cgc chooses.
    pub(crate) mode: ContextMode,
    /// The context that applies in named mode; empty where none was chosen.
    pub(crate) default: String,
    named: BTreeMap<String, NamedContext>,
    directory: PathBuf,
}

impl Contexts {
    /// Reads `config.yaml` in cgc's directory, or its older name where there is no such file.
    pub(crate) fn read(cgc_directory: &Path) -> Result<Self, GraphToolError> {
        let text = match files::read_text(&cgc_directory.join("config.yaml"))? {
            Some(text) => Some(text),
            None => files::read_text(&cgc_directory.join("cgc_config.yaml"))?,
        };
        Ok(Self::parse(text.as_deref().unwrap_or_default(), cgc_directory))
    }

    /// Returns the context `name`; one that is not registered is what cgc would make of the name.
    pub(crate) fn named(&self, name: &str) -> NamedContext {
        self.named.get(name).cloned().unwrap_or_else(|| named_context(name, &Value::Null, &self.directory))
    }

    fn parse(text: &str, cgc_directory: &Path) -> Self {
        let content = yaml(text);
        let entries = match content.get("contexts") {
            None => Some(BTreeMap::new()),
            Some(Value::Object(contexts)) => Some(
                contexts
                    .iter()
                    .map(|(name, entry)| (name.clone(), named_context(name, entry, cgc_directory)))
                    .collect(),
            ),
            // cgc stumbles over anything else and then takes the defaults for the whole file.
            Some(_) => None,
        };
        let text_of = |key| content.get(key).and_then(Value::as_str).unwrap_or_default();
        let mode = match text_of("mode") {
            "per-repo" => ContextMode::PerRepository,
            "named" => ContextMode::Named,
            _ => ContextMode::Global,
        };
        let (mode, default, named) = match entries {
            Some(named) => (mode, text_of("default_context").to_owned(), named),
            None => (ContextMode::Global, String::new(), BTreeMap::new()),
        };
        Self { mode, default, named, directory: cgc_directory.to_path_buf() }
    }
}

/// Returns the backend that a repository's own `config.yaml` names.
pub(crate) fn repository_database(repository_directory: &Path) -> Result<Option<String>, GraphToolError> {
    let text = files::read_text(&repository_directory.join("config.yaml"))?;
    Ok(text.and_then(|text| {
        let database = yaml(&text).get("database")?.as_str()?.to_owned();
        Some(database).filter(|database| is_file_name(database))
    }))
}

fn named_context(name: &str, entry: &Value, cgc_directory: &Path) -> NamedContext {
    let text_of = |key| entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let directory = cgc_directory.join("contexts").join(name);
    let database = text_of("database").unwrap_or(DEFAULT_DATABASE).to_owned();
    NamedContext {
        path: text_of("db_path").map_or_else(|| directory.join("db").join(&database), PathBuf::from),
        ignore_file: text_of("cgcignore_path").map_or_else(|| directory.join(".cgcignore"), PathBuf::from),
        database,
    }
}

/// The repository's own file names a file below its own directory; one that leads out of it is not followed.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/')
}

/// Parses YAML; whatever makes no sense is nothing.
fn yaml(text: &str) -> Value {
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        // cgc writes no aliases; a repository's file may be made of nothing else.
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 1_000,
        },
    };
    serde_saphyr::from_str_with_options(text, options).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn parse(text: &str) -> Contexts {
        Contexts::parse(text, Path::new("/h/.codegraphcontext"))
    }

    #[rstest]
    #[case::as_cgc_writes_it("version: 1\nmode: global\ndefault_context: ''\ncontexts: {}\n", ContextMode::Global)]
    #[case::per_repository("mode: per-repo\n", ContextMode::PerRepository)]
    #[case::named("mode: named\ndefault_context: a\n", ContextMode::Named)]
    #[case::empty("", ContextMode::Global)]
    #[case::other_value("mode: weird\n", ContextMode::Global)]
    #[case::broken("mode: [per-repo\n  x: : y", ContextMode::Global)]
    #[case::no_mapping("- per-repo\n", ContextMode::Global)]
    #[case::null_contexts("mode: per-repo\ncontexts: null\n", ContextMode::Global)]
    #[case::odd_keys("mode: per-repo\ncontexts: {123: {database: kuzudb}}\n", ContextMode::PerRepository)]
    fn the_mode_is_what_cgc_would_take(#[case] text: &str, #[case] mode: ContextMode) {
        assert_eq!(parse(text).mode, mode);
    }

    #[test]
    fn a_named_context_has_its_own_files() {
        let contexts = parse(
            "mode: named\ndefault_context: a\ncontexts:\n  a:\n    database: ladybugdb\n    db_path: /d/ladybugdb\n    \
             repos: [/r]\n    cgcignore_path: /d/.cgcignore\n  b: null\n",
        );

        assert_eq!(
            contexts.named("a"),
            NamedContext {
                database: "ladybugdb".into(),
                path: "/d/ladybugdb".into(),
                ignore_file: "/d/.cgcignore".into(),
            }
        );
        for unset in ["b", "unregistered"] {
            let directory = Path::new("/h/.codegraphcontext/contexts").join(unset);
            assert_eq!(
                contexts.named(unset),
                NamedContext {
                    database: "falkordb".into(),
                    path: directory.join("db/falkordb"),
                    ignore_file: directory.join(".cgcignore"),
                }
            );
        }
    }

    #[test]
    fn a_bomb_of_aliases_is_nothing() {
        let levels: Vec<String> = (1..12)
            .map(|level| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", ")))
            .collect();
        let text = format!("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{}mode: per-repo\n", levels.concat());

        assert_eq!(parse(&text).mode, ContextMode::Global);
    }

    #[rstest]
    #[case("database: ladybugdb\n", Some("ladybugdb"))]
    #[case("database: ../../../elsewhere\n", None)]
    #[case("database: [kuzudb]\n", None)]
    #[case("", None)]
    fn a_repository_names_its_backend(#[case] text: &str, #[case] expected: Option<&str>) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("config.yaml"), text).unwrap();

        assert_eq!(repository_database(directory.path()).unwrap().as_deref(), expected);
    }
}
