//! Records of a partition in one buffer, and the documents that they become.

mod shaped;
mod versions;

use std::sync::Arc;

use inrush_core::Code;
use inrush_core::block::{Origin, Record};
use inrush_core::{Action, DocBlock, DocMeta, Reject};
use inrush_formats::one_line::one_line;
use inrush_formats::{Chunk, too_large, too_large_head};
use memchr::memchr2;

use crate::client::{self, TopicPartition};
use crate::values::{Hints, More, Problem, SchemaKey, Shape, key_text, without_registry};
use crate::{Ids, OnNull, Unwrap};

pub(crate) use versions::{KeyPlaces, NO_TIME, Versions, two_places};

/// The memory of a record besides its key and value, bytes.
const OVERHEAD: usize = size_of::<Raw>();

/// How the records of a partition become documents.
pub(crate) struct Maker {
    pub(crate) at: TopicPartition,
    /// `topic-partition-`, the beginning of ids that are positions.
    pub(crate) position: String,
    /// `None` where values are documents already.
    pub(crate) shape: Option<Arc<Shape>>,
    pub(crate) hints: Arc<Hints>,
    pub(crate) ids: Ids,
    pub(crate) versions: Option<Versions>,
    pub(crate) on_null: OnNull,
    pub(crate) document_bytes_max: usize,
}

/// Records of a partition that follow each other.
pub(crate) struct Gathered {
    /// The offset that the block begins with. The first record may have a later one.
    first: i64,
    /// The offset after the last record.
    end: i64,
    /// When the first record was written, milliseconds since 1970.
    written: Option<i64>,
    values: Vec<u8>,
    keys: Vec<u8>,
    records: Vec<Raw>,
    /// Of each record, where versions are timestamps; else empty.
    timestamps: Vec<i64>,
    /// What a shape needs of each record besides key and value.
    more: More,
}

#[derive(Clone, Copy)]
struct Raw {
    /// The offset, from `first`.
    number: u32,
    value_end: u32,
    key_end: u32,
    /// The size of the value as the broker has it; `NULL` where there is none.
    size: u32,
    has_key: bool,
}

const NULL: u32 = u32::MAX;

impl Gathered {
    pub(crate) fn new(first: i64) -> Self {
        let more = More::default();
        Gathered {
            first,
            end: first,
            written: None,
            values: Vec::new(),
            keys: Vec::new(),
            records: Vec::new(),
            timestamps: Vec::new(),
            more,
        }
    }

    /// Whether a record at this offset can be in the same block.
    pub(crate) fn has_room(&self, offset: i64) -> bool {
        u32::try_from(offset - self.first).is_ok_and(|number| number < u32::MAX)
    }

    /// Adds a record. Of a value that is larger than `bytes_max` only the beginning is kept.
    pub(crate) fn push(&mut self, offset: i64, key: Option<&[u8]>, value: Option<&[u8]>, bytes_max: usize) {
        let size = match value {
            None => NULL,
            Some(value) if value.len() > bytes_max => {
                self.values.extend_from_slice(too_large_head(value));
                value.len() as u32
            }
            Some(value) => {
                self.values.extend_from_slice(value);
                value.len() as u32
            }
        };
        self.keys.extend_from_slice(key.unwrap_or_default());
        self.records.push(Raw {
            number: (offset - self.first) as u32,
            value_end: self.values.len() as u32,
            key_end: self.keys.len() as u32,
            size,
            has_key: key.is_some(),
        });
        self.end = offset + 1;
    }

    /// Of the first record the time is kept: the others of its block were hardly written later.
    pub(crate) fn begin(&mut self, written: Option<i64>) {
        if self.is_empty() {
            self.written = written;
        }
    }

    /// When the first record was written, milliseconds since 1970.
    pub(crate) fn written(&self) -> Option<i64> {
        self.written
    }

    /// Adds the timestamp of the record that was added last.
    pub(crate) fn push_timestamp(&mut self, timestamp: Option<i64>) {
        self.timestamps.push(timestamp.unwrap_or(NO_TIME));
    }

    /// Adds what the shape needs of the record that was added last.
    pub(crate) fn push_more(&mut self, record: &client::Record<'_>, shape: &Shape) {
        self.more.push(record, shape);
    }

    /// The schemas that records of this block name.
    pub(crate) fn schemas(&mut self) -> Vec<SchemaKey> {
        self.more.schemas()
    }

    /// The same records in a block that ends at this offset.
    pub(crate) fn up_to(self, end: i64) -> Self {
        Gathered { end, ..self }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The memory that the records take, bytes.
    pub(crate) fn cost(&self) -> usize {
        self.values.len()
            + self.keys.len()
            + self.records.len() * OVERHEAD
            + self.timestamps.len() * 8
            + self.more.cost()
    }

    /// The offset that the block begins with.
    pub(crate) fn first(&self) -> i64 {
        self.first
    }

    /// The offset after the last record.
    pub(crate) fn end(&self) -> i64 {
        self.end
    }

    /// The block, which is made where it is needed: ids and checks take longer than gathering.
    pub(crate) fn chunk(self, number: u32, maker: Arc<Maker>) -> Chunk {
        Chunk::Deferred(Box::new(move || self.block(number, &maker)))
    }

    fn block(self, number: u32, maker: &Maker) -> DocBlock {
        if let Some(shape) = &maker.shape {
            return self.shaped(number, maker, shape);
        }
        let Gathered { first, end, mut values, keys, records: raws, timestamps, .. } = self;
        let mut documents = Documents::new(first, end, number, (values.len() + keys.len()) as u64, raws.len());
        maker.look_at(&raws, &keys, &values);
        let (mut start, mut key_start) = (0, 0);
        for (nth, raw) in raws.into_iter().enumerate() {
            let key = raw.has_key.then(|| &keys[key_start..raw.key_end as usize]);
            let value = start as usize..raw.value_end as usize;
            let record = Record { start, end: raw.value_end, byte: start, line: raw.number };
            (start, key_start) = (raw.value_end, raw.key_end as usize);
            let (offset, is_null) = (first + i64::from(raw.number), raw.size == NULL);
            let meta = match is_null {
                true => maker.deleted_by_null(key.map(|key| || key_text(key))),
                false => without_registry(&values[value.clone()])
                    .and_then(|()| maker.indexed(key.map(|key| || key_text(key)), offset).map(Some)),
            };
            let meta = maker.versioned(meta, offset, timestamps.get(nth));
            let at = match meta {
                Ok(None) => continue,
                Ok(Some(meta)) => documents.add(record, meta),
                Err(problem) => {
                    let known = maker.known(&problem, key.map(|key| || key_text(key)), offset);
                    let known = maker.known_version(known, offset, timestamps.get(nth));
                    documents.refuse(record, problem, known);
                    continue;
                }
            };
            if is_null {
                continue;
            }
            if raw.size as usize > maker.document_bytes_max {
                documents.rejects.push(too_large(at, u64::from(raw.size), maker.document_bytes_max));
            } else if memchr2(b'\n', b'\r', &values[value.clone()]).is_some() {
                documents.rejects.extend(one_line(at, &mut values[value]));
            }
        }
        documents.block(values)
    }
}

/// The documents of a block, without their text.
struct Documents {
    origin: Origin,
    lines: u64,
    bytes_read: u64,
    records: Vec<Record>,
    meta: Vec<DocMeta>,
    rejects: Vec<Reject>,
}

impl Documents {
    /// Of the records from offset `first` to before `end`.
    fn new(first: i64, end: i64, number: u32, bytes_read: u64, count: usize) -> Self {
        let mut origin = Origin { partition: number, ..Origin::default() };
        // Offsets are not negative.
        origin.first_doc = first as u64;
        origin.own_numbers = true;
        let (meta, rejects) = (Vec::new(), Vec::new());
        Documents { origin, lines: (end - first) as u64, bytes_read, records: Vec::with_capacity(count), meta, rejects }
    }

    /// Adds a record. Returns its number in the block.
    fn add(&mut self, record: Record, meta: DocMeta) -> u32 {
        let at = self.records.len();
        self.records.push(record);
        if meta != DocMeta::default() {
            self.meta.reserve(self.records.capacity() - self.meta.len());
            self.meta.resize(at, DocMeta::default());
            self.meta.push(meta);
        }
        at as u32
    }

    /// Adds a record that becomes no document. `meta`: what is known of it.
    fn refuse(&mut self, record: Record, (kind, reason): Problem, meta: DocMeta) {
        let at = self.add(record, meta);
        self.rejects.push(Reject { record: at, kind, reason });
    }

    fn block(self, data: Vec<u8>) -> DocBlock {
        let Documents { origin, lines, bytes_read, records, mut meta, rejects } = self;
        if !meta.is_empty() {
            meta.resize(records.len(), DocMeta::default());
        }
        DocBlock { origin, lines, data: data.into(), records, rejects, meta, bytes_read }
    }
}

impl Maker {
    /// Looks whether an option would read the values better: at the first record, and for a word in
    /// all.
    fn look_at(&self, raws: &[Raw], keys: &[u8], values: &[u8]) {
        let topic = &*self.at.topic;
        if let Some(raw) = raws.iter().find(|raw| raw.has_key) {
            // The keys before it are empty.
            self.hints.look_at_key(topic, &keys[..raw.key_end as usize]);
        }
        if let Some(raw) = raws.iter().find(|raw| raw.size != NULL) {
            // The values before it are empty.
            self.hints.look_at(Unwrap::None, topic, &values[..raw.value_end as usize]);
        }
        self.hints.look_into(Unwrap::None, topic, values);
    }

    /// What a record without a value does. `None`: nothing.
    fn deleted_by_null(
        &self,
        key: Option<impl FnOnce() -> Result<String, Problem>>,
    ) -> Result<Option<DocMeta>, Problem> {
        match self.on_null {
            OnNull::Skip => Ok(None),
            OnNull::DeadLetter => Err((Code::NullValue, "the record has no value".to_owned())),
            OnNull::Delete => match key {
                Some(key) => Ok(Some(DocMeta::default().with_action(Action::Delete).with_id(key()?))),
                None => missing("the record has neither a value nor a key, so it names no document to delete"),
            },
        }
    }

    /// What is known of the document of a record.
    fn indexed(&self, key: Option<impl FnOnce() -> Result<String, Problem>>, offset: i64) -> Result<DocMeta, Problem> {
        let id = match (self.ids, key) {
            (Ids::None, _) => return Ok(DocMeta::default()),
            (Ids::Key | Ids::KeyOrPosition, Some(key)) => key()?,
            (Ids::Key, None) => return missing("the record has no key, and ids are keys; use positions as ids"),
            (Ids::KeyOrPosition | Ids::Position, _) => format!("{}{offset}", self.position),
        };
        Ok(DocMeta::default().with_id(id))
    }

    /// What is known of a record that becomes no document, so that it has its id when it is
    /// corrected and loaded again.
    fn known(
        &self,
        (kind, _): &Problem,
        key: Option<impl FnOnce() -> Result<String, Problem>>,
        offset: i64,
    ) -> DocMeta {
        match kind {
            // It is about a document that it does not name.
            Code::MissingId => DocMeta::default(),
            _ => self.indexed(key, offset).unwrap_or_default(),
        }
    }

    /// Adds the id to what a value says of its document. An id of the value takes precedence.
    fn identified(
        &self,
        meta: DocMeta,
        key: Option<impl FnOnce() -> Result<String, Problem>>,
        offset: i64,
    ) -> Result<DocMeta, Problem> {
        let exists = matches!(meta.action, Some(Action::Update | Action::Delete));
        match (&meta.id, self.ids, &key) {
            (Some(_), _, _) => Ok(meta),
            (None, Ids::Key | Ids::KeyOrPosition | Ids::Position, None) if exists => {
                missing("the action line has no `_id`, and the record has no key that names the document")
            }
            (None, _, _) => Ok(meta.with_id(self.indexed(key, offset)?.id)),
        }
    }

    /// Adds the version to what is known of a document, where documents have one.
    fn versioned(
        &self,
        meta: Result<Option<DocMeta>, Problem>,
        offset: i64,
        timestamp: Option<&i64>,
    ) -> Result<Option<DocMeta>, Problem> {
        match (meta, &self.versions) {
            (Ok(Some(meta)), Some(versions)) if meta.version.is_none() => {
                versions.add(meta, offset, timestamp.copied().unwrap_or(NO_TIME)).map(Some)
            }
            (meta, _) => meta,
        }
    }

    /// Adds the version to what is known of a record that becomes no document, so that it replaces
    /// no newer document when it is corrected and loaded again.
    fn known_version(&self, meta: DocMeta, offset: i64, timestamp: Option<&i64>) -> DocMeta {
        // Without an id there is no version. Where ids are fields, the document has it.
        match meta.id.is_some() || self.ids == Ids::None {
            true => self.versioned(Ok(Some(meta.clone())), offset, timestamp).ok().flatten().unwrap_or(meta),
            false => meta,
        }
    }

    /// What an event of a deletion does. Without ids of keys the id is a field of the document that
    /// was deleted.
    fn deleted(&self, key: Option<impl FnOnce() -> Result<String, Problem>>) -> Result<DocMeta, Problem> {
        let deletes = DocMeta::default().with_action(Action::Delete);
        match (self.ids, key) {
            (Ids::None, _) => Ok(deletes),
            (_, Some(key)) => Ok(deletes.with_id(key()?)),
            (_, None) => missing("the event deletes a document, and the record has no key that names it"),
        }
    }
}

fn missing<T>(why: &str) -> Result<T, Problem> {
    Err((Code::MissingId, why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maker(ids: Ids, on_null: OnNull) -> Arc<Maker> {
        let at = TopicPartition::new("orders", 3);
        Arc::new(Maker {
            at,
            position: "orders-3-".into(),
            shape: None,
            hints: Arc::default(),
            ids,
            versions: None,
            on_null,
            document_bytes_max: 20,
        })
    }

    fn block(ids: Ids, on_null: OnNull) -> DocBlock {
        let mut gathered = Gathered::new(100);
        gathered.push(102, Some(b"a"), Some(b"{\"n\":1}"), 20);
        gathered.push(103, None, Some(b"{\"n\":\n2}"), 20);
        gathered.push(110, Some(b"a"), None, 20);
        gathered.push(111, None, None, 20);
        gathered.push(112, Some(b"\xFF"), Some(b"{}"), 20);
        gathered.push(113, Some(b"b"), Some(b"{\"text\":\"too large for it\"}"), 20);
        assert_eq!((gathered.end(), gathered.has_room(100 + i64::from(u32::MAX))), (114, false));
        gathered.chunk(7, maker(ids, on_null)).into_block()
    }

    fn ids(block: &DocBlock) -> Vec<Option<&str>> {
        block.meta.iter().map(|meta| meta.id.as_deref()).collect()
    }

    fn kinds(block: &DocBlock) -> Vec<(u32, Code)> {
        block.rejects.iter().map(|reject| (reject.record, reject.kind)).collect()
    }

    #[test]
    fn keys_are_ids_and_records_without_value_delete() {
        let block = block(Ids::KeyOrPosition, OnNull::Delete);
        assert_eq!((block.origin.partition, block.origin.first_doc, block.lines), (7, 100, 14));
        let numbers: Vec<u32> = block.records.iter().map(|record| record.line).collect();
        assert_eq!(numbers, [2, 3, 10, 11, 12, 13]);
        assert_eq!(block.record(1), b"{\"n\": 2}");
        assert_eq!(ids(&block), [Some("a"), Some("orders-3-103"), Some("a"), None, None, Some("b")]);
        assert_eq!(block.meta[2].action, Some(Action::Delete));
        assert_eq!(kinds(&block), [(3, Code::MissingId), (4, Code::BadId), (5, Code::TooLarge)]);
    }

    #[test]
    fn a_record_that_becomes_no_document_has_its_version() {
        let of = |ids, on_null| {
            let mut gathered = Gathered::new(100);
            gathered.push(102, Some(b"a"), None, 20);
            gathered.push(103, Some(b"\xFF"), Some(b"{}"), 20);
            let Ok(maker) = Arc::try_unwrap(maker(ids, on_null)) else { unreachable!("it is not shared") };
            let maker = Arc::new(Maker { versions: Some(Versions::Offset), ..maker });
            gathered.chunk(7, maker).into_block()
        };
        let keys = of(Ids::KeyOrPosition, OnNull::DeadLetter);
        let found: Vec<_> = keys.meta.iter().map(|meta| (meta.id.as_deref(), meta.version)).collect();
        assert_eq!(
            (kinds(&keys), found),
            (vec![(0, Code::NullValue), (1, Code::BadId)], vec![(Some("a"), Some(102)), (None, None)])
        );
        let fields = of(Ids::None, OnNull::DeadLetter);
        assert_eq!(kinds(&fields), [(0, Code::NullValue)]);
        assert!(fields.meta.iter().map(|meta| meta.version).eq([Some(102), Some(103)]), "the document has the id");
    }

    #[test]
    fn positions_are_ids_and_records_without_value_are_left_out() {
        let block = block(Ids::Position, OnNull::Skip);
        assert_eq!(block.records.len(), 4);
        assert_eq!(ids(&block)[0], Some("orders-3-102"));
        assert_eq!((block.lines, kinds(&block)), (14, vec![(3, Code::TooLarge)]));
    }

    #[test]
    fn records_without_key_or_value_are_rejects_where_that_is_wanted() {
        assert_eq!(kinds(&block(Ids::Key, OnNull::DeadLetter))[..2], [(1, Code::MissingId), (2, Code::NullValue)]);
        let block = block(Ids::None, OnNull::Skip);
        assert!(block.meta.is_empty() && block.records.len() == 4);
    }

    #[test]
    fn values_of_a_registry_are_rejects_and_hints_are_said_once() {
        let Ok(maker) = Arc::try_unwrap(maker(Ids::KeyOrPosition, OnNull::Delete)) else { unreachable!("not shared") };
        let maker = Arc::new(Maker { document_bytes_max: 1000, ..maker });
        for _ in 0..2 {
            let mut gathered = Gathered::new(0);
            gathered.push(0, Some(b"\0\0\0\0\x01\x02a"), None, 1000);
            gathered.push(1, Some(b"k"), Some(b"{\"id\":1,\"__deleted\":\"false\"}"), 1000);
            gathered.push(2, Some(b"k"), Some(b"\0\0\0\0\x07\x02a"), 1000);
            gathered.push(3, Some(b"k"), Some(b"{\"a\":\"__debezium_unavailable_value\"}"), 1000);
            let block = gathered.chunk(7, Arc::clone(&maker)).into_block();
            assert_eq!(kinds(&block), [(2, Code::NoSchema)]);
            assert!(block.rejects[0].reason.contains("`schema_registry`"), "{}", block.rejects[0].reason);
        }
        let said = maker.hints.warnings().list();
        let said: Vec<_> = said.iter().map(|warning| (&warning.source[..], warning.kind, warning.count)).collect();
        let expected = ["deleted_rows", "schema_ids", "unavailable_values"].map(|kind| ("orders", kind, 1));
        assert_eq!(said, expected);
    }
}
