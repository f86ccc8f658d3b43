//! Arrow IPC: streams, and files (Feather V2), which are a stream between a magic number and a
//! footer.

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Endianness, Message, MessageHeader, convert, root_as_message};
use arrow_schema::SchemaRef;

use super::Batches;
use crate::SourceError;
use crate::catch_panic::{guarded, text};
use crate::input::Input;

/// The magic number at the beginning and end of an Arrow file.
const MAGIC: &[u8] = b"ARROW1";

/// The longest magic number with the zeros behind it, bytes.
const MAGIC_LEN_MAX: usize = 64;

/// The marker before the length of a message. Streams before Arrow 0.15 have the length alone.
const CONTINUATION: [u8; 4] = [0xFF; 4];

/// Memory is allocated in steps of this size while a message is read, bytes, because a damaged file
/// may claim any length.
const STEP_BYTES: usize = 16 << 20;

/// The highest compression ratio that is believed: zstd encodes 128 KiB of one byte in four bytes.
const RATIO_MAX: i64 = 32 << 10;

/// The key that Arrow 0.17 added to a message with compressed buffers. Without this check they
/// would be read as plain numbers.
const OLD_COMPRESSION: &str = "ARROW:experimental_compression";

/// Arrow IPC, read as a stream, so it may be compressed or come through a pipe. A batch is in
/// memory as a whole, in the size that its writer chose.
pub(crate) struct IpcFile {
    name: String,
    input: Input,
    schema: SchemaRef,
    /// The values of dictionaries, by their ids.
    dictionaries: HashMap<i64, ArrayRef>,
    consumed: Arc<AtomicU64>,
    /// Whether a footer follows the stream.
    is_file: bool,
    batches: u64,
    rows: u64,
}

impl IpcFile {
    /// Reads the schema. `consumed` counts the bytes of the file that are used.
    pub(crate) fn open(mut input: Input, name: &str, consumed: Arc<AtomicU64>) -> Result<Self, SourceError> {
        let head = input.peek(MAGIC_LEN_MAX, |_| false);
        let is_file = head.starts_with(MAGIC);
        if is_file {
            // Zeros fill the magic number up to 8 bytes, or to the alignment of the writer. The
            // stream begins with another byte.
            let zeros = head[MAGIC.len()..].iter().take_while(|byte| **byte == 0).count();
            input.skip(MAGIC.len() + zeros);
        }
        let schema = guarded(|| read_schema(&mut input)).map_err(|problem| {
            SourceError::new(
                name,
                format!("the schema cannot be read: {problem}; is the file complete, and Arrow IPC?"),
            )
        })?;
        let (name, dictionaries) = (name.to_owned(), HashMap::new());
        Ok(IpcFile { name, input, schema, dictionaries, consumed, is_file, batches: 0, rows: 0 })
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, String> {
        while let Some(frame) = Frame::read(&mut self.input)? {
            if let Some(batch) = guarded(|| self.take(&frame))? {
                return Ok(Some(batch));
            }
        }
        // Reads to the very end, so that a compressed stream is checked as a whole.
        let is_whole = ends_with_magic(&mut self.input).map_err(text)?;
        // A stream may end between two batches without a marker, a file may not.
        if self.is_file && !is_whole {
            return Err("the file is cut off".to_owned());
        }
        Ok(None)
    }

    /// Handles a message: returns a batch, or keeps a dictionary for the batches that follow.
    fn take(&mut self, frame: &Frame) -> Result<Option<RecordBatch>, String> {
        let message = frame.message()?;
        let missing = || "the content of a message contradicts its header".to_owned();
        let mut keys = message.custom_metadata().into_iter().flatten().filter_map(|entry| entry.key());
        if keys.any(|key| key == OLD_COMPRESSION) {
            return Err(
                "it is compressed as Arrow 0.17 did before there was a standard; write it again with a newer version"
                    .to_owned(),
            );
        }
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or_else(missing)?;
                check_compressed(batch, &frame.body)?;
                let schema = Arc::clone(&self.schema);
                let dictionaries = &self.dictionaries;
                read_record_batch(&frame.body, batch, schema, dictionaries, None, &message.version())
                    .map(Some)
                    .map_err(text)
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch().ok_or_else(missing)?;
                check_compressed(dictionary.data().ok_or_else(missing)?, &frame.body)?;
                let dictionaries = &mut self.dictionaries;
                read_dictionary(&frame.body, dictionary, &self.schema, dictionaries, &message.version())
                    .map_err(text)?;
                Ok(None)
            }
            MessageHeader::NONE => Ok(None),
            MessageHeader::Schema => Err("a second schema stands where a record batch should".to_owned()),
            other => Err(format!("it is a {other:?}, which has no rows")),
        }
    }
}

fn read_schema(input: &mut Input) -> Result<SchemaRef, String> {
    let frame = Frame::read(input)?.ok_or("the file is empty")?;
    let message = frame.message()?;
    let Some(schema) = message.header_as_schema() else {
        return Err(format!("the first message is a {:?} and no schema", message.header_type()));
    };
    if schema.endianness() == Endianness::Big {
        return Err(
            "its numbers are big-endian, which is not supported; write it again on a little-endian machine".to_owned()
        );
    }
    Ok(Arc::new(convert::fb_to_schema(schema)))
}

/// A message and its body.
struct Frame {
    message: Vec<u8>,
    body: Buffer,
}

impl Frame {
    /// Reads the next one. `None` at the end of the stream.
    fn read(input: &mut Input) -> Result<Option<Frame>, String> {
        let mut word = [0; 4];
        let cut_off = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => "the file is cut off".to_owned(),
            _ => text(error),
        };
        // A stream may end without a marker.
        if input.peek(1, |_| false).is_empty() && at_end(input)? {
            return Ok(None);
        }
        input.read_exact(&mut word).map_err(cut_off)?;
        if word == CONTINUATION {
            input.read_exact(&mut word).map_err(cut_off)?;
        }
        let len = u32::from_le_bytes(word);
        if len == 0 {
            return Ok(None);
        }
        let message = read_bytes(input, u64::from(len))?;
        let body = root_as_message(&message).map_err(|e| format!("a message is damaged ({e})"))?.bodyLength();
        let body = u64::try_from(body).map_err(|_| format!("a message says that {body} bytes follow"))?;
        let body = read_bytes(input, body)?.into();
        Ok(Some(Frame { message, body }))
    }

    fn message(&self) -> Result<Message<'_>, String> {
        root_as_message(&self.message).map_err(text)
    }
}

/// Whether the input has ended. An error that ended the input is returned.
fn at_end(input: &mut Input) -> Result<bool, String> {
    input.read(&mut [0]).map(|read| read == 0).map_err(text)
}

/// Reads `len` bytes. Memory grows with the bytes that are there, not with `len`.
fn read_bytes(input: &mut Input, len: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < len {
        let (read, left) = (bytes.len(), len - bytes.len() as u64);
        let step = left.min(read.max(STEP_BYTES) as u64);
        bytes.try_reserve_exact(step as usize).map_err(text)?;
        input.take(step).read_to_end(&mut bytes).map_err(text)?;
        if bytes.len() as u64 - (read as u64) < step {
            return Err(format!("a message has {len} bytes, and the file ends after {} of them", bytes.len()));
        }
    }
    Ok(bytes)
}

/// Refuses buffers that claim to unpack to more than compression allows.
fn check_compressed(batch: arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<(), String> {
    if batch.compression().is_none() {
        return Ok(());
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let from = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
        let Some((said, _)) = body.get(from..).and_then(|bytes| bytes.split_first_chunk::<8>()) else { continue };
        let said = i64::from_le_bytes(*said);
        if buffer.length() >= 8 && said > buffer.length().saturating_mul(RATIO_MAX) {
            return Err(format!("a buffer of {} bytes says that it unpacks to {said}", buffer.length()));
        }
    }
    Ok(())
}

/// Reads to the end. Whether the last bytes are the magic number.
fn ends_with_magic(input: &mut Input) -> io::Result<bool> {
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
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_what_is_there() {
        let mut input = Input::new(io::Cursor::new(vec![7; 100]));
        assert_eq!(read_bytes(&mut input, 60).unwrap(), [7; 60]);
        // The rest of a message of 2^60 bytes.
        let problem = read_bytes(&mut input, 1 << 60).unwrap_err();
        assert_eq!(problem, "a message has 1152921504606846976 bytes, and the file ends after 40 of them");
    }
}
