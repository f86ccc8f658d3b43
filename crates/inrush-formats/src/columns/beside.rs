//! Vectors of a file that are put into documents of another one, row by row.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use bytes::Bytes;
use inrush_core::{Code, DocBlock, Reject};

use super::Rows;
use crate::with_fields::add_members;
use crate::{too_large, too_large_head};

impl Rows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the rows are vectors of a file: their only column has this name, and lists of
    /// numbers of one length, without nulls.
    pub fn are_vectors(&self, field: &str) -> bool {
        let [column] = self.batch.columns() else { return false };
        let DataType::FixedSizeList(item, _) = column.data_type() else { return false };
        let is_number = item.data_type().is_integer() || item.data_type().is_floating();
        let has_nulls = column.null_count() > 0 || column.as_fixed_size_list().values().null_count() > 0;
        is_number && !has_nulls && self.batch.schema_ref().field(0).name() == field
    }

    /// Takes the first rows out, at most as many as there are. The bytes that were read are theirs.
    pub fn take_first(&mut self, rows: usize) -> Rows {
        let rows = rows.min(self.len());
        let slice = |from: usize, len: usize| -> RecordBatch { self.batch.slice(from, len) };
        let (first, rest) = (slice(0, rows), slice(rows, self.len() - rows));
        self.batch = rest;
        let bytes_read = std::mem::take(&mut self.bytes_read);
        Rows { batch: first, writer: self.writer.clone(), origin: self.origin, bytes_read }
    }
}

/// Puts the vectors of each row into the document at its place. `vectors` have as many rows each as
/// the block has records. A document is at most `document_bytes_max` long with them.
pub fn put_beside(mut block: DocBlock, vectors: Vec<Rows>, document_bytes_max: usize) -> DocBlock {
    let fields: Vec<String> = vectors.iter().map(|rows| rows.batch.schema_ref().field(0).name().clone()).collect();
    let vectors: Vec<DocBlock> = vectors.into_iter().map(Rows::into_block).collect();
    let bytes: usize = vectors.iter().map(|vectors| vectors.data.len()).sum();
    // The block may be a piece of one whose data it has.
    let of_documents: usize = block.records.iter().map(|record| (record.end - record.start) as usize).sum();
    let mut out = Vec::with_capacity(of_documents + bytes);
    let mut rejects = std::mem::take(&mut block.rejects).into_iter().peekable();
    for (at, record) in block.records.iter_mut().enumerate() {
        let document = &block.data[record.start as usize..record.end as usize];
        let start = out.len();
        let rejected = rejects.next_if(|reject| reject.record as usize == at);
        let members = fields.iter().zip(&vectors).map(|(field, vectors)| (field, inner(vectors.record(at))));
        let members: Vec<(&String, &[u8])> = members.collect();
        let wrong = match &rejected {
            Some(_) => None,
            None => match add_members(document, &members, &mut out) {
                None => Some(no_object(document)),
                Some(added) if added < members.len() => {
                    out.truncate(start);
                    Some((Code::BadVector, has_it(&fields)))
                }
                Some(_) => vectors.iter().find_map(|vectors| bad(vectors, at)),
            },
        };
        if out.len() == start {
            out.extend_from_slice(document);
        }
        let record_at = at as u32;
        let mut reject = rejected.or(wrong.map(|(kind, reason)| Reject { record: record_at, kind, reason }));
        let len = out.len() - start;
        if reject.is_none() && len > document_bytes_max {
            reject = Some(too_large(record_at, len as u64, document_bytes_max));
            let kept = too_large_head(&out[start..]).len();
            out.truncate(start + kept);
        }
        block.rejects.extend(reject);
        (record.start, record.end) = (start as u32, out.len() as u32);
    }
    block.data = Bytes::from(out);
    block.bytes_read += vectors.iter().map(|vectors| vectors.bytes_read).sum::<u64>();
    block
}

/// The only member of an object.
fn inner(object: &[u8]) -> &[u8] {
    object.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}")).unwrap_or(object)
}

/// Why the vector of a row cannot be sent.
fn bad(vectors: &DocBlock, at: usize) -> Option<(Code, String)> {
    let found = vectors.rejects.binary_search_by_key(&at, |reject| reject.record as usize).ok()?;
    let reject = &vectors.rejects[found];
    Some((reject.kind, reject.reason.clone()))
}

fn no_object(document: &[u8]) -> (Code, String) {
    let (code, what) = match document.trim_ascii_start().first() {
        Some(b'{') => (Code::InvalidJson, "the record is no valid JSON"),
        _ => (Code::NotAnObject, "the record is no JSON object"),
    };
    (code, format!("{what}, so the vector of its row cannot be put into it; correct the record"))
}

fn has_it(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| format!("{field:?}")).collect();
    format!(
        "the document has a field that option `vectors` names, too ({}); name another field, or leave it out of the \
         document",
        fields.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{FixedSizeListBuilder, Float32Builder};
    use arrow_array::{ArrayRef, Float32Array, RecordBatch};
    use inrush_core::RowForm;
    use inrush_core::block::{Origin, Record};
    use serde_json::json;

    use super::super::RowWriter;
    use super::*;
    use crate::buffer::BufferPool;
    use crate::warnings::Warnings;

    fn rows(field: &str, values: &[[f32; 2]]) -> Rows {
        let mut list = FixedSizeListBuilder::new(Float32Builder::new(), 2);
        for row in values {
            list.values().append_slice(row);
            list.append(true);
        }
        let batch = RecordBatch::try_from_iter([(field, Arc::new(list.finish()) as ArrayRef)]).unwrap();
        let mapping = json!({"properties": {"v": {"type": "dense_vector", "dims": 2}}});
        let form = RowForm { fields: inrush_core::FieldTypes::of_mapping(&mapping), ..RowForm::default() };
        let schema = batch.schema();
        let writer = RowWriter::new(&schema, &[], 1 << 20, "a", &Warnings::default(), BufferPool::new());
        let writer = Arc::new(writer.with_fields(&form, &schema));
        Rows { batch, writer, origin: Origin::default(), bytes_read: 8 }
    }

    fn block(documents: &[&str]) -> DocBlock {
        let mut block = DocBlock { data: documents.concat().into(), bytes_read: 5, ..DocBlock::default() };
        let mut start = 0;
        for (line, document) in (0..).zip(documents) {
            let end = start + document.len() as u32;
            block.records.push(Record { start, end, byte: start, line });
            start = end;
        }
        block
    }

    fn texts(block: &DocBlock) -> Vec<String> {
        (0..block.records.len()).map(|at| String::from_utf8(block.record(at).to_vec()).unwrap()).collect()
    }

    #[test]
    fn each_document_gets_the_vectors_of_its_row() {
        let documents = block(&["{\"a\":1}", "{}", " {\"b\":{\"v\":1} } "]);
        let vectors = vec![rows("v", &[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), rows("w", &[[0.5, 0.0]; 3])];
        let joined = put_beside(documents, vectors, 1 << 20);
        let expected = [
            "{\"a\":1,\"v\":[1.0,2.0],\"w\":[0.5,0.0]}",
            "{\"v\":[3.0,4.0],\"w\":[0.5,0.0]}",
            " {\"b\":{\"v\":1} ,\"v\":[5.0,6.0],\"w\":[0.5,0.0]}",
        ];
        assert_eq!(texts(&joined), expected);
        assert!(joined.rejects.is_empty());
        assert_eq!((joined.bytes_read, joined.records[2].line), (5 + 16, 2));
    }

    #[test]
    fn what_cannot_take_its_vector_is_refused_with_its_row() {
        let mut documents =
            block(&["{\"a\":1}", "[1]", "{\"a\":", "{\"v\":null}", "no row", "{\"a\":2}", "{\"a\":\"long\"}"]);
        documents.rejects = vec![Reject { record: 4, kind: Code::RaggedRow, reason: "as it was".to_owned() }];
        let nan = [f32::NAN, 1.0];
        let mut values = [[1.0, 2.0]; 7];
        values[5] = nan;
        let joined = put_beside(documents, vec![rows("v", &values)], 22);
        let told: Vec<(u32, Code)> = joined.rejects.iter().map(|reject| (reject.record, reject.kind)).collect();
        let expected = [
            (1, Code::NotAnObject),
            (2, Code::InvalidJson),
            (3, Code::BadVector),
            (4, Code::RaggedRow),
            (5, Code::BadVector),
            (6, Code::TooLarge),
        ];
        assert_eq!(told, expected);
        assert_eq!(texts(&joined)[..5], ["{\"a\":1,\"v\":[1.0,2.0]}", "[1]", "{\"a\":", "{\"v\":null}", "no row"]);
        assert!(joined.rejects[2].reason.contains("option `vectors`"), "{:?}", joined.rejects[2]);
        assert!(joined.rejects[4].reason.contains("as element 0"), "{:?}", joined.rejects[4]);
    }

    #[test]
    fn rows_are_taken_from_the_front() {
        let mut all = rows("v", &[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        assert!(all.are_vectors("v") && !all.are_vectors("w"));
        let first = all.take_first(2);
        assert_eq!((first.len(), first.bytes_read, all.len(), all.bytes_read), (2, 8, 1, 0));
        assert_eq!(texts(&all.take_first(9).into_block()), ["{\"v\":[5.0,6.0]}"]);
        assert!(all.is_empty());
    }

    #[test]
    fn columns_of_other_values_are_no_vectors() {
        let of = |column: ArrayRef| Rows {
            batch: RecordBatch::try_from_iter([("v", column)]).unwrap(),
            ..rows("v", &[[1.0, 2.0]])
        };
        let list = |value: Option<f32>, is_there: bool| {
            let mut list = FixedSizeListBuilder::new(Float32Builder::new(), 2);
            list.values().append_slice(&[1.0, 2.0]);
            list.append(true);
            list.values().append_option(value);
            list.values().append_value(4.0);
            list.append(is_there);
            of(Arc::new(list.finish()))
        };
        assert!(list(Some(3.0), true).are_vectors("v"));
        assert!(!list(None, true).are_vectors("v"), "an element is null");
        assert!(!list(Some(3.0), false).are_vectors("v"), "a row is null");
        assert!(!of(Arc::new(Float32Array::from(vec![1.0]))).are_vectors("v"));
    }
}
