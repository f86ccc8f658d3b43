//! A client that sends exactly the bytes of a test.

use std::net::SocketAddr;

use inrush_page::Watch;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A reply.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

pub fn address(watch: &Watch) -> SocketAddr {
    let url = watch.url().unwrap();
    url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap()
}

/// Sends a request of these lines, and reads the reply to its end.
pub async fn send(address: SocketAddr, lines: &[&str]) -> Reply {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{}\r\n\r\n", lines.join("\r\n")).as_bytes()).await.unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}

/// A GET from a program of this machine.
pub async fn get(address: SocketAddr, path: &str, headers: &[&str]) -> Reply {
    let (line, host) = (format!("GET {path} HTTP/1.1"), format!("Host: {address}"));
    send(address, &[&[line.as_str(), host.as_str()], headers].concat()).await
}

/// A viewer.
pub struct Viewer(BufReader<TcpStream>);

impl Viewer {
    pub async fn connect(address: SocketAddr, headers: &[&str]) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let (line, host) = ("GET /events HTTP/1.1", format!("Host: {address}"));
        let head = [&[line, host.as_str()], headers].concat().join("\r\n");
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await.unwrap();
        Viewer(BufReader::new(stream))
    }

    /// The next event: its name and its data. `None` after the last one.
    pub async fn next(&mut self) -> Option<(String, serde_json::Value)> {
        let mut name = None;
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).await.unwrap() == 0 {
                return None;
            }
            // Sizes of chunks and the head of the reply are other lines.
            if let Some(given) = line.strip_prefix("event: ") {
                name = Some(given.trim().to_owned());
            }
            if let (Some(name), Some(data)) = (&name, line.strip_prefix("data: ")) {
                return Some((name.clone(), serde_json::from_str(data).unwrap()));
            }
        }
    }
}
