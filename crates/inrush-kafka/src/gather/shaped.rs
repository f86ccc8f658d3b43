//! Documents of records that have a shape.

use inrush_core::Code;
use inrush_core::block::Record;
use inrush_core::{DocBlock, DocMeta};
use inrush_formats::one_line::one_line;
use inrush_formats::too_large;
use memchr::memchr2;

use super::{Documents, Gathered, Maker, NULL};
use crate::values::{BLOCK_BYTES_MAX, Kept, Made, Problem, Shape};
use crate::{Ids, OnNull};

impl Gathered {
    /// Makes the documents of records by their shape. A record that cannot become one is a reject
    /// with its unchanged value.
    pub(super) fn shaped(&self, number: u32, maker: &Maker, shape: &Shape) -> DocBlock {
        let Gathered { values, keys, records, timestamps, more, .. } = self;
        let bytes_read = (values.len() + keys.len()) as u64;
        let mut documents = Documents::new(self.first, self.end, number, bytes_read, records.len());
        let mut shaping = Shaping { shape, maker, deleted: None, scratch: Vec::new() };
        let mut looked_at = false;
        let mut out = Vec::with_capacity(values.len() + values.len() / 2);
        let (mut start, mut key_start) = (0, 0);
        for (nth, (raw, (timestamp, headers))) in records.iter().zip(more.records()).enumerate() {
            let kept = Kept {
                topic: &maker.at.topic,
                partition: maker.at.partition,
                offset: self.first + i64::from(raw.number),
                timestamp,
                key: raw.has_key.then(|| &keys[key_start..raw.key_end as usize]),
                value: &values[start as usize..raw.value_end as usize],
                headers,
            };
            let (at, byte) = (out.len(), start);
            (start, key_start) = (raw.value_end, raw.key_end as usize);
            let deleted = shaping.deleted.take();
            let made = match raw.size {
                NULL => shaping.null(&kept, deleted),
                size if size as usize > maker.document_bytes_max => Err(problem_of_size(size as usize, maker)),
                _ => shaping.document(&kept, deleted, &mut out),
            };
            let made = maker.versioned(made, kept.offset, timestamps.get(nth));
            let record = |out: &Vec<u8>| Record { start: at as u32, end: out.len() as u32, byte, line: raw.number };
            match made {
                Ok(Some(meta)) => {
                    if !looked_at && at < out.len() {
                        shaping.look_at(&kept, &out[at..]);
                        looked_at = true;
                    }
                    let place = documents.add(record(&out), meta);
                    if memchr2(b'\n', b'\r', &out[at..]).is_some() {
                        documents.rejects.extend(one_line(place, &mut out[at..]));
                    }
                }
                Ok(None) => out.truncate(at),
                Err(problem) => {
                    out.truncate(at);
                    out.extend_from_slice(kept.value);
                    let known = shaping.known(&problem, &kept);
                    let known = maker.known_version(known, kept.offset, timestamps.get(nth));
                    documents.refuse(record(&out), problem, known);
                }
            }
        }
        maker.hints.look_into(shape.unwrap(), &maker.at.topic, &out);
        documents.block(out)
    }
}

fn problem_of_size(bytes: usize, maker: &Maker) -> Problem {
    let reject = too_large(0, bytes as u64, maker.document_bytes_max);
    (reject.kind, reject.reason)
}

/// The records of a block, one after the other.
struct Shaping<'a> {
    shape: &'a Shape,
    maker: &'a Maker,
    /// The key of the record before, where that deletes a document by an event.
    deleted: Option<&'a [u8]>,
    scratch: Vec<u8>,
}

impl<'a> Shaping<'a> {
    /// Looks whether an option would read the first record of a block better.
    fn look_at(&self, record: &Kept<'_>, document: &[u8]) {
        let hints = &self.maker.hints;
        hints.look_at(self.shape.unwrap(), record.topic, document);
        if !self.shape.has_registry() {
            hints.look_at_key(record.topic, record.key.unwrap_or_default());
        }
    }

    /// A record without a value. `deleted` is the key of the record before, where that deletes a
    /// document by an event. `None`: nothing.
    fn null(&self, record: &Kept<'_>, deleted: Option<&[u8]>) -> Result<Option<DocMeta>, Problem> {
        // Debezium sends a record with the same key and without a value after each such event.
        if deleted.is_some() && record.key == deleted {
            return Ok(None);
        }
        let key = if self.maker.on_null == OnNull::Delete { self.shape.key(record)? } else { None };
        self.maker.deleted_by_null(key.as_ref().map(|key| || key.id()))
    }

    /// A record with a value. `deleted` as in [`Shaping::null`]. `None`: nothing.
    fn document(
        &mut self,
        record: &Kept<'a>,
        deleted: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<Option<DocMeta>, Problem> {
        let at = out.len();
        let made = self.shape.make(record, &mut self.scratch, out)?;
        let of_value = match made {
            Made::Bulk(ref meta) => Some(meta.clone()),
            _ => None,
        };
        if made == Made::Null {
            out.truncate(at);
            return self.null(record, deleted);
        }
        if made == Made::Nothing {
            return Ok(None);
        }
        if made == Made::Delete {
            self.deleted = record.key;
        }
        let key = match self.maker.ids {
            Ids::None | Ids::Position => None,
            Ids::Key | Ids::KeyOrPosition => self.shape.key(record)?,
        };
        let key = key.as_ref().map(|key| || key.id());
        if made == Made::Delete {
            let meta = self.maker.deleted(key)?;
            if meta.id.is_some() {
                out.truncate(at);
            }
            return Ok(Some(meta));
        }
        let len = out.len() - at;
        if len > self.maker.document_bytes_max {
            return Err(problem_of_size(len, self.maker));
        }
        if out.len() > BLOCK_BYTES_MAX {
            let reason =
                format!("the documents of its block have more than {BLOCK_BYTES_MAX} bytes; split the records");
            return Err((Code::TooLarge, reason));
        }
        match of_value {
            Some(meta) => self.maker.identified(meta, key, record.offset).map(Some),
            None => self.maker.indexed(key, record.offset).map(Some),
        }
    }

    /// What is known of a record that becomes no document.
    fn known(&self, problem: &Problem, record: &Kept<'_>) -> DocMeta {
        let key = match self.maker.ids {
            Ids::None | Ids::Position => Ok(None),
            Ids::Key | Ids::KeyOrPosition => self.shape.key(record),
        };
        let Ok(key) = key else { return DocMeta::default() };
        let key = key.as_ref().map(|key| || key.id());
        if !self.shape.is_bulk() || record.value.is_empty() {
            return self.maker.known(problem, key, record.offset);
        }
        let said = inrush_formats::bulk_item(record.value).ok();
        said.and_then(|(meta, _)| self.maker.identified(meta, key, record.offset).ok()).unwrap_or_default()
    }
}
