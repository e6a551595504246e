//! What was ignored, and where a value comes from, for a person to read.
//!
//! It must never print a value as it came: control characters are escaped and long values are cut.

use std::fmt;
use std::path::PathBuf;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origin {
    /// Nobody set it.
    #[default]
    Default,
    /// The user's file.
    User {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, where it is known.
        line: Option<usize>,
    },
    /// The project's file.
    Project {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, where it is known.
        line: Option<usize>,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (layer, path, line) = match self {
            Self::Default => return formatter.write_str("default"),
            Self::Environment { variable } => {
                return write!(formatter, "environment variable {variable}");
            }
            Self::User { path, line } => ("user file", path, line),
            Self::Project { path, line } => ("project file", path, line),
        };
        write!(formatter, "{layer} {}", plain(&path.to_string_lossy()))?;
        match line {
            Some(line) => write!(formatter, ", line {line}"),
            None => Ok(()),
        }
    }
}

/// Something in a layer that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A key has a value that means nothing; the lower layer's value stands.
    BadValue {
        /// The key.
        key: &'static str,
        /// The value as it was written.
        value: String,
        /// Who says so.
        origin: Origin,
        /// What the key takes.
        expected: String,
    },
    /// There is no such key.
    UnknownKey {
        /// The name as it was written.
        name: String,
        /// Who says so.
        origin: Origin,
        /// The key or variable that may have been meant.
        similar: Option<&'static str>,
    },
    /// A whole file does not count.
    UnusableFile {
        /// The file, with the line where it goes wrong.
        origin: Origin,
        /// What is wrong with it.
        problem: String,
    },
    /// A project file sets keys that count only after the user has trusted its content.
    Untrusted {
        /// The keys.
        keys: Vec<&'static str>,
        /// The file.
        origin: Origin,
    },
    /// The layers could not be put together; the defaults stand for all keys.
    Unmergeable {
        /// What went wrong.
        problem: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadValue { key, value, origin, expected } => {
                write!(formatter, "{key} = {} ({origin}) is ignored: it takes {expected}", plain(value))
            }
            Self::UnknownKey { name, origin, similar } => {
                write!(formatter, "{} ({origin}) is no setting", plain(name))?;
                match similar {
                    Some(similar) => write!(formatter, "; did you mean {similar}?"),
                    None => Ok(()),
                }
            }
            Self::UnusableFile { origin, problem } => {
                write!(formatter, "{origin} is ignored: {}", plain(problem))
            }
            Self::Untrusted { keys, origin } => write!(
                formatter,
                "{origin} sets {}, which counts only after you have trusted that file",
                keys.join(", ")
            ),
            Self::Unmergeable { problem } => {
                write!(formatter, "all settings are ignored: {}", plain(problem))
            }
        }
    }
}

/// Returns `text` on one line, without control characters and at most 120 characters long.
fn plain(text: &str) -> String {
    const LIMIT: usize = 120;
    let mut characters = text.chars();
    let mut shown: String = characters
        .by_ref()
        .take(LIMIT)
        .flat_map(|character| {
            let escaped = character.is_control().then(|| character.escape_default());
            let kept = escaped.is_none().then_some(character);
            escaped.into_iter().flatten().chain(kept)
        })
        .collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}
