//! Guesses the types of columns from the first rows.

use std::collections::{HashMap, HashSet};

use super::dialect::Layout;
use super::options::{CsvOptions, is_null};
use super::placeholders::{Placeholder, Placeholders};
use super::row::{Row, RowSink};
use super::scan::scan_rows;
use super::value::{ColumnType, is_comma_number, is_long_number, narrowest, narrowest_with_comma};
use crate::warnings::PLACEHOLDERS;

/// The first row of text.
pub(super) struct FirstRow {
    pub(super) cells: Vec<Vec<u8>>,
    /// Where it begins, and its end without the line end.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The offset after its line end.
    pub(super) next: usize,
    /// Whether the row ended inside quotes.
    pub(super) unclosed: bool,
}

/// Reads the first row, if there is one.
pub(super) fn first_row(data: &[u8], layout: &Layout) -> Option<FirstRow> {
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
    scan_rows(data, layout, &mut first);
    let First(cells, row) = first;
    row.map(|Row { start, end, next, unclosed, .. }| FirstRow { cells, start, end, next, unclosed })
}

/// What the first cells of a column show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// `None` if all cells are empty.
    pub(super) column_type: Option<ColumnType>,
    /// What the type does not show.
    pub(super) oddity: Option<Oddity>,
}

/// What a user should know of the first cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    /// Whole numbers and such as `1E5`, which may be codes. All are strings.
    Codes,
    /// Whole numbers and such as `1e+05`, but no fractions. All are written with a fraction.
    Exponents,
    /// The first row has a text, and the others have this type. All are strings.
    FirstText(ColumnType),
    /// One or a few texts stand for "no value", in this number of rows. The others have this type.
    /// All are strings.
    Placeholders(Placeholders, ColumnType, u32),
}

impl Oddity {
    /// The kind of the warning.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Oddity::Codes => "codes_as_text",
            Oddity::Exponents => "whole_as_fractions",
            Oddity::FirstText(_) => "text_in_first_row",
            Oddity::Placeholders(..) => PLACEHOLDERS,
        }
    }

    /// The warning for the user.
    pub(super) fn message(self, column: &str) -> String {
        match self {
            Oddity::Codes => format!(
                "the first rows have whole numbers and such as 1E5, which may be codes, so all are sent as strings; if \
                 they are numbers, give option `schema={column}:float`"
            ),
            Oddity::Exponents => format!(
                "the first rows have whole numbers and such as 1e+05, so all are sent as numbers with a fraction, as in \
                 10001.0; if they are codes, give option `schema={column}:string`"
            ),
            Oddity::FirstText(rest) => format!(
                "only the first row has text, the others have {}, so all are sent as strings; if that row is the header, \
                 leave the lines above it out with option `skip_lines`; if it has no data, give option \
                 `schema={column}:{rest}`, which makes it a dead letter",
                rest.cells()
            ),
            Oddity::Placeholders(found, rest, rows) => found.message(rest, rows),
        }
    }
}

/// The type of each of `columns` columns, from at most `rows_max` rows. Rows with another number of
/// cells are ignored.
pub(super) fn infer(data: &[u8], layout: &Layout, columns: usize, rows_max: usize, options: &CsvOptions) -> Vec<Shown> {
    let CsvOptions { nulls, decimal_comma: comma, .. } = options;
    let (row, tallies) = (vec![Seen::default(); columns], vec![Tally::default(); columns]);
    let mut sink = Observe {
        row,
        placeholders: vec![Placeholder::default(); columns],
        tallies,
        rows: 0,
        rows_max,
        nulls,
        comma: *comma,
    };
    if rows_max > 0 {
        scan_rows(data, layout, &mut sink);
    }
    let rows = sink.rows;
    sink.tallies.into_iter().map(|tally| tally.shown(rows)).collect()
}

/// The types that the cells of a column have had, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen(u16);

impl Seen {
    const INTEGER: u16 = 1;
    /// `1.5`, `1e-5`.
    const FRACTION: u16 = 1 << 1;
    const BOOLEAN: u16 = 1 << 2;
    const DATE: u16 = 1 << 3;
    const TIMESTAMP: u16 = 1 << 4;
    const TEXT: u16 = 1 << 5;
    /// A whole number that fits no integer type.
    const LONG: u16 = 1 << 6;
    /// `1E5`: a number, or a code.
    const CODE: u16 = 1 << 7;
    /// `1e+05`, `-1e5`: a number that a program wrote.
    const EXPONENT: u16 = 1 << 8;
    /// A text that stands for "no value", of a cell. A column counts them.
    const PLACEHOLDER: u16 = 1 << 9;
    /// `1,5` where numbers have a comma.
    const COMMA: u16 = 1 << 10;
    /// `1.234` where numbers have a comma: a number beside such.
    const GROUPS: u16 = 1 << 11;
    const WHOLE: u16 = Seen::INTEGER | Seen::LONG;

    fn of(cell: &[u8], comma: bool) -> Self {
        if comma {
            return Seen::with_comma(cell);
        }
        Seen(match narrowest(cell) {
            ColumnType::String if is_long_number(cell) => Seen::LONG,
            ColumnType::Integer => Seen::INTEGER,
            ColumnType::Float if cell.contains(&b'.') || cell[1..].contains(&b'-') => Seen::FRACTION,
            ColumnType::Float if cell[0] == b'-' || cell.contains(&b'+') => Seen::EXPONENT,
            ColumnType::Float => Seen::CODE,
            ColumnType::Boolean => Seen::BOOLEAN,
            ColumnType::Date => Seen::DATE,
            ColumnType::Timestamp => Seen::TIMESTAMP,
            _ => Seen::TEXT,
        })
    }

    fn with_comma(cell: &[u8]) -> Self {
        Seen(match narrowest_with_comma(cell) {
            ColumnType::DecimalComma => Seen::COMMA,
            ColumnType::String if is_comma_number(cell) => Seen::GROUPS,
            ColumnType::String => Seen::TEXT,
            _ => return Seen::of(cell, false),
        })
    }

    /// Whether no other types than these were seen.
    fn only(self, types: u16) -> bool {
        self.0 & !types == 0
    }

    fn has(self, types: u16) -> bool {
        self.0 & types != 0
    }

    fn column_type(self) -> Option<ColumnType> {
        let numbers = Seen::WHOLE | Seen::FRACTION | Seen::CODE | Seen::EXPONENT;
        Some(match self.0 {
            0 => return None,
            Seen::INTEGER => ColumnType::Integer,
            Seen::BOOLEAN => ColumnType::Boolean,
            Seen::DATE => ColumnType::Date,
            _ if self.only(Seen::DATE | Seen::TIMESTAMP) => ColumnType::Timestamp,
            // Beside fractions a long number is a number. Otherwise it may well be an id, whose
            // digits a float would lose. The same goes for a code.
            _ if self.only(numbers) && self.has(Seen::FRACTION | Seen::EXPONENT) => ColumnType::Float,
            Seen::CODE => ColumnType::Float,
            _ if self.has(Seen::COMMA) && self.only(Seen::WHOLE | Seen::COMMA | Seen::GROUPS) => {
                ColumnType::DecimalComma
            }
            _ => ColumnType::String,
        })
    }
}

/// The first cells of a column.
#[derive(Clone, Debug, Default)]
struct Tally {
    first: Seen,
    /// Of the rows below the first one.
    others: Seen,
    /// The cells that neither of the two has.
    placeholders: Placeholders,
}

impl Tally {
    /// What the column shows in its first `rows` rows.
    fn shown(self, rows: u32) -> Shown {
        let Tally { first, others, placeholders } = self;
        let values = Seen(first.0 | others.0);
        let all = Seen(values.0 | if placeholders.are_none() { 0 } else { Seen::TEXT });
        let column_type = all.column_type();
        let typed = |seen: Seen| seen.column_type().filter(|rest| *rest != ColumnType::String);
        let oddity = match (typed(values), typed(others)) {
            _ if all.has(Seen::WHOLE) && all.has(Seen::CODE) && all.only(Seen::WHOLE | Seen::CODE) => {
                Some(Oddity::Codes)
            }
            _ if column_type == Some(ColumnType::Float) && all.has(Seen::WHOLE) && !all.has(Seen::FRACTION) => {
                Some(Oddity::Exponents)
            }
            (Some(rest), _) if placeholders.are_few() => Some(Oddity::Placeholders(placeholders, rest, rows)),
            (_, Some(rest)) if first.0 == Seen::TEXT && placeholders.are_none() => Some(Oddity::FirstText(rest)),
            _ => None,
        };
        Shown { column_type, oddity }
    }
}

struct Observe<'a> {
    row: Vec<Seen>,
    /// Of the cells of the row that are [`Seen::PLACEHOLDER`].
    placeholders: Vec<Placeholder>,
    tallies: Vec<Tally>,
    /// Rows that count.
    rows: u32,
    rows_max: usize,
    nulls: &'a [String],
    comma: bool,
}

impl RowSink for Observe<'_> {
    fn cell(&mut self, index: usize, contents: &[u8]) {
        let Some(seen) = self.row.get_mut(index) else { return };
        *seen = if is_null(self.nulls, contents) { Seen::default() } else { Seen::of(contents, self.comma) };
        if seen.0 == Seen::TEXT
            && let Some(found) = Placeholder::of(contents)
        {
            seen.0 = Seen::PLACEHOLDER;
            self.placeholders[index] = found;
        }
    }

    fn row(&mut self, row: Row) -> bool {
        if row.cells == self.tallies.len() && !row.unclosed {
            for (index, (tally, seen)) in self.tallies.iter_mut().zip(&self.row).enumerate() {
                if seen.0 == Seen::PLACEHOLDER {
                    tally.placeholders.add(self.placeholders[index]);
                } else if self.rows == 0 {
                    tally.first = *seen;
                } else {
                    tally.others.0 |= seen.0;
                }
            }
            self.rows += 1;
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
    use super::super::dialect::Dialect;
    use super::*;

    fn shown(data: &str, columns: usize, rows_max: usize) -> Vec<Shown> {
        let layout = Layout::new(Dialect::plain(b',', Some(b'"')));
        infer(data.as_bytes(), &layout, columns, rows_max, &CsvOptions::default())
    }

    fn types(data: &str, columns: usize, rows_max: usize) -> Vec<&'static str> {
        let name = |shown: Shown| shown.column_type.map_or("-", ColumnType::name);
        shown(data, columns, rows_max).into_iter().map(name).collect()
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
    fn numbers_with_a_comma_are_those_that_the_option_says() {
        let layout = Layout::new(Dialect::plain(b';', Some(b'"')));
        let types = |data: &str, decimal_comma| {
            let options = CsvOptions { decimal_comma, ..CsvOptions::default() };
            let shown = infer(data.as_bytes(), &layout, 5, 9, &options);
            shown.into_iter().map(|shown| shown.column_type.map_or("-", ColumnType::name)).collect::<Vec<_>>()
        };
        let data = "1,5;1.234;1.5;7;2025-01-31\n-1.234,56;1.000;2;8;2025-02-01\n3;;;;\n";
        assert_eq!(types(data, true), ["decimal-comma", "string", "string", "integer", "date"]);
        assert_eq!(types(data, false), ["string", "float", "float", "integer", "date"]);
        let beside = "1.234;10.0.0.1;01,5;1,2,3;1e5\n0,5;1,5;1,5;1;1,5\n";
        assert_eq!(types(beside, true), ["decimal-comma", "string", "string", "string", "string"]);
    }

    #[test]
    fn codes_among_whole_numbers_stay_text_and_other_oddities_are_told() {
        let odd = |data: &str| {
            let Shown { column_type, oddity } = shown(data, 1, 99)[0];
            (column_type.map_or("-", ColumnType::name), oddity)
        };
        for (data, expected) in [
            ("10001\n1E5\n", ("string", Some(Oddity::Codes))),
            ("1E5\n10001\n10002\n", ("string", Some(Oddity::Codes))),
            ("12e3\n18446744073709551616\n", ("string", Some(Oddity::Codes))),
            ("7\n\n0E0\n", ("string", Some(Oddity::Codes))),
            // A fraction, or a sign: numbers.
            ("1\n1E5\n1.5\n", ("float", None)),
            ("1e5\n2E7\n", ("float", None)),
            ("10001\n1e+05\n", ("float", Some(Oddity::Exponents))),
            ("10001\n-1E5\n2E3\n", ("float", Some(Oddity::Exponents))),
            ("1e-3\n1e+05\n7\n", ("float", None)),
            ("1\n1e+05\nx\n", ("string", None)),
            // The first row is a second header, or units.
            ("id\n1\n2\n", ("string", Some(Oddity::FirstText(ColumnType::Integer)))),
            ("kg\n1\n2.5\n", ("string", Some(Oddity::FirstText(ColumnType::Float)))),
            ("unit\n2024-01-01\n", ("string", Some(Oddity::FirstText(ColumnType::Date)))),
            ("kg\n1\nx\n", ("string", None)),
            ("kg\n\n", ("string", None)),
            ("1\nx\n", ("string", None)),
        ] {
            assert_eq!(odd(data), expected, "{data:?}");
        }
    }

    #[test]
    fn placeholders_among_values_are_told_and_words_are_not() {
        let told = |data: &str| match shown(data, 1, 99)[0] {
            Shown {
                column_type: Some(ColumnType::String),
                oddity: Some(odd @ Oddity::Placeholders(_, rest, rows)),
            } => {
                let message = odd.message("c");
                assert!(message.contains(&format!("of {rows} rows")) && message.contains("option `null="), "{message}");
                Some((rest.name(), rows))
            }
            _ => None,
        };
        for (data, expected) in [
            ("1\nNA\n3\n", Some(("integer", 3))),
            ("NA\n1\n2\n", Some(("integer", 3))),
            ("n/a\n2024-01-01\n", Some(("date", 2))),
            ("1.5\n-\n?\n", Some(("float", 3))),
            ("2024-01-31 10:00\n2024-02-01\n\\N\n", Some(("timestamp", 3))),
            ("true\nnull\n", Some(("boolean", 2))),
            // There is no number, or there are words.
            ("NA\nNA\n", None),
            ("1\nNA\nx\n", None),
            ("x\n1\nNA\n", None),
            ("1\nNA\n-\n?\nnull\n", None),
            ("007\nNA\n", None),
        ] {
            assert_eq!(told(data), expected, "{data:?}");
        }
        // Of a ragged row nothing counts.
        assert_eq!(shown("1,2\nNA\n3,4\n", 2, 9)[0], Shown { column_type: Some(ColumnType::Integer), oddity: None });
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
