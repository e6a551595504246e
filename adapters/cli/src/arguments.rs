//! The arguments that `steward` takes, with their help.
//!
//! It must never offer a verb that deletes a repository's graph without building it anew.

use clap::{Parser, Subcommand, ValueEnum};

/// Looks after the CodeGraphContext code graph of your repositories.
#[derive(Debug, Parser)]
#[command(name = "steward", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
