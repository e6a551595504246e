//! What the layers say, as values, and where their files are.
//!
//! It must never read a file: the caller does, bounded by [`MAXIMUM_FILE`], and hands over what it found.

use std::path::{Path, PathBuf};

use steward_ports::Environment;

/// The name of a project's file, in the workspace root.
pub const PROJECT_FILE: &str = ".cgc-steward.toml";

/// The largest file that is read, in bytes.
pub const MAXIMUM_FILE: u64 = 256 * 1024;

/// What was found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// Text; a byte order mark is skipped.
    Text(String),
    /// It is there and cannot be used.
    Unusable {
        /// Why, in plain words.
        reason: String,
        /// The line, counted from 1, where that is known.
        line: Option<usize>,
    },
}

/// A file's content with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLayer {
    /// Where it is, for origins and warnings.
    pub path: PathBuf,
    /// What it holds.
    pub content: FileContent,
}

impl FileLayer {
    /// Takes a file that was read as text.
    pub fn text(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self { path: path.into(), content: FileContent::Text(text.into()) }
    }

    /// Takes a file's bytes. Bytes that are not UTF-8 make it unusable, whatever the locale is.
    pub fn bytes(path: impl Into<PathBuf>, bytes: &[u8]) -> Self {
        let content = match std::str::from_utf8(bytes) {
            Ok(text) => FileContent::Text(text.to_owned()),
            Err(error) => FileContent::Unusable {
                reason: "it is not UTF-8".to_owned(),
                line: Some(line_of(bytes, error.valid_up_to())),
            },
        };
        Self { path: path.into(), content }
    }

    /// Takes a file that is there and could not be read.
    pub fn unusable(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), content: FileContent::Unusable { reason: reason.into(), line: None } }
    }
}

/// What the layers above the defaults say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layers {
    /// The user's file; `None` where there is none.
    pub user: Option<FileLayer>,
    /// The project's file; `None` where there is none.
    pub project: Option<FileLayer>,
    /// Whether the user has trusted exactly this content of the project's file.
    pub project_trusted: bool,
    /// The session's environment. A variable that is set to nothing counts as unset.
    pub environment: Environment,
}

/// Returns where the user's file is: `$XDG_CONFIG_HOME/cgc-steward/config.toml`, else below `$HOME/.config`. A relative
/// `XDG_CONFIG_HOME` counts as unset, as the XDG base directory specification asks. `None` where `HOME` is unset too.
pub fn user_file(environment: &Environment) -> Option<PathBuf> {
    let absolute = |name: &str| environment.get(name).map(Path::new).filter(|path| path.is_absolute());
    let directory = match absolute("XDG_CONFIG_HOME") {
        Some(directory) => directory.to_owned(),
        None => absolute("HOME")?.join(".config"),
    };
    Some(directory.join("cgc-steward").join("config.toml"))
}

/// Returns the line, counted from 1, of the byte at `offset`.
pub(crate) fn line_of(text: &[u8], offset: usize) -> usize {
    1 + text.iter().take(offset).filter(|byte| **byte == b'\n').count()
}
