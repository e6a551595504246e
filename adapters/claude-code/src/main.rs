//! The program `steward-claude-code`. It must never hold logic of its own; the library does.

use std::process::ExitCode;

use steward_claude_code::ClaudeCode;

fn main() -> ExitCode {
    steward_hook::run::<ClaudeCode>()
}
