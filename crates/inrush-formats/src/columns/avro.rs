//! Avro object container files.

use std::io::{BufRead, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_avro::reader::{Reader, ReaderBuilder, read_header_info};
use arrow_schema::SchemaRef;

use super::{Batches, avro_schema};
use crate::SourceError;
use crate::catch_panic::{guarded, text};
use crate::input::Input;

/// Rows of a batch. A row that cannot be read loses the whole batch, so the batch is small.
const BATCH_ROWS: usize = 256;

/// Length of the mark that ends a file's header and each of its blocks, bytes.
const SYNC_LEN: usize = 16;

/// Sizes of the look-ahead for the header, bytes: the first try, and the limit beyond which the
/// header is not looked at beforehand.
const HEADER_BYTES: std::ops::Range<usize> = 16 << 10..16 << 20;

/// An Avro file. It may be compressed or come through a pipe. A block is in memory as a whole.
pub(crate) struct AvroFile {
    name: String,
    reader: Reader<Tail>,
    last: Last,
    consumed: Arc<AtomicU64>,
    rows: u64,
}

impl AvroFile {
    /// Reads the header. `consumed` counts the bytes of the file that are used.
    pub(crate) fn open(mut input: Input, name: &str, consumed: Arc<AtomicU64>) -> Result<Self, SourceError> {
        if let Some(header) = Header::peek(&mut input) {
            if let Some(problem) = avro_schema::problem(&header.schema) {
                return Err(SourceError::new(name, problem));
            }
            if let Some(header) = header.with_short_names(&mut input) {
                input.put_back(&header);
            }
        }
        let last = Last::default();
        let input = Tail { inner: BufReader::with_capacity(64 << 10, input), last: last.clone() };
        let reader = guarded(|| ReaderBuilder::new().with_batch_size(BATCH_ROWS).build(input).map_err(text));
        let reader = reader.map_err(|problem| {
            SourceError::new(name, format!("the header cannot be read: {problem}; is the file complete, and Avro?"))
        })?;
        Ok(AvroFile { name: name.to_owned(), reader, last, consumed, rows: 0 })
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, String> {
        let reader = &mut self.reader;
        let batch = guarded(|| reader.next().transpose().map_err(text))?;
        // At a missing block the reader reads to the end without an error.
        if batch.is_none() && !self.last.is(&self.reader.avro_header().sync()) {
            return Err("the file is cut off".to_owned());
        }
        Ok(batch)
    }
}

impl Batches for AvroFile {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SourceError> {
        match self.read() {
            Ok(batch) => {
                self.rows += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
                Ok(batch)
            }
            Err(problem) => {
                let rows = self.rows;
                let message = format!("the rows after the first {rows} cannot be read: {problem}");
                Err(SourceError::new(&self.name, message))
            }
        }
    }

    fn bytes_read(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }
}

/// The header of a file, before the reader reads it.
struct Header {
    schema: String,
    len: usize,
}

impl Header {
    /// `None` if the header is damaged or very long.
    fn peek(input: &mut Input) -> Option<Header> {
        let mut len = HEADER_BYTES.start;
        loop {
            let head = input.peek(len, |_| false);
            if let Ok(header) = guarded(|| read_header_info(head).map_err(text)) {
                let schema = header.writer_schema().ok()?.json_string;
                return Some(Header { schema, len: usize::try_from(header.header_len()).ok()? });
            }
            if head.len() < len || len >= HEADER_BYTES.end {
                return None;
            }
            len *= 8;
        }
    }

    /// Takes the header out of the input and returns one whose types have names that the reader
    /// understands. `None` if they have such names already.
    fn with_short_names(&self, input: &mut Input) -> Option<Vec<u8>> {
        let schema = avro_schema::with_short_names(&self.schema)?;
        let head = input.peeked().get(..self.len)?;
        let old = [long(self.schema.len()), self.schema.clone().into_bytes()].concat();
        let at = memchr::memmem::find(head, &old)?;
        let new = [&head[..at], &long(schema.len()), schema.as_bytes(), &head[at + old.len()..]].concat();
        input.skip(self.len);
        Some(new)
    }
}

/// A length in Avro's encoding.
fn long(number: usize) -> Vec<u8> {
    let mut rest = number << 1;
    let mut bytes = Vec::new();
    while rest > 0x7F {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// The last bytes of an input that were used.
#[derive(Clone, Default)]
struct Last(Arc<Mutex<Vec<u8>>>);

impl Last {
    fn add(&self, bytes: &[u8]) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.extend_from_slice(&bytes[bytes.len().saturating_sub(SYNC_LEN)..]);
        let more = last.len().saturating_sub(SYNC_LEN);
        last.drain(..more);
    }

    fn is(&self, mark: &[u8]) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) == mark
    }
}

/// An input that records its [`Last`] bytes.
struct Tail {
    inner: BufReader<Input>,
    last: Last,
}

impl Read for Tail {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.last.add(&buf[..read]);
        Ok(read)
    }
}

impl BufRead for Tail {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        let used = &self.inner.buffer()[..amount];
        self.last.add(used);
        self.inner.consume(amount);
    }
}
