//! What the process was started with: environment, directory, and its own place.
//!
//! It must be the only place that asks the operating system for these.

use std::path::{Path, PathBuf};

use steward_filesystem::state_directory;
use steward_ports::Environment;

use crate::failure::Failure;

/// What the process was started with.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// The environment.
    pub(crate) environment: Environment,
    executable: Option<PathBuf>,
}

impl Surroundings {
    /// Asks the operating system.
    pub(crate) fn of_process() -> Self {
        Self { environment: std::env::vars_os().collect(), executable: std::env::current_exe().ok() }
    }

    /// Returns the path of this program.
    pub(crate) fn executable(&self) -> Result<&Path, Failure> {
        self.executable.as_deref().ok_or_else(|| Failure::new("the path of this program cannot be found out"))
    }

    /// Returns the directory of the companion's state.
    pub(crate) fn state_directory(&self) -> Result<PathBuf, Failure> {
        state_directory(self.environment.get("XDG_STATE_HOME"), self.environment.get("HOME")).ok_or_else(|| {
            Failure::new("there is no place for the companion's state")
                .with_advice("Set HOME or XDG_STATE_HOME to an absolute path.")
        })
    }
}
