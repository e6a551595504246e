//! Runs real harnesses offline: a scripted model answers them, a terminal with a screen shows them, and a scratch place
//! contains them.
//!
//! It must never reach beyond loopback, write to the developer's own home, or leave a process running.

mod anthropic;
mod claude_code;
mod error;
mod http;
mod processes;
mod scratch;
mod script;
mod terminal;

pub use anthropic::ScriptedModel;
pub use claude_code::{ClaudeCode, HeadlessRun, Permissions, tools};
pub use error::HarnessError;
pub use processes::{LiveProcess, Mark, assert_no_process_left, descendants, is_alive, kill, wait_for, wait_until};
pub use scratch::Scratch;
pub use script::{Gate, Step, ToolCall};
pub use terminal::{Key, Terminal};
