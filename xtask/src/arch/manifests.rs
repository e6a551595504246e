//! Rules for manifests: names, lints and versions have one home, and no two programs share a name.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context as _;
use toml::Table;

use super::{Finding, Package};
use crate::workspace::Workspace;

/// Package keys that every member takes from the workspace.
const INHERITED: [&str; 4] = ["edition", "license", "publish", "rust-version"];

pub(super) fn check(workspace: &Workspace, packages: &[Package]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = shared_binary_names(packages);
    for package in packages {
        let path = workspace.root().join(&package.folder).join("Cargo.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let manifest: Table = text.parse().with_context(|| format!("cannot parse {}", path.display()))?;
        findings.extend(check_one(package, &manifest));
    }
    Ok(findings)
}

fn check_one(package: &Package, manifest: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |problem: String| {
        findings.push(Finding::new(format!("{}/Cargo.toml", package.folder), problem));
    };

    if let Some((_, folder)) = package.folder.rsplit_once('/')
        && package.name != format!("steward-{folder}")
    {
        find(format!("the package is named {} and not steward-{folder}", package.name));
    }
    if !is_inherited(manifest.get("lints")) {
        find("lacks `[lints] workspace = true`".to_owned());
    }
    for key in INHERITED {
        if !is_inherited(manifest.get("package").and_then(|package| package.get(key))) {
            find(format!("lacks `{key}.workspace = true`"));
        }
    }
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let sections = targets.into_iter().flat_map(Table::values).filter_map(toml::Value::as_table).chain([manifest]);
    for section in sections {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let dependencies = section.get(kind).and_then(toml::Value::as_table);
            for (name, dependency) in dependencies.into_iter().flatten() {
                if !is_inherited(Some(dependency)) {
                    find(format!("{name} in [{kind}] does not take its version from the workspace"));
                }
            }
        }
    }
    findings
}

fn is_inherited(value: Option<&toml::Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
}

fn shared_binary_names(packages: &[Package]) -> Vec<Finding> {
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        for binary in &package.binaries {
            owners.entry(binary).or_default().push(&package.name);
        }
    }
    let shared = owners.into_iter().filter(|(_, packages)| packages.len() > 1);
    shared
        .map(|(binary, packages)| Finding::new(binary, format!("is a program of {}", packages.join(" and of "))))
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const GOOD: &str = "
        [package]
        edition.workspace = true
        license.workspace = true
        publish.workspace = true
        rust-version.workspace = true
        [dependencies]
        thiserror.workspace = true
        [target.'cfg(unix)'.dependencies]
        rustix = { workspace = true, features = ['fs'] }
        [lints]
        workspace = true
    ";

    fn package(name: &str, binaries: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            folder: "crates/ports".to_owned(),
            dependencies: Vec::new(),
            binaries: binaries.iter().map(ToString::to_string).collect(),
            target_roots: Vec::new(),
        }
    }

    #[test]
    fn a_manifest_that_inherits_everything_passes() {
        assert_eq!(check_one(&package("steward-ports", &[]), &GOOD.parse().unwrap()), []);
    }

    #[rstest]
    #[case::own_version("thiserror.workspace = true", "thiserror = '2'", "thiserror in [dependencies]")]
    #[case::own_target_version("{ workspace = true, features = ['fs'] }", "'1'", "rustix in [dependencies]")]
    #[case::no_lints("[lints]\n        workspace = true", "", "[lints]")]
    #[case::own_edition("edition.workspace = true", "edition = '2021'", "edition.workspace")]
    fn what_is_not_inherited_is_found(#[case] from: &str, #[case] to: &str, #[case] expected: &str) {
        let manifest = GOOD.replace(from, to).parse().unwrap();

        let found = check_one(&package("steward-ports", &[]), &manifest);

        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0.contains(expected), "{found:?}");
    }

    #[test]
    fn a_package_named_otherwise_than_its_folder_is_found() {
        let found = check_one(&package("ports", &[]), &GOOD.parse().unwrap());

        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn a_program_name_used_twice_is_found() {
        let packages = [package("steward-a", &["steward"]), package("steward-b", &["steward", "other"])];

        let found = shared_binary_names(&packages);

        assert_eq!(found, [Finding::new("steward", "is a program of steward-a and of steward-b")]);
    }
}
