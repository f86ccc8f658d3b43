//! Guesses the types of columns from the first rows.

use std::collections::{HashMap, HashSet};

use super::is_null;
use super::scan::{Dialect, Row, RowSink, scan_rows};
use super::value::{ColumnType, is_long_number, narrowest};

/// The first row of text.
pub(super) struct FirstRow {
    pub(super) cells: Vec<Vec<u8>>,
    /// The offset after its line end.
    pub(super) next: usize,
    /// Whether the row ended inside quotes.
    pub(super) unclosed: bool,
}

/// Reads the first row, if there is one.
pub(super) fn first_row(data: &[u8], dialect: Dialect) -> Option<FirstRow> {
    struct First(Vec<Vec<u8>>, Option<Row>);
    impl RowSink for First {
        fn cell(&mut self, _: usize, contents: &[u8]) {
            self.0.push(contents.to_vec());
        }

        fn row(&mut self, row: Row) -> bool {
            self.1 = Some(row);
            false
        }
    }
    let mut first = First(Vec::new(), None);
    scan_rows(data, dialect, &mut first);
    let First(cells, row) = first;
    row.map(|row| FirstRow { cells, next: row.next, unclosed: row.unclosed })
}

/// The type of each of `columns` columns, from at most `rows_max` rows. `None` if all cells are
/// empty. Rows with another number of cells are ignored.
pub(super) fn infer(
    data: &[u8],
    dialect: Dialect,
    columns: usize,
    rows_max: usize,
    nulls: &[String],
) -> Vec<Option<ColumnType>> {
    let mut sink =
        Observe { row: vec![Seen::default(); columns], all: vec![Seen::default(); columns], rows_max, nulls };
    if rows_max > 0 {
        scan_rows(data, dialect, &mut sink);
    }
    sink.all.into_iter().map(Seen::column_type).collect()
}

/// The types that the cells of a column have had, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen(u8);

impl Seen {
    fn of(cell: &[u8]) -> Self {
        Seen(match narrowest(cell) {
            ColumnType::String if is_long_number(cell) => 64,
            ColumnType::Integer => 1,
            ColumnType::Float => 2,
            ColumnType::Boolean => 4,
            ColumnType::Date => 8,
            ColumnType::Timestamp => 16,
            ColumnType::String => 32,
        })
    }

    fn column_type(self) -> Option<ColumnType> {
        Some(match self.0 {
            0 => return None,
            1 => ColumnType::Integer,
            // Beside fractions a long number is a number. Otherwise it may well be an id, whose
            // digits a float would lose.
            2 | 3 | 66 | 67 => ColumnType::Float,
            4 => ColumnType::Boolean,
            8 => ColumnType::Date,
            16 | 24 => ColumnType::Timestamp,
            _ => ColumnType::String,
        })
    }
}

struct Observe<'a> {
    row: Vec<Seen>,
    all: Vec<Seen>,
    rows_max: usize,
    nulls: &'a [String],
}

impl RowSink for Observe<'_> {
    fn cell(&mut self, index: usize, contents: &[u8]) {
        if let Some(seen) = self.row.get_mut(index) {
            *seen = if is_null(self.nulls, contents) { Seen::default() } else { Seen::of(contents) };
        }
    }

    fn row(&mut self, row: Row) -> bool {
        if row.cells == self.all.len() && !row.unclosed {
            for (all, seen) in self.all.iter_mut().zip(&self.row) {
                all.0 |= seen.0;
            }
        }
        self.rows_max -= 1;
        self.rows_max > 0
    }
}

/// Names for the columns of a header. An empty name becomes the column's position (`c1`). A
/// repeated name gets the next free number (`name_2`). The second list has the repeated names.
pub fn column_names(header: &[String]) -> (Vec<String>, Vec<String>) {
    let given: HashSet<&str> = header.iter().map(String::as_str).collect();
    let mut seen = HashSet::new();
    let mut duplicates = Vec::new();
    // The last number that each name got, so that many equal names do not all start counting at 2.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let names = header
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let empty = name.trim().is_empty();
            let base = if empty { format!("c{}", i + 1) } else { name.clone() };
            if (!empty || !given.contains(base.as_str())) && seen.insert(base.clone()) {
                return base;
            }
            if !empty {
                duplicates.push(name.clone());
            }
            let number = numbers.entry(base.clone()).or_insert(1);
            loop {
                *number += 1;
                let numbered = format!("{base}_{number}");
                if !given.contains(numbered.as_str()) && seen.insert(numbered.clone()) {
                    return numbered;
                }
            }
        })
        .collect();
    (names, duplicates)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMA: Dialect = Dialect { separator: b',', quote: Some(b'"'), escape: None };

    fn types(data: &str, columns: usize, rows_max: usize) -> Vec<&'static str> {
        infer(data.as_bytes(), COMMA, columns, rows_max, &[])
            .into_iter()
            .map(|t| t.map_or("-", ColumnType::name))
            .collect()
    }

    #[test]
    fn a_column_has_the_type_that_all_its_cells_fit() {
        assert_eq!(
            types("1,1,true,,2024-01-01\n2,1.5,x,,2024-01-01 10:00\n", 5, 9),
            ["integer", "float", "string", "-", "timestamp"]
        );
        assert_eq!(types("01000\n75001\n", 1, 9), ["string"]);
        assert_eq!(types("1\ntrue\n", 1, 9), ["string"]);
        assert_eq!(types("\"1\"\n\n", 1, 9), ["integer"]);
        // Too long for an integer: ids, unless there are fractions.
        assert_eq!(types("1,1\n18446744073709551616,18446744073709551616\n,0.5\n", 2, 9), ["string", "float"]);
        assert_eq!(types("18446744073709551616\n", 1, 9), ["string"]);
        assert_eq!(types("018446744073709551616\n0.5\n", 1, 9), ["string"]);
    }

    #[test]
    fn only_the_first_rows_and_whole_rows_count() {
        assert_eq!(types("1\n2\nx\n", 1, 2), ["integer"]);
        assert_eq!(types("1,2\nx\n3,4\n", 2, 9), ["integer", "integer"]);
    }

    #[test]
    fn every_column_has_a_name_of_its_own() {
        let names = |header: &[&str]| {
            let header: Vec<_> = header.iter().map(|s| (*s).to_owned()).collect();
            column_names(&header)
        };
        assert_eq!(names(&["", "a", " "]).0, ["c1", "a", "c3"]);
        let (all, duplicates) = names(&["a", "a", "a_2", "a", "", "c5"]);
        assert_eq!(all, ["a", "a_3", "a_2", "a_4", "c5_2", "c5"]);
        assert_eq!(duplicates, ["a", "a"]);
        // Counting from the first one for each of them would take hours.
        let many = vec!["a".to_owned(); 300_000];
        assert_eq!(column_names(&many).0[299_999], "a_300000");
    }
}
