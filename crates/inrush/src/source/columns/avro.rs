//! Avro object container files.

use std::io::{BufRead, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_avro::reader::{Reader, ReaderBuilder};
use arrow_schema::SchemaRef;

use super::Batches;
use crate::source::SourceError;
use crate::source::guard::{guarded, text};
use crate::source::input::Input;

/// Rows of a batch. Those that stand in a batch with one that cannot be read are lost with it, so it is small.
const BATCH_ROWS: usize = 256;

/// The mark that ends a file's header and each of its blocks, bytes.
const SYNC_LEN: usize = 16;

/// An Avro file, which may come compressed or through a pipe. A block is in memory as a whole.
pub(in crate::source) struct AvroFile {
    name: String,
    reader: Reader<Tail>,
    last: Last,
    consumed: Arc<AtomicU64>,
    rows: u64,
}

impl AvroFile {
    /// Reads the header. `consumed` counts the bytes that are used of the file.
    pub(in crate::source) fn open(input: Input, name: &str, consumed: Arc<AtomicU64>) -> Result<Self, SourceError> {
        let last = Last::default();
        let input = Tail { inner: BufReader::with_capacity(64 << 10, input), last: last.clone() };
        let reader = guarded(|| ReaderBuilder::new().with_batch_size(BATCH_ROWS).build(input).map_err(text));
        let reader = reader.map_err(|problem| {
            SourceError::new(name, format!("the header cannot be read: {problem}; is the file complete, and Avro?"))
        })?;
        Ok(AvroFile { name: name.to_owned(), reader, last, consumed, rows: 0 })
    }

    pub(in crate::source) fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, String> {
        let reader = &mut self.reader;
        let batch = guarded(|| reader.next().transpose().map_err(text))?;
        // The reader passes over a block that is not there to its end.
        if batch.is_none() && !self.last.is(&self.reader.avro_header().sync()) {
            return Err("the file is cut off".to_owned());
        }
        Ok(batch)
    }
}

impl Batches for AvroFile {
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

/// The last bytes that were used of an input.
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

/// An input that remembers its [`Last`] bytes.
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
