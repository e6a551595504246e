//! Which files a demonstration is about: what git lists of a repository.
//!
//! It only reads the repository.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::command::program;
use crate::workspace::Workspace;

/// The domain, which is enough to see cgc work for a minute; for all of this repository it takes several.
const PART: [&str; 2] = ["crates", "Cargo.toml"];

/// A repository, or a part of it.
#[derive(Debug)]
pub(super) struct Source {
    root: PathBuf,
    part: &'static [&'static str],
}

impl Source {
    /// A part of this repository.
    pub(super) fn part_of(workspace: &Workspace) -> anyhow::Result<Self> {
        let root = workspace.root();
        let root = root.canonicalize().with_context(|| format!("cannot find {}", root.display()))?;
        Ok(Self { root, part: &PART })
    }

    /// All of the repository at `root`.
    pub(super) fn whole(root: PathBuf) -> Self {
        Self { root, part: &[] }
    }

    /// What the copy is called.
    pub(super) fn name(&self) -> &OsStr {
        self.root.file_name().unwrap_or(OsStr::new("repository"))
    }

    /// Copies the regular files, ignored ones apart, to `target` and returns how many there are.
    pub(super) fn copy_to(&self, target: &Path) -> anyhow::Result<usize> {
        let mut files = 0;
        for path in self.list()? {
            let from = self.root.join(&path);
            // Listed also are files that were deleted and not yet committed as such, and links.
            if !fs::symlink_metadata(&from).is_ok_and(|metadata| metadata.is_file()) {
                continue;
            }
            let to = target.join(&path);
            let parent = to.parent().unwrap_or(target);
            fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
            fs::copy(&from, &to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
            files += 1;
        }
        ensure!(files > 0, "git lists no files of {self}");
        Ok(files)
    }

    fn list(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut command = program("git");
        command.arg("-C").arg(&self.root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]);
        let output = command.args(self.part).output().context("cannot start git")?;
        ensure!(
            output.status.success(),
            "git cannot list {}: {}",
            self.root.display(),
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
        let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| OsStr::from_bytes(name).into()).collect())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.root.display())?;
        if !self.part.is_empty() {
            write!(formatter, " ({} of it; give a path to see all of a repository)", self.part.join(" and "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::capture;

    #[test]
    fn ignored_and_deleted_files_and_links_are_left_out() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("from");
        fs::create_dir_all(root.join("package")).unwrap();
        for (name, text) in [("package/a.py", "a"), ("b.py", "b"), ("gone.py", "g"), ("secret", "s")] {
            fs::write(root.join(name), text).unwrap();
        }
        fs::write(root.join(".gitignore"), "secret\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("link.py")).unwrap();
        capture(program("git").args(["init", "--quiet"]).current_dir(&root)).unwrap();
        capture(program("git").args(["add", "."]).current_dir(&root)).unwrap();
        fs::remove_file(root.join("gone.py")).unwrap();
        let target = scratch.path().join("to");

        let files = Source::whole(root).copy_to(&target).unwrap();

        assert_eq!(files, 3);
        assert_eq!(fs::read_to_string(target.join("package/a.py")).unwrap(), "a");
        assert!(target.join("b.py").exists());
        for name in ["gone.py", "secret", "link.py"] {
            assert!(fs::symlink_metadata(target.join(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn a_directory_that_is_no_repository_is_refused() {
        let scratch = tempfile::tempdir().unwrap();

        let error = Source::whole(scratch.path().to_path_buf()).copy_to(&scratch.path().join("to")).unwrap_err();

        assert!(error.to_string().starts_with("git cannot list"), "{error}");
    }
}
