//! How the test runner is called: which tests, under which profile, with which environment.
//!
//! Builds command lines; reads no result.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use cargo_metadata::MetadataCommand;

use crate::command::{cargo, run};
use crate::environment;
use crate::provision::cargo_tool::NEXTEST;
use crate::workspace::Workspace;

/// A profile of `.config/nextest.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Default,
    Ci,
    Conformance,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Ci => "ci",
            Self::Conformance => "conformance",
        }
    }
}

/// Which packages' tests.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'names> {
    Workspace,
    /// Those of these packages that exist.
    Packages(&'names [&'names str]),
}

/// One call of the test runner.
#[derive(Debug)]
pub(crate) struct TestRun<'workspace> {
    workspace: &'workspace Workspace,
    selection: Vec<String>,
    profile: Profile,
}

impl<'workspace> TestRun<'workspace> {
    pub(crate) fn new(workspace: &'workspace Workspace, scope: Scope<'_>, profile: Profile) -> anyhow::Result<Self> {
        let selection = match scope {
            Scope::Workspace => vec!["--workspace".to_owned()],
            Scope::Packages(names) => {
                let existing = package_names(workspace)?;
                let wanted = names.iter().filter(|name| existing.iter().any(|known| known == *name));
                wanted.map(|name| format!("--package={name}")).collect()
            }
        };
        Ok(Self { workspace, selection, profile })
    }

    /// The command that prints the list of tests as JSON; none where there are no packages to list.
    pub(crate) fn list_command(&self) -> anyhow::Result<Option<Command>> {
        let command = self.command("list")?;
        Ok(command.map(|mut command| {
            command.args(["--message-format", "json"]);
            command
        }))
    }

    /// The command that runs the tests; none where there are no packages to test.
    pub(crate) fn run_command(&self) -> anyhow::Result<Option<Command>> {
        let command = self.command("run")?;
        Ok(command.map(|mut command| {
            command.args(["--no-fail-fast", "--no-tests", "pass"]);
            command.envs(environment::variables(self.workspace, &binary_directory(self.workspace)));
            command
        }))
    }

    /// Where the runner leaves its `JUnit` report.
    pub(crate) fn report(&self) -> PathBuf {
        self.workspace.root().join("target/nextest").join(self.profile.name()).join("junit.xml")
    }

    /// Removes an earlier report, so that it cannot be taken for this run's.
    pub(crate) fn discard_report(&self) -> anyhow::Result<()> {
        let report = self.report();
        match fs::remove_file(&report) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", report.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn command(&self, verb: &str) -> anyhow::Result<Option<Command>> {
        if self.selection.is_empty() {
            return Ok(None);
        }
        let mut command = NEXTEST.command(self.workspace)?;
        command.args([verb, "--profile", self.profile.name()]).args(&self.selection);
        Ok(Some(command))
    }
}

/// Builds every program of the workspace, since tests start them from their build directory.
pub(crate) fn build_programs(workspace: &Workspace) -> anyhow::Result<()> {
    run(cargo().args(["build", "--workspace", "--bins"]).current_dir(workspace.root()))
}

/// The directory that [`build_programs`] fills.
pub(crate) fn binary_directory(workspace: &Workspace) -> PathBuf {
    workspace.target().join("debug")
}

fn package_names(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let metadata = MetadataCommand::new()
        .current_dir(workspace.root())
        .no_deps()
        .exec()
        .context("cannot read the workspace's metadata")?;
    Ok(metadata.workspace_packages().iter().map(|package| package.name.to_string()).collect())
}
