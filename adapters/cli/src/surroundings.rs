//! What the process was started with: environment, directory, and its own place.
//!
//! It must be the only place that asks the operating system for these.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use steward_filesystem::state_directory;
use steward_ipc::environment::forwarded;
use steward_ports::Environment;

use crate::failure::Failure;

/// What the process was started with.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// The environment.
    pub(crate) environment: Environment,
    directory: io::Result<PathBuf>,
    executable: Option<PathBuf>,
}

impl Surroundings {
    /// Asks the operating system.
    pub(crate) fn of_process() -> Self {
        Self {
            environment: std::env::vars_os().collect(),
            directory: std::env::current_dir(),
            executable: std::env::current_exe().ok(),
        }
    }

    /// Returns the path of this program.
    pub(crate) fn executable(&self) -> Result<&Path, Failure> {
        self.executable.as_deref().ok_or_else(|| Failure::new("the path of this program cannot be found out"))
    }

    /// Returns the directory that the person means: `path`, or where the process was started.
    pub(crate) fn directory(&self, path: Option<&Path>) -> Result<PathBuf, Failure> {
        if let Some(path) = path.filter(|path| path.is_absolute()) {
            return Ok(path.to_owned());
        }
        let current = self
            .directory
            .as_ref()
            .map_err(|error| Failure::new(format!("the current directory cannot be found: {error}")))?;
        Ok(path.map_or_else(|| current.clone(), |path| current.join(path)))
    }

    /// Returns the variables that are handed to the daemon.
    pub(crate) fn forwarded(&self) -> BTreeMap<String, String> {
        forwarded(self.environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned())))
    }

    /// Returns the directory of the companion's state.
    pub(crate) fn state_directory(&self) -> Result<PathBuf, Failure> {
        state_directory(self.environment.get("XDG_STATE_HOME"), self.environment.get("HOME")).ok_or_else(|| {
            Failure::new("there is no place for the companion's state")
                .with_advice("Set HOME or XDG_STATE_HOME to an absolute path.")
        })
    }
}
