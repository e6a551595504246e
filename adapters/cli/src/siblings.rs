//! The companion's other programs, which lie beside this one.
//!
//! It must never look anywhere else: a program of the same name on the PATH may be of another build, or of another
//! maker.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A program of ours is not where it belongs.
#[derive(Debug, Error)]
#[error("{} is not an executable file", path.display())]
pub(crate) struct MissingSibling {
    /// Where it belongs.
    path: PathBuf,
}

/// Returns the path of the program `name` beside `executable`.
pub(crate) fn sibling(executable: &Path, name: &str) -> Result<PathBuf, MissingSibling> {
    let path = executable.with_file_name(name);
    let is_executable =
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0);
    if is_executable { Ok(path) } else { Err(MissingSibling { path }) }
}
