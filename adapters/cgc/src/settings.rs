//! cgc's settings files: `config.yaml` with its contexts, and `.env`.
//!
//! It must never read a setting from a file of the repository where cgc is told to ignore it, and never write one.

mod contexts;
mod dotenv;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use steward_ports::{Environment, GraphToolError};

use crate::files;

pub(crate) use contexts::{Contexts, DEFAULT_DATABASE, repository_database};

/// The directory in which cgc keeps the user's settings and graphs.
pub(crate) fn directory(home: &Path) -> PathBuf {
    home.join(".codegraphcontext")
}

/// The variables that a cgc process works with: the session's environment, completed by cgc's own `.env`.
///
/// cgc 0.6.13 would also take variables from `mcp.json` and, in per-repository mode, from `.env` in its working
/// directory. Those come with the repository, so the companion's own runs are kept away from them and they are left out here.
#[derive(Debug)]
pub(crate) struct Variables<'a> {
    environment: &'a Environment,
    file: Vec<(String, String)>,
}

/// Where a variable was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In the session's environment.
    Environment,
    /// In cgc's own `.env`.
    File,
}

impl<'a> Variables<'a> {
    /// Reads `.env` in cgc's directory, which need not exist.
    pub(crate) fn read(environment: &'a Environment, cgc_directory: &Path) -> Result<Self, GraphToolError> {
        let text = files::read_text(&cgc_directory.join(".env"))?;
        Ok(Self { environment, file: text.map(|text| dotenv::parse(&text)).unwrap_or_default() })
    }

    /// Returns the value of `name` and where it was set. An empty value is returned as such, and hides the file's.
    pub(crate) fn get(&self, name: &str) -> Option<(OsString, Origin)> {
        if let Some(value) = self.environment.get(name) {
            return Some((value.to_owned(), Origin::Environment));
        }
        let (_, value) = self.file.iter().rev().find(|(key, _)| key == name)?;
        Some((OsString::from(value), Origin::File))
    }

    /// Returns the value of `name` unless it is empty: cgc takes most empty settings for absent ones.
    pub(crate) fn non_empty(&self, name: &str) -> Option<(OsString, Origin)> {
        self.get(name).filter(|(value, _)| !value.is_empty())
    }

    /// Whether the session's environment sets `name`, even to nothing.
    pub(crate) fn is_in_environment(&self, name: &str) -> bool {
        self.environment.get(name).is_some()
    }
}

/// Compares a value with a word as cgc does, in any case of letters.
pub(crate) fn is_word(value: &OsStr, word: &str) -> bool {
    value.eq_ignore_ascii_case(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_hides_the_file_even_where_it_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(".env"), "A=file\nB=file\nB=later\n").unwrap();
        let mut environment = Environment::default();
        environment.set("A", "");
        let variables = Variables::read(&environment, directory.path()).unwrap();

        assert_eq!(variables.get("A"), Some(("".into(), Origin::Environment)));
        assert_eq!(variables.non_empty("A"), None);
        assert_eq!(variables.get("B"), Some(("later".into(), Origin::File)));
        assert_eq!(variables.get("C"), None);
    }
}
