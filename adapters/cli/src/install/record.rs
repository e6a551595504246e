//! The record of an installation: what undoing it needs.
//!
//! It must never be needed to find out what is ours; without it undoing works on the settings' text alone.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use thiserror::Error;

/// What was done to one settings file. It may hold secrets, since settings may, so the file is the user's own, mode 0600.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The settings file.
    pub(crate) settings: PathBuf,
    /// Its whole content before the entries came; `None` where there was no file.
    pub(crate) original: Option<String>,
    /// Its whole content afterwards.
    pub(crate) installed: String,
    /// Which lists and objects were there before.
    pub(crate) kept: BTreeSet<String>,
    /// Whether the directory was made for it.
    pub(crate) created_directory: bool,
}

/// Why a record could not be read or written.
#[derive(Debug, Error)]
pub(crate) enum RecordError {
    /// The system refused.
    #[error("{} cannot be used", path.display())]
    Unusable {
        /// The record.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The content makes no sense.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// Where the record of one settings file is kept.
#[derive(Debug, Clone)]
pub(crate) struct RecordFile(PathBuf);

impl RecordFile {
    /// Names the record of `settings` below the state directory. Each settings file has one, since `CLAUDE_CONFIG_DIR`
    /// lets a user have several.
    pub(crate) fn of(state_directory: &Path, settings: &Path) -> Self {
        let digest = blake3::hash(settings.as_os_str().as_encoded_bytes());
        let name = format!("claude-code-{}.json", &digest.to_hex()[..16]);
        Self(state_directory.join("install").join(name))
    }

    /// Reads the record, `None` where there is none. A symbolic link is refused.
    pub(crate) fn load(&self) -> Result<Option<Record>, RecordError> {
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(&self.0);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unusable(error)),
        };
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|error| self.unusable(error))?;
        serde_json::from_slice(&text).map(Some).map_err(|source| RecordError::Damaged { path: self.0.clone(), source })
    }

    /// Writes the record. After a crash the old one is there or the new one.
    pub(crate) fn save(&self, record: &Record) -> Result<(), RecordError> {
        let bytes =
            serde_json::to_vec(record).map_err(|source| RecordError::Damaged { path: self.0.clone(), source })?;
        self.replace(&bytes).map_err(|error| self.unusable(error))
    }

    /// Removes the record, if there is one.
    pub(crate) fn remove(&self) -> Result<(), RecordError> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.unusable(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let directory = self.0.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut file = NamedTempFile::new_in(directory)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(&self.0)?;
        Ok(())
    }

    fn unusable(&self, source: io::Error) -> RecordError {
        RecordError::Unusable { path: self.0.clone(), source }
    }
}
