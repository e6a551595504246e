//! The messages. A field may be added with a default; anything else is a new [`PROTOCOL`] number.
//!
//! It must never carry a prompt, a tool's output or file content: the daemon needs none of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::report::StatusReport;

/// The version of these messages. Client and daemon talk only where it is equal.
pub const PROTOCOL: u16 = 1;

/// Which build a program is. A client whose build is newer than the daemon's replaces the daemon.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Build {
    /// The package version, compared as text only for equality.
    pub version: String,
    /// Modification time of the executable in nanoseconds since the epoch: which of two builds is newer.
    pub built_at: u64,
}

/// A request with what the daemon must know before it reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The sender's [`PROTOCOL`].
    pub protocol: u16,
    /// The sender's build.
    pub build: Build,
    /// What is asked.
    pub request: Request,
}

/// The part of an envelope that every version of the protocol begins with, so that a request which cannot be read can
/// still be told why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The sender's [`PROTOCOL`].
    pub protocol: u16,
    /// The sender's build.
    pub build: Build,
}

/// What a client can ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Request {
    /// A harness reports an event. Answered by `Delivery`.
    Event {
        /// Whose event it is.
        session: SessionContext,
        /// What happened.
        event: HarnessEvent,
        /// What the answer to this event can carry to the human and to the agent.
        #[serde(default)]
        carries: Carries,
    },
    /// Asks for the status of a directory's workspace. Answered by `Status`. Starts no work.
    Status {
        /// The directory.
        directory: PathBuf,
        /// The caller's environment, filtered.
        environment: BTreeMap<String, String>,
    },
    /// Asks for a job that the human has agreed to. Answered by `Progress`… and `Finished`, or by `Refused`.
    Job {
        /// What to do.
        verb: JobVerb,
        /// The directory.
        directory: PathBuf,
        /// The caller's environment, filtered.
        environment: BTreeMap<String, String>,
        /// Whether to stay connected until the job has ended; else the answer is `Accepted`.
        wait: bool,
    },
    /// Asks who the daemon is. Answered by `Daemon`.
    Daemon,
    /// Asks the daemon to end its work and itself. Answered by `Stopping`; the connection closes when nothing is left.
    Stop {
        /// Whether running jobs are finished first (a newer build takes over) or stopped.
        drain: bool,
    },
}

/// What the harness can take with its answer to an event. What it cannot take waits for a later event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carries {
    /// Whether the human would see notices.
    pub notices: bool,
    /// Whether the agent would read context.
    pub context: bool,
}

impl Default for Carries {
    fn default() -> Self {
        Self { notices: true, context: true }
    }
}

/// A harness that the companion speaks with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HarnessName {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
    /// Pi.
    Pi,
}

impl HarnessName {
    /// The name that the protocol uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "open-code",
            Self::Pi => "pi",
        }
    }

    /// The name that people know.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::OpenCode => "OpenCode",
            Self::Pi => "Pi",
        }
    }
}

/// The process whose life is the session's life.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ancestor {
    /// Its process id.
    pub pid: u32,
    /// Its start time in clock ticks since boot.
    pub start_time: u64,
}

/// Whose event it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionContext {
    /// The harness.
    pub harness: HarnessName,
    /// The harness process: the key of the session. A harness may change its session id within one process.
    pub process: Ancestor,
    /// The harness's own session id, an attribute.
    pub harness_session: Option<String>,
    /// The session's directory as the payload names it.
    pub directory: PathBuf,
    /// The session's environment, filtered to what cgc may need.
    pub environment: BTreeMap<String, String>,
    /// Whether the harness runs without a screen.
    #[serde(default)]
    pub headless: bool,
}

/// How a session came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartSource {
    /// The harness was started.
    Startup,
    /// An earlier conversation goes on.
    Resume,
    /// The conversation was emptied.
    Clear,
    /// The conversation was compacted.
    Compact,
    /// Another word, or none.
    Other,
}

/// How sure it is that files changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EditCertainty {
    /// A tool said that it edited these files.
    Certain,
    /// A shell command or a subagent ran; which files it changed, if any, is unknown.
    Possible,
}

/// What happened in a harness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum HarnessEvent {
    /// A session began, or began anew within its process.
    SessionStarted {
        /// How.
        source: StartSource,
    },
    /// The human sent a prompt.
    PromptSubmitted,
    /// Files were, or may have been, edited.
    Edited {
        /// How sure that is.
        certainty: EditCertainty,
        /// The files, absolute; empty where they are unknown.
        paths: Vec<PathBuf>,
    },
    /// The agent's turn ended.
    TurnEnded,
    /// The session ended; `continues` tells that the same process goes on with another conversation.
    SessionEnded {
        /// Whether the harness process stays (`/clear`, `/resume` within a process).
        continues: bool,
    },
}

/// A job that a human can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobVerb {
    /// Create or complete the graph.
    Index,
    /// Delete this workspace's graph and build it anew.
    Rebuild,
    /// Bring the graph up to date.
    Sync,
}

impl JobVerb {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Rebuild => "rebuild",
            Self::Sync => "sync",
        }
    }
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Something does not work until the human acts.
    Warning,
}

/// What the human is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The condition's name.
    pub name: String,
    /// How much it matters.
    pub severity: Severity,
    /// What happened and what it means.
    pub text: String,
    /// What to do, if anything.
    pub advice: Option<String>,
}

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProgress {
    /// What the job is doing, in plain words.
    pub phase: String,
    /// Files done, where known.
    pub done: Option<u64>,
    /// Files in all, where known.
    pub total: Option<u64>,
    /// Milliseconds since the job began.
    pub elapsed_ms: u64,
    /// Whether this client joined a job that was running already.
    pub joined: bool,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOutcome {
    /// Whether the job did what was asked and was proved.
    pub succeeded: bool,
    /// What happened, in plain words.
    pub summary: String,
    /// What to do, if anything.
    pub advice: Option<String>,
    /// Milliseconds from the request's acceptance to the end.
    pub elapsed_ms: u64,
}

/// Who the daemon is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonReport {
    /// Its process id.
    pub pid: u32,
    /// Its build.
    pub build: Build,
    /// Its protocol.
    pub protocol: u16,
    /// The socket that it listens on.
    pub socket: PathBuf,
    /// Milliseconds since it started.
    pub uptime_ms: u64,
    /// How many sessions it holds.
    pub sessions: usize,
    /// How many jobs it runs or has queued.
    pub jobs: usize,
}

/// What the daemon answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Reply {
    /// To `Event`: what is to be shown and injected with this event.
    Delivery {
        /// For the human.
        notices: Vec<Notice>,
        /// For the agent's context.
        context: Vec<String>,
    },
    /// To `Status`.
    Status(Box<StatusReport>),
    /// To `Job` without `wait`: it runs, or goes on, in the background.
    Accepted {
        /// Whether it joined a job that was running already.
        joined: bool,
    },
    /// To `Job` with `wait`, any number of times.
    Progress(JobProgress),
    /// To `Job`, last.
    Finished(JobOutcome),
    /// To `Job`: nothing was started.
    Refused {
        /// Why, in plain words.
        reason: String,
        /// What to do, if anything.
        advice: Option<String>,
    },
    /// To `Daemon`.
    Daemon(DaemonReport),
    /// To `Stop`: heard; the connection closes when nothing is left.
    Stopping {
        /// The daemon's process id.
        pid: u32,
    },
    /// The two do not speak the same protocol; nothing was done.
    Incompatible {
        /// The daemon's protocol.
        protocol: u16,
        /// The daemon's build.
        build: Build,
    },
    /// The daemon is ending and takes no new work; nothing was done.
    Draining,
    /// The request could not be carried out.
    Failed {
        /// Why, in plain words.
        reason: String,
    },
}

impl Reply {
    /// Whether no further reply follows on this connection.
    pub const fn is_last(&self) -> bool {
        match self {
            Self::Progress(_) => false,
            Self::Delivery { .. }
            | Self::Status(_)
            | Self::Accepted { .. }
            | Self::Finished(_)
            | Self::Refused { .. }
            | Self::Daemon(_)
            | Self::Stopping { .. }
            | Self::Incompatible { .. }
            | Self::Draining
            | Self::Failed { .. } => true,
        }
    }
}
