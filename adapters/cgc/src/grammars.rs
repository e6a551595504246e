//! Which languages cgc can parse, by the files of its grammars.
//!
//! It must never start cgc or fetch a grammar. cgc 0.6.13 fetches a missing one from github.com at its first use, and
//! where that fails it indexes no symbol of that language and exits 0.

use std::fs;
use std::path::{Path, PathBuf};

use steward_ports::{Environment, Installation};

use crate::files;
use crate::installation::Packages;

/// The distribution that brings the grammars, as its metadata directory is called.
const DISTRIBUTION: &str = "tree_sitter_language_pack-";

/// Where the grammars of an installed cgc come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grammars {
    /// They are inside the package, as in versions of it before 1.0.
    Bundled {
        /// The package's version.
        version: String,
    },
    /// They are files that are fetched one by one.
    Fetched {
        /// Where they lie.
        directory: PathBuf,
        /// The languages whose file is there, sorted.
        languages: Vec<String>,
    },
    /// The package was not found beside cgc.
    Unknown,
}

/// Looks for the grammars of `installation` in a session with `environment`.
pub fn grammars(installation: &Installation, environment: &Environment) -> Grammars {
    if let Some(directory) = environment.get("TREE_SITTER_LANGUAGE_PACK_LIBS_DIR").filter(|value| !value.is_empty()) {
        return fetched(directory.into());
    }
    let Ok(home) = files::home_directory(environment) else {
        return Grammars::Unknown;
    };
    let Some(version) = package_version(installation, environment, &home) else {
        return Grammars::Unknown;
    };
    if version.starts_with("0.") {
        return Grammars::Bundled { version };
    }
    let cache = match environment.get("XDG_CACHE_HOME").filter(|value| !value.is_empty()) {
        Some(cache) => PathBuf::from(cache),
        None => home.join(".cache"),
    };
    fetched(cache.join("tree-sitter-language-pack").join(format!("v{version}")).join("libs"))
}

/// `PYTHONPATH` comes before the packages beside cgc, as it does for Python.
fn package_version(installation: &Installation, environment: &Environment, home: &Path) -> Option<String> {
    let script = fs::canonicalize(&installation.executable).unwrap_or_else(|_| installation.executable.clone());
    let beside = Packages::find(installation.interpreter.as_deref(), &script, home);
    let searched = environment.get("PYTHONPATH").map(std::env::split_paths);
    searched
        .into_iter()
        .flatten()
        .chain(beside.map(|packages| packages.directory().to_owned()))
        .find_map(|directory| version_in(&directory))
}

fn version_in(directory: &Path) -> Option<String> {
    fs::read_dir(directory)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .find_map(|name| Some(name.strip_prefix(DISTRIBUTION)?.strip_suffix(".dist-info")?.to_owned()))
}

fn fetched(directory: PathBuf) -> Grammars {
    let mut languages: Vec<String> = fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_prefix("libtree_sitter_")?.split_once('.')?.0.to_owned()))
        .collect();
    languages.sort();
    Grammars::Fetched { directory, languages }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use rstest::rstest;

    use super::*;

    fn environment(variables: &[(&str, &Path)]) -> Environment {
        variables.iter().map(|(name, value)| (OsString::from(name), value.as_os_str().to_owned())).collect()
    }

    /// A virtual environment with cgc and this version of the grammars' package.
    fn installed(at: &Path, version: &str) -> Installation {
        let packages = at.join("lib/python3.11/site-packages");
        fs::create_dir_all(packages.join("codegraphcontext-0.6.13.dist-info")).unwrap();
        fs::create_dir_all(packages.join(format!("{DISTRIBUTION}{version}.dist-info"))).unwrap();
        Installation { executable: at.join("bin/cgc"), interpreter: Some(at.join("bin/python")), version: None }
    }

    fn fill(directory: &Path) {
        fs::create_dir_all(directory).unwrap();
        for name in ["libtree_sitter_rust.so", "libtree_sitter_c_sharp.so", ".download.lock"] {
            fs::write(directory.join(name), "").unwrap();
        }
    }

    #[rstest]
    #[case::home_cache("HOME", "home/.cache/tree-sitter-language-pack/v1.25.0/libs")]
    #[case::chosen_cache("XDG_CACHE_HOME", "cache/tree-sitter-language-pack/v1.25.0/libs")]
    #[case::chosen_directory("TREE_SITTER_LANGUAGE_PACK_LIBS_DIR", "grammars")]
    fn fetched_grammars_are_found_where_cgc_looks(#[case] variable: &str, #[case] place: &str) {
        let directory = tempfile::tempdir().unwrap();
        let libraries = directory.path().join(place);
        fill(&libraries);
        let first = Path::new(place).components().next().unwrap();
        let home = directory.path().join("home");
        let environment = environment(&[("HOME", &home), (variable, &directory.path().join(first))]);

        let found = grammars(&installed(directory.path(), "1.25.0"), &environment);

        assert_eq!(
            found,
            Grammars::Fetched { directory: libraries, languages: vec!["c_sharp".to_owned(), "rust".to_owned()] }
        );
    }

    #[test]
    fn an_empty_cache_holds_no_language() {
        let directory = tempfile::tempdir().unwrap();

        let found = grammars(&installed(directory.path(), "1.25.0"), &environment(&[("HOME", directory.path())]));

        assert!(matches!(found, Grammars::Fetched { languages, .. } if languages.is_empty()));
    }

    #[test]
    fn an_older_package_on_the_python_path_brings_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let overlay = directory.path().join("overlay");
        fs::create_dir_all(overlay.join(format!("{DISTRIBUTION}0.13.0.dist-info"))).unwrap();
        let environment = environment(&[("HOME", directory.path()), ("PYTHONPATH", &overlay)]);

        let found = grammars(&installed(directory.path(), "1.25.0"), &environment);

        assert_eq!(found, Grammars::Bundled { version: "0.13.0".to_owned() });
    }

    #[test]
    fn without_the_package_nothing_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let installation =
            Installation { executable: directory.path().join("bin/cgc"), interpreter: None, version: None };

        let found = grammars(&installation, &environment(&[("HOME", directory.path())]));

        assert_eq!(found, Grammars::Unknown);
    }
}
