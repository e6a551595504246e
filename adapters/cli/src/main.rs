//! The program `steward`.
//!
//! It must never hold anything but its entry point.

use std::process::ExitCode;

fn main() -> ExitCode {
    steward_cli::main()
}
