//! The vectors of terms, out of columns of texts.

use std::io;

use super::terms::Cursor;
use crate::build::column::Texts;
use crate::build::content::Column;
use crate::build::segment::Place;
use crate::fields::field::{Field, Kind, TextOptions};
use crate::formats::term_vectors::{Occurrence, TermVectorsWriter, VectorOptions};

use super::FIRST;

/// A field with vectors.
struct VectorColumn<'a> {
    number: u32,
    options: VectorOptions,
    texts: &'a Texts,
    /// The documents of the texts, if not each has one.
    docs: Option<Vec<u32>>,
    /// The place of each term among all of the field.
    ranks: Vec<u32>,
    /// The next text.
    text: usize,
    cursor: Cursor,
}

fn options(field: &Field) -> Option<TextOptions> {
    match field.kind {
        Kind::Text { options, .. } if options.vectors.is_some() => Some(options),
        _ => None,
    }
}

/// Whether a field is marked as one with vectors: by any text, also one without terms.
pub(super) fn has_some(field: &Field, column: &Column) -> bool {
    options(field).is_some() && matches!(column, Column::Texts(_, texts) if !texts.ends.is_empty())
}

/// Writes the vectors of all documents; returns the names of the files, which are none if there are
/// no vectors.
pub(super) fn write(place: &Place, fields: &[Field], columns: &mut [Column]) -> io::Result<Vec<String>> {
    let mut found: Vec<(&str, VectorColumn)> = Vec::new();
    for ((number, field), column) in (FIRST..).zip(fields).zip(columns) {
        if !has_some(field, column) {
            continue;
        }
        if let (Some(of), Column::Texts(_, texts)) = (options(field), column) {
            let docs = texts.docs.finish(place.docs).map(<[u32]>::to_vec);
            let mut ranks = vec![0; texts.terms.len()];
            for (rank, term) in (0..).zip(texts.terms.sorted()) {
                ranks[term as usize] = rank;
            }
            let Some(options) = of.vectors else { continue };
            let cursor = Cursor::new(of.gap);
            found.push((&field.name, VectorColumn { number, options, texts, docs, ranks, text: 0, cursor }));
        }
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    found.sort_by_key(|(name, _)| *name);
    let mut writer = TermVectorsWriter::create(place.folder, place.segment, place.id)?;
    for doc in 0..place.docs {
        let with_terms = found.iter_mut().map(|(_, column)| usize::from(column.put(doc, &mut writer))).sum();
        writer.end_doc(with_terms);
    }
    writer.finish()
}

impl VectorColumn<'_> {
    /// Writes the terms of a document, which is behind those before; returns whether it has some.
    fn put(&mut self, doc: u32, writer: &mut TermVectorsWriter) -> bool {
        let texts = self.texts;
        let is_there =
            self.text < texts.ends.len() && self.docs.as_ref().map_or(self.text as u32, |docs| docs[self.text]) == doc;
        if !is_there {
            return false;
        }
        let start = self.text.checked_sub(1).map_or(0, |before| texts.ends[before] as usize);
        let own = start..texts.ends[self.text] as usize;
        self.text += 1;
        if own.is_empty() {
            return false;
        }
        let offsets = texts.offsets();
        let of_texts = (texts.ends.as_slice(), texts.jumps.as_slice(), texts.positions.as_deref());
        let mut all: Vec<(u32, Occurrence)> = Vec::with_capacity(own.len());
        for i in own {
            let (_, position) = self.cursor.next(i, of_texts);
            let place = offsets.map_or((0, 0), |offsets| offsets[i]);
            all.push((texts.occurrences[i], Occurrence { position, place }));
        }
        all.sort_by_key(|(term, _)| self.ranks[*term as usize]);
        writer.start_field(self.number, self.options);
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            let occurrences = same.iter().map(|(_, occurrence)| *occurrence).collect();
            writer.add(texts.terms.term(same[0].0), occurrences);
        }
        true
    }
}
