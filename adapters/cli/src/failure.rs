//! Why a command did not do what was asked, for a person.
//!
//! It must never leave out the cause, or mix it with the way out.

use std::error::Error;
use std::fmt;

/// A failure with the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    message: String,
    advice: Option<String>,
}

impl Failure {
    /// Says what happened and what it means.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), advice: None }
    }

    /// Says `error` and all its causes.
    pub(crate) fn caused_by(error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        Self::new(message)
    }

    /// Returns what happened, without the way out.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the way out, where one is known.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Adds what the person can do.
    pub(crate) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.advice {
            Some(advice) => write!(formatter, "\n{advice}"),
            None => Ok(()),
        }
    }
}
