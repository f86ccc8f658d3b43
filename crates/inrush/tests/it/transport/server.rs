//! A server that does on each connection what it is told, also what no good server would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// What to do with a request.
pub(crate) enum Act {
    /// Read all of it and answer.
    Reply(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Read all of it, answer and close the connection without having said so.
    ReplyAndClose(u16, Vec<u8>),
    /// Read the head, answer and close the connection.
    ReplyEarly(u16),
    /// Read the head only, then close the connection.
    CloseAfterHead,
    /// Read all of it, then close the connection.
    CloseAfterBody,
    /// Read all of it, then answer with these bytes as they are and close the connection.
    Raw(Vec<u8>),
    /// Read all of it and never answer.
    Silence,
}

impl Act {
    pub(crate) fn json(status: u16, body: &str) -> Act {
        Act::Reply(status, vec![("content-type", "application/json".into())], body.as_bytes().to_vec())
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Received>>>,
    connections: Arc<AtomicUsize>,
    closed: mpsc::Receiver<()>,
}

impl Server {
    /// Starts a server whose acts are decided by the number of the request (from 0) and its head.
    /// It ends with the test's process.
    pub(crate) fn start(decide: impl Fn(usize, &Received) -> Act + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (tell_closed, closed) = mpsc::channel();
        let server = Server { url, seen: seen.clone(), connections: connections.clone(), closed };
        let number = Arc::new(AtomicUsize::new(0));
        let decide = Arc::new(decide);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                connections.fetch_add(1, Ordering::SeqCst);
                let (seen, number, decide, closed) =
                    (seen.clone(), number.clone(), decide.clone(), tell_closed.clone());
                std::thread::spawn(move || {
                    serve(&stream, &seen, &number, &*decide);
                    let _ = stream.shutdown(Shutdown::Both);
                    drop(stream);
                    let _ = closed.send(());
                });
            }
        });
        server
    }

    /// All requests that were read as far as their act said.
    pub(crate) fn seen(&self) -> Vec<Received> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until the server has closed a connection.
    pub(crate) fn wait_for_close(&self) {
        self.closed.recv().unwrap();
    }
}

/// An address at which no server answers.
pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn serve(
    stream: &TcpStream,
    seen: &Mutex<Vec<Received>>,
    number: &AtomicUsize,
    decide: &(dyn Fn(usize, &Received) -> Act + Send + Sync),
) {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some(mut request) = read_head(&mut reader) {
        let act = decide(number.fetch_add(1, Ordering::SeqCst), &request);
        if !matches!(act, Act::CloseAfterHead | Act::ReplyEarly(_)) {
            let len = request.header("content-length").map_or(0, |len| len.parse().unwrap());
            request.body = vec![0; len];
            if reader.read_exact(&mut request.body).is_err() {
                return;
            }
        }
        seen.lock().unwrap().push(request);
        match act {
            Act::Reply(status, headers, body) => write_reply(&mut writer, status, &headers, &body),
            Act::ReplyAndClose(status, body) => {
                write_reply(&mut writer, status, &[], &body);
                return;
            }
            Act::ReplyEarly(status) => {
                write_reply(&mut writer, status, &[("connection", "close".into())], b"{}");
                return;
            }
            Act::CloseAfterHead | Act::CloseAfterBody => return,
            Act::Raw(bytes) => {
                let _ = writer.write_all(&bytes);
                return;
            }
            Act::Silence => {
                // Until the client gives up.
                let _ = reader.read(&mut [0]);
                return;
            }
        }
    }
}

pub(crate) fn read_head(reader: &mut impl BufRead) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|len| *len > 0)?;
    let mut words = line.split_whitespace();
    let mut request =
        Received { method: words.next()?.to_owned(), target: words.next()?.to_owned(), ..Received::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            return Some(request);
        }
        let (name, value) = line.split_once(':')?;
        request.headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

pub(crate) fn write_reply(writer: &mut impl Write, status: u16, headers: &[(&'static str, String)], body: &[u8]) {
    let mut reply = format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\n", body.len()).into_bytes();
    for (name, value) in headers {
        reply.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    reply.extend_from_slice(b"\r\n");
    reply.extend_from_slice(body);
    // The client may be gone already.
    let _ = writer.write_all(&reply);
}
