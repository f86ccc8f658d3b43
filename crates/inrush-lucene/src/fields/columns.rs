//! Columns of values: from them to what fields index, without the text of the documents.
//!
//! What a field makes of a value in a column is what it makes of the value in the document's text.
//! All that is more than the value of a field is left to the reader of documents: a new field, a
//! malformed value, a nested object. The rows with it are in [`RowValues::text_only`].

use std::borrow::Cow;
use std::fmt::Write as _;

use inrush_core::Columns;
use inrush_core::columns::{Cells, Column, Texts, TimeUnit};

use crate::analysis::Normalizer;
use crate::fields::convert::{Indexable, convert};
use crate::fields::document::{Habits, check_name, read_value};
use crate::fields::field::{Field, Kind};
use crate::fields::json::{NAME_MAX, NUMBER_MAX, Reader, Scalar};
use crate::fields::mapping::Mapping;
use crate::fields::object::{Dynamic, Node, Object, is_blank};
use crate::fields::refused::TERM_MAX;
use crate::fields::target::KnownProduct;

/// What is indexed of some rows.
pub(crate) struct RowValues<'a> {
    /// Whether each row has to be read from its text.
    pub(crate) text_only: Vec<bool>,
    /// Columns whose values are those of a field, the number of the field, and the values.
    pub(crate) direct: Vec<(&'a Column, usize, Direct<'a>)>,
    /// Other values: the place among the rows, the number of the field, and the value. Those of a
    /// field are in the order of the rows.
    pub(crate) converted: Vec<(u32, usize, Indexable<'a>)>,
}

/// The values of a column as a field indexes them, by record.
#[derive(Clone, Copy)]
pub(crate) enum Direct<'a> {
    Whole(&'a [i64]),
    Double(&'a [f64]),
    Bool(&'a [bool]),
    Millis(&'a [i64], TimeUnit),
    Nanos(&'a [i64], TimeUnit),
    Term(&'a Texts),
    Text(&'a Texts),
}

/// Reads the values of some records.
pub(crate) fn read<'a>(columns: &'a Columns, records: &[u32], mapping: &Mapping, habits: &mut Habits) -> RowValues<'a> {
    let text_only = records.iter().map(|record| columns.text_only.binary_search(record).is_ok()).collect();
    let read = RowValues { text_only, direct: Vec::new(), converted: Vec::new() };
    let claims = vec![0; mapping.fields.len()];
    let mut reading = Reading { records, mapping, habits, read, claims, column_number: 0 };
    for (name, column) in columns.names.iter().zip(&columns.columns) {
        reading.column_number += 1;
        reading.column(name, column);
    }
    reading.read
}

/// What the mapping has for a member of documents, and the object that has it. `None` if that
/// depends on the value, or is an error.
fn find<'m>(mapping: &'m Mapping, name: &str) -> Option<(&'m Object, &'m Node)> {
    // Documents with a longer name are refused.
    if name.len() > NAME_MAX {
        return None;
    }
    let root = &mapping.root;
    if let Some((_, node)) = root.member(name) {
        return Some((root, node));
    }
    if !name.contains('.') {
        let is_refused = name.is_empty() || is_blank(name) && mapping.target.product == KnownProduct::Elasticsearch;
        let is_left_out = root.dynamic == Dynamic::Ignore && !is_refused && check_name(root, name).is_ok();
        return is_left_out.then_some((root, &Node::Ignored));
    }
    let (path, last) = name.rsplit_once('.')?;
    let mut object = root;
    for part in path.split('.') {
        match object.member(part) {
            Some((_, Node::Object(below))) if below.nested.is_none() => object = below,
            _ => return None,
        }
    }
    object.member(last).map(|(_, node)| (object, node))
}

struct Reading<'a, 'm> {
    records: &'m [u32],
    mapping: &'m Mapping,
    habits: &'m mut Habits,
    read: RowValues<'a>,
    /// For each field the number of the column that has its values, or 0. The values of a field
    /// come document by document, so they come from one column.
    claims: Vec<usize>,
    /// The number of the column, from 1 on.
    column_number: usize,
}

impl<'a> Reading<'a, '_> {
    fn column(&mut self, name: &str, column: &'a Column) {
        if let Cells::Number(texts) = &column.cells {
            // Documents with longer ones are refused.
            self.leave_to_text_where(column, |record| texts.get(record).len() > NUMBER_MAX);
        }
        let is_scalar = !matches!(column.cells, Cells::Json(_));
        match find(self.mapping, name) {
            None | Some((_, Node::Join(_))) => self.leave_to_text(column),
            Some((_, Node::Runtime | Node::Ignored | Node::Unread)) if is_scalar => {}
            // The values add a field.
            Some((_, Node::Fields(numbers))) if !self.mapping.fields[numbers[0]].copied_to.is_empty() => {
                self.leave_to_text(column);
            }
            Some((_, Node::Fields(numbers))) if is_scalar => {
                numbers.iter().for_each(|number| self.field(*number, column));
            }
            Some(member) => self.member(member, name, column),
        }
    }

    /// Leaves all values of a column to the reader of documents.
    fn leave_to_text(&mut self, column: &Column) {
        self.leave_to_text_where(column, |_| true);
    }

    fn leave_to_text_where(&mut self, column: &Column, is_left: impl Fn(usize) -> bool) {
        for (text_only, record) in self.read.text_only.iter_mut().zip(self.records) {
            let record = *record as usize;
            *text_only |= column.has(record) && is_left(record);
        }
    }

    /// Makes the column the one that has the values of a field, unless another one has them.
    /// Whether it has them, and nothing else is kept of them.
    fn claim(&mut self, number: usize) -> bool {
        let owner = &mut self.claims[number];
        if *owner == 0 {
            *owner = self.column_number;
        }
        *owner == self.column_number && is_plain(&self.mapping.fields[number])
    }

    fn field(&mut self, number: usize, column: &'a Column) {
        let field = &self.mapping.fields[number];
        if field.is_unread() {
            return;
        }
        // A column may be copied into its own field.
        if self.claims[number] != 0 || !self.claim(number) {
            return self.leave_to_text(column);
        }
        let direct = match (&field.kind, &column.cells) {
            (Kind::Whole { least, most, .. }, Cells::Whole(values)) => {
                self.leave_to_text_where(column, |record| !(*least..=*most).contains(&values[record]));
                Direct::Whole(values)
            }
            (Kind::Double, Cells::Double(values)) => Direct::Double(values),
            (Kind::Boolean, Cells::Bool(values)) => Direct::Bool(values),
            (Kind::Date(formats), Cells::Timestamps(values, unit)) if formats.takes_iso() => {
                self.leave_to_text_where(column, |record| millis(values[record], *unit).is_none());
                Direct::Millis(values, *unit)
            }
            (Kind::DateNanos(formats), Cells::Timestamps(values, unit)) if formats.takes_iso() => {
                self.leave_to_text_where(column, |record| nanos(values[record], *unit).is_none());
                Direct::Nanos(values, *unit)
            }
            (_, Cells::Timestamps(..)) => return self.leave_to_text(column),
            (Kind::Keyword { ignore_above, normalizer: Normalizer::NONE }, Cells::Text(texts)) => {
                let most = TERM_MAX.min(*ignore_above as usize);
                self.leave_to_text_where(column, |record| texts.get(record).len() > most);
                Direct::Term(texts)
            }
            (Kind::Text { analyzer, .. }, Cells::Text(texts)) => {
                let most = analyzer.harmless(TERM_MAX);
                self.leave_to_text_where(column, |record| {
                    let text = texts.get(record);
                    text.len() > most || analyzer.doubts(text)
                });
                Direct::Text(texts)
            }
            _ => return self.converted(number, field, column),
        };
        if is_kept(field) {
            self.read.direct.push((column, number, direct));
        }
    }

    /// Converts the values of a column one by one.
    fn converted(&mut self, number: usize, field: &Field, column: &'a Column) {
        let target = self.mapping.target;
        let mut buffer = String::new();
        for (at, record) in self.records.iter().enumerate() {
            let record = *record as usize;
            if self.read.text_only[at] || !column.has(record) {
                continue;
            }
            let value = match &column.cells {
                Cells::Text(texts) => convert(&Scalar::Text(Cow::Borrowed(texts.get(record))), field, target),
                Cells::Number(texts) => match short_whole(texts.get(record), field) {
                    Some(value) => Ok(Some(Indexable::Number(value))),
                    None => convert(&Scalar::Number(texts.get(record)), field, target),
                },
                Cells::Bool(values) => convert(&Scalar::Bool(values[record]), field, target),
                cells => {
                    buffer.clear();
                    push_number(cells, record, &mut buffer);
                    convert(&Scalar::Number(&buffer), field, target).map(|value| value.map(Indexable::into_owned))
                }
            };
            match value {
                Ok(Some(value)) => {
                    let kept = is_kept(field).then_some((at as u32, number, value));
                    self.read.converted.extend(kept);
                }
                // A term that is too long; anything else that is no value is one of null.
                Ok(None) if !matches!(field.kind, Kind::Keyword { .. }) => {}
                _ => self.read.text_only[at] = true,
            }
        }
    }

    /// Reads the values of a column, which are more than those of fields, one by one.
    fn member(&mut self, (object, node): (&Object, &Node), name: &str, column: &'a Column) {
        if matches!(column.cells, Cells::Timestamps(..)) {
            return self.leave_to_text(column);
        }
        let mut buffer = String::new();
        for (at, record) in self.records.iter().enumerate() {
            let record = *record as usize;
            if self.read.text_only[at] || !column.has(record) {
                continue;
            }
            let mapping = self.mapping;
            let values = match &column.cells {
                Cells::Json(texts) | Cells::Number(texts) => {
                    read_value(texts.get(record), (object, node, name), mapping, self.habits)
                }
                cells => {
                    buffer.clear();
                    push_json(cells, record, &mut buffer);
                    let values = read_value(&buffer, (object, node, name), mapping, self.habits);
                    let owned = |(number, value): (usize, Indexable)| (number, value.into_owned());
                    values.map(|values| values.into_iter().map(owned).collect())
                }
            };
            let fits = values.as_ref().is_some_and(|values| values.iter().all(|(number, _)| self.claim(*number)));
            self.read.text_only[at] = !fits;
            if fits {
                let is_kept = |(number, _): &(usize, Indexable)| is_kept(&mapping.fields[*number]);
                let values = values.into_iter().flatten().filter(is_kept);
                self.read.converted.extend(values.map(|(number, value)| (at as u32, number, value)));
            }
        }
    }
}

/// Whether points, terms or doc values are kept of a value.
fn is_kept(field: &Field) -> bool {
    field.indexed || field.doc_values
}

/// Whether nothing is kept of a value but points, terms and doc values.
fn is_plain(field: &Field) -> bool {
    // A field of which a search for existence finds nothing else has its name among all names.
    let has_name = field.needs_name();
    field.scope.is_none() && !field.stored && !has_name
}

/// The value of a whole number of few digits, if the field has whole numbers.
fn short_whole(text: &str, field: &Field) -> Option<i64> {
    let Kind::Whole { least, most, .. } = field.kind else { return None };
    let mut reader = Reader::new(text);
    let value = reader.short_whole(least, most)?;
    reader.end().ok().map(|()| value)
}

/// Appends a number as documents have it.
fn push_number(cells: &Cells, record: usize, out: &mut String) {
    match cells {
        // Writing to a string does not fail.
        Cells::Whole(values) => drop(write!(out, "{}", values[record])),
        Cells::Double(values) => out.push_str(zmij::Buffer::new().format_finite(values[record])),
        Cells::Bool(_) | Cells::Timestamps(..) | Cells::Text(_) | Cells::Number(_) | Cells::Json(_) => {}
    }
}

/// Appends a value as JSON.
fn push_json(cells: &Cells, record: usize, out: &mut String) {
    match cells {
        Cells::Text(texts) => drop(write!(out, "{}", serde_json::Value::from(texts.get(record)))),
        Cells::Bool(values) => out.push_str(if values[record] { "true" } else { "false" }),
        cells => push_number(cells, record, out),
    }
}

/// The milliseconds of a moment that a date of four digits of a year writes.
pub(crate) fn millis(value: i64, unit: TimeUnit) -> Option<i64> {
    const DAY: i64 = 86_400;
    // The years from 1 to 9999, without the days at the ends: a zone may be ahead or behind.
    const SECONDS: std::ops::Range<i64> = -62_135_596_800 + DAY..253_402_300_800 - DAY;
    let seconds = match unit {
        TimeUnit::Day => value.checked_mul(DAY)?,
        TimeUnit::Second => value,
        TimeUnit::Millisecond => value.div_euclid(1_000),
        TimeUnit::Microsecond => value.div_euclid(1_000_000),
        TimeUnit::Nanosecond => value.div_euclid(1_000_000_000),
    };
    let millis = match unit {
        TimeUnit::Day | TimeUnit::Second => seconds.checked_mul(1_000)?,
        TimeUnit::Millisecond => value,
        TimeUnit::Microsecond => value.div_euclid(1_000),
        TimeUnit::Nanosecond => value.div_euclid(1_000_000),
    };
    SECONDS.contains(&seconds).then_some(millis)
}

/// The nanoseconds of a moment from 1970 on that 63 bits have.
pub(crate) fn nanos(value: i64, unit: TimeUnit) -> Option<i64> {
    millis(value, unit)?;
    let nanos = value.checked_mul(match unit {
        TimeUnit::Day => 86_400_000_000_000,
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    })?;
    (nanos >= 0).then_some(nanos)
}
