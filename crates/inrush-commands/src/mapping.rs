//! Infers a mapping from the documents of a source.

use std::collections::HashMap;

pub use inrush_core::KnownProduct;
use inrush_core::encode::Shape;
pub use inrush_core::mapping::{Advice, Mixed, Note, NoteKind};
use inrush_core::mapping::{RowPosition, Schema, map_unsigned};
use inrush_core::vectors::{VectorServer, upgrade};
use inrush_core::{DocBlock, SourceId};
use inrush_formats::OF_TABLES;
use inrush_sources::CHUNK_BYTES;
use inrush_sources::{Source, SourceError, Warning};

/// The result of an inference.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inference {
    /// The mapping, with notes about its fields.
    pub advice: Advice,
    /// The number of records that are not documents.
    pub docs_rejected: u64,
    /// The position of the first of them, and its problem.
    pub first_rejected: Option<String>,
    /// Whether the source was read to its end.
    pub complete: bool,
    /// Columns of numbers or dates with a few other cells among them, so that their fields are
    /// text, and titles that were taken for names.
    pub warnings: Vec<Warning>,
    /// Options that named a field which no document had, in sentences for the user.
    pub unmet: Vec<String>,
}

impl Inference {
    /// Gives the vectors of the mapping, and its numbers beyond a long, the type that the newest
    /// server of this product has for them, and notes each.
    #[must_use]
    #[doc(hidden)]
    pub fn of_product(mut self, product: KnownProduct) -> Self {
        let server = VectorServer { product, version: None };
        let advice = &mut self.advice;
        let kept = upgrade(&mut advice.mapping, &advice.vectors, server);
        let (kind, needs) = match product {
            KnownProduct::Elasticsearch => ("dense_vector", ""),
            KnownProduct::OpenSearch => ("knn_vector", ", which needs index.knn in the settings of the index"),
        };
        for vector in &advice.vectors {
            let path = vector.path();
            let mapped = match kept.iter().find(|(other, _)| *other == path) {
                Some((_, why)) => format!("as numbers, because {why}"),
                None => format!("as {kind} of {server}{needs}"),
            };
            let text = format!("is a vector of {} dimensions, {}: mapped {mapped}", vector.dims, vector.lengths());
            advice.notes.push(Note::choice(path, text));
        }
        map_unsigned(&mut advice.mapping, &advice.unsigned);
        for path in advice.unsigned.iter().map(|names| names.join(".")) {
            advice.notes.retain(|note| note.field != path);
            let since = match product {
                KnownProduct::Elasticsearch => "Elasticsearch 7.10",
                KnownProduct::OpenSearch => "OpenSearch 2.8",
            };
            let text = format!("exceeds a long: mapped as unsigned_long, which is there from {since} on");
            advice.notes.push(Note::choice(path, text));
        }
        self
    }
}

/// Reads `source` to its end, or up to `docs_max` records, in the calling thread.
///
/// # Errors
/// [`SourceError`] if the source cannot be read any further.
pub fn infer(source: &mut dyn Source, docs_max: Option<u64>, mixed: Mixed) -> Result<Inference, SourceError> {
    infer_shaped(source, docs_max, mixed, Shape::default())
}

/// As [`infer`], of documents as they are sent.
pub(crate) fn infer_shaped(
    source: &mut dyn Source,
    docs_max: Option<u64>,
    mixed: Mixed,
    shape: Shape,
) -> Result<Inference, SourceError> {
    let mut looking = Examiner { names: source.describe().names, shape, ..Examiner::default() };
    let mut left = docs_max.unwrap_or(u64::MAX);
    let mut complete = true;
    while let Some(chunk) = source.next_chunk(CHUNK_BYTES)? {
        let block = chunk.into_block();
        let records = block.records.len() as u64;
        looking.at(&block, left);
        if records > left {
            complete = false;
            break;
        }
        left -= records;
    }
    let Examiner { names, shape, schema, docs_rejected, first_rejected, .. } = looking;
    let unmet = shape.warnings();
    let mut warnings = source.describe().warnings.map(|warnings| warnings.list()).unwrap_or_default();
    warnings.retain(|warning| OF_TABLES.contains(&warning.kind));
    let advice = schema.advise_mixed(&names, mixed);
    Ok(Inference { advice, docs_rejected, first_rejected, complete, warnings, unmet })
}

#[derive(Default)]
struct Examiner {
    names: Vec<String>,
    shape: Shape,
    schema: Schema,
    docs_rejected: u64,
    first_rejected: Option<String>,
    /// Lines so far, by source and partition. A block knows only its own lines.
    lines: HashMap<(SourceId, u32), u64>,
}

impl Examiner {
    /// Examines the first `records_max` records of a block.
    fn at(&mut self, block: &DocBlock, records_max: u64) {
        let lines_before = self.lines.entry((block.origin.source, block.origin.partition)).or_default();
        let first_line = *lines_before + 1;
        *lines_before += block.lines;
        let SourceId(source) = block.origin.source;
        let mut known = block.rejects.iter().peekable();
        let records_max = usize::try_from(records_max).unwrap_or(usize::MAX);
        let mut buffer = Vec::new();
        for (at, record) in block.records.iter().enumerate().take(records_max) {
            let row = first_line + u64::from(record.line);
            let refused = match known.next_if(|reject| reject.record as usize == at) {
                Some(reject) => Some(reject.reason.clone()),
                None => match self.shape.of(block.record(at), &mut buffer) {
                    Ok(document) => self.schema.add(document, RowPosition { source, row }).err().map(|e| e.to_string()),
                    Err((_, reason)) => Some(reason),
                },
            };
            if let Some(why) = refused {
                self.docs_rejected += 1;
                let name = self.names.get(source as usize).map_or("-", String::as_str);
                self.first_rejected.get_or_insert_with(|| format!("{name} row {row}: {why}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use inrush_sources::{FormatOptions, SourceSpec, Warnings, open};
    use serde_json::json;

    use super::*;

    fn infer_files(files: &[(&str, &str)], docs_max: Option<u64>) -> Inference {
        let folder = tempfile::tempdir().unwrap();
        let specs: Vec<SourceSpec> = files
            .iter()
            .map(|(name, text)| {
                let path = folder.path().join(name);
                std::fs::write(&path, text).unwrap();
                SourceSpec::new(path)
            })
            .collect();
        let mut source = open(&specs, FormatOptions::default(), &Warnings::default()).unwrap();
        infer(&mut source, docs_max, Mixed::Widen).unwrap()
    }

    #[test]
    fn rows_are_those_of_the_file_and_bad_records_are_counted() {
        let found = infer_files(&[("a.ndjson", "{\"f\":1}\n\nwhat\n{\"f\":\"x\"}\n")], None);
        assert_eq!((found.advice.docs, found.docs_rejected, found.complete), (2, 1, true));
        assert!(found.first_rejected.unwrap().contains("a.ndjson row 3"));
        assert!(found.advice.notes[0].text.contains("row 1") && found.advice.notes[0].text.contains("row 4"));
    }

    #[test]
    fn columns_have_the_types_of_their_cells() {
        let csv = "when,town,price\n2024-01-31,Hendaye,1.5\n2024-02-01,Hendaye,2\n";
        let mapping = infer_files(&[("a.csv", csv)], None).advice.mapping;
        assert_eq!(mapping["properties"]["when"]["type"], "date");
        assert_eq!(mapping["properties"]["price"]["type"], "double");
    }

    #[test]
    fn texts_that_stand_for_no_value_are_told() {
        let found = infer_files(&[("a.csv", "delay,town\n5,Rye\nNA,NA\n7,Ely\n")], None);
        assert_eq!(found.advice.mapping["properties"]["delay"]["type"], "keyword");
        let [warning] = &found.warnings[..] else { panic!("{:?}", found.warnings) };
        assert_eq!(warning.column, "delay");
        assert!(warning.message.contains("\"NA\" in 1 of 3 rows (33.3 %)"), "{warning}");
    }

    #[test]
    fn numbers_beyond_a_long_are_unsigned_and_noted_once() {
        let found = infer_files(&[("a.csv", "u\n18446744073709551615\n7\n")], None);
        let advice = found.of_product(KnownProduct::OpenSearch).advice;
        assert_eq!(advice.mapping["properties"]["u"], json!({"type": "unsigned_long"}));
        let [note] = &advice.notes[..] else { panic!("{:?}", advice.notes) };
        assert!(note.field == "u" && note.text.contains("from OpenSearch 2.8 on"), "{note:?}");
    }

    #[test]
    fn vectors_get_the_type_of_the_product_and_a_note() {
        let row = format!("{{\"v\":{:?},\"n\":[1.5,2.5]}}\n", vec![0.125; 64]);
        let infer = || infer_files(&[("a.ndjson", &row)], None);
        let plain = infer().advice.mapping;
        assert_eq!(plain["properties"]["v"]["type"], "double");
        for (product, definition) in [
            (KnownProduct::Elasticsearch, json!({"type": "dense_vector", "dims": 64, "similarity": "dot_product"})),
            (
                KnownProduct::OpenSearch,
                json!({"type": "knn_vector", "dimension": 64,
                    "method": {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}}),
            ),
        ] {
            let advice = infer().of_product(product).advice;
            assert_eq!(advice.mapping["properties"]["v"], definition);
            assert_eq!(advice.mapping["properties"]["n"], plain["properties"]["n"]);
            let [note] = &advice.notes[..] else { panic!("{:?}", advice.notes) };
            assert!(note.field == "v" && note.text.contains("64 dimensions, all of length 1"), "{note:?}");
            assert_eq!(note.text.contains("index.knn"), product == KnownProduct::OpenSearch);
        }
    }

    #[test]
    fn it_stops_where_it_is_told_to() {
        let found = infer_files(&[("a.ndjson", "{\"f\":1}\n{\"f\":\"x\"}\n")], Some(1));
        assert_eq!((found.advice.docs, found.complete), (1, false));
        assert_eq!(infer_files(&[("a.ndjson", "{\"f\":1}\n")], Some(1)).advice.docs, 1);
    }
}
