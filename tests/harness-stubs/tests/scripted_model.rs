//! Proves the scripted model at its wire, and that it ends with its owner.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use steward_harness_stubs::{Gate, ScriptedModel, Step, ToolCall, wait_until};

const BOUND: Duration = Duration::from_secs(30);

fn exchange(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

fn message(port: u16, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    exchange(port, &format!("POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}"))
}

fn body_of(response: &str) -> Value {
    serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn stub_a_whole_message_carries_text_and_calls() {
    let write = ToolCall::new("Write", json!({ "file_path": "/a" }));
    let model = ScriptedModel::start([Step::calls([write])]).unwrap();

    let response = message(model.port(), &json!({ "model": "m", "tools": [{}], "messages": ["hello"] }));

    let body = body_of(&response);
    assert_eq!(body["stop_reason"], "tool_use");
    assert_eq!(body["content"][0]["name"], "Write");
    assert_eq!(body["content"][0]["input"], json!({ "file_path": "/a" }));
    assert_eq!(model.requests_with("hello"), 1);
    assert_eq!(model.steps_left(), 0);
}

#[test]
fn stub_a_stream_is_a_sequence_of_events() {
    let model = ScriptedModel::start([Step::text("said")]).unwrap();

    let response = message(model.port(), &json!({ "model": "m", "tools": [{}], "stream": true }));

    let events: Vec<&str> = response.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(
        events,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    assert!(response.contains(r#""text":"said""#), "{response}");
}

#[test]
fn stub_a_failing_step_answers_with_its_status() {
    let model = ScriptedModel::start([Step::failing(529)]).unwrap();

    let response = message(model.port(), &json!({ "tools": [{}] }));

    assert!(response.starts_with("HTTP/1.1 529 "), "{response}");
    assert_eq!(body_of(&response)["type"], "error");
}

#[rstest]
#[case::no_http("hello\r\n\r\n")]
#[case::no_json("POST /v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n{x")]
#[case::bad_length("POST /v1/messages HTTP/1.1\r\ncontent-length: x\r\n\r\n")]
#[case::chunked("POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")]
fn stub_a_malformed_request_is_refused_and_the_next_is_served(#[case] request: &str) {
    let model = ScriptedModel::start([Step::text("said")]).unwrap();

    let refusal = exchange(model.port(), request);
    let response = message(model.port(), &json!({ "tools": [{}] }));

    assert!(refusal.starts_with("HTTP/1.1 400 "), "{refusal}");
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
}

#[test]
fn stub_an_answer_is_held_until_its_gate_opens() {
    let gate = Gate::closed();
    let model = ScriptedModel::start([Step::text("said").held_by(&gate)]).unwrap();
    let port = model.port();
    let asking = thread::spawn(move || message(port, &json!({ "tools": [{}] })));
    assert!(wait_until(BOUND, || model.steps_left() == 0));
    assert!(!asking.is_finished());

    gate.open();

    assert!(asking.join().unwrap().contains("said"));
}

#[test]
fn stub_a_dropped_model_releases_what_it_holds() {
    let model = ScriptedModel::start([Step::text("said").held_by(&Gate::closed())]).unwrap();
    let mut waiting = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
    waiting.set_read_timeout(Some(BOUND)).unwrap();
    waiting.write_all(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 14\r\n\r\n{\"tools\":[{}]}").unwrap();
    let idle = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
    assert!(wait_until(BOUND, || model.steps_left() == 0));
    let port = model.port();

    drop(model);

    drop(idle);
    let mut rest = Vec::new();
    // Whether the answer still went out depends on which came first; that reading ends at all is what counts.
    drop(waiting.read_to_end(&mut rest));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}
