//! Asking the human before something is created, rebuilt or written.
//!
//! It must never answer for the human: no answer is a no.

use async_trait::async_trait;
use thiserror::Error;

use crate::process::SessionId;

/// A question with its effect spelt out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What will happen after a yes, exact paths included.
    pub effect: String,
    /// The question itself, to be answered with yes or no.
    pub text: String,
}

/// What came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// The human agreed.
    Yes,
    /// The human declined.
    No,
    /// Nobody could be asked (no terminal, or a harness without dialogs). It counts as a no and is told as a notice.
    Unasked,
}

/// Why asking failed.
#[derive(Debug, Error)]
pub enum ConsentError {
    /// The terminal or the harness broke off.
    #[error("the question could not be put to {asked}")]
    Broken {
        /// Who was to be asked.
        asked: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Puts a question to the human of a session.
#[async_trait]
pub trait Consent: Send + Sync {
    /// Asks `question` and waits for the answer. Nothing is remembered: after a crash the question is open again.
    async fn ask(&self, session: &SessionId, question: &Question) -> Result<Answer, ConsentError>;
}
