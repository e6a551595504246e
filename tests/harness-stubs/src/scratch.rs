//! The place of one test: a temporary directory whose path marks every process that the test starts.
//!
//! It must never survive its test, nor may any process that was started in it.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::error::HarnessError;
use crate::processes::{Mark, assert_no_process_left};

/// How long processes may take to end after the test has done what ends them. Long: a loaded machine is no leak.
const PATIENCE: Duration = Duration::from_secs(10);

/// A temporary directory that is watched for what is left running in it.
///
/// Dropping it fails the test where a process with its mark is still running after a bound; such processes are killed
/// either way. Declare it before what runs in it, so that it is dropped last.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
    mark: Mark,
    patience: Duration,
}

impl Scratch {
    /// Makes the directory.
    pub fn new() -> Result<Self, HarnessError> {
        // Programs report canonical paths, so the mark has to be one.
        let made = env::temp_dir()
            .canonicalize()
            .and_then(|place| tempfile::Builder::new().prefix("steward-test-").tempdir_in(place));
        let directory = made.map_err(|source| HarnessError::System { action: "make a temporary directory", source })?;
        let mark = Mark::directory(directory.path());
        Ok(Self { directory, mark, patience: PATIENCE })
    }

    /// Sets how long processes may take to end at the end of the test.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// The directory, canonical.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// What marks the processes of this test.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Makes a directory below this one, with its parents, and returns its path.
    pub fn directory(&self, name: &str) -> Result<PathBuf, HarnessError> {
        let path = self.path().join(name);
        fs::create_dir_all(&path).map_err(|source| failed("make", &path, source))?;
        Ok(path)
    }

    /// Writes a file below this directory, its parents included, and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf, HarnessError> {
        let path = self.path().join(name);
        let parent = path.parent().unwrap_or(self.path());
        fs::create_dir_all(parent).map_err(|source| failed("make", parent, source))?;
        fs::write(&path, content).map_err(|source| failed("write", &path, source))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if thread::panicking() {
            // What could not be killed cannot be reported either: the test's own panic is under way.
            let _ = self.mark.kill_all();
        } else {
            assert_no_process_left(&self.mark, self.patience);
        }
    }
}

pub(crate) fn failed(action: &'static str, path: &Path, source: io::Error) -> HarnessError {
    HarnessError::File { action, path: path.to_path_buf(), source }
}
