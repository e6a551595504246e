//! Claude Code, pinned, from the npm registry.
//!
//! Its updater is never run: tests start the pinned program only.

use std::path::PathBuf;

use anyhow::bail;

use super::{Installation, npm, read_pins};
use crate::command::{capture, program};
use crate::workspace::Workspace;

/// The version whose hook contract the adapter was written against.
const VERSION: &str = "2.1.197";

pub(crate) fn installation(workspace: &Workspace) -> anyhow::Result<Installation> {
    let pins = read_pins(&workspace.pins().join("claude-code/package-lock.json"))?;
    Ok(Installation::new(workspace, &directory_name(), pins))
}

/// The program that tests start.
pub(crate) fn executable(workspace: &Workspace) -> PathBuf {
    workspace.cache().join(directory_name()).join("node_modules/.bin/claude")
}

pub(crate) fn provision(workspace: &Workspace) -> anyhow::Result<()> {
    installation(workspace)?.complete(|directory| {
        npm::install_locked(&workspace.pins().join("claude-code"), directory)?;
        // The package's install script, which puts the platform's binary in the place of a stub that only prints advice.
        let package = directory.join("node_modules/@anthropic-ai/claude-code");
        capture(program("node").arg("install.cjs").current_dir(package))?;
        let home = tempfile::tempdir()?;
        let version = capture(
            program(executable(workspace)).arg("--version").env("HOME", home.path()).env("DISABLE_AUTOUPDATER", "1"),
        )?;
        if !version.starts_with(VERSION) {
            bail!("Claude Code {VERSION} was installed and says it is {}", version.trim());
        }
        Ok(())
    })
}

fn directory_name() -> String {
    format!("claude-code-{VERSION}")
}
