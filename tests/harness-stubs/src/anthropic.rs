//! A scripted stand-in for the Anthropic Messages API, the dialect that Claude Code speaks.
//!
//! It answers on loopback only, and it knows nothing of the harness that asks.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::error::HarnessError;
use crate::http::{self, Handler, Request, Server};
use crate::script::{Asked, Script, Step, Taken, mentions};

/// A model that says what its script says and keeps what it was asked.
///
/// Ends with all its threads when dropped; answers that are held back are released then.
#[derive(Debug)]
pub struct ScriptedModel {
    script: Arc<Script>,
    server: Server,
}

impl ScriptedModel {
    /// Starts to listen on a free loopback port.
    ///
    /// A step is used by one request of the conversation; after the last one every request ends the turn.
    pub fn start(steps: impl IntoIterator<Item = Step>) -> Result<Self, HarnessError> {
        let script = Arc::new(Script::default());
        script.extend(steps);
        let server = Server::start(Messages(Arc::clone(&script)))
            .map_err(|source| HarnessError::System { action: "listen on loopback", source })?;
        Ok(Self { script, server })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// What `ANTHROPIC_BASE_URL` has to be.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }

    /// Adds steps behind those that are left.
    pub fn extend(&self, steps: impl IntoIterator<Item = Step>) {
        self.script.extend(steps);
    }

    /// How many steps no request has used yet.
    pub fn steps_left(&self) -> usize {
        self.script.steps_left()
    }

    /// The bodies of all requests for a message, oldest first: the conversation's and the helpers'.
    pub fn requests(&self) -> Vec<Value> {
        let requests = self.script.requests();
        requests.into_iter().map(|asked| asked.body).collect()
    }

    /// The bodies of the conversation's requests, oldest first: those that offer tools.
    pub fn conversation(&self) -> Vec<Value> {
        let requests = self.script.requests();
        let conversation = requests.into_iter().filter(|asked| asked.is_conversation);
        conversation.map(|asked| asked.body).collect()
    }

    /// How many requests, of any kind, contain `text` in any of their strings.
    pub fn requests_with(&self, text: &str) -> usize {
        let requests = self.script.requests();
        requests.iter().filter(|asked| mentions(&asked.body, text)).count()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.script.release();
    }
}

struct Messages(Arc<Script>);

impl Handler for Messages {
    fn handle(&self, request: &Request, connection: &mut TcpStream) -> io::Result<()> {
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/messages") => self.answer(&request.body, connection),
            ("POST", "/v1/messages/count_tokens") => {
                let tokens = json!({ "input_tokens": request.body.len() / 4 + 1 });
                http::respond(connection, 200, &tokens.to_string())
            }
            ("GET", "/v1/models") => {
                http::respond(connection, 200, &json!({ "data": [], "has_more": false }).to_string())
            }
            ("POST", _) => http::respond(connection, 200, "{}"),
            (_, path) => http::respond(connection, 404, &error_body("not_found_error", path)),
        }
    }
}

impl Messages {
    fn answer(&self, body: &[u8], connection: &mut TcpStream) -> io::Result<()> {
        let body: Value = serde_json::from_slice(body)?;
        let is_stream = body["stream"] == Value::Bool(true);
        let model = body["model"].clone();
        let is_conversation = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let taken = self.0.take(Asked { is_conversation, body });
        taken.step.wait();

        if let Some(status) = taken.step.failure {
            return http::respond(connection, status, &error_body("api_error", "scripted"));
        }
        let message = Message::new(&taken, &model);
        if is_stream {
            message.stream(connection)
        } else {
            http::respond(connection, 200, &message.whole().to_string())
        }
    }
}

/// An assistant's message in the API's shape.
struct Message {
    id: String,
    model: Value,
    blocks: Vec<Value>,
    stop_reason: &'static str,
}

impl Message {
    fn new(taken: &Taken, model: &Value) -> Self {
        let number = taken.number;
        let text = taken.step.text.iter().map(|text| json!({ "type": "text", "text": text }));
        let calls = taken.step.calls.iter().enumerate().map(|(position, call)| {
            json!({
                "type": "tool_use",
                "id": format!("toolu_{number:03}_{position}"),
                "name": call.name,
                "input": call.input,
            })
        });
        Self {
            id: format!("msg_{number:03}"),
            model: model.clone(),
            blocks: text.chain(calls).collect(),
            stop_reason: if taken.step.calls.is_empty() { "end_turn" } else { "tool_use" },
        }
    }

    fn whole(&self) -> Value {
        self.shell(&Value::from(self.blocks.clone()), &self.stop_reason.into())
    }

    fn stream(&self, connection: &mut TcpStream) -> io::Result<()> {
        http::begin_event_stream(connection)?;
        let start = self.shell(&json!([]), &Value::Null);
        send(connection, "message_start", json!({ "message": start }))?;
        for (index, block) in self.blocks.iter().enumerate() {
            let (empty, delta) = begin(block);
            send(connection, "content_block_start", json!({ "index": index, "content_block": empty }))?;
            send(connection, "content_block_delta", json!({ "index": index, "delta": delta }))?;
            send(connection, "content_block_stop", json!({ "index": index }))?;
        }
        let end = json!({
            "delta": { "stop_reason": self.stop_reason, "stop_sequence": null },
            "usage": { "output_tokens": 10 },
        });
        send(connection, "message_delta", end)?;
        send(connection, "message_stop", json!({}))
    }

    fn shell(&self, content: &Value, stop_reason: &Value) -> Value {
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": null,
            "usage": {
                "input_tokens": 100,
                "output_tokens": 10,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            },
        })
    }
}

/// The block as it begins, empty, and the delta that fills it.
fn begin(block: &Value) -> (Value, Value) {
    let mut empty = block.clone();
    if block["type"] == "text" {
        empty["text"] = "".into();
        (empty, json!({ "type": "text_delta", "text": block["text"] }))
    } else {
        empty["input"] = json!({});
        let input = block["input"].to_string();
        (empty, json!({ "type": "input_json_delta", "partial_json": input }))
    }
}

fn send(connection: &mut TcpStream, kind: &str, mut data: Value) -> io::Result<()> {
    data["type"] = kind.into();
    connection.write_all(format!("event: {kind}\ndata: {data}\n\n").as_bytes())
}

fn error_body(kind: &str, message: &str) -> String {
    json!({ "type": "error", "error": { "type": kind, "message": message } }).to_string()
}
