//! What waits to be told to the sessions of hook harnesses, until one of their events can carry it.
//!
//! It must never grow without bound, and never deliver anything twice.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use steward_ports::{ContextInjector, InjectError, Notice, Notifier, NotifyError, SessionId};

/// The most notices, and the most pieces of context, that wait for one session.
const LIMIT: usize = 32;

#[derive(Debug, Default)]
struct Waiting {
    notices: Vec<Notice>,
    context: Vec<String>,
}

/// Notices and context for sessions that only hear when they speak.
#[derive(Debug, Default)]
pub struct Outbox {
    sessions: Mutex<BTreeMap<SessionId, Waiting>>,
}

impl Outbox {
    /// Takes the notices that wait for `session`.
    pub fn take_notices(&self, session: &SessionId) -> Vec<Notice> {
        self.with(session, |waiting| std::mem::take(&mut waiting.notices))
    }

    /// Takes the context that waits for `session`.
    pub fn take_context(&self, session: &SessionId) -> Vec<String> {
        self.with(session, |waiting| std::mem::take(&mut waiting.context))
    }

    /// Forgets what waits for `session`, which is gone.
    pub fn forget(&self, session: &SessionId) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }

    fn with<T>(&self, session: &SessionId, act: impl FnOnce(&mut Waiting) -> T) -> T {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        act(sessions.entry(session.clone()).or_default())
    }
}

#[async_trait]
impl Notifier for Outbox {
    async fn notify(&self, session: &SessionId, notice: &Notice) -> Result<(), NotifyError> {
        self.with(session, |waiting| {
            waiting.notices.retain(|older| !notice.kind.supersedes(older.kind));
            if waiting.notices.len() >= LIMIT {
                let reason = format!("{LIMIT} notices are waiting already");
                return Err(NotifyError::Refused { session: session.clone(), reason });
            }
            waiting.notices.push(notice.clone());
            Ok(())
        })
    }
}

#[async_trait]
impl ContextInjector for Outbox {
    async fn inject(&self, session: &SessionId, text: &str) -> Result<(), InjectError> {
        self.with(session, |waiting| {
            if waiting.context.len() >= LIMIT {
                let reason = format!("{LIMIT} pieces of context are waiting already");
                return Err(InjectError::Refused { session: session.clone(), reason });
            }
            waiting.context.push(text.to_owned());
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use steward_ports::NoticeKind;

    use super::*;

    fn session() -> SessionId {
        SessionId::new("claude-code:1:2")
    }

    fn notice() -> Notice {
        Notice { kind: NoticeKind::Unindexed, text: "no graph".to_owned(), advice: None }
    }

    #[tokio::test]
    async fn a_notice_is_delivered_once() {
        let outbox = Outbox::default();
        outbox.notify(&session(), &notice()).await.unwrap();

        assert_eq!(outbox.take_notices(&session()), vec![notice()]);
        assert_eq!(outbox.take_notices(&session()), Vec::new());
    }

    #[tokio::test]
    async fn a_notice_that_is_overtaken_is_not_delivered() {
        let outbox = Outbox::default();
        outbox.notify(&session(), &notice()).await.unwrap();
        let done = Notice { kind: NoticeKind::IndexingDone, text: "ready".to_owned(), advice: None };

        outbox.notify(&session(), &done).await.unwrap();

        assert_eq!(outbox.take_notices(&session()), vec![done]);
    }

    #[tokio::test]
    async fn a_session_that_never_speaks_is_not_remembered_without_bound() {
        let outbox = Outbox::default();
        for _ in 0..LIMIT {
            outbox.inject(&session(), "note").await.unwrap();
        }

        assert!(outbox.inject(&session(), "note").await.is_err());
        outbox.forget(&session());
        assert_eq!(outbox.take_context(&session()), Vec::<String>::new());
    }
}
