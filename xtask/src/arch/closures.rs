//! Closure rules: what a program must not contain, however far down its dependencies it is.
//!
//! Asks `cargo tree`, which resolves the features of that one package; the workspace's own metadata would mix in the
//! features that other members ask for.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Package, rings};
use crate::command::{capture, cargo};
use crate::workspace::Workspace;

/// The rule for some programs that have to stay small.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Closure {
    /// Folders of crates, exact or ending in `/*`.
    members: BTreeSet<String>,
    /// Crates that must not be in their dependency closure.
    without: BTreeSet<String>,
}

impl Closure {
    pub(super) fn has_member(&self, package: &Package) -> bool {
        rings::matches_any(&self.members, &package.folder)
    }
}

pub(super) fn check(
    workspace: &Workspace,
    closures: &BTreeMap<String, Closure>,
    packages: &[Package],
) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (name, closure) in closures {
        for package in packages.iter().filter(|package| closure.has_member(package)) {
            let tree = capture(
                cargo()
                    .args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
                    .args(["--package", &package.name])
                    .current_dir(workspace.root()),
            )?;
            findings.extend(forbidden(&tree, closure).into_iter().map(|found| {
                let problem = format!("must not contain {found}, however far down (closure {name})");
                Finding::new(&package.name, problem)
            }));
        }
    }
    Ok(findings)
}

fn forbidden<'tree>(tree: &'tree str, closure: &Closure) -> BTreeSet<&'tree str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| closure.without.contains(*name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_crate_is_found_anywhere_in_the_tree() {
        let closure = Closure { members: BTreeSet::new(), without: ["tokio".to_owned()].into() };

        let tree = "steward-hook v0.1.0 (/w/adapters/hook)\nserde v1.0.229\ntokio v1.54.1\ntokio v1.54.1 (*)\n";
        assert_eq!(forbidden(tree, &closure), ["tokio"].into());

        let small = "steward-hook v0.1.0 (/w/adapters/hook)\ntokio-like v1.0.0\n";
        assert_eq!(forbidden(small, &closure), BTreeSet::new());
    }
}
