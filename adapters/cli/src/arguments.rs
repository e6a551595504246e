//! The arguments that `steward` takes, with their help.
//!
//! It must never offer a verb that deletes a repository's graph without building it anew.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Looks after the CodeGraphContext code graph of your repositories.
#[derive(Debug, Parser)]
#[command(name = "steward", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what is known of a workspace's graph, without starting anything
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// A directory of the workspace [default: the current one]
        path: Option<PathBuf>,
    },
    /// Create the graph of a workspace, or complete it
    Index(JobArguments),
    /// Delete the graph of a workspace and build it anew
    Rebuild(JobArguments),
    /// Bring the graph of a workspace up to date now
    Sync {
        /// Stay until it is done
        #[arg(long, short)]
        wait: bool,
        /// A directory of the workspace [default: the current one]
        path: Option<PathBuf>,
    },
    /// Look for what could keep the companion from working, and change nothing
    Doctor {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// A directory of the workspace [default: the current one]
        path: Option<PathBuf>,
    },
    /// Run, stop or show the process that looks after your sessions
    #[command(subcommand)]
    Daemon(DaemonCommand),
    /// Wire the companion into a harness, in your user settings
    Install {
        /// The harness
        harness: HarnessArgument,
        /// Only show what would change
        #[arg(long)]
        dry_run: bool,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Take the companion out of a harness's user settings again
    Uninstall {
        /// The harness
        harness: HarnessArgument,
        /// Only show what would change
        #[arg(long)]
        dry_run: bool,
        /// Accepted for symmetry with install; taking our own entries back asks nothing
        #[arg(long, short, hide = true)]
        yes: bool,
    },
}

/// A harness that can be wired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HarnessArgument {
    /// Claude Code
    ClaudeCode,
}

/// What can be said to a job that asks first.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct JobArguments {
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Stay until it is done; the exit status then tells whether it succeeded
    #[arg(long, short)]
    pub(crate) wait: bool,
    /// A directory of the workspace [default: the current one]
    pub(crate) path: Option<PathBuf>,
}

/// What can be done about the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Run it in the foreground; normally the first session or command starts it
    Run,
    /// End it and all work that it does, and return when nothing is left
    Stop,
    /// Show whether it runs
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}
