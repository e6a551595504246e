//! Rules for source files: each says what it is responsible for, stays readable, and is compiled by some target.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::{Finding, Package};
use crate::workspace::Workspace;

/// Beyond this a file has more than one responsibility. The aim is 400; the rest is slack for a last change.
const LINES_AT_MOST: usize = 450;

/// Sample inputs of tests, which are data even where they look like code.
const DATA_FOLDER: &str = "fixtures";

/// A Rust file of a package.
#[derive(Debug)]
struct Source {
    /// Relative to the package's folder.
    path: String,
    text: String,
}

pub(super) fn check(workspace: &Workspace, packages: &[Package]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in packages {
        let folder = workspace.root().join(&package.folder);
        let mut sources = Vec::new();
        collect(&folder, &folder, &mut sources)
            .with_context(|| format!("cannot read the sources in {}", folder.display()))?;
        findings.extend(check_package(package, &sources));
    }
    Ok(findings)
}

fn collect(folder: &Path, directory: &Path, sources: &mut Vec<Source>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if entry.file_name() != DATA_FOLDER {
                collect(folder, &path, sources)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            sources.push(Source { path: relative, text: fs::read_to_string(&path)? });
        }
    }
    Ok(())
}

fn check_package(package: &Package, sources: &[Source]) -> Vec<Finding> {
    let declared = declared_modules(sources);
    let mut findings = Vec::new();
    for source in sources {
        let mut find = |problem: String| {
            findings.push(Finding::new(format!("{}/{}", package.folder, source.path), problem));
        };
        if !source.text.starts_with("//!") {
            find("does not begin with a `//!` that says what it is responsible for".to_owned());
        }
        let lines = source.text.lines().count();
        if lines > LINES_AT_MOST {
            find(format!("has {lines} lines; the limit is {LINES_AT_MOST}"));
        }
        if !package.target_roots.contains(&source.path) && !declared.contains(module_name(&source.path)) {
            find("is compiled by no target".to_owned());
        }
    }
    findings
}

/// Every name that some file of the package declares with `mod name;`.
fn declared_modules(sources: &[Source]) -> BTreeSet<&str> {
    let lines = sources.iter().flat_map(|source| source.text.lines());
    lines
        .filter_map(|line| {
            let (visibility, name) = line.trim().strip_suffix(';')?.rsplit_once("mod ")?;
            let is_declaration = visibility.is_empty() || visibility.trim_start().starts_with("pub");
            is_declaration.then_some(name)
        })
        .collect()
}

/// `src/a/b.rs` and `src/a/b/mod.rs` are both module `b`.
fn module_name(path: &str) -> &str {
    let stem = path.strip_suffix("/mod.rs").or_else(|| path.strip_suffix(".rs")).unwrap_or(path);
    stem.rsplit('/').next().unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn findings(path: &str, text: &str) -> Vec<Finding> {
        let package = Package {
            name: "steward-ports".to_owned(),
            folder: "crates/ports".to_owned(),
            dependencies: Vec::new(),
            binaries: Vec::new(),
            target_roots: vec!["src/lib.rs".to_owned(), "tests/ports.rs".to_owned()],
        };
        let sources = [
            Source {
                path: "src/lib.rs".to_owned(),
                text: "//! Ports.\npub(crate) mod clock;\nmod store;\n".to_owned(),
            },
            Source { path: path.to_owned(), text: text.to_owned() },
        ];
        check_package(&package, &sources)
    }

    #[rstest]
    #[case("src/clock.rs")]
    #[case("src/store/mod.rs")]
    #[case("tests/ports.rs")]
    fn a_documented_compiled_file_passes(#[case] path: &str) {
        assert_eq!(findings(path, "//! What it is for.\n"), []);
    }

    #[rstest]
    #[case::no_module_comment("src/clock.rs", "use std::fmt;\n", "does not begin")]
    #[case::undeclared_module("src/forgotten.rs", "//! Text.\n", "compiled by no target")]
    #[case::forgotten_test("tests/forgotten.rs", "//! Text.\n", "compiled by no target")]
    fn a_file_that_breaks_a_rule_is_found(#[case] path: &str, #[case] text: &str, #[case] expected: &str) {
        let found = findings(path, text);

        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0.contains(expected), "{found:?}");
    }

    #[test]
    fn a_file_that_is_too_long_is_found() {
        let long = "//! Text.\n".repeat(LINES_AT_MOST + 1);

        assert!(findings("src/clock.rs", &long)[0].0.contains("451 lines"));
        assert_eq!(findings("src/clock.rs", &"//! Text.\n".repeat(LINES_AT_MOST)), []);
    }
}
