//! The incoming side of a connection: heads are parsed, bodies are counted in place.

use std::io::{self, Read};
use std::net::TcpStream;

use flate2::read::{MultiGzDecoder, ZlibDecoder};

use super::head::{Coding, Framing, Head};

/// The buffer fits a second-level cache, so that the count reads bytes that the kernel has just
/// copied.
const BUFFER_BYTES: usize = 256 << 10;

/// The longest kept part of the first action line, which names action and index.
const FIRST_LINE_BYTES: usize = 1 << 10;

/// The counts of a bulk body.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) wire_bytes: u64,
    pub(super) lines: usize,
    pub(super) ends_with_separator: bool,
    pub(super) smile: bool,
    /// The beginning of the first line.
    pub(super) first_line: Vec<u8>,
}

/// The incoming side of a connection.
pub(super) struct Input {
    stream: TcpStream,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Input {
    pub(super) fn new(stream: TcpStream) -> Self {
        Input { stream, buffer: vec![0; BUFFER_BYTES].into_boxed_slice(), start: 0, end: 0 }
    }

    pub(super) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// The next head; `None` if the client closed the connection between two requests.
    pub(super) fn read_head(&mut self) -> io::Result<Option<Head>> {
        loop {
            if self.start < self.end {
                let mut headers = [httparse::EMPTY_HEADER; 64];
                let mut request = httparse::Request::new(&mut headers);
                let parsed = request.parse(&self.buffer[self.start..self.end]).map_err(io::Error::other)?;
                if let httparse::Status::Complete(length) = parsed {
                    let head = Head::from_parsed(&request)?;
                    self.start += length;
                    return Ok(Some(head));
                }
            }
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.end == self.buffer.len() {
                return Err(io::Error::other("head of a request larger than the buffer"));
            }
            match self.stream.read(&mut self.buffer[self.end..])? {
                0 if self.end == 0 => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => self.end += read,
            }
        }
    }

    /// Reads a bulk body and counts its lines.
    pub(super) fn count(&mut self, head: &Head) -> io::Result<Counted> {
        let mut counter = Counter::new(head.separator);
        match (head.framing, head.coding) {
            (Framing::Length(length), Coding::Identity) => {
                self.count_in_place(length, &mut counter)?;
                counter.counted.wire_bytes = length;
            }
            (framing, coding) => {
                let mut body = Body { input: self, framing, left: 0, done: false, wire_bytes: 0 };
                body.left = if let Framing::Length(length) = framing { length } else { 0 };
                match coding {
                    Coding::Identity => count_read(&mut body, &mut counter)?,
                    Coding::Gzip => count_read(&mut MultiGzDecoder::new(&mut body), &mut counter)?,
                    Coding::Deflate => count_read(&mut ZlibDecoder::new(&mut body), &mut counter)?,
                }
                io::copy(&mut body, &mut io::sink())?;
                counter.counted.wire_bytes = body.wire_bytes;
            }
        }
        Ok(counter.counted)
    }

    /// Reads another body and decompresses it.
    pub(super) fn collect(&mut self, head: &Head) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if !head.has_body() {
            return Ok(bytes);
        }
        let left = if let Framing::Length(length) = head.framing { length } else { 0 };
        let mut body = Body { input: self, framing: head.framing, left, done: false, wire_bytes: 0 };
        match head.coding {
            Coding::Identity => body.read_to_end(&mut bytes)?,
            Coding::Gzip => MultiGzDecoder::new(&mut body).read_to_end(&mut bytes)?,
            Coding::Deflate => ZlibDecoder::new(&mut body).read_to_end(&mut bytes)?,
        };
        Ok(bytes)
    }

    /// Counts a body in the buffer. The next read overwrites it.
    fn count_in_place(&mut self, length: u64, counter: &mut Counter) -> io::Result<()> {
        let mut left = length;
        while left > 0 {
            if self.start == self.end {
                self.fill()?;
            }
            let available = self.end - self.start;
            let taken = usize::try_from(left).map_or(available, |left| left.min(available));
            counter.count(&self.buffer[self.start..self.start + taken]);
            self.start += taken;
            left -= taken as u64;
        }
        Ok(())
    }

    fn fill(&mut self) -> io::Result<()> {
        self.start = 0;
        self.end = self.stream.read(&mut self.buffer)?;
        if self.end == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn read_some(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            self.fill()?;
        }
        let taken = into.len().min(self.end - self.start);
        into[..taken].copy_from_slice(&self.buffer[self.start..self.start + taken]);
        self.start += taken;
        Ok(taken)
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        let mut byte = [0];
        loop {
            self.read_some(&mut byte)?;
            match byte[0] {
                b'\n' => return Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
                other if line.len() < 4096 => line.push(other),
                _ => return Err(io::Error::other("chunk header longer than 4096 bytes")),
            }
        }
    }
}

/// Counts lines.
struct Counter {
    separator: u8,
    first_line_done: bool,
    counted: Counted,
}

impl Counter {
    fn new(separator: u8) -> Self {
        let counted = Counted { smile: separator != b'\n', ..Counted::default() };
        Counter { separator, first_line_done: false, counted }
    }

    fn count(&mut self, bytes: &[u8]) {
        if !self.first_line_done {
            let line = memchr::memchr(self.separator, bytes);
            let room = FIRST_LINE_BYTES.saturating_sub(self.counted.first_line.len());
            let end = line.unwrap_or(bytes.len()).min(room);
            self.counted.first_line.extend_from_slice(&bytes[..end]);
            self.first_line_done = line.is_some();
        }
        self.counted.lines += memchr::memchr_iter(self.separator, bytes).count();
        if let Some(last) = bytes.last() {
            self.counted.ends_with_separator = *last == self.separator;
        }
    }
}

fn count_read(reader: &mut impl Read, counter: &mut Counter) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(()),
            read => counter.count(&buffer[..read]),
        }
    }
}

/// A body as a reader, for chunked and compressed bodies and for other requests.
struct Body<'a> {
    input: &'a mut Input,
    framing: Framing,
    /// Bytes left of the body or of the present chunk.
    left: u64,
    done: bool,
    wire_bytes: u64,
}

impl Read for Body<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.framing == Framing::Chunked && self.left == 0 && !self.done {
            let line = self.input.read_line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            self.left = u64::from_str_radix(digits, 16).map_err(io::Error::other)?;
            if self.left == 0 {
                self.done = true;
                while !self.input.read_line()?.is_empty() {}
            }
        }
        if self.left == 0 || into.is_empty() {
            return Ok(0);
        }
        let wanted = usize::try_from(self.left).map_or(into.len(), |left| left.min(into.len()));
        let read = self.input.read_some(&mut into[..wanted])?;
        self.left -= read as u64;
        self.wire_bytes += read as u64;
        if self.framing == Framing::Chunked && self.left == 0 {
            self.input.read_line()?;
        }
        Ok(read)
    }
}
