//! Writes the columns of a segment, one after the other, in the formats of the codec.

mod points;
mod terms;

use std::io;

use self::points::{add_address_set, add_number_points};
use self::terms::{Lengths, add_keyword_set, add_keyword_terms, add_text};
use crate::build::column::{Addresses, Keywords, Numbers, Texts};
use crate::build::segment::{Column, Place};
use crate::fields::ids::{IdTerms, Ids};
use crate::fields::mapping::{Field, Kind};
use crate::formats::doc_values::{DocValuesWriter, Values};
use crate::formats::field_infos::{DocValuesKind, FieldInfo, Indexed};
use crate::formats::norms::NormsWriter;
use crate::formats::points::PointsWriter;
use crate::formats::postings::PostingsWriter;
use crate::formats::terms::{FieldTerms, TermsWriter};
use crate::radix::Sorted;

/// What the servers add to the fields of the mapping.
pub(crate) struct Meta<'a> {
    pub(crate) first_seq_no: u64,
    pub(crate) primary_term: u64,
    pub(crate) ids: &'a Ids,
    pub(crate) field_names: &'a mut Keywords,
    pub(crate) ignored: &'a mut Keywords,
}

/// The numbers of the fields that the servers add.
pub(crate) const ID: u32 = 0;
pub(crate) const SOURCE: u32 = 1;
const SEQ_NO: u32 = 2;
const PRIMARY_TERM: u32 = 3;
const VERSION: u32 = 4;
const FIELD_NAMES: u32 = 5;
pub(crate) const IGNORED: u32 = 6;
/// The number of the first field of the mapping.
const FIRST: u32 = 7;

/// The fields of a segment: those that the servers add, then those of the mapping that have values.
pub(crate) fn field_infos(fields: &[Field], columns: &[Column], meta: &Meta) -> Vec<FieldInfo> {
    let plain = |number, name: &str| FieldInfo {
        number,
        name: name.to_owned(),
        indexed: Indexed::No,
        norms: false,
        doc_values: DocValuesKind::None,
        ranges: false,
        point_bytes: 0,
    };
    let terms = |number, name| FieldInfo { indexed: Indexed::Docs, ..plain(number, name) };
    let numeric = |number, name| FieldInfo { doc_values: DocValuesKind::Numeric, ..plain(number, name) };
    let mut infos = vec![
        terms(ID, "_id"),
        plain(SOURCE, "_source"),
        FieldInfo { point_bytes: 8, ..numeric(SEQ_NO, "_seq_no") },
        numeric(PRIMARY_TERM, "_primary_term"),
        numeric(VERSION, "_version"),
    ];
    if !meta.field_names.values.is_empty() {
        infos.push(terms(FIELD_NAMES, "_field_names"));
    }
    if !meta.ignored.values.is_empty() {
        infos.push(terms(IGNORED, "_ignored"));
    }
    for ((number, field), column) in (FIRST..).zip(fields).zip(columns) {
        if column.is_empty() {
            continue;
        }
        let point_bytes = field.kind.point_bytes();
        infos.push(FieldInfo {
            indexed: match field.kind {
                _ if !field.indexed || point_bytes > 0 => Indexed::No,
                Kind::Text => Indexed::Positions,
                _ => Indexed::Docs,
            },
            norms: field.norms && field.indexed,
            doc_values: match column {
                _ if !field.doc_values => DocValuesKind::None,
                Column::Numbers(_) => DocValuesKind::SortedNumeric,
                Column::Addresses(_) | Column::Keywords(_) | Column::Texts(_) => DocValuesKind::SortedSet,
            },
            ranges: field.ranges,
            point_bytes: if field.indexed { point_bytes } else { 0 },
            ..plain(number, &field.name)
        });
    }
    infos
}

/// Writes everything but the stored fields; returns the names of the files.
pub(crate) fn columns(place: &Place, fields: &[Field], columns: &mut [Column], meta: Meta) -> io::Result<Vec<String>> {
    let (base, suffix) = place.doc_values_base();
    let mut doc_values = DocValuesWriter::create(place.folder, &base, place.id, &suffix, place.docs)?;
    let mut points = PointsWriter::create(place.folder, place.segment, place.id)?;
    write_meta(&mut doc_values, &mut points, place.docs, &meta);
    let mut indexed: Vec<(&str, u32, IndexedColumn)> = vec![("_id", ID, IndexedColumn::Ids(meta.ids))];
    for (name, number, keywords) in
        [("_field_names", FIELD_NAMES, meta.field_names), ("_ignored", IGNORED, meta.ignored)]
    {
        if !keywords.values.is_empty() {
            indexed.push((name, number, IndexedColumn::Keywords(keywords, Use { terms: true, doc_values: false })));
        }
    }
    for ((number, field), column) in (FIRST..).zip(fields).zip(columns) {
        if column.is_empty() {
            continue;
        }
        match column {
            Column::Numbers(numbers) => {
                if let Some(booleans) = write_numbers(number, field, numbers, place.docs, &mut doc_values, &mut points)
                {
                    indexed.push((&field.name, number, IndexedColumn::Booleans(booleans)));
                }
            }
            Column::Addresses(addresses) => {
                write_addresses(number, field, addresses, place.docs, &mut doc_values, &mut points)
            }
            Column::Keywords(keywords) => indexed.push((
                &field.name,
                number,
                IndexedColumn::Keywords(keywords, Use { terms: field.indexed, doc_values: field.doc_values }),
            )),
            Column::Texts(texts) => indexed.push((&field.name, number, IndexedColumn::Texts(texts, field.norms))),
        }
    }
    // The dictionary has the fields in the order of their names.
    indexed.sort_by_key(|(name, ..)| *name);
    let mut files = write_indexed(place, indexed, &mut doc_values)?;
    files.extend(doc_values.finish()?);
    files.extend(points.finish()?);
    Ok(files)
}

/// What is written of a field.
#[derive(Clone, Copy)]
struct Use {
    terms: bool,
    doc_values: bool,
}

/// A column of which there are terms.
enum IndexedColumn<'a> {
    Ids(&'a Ids),
    Keywords(&'a mut Keywords, Use),
    /// Whether with norms.
    Texts(&'a mut Texts, bool),
    Booleans(Keywords),
}

/// Writes the doc values and points of numbers. Booleans have terms instead of points, which are
/// returned.
fn write_numbers(
    number: u32,
    field: &Field,
    numbers: &mut Numbers,
    max_doc: u32,
    doc_values: &mut DocValuesWriter,
    points: &mut PointsWriter,
) -> Option<Keywords> {
    let values = numbers.ascending(max_doc);
    if field.doc_values {
        doc_values.add_sorted_numeric(number, values, field.ranges);
    }
    if !field.indexed {
        return None;
    }
    let width = field.kind.point_bytes() as usize;
    if width > 0 {
        add_number_points(points, number, width, values, max_doc);
        return None;
    }
    let mut keywords = Keywords::new();
    for (i, &value) in values.values.iter().enumerate() {
        keywords.push(values.docs.map_or(i as u32, |docs| docs[i]), if value == 1 { b"T" } else { b"F" });
    }
    Some(keywords)
}

fn write_addresses(
    number: u32,
    field: &Field,
    addresses: &mut Addresses,
    max_doc: u32,
    doc_values: &mut DocValuesWriter,
    points: &mut PointsWriter,
) {
    let docs = addresses.docs.finish(max_doc);
    let doc = |i: usize| docs.map_or(i as u32, |docs| docs[i]);
    let sorted = Sorted::new(addresses.values.iter().enumerate().map(|(i, &value)| (value, doc(i))), max_doc);
    if field.doc_values {
        add_address_set(doc_values, number, &sorted, docs.is_none());
    }
    if field.indexed {
        points.add(number, 16, &sorted, addresses.docs.distinct());
    }
}

fn write_indexed(
    place: &Place,
    columns: Vec<(&str, u32, IndexedColumn)>,
    doc_values: &mut DocValuesWriter,
) -> io::Result<Vec<String>> {
    let (base, suffix) = place.postings_base();
    let texts = |norms_only: bool| {
        columns.iter().any(|(.., column)| matches!(column, IndexedColumn::Texts(_, norms) if *norms || !norms_only))
    };
    let mut postings = PostingsWriter::create(place.folder, &base, place.id, &suffix, texts(false))?;
    let mut terms = TermsWriter::create(place.folder, &base, place.id, &suffix)?;
    let mut norms =
        if texts(true) { Some(NormsWriter::create(place.folder, place.segment, place.id, place.docs)?) } else { None };
    for (_, number, column) in columns {
        match column {
            IndexedColumn::Ids(ids) => {
                let field = FieldTerms { number, freqs: false, positions: false, docs: place.docs };
                terms.add(&field, &IdTerms { ids, docs_at: postings.position() });
            }
            IndexedColumn::Keywords(keywords, what) => {
                let order = keywords.terms.sorted();
                if what.doc_values {
                    add_keyword_set(number, keywords, &order, place.docs, doc_values);
                }
                if what.terms {
                    add_keyword_terms(number, keywords, &order, place.docs, &mut postings, &mut terms);
                }
            }
            IndexedColumn::Booleans(mut keywords) => {
                let order = keywords.terms.sorted();
                add_keyword_terms(number, &mut keywords, &order, place.docs, &mut postings, &mut terms);
            }
            IndexedColumn::Texts(texts, with_norms) => {
                let lens = Lengths::new(texts, place.docs);
                if let Some(norms) = norms.as_mut().filter(|_| with_norms) {
                    norms.add(number, texts.docs.finish(place.docs), &lens.norms);
                }
                add_text(number, texts, &lens, with_norms, &mut postings, &mut terms);
            }
        }
    }
    let mut files = postings.finish()?;
    files.extend(terms.finish()?);
    if let Some(norms) = norms {
        files.extend(norms.finish()?);
    }
    Ok(files)
}

fn write_meta(doc_values: &mut DocValuesWriter, points: &mut PointsWriter, docs: u32, meta: &Meta) {
    let all = |values: &[i64], number, doc_values: &mut DocValuesWriter| {
        doc_values.add_numeric(number, Values { values, docs: None })
    };
    let first = meta.first_seq_no as i64;
    let mut values: Vec<i64> = (first..first + i64::from(docs)).collect();
    all(&values, SEQ_NO, doc_values);
    add_number_points(points, SEQ_NO, 8, Values { values: &values, docs: None }, docs);
    for (number, value) in [(PRIMARY_TERM, meta.primary_term as i64), (VERSION, 1)] {
        values.fill(value);
        all(&values, number, doc_values);
    }
}
