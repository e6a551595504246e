//! A human who answers by script.
//!
//! It must never make an answer up.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use steward_ports::{Answer, Consent, ConsentError, Question, SessionId};

use crate::script::locked;

/// Answers questions in the order of its script and remembers them.
#[derive(Debug, Default)]
pub struct ScriptedConsent {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<(SessionId, Question)>>,
}

impl ScriptedConsent {
    /// Answers the next unscripted question with `answer`.
    pub fn will_answer(&self, answer: Answer) {
        locked(&self.answers).push_back(answer);
    }

    /// Returns what was asked, oldest first.
    pub fn asked(&self) -> Vec<(SessionId, Question)> {
        locked(&self.asked).clone()
    }
}

#[async_trait]
impl Consent for ScriptedConsent {
    async fn ask(&self, session: &SessionId, question: &Question) -> Result<Answer, ConsentError> {
        locked(&self.asked).push((session.clone(), question.clone()));
        match locked(&self.answers).pop_front() {
            Some(answer) => Ok(answer),
            None => panic!("session {session} was asked {:?} and the script has no answer", question.text),
        }
    }
}
