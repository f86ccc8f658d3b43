//! Rows of columns become documents of a segment.

use std::sync::Arc;

use inrush_core::Columns;

use super::content::Column;
use super::segment::SegmentBuilder;
use super::shard::NewDocument;
use crate::fields::columns::{self, Direct, RowValues, millis, nanos};
use crate::fields::values::sortable_double;

impl SegmentBuilder<'_> {
    /// Adds those documents of which `columns` say all that is indexed, each with its record there.
    /// Returns the others, by their places among the rows.
    pub(crate) fn add_rows(&mut self, columns: &Columns, rows: &[(u32, NewDocument)]) -> Vec<usize> {
        let records: Vec<u32> = rows.iter().map(|(record, _)| *record).collect();
        let mapping = Arc::clone(&self.mapping);
        let RowValues { mut text_only, direct, converted } =
            columns::read(columns, &records, &mapping, &mut self.habits);
        let is_full = self.docs as usize + rows.len() >= Self::DOCS_MAX as usize;
        let mut sources = Vec::with_capacity(rows.len());
        for (text_only, (_, document)) in text_only.iter_mut().zip(rows) {
            let source = mapping.source.of(document.source);
            *text_only |= is_full || self.refuses(document).is_some() || source.is_err();
            sources.push(source.unwrap_or_default());
        }
        let mut next = self.docs;
        let mut doc_of = |text_only: &bool| {
            next += u32::from(!text_only);
            (!text_only).then(|| next - 1)
        };
        // The document of each row, if it gets one here.
        let docs: Vec<Option<u32>> = text_only.iter().map(&mut doc_of).collect();
        for (column, number, values) in direct {
            let rows = docs.iter().zip(&records).filter_map(|(doc, record)| Some(((*doc)?, *record as usize)));
            push(&mut self.content.columns[number], values, rows.filter(|(_, record)| column.has(*record)));
        }
        for (row, number, value) in converted {
            if let Some(doc) = docs[row as usize] {
                self.content.columns[number].push(doc, &value);
            }
        }
        let mut left = Vec::new();
        for (at, (_, document)) in rows.iter().enumerate() {
            match docs[at] {
                Some(_) => {
                    self.begin_document(document, sources[at].as_deref());
                    self.end_document();
                }
                None => left.push(at),
            }
        }
        self.from_columns += (rows.len() - left.len()) as u32;
        left
    }
}

/// Adds the values of documents, each with its record in the column.
fn push(column: &mut Column, values: Direct, docs: impl Iterator<Item = (u32, usize)>) {
    match (column, values) {
        (Column::Numbers(numbers), Direct::Whole(values)) => {
            docs.for_each(|(doc, record)| numbers.push(doc, values[record]));
        }
        (Column::Numbers(numbers), Direct::Double(values)) => {
            docs.for_each(|(doc, record)| numbers.push(doc, sortable_double(values[record])));
        }
        (Column::Numbers(numbers), Direct::Bool(values)) => {
            docs.for_each(|(doc, record)| numbers.push(doc, i64::from(values[record])));
        }
        // The rows with other times are read from their text.
        (Column::Numbers(numbers), Direct::Millis(values, unit)) => {
            docs.for_each(|(doc, record)| numbers.push(doc, millis(values[record], unit).unwrap_or_default()));
        }
        (Column::Numbers(numbers), Direct::Nanos(values, unit)) => {
            docs.for_each(|(doc, record)| numbers.push(doc, nanos(values[record], unit).unwrap_or_default()));
        }
        (Column::Keywords(keywords), Direct::Term(texts)) => {
            docs.for_each(|(doc, record)| keywords.push(doc, texts.get(record).as_bytes()));
        }
        (Column::Texts(analyzer, column), Direct::Text(texts)) => {
            docs.for_each(|(doc, record)| column.add(doc, analyzer, texts.get(record)));
        }
        // A field has the column of its kind, for which `columns::read` chose the values.
        _ => {
            debug_assert!(false, "values of another kind than their field");
        }
    }
}
