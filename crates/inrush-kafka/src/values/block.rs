//! The block of documents of records that have a shape.

use inrush_core::block::Record;
use inrush_core::{DocBlock, DocMeta};
use inrush_formats::one_line::one_line;
use inrush_formats::too_large;
use memchr::memchr2;

use super::shape::Made;
use super::{Kept, Problem, Shape};
use crate::gather::{Documents, Gathered, Maker, NULL};
use crate::{Ids, OnNull};

/// The largest text of all documents of a block, bytes. Positions in it have 32 bits, and a record
/// of a few bytes may describe a document of many.
pub(super) const BLOCK_BYTES_MAX: usize = 1 << 30;

impl Shape {
    /// Makes the documents of records. A record that cannot become one is a reject with its
    /// unchanged value.
    pub(crate) fn block(&self, gathered: Gathered, number: u32, maker: &Maker) -> DocBlock {
        let Gathered { values, keys, records, more, .. } = &gathered;
        let bytes_read = (values.len() + keys.len()) as u64;
        let mut documents = Documents::new(gathered.first(), gathered.end(), number, bytes_read, records.len());
        let mut out = Vec::with_capacity(values.len() + values.len() / 2);
        let mut scratch = Vec::new();
        let mut deleted = None;
        let (mut start, mut key_start) = (0, 0);
        for (raw, (timestamp, headers)) in records.iter().zip(more.records()) {
            let kept = Kept {
                topic: &maker.at.topic,
                partition: maker.at.partition,
                offset: gathered.first() + i64::from(raw.number),
                timestamp,
                key: raw.has_key.then(|| &keys[key_start..raw.key_end as usize]),
                value: &values[start as usize..raw.value_end as usize],
                headers,
            };
            let at = out.len();
            let byte = start;
            (start, key_start) = (raw.value_end, raw.key_end as usize);
            let record = |out: &Vec<u8>| Record { start: at as u32, end: out.len() as u32, byte, line: raw.number };
            let made = match raw.size {
                NULL => self.null(&kept, maker, &mut deleted),
                size if size as usize > maker.document_bytes_max => {
                    out.extend_from_slice(kept.value);
                    let place = documents.add(record(&out), DocMeta::default());
                    documents.rejects.push(too_large(place, u64::from(size), maker.document_bytes_max));
                    continue;
                }
                _ => self.document(&kept, maker, &mut deleted, &mut scratch, &mut out),
            };
            match made {
                Ok(Some(meta)) => {
                    let place = documents.add(record(&out), meta);
                    if memchr2(b'\n', b'\r', &out[at..]).is_some() {
                        documents.rejects.extend(one_line(place, &mut out[at..]));
                    }
                }
                Ok(None) => out.truncate(at),
                Err(problem) => {
                    out.truncate(at);
                    out.extend_from_slice(kept.value);
                    documents.refuse(record(&out), problem);
                }
            }
        }
        documents.block(out)
    }

    /// A record without a value.
    fn null(&self, record: &Kept<'_>, maker: &Maker, deleted: &mut Option<String>) -> Result<Option<DocMeta>, Problem> {
        // Debezium sends a record without a value after each event of a deletion.
        let before = deleted.take();
        let key = if maker.on_null == OnNull::Delete { self.key(record)? } else { None };
        let deletes = maker.deleted_by_null(key.as_ref().map(|key| || key.id()))?;
        Ok(deletes.filter(|meta| before.is_none() || meta.id != before))
    }

    /// A record with a value. `deleted` becomes the id of a document that it deletes.
    fn document(
        &self,
        record: &Kept<'_>,
        maker: &Maker,
        deleted: &mut Option<String>,
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Option<DocMeta>, Problem> {
        let at = out.len();
        let made = self.make(record, scratch, out)?;
        if made == Made::Null {
            out.truncate(at);
            return self.null(record, maker, deleted);
        }
        *deleted = None;
        if made == Made::Nothing {
            return Ok(None);
        }
        let key = match maker.ids {
            Ids::None | Ids::Position => None,
            Ids::Key | Ids::KeyOrPosition => self.key(record)?,
        };
        let key = key.as_ref().map(|key| || key.id());
        if made == Made::Delete {
            let meta = maker.deleted(key)?;
            deleted.clone_from(&meta.id);
            if deleted.is_some() {
                out.truncate(at);
            }
            return Ok(Some(meta));
        }
        let len = out.len() - at;
        if len > maker.document_bytes_max {
            let reject = too_large(0, len as u64, maker.document_bytes_max);
            return Err((reject.kind, reject.reason));
        }
        if out.len() > BLOCK_BYTES_MAX {
            let reason =
                format!("the documents of its block have more than {BLOCK_BYTES_MAX} bytes; split the records");
            return Err(("too_large", reason));
        }
        maker.indexed(key, record.offset).map(Some)
    }
}
