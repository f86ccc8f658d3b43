//! Writes the columns of a segment, one after the other, in the formats of the codec.

mod bytes;
mod points;
mod ranges;
mod shapes;
mod suggestions;
mod terms;
mod vectors;

use std::io;

use self::bytes::add_bytes;
use self::points::{add_address_set, add_number_points, add_pairs};
use self::ranges::add_ranges;
use self::shapes::add_shapes;
use self::terms::{
    Lengths, TextTerms, add_features, add_gram_terms, add_keyword, add_keyword_set, add_keyword_terms, add_text,
    keyword_norms,
};
use crate::build::column::{Addresses, Keywords, Numbers, Texts};
use crate::build::content::Column;
use crate::build::segment::Place;
use crate::build::values::{Features, Suggestions};
use crate::fields::field::{Field, Kind};
use crate::fields::ids::{IdTerms, Ids};
use crate::formats::doc_values::{DocValuesWriter, Values};
use crate::formats::field_infos::{DocValuesKind, FieldInfo, Indexed, POSTINGS_FORMAT, SUGGEST_FORMAT};
use crate::formats::norms::NormsWriter;
use crate::formats::points::PointsWriter;
use crate::formats::postings::{Occurrences, Postings, PostingsWriter};
use crate::formats::terms::{FieldTerms, TermState, TermsWriter};
use crate::radix::{self, Sorted};

/// What the servers add to the fields of the mapping.
pub(crate) struct Meta<'a> {
    pub(crate) first_seq_no: u64,
    pub(crate) primary_term: u64,
    /// The number under which each document came, if it has another one in the segment.
    pub(crate) docs_came: Option<&'a [u32]>,
    /// A field that says which documents are no nested objects.
    pub(crate) parent_field: Option<&'static str>,
    /// Whether something is kept of the text of documents.
    pub(crate) has_source: bool,
    pub(crate) ids: &'a Ids,
    pub(crate) terms: [MetaTerms<'a>; 4],
}

/// A field with terms that the servers add to the documents that have something of it.
pub(crate) struct MetaTerms<'a> {
    name: &'static str,
    number: u32,
    keywords: &'a mut Keywords,
    doc_values: bool,
}

impl<'a> MetaTerms<'a> {
    pub(crate) fn new(name: &'static str, number: u32, keywords: &'a mut Keywords) -> Self {
        Self { name, number, keywords, doc_values: false }
    }

    pub(crate) fn with_doc_values(self, doc_values: bool) -> Self {
        Self { doc_values, ..self }
    }
}

/// The numbers of the fields that the servers add.
pub(crate) const ID: u32 = 0;
pub(crate) const SOURCE: u32 = 1;
const SEQ_NO: u32 = 2;
const PRIMARY_TERM: u32 = 3;
const VERSION: u32 = 4;
pub(crate) const FIELD_NAMES: u32 = 5;
pub(crate) const IGNORED: u32 = 6;
pub(crate) const NESTED_PATH: u32 = 7;
pub(crate) const ROUTING: u32 = 8;
const PARENT: u32 = 9;
/// The number of the first field of the mapping.
pub(crate) const FIRST: u32 = 10;

/// The fields of a segment: those that the servers add, then those of the mapping that have values.
pub(crate) fn field_infos(fields: &[Field], columns: &[Column], meta: &Meta) -> Vec<FieldInfo> {
    let plain = |number, name: &str| FieldInfo {
        number,
        name: name.to_owned(),
        indexed: Indexed::No,
        norms: false,
        postings: Some(POSTINGS_FORMAT),
        payloads: false,
        vectors: false,
        doc_values: DocValuesKind::None,
        ranges: false,
        is_parent: false,
        point: (0, 0, 0),
    };
    let terms = |number, name| FieldInfo { indexed: Indexed::Docs, ..plain(number, name) };
    let numeric = |number, name| FieldInfo { doc_values: DocValuesKind::Numeric, ..plain(number, name) };
    let mut infos = vec![
        terms(ID, "_id"),
        FieldInfo { point: (8, 1, 1), ..numeric(SEQ_NO, "_seq_no") },
        numeric(PRIMARY_TERM, "_primary_term"),
        numeric(VERSION, "_version"),
    ];
    if meta.has_source {
        infos.insert(SOURCE as usize, plain(SOURCE, "_source"));
    }
    for MetaTerms { name, number, keywords, doc_values } in &meta.terms {
        if !keywords.values.is_empty() {
            let doc_values = if *doc_values { DocValuesKind::SortedSet } else { DocValuesKind::None };
            infos.push(FieldInfo { doc_values, ..terms(*number, name) });
        }
    }
    if let Some(name) = meta.parent_field {
        infos.push(FieldInfo { is_parent: true, ..numeric(PARENT, name) });
    }
    let is_suggested = |column: &Column| matches!(column, Column::Suggestions(own) if !own.positions.is_empty());
    let suggest_format = columns.iter().any(is_suggested).then_some(SUGGEST_FORMAT);
    for ((number, field), column) in (FIRST..).zip(fields).zip(columns) {
        if column.is_empty() {
            continue;
        }
        let point = field.kind.point();
        infos.push(FieldInfo {
            indexed: match &field.kind {
                _ if !field.indexed || point.0 > 0 => Indexed::No,
                Kind::Text { options, .. } if options.offsets => Indexed::Offsets,
                Kind::Text { options, .. } if options.positions => Indexed::Positions,
                Kind::Text { options, .. } if options.freqs => Indexed::Freqs,
                Kind::Feature => Indexed::Freqs,
                Kind::Suggest(_) => Indexed::Positions,
                _ => Indexed::Docs,
            },
            norms: field.norms && field.indexed,
            postings: if matches!(column, Column::Suggestions(_)) { suggest_format } else { Some(POSTINGS_FORMAT) },
            payloads: is_suggested(column),
            vectors: vectors::has_some(field, column),
            doc_values: match column {
                _ if !field.doc_values => DocValuesKind::None,
                Column::Numbers(_) => DocValuesKind::SortedNumeric,
                Column::Blobs(_) | Column::Ranges(_) | Column::Shapes(_) => DocValuesKind::Binary,
                _ if field.single => DocValuesKind::Sorted,
                Column::Suggestions(_) | Column::Features(_) => DocValuesKind::None,
                Column::Addresses(_) | Column::Keywords(_) | Column::Texts(..) => DocValuesKind::SortedSet,
            },
            ranges: field.ranges,
            point: if field.indexed { point } else { (0, 0, 0) },
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
    let vector_files = vectors::write(place, fields, columns)?;
    let mut indexed: Vec<(&str, u32, IndexedColumn)> = vec![("_id", ID, IndexedColumn::Ids(meta.ids))];
    for MetaTerms { name, number, keywords, doc_values } in meta.terms {
        if !keywords.values.is_empty() {
            let what = Use { terms: true, norms: false, doc_values, single: false, grams: false, prefix: "" };
            indexed.push((name, number, IndexedColumn::Keywords(keywords, what)));
        }
    }
    let mut suggested: Vec<(&str, u32, &mut Suggestions)> = Vec::new();
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
            Column::Keywords(_) if !field.indexed && !field.doc_values => {}
            Column::Keywords(keywords) => {
                indexed.push((&field.name, number, IndexedColumn::Keywords(keywords, Use::of(field))))
            }
            Column::Blobs(blobs) => match field.kind {
                Kind::Bytes { repeats } if field.doc_values => {
                    add_bytes((&mut doc_values, number), blobs, repeats, place.docs);
                }
                _ => {}
            },
            Column::Ranges(ranges) => {
                if let Kind::Range(bound) = &field.kind {
                    add_ranges(number, (field, bound), ranges, place.docs, (&mut doc_values, &mut points));
                }
            }
            Column::Shapes(shapes) => add_shapes(number, field, shapes, place.docs, (&mut doc_values, &mut points)),
            Column::Suggestions(own) => suggested.push((&field.name, number, own)),
            Column::Features(features) => indexed.push((&field.name, number, IndexedColumn::Features(features))),
            Column::Texts(_, texts) => {
                if let Kind::Text { options, .. } = field.kind
                    && field.indexed
                {
                    let what = TextTerms { norms: field.norms, options };
                    indexed.push((&field.name, number, IndexedColumn::Texts(texts, what)));
                }
            }
        }
    }
    // What follows needs memory of its own.
    radix::forget();
    // The dictionary has the fields in the order of their names.
    indexed.sort_by_key(|(name, ..)| *name);
    suggested.sort_by_key(|(name, ..)| *name);
    let suggested = suggested.into_iter().map(|(_, number, own)| (number, own)).collect();
    let mut files = write_indexed(place, indexed, suggested, &mut doc_values)?;
    files.extend([vector_files, doc_values.finish()?, points.finish()?].concat());
    Ok(files)
}

/// What is written of a field.
#[derive(Clone, Copy)]
struct Use<'a> {
    terms: bool,
    norms: bool,
    doc_values: bool,
    /// Whether a document has one value at most.
    single: bool,
    /// Whether the terms are all parts of three characters.
    grams: bool,
    /// What the doc values have before each term.
    prefix: &'a str,
}

impl<'a> Use<'a> {
    fn of(field: &'a Field) -> Self {
        Self {
            terms: field.indexed,
            norms: field.norms && field.indexed,
            doc_values: field.doc_values,
            single: field.single,
            grams: field.grams,
            prefix: &field.prefix,
        }
    }
}

/// A column of which there are terms.
enum IndexedColumn<'a> {
    Ids(&'a Ids),
    Keywords(&'a mut Keywords, Use<'a>),
    Texts(&'a mut Texts, TextTerms),
    Booleans(Keywords),
    Features(&'a mut Features),
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
    match field.kind.point() {
        (0, ..) => {}
        (_, 2, _) => {
            add_pairs(points, number, values, max_doc);
            return None;
        }
        (width, ..) => {
            add_number_points(points, number, width as usize, values, max_doc);
            return None;
        }
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
    suggested: Vec<(u32, &mut Suggestions)>,
    doc_values: &mut DocValuesWriter,
) -> io::Result<Vec<String>> {
    let (base, suffix) = place.postings_base();
    let any = |has: fn(&TextTerms) -> bool| {
        columns.iter().any(|(.., column)| matches!(column, IndexedColumn::Texts(_, what) if has(what)))
    };
    // Lucene looks for the files that any field of the segment needs, also one of another format.
    let occurrences = Occurrences {
        positions: any(|what| what.options.positions) || !suggested.is_empty(),
        offsets: any(|what| what.options.offsets),
        payloads: suggested.iter().any(|(_, own)| !own.positions.is_empty()),
    };
    let mut postings = PostingsWriter::create(place.folder, &base, place.id, &suffix, occurrences)?;
    let mut terms = TermsWriter::create(place.folder, &base, place.id, &suffix)?;
    let of_keywords =
        columns.iter().any(|(.., column)| matches!(column, IndexedColumn::Keywords(_, Use { norms: true, .. })));
    let mut norms = if of_keywords || !suggested.is_empty() || any(|what| what.norms) {
        Some(NormsWriter::create(place.folder, place.segment, place.id, place.docs)?)
    } else {
        None
    };
    for (_, number, column) in columns {
        match column {
            IndexedColumn::Ids(ids) => {
                let field =
                    FieldTerms { number, freqs: false, occurrences: Occurrences::NONE, docs: ids.docs_with_id() };
                let docs_at = postings.position();
                terms.add(&field, &IdTerms { ids, docs_at, states: id_states(ids, &mut postings) });
            }
            IndexedColumn::Keywords(keywords, what) => {
                let files = (&mut *doc_values, norms.as_mut(), &mut postings, &mut terms);
                write_keywords(number, keywords, what, place.docs, files);
            }
            IndexedColumn::Booleans(mut keywords) => {
                let order = keywords.terms.sorted();
                add_keyword_terms(number, &mut keywords, (&order, None), place.docs, &mut postings, &mut terms);
            }
            IndexedColumn::Features(features) => {
                add_features(number, features, place.docs, &mut postings, &mut terms);
            }
            IndexedColumn::Texts(texts, what) => {
                let lens = Lengths::new(texts, place.docs, !what.options.freqs);
                if let Some(norms) = norms.as_mut().filter(|_| what.norms) {
                    norms.add(number, texts.docs.finish(place.docs), &lens.norms);
                }
                add_text(number, texts, &lens, what, &mut postings, &mut terms);
            }
        }
    }
    let mut files = postings.finish()?;
    files.extend(terms.finish()?);
    files.extend(suggestions::write(place, suggested, norms.as_mut())?);
    if let Some(norms) = norms {
        files.extend(norms.finish()?);
    }
    Ok(files)
}

fn write_keywords(
    number: u32,
    keywords: &mut Keywords,
    what: Use,
    max_doc: u32,
    (doc_values, norms, postings, terms): (
        &mut DocValuesWriter,
        Option<&mut NormsWriter>,
        &mut PostingsWriter,
        &mut TermsWriter,
    ),
) {
    let order = keywords.terms.sorted();
    if what.doc_values && what.single {
        add_keyword(number, keywords, &order, max_doc, doc_values);
    } else if what.doc_values {
        add_keyword_set(number, keywords, (&order, what.prefix), max_doc, doc_values);
    }
    let lens = what.norms.then(|| keyword_norms(keywords, max_doc));
    if let (Some(norms), Some((docs, lens))) = (norms, &lens) {
        norms.add(number, docs.as_deref(), lens);
    }
    if what.terms && what.grams {
        add_gram_terms(number, keywords, max_doc, postings, terms);
    } else if what.terms {
        let lens = lens.as_ref().map(|(_, lens)| lens.as_slice());
        add_keyword_terms(number, keywords, (&order, lens), max_doc, postings, terms);
    }
}

/// Writes the documents of each id, if some have nested objects.
fn id_states(ids: &Ids, postings: &mut PostingsWriter) -> Vec<TermState> {
    if ids.own_places().is_none() {
        return Vec::new();
    }
    let mut docs = Vec::new();
    let mut state = |places| {
        docs.clear();
        docs.extend(places);
        postings.add(&Postings { docs: &docs, freqs: None, position_gaps: None, offsets: None, payloads: None }, None)
    };
    ids.sorted().map(|(_, places)| state(places)).collect()
}

/// A nested object has the sequence number and the version of its document, and no primary term.
fn write_meta(doc_values: &mut DocValuesWriter, points: &mut PointsWriter, docs: u32, meta: &Meta) {
    let first = meta.first_seq_no as i64;
    let mut values: Vec<i64> = Vec::with_capacity(docs as usize);
    values.extend((0..meta.ids.len()).flat_map(|doc| {
        let came = meta.docs_came.map_or(doc, |came| came[doc as usize]);
        std::iter::repeat_n(first + i64::from(came), meta.ids.places(doc).len())
    }));
    let all = Values { values: &values, docs: None };
    doc_values.add_numeric(SEQ_NO, all);
    add_number_points(points, SEQ_NO, 8, all, docs);
    // One memory serves for all of these.
    values.clear();
    values.resize(meta.ids.len() as usize, meta.primary_term as i64);
    doc_values.add_numeric(PRIMARY_TERM, Values { values: &values, docs: meta.ids.own_places() });
    values.clear();
    values.resize(docs as usize, 1);
    doc_values.add_numeric(VERSION, Values { values: &values, docs: None });
    if meta.parent_field.is_some() {
        values.clear();
        values.resize(meta.ids.len() as usize, -1);
        doc_values.add_numeric(PARENT, Values { values: &values, docs: meta.ids.own_places() });
    }
}
