//! A small server that plays the places where AWS credentials come from: the metadata service of
//! EC2, the endpoint of containers, STS, the portal of IAM Identity Center and its token service,
//! and a bucket with one object.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// What all secret keys, session tokens and bearer tokens of this server contain.
pub(crate) const SECRET: &str = "hunter2";

/// The object `s3://data/a.ndjson`.
pub(crate) const OBJECT: &str = "{\"n\":1}\n{\"n\":2}\n";

/// Serves until the process ends.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    /// Seconds that keys hold, by the number of the keys; an hour for those after the last.
    lives: Vec<i64>,
    issued: usize,
    /// Replies in place of the usual ones, by the beginning of `METHOD /path`.
    instead: HashMap<String, (u16, String)>,
}

/// A request, with the names of its headers in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `METHOD /path?query`.
    pub(crate) line: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Server { url, state: Arc::default() };
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

    /// The seconds that the first keys hold, the second ones, and so on.
    pub(crate) fn lives(self, seconds: &[i64]) -> Self {
        self.state.lock().unwrap().lives = seconds.to_vec();
        self
    }

    /// Requests that begin so get this reply.
    pub(crate) fn instead(self, request: &str, status: u16, body: &str) -> Self {
        self.state.lock().unwrap().instead.insert(request.to_owned(), (status, body.to_owned()));
        self
    }

    /// The requests that begin so.
    pub(crate) fn requests(&self, beginning: &str) -> Vec<Request> {
        let state = self.state.lock().unwrap();
        state.requests.iter().filter(|request| request.line.starts_with(beginning)).cloned().collect()
    }

    fn serve(&self, connection: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(connection);
        let mut out = connection;
        while let Some(request) = read(&mut reader)? {
            let (status, headers, body) = self.reply(&request);
            self.state.lock().unwrap().requests.push(request.clone());
            write!(out, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{headers}\r\n", body.len())?;
            if !request.line.starts_with("HEAD ") {
                out.write_all(body.as_bytes())?;
            }
        }
        Ok(())
    }

    fn reply(&self, request: &Request) -> (u16, String, String) {
        let line = &request.line;
        let state = self.state.lock().unwrap();
        if let Some((_, (status, body))) = state.instead.iter().find(|(begins, _)| line.starts_with(*begins)) {
            return (*status, String::new(), body.clone());
        }
        drop(state);
        let path = line.split([' ', '?']).nth(1).unwrap_or_default();
        let plain = |body: String| (200, String::new(), body);
        match path {
            "/latest/api/token" => {
                let headers = "x-aws-ec2-metadata-token-ttl-seconds: 21600\r\n".to_owned();
                (200, headers, format!("metadata-{SECRET}"))
            }
            "/latest/meta-data/iam/security-credentials/" => plain("loader".to_owned()),
            "/latest/meta-data/iam/security-credentials/loader" => plain(self.json("INSTANCE")),
            "/container" => plain(self.json("CONTAINER")),
            "/" if request.body.contains("Action=AssumeRoleWithWebIdentity") => {
                plain(self.xml("AssumeRoleWithWebIdentity", "IDENTITY"))
            }
            "/" if request.body.contains("Action=AssumeRole") => plain(self.xml("AssumeRole", "ROLE")),
            "/federation/credentials" => {
                let (key, expiry) = self.next("PORTAL");
                plain(format!(
                    r#"{{"roleCredentials":{{"accessKeyId":"{key}","secretAccessKey":"{SECRET}-key","sessionToken":"{SECRET}-token","expiration":{}}}}}"#,
                    expiry * 1000
                ))
            }
            "/token" => plain(format!(
                r#"{{"accessToken":"{SECRET}-renewed","expiresIn":3600,"refreshToken":"{SECRET}-next","tokenType":"Bearer"}}"#
            )),
            "/data/a.ndjson" => {
                let headers = "ETag: \"v1\"\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n";
                let range = request.header("range").strip_prefix("bytes=").and_then(|range| range.split_once('-'));
                let Some((from, to)) = range else { return (200, headers.to_owned(), OBJECT.to_owned()) };
                let from: usize = from.parse().unwrap();
                let to = to.parse().map_or(OBJECT.len(), |last: usize| OBJECT.len().min(last + 1));
                let headers = format!("{headers}Content-Range: bytes {from}-{}/{}\r\n", to - 1, OBJECT.len());
                (206, headers, OBJECT[from..to].to_owned())
            }
            _ => (404, String::new(), String::new()),
        }
    }

    /// The next key, `KIND1` and so on, and the second since 1970 at which it expires.
    fn next(&self, kind: &str) -> (String, i64) {
        let mut state = self.state.lock().unwrap();
        let life = state.lives.get(state.issued).copied().unwrap_or(3600);
        state.issued += 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        (format!("{kind}{}", state.issued), now + life)
    }

    /// As the metadata service and the endpoint of containers have it.
    fn json(&self, kind: &str) -> String {
        let (key, expiry) = self.next(kind);
        format!(
            r#"{{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"{key}","SecretAccessKey":"{SECRET}-key","Token":"{SECRET}-token","Expiration":"{}"}}"#,
            rfc3339(expiry)
        )
    }

    /// As STS has it.
    fn xml(&self, action: &str, kind: &str) -> String {
        let (key, expiry) = self.next(kind);
        format!(
            "<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result><Credentials>\
             <AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{SECRET}-key</SecretAccessKey>\
             <SessionToken>{SECRET}-token</SessionToken><Expiration>{}</Expiration></Credentials></{action}Result>\
             </{action}Response>",
            rfc3339(expiry)
        )
    }
}

/// The next request of a connection.
fn read(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Option<Request>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let line = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    Ok(Some(Request { line, headers, body: String::from_utf8(body).unwrap() }))
}

pub(crate) fn rfc3339(second: i64) -> String {
    let moment = format!("@{second}");
    let printed = Command::new("date").args(["-u", "-d", &moment, "+%Y-%m-%dT%H:%M:%SZ"]).output().unwrap();
    String::from_utf8(printed.stdout).unwrap().trim().to_owned()
}
