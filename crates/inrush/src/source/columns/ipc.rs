//! Arrow IPC: streams, and files (Feather V2), which are a stream between a magic number and a footer.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::SchemaRef;

use super::Batches;
use crate::source::SourceError;
use crate::source::guard::{guarded, text};
use crate::source::input::Input;

/// What an Arrow file begins and ends with.
const MAGIC: &[u8] = b"ARROW1";

/// The most that the magic number takes with the zeros behind it, bytes.
const MAGIC_LEN_MAX: usize = 64;

/// Arrow IPC, read as a stream, so that it may come compressed or through a pipe. A batch is in memory as a whole, however large
/// its writer has made it.
pub(in crate::source) struct IpcFile {
    name: String,
    reader: StreamReader<Input>,
    consumed: Arc<AtomicU64>,
    /// There is a footer behind the stream.
    is_file: bool,
    batches: u64,
    rows: u64,
}

impl IpcFile {
    /// Reads the schema. `consumed` counts the bytes that are used of the file.
    pub(in crate::source) fn open(mut input: Input, name: &str, consumed: Arc<AtomicU64>) -> Result<Self, SourceError> {
        let head = input.peek(MAGIC_LEN_MAX, |_| false);
        let is_file = head.starts_with(MAGIC);
        if is_file {
            // Zeros fill it up to 8 bytes, or to what its writer aligns to; the stream begins with something else.
            let zeros = head[MAGIC.len()..].iter().take_while(|byte| **byte == 0).count();
            input.skip(MAGIC.len() + zeros);
        }
        let reader = guarded(|| StreamReader::try_new(input, None).map_err(text));
        let reader = reader.map_err(|problem| {
            SourceError::new(
                name,
                format!("the schema cannot be read: {problem}; is the file complete, and Arrow IPC?"),
            )
        })?;
        Ok(IpcFile { name: name.to_owned(), reader, consumed, is_file, batches: 0, rows: 0 })
    }

    pub(in crate::source) fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, String> {
        let reader = &mut self.reader;
        let batch = guarded(|| reader.next().transpose().map_err(text))?;
        if batch.is_none() {
            // To the very end, so that a compressed stream is checked as a whole.
            let is_whole = ends_with_magic(self.reader.get_mut()).map_err(text)?;
            // A stream may end between two batches without a word; a file may not.
            if self.is_file && !is_whole {
                return Err("the file is cut off".to_owned());
            }
        }
        Ok(batch)
    }
}

/// Reads to the end.
fn ends_with_magic(input: &mut Input) -> std::io::Result<bool> {
    let mut last = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = input.read(&mut buffer)?;
        if read == 0 {
            return Ok(last == MAGIC);
        }
        last.extend_from_slice(&buffer[..read]);
        last.drain(..last.len().saturating_sub(MAGIC.len()));
    }
}

impl Batches for IpcFile {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SourceError> {
        match self.read() {
            Ok(Some(batch)) => {
                self.batches += 1;
                self.rows += batch.num_rows() as u64;
                Ok(Some(batch))
            }
            Ok(None) => Ok(None),
            Err(problem) => {
                let (batch, rows) = (self.batches + 1, self.rows);
                let message =
                    format!("record batch {batch} cannot be read: {problem}; the {rows} rows before it were read");
                Err(SourceError::new(&self.name, message))
            }
        }
    }

    fn bytes_read(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }
}
