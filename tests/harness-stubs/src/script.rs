//! What a scripted model answers, in which order, and what it was asked: the same for every model's dialect.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// One answer of the model.
#[derive(Debug, Clone, Default)]
pub struct Step {
    pub(crate) text: Option<String>,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) failure: Option<u16>,
    wanted: Option<String>,
    gate: Option<Gate>,
}

impl Step {
    /// The model says `text` and ends its turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// The model calls tools, all in one message, and is asked again with their results.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self { calls: calls.into_iter().collect(), ..Self::default() }
    }

    /// The model's service answers with this HTTP status and an error body.
    pub fn failing(status: u16) -> Self {
        Self { failure: Some(status), ..Self::default() }
    }

    /// Only a request that contains `text` takes this step, a side request too; steps without this are taken in order, by
    /// the requests of a conversation.
    #[must_use]
    pub fn for_request_with(mut self, text: impl Into<String>) -> Self {
        self.wanted = Some(text.into());
        self
    }

    /// The answer begins only once the gate is open.
    #[must_use]
    pub fn held_by(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    pub(crate) fn wait(&self) {
        if let Some(gate) = &self.gate {
            gate.wait();
        }
    }
}

/// A tool that the model calls.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub(crate) name: String,
    pub(crate) input: Value,
}

impl ToolCall {
    /// A call by the tool's name as the harness spells it.
    pub fn new(name: impl Into<String>, input: Value) -> Self {
        Self { name: name.into(), input }
    }
}

/// Holds an answer back until it is opened, so that a test can act while the agent waits for its model.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// A closed gate.
    pub fn closed() -> Self {
        Self::default()
    }

    /// Opens it for good.
    pub fn open(&self) {
        let (is_open, changed) = &*self.0;
        *is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    fn wait(&self) {
        let (is_open, changed) = &*self.0;
        let guard = is_open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(changed.wait_while(guard, |is_open| !*is_open).unwrap_or_else(PoisonError::into_inner));
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Gate")
    }
}

/// What the answer to a request is made of.
#[derive(Debug)]
pub(crate) struct Taken {
    /// How many requests came before, for ids that differ.
    pub(crate) number: usize,
    pub(crate) step: Step,
}

/// The steps that are left and the requests that came.
#[derive(Debug, Default)]
pub(crate) struct Script(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    steps: Vec<Step>,
    taken: Vec<bool>,
    requests: Vec<Asked>,
}

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Whether it belongs to the conversation, and not to a helper that makes titles and the like.
    pub(crate) is_conversation: bool,
    pub(crate) body: Value,
}

impl Script {
    pub(crate) fn extend(&self, steps: impl IntoIterator<Item = Step>) {
        let mut state = self.state();
        state.steps.extend(steps);
        let count = state.steps.len();
        state.taken.resize(count, false);
    }

    /// Notes a request and returns the step that it takes, or an answer that ends the turn.
    pub(crate) fn take(&self, asked: Asked) -> Taken {
        let mut state = self.state();
        let number = state.requests.len();
        let position = state.steps.iter().zip(&state.taken).position(|(step, taken)| {
            !taken
                && match &step.wanted {
                    Some(wanted) => mentions(&asked.body, wanted),
                    None => asked.is_conversation,
                }
        });
        let step = match position {
            Some(position) => {
                state.taken[position] = true;
                state.steps[position].clone()
            }
            None => Step::text("The script has no further step."),
        };
        state.requests.push(asked);
        Taken { number, step }
    }

    pub(crate) fn steps_left(&self) -> usize {
        let state = self.state();
        state.taken.iter().filter(|taken| !**taken).count()
    }

    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.state().requests.clone()
    }

    /// Opens every gate, so that no thread of a server that is ending waits.
    pub(crate) fn release(&self) {
        for gate in self.state().steps.iter().filter_map(|step| step.gate.as_ref()) {
            gate.open();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether `text` stands in any string of `value`, whatever JSON's escapes make of it.
pub(crate) fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.contains(text),
        Value::Array(values) => values.iter().any(|value| mentions(value, text)),
        Value::Object(fields) => fields.values().any(|value| mentions(value, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conversation(text: &str) -> Asked {
        Asked { is_conversation: true, body: json!({ "messages": [{ "content": text }] }) }
    }

    fn side(text: &str) -> Asked {
        Asked { is_conversation: false, body: json!({ "messages": [{ "content": text }] }) }
    }

    fn answer(script: &Script, asked: Asked) -> Option<String> {
        script.take(asked).step.text
    }

    #[test]
    fn stub_steps_are_taken_in_order_by_the_conversation_only() {
        let script = Script::default();
        script.extend([Step::text("first"), Step::text("second")]);

        let answers = [
            answer(&script, side("title")),
            answer(&script, conversation("a")),
            answer(&script, conversation("b")),
            answer(&script, conversation("c")),
        ];

        let idle = "The script has no further step.";
        let expected = [idle, "first", "second", idle].map(|text| Some(text.to_owned()));
        assert_eq!(answers, expected);
        assert_eq!(script.steps_left(), 0);
        assert_eq!(script.requests().len(), 4);
    }

    #[test]
    fn stub_a_step_for_some_request_waits_for_it() {
        let script = Script::default();
        script.extend([Step::text("for x").for_request_with("line \"x\"\n"), Step::text("plain")]);

        let first = answer(&script, conversation("a"));
        let second = answer(&script, side("has line \"x\"\n in it"));

        assert_eq!(first.as_deref(), Some("plain"));
        assert_eq!(second.as_deref(), Some("for x"));
    }
}
