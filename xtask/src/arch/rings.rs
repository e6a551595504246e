//! Ring rules: which workspace crates and which third-party crates a crate may depend on directly.
//!
//! Pure: packages and rules in, findings out.

use std::collections::{BTreeMap, BTreeSet};

use super::{Dependency, Finding, Package};

/// The rule for the crates of one ring. Folders are exact or end in `/*`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Ring {
    /// The folders of its crates. An exact folder beats a pattern of another ring.
    pub(super) members: BTreeSet<String>,
    /// Folders of the workspace crates it may use.
    pub(super) workspace: BTreeSet<String>,
    /// Further workspace crates its tests may use; absent means any.
    pub(super) workspace_in_tests: Option<BTreeSet<String>>,
    /// Third-party crates it may use outside tests; absent means any.
    pub(super) third_party: Option<BTreeSet<String>>,
}

pub(super) fn check(rings: &BTreeMap<String, Ring>, packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        match ring_of(rings, &package.folder).as_slice() {
            [(name, ring)] => {
                let broken = package.dependencies.iter().filter(|dependency| !ring.allows(dependency));
                findings.extend(broken.map(|dependency| {
                    let problem = format!("must not depend on {} (ring {name})", dependency.name);
                    Finding::new(&package.name, problem)
                }));
            }
            [] => findings.push(Finding::new(&package.folder, "belongs to no ring")),
            [(first, _), (second, _), ..] => {
                let problem = format!("belongs to the rings {first} and {second}");
                findings.push(Finding::new(&package.folder, problem));
            }
        }
    }
    findings
}

impl Ring {
    fn allows(&self, dependency: &Dependency) -> bool {
        match &dependency.workspace_folder {
            Some(folder) => {
                matches_any(&self.workspace, folder)
                    || dependency.is_dev
                        && self.workspace_in_tests.as_ref().is_none_or(|folders| matches_any(folders, folder))
            }
            None => dependency.is_dev || self.third_party.as_ref().is_none_or(|names| names.contains(&dependency.name)),
        }
    }
}

/// The rings that claim a folder: by its exact name, or else by a pattern.
fn ring_of<'rings>(rings: &'rings BTreeMap<String, Ring>, folder: &str) -> Vec<(&'rings str, &'rings Ring)> {
    let claiming = |claims: &dyn Fn(&Ring) -> bool| -> Vec<_> {
        rings.iter().filter(|(_, ring)| claims(ring)).map(|(name, ring)| (name.as_str(), ring)).collect()
    };
    let exact = claiming(&|ring| ring.members.contains(folder));
    if exact.is_empty() { claiming(&|ring| matches_any(&ring.members, folder)) } else { exact }
}

pub(super) fn matches_any(patterns: &BTreeSet<String>, folder: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix("/*") {
        Some(parent) => folder.rsplit_once('/').is_some_and(|(actual, _)| actual == parent),
        None => pattern == folder,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn rings() -> BTreeMap<String, Ring> {
        let domain = Ring {
            members: set(&["crates/*"]),
            workspace: set(&["crates/ports"]),
            workspace_in_tests: Some(set(&["adapters/doubles"])),
            third_party: Some(set(&["thiserror"])),
        };
        let composition = Ring {
            members: set(&["crates/session"]),
            workspace: set(&["crates/*"]),
            workspace_in_tests: None,
            third_party: None,
        };
        [("domain".to_owned(), domain), ("composition".to_owned(), composition)].into()
    }

    fn findings(folder: &str, name: &str, workspace_folder: Option<&str>, is_dev: bool) -> Vec<Finding> {
        let dependency =
            Dependency { name: name.to_owned(), workspace_folder: workspace_folder.map(str::to_owned), is_dev };
        let package = Package {
            name: format!("steward-{}", folder.rsplit('/').next().unwrap()),
            folder: folder.to_owned(),
            dependencies: vec![dependency],
            binaries: Vec::new(),
            target_roots: Vec::new(),
        };
        check(&rings(), &[package])
    }

    #[rstest]
    #[case::port("crates/lifecycle", "steward-ports", Some("crates/ports"), false)]
    #[case::listed_third_party("crates/lifecycle", "thiserror", None, false)]
    #[case::test_library("crates/lifecycle", "rstest", None, true)]
    #[case::doubles_in_tests("crates/lifecycle", "steward-doubles", Some("adapters/doubles"), true)]
    #[case::exact_member_beats_pattern("crates/session", "steward-lifecycle", Some("crates/lifecycle"), false)]
    fn allowed_edges_pass(
        #[case] folder: &str,
        #[case] name: &str,
        #[case] workspace_folder: Option<&str>,
        #[case] is_dev: bool,
    ) {
        assert_eq!(findings(folder, name, workspace_folder, is_dev), []);
    }

    #[rstest]
    #[case::sibling("crates/lifecycle", "steward-freshness", Some("crates/freshness"), false)]
    #[case::runtime("crates/lifecycle", "tokio", None, false)]
    #[case::doubles_outside_tests("crates/lifecycle", "steward-doubles", Some("adapters/doubles"), false)]
    #[case::adapter_in_tests("crates/lifecycle", "steward-daemon", Some("adapters/daemon"), true)]
    #[case::outer_ring("crates/session", "steward-daemon", Some("adapters/daemon"), false)]
    fn other_edges_are_found(
        #[case] folder: &str,
        #[case] name: &str,
        #[case] workspace_folder: Option<&str>,
        #[case] is_dev: bool,
    ) {
        let found = findings(folder, name, workspace_folder, is_dev);

        assert_eq!(found.len(), 1);
        assert!(found[0].0.contains(&format!("must not depend on {name}")), "{found:?}");
    }

    #[test]
    fn a_crate_without_a_ring_is_found() {
        let found = findings("elsewhere/thing", "thiserror", None, false);

        assert_eq!(found, [Finding::new("elsewhere/thing", "belongs to no ring")]);
    }
}
