//! A stream of bytes with a look-ahead.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a slow source (a pipe, a terminal) may pause before its bytes so far are passed on.
pub const IDLE: Duration = Duration::from_millis(100);

/// A byte stream that can tell whether a read would block.
pub trait Bytes: Read + Send {
    /// Whether a read returns within `timeout`. True if that is unknown.
    fn ready_within(&mut self, timeout: Duration) -> bool {
        let _ = timeout;
        true
    }
}

impl Bytes for io::Cursor<Vec<u8>> {}

impl Bytes for Box<dyn Bytes> {
    fn ready_within(&mut self, timeout: Duration) -> bool {
        (**self).ready_within(timeout)
    }
}

/// A stream with a look-ahead buffer.
pub struct Input {
    head: Vec<u8>,
    head_start: usize,
    inner: Box<dyn Bytes>,
    /// The error that ended the look-ahead. It is reported after the bytes before it.
    error: Option<io::Error>,
    ended: bool,
}

impl Input {
    /// A stream with an empty look-ahead buffer.
    pub fn new(inner: impl Bytes + 'static) -> Self {
        Input { head: Vec::new(), head_start: 0, inner: Box::new(inner), error: None, ended: false }
    }

    /// The next bytes, which stay in the stream: at least `bytes`, or all there are. It returns
    /// fewer if the source pauses and `enough` accepts the bytes so far.
    pub fn peek(&mut self, bytes: usize, enough: impl Fn(&[u8]) -> bool) -> &[u8] {
        while self.head.len() - self.head_start < bytes && !self.ended {
            if !self.inner.ready_within(IDLE) && enough(&self.head[self.head_start..]) {
                break;
            }
            let filled = self.head.len();
            let goal = (self.head_start + bytes).max(filled + 4096).min(filled + (1 << 20));
            self.head.resize(goal, 0);
            let result = self.inner.read(&mut self.head[filled..]);
            self.head.truncate(filled + *result.as_ref().unwrap_or(&0));
            match result {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.error = Some(error);
                    self.ended = true;
                }
            }
        }
        &self.head[self.head_start..]
    }

    /// The bytes that [`Input::peek`] has seen so far.
    pub fn peeked(&self) -> &[u8] {
        &self.head[self.head_start..]
    }

    /// Whether [`Input::peek`] has seen the end (or an error).
    pub fn peeked_all(&self) -> bool {
        self.ended
    }

    /// Puts `bytes` before the next bytes of the stream.
    #[cfg(feature = "avro")]
    pub fn put_back(&mut self, bytes: &[u8]) {
        self.head.splice(..self.head_start, bytes.iter().copied());
        self.head_start = 0;
    }

    /// Removes bytes that were peeked.
    pub fn skip(&mut self, bytes: usize) {
        self.head_start = (self.head_start + bytes).min(self.head.len());
    }
}

impl Read for Input {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let head = &self.head[self.head_start..];
        if !head.is_empty() {
            let n = head.len().min(buf.len());
            buf[..n].copy_from_slice(&head[..n]);
            self.head_start += n;
            if self.head_start == self.head.len() {
                self.head = Vec::new();
                self.head_start = 0;
            }
            return Ok(n);
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.ended {
            return Ok(0);
        }
        self.inner.read(buf)
    }
}

impl Bytes for Input {
    fn ready_within(&mut self, timeout: Duration) -> bool {
        self.head_start < self.head.len() || self.ended || self.inner.ready_within(timeout)
    }
}

/// A buffered stream that counts the bytes that were used, not those that were read ahead.
pub struct CountedBuf {
    inner: BufReader<Input>,
    consumed: Arc<AtomicU64>,
}

impl CountedBuf {
    /// Counts in `consumed`.
    pub fn new(input: Input, consumed: Arc<AtomicU64>) -> Self {
        CountedBuf { inner: BufReader::with_capacity(256 << 10, input), consumed }
    }
}

impl Read for CountedBuf {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.consumed.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl BufRead for CountedBuf {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.consumed.fetch_add(amount as u64, Ordering::Relaxed);
        self.inner.consume(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "avro")]
    #[test]
    fn what_was_peeked_is_read_again() {
        let mut input = Input::new(io::Cursor::new(b"abcdefgh".to_vec()));
        assert_eq!(&input.peek(3, |_| true)[..3], b"abc");
        input.skip(1);
        input.put_back(b"xyz");
        let mut all = Vec::new();
        input.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"xyzbcdefgh");
    }

    #[test]
    fn an_error_comes_after_the_bytes_before_it() {
        struct Broken(u8);
        impl Read for Broken {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                if self.0 == 0 {
                    return Err(io::Error::other("broken"));
                }
                self.0 -= 1;
                buf[0] = b'x';
                Ok(1)
            }
        }
        impl Bytes for Broken {}
        let mut input = Input::new(Broken(3));
        assert_eq!(input.peek(100, |_| true), b"xxx");
        let mut all = Vec::new();
        assert_eq!(input.read_to_end(&mut all).unwrap_err().to_string(), "broken");
        assert_eq!(all, b"xxx");
    }
}
