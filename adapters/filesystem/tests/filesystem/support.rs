//! Scratch directories with repositories made by the real git.
//!
//! It must never let the developer's own git configuration or home directory into a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A scratch directory that vanishes with its test.
pub(crate) struct Sandbox {
    directory: TempDir,
    root: PathBuf,
}

impl Sandbox {
    /// Makes an empty one.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        Self { directory, root }
    }

    /// The canonical path of `relative` in it.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        if relative.is_empty() { self.root.clone() } else { self.root.join(relative) }
    }

    /// Makes a repository with one commit.
    pub(crate) fn repository(&self, relative: &str) -> PathBuf {
        let path = self.path(relative);
        write(&path.join("a.py"), "def a():\n    return 1\n");
        self.git(&path, &["init"]);
        self.git(&path, &["add", "a.py"]);
        self.git(&path, &["commit", "-m", "first"]);
        path
    }

    /// Runs git and demands that it succeeds.
    pub(crate) fn git(&self, directory: &Path, arguments: &[&str]) {
        self.output(directory, arguments);
    }

    /// Runs git, demands that it succeeds, and returns what it prints.
    pub(crate) fn output(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(directory)
            .args(arguments)
            .env("HOME", self.directory.path().join("no-home"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Test")
            .env("GIT_AUTHOR_EMAIL", "test@example.org")
            .env("GIT_COMMITTER_NAME", "Test")
            .env("GIT_COMMITTER_EMAIL", "test@example.org")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

/// Writes a file and makes the directories above it.
pub(crate) fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
