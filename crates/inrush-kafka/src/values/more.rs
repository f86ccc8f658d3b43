//! What a shape needs of records besides their keys and values.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use super::{Kept, SchemaKey, Shape, headers};
use crate::client;

/// Timestamps and headers of the records of a block, and the schemas that they name.
#[derive(Default)]
pub(crate) struct More {
    records: Vec<Extra>,
    headers: Vec<u8>,
    schemas: HashSet<SchemaKey>,
    /// Those of the last record.
    last: [Option<SchemaKey>; 2],
}

#[derive(Clone, Copy)]
struct Extra {
    timestamp: Option<i64>,
    headers_end: u32,
}

impl More {
    /// Adds the next record.
    pub(crate) fn push(&mut self, record: &client::Record<'_>, shape: &Shape) {
        let start = self.headers.len();
        for (name, value) in record.headers {
            if shape.keeps(name) {
                headers::push(name, *value, &mut self.headers);
            }
        }
        self.records.push(Extra { timestamp: record.timestamp, headers_end: self.headers.len() as u32 });
        let kept = Kept {
            topic: record.topic,
            partition: record.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            key: record.key,
            value: record.value.unwrap_or_default(),
            headers: &self.headers[start..],
        };
        let named = shape.schemas_of(&kept);
        if named != self.last {
            self.schemas.extend(named.into_iter().flatten());
            self.last = named;
        }
    }

    /// The schemas that the records name, each once.
    pub(crate) fn schemas(&mut self) -> Vec<SchemaKey> {
        std::mem::take(&mut self.schemas).into_iter().collect()
    }

    /// The memory that it takes, bytes.
    pub(crate) fn cost(&self) -> usize {
        self.headers.len() + self.records.len() * size_of::<Extra>()
    }

    /// Timestamp and headers of each record.
    pub(crate) fn records(&self) -> impl Iterator<Item = (Option<i64>, &[u8])> {
        let mut start = 0;
        self.records.iter().map(move |extra| {
            let headers = &self.headers[start..extra.headers_end as usize];
            start = extra.headers_end as usize;
            (extra.timestamp, headers)
        })
    }
}

/// The schemas that a block waits for. Each is waited for once: an answer that it is missing may
/// expire before the last one comes.
#[derive(Default)]
pub(crate) struct Needs(Option<(Arc<Shape>, Cell<Vec<SchemaKey>>)>);

impl Needs {
    pub(crate) fn new(shape: Option<&Arc<Shape>>, schemas: Vec<SchemaKey>) -> Self {
        Needs(shape.filter(|_| !schemas.is_empty()).map(|shape| (Arc::clone(shape), Cell::new(schemas))))
    }

    /// Whether they are known. Those that are not are asked for.
    pub(crate) fn are_known(&self) -> bool {
        let Some((shape, schemas)) = &self.0 else { return true };
        let mut left = schemas.take();
        shape.ask(&mut left);
        let are_known = left.is_empty();
        schemas.set(left);
        are_known
    }
}
