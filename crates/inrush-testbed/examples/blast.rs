//! Sends bulk requests to a null server as fast as blocking sockets can, and prints the CPU time
//! that the server spent on them. With a file of NDJSON it is a minimal loader: it maps the file,
//! finds the ends of lines, inserts the action lines, and sends the result. It retries nothing and
//! reads no reply. Two other ways are `blocks`, which reads the file into memory instead of mapping
//! it, and `vectored`, which inserts nothing and passes the lines to the kernel, 1,024 slices in
//! each call.
//!
//! `blast URL [GIGABYTES] [CONNECTIONS] [items|summary] [FILE] [mapped|blocks|vectored]`

#![allow(clippy::print_stdout, unsafe_code)]

use std::fs::File;
use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use memchr::memchr;
use memmap2::Mmap;
use serde_json::Value;

const ACTION: &[u8] = b"{\"index\":{}}\n";
const LINE: &[u8] = b"{\"@timestamp\":\"2024-01-02T03:04:05Z\",\"level\":\"info\",\"service\":\"checkout\",\"message\":\"request handled\",\"status\":200,\"ms\":12}\n";
/// Bytes of the file in one request.
const PIECE: usize = 2 << 20;
/// Longest line, in bytes.
const LINE_MAX: usize = 64 << 10;
/// Slices of one call (IOV_MAX).
const SLICES_MAX: usize = 1024;

/// The bodies to send.
enum Bodies {
    /// One body, a number of times.
    Same { body: Vec<u8>, times: usize },
    /// The lines of a file, a number of times.
    File { file: File, text: Mmap, way: Way, times: usize },
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Mapped,
    Blocks,
    Vectored,
}

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: blast URL [GIGABYTES] [CONNECTIONS] [items|summary] [FILE] [mapped|blocks|vectored]";
    let url = args.next().ok_or_else(|| io::Error::other(usage))?;
    let gigabytes: f64 = args.next().and_then(|text| text.parse().ok()).unwrap_or(4.0);
    let connections: usize = args.next().and_then(|text| text.parse().ok()).unwrap_or(2);
    let summary = args.next().as_deref() == Some("summary");
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let filter =
        if summary { "took,errors" } else { "took,errors,items.*.status,items.*.error,items.*.result,items.*._index" };
    let times = |bytes: usize| ((gigabytes * 1e9) / bytes as f64).ceil() as usize;
    let bodies = match args.next() {
        Some(file) => {
            let file = File::open(file)?;
            // SAFETY: the file is neither shortened nor written meanwhile.
            let text = unsafe { Mmap::map(&file)? };
            let way = match args.next().as_deref() {
                None | Some("mapped") => Way::Mapped,
                Some("blocks") => Way::Blocks,
                Some("vectored") => Way::Vectored,
                Some(_) => return Err(io::Error::other(usage)),
            };
            Bodies::File { times: times(text.len()), file, text, way }
        }
        None => {
            let body = [ACTION, LINE].concat().repeat((5 << 20) / (ACTION.len() + LINE.len()));
            Bodies::Same { times: times(body.len()), body }
        }
    };

    let before = stats(&address)?;
    let started = Instant::now();
    let next = AtomicUsize::new(0);
    let sent = thread::scope(|scope| -> io::Result<usize> {
        let senders: Vec<_> =
            (0..connections).map(|_| scope.spawn(|| send(&address, filter, &bodies, &next))).collect();
        let mut sent = 0;
        for sender in senders {
            sent += sender.join().map_err(|_| io::Error::other("a sender panicked"))??;
        }
        Ok(sent)
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let after = stats(&address)?;
    let sent = sent as f64 / 1e9;
    let difference = |name: &str| after[name].as_f64().unwrap_or(0.0) - before[name].as_f64().unwrap_or(0.0);
    println!(
        "{sent:.2} GB of bodies, {} documents, {seconds:.2} s, {:.2} GB/s, server {:.3} CPU s/GB, sender {:.3} CPU s/GB",
        difference("docs"),
        sent / seconds,
        difference("cpu_seconds") / sent,
        inrush_fake::internal::process_cpu_seconds() / sent,
    );
    Ok(())
}

impl Bodies {
    /// Sends the body of this number and returns its bytes; `None` after the last one. `body` and
    /// `block` are reused memory.
    fn send(
        &self,
        number: usize,
        head: &Head<'_>,
        stream: &mut TcpStream,
        body: &mut Vec<u8>,
        block: &mut Vec<u8>,
    ) -> io::Result<Option<usize>> {
        match self {
            Bodies::Same { body: same, times } => {
                if number >= *times {
                    return Ok(None);
                }
                if body.is_empty() {
                    body.extend_from_slice(same);
                }
            }
            Bodies::File { file, text, way, times } => {
                let pieces = text.len().div_ceil(PIECE);
                if number >= pieces * times {
                    return Ok(None);
                }
                let start = number % pieces * PIECE;
                let lines = match way {
                    Way::Mapped | Way::Vectored => &text[line_start(text, start)..line_start(text, start + PIECE)],
                    Way::Blocks => {
                        // From the byte before, which may end a line, to the latest end of the last
                        // line.
                        let first = start.saturating_sub(1);
                        block.resize((start + PIECE + LINE_MAX).min(text.len()) - first, 0);
                        file.read_exact_at(block, first as u64)?;
                        &block[line_start(block, start - first)..line_start(block, start - first + PIECE)]
                    }
                };
                if *way == Way::Vectored {
                    return send_slices(lines, head, stream).map(Some);
                }
                body.clear();
                let mut rest = lines;
                while let Some(end) = memchr(b'\n', rest) {
                    body.extend_from_slice(ACTION);
                    body.extend_from_slice(&rest[..=end]);
                    rest = &rest[end + 1..];
                }
            }
        }
        stream.write_all(head.of(body.len()).as_bytes())?;
        stream.write_all(body)?;
        Ok(Some(body.len()))
    }
}

/// Sends lines from their place in memory, with action lines between them.
fn send_slices(lines: &[u8], head: &Head<'_>, stream: &mut TcpStream) -> io::Result<usize> {
    let (mut slices, mut rest, mut bytes) = (vec![IoSlice::new(&[])], lines, 0);
    while let Some(end) = memchr(b'\n', rest) {
        slices.extend([IoSlice::new(ACTION), IoSlice::new(&rest[..=end])]);
        bytes += ACTION.len() + end + 1;
        rest = &rest[end + 1..];
    }
    let head = head.of(bytes);
    slices[0] = IoSlice::new(head.as_bytes());
    let mut left = slices.as_mut_slice();
    while !left.is_empty() {
        let some = left.len().min(SLICES_MAX);
        let written = stream.write_vectored(&left[..some])?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut left, written);
    }
    Ok(bytes)
}

/// The head of a request.
struct Head<'a> {
    address: &'a str,
    filter: &'a str,
}

impl Head<'_> {
    fn of(&self, bytes: usize) -> String {
        let Head { address, filter } = self;
        format!(
            "POST /blast/_bulk?filter_path={filter} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/x-ndjson\r\ncontent-length: {bytes}\r\n\r\n"
        )
    }
}

/// The start of the first line at or after a position.
fn line_start(text: &[u8], place: usize) -> usize {
    match place {
        0 => 0,
        place if place >= text.len() => text.len(),
        place => memchr(b'\n', &text[place - 1..]).map_or(text.len(), |end| place + end),
    }
}

/// Sends bodies until the last one; returns the number of bytes.
fn send(address: &str, filter: &str, bodies: &Bodies, next: &AtomicUsize) -> io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    let mut replies = BufReader::with_capacity(256 << 10, stream.try_clone()?);
    let head = Head { address, filter };
    let (mut body, mut block, mut sent) = (Vec::new(), Vec::new(), 0);
    while let Some(bytes) =
        bodies.send(next.fetch_add(1, Ordering::Relaxed), &head, &mut stream, &mut body, &mut block)?
    {
        let length = read_head(&mut replies)?;
        io::copy(&mut (&mut replies).take(length), &mut io::sink())?;
        sent += bytes;
    }
    Ok(sent)
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

/// Reads a head and returns the length of the body.
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
