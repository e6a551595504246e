//! Pinned installs of the real components that the tests drive: cgc with its grammars, Claude Code, nextest, cargo-deny.
//!
//! Each component and version has a folder of its own in the cache, which counts as complete when its stamp, written last,
//! says what is wanted now. An interrupted install leaves no stamp and is wiped and redone: virtual environments cannot be
//! moved after they were made, so an install happens in its final place. Nothing outside the cache is written, apart from
//! the package managers' own download caches.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};

use crate::workspace::Workspace;

pub(crate) mod cargo_tool;
pub(crate) mod cgc;
pub(crate) mod claude_code;
pub(crate) mod grammars;
mod npm;
mod python;

const STAMP: &str = ".complete";

/// What can be provisioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Component {
    /// The real cgc, together with the grammars without which it indexes nothing.
    Cgc,
    /// The real harness.
    ClaudeCode,
    /// The test runner.
    Nextest,
    /// The dependency policy checker.
    Deny,
}

impl Component {
    pub(crate) const ALL: [Self; 4] = [Self::Nextest, Self::Deny, Self::Cgc, Self::ClaudeCode];

    /// Reads component names; none, or `all`, means all.
    pub(crate) fn parse_all(names: &[String]) -> anyhow::Result<Vec<Self>> {
        if names.is_empty() || names == ["all"] {
            return Ok(Self::ALL.to_vec());
        }
        names
            .iter()
            .map(|name| match name.as_str() {
                "cgc" => Ok(Self::Cgc),
                "claude-code" => Ok(Self::ClaudeCode),
                "nextest" => Ok(Self::Nextest),
                "deny" => Ok(Self::Deny),
                unknown => bail!("no component `{unknown}`; there are cgc, claude-code, nextest, deny and all"),
            })
            .collect()
    }

    /// Fails, with the way out, where the component is not completely installed.
    pub(crate) fn require(self, workspace: &Workspace) -> anyhow::Result<()> {
        let (name, installation) = match self {
            Self::Cgc => ("cgc", cgc::installation(workspace)?),
            Self::ClaudeCode => ("claude-code", claude_code::installation(workspace)?),
            Self::Nextest => return cargo_tool::NEXTEST.locate(workspace).map(drop),
            Self::Deny => return cargo_tool::DENY.locate(workspace).map(drop),
        };
        if !installation.is_complete() {
            bail!("{name} is not installed; run `cargo xtask provision {name}`");
        }
        Ok(())
    }
}

/// Installs what is missing of the named components. A second run finds the stamps and does nothing.
pub(crate) fn provision(workspace: &Workspace, components: &[Component]) -> anyhow::Result<()> {
    for component in components {
        match component {
            Component::Cgc => {
                grammars::provision(workspace)?;
                cgc::provision(workspace)?;
            }
            Component::ClaudeCode => claude_code::provision(workspace)?,
            Component::Nextest => cargo_tool::NEXTEST.provision(workspace)?,
            Component::Deny => cargo_tool::DENY.provision(workspace)?,
        }
    }
    Ok(())
}

/// One component's folder in the cache, and what its stamp has to say for it to be complete.
#[derive(Debug)]
pub(crate) struct Installation {
    directory: PathBuf,
    pins: String,
}

impl Installation {
    /// `name` holds the version; `pins` is everything that decides what gets installed, lock files included, so that a
    /// changed pin makes the old folder incomplete.
    pub(crate) fn new(workspace: &Workspace, name: &str, pins: String) -> Self {
        Self { directory: workspace.cache().join(name), pins }
    }

    pub(crate) fn is_complete(&self) -> bool {
        fs::read_to_string(self.directory.join(STAMP)).is_ok_and(|stamp| stamp == self.pins)
    }

    /// Runs `install` on an empty folder unless the component is complete, and stamps the folder when it succeeded.
    ///
    /// A file lock beside the folder keeps two runs apart; it is released by any death of its holder.
    pub(crate) fn complete(&self, install: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
        if self.is_complete() {
            return Ok(());
        }
        let _lock = self.lock()?;
        if self.is_complete() {
            return Ok(());
        }
        let shown = self.directory.display();
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory).with_context(|| format!("cannot clear {shown}"))?;
        }
        fs::create_dir(&self.directory).with_context(|| format!("cannot create {shown}"))?;
        eprintln!("installing {shown}");
        let begun = Instant::now();
        install(&self.directory)?;
        let stamp = self.directory.join(STAMP);
        fs::write(&stamp, &self.pins).with_context(|| format!("cannot write {}", stamp.display()))?;
        eprintln!("installed {shown} in {:.1} s", begun.elapsed().as_secs_f64());
        Ok(())
    }

    fn lock(&self) -> anyhow::Result<File> {
        let path = self.directory.with_added_extension("lock");
        let open = || {
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            let file = File::options().create(true).append(true).open(&path)?;
            file.lock()?;
            Ok::<_, std::io::Error>(file)
        };
        open().with_context(|| format!("cannot lock {}", path.display()))
    }
}

/// Reads a file of pinned versions.
fn read_pins(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn installation(directory: &Path, pins: &str) -> Installation {
        Installation { directory: directory.join("tool-1.0"), pins: pins.to_owned() }
    }

    #[test]
    fn a_complete_installation_is_left_alone() {
        let cache = tempfile::tempdir().unwrap();
        let runs = Cell::new(0);
        let install = |_: &Path| {
            runs.set(runs.get() + 1);
            Ok(())
        };

        installation(cache.path(), "tool 1.0").complete(install).unwrap();
        installation(cache.path(), "tool 1.0").complete(install).unwrap();

        assert_eq!(runs.get(), 1);
    }

    #[test]
    fn a_failed_installation_is_not_complete_and_starts_over_empty() {
        let cache = tempfile::tempdir().unwrap();
        let tool = installation(cache.path(), "tool 1.0");

        let failed = tool.complete(|directory| {
            fs::write(directory.join("half"), "")?;
            bail!("interrupted")
        });
        assert!(failed.is_err());
        assert!(!tool.is_complete());

        tool.complete(|directory| {
            assert!(!directory.join("half").exists());
            Ok(())
        })
        .unwrap();
        assert!(tool.is_complete());
    }

    #[test]
    fn changed_pins_make_an_installation_incomplete() {
        let cache = tempfile::tempdir().unwrap();
        installation(cache.path(), "tool 1.0, dependency 1").complete(|_| Ok(())).unwrap();

        assert!(!installation(cache.path(), "tool 1.0, dependency 2").is_complete());
    }

    #[test]
    fn unknown_components_are_refused() {
        assert!(Component::parse_all(&["cgx".to_owned()]).is_err());
        assert_eq!(Component::parse_all(&[]).unwrap(), Component::ALL);
    }
}
