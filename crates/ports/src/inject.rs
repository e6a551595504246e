//! Putting text into the agent's context.
//!
//! It must never carry what is meant for the human; that is `Notifier`'s.

use async_trait::async_trait;
use thiserror::Error;

use crate::process::SessionId;

/// Why a text did not reach the agent.
#[derive(Debug, Error)]
pub enum InjectError {
    /// The session is gone or its harness has no way to carry context.
    #[error("session {session} cannot be given context: {reason}")]
    Refused {
        /// The session.
        session: SessionId,
        /// Why not.
        reason: String,
    },
}

/// Puts text into the context of a session's agent.
#[async_trait]
pub trait ContextInjector: Send + Sync {
    /// Hands over `text` for the next event that can carry it. It is delivered at most once; after a crash of the
    /// daemon an undelivered text is lost.
    async fn inject(&self, session: &SessionId, text: &str) -> Result<(), InjectError>;
}
