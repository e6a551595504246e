//! How a stand-in is told to behave: a file beside its executable, since its environment is not the test's to set.
//!
//! It must never describe what the real cgc does by itself; without a script the stand-in does that.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

/// A command of cgc, as far as behaviours tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// `cgc query`.
    Query,
    /// `cgc index`.
    Index,
    /// `cgc index --force` and `cgc update`.
    Rebuild,
    /// `cgc watch`, with or without `--sync-on-start`.
    Watch,
    /// `cgc doctor`.
    Doctor,
    /// Everything else.
    Other,
}

/// What differs from the real cgc.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// Sleeps until it is ended: at once, or with the lock held once so many files are written.
    Hang {
        /// How many files are written before; `None` stops before anything is opened.
        after_files: Option<usize>,
        /// Whether SIGINT and SIGTERM are caught and answered with nothing.
        ignores_signals: bool,
    },
    /// Ends itself by a signal, at once or in the middle of an index.
    Crash {
        /// As for `Hang`.
        after_files: Option<usize>,
        /// The signal's number.
        signal: i32,
    },
    /// Prints the banner, does nothing and exits 0.
    Lie,
    /// Has no grammar for any language, as the real one on a machine that was never online.
    NoGrammars,
    /// Prints bytes that are no UTF-8 on both streams and exits 0.
    Garbage,
    /// Prints exactly this and exits.
    Print {
        /// To stdout.
        stdout: String,
        /// To stderr.
        stderr: String,
        /// The exit code.
        exit: i32,
    },
    /// Prints this on both streams, then works as usual.
    Banner(String),
    /// Writes so many bytes to both streams and exits 0.
    Flood(usize),
    /// Keeps a core busy until it is ended.
    Burn,
    /// Starts a process in a session of its own that holds both streams open for ten minutes, then works as usual.
    Grandchild,
    /// Says that it fell back to `taken`, as `KùzuDB at /h/kuzudb`, then works as usual.
    Fallback {
        /// The words after `Now using`.
        taken: String,
    },
    /// Takes so many milliseconds for each file.
    Slow(u64),
    /// Takes so many milliseconds to obey an interrupt, as a Ladybug writer does.
    SlowInterrupt(u64),
}

/// A behaviour and when it applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The command, `None` for each.
    pub command: Option<Command>,
    /// How many calls of such a command behave as usual before.
    pub skip: usize,
    /// How many calls it applies to, `None` for all that follow.
    pub times: Option<usize>,
    /// The behaviour.
    pub behaviour: Behaviour,
}

impl Rule {
    /// Applies to every call of `command`.
    pub fn always(command: Command, behaviour: Behaviour) -> Self {
        Self { command: Some(command), skip: 0, times: None, behaviour }
    }

    /// Applies to the first call of `command` only.
    pub fn once(command: Command, behaviour: Behaviour) -> Self {
        Self { times: Some(1), ..Self::always(command, behaviour) }
    }

    /// Whether it applies to a call of `command` that `earlier` calls of such a command came before.
    fn applies(&self, command: Command, earlier: usize) -> bool {
        self.command.is_none_or(|wanted| wanted == command)
            && earlier >= self.skip
            && self.times.is_none_or(|times| earlier < self.skip + times)
    }
}

/// All that a stand-in is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// How long a command waits for a locked database before it gives up; 8.5 s in the real cgc 0.6.13.
    pub lock_wait_ms: u64,
    /// What differs, in any number.
    pub rules: Vec<Rule>,
}

impl Default for Script {
    fn default() -> Self {
        Self { lock_wait_ms: 300, rules: Vec::new() }
    }
}

impl Script {
    /// A script of `rules` alone.
    pub fn of(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect(), ..Self::default() }
    }

    /// Reads the script beside `executable`; there need be none.
    pub fn read(executable: &Path) -> io::Result<Self> {
        match fs::read(path(executable)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Returns the behaviours of the call of `command` that `earlier` such calls came before. `earlier_of_any` counts
    /// all calls, for rules about any command.
    pub fn behaviours(&self, command: Command, earlier: usize, earlier_of_any: usize) -> Vec<Behaviour> {
        self.rules
            .iter()
            .filter(|rule| {
                let count = if rule.command.is_some() { earlier } else { earlier_of_any };
                rule.applies(command, count)
            })
            .map(|rule| rule.behaviour.clone())
            .collect()
    }

    /// Writes the script beside `executable`; a call that reads it meanwhile sees the old one or the new one.
    pub(crate) fn write(&self, executable: &Path) -> io::Result<()> {
        let target = path(executable);
        let draft = target.with_extension("json.new");
        fs::write(&draft, serde_json::to_vec_pretty(self).map_err(io::Error::other)?)?;
        fs::rename(draft, target)
    }
}

fn path(executable: &Path) -> PathBuf {
    executable.with_extension("script.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_applies_to_the_calls_that_it_names() {
        let script = Script::of([
            Rule::once(Command::Index, Behaviour::Lie),
            Rule { skip: 1, ..Rule::always(Command::Index, Behaviour::Burn) },
            Rule { command: None, ..Rule::always(Command::Index, Behaviour::Slow(1)) },
        ]);

        assert_eq!(script.behaviours(Command::Index, 0, 0), [Behaviour::Lie, Behaviour::Slow(1)]);
        assert_eq!(script.behaviours(Command::Index, 1, 5), [Behaviour::Burn, Behaviour::Slow(1)]);
        assert_eq!(script.behaviours(Command::Query, 0, 1), [Behaviour::Slow(1)]);
    }
}
