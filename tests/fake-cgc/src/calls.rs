//! The log of calls: what the stand-in was asked to do, in which directory and environment, and how it ended.
//!
//! It must never lose a call: each line is one write to a file opened for appending.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io, process};

use serde::{Deserialize, Serialize};

use crate::script::Command;

/// One call of the stand-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its process id.
    pub pid: u32,
    /// Which command it was.
    pub command: Command,
    /// Its arguments, without the program's name.
    pub arguments: Vec<String>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// When it began, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// When it ended by itself; `None` while it runs and after it was killed.
    pub ended_ms: Option<u64>,
    /// The code that it exited with.
    pub exit: Option<i32>,
}

/// The log beside an executable.
#[derive(Debug, Clone)]
pub struct CallLog {
    path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Started(Call),
    Ended { pid: u32, started_ms: u64, ended_ms: u64, exit: i32 },
}

impl CallLog {
    /// The log of `executable`, which need not exist.
    pub fn beside(executable: &Path) -> Self {
        Self { path: executable.with_extension("log") }
    }

    /// Returns all calls in the order in which they began.
    pub fn read(&self) -> io::Result<Vec<Call>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut calls: Vec<Call> = Vec::new();
        for line in text.lines() {
            match serde_json::from_str(line).map_err(io::Error::other)? {
                Line::Started(call) => calls.push(call),
                Line::Ended { pid, started_ms, ended_ms, exit } => {
                    let ended = calls.iter_mut().find(|call| call.pid == pid && call.started_ms == started_ms);
                    if let Some(call) = ended {
                        call.ended_ms = Some(ended_ms);
                        call.exit = Some(exit);
                    }
                }
            }
        }
        Ok(calls)
    }

    /// Notes that this process began as `command`.
    pub fn start(&self, command: Command) -> io::Result<Call> {
        let call = Call {
            pid: process::id(),
            command,
            arguments: env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect(),
            directory: env::current_dir().unwrap_or_default(),
            environment: env::vars_os()
                .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
                .collect(),
            started_ms: now_ms(),
            ended_ms: None,
            exit: None,
        };
        self.append(&Line::Started(call.clone()))?;
        Ok(call)
    }

    /// Notes that `call` is about to exit with `exit`.
    pub fn end(&self, call: &Call, exit: i32) -> io::Result<()> {
        self.append(&Line::Ended { pid: call.pid, started_ms: call.started_ms, ended_ms: now_ms(), exit })
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line).map_err(io::Error::other)?;
        text.push('\n');
        OpenOptions::new().create(true).append(true).open(&self.path)?.write_all(text.as_bytes())
    }
}

fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}
