//! Documents become rows of a table.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_json::ReaderBuilder;
use arrow_schema::SchemaRef;
use inrush_core::Code;
use inrush_core::{DocBlock, Reject};
use inrush_formats::columns::json;
use inrush_formats::numbers::plain;
use serde_json::value::RawValue;

use super::shape::{Object, Shape};

/// Makes rows with some of a table's columns.
#[derive(Debug)]
pub(super) struct Decoder {
    schema: SchemaRef,
    /// The shapes of the documents, if some of their values have to be marked as JSON or written
    /// out first.
    marked: Option<Object>,
}

impl Decoder {
    /// A decoder for the columns of `schema` from documents of the given shape.
    pub(super) fn new(schema: SchemaRef, shape: &Object) -> Self {
        let names: HashSet<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let wanted = |name: &str| names.contains(name);
        let marked =
            shape.fields().iter().any(|(name, shape)| wanted(name) && is_rewritten(shape)).then(|| shape.clone());
        Decoder { schema, marked }
    }

    /// The documents of `block` as rows, and the rejects: those of the block, and documents that do
    /// not match the columns.
    pub(super) fn rows(&self, block: &DocBlock) -> Result<(RecordBatch, Vec<Reject>), String> {
        let mut rejects = block.rejects.clone();
        let mut documents: Vec<(u32, Document<'_>)> = Vec::with_capacity(block.records.len());
        for record in block.accepted() {
            match self.document(block.record(record as usize)) {
                Ok(document) => documents.push((record, document)),
                Err(reason) => rejects.push(reject(record, reason)),
            }
        }
        let batch = match self.batch(&documents) {
            Ok(batch) => batch,
            // Decodes one by one, to find the documents that cause the error.
            Err(_) => {
                documents.retain(|document| match self.batch(std::slice::from_ref(document)) {
                    Ok(_) => true,
                    Err(reason) => {
                        rejects.push(reject(document.0, reason));
                        false
                    }
                });
                self.batch(&documents)?
            }
        };
        rejects.sort_by_key(|reject| reject.record);
        Ok((batch, rejects))
    }

    fn document<'a>(&self, document: &'a [u8]) -> Result<Document<'a>, String> {
        let Some(shape) = &self.marked else { return Ok(Document::AsItIs(document)) };
        let raw: &RawValue = serde_json::from_slice(document).map_err(|error| error.to_string())?;
        let mut out = Vec::with_capacity(document.len() + 64);
        mark_object(raw, shape, &mut out)?;
        Ok(Document::Marked(out))
    }

    fn batch(&self, documents: &[(u32, Document<'_>)]) -> Result<RecordBatch, String> {
        let text = |error: arrow_schema::ArrowError| error.to_string();
        let mut decoder = ReaderBuilder::new(Arc::clone(&self.schema))
            .with_coerce_primitive(true)
            .with_batch_size(documents.len() + 1)
            .build_decoder()
            .map_err(text)?;
        for (at, (_, document)) in documents.iter().enumerate() {
            let bytes = document.bytes();
            if bytes.trim_ascii_start().first() != Some(&b'{') {
                return Err("a row must be a JSON object".to_owned());
            }
            decoder.decode(bytes).map_err(text)?;
            if decoder.has_partial_record() || decoder.len() != at + 1 {
                return Err("it is not one complete JSON object".to_owned());
            }
        }
        if self.schema.fields().is_empty() {
            // Only the number of rows is wanted.
            let count = RecordBatchOptions::new().with_row_count(Some(documents.len()));
            return RecordBatch::try_new_with_options(Arc::clone(&self.schema), Vec::new(), &count).map_err(text);
        }
        Ok(decoder.flush().map_err(text)?.unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(&self.schema))))
    }
}

fn reject(record: u32, reason: String) -> Reject {
    Reject { record, kind: Code::BadValue, reason: format!("this is not a row of the table: {reason}") }
}

/// A document in the form that arrow-json reads.
enum Document<'a> {
    AsItIs(&'a [u8]),
    Marked(Vec<u8>),
}

impl Document<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Document::AsItIs(bytes) => bytes,
            Document::Marked(bytes) => bytes,
        }
    }
}

/// Whether values of this shape contain values that are kept as JSON, or numbers that are written
/// out.
fn is_rewritten(shape: &Shape) -> bool {
    match shape {
        _ if shape.is_json() || shape.scale_of_powers().is_some() => true,
        Shape::List(item) => is_rewritten(item),
        Shape::Object(object) => object.fields().iter().any(|(_, shape)| is_rewritten(shape)),
        _ => false,
    }
}

/// Appends `raw`. A value of [`Shape::Json`] becomes text in a field of its own, which is the form
/// of its type ([`json`]).
fn mark(raw: &RawValue, shape: &Shape, out: &mut Vec<u8>) -> Result<(), String> {
    match shape {
        _ if !is_rewritten(shape) || raw.get() == "null" => out.extend_from_slice(raw.get().as_bytes()),
        Shape::Number(numbers) if !shape.is_json() => {
            let written = numbers.scale_of_powers().map(|scale| plain(raw.get(), scale));
            out.extend_from_slice(written.as_deref().unwrap_or(raw.get()).as_bytes());
        }
        Shape::Object(object) if !object.fields().is_empty() => mark_object(raw, object, out)?,
        Shape::List(item) => {
            let items: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
            out.push(b'[');
            for (at, raw) in items.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                mark(raw, item, out)?;
            }
            out.push(b']');
        }
        _ => {
            out.extend_from_slice(format!("{{\"{}\":", json::FIELD).as_bytes());
            serde_json::to_writer(&mut *out, raw.get()).map_err(|error| error.to_string())?;
            out.push(b'}');
        }
    }
    Ok(())
}

fn mark_object(raw: &RawValue, object: &Object, out: &mut Vec<u8>) -> Result<(), String> {
    let members: HashMap<String, &RawValue> = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    out.push(b'{');
    let mut first = true;
    for (name, shape) in object.fields() {
        let Some(raw) = members.get(name) else { continue };
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, name).map_err(|error| error.to_string())?;
        out.push(b':');
        mark(raw, shape, out)?;
    }
    out.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use inrush_core::block::{Origin, Record};
    use inrush_formats::buffer::BufferPool;
    use inrush_formats::columns::RowWriter;
    use inrush_sources::Warnings;

    use super::*;

    /// Converts documents to rows and back.
    fn check(documents: &[&str], expected: &[&str], refused: &[u32]) -> Vec<Reject> {
        let mut shape = Object::default();
        documents.iter().for_each(|document| shape.observe(document.as_bytes()));
        let schema = Arc::new(shape.schema());
        let rejects = RefCell::default();
        assert_eq!(rows(documents, &shape, schema, &rejects), expected);
        let rejects = rejects.into_inner();
        assert_eq!(rejects.iter().map(|reject: &Reject| reject.record).collect::<Vec<_>>(), refused);
        rejects
    }

    fn rows(documents: &[&str], shape: &Object, schema: SchemaRef, refused: &RefCell<Vec<Reject>>) -> Vec<String> {
        let mut data = Vec::new();
        let records = documents.iter().zip(0..).map(|(document, line)| {
            let start = data.len() as u32;
            data.extend_from_slice(document.as_bytes());
            Record { start, end: data.len() as u32, byte: start, line }
        });
        let block = DocBlock { records: records.collect(), data: data.into(), ..DocBlock::default() };
        let (batch, rejects) = Decoder::new(Arc::clone(&schema), shape).rows(&block).unwrap();
        refused.replace(rejects);
        let writer = RowWriter::new(&schema, &[], 1 << 20, "t", &Warnings::default(), BufferPool::new());
        let block = writer.block(&batch, Origin::default(), 0);
        (0..block.records.len()).map(|i| String::from_utf8(block.record(i).to_vec()).unwrap()).collect()
    }

    #[test]
    fn values_come_back_as_they_were() {
        let documents = [
            r#"{"a":1,"b":[{"c":"x"},{"c":null}],"d":{"e":true},"f":18446744073709551615}"#,
            r#"{"a":-2,"d":{"e":false},"f":7}"#,
            r#"{}"#,
        ];
        check(
            &documents,
            &[r#"{"a":1,"b":[{"c":"x"},{}],"d":{"e":true},"f":18446744073709551615}"#, documents[1], "{}"],
            &[],
        );
    }

    #[test]
    fn a_mixture_of_numbers_and_text_is_text() {
        check(
            &[r#"{"y":1922}"#, r#"{"y":"c.1922"}"#, r#"{"y":1.50}"#],
            &[r#"{"y":"1922"}"#, r#"{"y":"c.1922"}"#, r#"{"y":"1.50"}"#],
            &[],
        );
    }

    #[test]
    fn what_has_nothing_in_common_is_passed_on() {
        let documents = [
            r#"{"k":1,"v":{"a":1.50,"b":"\u00e9\n"}}"#,
            r#"{"v":[1,{"x":"\"y\""}],"n":[{"z":1},{"z":[2]}]}"#,
            r#"{"v":12345678901234567890123}"#,
        ];
        check(&documents, &documents, &[]);
    }

    #[test]
    fn what_is_no_row_is_refused_and_the_others_are_there() {
        let rejects = check(
            &[r#"{"a":1}"#, "{\"a\":2", "7", r#"{"a":3}{"a":4}"#, r#"{"a":5}"#],
            &[r#"{"a":1}"#, r#"{"a":5}"#],
            &[1, 2, 3],
        );
        assert!(rejects[1].reason.contains("JSON object"), "{rejects:?}");
    }

    #[test]
    fn only_the_columns_that_are_wanted_are_read() {
        let documents = [r#"{"a":1,"b":{"x":1}}"#, r#"{"a":2,"b":3}"#];
        let mut shape = Object::default();
        documents.iter().for_each(|document| shape.observe(document.as_bytes()));
        let wanted = Arc::new(shape.schema().project(&[0]).unwrap());
        let refused = RefCell::default();
        assert_eq!(rows(&documents, &shape, wanted, &refused), [r#"{"a":1}"#, r#"{"a":2}"#]);
        let none = Arc::new(shape.schema().project(&[]).unwrap());
        assert_eq!(rows(&documents, &shape, none, &refused), ["{}", "{}"]);
    }

    /// A number as its sign, its significant digits, and the power of ten of the last one.
    fn normal(text: &str) -> (bool, String, i64) {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{before}{behind}");
        let zeros = digits.len() - digits.trim_end_matches('0').len();
        let counting = digits.trim_start_matches('0').trim_end_matches('0');
        if counting.is_empty() {
            return (false, String::new(), 0);
        }
        let exponent = exponent.parse::<i64>().unwrap() - behind.len() as i64 + zeros as i64;
        (negative, counting.to_owned(), exponent)
    }

    proptest::proptest! {
        #[test]
        fn no_number_changes_in_a_row(
            numbers in proptest::collection::vec("-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,20})?(e-?[0-9]{1,2})?", 1..6),
            other in proptest::sample::select(&["", "\"x\"", "true", "[1]", "{\"b\":0.5}"][..]),
        ) {
            let mut documents: Vec<String> = numbers.iter().map(|number| format!("{{\"a\":{number}}}")).collect();
            if !other.is_empty() {
                documents.push(format!("{{\"a\":{other}}}"));
            }
            let mut shape = Object::default();
            documents.iter().for_each(|document| shape.observe(document.as_bytes()));
            let rounds = shape.fields().iter().any(|(_, shape)| shape.rounds());
            let refused = RefCell::default();
            let texts: Vec<&str> = documents.iter().map(String::as_str).collect();
            let rows = rows(&texts, &shape, Arc::new(shape.schema()), &refused);
            proptest::prop_assert_eq!(refused.into_inner(), Vec::new());
            for (row, number) in rows.iter().zip(&numbers).filter(|_| !rounds) {
                let found = row[5..row.len() - 1].trim_matches('"');
                proptest::prop_assert_eq!(normal(found), normal(number), "{:?}", documents);
            }
        }
    }
}
