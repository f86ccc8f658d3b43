//! The values of documents column by column, beside the text of the documents.
//!
//! A source of columns can hand both over. A server in this process then indexes the values without
//! reading the text, which it only stores.

use std::sync::Arc;

/// The values of the documents of a block. They are held until the block is settled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// The members of the documents. Each name is there once. A document has those of its members
    /// that are not null.
    pub names: Arc<[String]>,
    /// One for each name, each with one entry for each record of the block.
    pub columns: Vec<Column>,
    /// Records with a value that its column does not have, ascending. All their values are to be
    /// read from their text.
    pub text_only: Vec<u32>,
}

/// The values of one member.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The values. The entry of a record without a value means nothing.
    pub cells: Cells,
    /// Whether each record has a value; `None` if all have one.
    pub present: Option<Vec<bool>>,
}

/// Values of one kind, an entry for each record.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Whole numbers. The text has all their digits, and no dot.
    Whole(Vec<i64>),
    /// Numbers that the text has as the shortest decimal of the same value.
    Double(Vec<f64>),
    /// `true` or `false`.
    Bool(Vec<bool>),
    /// Moments, counted from 1970 in UTC, that the text has as ISO 8601: a date, or a date and a
    /// time up to the nanosecond with a zone or without.
    Timestamps(Vec<i64>, TimeUnit),
    /// Strings, without quotes and escapes.
    Text(Texts),
    /// Numbers as the text has them.
    Number(Texts),
    /// Values of any kind as the text has them.
    Json(Texts),
}

/// What moments are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Days of 86,400 seconds.
    Day,
    /// Seconds.
    Second,
    /// Thousandths of a second.
    Millisecond,
    /// Millionths of a second.
    Microsecond,
    /// Billionths of a second.
    Nanosecond,
}

/// Texts in one buffer. A block has less than 4 GiB of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    text: String,
    ends: Vec<u32>,
}

impl Texts {
    /// Room for `count` texts of `bytes` bytes together.
    #[must_use]
    pub fn with_capacity(count: usize, bytes: usize) -> Self {
        Texts { text: String::with_capacity(bytes), ends: Vec::with_capacity(count) }
    }

    /// Texts that follow each other in `bytes`, and where each ends. `None` if they are not UTF-8,
    /// or an end is within a character, beyond them or before another text.
    #[must_use]
    pub fn from_utf8(bytes: Vec<u8>, ends: Vec<u32>) -> Option<Self> {
        let text = String::from_utf8(bytes).ok()?;
        let fits = ends.is_sorted() && ends.iter().all(|end| text.is_char_boundary(*end as usize));
        fits.then_some(Texts { text, ends })
    }

    /// Adds a text.
    #[inline]
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len() as u32);
    }

    /// The text of entry `at`.
    ///
    /// # Panics
    /// If there is no such entry.
    #[inline]
    pub fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start as usize..self.ends[at] as usize]
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn bytes(&self) -> usize {
        self.text.capacity() + 4 * self.ends.capacity()
    }
}

impl Column {
    /// Whether the record has a value.
    ///
    /// # Panics
    /// If there is no such record.
    #[inline]
    pub fn has(&self, record: usize) -> bool {
        self.present.as_ref().is_none_or(|present| present[record])
    }

    fn bytes(&self) -> usize {
        let cells = match &self.cells {
            Cells::Whole(values) | Cells::Timestamps(values, _) => 8 * values.capacity(),
            Cells::Double(values) => 8 * values.capacity(),
            Cells::Bool(values) => values.capacity(),
            Cells::Text(texts) | Cells::Number(texts) | Cells::Json(texts) => texts.bytes(),
        };
        cells + self.present.as_ref().map_or(0, Vec::capacity)
    }
}

impl Columns {
    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        let columns: usize = self.columns.iter().map(Column::bytes).sum();
        (columns + 4 * self.text_only.capacity()) as u64
    }
}

/// Some items of a request, and where their values are.
#[derive(Clone, Debug)]
pub struct RowSelection {
    /// The number of items.
    pub items: u32,
    /// The columns, and the record of each item in them. `None` if the values are in the text only.
    pub columns: Option<(Arc<Columns>, Vec<u32>)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Texts {
        let mut texts = Texts::default();
        all.iter().for_each(|text| texts.push(text));
        texts
    }

    #[test]
    fn texts_are_what_was_added() {
        let mut texts = Texts::with_capacity(3, 9);
        assert!(texts.is_empty());
        texts.push("né");
        texts.push("");
        texts.push("東京");
        assert_eq!((0..texts.len()).map(|at| texts.get(at)).collect::<Vec<_>>(), ["né", "", "東京"]);
        assert_eq!(Texts::from_utf8("né東京".into(), vec![3, 3, 9]), Some(texts));
    }

    #[test]
    fn bytes_are_texts_if_they_are_utf8_and_each_end_is_one_of_a_character() {
        for (bytes, ends, expected) in [
            (&b""[..], &[][..], Some(&[][..])),
            (b"", &[0, 0], Some(&["", ""])),
            (b"abc", &[2, 3], Some(&["ab", "c"])),
            ("é".as_bytes(), &[1, 2], None),
            (b"ab", &[3], None),
            (b"ab", &[2, 1], None),
            (b"a\xFF", &[1], None),
        ] {
            let found = Texts::from_utf8(bytes.to_vec(), ends.to_vec());
            assert_eq!(found, expected.map(texts), "{bytes:?} {ends:?}");
        }
    }

    #[test]
    fn all_records_have_a_value_unless_the_column_says_otherwise() {
        let column = |present| Column { cells: Cells::Whole(vec![7, 0, 7]), present };
        let has = |column: Column| [0, 1, 2].map(|record| column.has(record));
        assert_eq!(has(column(None)), [true; 3]);
        assert_eq!(has(column(Some(vec![true, false, true]))), [true, false, true]);
    }

    #[test]
    fn the_bytes_are_those_of_all_entries() {
        let three = || Texts::from_utf8(b"abc".to_vec(), vec![2, 2, 3]).unwrap();
        let cells = [
            (Cells::Whole(vec![0; 3]), 24),
            (Cells::Timestamps(vec![0; 3], TimeUnit::Day), 24),
            (Cells::Double(vec![0.0; 3]), 24),
            (Cells::Bool(vec![true; 3]), 3),
            (Cells::Text(three()), 3 + 12),
            (Cells::Number(three()), 3 + 12),
            (Cells::Json(three()), 3 + 12),
        ];
        let mut all = Columns { text_only: vec![1, 2], ..Columns::default() };
        let mut sum = 8;
        for (cells, bytes) in cells {
            for (present, more) in [(None, 0), (Some(vec![true, false, true]), 3)] {
                all.columns.push(Column { cells: cells.clone(), present });
                sum += bytes + more;
                assert_eq!(all.bytes(), sum, "{cells:?}");
            }
        }
    }
}
