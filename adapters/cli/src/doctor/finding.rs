//! What a check found.
//!
//! It must never name a problem without the next step.

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::plain::plain;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// As it should be.
    Ok,
    /// It works, and less well than it could.
    Warn,
    /// It does not work.
    Fail,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) check: &'static str,
    /// How bad it is.
    pub(crate) verdict: Verdict,
    /// What was found, in plain words.
    pub(crate) found: String,
    /// The next step, where there is one to take.
    pub(crate) advice: Option<String>,
}

impl Finding {
    /// All is well.
    pub(crate) fn ok(check: &'static str, found: impl AsRef<str>) -> Self {
        Self { check, verdict: Verdict::Ok, found: plain(found.as_ref()), advice: None }
    }

    /// It could be better.
    pub(crate) fn warn(check: &'static str, found: impl AsRef<str>, advice: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Warn, found: plain(found.as_ref()), advice: Some(advice.into()) }
    }

    /// It does not work.
    pub(crate) fn fail(check: &'static str, found: impl AsRef<str>, advice: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Fail, found: plain(found.as_ref()), advice: Some(advice.into()) }
    }

    /// Returns the finding as a line, with the next step below it.
    pub(crate) fn render(&self) -> String {
        let (mark, style) = match self.verdict {
            Verdict::Ok => ("ok  ", AnsiColor::Green.on_default()),
            Verdict::Warn => ("warn", AnsiColor::Yellow.on_default().bold()),
            Verdict::Fail => ("FAIL", AnsiColor::Red.on_default().bold()),
        };
        let line = format!("{style}{mark}{style:#}  {:<18}{}", self.check, self.found);
        match &self.advice {
            Some(advice) => format!("{line}\n{:24}{}{advice}{:#}", "", Style::new().dimmed(), Style::new().dimmed()),
            None => line,
        }
    }
}
