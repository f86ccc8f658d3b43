//! A file that is read from beginning to end and cut at record boundaries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use inrush_core::block::{Origin, Record};
use inrush_core::{Code, DocBlock, SourceId};

use super::charset::NotAscii;
use super::compression::Codec;
use super::cut::{CutError, Cutter, Piece};
use super::{Chunk, Decode, InputError, RawChunk, SourceError, too_large};

/// A file that is being read.
pub trait ReadFile: Send {
    /// The next piece, of about `bytes` of documents. `None` at the end. An error names the id of
    /// the source.
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError>;

    /// The columns, if its chunks are [`Chunk::Rows`].
    #[cfg(feature = "sql")]
    fn table(&self) -> Option<super::columns::table::ColumnarFile> {
        None
    }
}

/// A file that is read from beginning to end and cut at record boundaries.
pub(crate) struct CutFile {
    pub id: SourceId,
    pub name: String,
    pub codec: Option<Codec>,
    pub cutter: Cutter,
    pub decoder: Arc<dyn Decode>,
    /// Bytes of the file that were used, and those that chunks have reported.
    pub consumed: Arc<AtomicU64>,
    pub reported: u64,
    pub record_bytes_max: usize,
    /// Bytes of documents for a byte of text, so that blocks have the requested size.
    pub growth: f64,
}

impl ReadFile for CutFile {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let piece = self.cutter.next((bytes as f64 / self.growth) as usize);
        let consumed = self.consumed.load(Ordering::Relaxed);
        let bytes_read = consumed - std::mem::replace(&mut self.reported, consumed);
        let origin = |first_byte| Origin { source: self.id, first_byte, ..Origin::default() };
        match piece {
            Ok(Some(Piece::Records { first_byte, data })) => {
                let decoder = Arc::clone(&self.decoder);
                Ok(Some(Chunk::Raw(RawChunk { origin: origin(first_byte), data, bytes_read, decoder })))
            }
            Ok(Some(Piece::TooLarge { first_byte, head, bytes, lines })) => {
                self.decoder.passed(first_byte..self.cutter.offset(), lines);
                Ok(Some(Chunk::Docs(DocBlock {
                    origin: origin(first_byte),
                    lines,
                    records: vec![Record { start: 0, end: head.len() as u32, byte: 0, line: 0 }],
                    data: Bytes::from(head),
                    rejects: vec![too_large(0, bytes, self.record_bytes_max)],
                    meta: Vec::new(),
                    bytes_read,
                })))
            }
            // The end of a compressed file can be read after its last record.
            Ok(None) if bytes_read > 0 => {
                let origin = origin(self.cutter.offset());
                Ok(Some(Chunk::Docs(DocBlock { origin, bytes_read, ..DocBlock::default() })))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(self.explain(error, consumed).of(self.id)),
        }
    }
}

impl CutFile {
    fn explain(&self, error: CutError, consumed: u64) -> SourceError {
        let (error, content_bytes, dropped_bytes) = match error {
            CutError::UnclosedQuote { first_byte, bytes, lines } => {
                return SourceError::new(
                    &self.name,
                    format!(
                        "the record at byte {first_byte} has a quote that is not closed in the {lines} lines ({bytes} bytes) \
                         up to the end, none of which is read; close it, or give option `quote=none` if quotes have no meaning \
                         in this file"
                    ),
                );
            }
            CutError::Io { error, content_bytes, dropped_bytes } => (error, content_bytes, dropped_bytes),
        };
        let mut damaged = None;
        let mut what = match self.codec {
            Some(codec) if error.raw_os_error().is_none() && !is_of_another_kind(&error) => {
                let name = codec.name();
                let place = format!("at byte {consumed} of the file, after {content_bytes} bytes of content");
                if let Some(needed) = codec.needed(&error, content_bytes) {
                    let message = format!("the {name} stream cannot be read {place}: {needed}");
                    return SourceError::new(&self.name, message).coded(Code::DamagedCompression);
                }
                damaged = Some(Code::DamagedCompression);
                if error.kind() == std::io::ErrorKind::UnexpectedEof {
                    format!("the {name} stream is cut off {place}")
                } else {
                    let unconfirmed = codec.unconfirmed(&error, content_bytes).filter(|_| content_bytes > 0);
                    let unconfirmed = unconfirmed.map_or_else(String::new, |said| format!("; {said}"));
                    format!("the {name} stream is damaged {place}{unconfirmed}")
                }
            }
            _ => format!("reading failed at byte {consumed}"),
        };
        if dropped_bytes > 0 {
            what.push_str(&format!(" (the last {dropped_bytes} of them are part of a record and were left out)"));
        }
        let encoding = NotAscii::is_cause_of(&error).then_some(Code::BadEncoding);
        let error = SourceError::io(&self.name, &what, error);
        match damaged.or(encoding) {
            Some(code) => error.coded(code),
            None => error,
        }
    }
}

/// Whether an error says nothing about the compression: it comes from the transfer of the bytes, or
/// from the text in them.
fn is_of_another_kind(error: &std::io::Error) -> bool {
    InputError::of(error).is_some() || NotAscii::is_cause_of(error)
}
