//! What reached the human and what reached the agent, in two separate records.
//!
//! It must never mix the two.

use std::collections::BTreeSet;
use std::sync::Mutex;

use async_trait::async_trait;
use steward_ports::{ContextInjector, InjectError, Notice, NoticeKind, Notifier, NotifyError, SessionId};

use crate::script::locked;

const REFUSAL: &str = "it was closed by the test";

/// Keeps every notice.
#[derive(Debug, Default)]
pub struct RecordingNotifier {
    told: Mutex<Vec<(SessionId, Notice)>>,
    closed: Mutex<BTreeSet<SessionId>>,
}

impl RecordingNotifier {
    /// Refuses what `session` is to be told from now on.
    pub fn close(&self, session: &SessionId) {
        locked(&self.closed).insert(session.clone());
    }

    /// Returns what `session` was told, oldest first.
    pub fn told(&self, session: &SessionId) -> Vec<Notice> {
        let told = locked(&self.told);
        told.iter().filter(|(listener, _)| listener == session).map(|(_, notice)| notice.clone()).collect()
    }

    /// Returns the conditions that `session` was told of, oldest first.
    pub fn kinds(&self, session: &SessionId) -> Vec<NoticeKind> {
        self.told(session).iter().map(|notice| notice.kind).collect()
    }
}

#[async_trait]
impl Notifier for RecordingNotifier {
    async fn notify(&self, session: &SessionId, notice: &Notice) -> Result<(), NotifyError> {
        if locked(&self.closed).contains(session) {
            return Err(NotifyError::Refused { session: session.clone(), reason: REFUSAL.to_owned() });
        }
        locked(&self.told).push((session.clone(), notice.clone()));
        Ok(())
    }
}

/// Keeps every text.
#[derive(Debug, Default)]
pub struct RecordingInjector {
    injected: Mutex<Vec<(SessionId, String)>>,
    closed: Mutex<BTreeSet<SessionId>>,
}

impl RecordingInjector {
    /// Refuses what `session` is to be given from now on.
    pub fn close(&self, session: &SessionId) {
        locked(&self.closed).insert(session.clone());
    }

    /// Returns what the agent of `session` was given, oldest first.
    pub fn injected(&self, session: &SessionId) -> Vec<String> {
        let injected = locked(&self.injected);
        injected.iter().filter(|(listener, _)| listener == session).map(|(_, text)| text.clone()).collect()
    }
}

#[async_trait]
impl ContextInjector for RecordingInjector {
    async fn inject(&self, session: &SessionId, text: &str) -> Result<(), InjectError> {
        if locked(&self.closed).contains(session) {
            return Err(InjectError::Refused { session: session.clone(), reason: REFUSAL.to_owned() });
        }
        locked(&self.injected).push((session.clone(), text.to_owned()));
        Ok(())
    }
}
