//! What a shape needs of records besides their keys and values.

use std::sync::Arc;

use super::{Kept, SchemaKey, Shape, headers};
use crate::client;

/// Timestamps and headers of the records of a block, and the schemas that they name.
#[derive(Default)]
pub(crate) struct More {
    records: Vec<Extra>,
    headers: Vec<u8>,
    /// Each once.
    pub(crate) schemas: Vec<SchemaKey>,
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
        for schema in shape.schemas_of(&kept).into_iter().flatten() {
            if self.schemas.last() != Some(&schema) && !self.schemas.contains(&schema) {
                self.schemas.push(schema);
            }
        }
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

/// The schemas that a block needs.
#[derive(Default)]
pub(crate) struct Needs(Option<(Arc<Shape>, Vec<SchemaKey>)>);

impl Needs {
    pub(crate) fn new(shape: Option<&Arc<Shape>>, schemas: Vec<SchemaKey>) -> Self {
        Needs(shape.filter(|_| !schemas.is_empty()).map(|shape| (Arc::clone(shape), schemas)))
    }

    /// Whether they are known. Those that are not are asked for.
    pub(crate) fn are_known(&self) -> bool {
        self.0.as_ref().is_none_or(|(shape, schemas)| shape.is_ready(schemas))
    }
}
