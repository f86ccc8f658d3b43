//! The cells of rows as columns, beside the documents that are made of them.

use std::sync::Arc;

use inrush_core::Columns;
use inrush_core::columns::{Cells, Column, Texts};

/// The values of the rows of a chunk.
pub(super) struct ColumnsBuilder {
    names: Arc<[String]>,
    columns: Vec<ColumnBuilder>,
    /// Rows with a value of another kind than the first one of its column.
    text_only: Vec<u32>,
}

/// The values of a column, up to the last row that has one.
#[derive(Default)]
struct ColumnBuilder {
    /// The kind of the first value.
    kind: Option<Kind>,
    bytes: Vec<u8>,
    ends: Vec<u32>,
    bools: Vec<bool>,
    present: Vec<bool>,
    has_gaps: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Bool,
}

impl ColumnsBuilder {
    pub(super) fn new(names: &Arc<[String]>) -> ColumnsBuilder {
        let columns = names.iter().map(|_| ColumnBuilder::default()).collect();
        ColumnsBuilder { names: Arc::clone(names), columns, text_only: Vec::new() }
    }

    /// Adds the value of a cell: what the document has of it, and what the cell has.
    #[inline]
    pub(super) fn push(&mut self, column: usize, row: usize, written: &[u8], contents: &[u8]) {
        let column = &mut self.columns[column];
        let (kind, value) = match written {
            [b'"', text @ .., b'"'] if !text.contains(&b'\\') => (Kind::Text, text),
            [b'"', ..] => (Kind::Text, contents),
            [b't' | b'f', ..] => (Kind::Bool, written),
            _ => (Kind::Number, written),
        };
        column.fill(row);
        if *column.kind.get_or_insert(kind) != kind {
            self.text_only.push(row as u32);
            column.add(&[], true);
            return;
        }
        column.add(value, true);
    }

    /// The values of `rows` rows. `None` if they are not UTF-8.
    pub(super) fn finish(mut self, rows: usize) -> Option<Columns> {
        self.text_only.dedup();
        let columns = self.columns.into_iter().map(|column| column.finish(rows)).collect::<Option<Vec<Column>>>()?;
        Some(Columns { names: self.names, columns, text_only: self.text_only })
    }
}

impl ColumnBuilder {
    /// Adds nothing for each row before `row` that has no value.
    #[inline]
    fn fill(&mut self, row: usize) {
        while self.present.len() < row {
            self.add(&[], false);
        }
    }

    #[inline]
    fn add(&mut self, value: &[u8], is_there: bool) {
        if self.kind == Some(Kind::Bool) {
            self.bools.push(value.first() == Some(&b't'));
        } else {
            self.bytes.extend_from_slice(value);
            self.ends.push(self.bytes.len() as u32);
        }
        self.present.push(is_there);
        self.has_gaps |= !is_there;
    }

    fn finish(mut self, rows: usize) -> Option<Column> {
        self.fill(rows);
        let cells = match self.kind {
            Some(Kind::Bool) => {
                // Rows before the first value were taken for texts.
                let mut bools = vec![false; self.present.len() - self.bools.len()];
                bools.append(&mut self.bools);
                Cells::Bool(bools)
            }
            Some(Kind::Number) => Cells::Number(Texts::from_utf8(self.bytes, self.ends)?),
            Some(Kind::Text) | None => Cells::Text(Texts::from_utf8(self.bytes, self.ends)?),
        };
        Some(Column { cells, present: self.has_gaps.then_some(self.present) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;
    use crate::csv::CsvOptions;
    use crate::format::FormatOptions;
    use crate::reading::tests::chunks;

    /// What a row without a value has, and what a row has whose values are in its text only.
    const NONE: &str = "none";
    const IN_TEXT: &str = "in the text";

    fn value(column: &Column, row: usize) -> Option<Value> {
        column.has(row).then(|| match &column.cells {
            Cells::Text(texts) => texts.get(row).into(),
            Cells::Number(texts) => serde_json::from_str(texts.get(row)).unwrap(),
            Cells::Bool(values) => values[row].into(),
            cells => panic!("{cells:?}"),
        })
    }

    /// The columns of a file: the kind of each, and its values. Those of rejected rows are left
    /// out, and all others are those of the documents.
    fn columns(text: &[u8], csv: CsvOptions) -> Option<Vec<(&'static str, Vec<String>)>> {
        let mut chunks = chunks("x.csv", text, FormatOptions { csv, ..FormatOptions::default() }, &[]);
        assert_eq!(chunks.len(), 1);
        let (block, columns) = chunks.remove(0).into_block_with_columns();
        let Columns { names, columns, text_only } = columns?;
        assert!(text_only.is_sorted_by(|a, b| a < b), "{text_only:?}");
        let is_read = |row: &u32| block.rejects.iter().all(|reject| reject.record != *row);
        let rows: Vec<u32> = (0..block.records.len() as u32).filter(is_read).collect();
        for row in rows.iter().filter(|row| !text_only.contains(row)) {
            let members = names.iter().zip(&columns);
            let members = members.filter_map(|(name, column)| Some((name.clone(), value(column, *row as usize)?)));
            let document: Value = serde_json::from_slice(block.record(*row as usize)).unwrap();
            assert_eq!(document, Value::Object(members.collect::<Map<_, _>>()));
        }
        let shown = |column: &Column, row: u32| match (&column.cells, row as usize) {
            _ if text_only.contains(&row) => IN_TEXT.to_owned(),
            (_, row) if !column.has(row) => NONE.to_owned(),
            (Cells::Text(texts) | Cells::Number(texts), row) => texts.get(row).to_owned(),
            (cells, row) => format!("{cells:?}").split([',', '[', ']']).nth(row + 1).unwrap().trim().to_owned(),
        };
        let kind = |column: &Column| match &column.cells {
            Cells::Text(_) => "text",
            Cells::Number(_) => "number",
            _ => "bool",
        };
        let of = |column: &Column| (kind(column), rows.iter().map(|row| shown(column, *row)).collect());
        Some(columns.iter().map(of).collect())
    }

    fn check(text: &str, csv: CsvOptions, expected: &[(&'static str, &[&str])]) {
        let expected = expected.iter().map(|(kind, values)| (*kind, values.iter().map(ToString::to_string).collect()));
        assert_eq!(columns(text.as_bytes(), csv), Some(expected.collect()), "{text}");
    }

    #[test]
    fn the_first_value_decides_the_kind_and_rows_with_others_are_left_to_their_text() {
        check(
            concat!(
                "t,n,b,x,nothing\n",
                "a,1,,1,\n",
                ",-2.50e3,TRUE,,\n",
                "\"q\"\" \\\t\",,false,2,\n",
                "b,7,true,x,\n",
                "1,8,x,true,\n",
                "東京,.5,,3,\n",
            ),
            CsvOptions { each_cell: true, ..CsvOptions::default() },
            &[
                ("text", &["a", NONE, "q\" \\\t", IN_TEXT, IN_TEXT, "東京"]),
                ("number", &["1", "-2.50e3", NONE, IN_TEXT, IN_TEXT, "0.5"]),
                ("bool", &[NONE, "true", "false", IN_TEXT, IN_TEXT, NONE]),
                ("number", &["1", NONE, "2", IN_TEXT, IN_TEXT, "3"]),
                ("text", &[NONE, NONE, NONE, IN_TEXT, IN_TEXT, NONE]),
            ],
        );
    }

    #[test]
    fn values_are_as_documents_have_them_and_not_as_cells_do() {
        let schema = CsvOptions::parse_schema("n:integer,f:float,b:boolean,t:timestamp").unwrap();
        check(
            "n,f,b,t\n+007,1,FALSE,2024-01-31 10:00\n8,+.5,tRue,2024-01-31\n",
            CsvOptions { schema, ..CsvOptions::default() },
            &[
                ("number", &["7", "8"]),
                ("number", &["1.0", "0.5"]),
                ("bool", &["false", "true"]),
                ("text", &["2024-01-31T10:00", "2024-01-31"]),
            ],
        );
        let (escape, nulls) = (Some(b'\\'), vec!["NA".to_owned()]);
        check(
            "a,b\n\"x\\\"y\",\\N\nNA,l\\\nm\n",
            CsvOptions { escape, nulls, ..CsvOptions::default() },
            &[("text", &["x\"y", NONE]), ("text", &[NONE, "l\nm"])],
        );
    }

    #[test]
    fn rejected_rows_leave_the_values_of_others_in_their_places() {
        let schema = CsvOptions::parse_schema("n:integer").unwrap();
        check(
            "n,w\n1,a\n2,b,c\n3\nx,d\n,e\n4,f\n",
            CsvOptions { schema, ..CsvOptions::default() },
            &[("number", &["1", NONE, "4"]), ("text", &["a", "e", "f"])],
        );
    }

    #[test]
    fn bytes_that_are_not_utf8_leave_all_values_to_the_text() {
        assert_eq!(columns(b"w,n\nok,1\n\xFF,2\n", CsvOptions::default()), None);
        // One character together, but none alone.
        assert_eq!(columns(b"w\n\xC3\n\xA9\n", CsvOptions::default()), None);
    }
}
