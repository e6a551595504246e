//! Which build a program is.
//!
//! It must never depend on who asks: client and daemon name a build by the same file, the daemon's executable.

use std::path::Path;
use std::time::UNIX_EPOCH;

use steward_wire::Build;

/// Returns the build of the daemon at `executable`: this package's version and the file's modification time. A file
/// that cannot be read counts as the oldest, so that it never replaces a running daemon.
pub fn build_of(executable: &Path) -> Build {
    let modified = std::fs::metadata(executable).and_then(|metadata| metadata.modified()).ok();
    let built_at = modified
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .and_then(|age| u64::try_from(age.as_nanos()).ok())
        .unwrap_or(0);
    Build { version: env!("CARGO_PKG_VERSION").to_owned(), built_at }
}
