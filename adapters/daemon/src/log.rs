//! The daemon's log: one file of bounded size, the one before it kept.
//!
//! It must never hold a variable's value or a file's content, and never fail the daemon.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::filter::LevelFilter;

/// A log larger than this is set aside when the daemon starts.
const MAXIMUM_SIZE: u64 = 1 << 20;

/// Writes the log to `<state>/stewardd.log`, at the level that `STEWARD_LOG` names (`info` by default).
pub fn start_log(state: &Path, level: Option<&str>) -> io::Result<()> {
    let file = open(&state.join("stewardd.log"))?;
    let level = level.and_then(|level| level.parse::<LevelFilter>().ok()).unwrap_or(LevelFilter::INFO);
    let subscriber =
        tracing_subscriber::fmt().with_ansi(false).with_max_level(level).with_writer(Mutex::new(file)).finish();
    tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.len() > MAXIMUM_SIZE) {
        fs::rename(path, path.with_extension("log.1"))?;
    }
    // A planted link is refused rather than followed.
    OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(NO_FOLLOW).open(path)
}

const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_large_log_is_set_aside_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stewardd.log");
        let large = vec![b'x'; usize::try_from(MAXIMUM_SIZE).unwrap() + 1];
        fs::write(&path, &large).unwrap();

        open(&path).unwrap().write_all(b"new").unwrap();

        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read(directory.path().join("stewardd.log.1")).unwrap(), large);
    }

    #[test]
    fn trial_b138_a_planted_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("target");
        fs::write(&target, b"mine").unwrap();
        std::os::unix::fs::symlink(&target, directory.path().join("stewardd.log")).unwrap();

        assert!(open(&directory.path().join("stewardd.log")).is_err());
        assert_eq!(fs::read(&target).unwrap(), b"mine");
    }
}
