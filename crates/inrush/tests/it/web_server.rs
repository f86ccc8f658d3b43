//! A web server with files in memory, which breaks off replies where it is told to.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A file, and how it is served.
#[derive(Clone)]
pub struct WebFile {
    pub data: Vec<u8>,
    /// `ETag`, if there is one.
    pub etag: Option<String>,
    /// Parts are given.
    pub ranges: bool,
    /// Its size is told.
    pub length: bool,
    /// Where it is instead.
    pub redirect: Option<String>,
    /// The number of bytes of a body after which connections are closed, and how often.
    pub breaks: (usize, u32),
}

impl WebFile {
    pub fn new(data: impl Into<Vec<u8>>) -> Self {
        WebFile {
            data: data.into(),
            etag: Some("\"v1\"".to_owned()),
            ranges: true,
            length: true,
            redirect: None,
            breaks: (usize::MAX, 0),
        }
    }
}

/// Serves until the process ends.
#[derive(Clone)]
pub struct WebServer {
    pub url: String,
    pub files: Arc<Mutex<HashMap<String, WebFile>>>,
    /// Targets with the values of `Range` and `Authorization`, in order.
    pub requests: Arc<Mutex<Vec<(String, String, String)>>>,
    /// Values of `Referer`.
    pub referers: Arc<Mutex<Vec<String>>>,
}

impl WebServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = WebServer { url, files: Arc::default(), requests: Arc::default(), referers: Arc::default() };
        let shared = server.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || {
                    // A client that leaves is no failure.
                    let _ = shared.serve(&connection);
                });
            }
        });
        server
    }

    pub fn put(&self, path: &str, file: WebFile) -> String {
        self.files.lock().unwrap().insert(path.to_owned(), file);
        format!("{}{path}", self.url)
    }

    fn serve(&self, connection: &TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(connection).lines();
        let mut out = connection;
        while let Some(request) = lines.next() {
            let target = request?.split(' ').nth(1).unwrap_or_default().to_owned();
            let (mut range, mut authorization) = (String::new(), String::new());
            loop {
                let line = lines.next().unwrap_or_else(|| Ok(String::new()))?;
                match line.split_once(": ") {
                    Some((name, value)) if name.eq_ignore_ascii_case("range") => range = value.to_owned(),
                    Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                        authorization = value.to_owned();
                    }
                    Some((name, value)) if name.eq_ignore_ascii_case("referer") => {
                        self.referers.lock().unwrap().push(value.to_owned());
                    }
                    Some(_) => {}
                    None => break,
                }
            }
            self.requests.lock().unwrap().push((target.clone(), range.clone(), authorization));
            let path = target.split('?').next().unwrap_or_default();
            let file = self.files.lock().unwrap().get(path).cloned();
            let Some(file) = file else {
                out.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?;
                continue;
            };
            if let Some(to) = file.redirect {
                write!(out, "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")?;
                continue;
            }
            let size = file.data.len();
            let mut head = String::new();
            let body =
                match range.strip_prefix("bytes=").filter(|_| file.ranges).and_then(|range| range.split_once('-')) {
                    Some((from, _)) if from.parse::<usize>().unwrap() >= size => {
                        head.push_str(&format!(
                            "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-range: bytes */{size}\r\n"
                        ));
                        &[]
                    }
                    Some((from, to)) => {
                        let from: usize = from.parse().unwrap();
                        let to = to.parse().map_or(size, |to: usize| (to + 1).min(size));
                        head.push_str("HTTP/1.1 206 Partial Content\r\n");
                        head.push_str(&format!("content-range: bytes {from}-{}/{size}\r\n", to - 1));
                        &file.data[from..to]
                    }
                    None => {
                        head.push_str("HTTP/1.1 200 OK\r\n");
                        &file.data[..]
                    }
                };
            if let Some(etag) = &file.etag {
                head.push_str(&format!("etag: {etag}\r\n"));
            }
            match file.length {
                true => head.push_str(&format!("content-length: {}\r\n\r\n", body.len())),
                false => head.push_str("connection: close\r\n\r\n"),
            }
            out.write_all(head.as_bytes())?;
            let (after, times) = file.breaks;
            if body.len() > after && times > 0 {
                if let Some(file) = self.files.lock().unwrap().get_mut(path) {
                    file.breaks.1 -= 1;
                }
                out.write_all(&body[..after])?;
                return connection.shutdown(std::net::Shutdown::Both);
            }
            out.write_all(body)?;
            if !file.length {
                return connection.shutdown(std::net::Shutdown::Both);
            }
        }
        Ok(())
    }
}
