//! Client and server over a real socket.
//!
//! It must never depend on a real daemon: the answers are scripted.

#![cfg(feature = "server")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use steward_ipc::client::{ClientError, connect, exchange};
use steward_ipc::server::{Incoming, Server, ServerError};
use steward_ipc::{LockError, Runtime, Start, StartError};
use steward_wire::{Build, Envelope, PROTOCOL, Reply, Request};
use tokio::sync::mpsc;

fn runtime(directory: &Path) -> Runtime {
    Runtime::locate(Some(directory.as_os_str())).unwrap()
}

fn build() -> Build {
    Build { version: "0.0.0".to_owned(), built_at: 0 }
}

fn envelope(request: Request) -> Envelope {
    Envelope { protocol: PROTOCOL, build: build(), request }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

async fn answer(requests: &mut mpsc::Receiver<Incoming>, reply: Reply) -> Request {
    let incoming = requests.recv().await.unwrap();
    incoming.replies.send(reply).await.unwrap();
    incoming.envelope.request
}

#[tokio::test]
async fn a_request_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime(directory.path());
    let (mut requests, serving) = Server::bind(&runtime, build()).unwrap().serve();

    let asked = runtime.clone();
    let client = tokio::task::spawn_blocking(move || {
        connect(&asked, Some(soon())).unwrap().ask(&envelope(Request::Daemon)).unwrap().1
    });
    let request = answer(&mut requests, Reply::Draining).await;

    assert_eq!(request, Request::Daemon);
    assert_eq!(client.await.unwrap(), Reply::Draining);
    serving.close().await;
    assert!(!runtime.socket().exists());
}

#[tokio::test]
async fn a_second_daemon_does_not_take_the_socket() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime(directory.path());
    let first = Server::bind(&runtime, build()).unwrap();

    let second = Server::bind(&runtime, build());

    assert!(matches!(second, Err(ServerError::Lock(LockError::Held { .. }))));
    assert!(first.socket().exists());
}

#[tokio::test]
async fn a_socket_that_a_dead_daemon_left_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime(directory.path());
    drop(UnixListener::bind(runtime.socket()).unwrap());
    assert!(matches!(connect(&runtime, Some(soon())), Err(ClientError::NotRunning { .. })));

    let (_requests, serving) = Server::bind(&runtime, build()).unwrap().serve();

    assert!(connect(&runtime, Some(soon())).is_ok());
    serving.close().await;
}

#[tokio::test]
async fn a_client_that_leaves_closes_its_channel() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime(directory.path());
    let (mut requests, serving) = Server::bind(&runtime, build()).unwrap().serve();
    let mut client = UnixStream::connect(runtime.socket()).unwrap();
    client.write_all(&steward_wire::encode(&envelope(Request::Daemon)).unwrap()).unwrap();
    let incoming = requests.recv().await.unwrap();

    drop(client);

    incoming.replies.closed().await;
    serving.close().await;
}

#[tokio::test]
async fn garbage_is_no_request() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime(directory.path());
    let (mut requests, serving) = Server::bind(&runtime, build()).unwrap().serve();
    let mut client = UnixStream::connect(runtime.socket()).unwrap();
    client.write_all(&[0xff; 64]).unwrap();
    let mut valid = UnixStream::connect(runtime.socket()).unwrap();
    valid.write_all(&steward_wire::encode(&envelope(Request::Daemon)).unwrap()).unwrap();

    let incoming = requests.recv().await.unwrap();

    assert_eq!(incoming.envelope.request, Request::Daemon);
    assert!(requests.is_empty());
    drop(incoming);
    serving.close().await;
}

#[tokio::test]
async fn a_request_of_a_later_protocol_is_told_so_although_it_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime(directory.path());
    let (_requests, serving) = Server::bind(&runtime, build()).unwrap().serve();
    let mut later = serde_json::to_value(envelope(Request::Daemon)).unwrap();
    later["protocol"] = (PROTOCOL + 1).into();
    later["request"] = serde_json::json!({ "kind": "unheard-of" });
    let mut client = UnixStream::connect(runtime.socket()).unwrap();
    client.write_all(&steward_wire::encode(&later).unwrap()).unwrap();

    let reply = tokio::task::spawn_blocking(move || steward_wire::read_frame::<Reply>(&mut client).unwrap());

    assert_eq!(reply.await.unwrap(), Reply::Incompatible { protocol: PROTOCOL, build: build() });
    serving.close().await;
}

#[tokio::test]
async fn an_older_daemon_gives_way() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime(directory.path());
    let (mut requests, serving) = Server::bind(&runtime, build()).unwrap().serve();
    let asking = runtime.clone();
    let client = tokio::task::spawn_blocking(move || {
        let start = Start { program: "/nonexistent/stewardd".into(), environment: BTreeMap::new() };
        exchange(&asking, &start, &build(), &Request::Daemon, soon())
    });

    answer(&mut requests, Reply::Incompatible { protocol: PROTOCOL, build: build() }).await;
    let stop = requests.recv().await.unwrap();
    stop.replies.send(Reply::Stopping { pid: 1 }).await.unwrap();
    serving.close().await;
    drop(stop.replies);

    assert_eq!(stop.envelope.request, Request::Stop { drain: true });
    // The older one is gone, and the newer one is started, which here is no program.
    assert!(matches!(client.await.unwrap(), Err(ClientError::NotStarted(StartError::Spawn { .. }))));
}

#[test]
fn a_daemon_that_never_answers_is_given_up_by_the_deadline() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime(directory.path());
    let _wedged = UnixListener::bind(runtime.socket()).unwrap();
    let deadline = Some(Instant::now() + Duration::from_millis(20));

    let result = connect(&runtime, deadline).unwrap().ask(&envelope(Request::Daemon));

    assert!(matches!(result, Err(ClientError::TimedOut)));
}

#[test]
fn without_a_socket_nothing_is_running() {
    let directory = tempfile::tempdir().unwrap();

    let result = connect(&runtime(directory.path()), Some(soon()));

    assert!(matches!(result, Err(ClientError::NotRunning { .. })));
}
