//! The first documents of a source as a load would send them, and their errors.

use std::time::Duration;

use inrush_cluster::clock;
use inrush_core::encode::Encoder;
use inrush_core::mapping::{RowPosition, Schema};
use inrush_core::{Code, DocBlock, SourceId};
use inrush_sources::{CHUNK_BYTES, IDLE_MIN, Source, SourceError, Step};

use super::fit::Mapping;
use super::{Failure, Shown};
use crate::ids::Ids;
use crate::reader::Sequencer;

/// Largest size of the documents that are read, bytes.
const BYTES_MAX: usize = 64 << 20;
/// Longest wait for the next documents of a source that never ends.
const IDLE_MAX: Duration = Duration::from_secs(5);
/// Largest number of errors in the result.
const FAILURES_MAX: usize = 10;
/// Characters of a shown document.
const SHOWN_CHARS: usize = 2000;

/// Limits of a dry run.
pub(super) struct Limits {
    /// Records that are read.
    pub(super) docs: u64,
    /// Documents that are shown.
    pub(super) shown: usize,
}

/// The documents and their errors.
#[derive(Default)]
pub(super) struct ReadDocuments {
    pub(super) docs: u64,
    /// Whether the source was read to its end.
    pub(super) complete: bool,
    pub(super) shown: Vec<Shown>,
    pub(super) failures: Vec<Failure>,
    pub(super) failing: u64,
    pub(super) schema: Schema,
    /// Bytes of documents as they would be sent, and bytes of the source that they come from.
    pub(super) bytes: (u64, u64),
    /// Why the source cannot be read any further.
    pub(super) error: Option<SourceError>,
}

impl ReadDocuments {
    fn fail(&mut self, failure: Failure) {
        self.failing += 1;
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(failure);
        }
    }
}

/// The next step of the source. A source that never ends gets [`IDLE_MAX`] for its next documents.
fn next(source: &mut dyn Source, is_endless: bool) -> Result<Step, SourceError> {
    if !is_endless {
        return Ok(source.next_chunk(CHUNK_BYTES)?.map_or(Step::End, Step::Chunk));
    }
    let asked = clock::now();
    loop {
        match source.next(CHUNK_BYTES)? {
            Step::Idle if asked.elapsed() < IDLE_MAX => clock::block(IDLE_MIN),
            step => return Ok(step),
        }
    }
}

/// Whether the source has no further record.
fn is_at_end(source: &mut dyn Source) -> bool {
    loop {
        match source.next_chunk(CHUNK_BYTES) {
            Ok(None) => return true,
            Ok(Some(chunk)) => {
                if !chunk.into_block().records.is_empty() {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
}

/// Reads the source in the calling thread.
pub(super) fn read_documents(
    source: &mut dyn Source,
    encoder: &Encoder,
    ids: Option<&Ids>,
    mapping: Option<&Mapping>,
    limits: &Limits,
) -> ReadDocuments {
    let info = source.describe();
    let names = info.names;
    let mut read = ReadDocuments::default();
    let mut order = Sequencer::default();
    let (mut bytes, mut is_cut) = (0, false);
    while read.docs < limits.docs && bytes < BYTES_MAX {
        let block = match next(source, info.is_endless) {
            Ok(Step::Chunk(chunk)) => chunk.into_block(),
            Ok(Step::Idle) => break,
            Ok(Step::End) => {
                read.complete = true;
                break;
            }
            Err(error) => {
                read.error = Some(error);
                break;
            }
        };
        let number = order.count();
        let Some(block) = (match ids {
            Some(ids) => ids.assign(number, block),
            None => Some(block),
        }) else {
            break;
        };
        bytes += block.data.len();
        read.bytes.1 += block.bytes_read;
        let documents = block.clone();
        order.push(number, encoder.encode(block));
        let Some(items) = order.next_block() else { break };
        let mut rejects = items.rejects.iter().peekable();
        for at in 0..items.len() {
            if read.docs == limits.docs {
                is_cut = true;
                break;
            }
            read.docs += 1;
            let position = items.position(at);
            let SourceId(source) = position.source;
            let rejected = rejects.next_if(|reject| reject.record == at);
            let why = match rejected {
                Some(reject) => Some((reject.kind, reject.reason.clone())),
                None => {
                    let place = RowPosition { source, row: position.line };
                    judge(&mut read.schema, mapping, (&documents, encoder), at, place)
                }
            };
            let (action, document) = items.action_and_document(at);
            read.bytes.0 += document.len() as u64;
            if let Some((kind, reason)) = why {
                let source = names.get(source as usize).cloned().unwrap_or_default();
                read.fail(Failure { source, line: position.line, kind, reason });
            } else if read.shown.len() < limits.shown {
                read.shown.push(Shown { action: text(&action), document: text(&document) });
            }
        }
    }
    if read.docs == limits.docs && !is_cut && !info.is_endless {
        read.complete = is_at_end(source);
    }
    read
}

/// Why the server would refuse a document.
fn judge(
    schema: &mut Schema,
    mapping: Option<&Mapping>,
    (documents, encoder): (&DocBlock, &Encoder),
    at: u32,
    place: RowPosition,
) -> Option<(Code, String)> {
    let document = documents.record(at as usize);
    // A deletion has no document.
    if document.is_empty() {
        return None;
    }
    let (shape, mut buffer) = (encoder.shape(), Vec::new());
    let document = match encoder.shapes(documents.meta.get(at as usize)) {
        false => document,
        true => match shape.of(document, &mut buffer) {
            Ok(document) => document,
            Err(refusal) => return Some(refusal),
        },
    };
    if let Err(error) = schema.add(document, place) {
        return Some((Code::InvalidJson, format!("the document is not a JSON object: {error}")));
    }
    Some((Code::Mapping, mapping?.misfit(document)?))
}

fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], bytes.len()),
        None => text.into_owned(),
    }
}
