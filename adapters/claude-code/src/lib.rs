//! Claude Code's dialect: the JSON that its hooks are given, and the JSON that it reads from them.
//!
//! Pure functions from bytes to values and back. It must never read a prompt, a tool's output or file content into the
//! event, and never use an output that replaces, denies or continues anything. All facts are of Claude Code 2.1.197.

mod decode;
mod encode;
mod event;

use std::ffi::OsString;

use steward_hook::{Answer, DecodeError, Harness, Occurrence};
use steward_wire::HarnessName;

pub use event::HookEvent;

/// Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaudeCode;

impl Harness for ClaudeCode {
    const NAME: HarnessName = HarnessName::ClaudeCode;
    /// `claude`, or `claude.exe` where its own background daemon started it.
    const PROCESS: &'static str = "claude";

    type Origin = HookEvent;

    fn decode(payload: &[u8]) -> Result<Option<Occurrence<HookEvent>>, DecodeError> {
        decode::decode(payload)
    }

    /// `claude -p` says `sdk-cli`, a terminal `cli`.
    fn is_headless(variable: impl Fn(&str) -> Option<OsString>) -> bool {
        variable("CLAUDE_CODE_ENTRYPOINT").is_some_and(|entrypoint| entrypoint == "sdk-cli")
    }

    fn encode(origin: HookEvent, answer: &Answer) -> Vec<u8> {
        encode::encode(origin, answer)
    }
}
