//! A small blocking HTTP/1.1 server on loopback: a thread per connection, one exchange per connection.
//!
//! It knows no model's dialect, and it never outlives its owner: dropping the server ends every thread of it.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The largest request body that is read, in bytes; a conversation with a few whole files in it is far below.
const BODY_AT_MOST: u64 = 64 << 20;

/// The largest request head that is read, in bytes.
const HEAD_AT_MOST: u64 = 64 << 10;

/// One request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// Answers requests, several at once.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Writes the whole answer to `connection`, which is closed afterwards. An error means that the client went away.
    fn handle(&self, request: &Request, connection: &mut TcpStream) -> io::Result<()>;
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    connections: Arc<Connections>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on a free port of 127.0.0.1; requests are answered from the moment this returns.
    pub(crate) fn start(handler: impl Handler) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let connections = Arc::new(Connections::default());
        let acceptor = {
            let connections = Arc::clone(&connections);
            thread::Builder::new()
                .name("scripted-model".to_owned())
                .spawn(move || accept(&listener, &handler, &connections))?
        };
        Ok(Self { address, connections, acceptor: Some(acceptor) })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.connections.close_all();
        // Wakes the thread that accepts. Where connecting fails, that thread has ended already.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            // A panic in there has been printed, and the test that needed the answer has failed by it.
            drop(acceptor.join());
        }
    }
}

/// Writes a whole response with a JSON body.
pub(crate) fn respond(connection: &mut TcpStream, status: u16, body: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes())?;
    connection.write_all(body.as_bytes())
}

/// Writes the head of a response that is a stream of server-sent events; it ends where the connection closes.
pub(crate) fn begin_event_stream(connection: &mut TcpStream) -> io::Result<()> {
    connection.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: close\r\n\r\n",
    )
}

fn accept(listener: &TcpListener, handler: &impl Handler, connections: &Connections) {
    thread::scope(|scope| {
        for stream in listener.incoming() {
            // A connection that broke before it was accepted is the client's affair.
            let Ok(stream) = stream else { continue };
            let Some(number) = connections.register(&stream) else {
                return;
            };
            scope.spawn(move || {
                // Small events written one by one would otherwise wait for the client's delayed acknowledgements.
                drop(stream.set_nodelay(true));
                serve(stream, handler);
                connections.forget(number);
            });
        }
    });
}

fn serve(mut stream: TcpStream, handler: &impl Handler) {
    let exchange = read_request(&stream).and_then(|request| match request {
        Some(request) => handler.handle(&request, &mut stream),
        None => Ok(()),
    });
    match exchange {
        Ok(()) => {}
        // Nobody is left to tell but the client; one that interrupts a turn goes away in the middle of an answer.
        Err(error) => drop(respond(&mut stream, 400, &format!("{{\"error\":{:?}}}", error.to_string()))),
    }
    drop(stream.shutdown(Shutdown::Both));
}

/// Reads one request; none where the client closed without a word.
fn read_request(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut head = (&mut reader).take(HEAD_AT_MOST);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_ascii_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(malformed("request line"));
    };
    let path = target.split('?').next().unwrap_or(target);
    let (method, path) = (method.to_owned(), path.to_owned());

    let mut length = 0;
    loop {
        line.clear();
        if head.read_line(&mut line)? == 0 {
            return Err(malformed("request head"));
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(|_| malformed("content-length"))?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(malformed("transfer-encoding: only a plain body is understood"));
        }
    }
    if length > BODY_AT_MOST {
        return Err(malformed("body: too large"));
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    Ok(Some(Request { method, path, body }))
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed {what}"))
}

/// The open connections, so that the end of the server ends them too.
#[derive(Debug, Default)]
struct Connections(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    closed: bool,
    next: u64,
    streams: BTreeMap<u64, TcpStream>,
}

impl Connections {
    /// Keeps a second handle of the connection; none once the server is ending.
    fn register(&self, stream: &TcpStream) -> Option<u64> {
        let mut open = self.open();
        if open.closed {
            return None;
        }
        let stream = stream.try_clone().ok()?;
        let number = open.next;
        open.next += 1;
        open.streams.insert(number, stream);
        Some(number)
    }

    fn forget(&self, number: u64) {
        self.open().streams.remove(&number);
    }

    fn close_all(&self) {
        let mut open = self.open();
        open.closed = true;
        for stream in open.streams.values() {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
