//! What can go wrong while a harness is driven, said so that a failed test shows the screen as it was.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Why a harness could not be driven any further.
///
/// `Debug` prints what `Display` prints and the causes, line breaks kept, since that is what `unwrap` in a test shows.
#[derive(Error)]
pub enum HarnessError {
    /// The operating system refused something.
    #[error("cannot {action}")]
    System {
        /// What was tried, such as `open a pseudo-terminal`.
        action: &'static str,
        /// The refusal.
        #[source]
        source: io::Error,
    },
    /// A file of the scratch place could not be written or read.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried, such as `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The refusal.
        #[source]
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The refusal.
        #[source]
        source: io::Error,
    },
    /// Something that was waited for did not come.
    #[error("waited {bound:?} in vain for {awaited}; {evidence}")]
    TimedOut {
        /// What was waited for.
        awaited: String,
        /// How long.
        bound: Duration,
        /// The screen or the output at the end.
        evidence: String,
    },
    /// The program ended while something was waited for.
    #[error("the program ended before {awaited}; {evidence}")]
    Ended {
        /// What was waited for.
        awaited: String,
        /// The screen at the end.
        evidence: String,
    },
}

impl fmt::Debug for HarnessError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")?;
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            write!(formatter, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
