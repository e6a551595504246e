//! The architecture rules that fail the build: which crate may use which, and how crates and files are kept.
//!
//! The ring rules are data in the root manifest, under `[workspace.metadata.rings]` and `[workspace.metadata.closures]`.
//! This module only reads; it compiles nothing and needs no network.

use std::collections::BTreeMap;
use std::fmt::Display;

use anyhow::{Context as _, bail};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use crate::workspace::Workspace;

mod closures;
mod manifests;
mod rings;
mod sources;

/// The closure rule whose members a harness starts for each event.
const HOOKS: &str = "hooks";

/// One broken rule: where, and what is wrong there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding(String);

impl Finding {
    fn new(place: impl Display, problem: impl Display) -> Self {
        Self(format!("{place}: {problem}"))
    }
}

/// A workspace member as the rules see it.
#[derive(Debug)]
struct Package {
    name: String,
    /// Relative to the workspace root, such as `crates/ports`.
    folder: String,
    dependencies: Vec<Dependency>,
    binaries: Vec<String>,
    /// The root files of all targets, relative to the package's folder.
    target_roots: Vec<String>,
}

#[derive(Debug)]
struct Dependency {
    name: String,
    /// The folder of a dependency that is a workspace member.
    workspace_folder: Option<String>,
    is_dev: bool,
}

/// Prints every broken rule and fails where there is one.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let findings = check(workspace)?;
    for Finding(text) in &findings {
        eprintln!("arch: {text}");
    }
    if !findings.is_empty() {
        bail!("{} architecture rules are broken", findings.len());
    }
    Ok(())
}

/// A program that the workspace installs.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) package: String,
    pub(crate) binary: String,
    /// A harness starts it for each event, as the closure rule `hooks` says.
    pub(crate) is_for_hooks: bool,
}

/// The programs of all adapters; those of `tests/` are for tests only.
pub(crate) fn programs(workspace: &Workspace) -> anyhow::Result<Vec<Program>> {
    let (rules, packages) = read(workspace)?;
    let hooks = rules.closures.get(HOOKS).with_context(|| format!("there is no closure rule `{HOOKS}`"))?;
    let mut programs = Vec::new();
    for package in packages.iter().filter(|package| package.folder.starts_with("adapters/")) {
        let is_for_hooks = hooks.has_member(package);
        programs.extend(package.binaries.iter().map(|binary| Program {
            package: package.name.clone(),
            binary: binary.clone(),
            is_for_hooks,
        }));
    }
    Ok(programs)
}

fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let (rules, packages) = read(workspace)?;
    let mut findings = rings::check(&rules.rings, &packages);
    findings.extend(closures::check(workspace, &rules.closures, &packages)?);
    findings.extend(manifests::check(workspace, &packages)?);
    findings.extend(sources::check(workspace, &packages)?);
    findings.sort();
    Ok(findings)
}

fn read(workspace: &Workspace) -> anyhow::Result<(Rules, Vec<Package>)> {
    let metadata = MetadataCommand::new()
        .current_dir(workspace.root())
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .context("cannot read the workspace's metadata")?;
    let packages = packages(&metadata)?;
    let rules = serde_json::from_value(metadata.workspace_metadata).context("cannot read [workspace.metadata]")?;
    Ok((rules, packages))
}

/// `[workspace.metadata]` of the root manifest.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rings: BTreeMap<String, rings::Ring>,
    closures: BTreeMap<String, closures::Closure>,
}

fn packages(metadata: &Metadata) -> anyhow::Result<Vec<Package>> {
    let relative = |path: &cargo_metadata::camino::Utf8Path| {
        path.strip_prefix(&metadata.workspace_root)
            .map(ToString::to_string)
            .with_context(|| format!("{path} lies outside the workspace"))
    };
    let mut packages = Vec::new();
    for package in metadata.workspace_packages() {
        let folder = package.manifest_path.parent().context("a manifest has no folder")?;
        let mut dependencies = Vec::new();
        for dependency in &package.dependencies {
            dependencies.push(Dependency {
                name: dependency.name.clone(),
                workspace_folder: dependency.path.as_deref().map(relative).transpose()?,
                is_dev: dependency.kind == DependencyKind::Development,
            });
        }
        let binaries = package.targets.iter().filter(|target| target.is_bin());
        let roots = package.targets.iter().filter_map(|target| target.src_path.strip_prefix(folder).ok());
        packages.push(Package {
            name: package.name.to_string(),
            folder: relative(folder)?,
            dependencies,
            binaries: binaries.map(|target| target.name.clone()).collect(),
            target_roots: roots.map(ToString::to_string).collect(),
        });
    }
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_keeps_its_own_rules() {
        let findings = check(&Workspace::locate().unwrap()).unwrap();

        assert_eq!(findings, []);
    }
}
