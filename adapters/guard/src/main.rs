//! The program `steward-guard`. It must never hold logic of its own; the library does.

use std::process::ExitCode;

fn main() -> ExitCode {
    steward_guard::main(std::env::args_os().skip(1))
}
