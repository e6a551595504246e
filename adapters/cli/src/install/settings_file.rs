//! The settings file itself: where it is, what it holds, and replacing it as a whole.
//!
//! It must never be written in place, through a link that leads nowhere, or over a content other than the one that was
//! read before.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use steward_ports::Environment;
use tempfile::NamedTempFile;
use thiserror::Error;

/// More than any settings file holds, in bytes.
const LIMIT: u64 = 16 << 20;

/// Why the settings file could not be read or written. It is untouched.
#[derive(Debug, Error)]
pub(crate) enum SettingsFileError {
    /// Neither `CLAUDE_CONFIG_DIR` nor `HOME` says where it is.
    #[error("neither CLAUDE_CONFIG_DIR nor HOME names a directory")]
    Homeless,
    /// The system refused.
    #[error("{} cannot be {action}", path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// `read` or `written`.
        action: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is no plain text file of a sensible size.
    #[error("{} {problem}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Somebody else changed it while the question was open.
    #[error("{} was changed by another program meanwhile", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// A settings file as it was read.
#[derive(Debug)]
pub(crate) struct SettingsFile {
    /// The file as Claude Code names it.
    pub(crate) path: PathBuf,
    /// The content; `None` where there is no file.
    pub(crate) content: Option<String>,
    /// The file that is replaced: where `path` leads if it is a symbolic link.
    target: PathBuf,
    permissions: Option<Permissions>,
}

/// Returns where Claude Code reads the user's settings: `$CLAUDE_CONFIG_DIR/settings.json`, else
/// `$HOME/.claude/settings.json` (Claude Code 2.1.197). A variable that is set to nothing counts as unset.
pub(crate) fn user_settings(environment: &Environment) -> Result<PathBuf, SettingsFileError> {
    let directory = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    directory("CLAUDE_CONFIG_DIR")
        .or_else(|| directory("HOME").map(|home| home.join(".claude")))
        .map(|directory| directory.join("settings.json"))
        .ok_or(SettingsFileError::Homeless)
}

impl SettingsFile {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, SettingsFileError> {
        let refused = |source| refused(path, "read", source);
        let target = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path: path.to_owned(), content: None, target: path.to_owned(), permissions: None });
            }
            Err(error) => return Err(refused(error)),
            Ok(_) => fs::canonicalize(path).map_err(refused)?,
        };
        let (bytes, permissions) = read_bytes(&target)?;
        let content = String::from_utf8(bytes)
            .map_err(|_| SettingsFileError::Unusable { path: path.to_owned(), problem: "is not UTF-8" })?;
        Ok(Self { path: path.to_owned(), content: Some(content), target, permissions: Some(permissions) })
    }

    /// Makes the directory of the file where it is missing and returns whether it was.
    pub(crate) fn create_directory(&self) -> Result<bool, SettingsFileError> {
        let directory = self.directory();
        if directory.is_dir() {
            return Ok(false);
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|source| refused(directory, "written", source))?;
        Ok(true)
    }

    /// Removes the directory of the file if nothing is in it.
    pub(crate) fn remove_directory(&self) -> Result<(), SettingsFileError> {
        match fs::remove_dir(self.directory()) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
                Err(refused(self.directory(), "written", error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Replaces the content by `content`, or removes the file where that is `None`. Mode and link are kept; after a
    /// crash the file has the old content or the new one.
    pub(crate) fn replace(&self, content: Option<&str>) -> Result<(), SettingsFileError> {
        match content {
            Some(content) => self.write(content),
            None => {
                self.verify_unchanged()?;
                fs::remove_file(&self.target).map_err(|source| self.unwritten(source))
            }
        }
    }

    fn write(&self, content: &str) -> Result<(), SettingsFileError> {
        let unwritten = |source| self.unwritten(source);
        let directory = self.directory();
        let mut file = NamedTempFile::new_in(directory).map_err(unwritten)?;
        file.write_all(content.as_bytes()).map_err(unwritten)?;
        if let Some(permissions) = &self.permissions {
            file.as_file().set_permissions(permissions.clone()).map_err(unwritten)?;
        }
        file.as_file().sync_all().map_err(unwritten)?;
        self.verify_unchanged()?;
        let persisted = match self.content {
            Some(_) => file.persist(&self.target),
            None => file.persist_noclobber(&self.target),
        };
        persisted.map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => self.changed(),
            _ => self.unwritten(error.error),
        })?;
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(unwritten)
    }

    fn verify_unchanged(&self) -> Result<(), SettingsFileError> {
        match Self::read(&self.path) {
            Ok(now) if now.content == self.content && now.target == self.target => Ok(()),
            Ok(_) | Err(_) => Err(self.changed()),
        }
    }

    fn directory(&self) -> &Path {
        self.target.parent().unwrap_or(Path::new("/"))
    }

    fn changed(&self) -> SettingsFileError {
        SettingsFileError::Changed { path: self.path.clone() }
    }

    fn unwritten(&self, source: io::Error) -> SettingsFileError {
        refused(&self.path, "written", source)
    }
}

fn read_bytes(path: &Path) -> Result<(Vec<u8>, Permissions), SettingsFileError> {
    use std::os::unix::fs::OpenOptionsExt;

    let refused = |source| refused(path, "read", source);
    let file = fs::OpenOptions::new()
        .read(true)
        // Opening a named pipe must not wait for its writer.
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(refused)?;
    let metadata = file.metadata().map_err(refused)?;
    let problem = match (metadata.is_file(), metadata.len() > LIMIT) {
        (false, _) => Some("is no regular file"),
        (true, true) => Some("is too large to be settings"),
        (true, false) => None,
    };
    if let Some(problem) = problem {
        return Err(SettingsFileError::Unusable { path: path.to_owned(), problem });
    }
    let mut bytes = Vec::new();
    file.take(LIMIT).read_to_end(&mut bytes).map_err(refused)?;
    // Only the mode bits are meant to go over to the new file.
    let permissions = Permissions::from_mode(metadata.permissions().mode() & 0o7777);
    Ok((bytes, permissions))
}

fn refused(path: &Path, action: &'static str, source: io::Error) -> SettingsFileError {
    SettingsFileError::Refused { path: path.to_owned(), action, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_since_it_was_read_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        let file = SettingsFile::read(&path).unwrap();
        fs::write(&path, "{\"theirs\": 1}").unwrap();

        let written = file.replace(Some("{\"ours\": 1}"));
        let removed = file.replace(None);

        assert!(matches!(written, Err(SettingsFileError::Changed { .. })));
        assert!(matches!(removed, Err(SettingsFileError::Changed { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"theirs\": 1}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_appeared_since_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        let file = SettingsFile::read(&path).unwrap();
        fs::write(&path, "theirs").unwrap();

        let written = file.replace(Some("ours"));

        assert!(matches!(written, Err(SettingsFileError::Changed { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    }
}
