//! Sends bulk requests to a null server as fast as blocking sockets can, and prints what the server spent on them:
//!
//! `blast URL [GIGABYTES] [CONNECTIONS] [items|summary]`

#![allow(clippy::print_stdout)]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use serde_json::Value;

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let url =
        args.next().ok_or_else(|| io::Error::other("usage: blast URL [GIGABYTES] [CONNECTIONS] [items|summary]"))?;
    let gigabytes: f64 = args.next().and_then(|text| text.parse().ok()).unwrap_or(4.0);
    let connections: usize = args.next().and_then(|text| text.parse().ok()).unwrap_or(2);
    let summary = args.next().as_deref() == Some("summary");
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();

    let mut body = Vec::new();
    while body.len() < 5 << 20 {
        body.extend_from_slice(b"{\"index\":{}}\n{\"@timestamp\":\"2024-01-02T03:04:05Z\",\"level\":\"info\",\"service\":\"checkout\",\"message\":\"request handled\",\"status\":200,\"ms\":12}\n");
    }
    let documents = body.iter().filter(|byte| **byte == b'\n').count() / 2;
    let requests = ((gigabytes * 1e9) / body.len() as f64 / connections as f64).ceil() as usize;
    let filter =
        if summary { "took,errors" } else { "took,errors,items.*.status,items.*.error,items.*.result,items.*._index" };

    let before = stats(&address)?;
    let started = Instant::now();
    thread::scope(|scope| -> io::Result<()> {
        let senders: Vec<_> =
            (0..connections).map(|_| scope.spawn(|| send(&address, filter, &body, requests))).collect();
        for sender in senders {
            sender.join().map_err(|_| io::Error::other("a sender panicked"))??;
        }
        Ok(())
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let after = stats(&address)?;
    let sent = body.len() as f64 * (requests * connections) as f64 / 1e9;
    let difference = |name: &str| after[name].as_f64().unwrap_or(0.0) - before[name].as_f64().unwrap_or(0.0);
    println!(
        "{sent:.2} GB, {} documents ({} counted), {seconds:.2} s, {:.2} GB/s, server {:.3} CPU s/GB, sender {:.3} CPU s/GB",
        documents * requests * connections,
        difference("docs"),
        sent / seconds,
        difference("cpu_seconds") / sent,
        inrush_testbed::null::process_cpu_seconds() / sent,
    );
    Ok(())
}

fn send(address: &str, filter: &str, body: &[u8], requests: usize) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    let mut replies = BufReader::with_capacity(256 << 10, stream.try_clone()?);
    let head = format!(
        "POST /blast/_bulk?filter_path={filter} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    for _ in 0..requests {
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let length = read_head(&mut replies)?;
        io::copy(&mut (&mut replies).take(length), &mut io::sink())?;
    }
    Ok(())
}

fn stats(address: &str) -> io::Result<Value> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /_null/stats HTTP/1.1\r\nhost: {address}\r\n\r\n")?;
    let mut replies = BufReader::new(stream);
    let length = read_head(&mut replies)?;
    let mut body = Vec::new();
    replies.take(length).read_to_end(&mut body)?;
    serde_json::from_slice(&body).map_err(io::Error::other)
}

/// Reads a head and answers the length of the body.
fn read_head(replies: &mut impl BufRead) -> io::Result<u64> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if replies.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(text) = line.strip_prefix("content-length:") {
            length = text.trim().parse().map_err(io::Error::other)?;
        }
        if line.trim().is_empty() {
            return Ok(length);
        }
    }
}
