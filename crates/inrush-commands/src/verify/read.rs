//! Reads the source in a thread of its own as records with ids, in its order. It is read, decoded
//! and given ids as by a load.

use bytes::Bytes;
use inrush_cluster::api::lookup::Wanted;
use inrush_core::encode::Encoder;
use inrush_core::{ItemBlock, SourceId};
use inrush_load::ids::Ids;
use inrush_load::reader::Sequencer;
use inrush_sources::CHUNK_BYTES;
use inrush_sources::{Source, SourceError};
use serde::Deserialize;
use tokio::sync::mpsc;

/// The most chunks that wait for the comparison.
const AHEAD: usize = 2;

/// A document of the source.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The id and routing value.
    pub(super) key: Wanted,
    /// The document as a load would send it.
    pub(super) document: Bytes,
    /// The document as in the source, or as JSON if the source is not JSON.
    pub(super) raw: Bytes,
    pub(super) place: Place,
}

/// The position of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) source: u32,
    pub(super) line: u64,
}

/// The records of one chunk of the source.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The number of records, including rejected ones.
    pub(super) docs: u64,
    /// The records with an id. Empty if no ids were requested.
    pub(super) records: Vec<Record>,
    /// The records that no load could send, with the reason.
    pub(super) rejected: Vec<(Place, String)>,
    /// Bytes of the source that were read for it.
    pub(super) bytes: u64,
}

/// The messages of the thread.
pub(super) enum Message {
    Part(Part),
    End(Result<(), SourceError>),
}

/// Starts the thread. `with_all`: also documents without an id become records, of an empty one. A
/// channel that ends without [`Message::End`] means that the thread has panicked.
pub(super) fn start(
    mut source: Box<dyn Source>,
    encoder: Encoder,
    ids: Option<Ids>,
    with_all: bool,
) -> std::io::Result<mpsc::Receiver<Message>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    source.keep_texts(&encoder.fields());
    std::thread::Builder::new().name("read".to_owned()).spawn(move || {
        let mut order = Sequencer::default();
        loop {
            let block = match source.next_chunk(CHUNK_BYTES) {
                Ok(Some(chunk)) => chunk.into_block(),
                end => {
                    // If the comparison has failed, there is no receiver.
                    let _ = sender.blocking_send(Message::End(end.map(|_| ())));
                    return;
                }
            };
            let block = match &ids {
                // One thread takes all turns in order, so each turn comes.
                Some(ids) => match ids.assign(order.count(), block) {
                    Some(block) => block,
                    None => return,
                },
                None => block,
            };
            let (data, mut bytes) = (block.data.clone(), block.bytes_read);
            order.push(order.count(), encoder.encode(block));
            while let Some(items) = order.next_block() {
                let part = Part { bytes: std::mem::take(&mut bytes), ..part(&items, &data, with_all) };
                if sender.blocking_send(Message::Part(part)).is_err() {
                    return;
                }
            }
        }
    })?;
    Ok(receiver)
}

/// The parts of the action line that identify the document.
#[derive(Deserialize)]
struct Line {
    index: Meta,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "_id")]
    id: Option<String>,
    routing: Option<String>,
}

fn part(items: &ItemBlock, data: &Bytes, with_all: bool) -> Part {
    let place = |record: u32| {
        let position = items.position(record);
        let SourceId(source) = position.source;
        Place { source, line: position.line }
    };
    let rejected = items.rejects.iter().map(|reject| (place(reject.record), reject.reason.clone())).collect();
    let mut records = Vec::new();
    // Items without ids are only counted.
    for at in (0..items.len()).filter(|at| with_all || items.key(*at).is_some()) {
        let (line, document) = items.action_and_document(at);
        // The line comes from inrush's own encoder.
        let Ok(Line { index: Meta { id, routing } }) = serde_json::from_slice(&line) else { continue };
        let Some(id) = id.or_else(|| with_all.then(String::new)) else { continue };
        let record = items.records[at as usize];
        records.push(Record {
            // Servers treat an empty routing value as none, and a lookup with one finds nothing.
            key: Wanted { id, routing: routing.filter(|routing| !routing.is_empty()) },
            document,
            raw: data.slice(record.start as usize..record.end as usize),
            place: place(at),
        });
    }
    Part { docs: u64::from(items.len()), records, rejected, bytes: 0 }
}

#[cfg(test)]
mod tests {
    use inrush_core::block::Record as BlockRecord;
    use inrush_core::{Action, DocBlock, Operations, Shaping};

    use super::*;

    #[test]
    fn records_have_ids_routing_and_both_forms_of_the_document() {
        let lines = [r#"{"id":7,"r":"a","x":1}"#, r#"{"x":2}"#, r#"{"id":8,"r":""}"#];
        let mut data = Vec::new();
        let mut records = Vec::new();
        for (line, text) in (0..).zip(lines) {
            let start = data.len() as u32;
            data.extend_from_slice(text.as_bytes());
            records.push(BlockRecord { start, end: data.len() as u32, byte: start, line });
        }
        let block = DocBlock { data: data.into(), records, lines: 3, ..DocBlock::default() };
        let data = block.data.clone();
        let operations = Operations {
            routing: Some("r".parse().unwrap()),
            shaping: Shaping { drop: vec!["id".parse().unwrap()], ..Shaping::default() },
            ..Operations::new(Action::Index, "t".parse().unwrap(), Some("id".parse().unwrap()))
        };
        let mut order = Sequencer::default();
        order.push(0, Encoder::new(operations).encode(block));
        let part = part(&order.next_block().unwrap(), &data, false);
        assert_eq!((part.docs, part.records.len(), part.rejected.len()), (3, 2, 1));
        assert_eq!(part.records[1].key, Wanted { id: "8".into(), routing: None }, "as servers take it");
        let record = &part.records[0];
        assert_eq!(record.key, Wanted { id: "7".into(), routing: Some("a".into()) });
        assert_eq!((&record.document[..], &record.raw[..]), (&br#"{"r":"a","x":1}"#[..], lines[0].as_bytes()));
        assert_eq!(record.place, Place { source: 0, line: 1 });
        assert_eq!(part.rejected[0].0, Place { source: 0, line: 2 });
    }
}
