//! The guard: the process that leads a supervised group and takes it along when its daemon dies.
//!
//! Responsible for starting one program, passing signals on to its group, telling how the program ended, and ending
//! whatever the program left behind, escapees included. It must never outlive its group, never write to the program's
//! output, and never decide when a stop gets harder while the daemon lives: that is the daemon's business.
//!
//! It is a library so that the daemon's side speaks the same protocol and reads the same process table, and so that
//! tests of that side can embed the guard; `steward-guard` is the program.
//!
//! # The processes of a group
//!
//! ```text
//! daemon ──spawn──> steward-guard run   leads the group, subreaper; its stdin is one end of a socket pair
//!                     └──spawn──> steward-guard exec   dies with the guard (PDEATHSIG), then becomes the program
//! ```
//!
//! The socket pair carries requests down and reports up, and its end is how the guard learns that the daemon is gone.

#![warn(clippy::wildcard_enum_match_arm)]

mod arguments;
mod descriptors;
mod escalation;
mod exec;
pub mod process_table;
mod protocol;
mod run;

use std::ffi::OsString;
use std::process::ExitCode;

pub use arguments::RunArguments;
pub use descriptors::close_inherited_descriptors;
pub use protocol::{Report, Request};

use arguments::{Invocation, UsageError};

/// Runs the guard with the arguments after the program's name.
///
/// Exits 0 once nothing of the group is left, 2 where the arguments make no sense, 1 where the operating system
/// refused something that the guard cannot do without; then nothing was started.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Invocation::parse(arguments) {
        Ok(Invocation::Run(arguments)) => run::run(&arguments),
        Ok(Invocation::Exec(arguments)) => exec::exec(&arguments),
        Err(error) => {
            report_usage(error);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "nothing was started yet, so this is nobody else's output")]
fn report_usage(error: UsageError) {
    eprintln!("steward-guard: {error}");
}
