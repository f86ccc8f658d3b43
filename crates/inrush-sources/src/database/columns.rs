//! The columns of a result, prepared for writing documents.

use std::fmt::Debug;
use std::io::Write;
use std::sync::Arc;

use inrush_core::{FieldType, RowForm};
use inrush_formats::csv::column_names;
use inrush_formats::{FRACTIONS, Warnings, fractions_of};

use super::values::{Kind, Noted, push_string, push_value};

/// Names and values of the fields whose texts are kept.
pub(super) type Texts = Vec<(Arc<str>, String)>;

/// Names and types of columns.
#[derive(Clone)]
pub(super) struct Columns {
    columns: Vec<Column>,
    /// Whether a column without a value is a `null`. If not, it is left out.
    nulls: bool,
    source: String,
    warnings: Warnings,
}

#[derive(Clone)]
struct Column {
    name: String,
    /// `"name":`
    prefix: Vec<u8>,
    kind: Kind,
    /// The name, if ids or the like are made of the text of the column's values, which documents
    /// write otherwise.
    kept: Option<Arc<str>>,
    /// Whether the target maps the field for whole numbers.
    whole: bool,
}

impl Columns {
    /// Columns with these names. A repeated name gets a number, with a warning.
    pub(super) fn new(columns: Vec<(String, Kind)>, source: &str, warnings: &Warnings) -> Self {
        let (given, kinds): (Vec<String>, Vec<Kind>) = columns.into_iter().unzip();
        let (names, duplicates) = column_names(&given);
        for name in duplicates {
            warnings.add(source, "duplicate_column", &name, 1, || {
                format!("the column name {name:?} is repeated, so later columns got a number; use AS to name them")
            });
        }
        let column = |(name, kind): (String, Kind)| {
            let mut prefix = Vec::new();
            push_string(name.as_bytes(), &mut prefix);
            prefix.push(b':');
            Column { name, prefix, kind, kept: None, whole: false }
        };
        let columns = names.into_iter().zip(kinds).map(column).collect();
        Columns { columns, nulls: false, source: source.to_owned(), warnings: warnings.clone() }
    }

    /// Keeps the text of numbers in these fields: `5` in a column of decimals is `5.0` in the
    /// document, and the id `5`.
    pub(super) fn keep_texts(&mut self, fields: &[String]) {
        for column in &mut self.columns {
            let wanted = column.kind == Kind::Float && fields.contains(&column.name);
            column.kept = wanted.then(|| Arc::from(column.name.as_str()));
        }
    }

    /// Writes values as the target takes them.
    pub(super) fn form_rows(&mut self, form: &RowForm) {
        self.nulls = form.nulls;
        for column in &mut self.columns {
            let field = form.fields.of(&column.name);
            column.whole = field == Some(FieldType::Whole);
            column.kind = match (&column.kind, field) {
                (Kind::DateTime | Kind::Moment, Some(FieldType::SpacedDate)) => Kind::SpacedTime,
                (Kind::Flag, Some(FieldType::Whole | FieldType::Fraction)) => Kind::Integer,
                (kind, _) => kind.clone(),
            };
        }
    }

    /// Whether the text of a column is kept.
    pub(super) fn keeps_texts(&self) -> bool {
        self.columns.iter().any(|column| column.kept.is_some())
    }

    /// What is to be noted of each column.
    pub(super) fn noted(&self) -> Vec<Noted> {
        let of = |column: &Column| Noted { nulls: self.nulls, whole: column.whole, ..Noted::default() };
        self.columns.iter().map(of).collect()
    }

    /// Begins a document.
    pub(super) fn document<'a>(&'a self, out: &'a mut Vec<u8>, noted: &'a mut [Noted]) -> Document<'a> {
        out.push(b'{');
        Document { columns: self, out, noted, left_out: None, empty: true, texts: Vec::new() }
    }

    /// Reports what was noted of values.
    pub(super) fn warn(&self, noted: &[Noted]) {
        for (Column { name, .. }, noted) in self.columns.iter().zip(noted) {
            let add = |kind, count, message: &dyn Fn() -> String| {
                if count > 0 {
                    self.warnings.add(&self.source, kind, name, count, message);
                }
            };
            add("no_value", noted.no_value, &|| {
                "NaN, infinity, or a date that an index cannot store: the value counts as null".to_owned()
            });
            add("number_as_boolean", noted.numbers, &|| {
                format!(
                    "the column is TINYINT(1), which is true or false, and a number other than 0 and 1 stays a number, which a boolean field refuses; map the field {name} as a number, or select {name} + 0 AS {name}"
                )
            });
            add(FRACTIONS, noted.fractions, &|| fractions_of(name));
        }
    }
}

/// A document that is being written.
pub(super) struct Document<'a> {
    columns: &'a Columns,
    out: &'a mut Vec<u8>,
    noted: &'a mut [Noted],
    /// The place of a column that is left out.
    left_out: Option<usize>,
    empty: bool,
    texts: Texts,
}

impl Document<'_> {
    /// Leaves the column at `place` out.
    pub(super) fn leave_out(&mut self, place: usize) {
        self.left_out = Some(place);
    }

    /// Whether the column at `place` has floats, so that a whole number gets a `.0`.
    pub(super) fn has_floats(&self, place: usize) -> bool {
        self.columns.columns.get(place).is_some_and(|column| column.kind == Kind::Float)
    }

    /// Writes the value of the column at `place`, from the text of its type.
    #[inline]
    pub(super) fn push(&mut self, place: usize, text: &[u8]) {
        let columns = self.columns;
        let Some(column) = columns.columns.get(place) else { return };
        if let Some(name) = &column.kept {
            self.texts.push((Arc::clone(name), String::from_utf8_lossy(text).into_owned()));
        }
        self.push_with(place, |out, noted| push_value(&column.kind, text, out, noted));
    }

    /// Writes the number of the column at `place`.
    pub(super) fn push_number(&mut self, place: usize, number: impl Debug) {
        self.push_with(place, |out, noted| {
            let start = out.len();
            write!(out, "{number:?}").expect("a vector takes all that is written to it");
            noted.note_fraction(&out[start..]);
            true
        });
    }

    /// Writes that the column at `place` has no value.
    #[inline]
    pub(super) fn push_null(&mut self, place: usize) {
        if self.columns.nulls {
            self.push_with(place, |_, _| false);
        }
    }

    /// Writes the value of the column at `place`. `write` appends it, or returns false for no
    /// value.
    #[inline]
    pub(super) fn push_with(&mut self, place: usize, write: impl FnOnce(&mut Vec<u8>, &mut Noted) -> bool) {
        let columns = self.columns;
        let Some(column) = columns.columns.get(place).filter(|_| self.left_out != Some(place)) else { return };
        let start = self.out.len();
        if !self.empty {
            self.out.push(b',');
        }
        self.out.extend_from_slice(&column.prefix);
        if write(self.out, &mut self.noted[place]) {
            self.empty = false;
        } else if columns.nulls {
            self.out.extend_from_slice(b"null");
            self.empty = false;
        } else {
            self.out.truncate(start);
        }
    }

    /// Ends the document. Returns the texts that are kept.
    pub(super) fn end(self) -> Texts {
        self.out.push(b'}');
        self.texts
    }
}
