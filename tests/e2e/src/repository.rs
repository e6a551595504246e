//! Git repositories of small Python files, made for one test.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, utimensat};

/// A git repository, and the working tree that a session starts in.
#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
    home: PathBuf,
}

impl Repository {
    /// Makes an empty repository at `root`. `home` is where git looks for the user's settings.
    pub(crate) fn init(root: PathBuf, home: PathBuf) -> Self {
        let repository = Self { root, home };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// The top of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The absolute path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file, its parents included, and returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a Python module with one function for each name, each calling the one before it.
    pub fn write_python(&self, name: &str, functions: &[&str]) -> PathBuf {
        let mut text = String::new();
        let mut called = None;
        for function in functions {
            let body = called.map_or_else(|| "1".to_owned(), |called| format!("{called}()"));
            write!(text, "def {function}():\n    return {body}\n\n\n").unwrap();
            called = Some(function);
        }
        self.write(name, text)
    }

    /// Removes a file.
    pub fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// Renames a file.
    pub fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    /// Gives a file another time of modification, in seconds since the epoch, and leaves its content.
    pub fn set_modified(&self, name: &str, seconds: i64) {
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: seconds, tv_nsec: 0 },
        };
        utimensat(CWD, self.path(name), &times, AtFlags::empty()).unwrap();
    }

    /// Commits everything and returns the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the repository, untouched by the developer's settings, and returns what it printed.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"])
            // A collection in the background would outlive the test.
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.hooksPath=/dev/null"])
            .args(arguments)
            .current_dir(&self.root)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {complaint}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}
