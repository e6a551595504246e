//! The hook events that mean something to the companion.
//!
//! It must never claim that an event carries what was not seen to arrive.

use steward_wire::Carries;

/// A hook event of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// A session began, or its conversation was cleared, resumed or compacted.
    SessionStart,
    /// The human sent a prompt.
    UserPromptSubmit,
    /// A tool succeeded.
    PostToolUse,
    /// A tool failed.
    PostToolUseFailure,
    /// The agent's turn ended. It does not come where the human interrupted the turn.
    Stop,
    /// A conversation ended, and the process with it unless it was cleared or another one resumed.
    SessionEnd,
}

impl HookEvent {
    /// Finds the event by Claude Code's name for it.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::SessionStart,
            Self::UserPromptSubmit,
            Self::PostToolUse,
            Self::PostToolUseFailure,
            Self::Stop,
            Self::SessionEnd,
        ];
        all.into_iter().find(|event| event.name() == name)
    }

    /// Claude Code's name for it, which its output has to repeat.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::Stop => "Stop",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// What the output of this event reaches.
    pub(crate) const fn carries(self) -> Carries {
        match self {
            Self::SessionStart | Self::UserPromptSubmit | Self::PostToolUse => Carries { notices: true, context: true },
            // Context of a failed tool was not seen to arrive, and context at a turn's end starts another turn.
            Self::PostToolUseFailure | Self::Stop => Carries { notices: true, context: false },
            // The process is leaving and shows nothing more.
            Self::SessionEnd => Carries { notices: false, context: false },
        }
    }
}
