//! Guesses the types of columns from the first rows.

use std::collections::{HashMap, HashSet};

use super::dialect::Layout;
use super::options::{CsvOptions, has_blanks_around, is_null};
use super::placeholders::{Placeholder, Placeholders, share};
use super::row::{Row, RowSink};
use super::scan::scan_rows;
use super::value::{ColumnType, has_leading_zeros, is_comma_number, is_long_number, narrowest, narrowest_with_comma};
use crate::beginning;
use crate::warnings::{BLANKS, FEW_TEXTS, FIRST_TEXT, GROUPS_AS_FRACTIONS, PLACEHOLDERS, POINTS, POINTS_AS_GROUPS};

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

/// Reads the first row, if there is one, and the number of rows with only empty cells, which are
/// above it unless there are no others.
pub(super) fn first_row(data: &[u8], layout: &Layout) -> Option<(FirstRow, u64)> {
    #[derive(Default)]
    struct First {
        cells: Vec<Vec<u8>>,
        row: Option<Row>,
        empty: u64,
    }
    impl RowSink for First {
        fn cell(&mut self, index: usize, contents: &[u8]) {
            if index == 0 {
                self.cells.clear();
            }
            self.cells.push(contents.to_vec());
        }

        fn row(&mut self, row: Row) -> bool {
            let is_empty = self.cells.len() > 1 && self.cells.iter().all(Vec::is_empty);
            self.empty += u64::from(is_empty);
            self.row = Some(row);
            is_empty
        }
    }
    let mut first = First::default();
    scan_rows(data, layout, &mut first);
    let First { cells, row, empty } = first;
    row.map(|Row { start, end, next, unclosed, .. }| (FirstRow { cells, start, end, next, unclosed }, empty))
}

/// What the first cells of a column show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// `None` if all cells are empty.
    pub(super) column_type: Option<ColumnType>,
    /// The type of the cells that are numbers, of any others. `None` if there are none,
    /// or if they may be codes.
    pub(super) numbers: Option<ColumnType>,
    /// What the type does not show.
    pub(super) oddity: Option<Oddity>,
}

/// What a user should know of the first cells of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    /// Cells such as this one have blanks around numbers or dates. All are strings.
    Blanks { example: Example, cells: u32, rows: u32 },
    /// Whole numbers and such as `1E5`, which may be codes. All are strings.
    Codes,
    /// Whole numbers and such as `1e+05`, but no fractions. All are written with a fraction.
    Exponents,
    /// The first row has a text, and the others have this type. All are strings.
    FirstText(ColumnType),
    /// One or a few texts stand for "no value", in this number of rows. The others have this type.
    /// All are strings.
    Placeholders(Placeholders, ColumnType, u32),
    /// All but a few cells have this type. All are strings.
    Few(Few, ColumnType),
    /// Numbers have a comma, and this one has a point before its fraction. All are strings.
    /// `mixed`: others have a comma.
    Point { example: Example, mixed: bool },
    /// As in this one, dots are between groups of digits, but another column has numbers with a
    /// point.
    Groups(Example),
    /// As in the first one, three digits follow each point. Numbers have one before their fraction,
    /// but another column has some with a comma, such as the second one.
    Fractions(Example, Example),
}

/// The few cells of a column that have another kind than the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Few {
    cells: u32,
    rows: u32,
    /// One of them, and its line from 1.
    example: Example,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Example {
    line: u64,
    contents: String,
}

/// The longest text that an option of a message names.
const NAMED_MAX: usize = 30;

/// The fewest cells with a type beside which others are told. Fewer show nothing: a table of names
/// and values has both.
const TYPED_MIN: u32 = 10;

/// The most different texts that may be words for no value. More are codes, some without a letter.
const TEXTS_MAX: usize = 3;

impl Few {
    fn message(&self, rest: ColumnType, column: &str) -> String {
        let Few { cells, rows, example: Example { line, contents } } = self;
        let is_plain = |c: char| !c.is_control() && !matches!(c, '`' | '\'' | '"' | ',');
        let null = match contents.len() <= NAMED_MAX && contents.chars().all(is_plain) {
            true => format!("if it means no value, give option `null={contents}`; "),
            false => String::new(),
        };
        format!(
            "the first rows have {}, but line {line} has {contents:?} ({cells} of {rows} rows have another cell, {}), so all \
             are sent as strings; {null}with option `schema={column}:{rest}` such rows are dead letters, and option \
             `schema={column}:string` says that all are text",
            rest.cells(),
            share(u64::from(*cells), u64::from(*rows)),
        )
    }
}

impl Oddity {
    /// The kind of the warning.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Oddity::Blanks { .. } => BLANKS,
            Oddity::Codes => "codes_as_text",
            Oddity::Exponents => "whole_as_fractions",
            Oddity::FirstText(_) => FIRST_TEXT,
            Oddity::Placeholders(..) => PLACEHOLDERS,
            Oddity::Few(..) => FEW_TEXTS,
            Oddity::Point { .. } => POINTS,
            Oddity::Groups(_) => POINTS_AS_GROUPS,
            Oddity::Fractions(..) => GROUPS_AS_FRACTIONS,
        }
    }

    /// Whether it is about the point of numbers.
    pub(super) fn is_of_points(&self) -> bool {
        matches!(self, Oddity::Point { .. } | Oddity::Groups(_))
    }

    /// The warning for the user.
    pub(super) fn message(&self, column: &str) -> String {
        match self {
            Oddity::Blanks { example: Example { line, contents }, cells, rows } => format!(
                "line {line} has {contents:?}, whose blanks make it text ({cells} of {rows} rows have such a cell, {}), so \
                 all are sent as strings; option `trim` leaves out blanks around cells",
                share(u64::from(*cells), u64::from(*rows))
            ),
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
            Oddity::Placeholders(found, rest, rows) => found.message(*rest, *rows),
            Oddity::Few(few, rest) => few.message(*rest, column),
            Oddity::Point { example: Example { line, contents }, mixed } => format!(
                "numbers have a decimal comma, but line {line} has {contents:?}, so all are sent as strings; {}option \
                 `schema={column}:string` says that all are text",
                match mixed {
                    true => "correct it; ".to_owned(),
                    false => format!("if it is a number, give option `schema={column}:float`; "),
                }
            ),
            Oddity::Groups(Example { line, contents }) => format!(
                "numbers have a decimal comma, so {contents:?} in line {line} is sent as a whole number, but another column \
                 has numbers with a decimal point; if this one has, too, give option `schema={column}:float`; with option \
                 `schema={column}:decimal-comma` its dots are between groups of digits"
            ),
            Oddity::Fractions(Example { line, contents }, comma) => format!(
                "numbers have a decimal point, so {contents:?} in line {line} is sent as a fraction, but another column has \
                 numbers with a decimal comma, such as {:?} in line {}; if its points are between groups of digits, \
                 option `schema={column}:decimal-comma` says so of it, and option `decimal=,` of all columns; option \
                 `schema={column}:float` says that they are decimal points",
                comma.contents, comma.line
            ),
        }
    }
}

/// The type of each of `columns` columns, from at most `rows_max` rows below `lines` lines. Rows
/// with another number of cells, and those without a value, are ignored.
pub(super) fn infer(
    data: &[u8],
    layout: &Layout,
    (columns, lines): (usize, u64),
    rows_max: usize,
    options: &CsvOptions,
) -> Vec<Shown> {
    let CsvOptions { nulls, decimal_comma: comma, .. } = options;
    let mut sink = Observe {
        row: vec![Seen::default(); columns],
        placeholders: vec![Placeholder::default(); columns],
        examples: vec![None; columns],
        grouped: vec![None; columns],
        padded: vec![None; columns],
        marks: vec![Mark::Other; columns],
        tallies: vec![Tally::default(); columns],
        lines,
        rows: 0,
        rows_max,
        nulls,
        comma: *comma,
    };
    if rows_max > 0 {
        scan_rows(data, layout, &mut sink);
    }
    let rows = sink.rows;
    let grouped: Vec<Option<Example>> = sink.tallies.iter_mut().map(Tally::all_grouped).collect();
    let with_comma = sink.tallies.iter().find_map(Tally::all_with_comma);
    let mut all: Vec<Shown> = sink.tallies.into_iter().map(|tally| tally.shown(rows)).collect();
    let with_point = all.iter().any(|shown| matches!(shown.oddity, Some(Oddity::Point { .. })));
    for (shown, example) in all.iter_mut().zip(grouped).filter(|(shown, _)| shown.oddity.is_none()) {
        shown.oddity = match (shown.column_type, example, &with_comma) {
            (Some(ColumnType::Integer), Some(example), _) if with_point => Some(Oddity::Groups(example)),
            (Some(ColumnType::Float), Some(example), Some(comma)) => Some(Oddity::Fractions(example, comma.clone())),
            _ => None,
        };
    }
    all
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
    /// `007`: a code.
    const ZEROS: u16 = 1 << 11;
    /// `1.5` where numbers have a comma: text.
    const POINT: u16 = 1 << 12;
    const WHOLE: u16 = Seen::INTEGER | Seen::LONG;
    /// The kinds of cells: numbers, dates, true or false, placeholders, and other text.
    const KINDS: [u16; 5] = [
        Seen::WHOLE | Seen::FRACTION | Seen::CODE | Seen::EXPONENT | Seen::COMMA | Seen::ZEROS,
        Seen::DATE | Seen::TIMESTAMP,
        Seen::BOOLEAN,
        Seen::PLACEHOLDER,
        Seen::TEXT | Seen::POINT,
    ];

    fn of(cell: &[u8], comma: bool) -> Self {
        if comma {
            return Seen::with_comma(cell);
        }
        Seen(match narrowest(cell) {
            ColumnType::String if is_long_number(cell) => Seen::LONG,
            ColumnType::String if has_leading_zeros(cell) => Seen::ZEROS,
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
            ColumnType::String if is_comma_number(cell) => Seen::LONG,
            ColumnType::String if has_leading_zeros(cell) => Seen::ZEROS,
            ColumnType::String if Seen::of(cell, false).0 == Seen::FRACTION => Seen::POINT,
            ColumnType::String => Seen::TEXT,
            ColumnType::Integer => Seen::INTEGER,
            _ => return Seen::of(cell, false),
        })
    }

    /// The place of its kind, unless the cell is empty.
    fn kind(self) -> Option<usize> {
        Seen::KINDS.iter().position(|kind| self.has(*kind))
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
            _ if self.has(Seen::COMMA) && self.only(Seen::WHOLE | Seen::COMMA) => ColumnType::DecimalComma,
            _ => ColumnType::String,
        })
    }
}

/// What the point or the comma of a cell shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mark {
    /// Nothing, or it has none.
    #[default]
    Other,
    /// It has dots, and three digits behind each.
    Groups,
    /// It has a point before its fraction.
    Point,
    /// Numbers have a point, but it is one with a comma. `true`: the comma is before a fraction,
    /// because it has not three digits.
    Comma(bool),
}

impl Mark {
    /// The mark of a cell that is `seen`. `comma`: numbers have one.
    fn of(cell: &[u8], seen: Seen, comma: bool) -> Self {
        let is_comma_number = || cell.contains(&b',') && narrowest_with_comma(cell) == ColumnType::DecimalComma;
        match seen.0 {
            Seen::INTEGER if comma && Seen::of(cell, false).0 == Seen::FRACTION => Mark::Groups,
            Seen::FRACTION if narrowest_with_comma(cell) == ColumnType::Integer => Mark::Groups,
            Seen::FRACTION | Seen::EXPONENT | Seen::CODE => Mark::Point,
            Seen::TEXT if !comma && is_comma_number() => {
                let behind = cell.rsplit(|byte| *byte == b',').next().unwrap_or_default();
                Mark::Comma(behind.len() != 3)
            }
            _ => Mark::Other,
        }
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
    /// The numbers of cells by [`Seen::KINDS`], and the first of each.
    cells: [u32; Seen::KINDS.len()],
    examples: [Option<Example>; Seen::KINDS.len()],
    /// Different texts, up to one more than may be words.
    texts: Vec<String>,
    /// The first cell with [`Mark::Groups`], and whether there is one with [`Mark::Point`].
    grouped: Option<Example>,
    /// The first text that is a number or a date without its blanks, and the number of such.
    padded: Option<(Example, u32)>,
    has_points: bool,
    /// The cells with [`Mark::Comma`], and the first one that is a fraction.
    commas: u32,
    with_comma: Option<Example>,
}

/// The type of a column of these cells, unless that is text.
fn typed(seen: Seen) -> Option<ColumnType> {
    seen.column_type().filter(|found| *found != ColumnType::String)
}

impl Tally {
    /// The first cell with dots, if all dots may be between groups of digits.
    fn all_grouped(&mut self) -> Option<Example> {
        self.grouped.take().filter(|_| !self.has_points)
    }

    /// A fraction with a comma, if the column has numbers with commas, and no other text.
    fn all_with_comma(&self) -> Option<Example> {
        let [_, dates, booleans, _, texts] = self.cells;
        let are_all = texts == self.commas && dates + booleans == 0;
        self.with_comma.clone().filter(|_| are_all)
    }

    /// What the column shows in its first `rows` rows.
    fn shown(self, rows: u32) -> Shown {
        let Tally { first, others, placeholders, .. } = self;
        let values = Seen(first.0 | others.0);
        let all = Seen(values.0 | if placeholders.are_none() { 0 } else { Seen::TEXT });
        let column_type = all.column_type();
        let numbers = typed(Seen(values.0 & Seen::KINDS[0]));
        let of_numbers = Seen::WHOLE | Seen::COMMA | Seen::POINT;
        let text = Seen::KINDS.len() - 1;
        let oddity = match (typed(values), typed(others)) {
            _ if all.has(Seen::POINT) && all.only(of_numbers) => {
                let mixed = all.has(Seen::COMMA);
                self.examples[text].clone().map(|example| Oddity::Point { example, mixed })
            }
            // A word among them says that the column is text.
            _ if self.padded.as_ref().is_some_and(|(_, cells)| *cells == self.cells[text]) => {
                self.padded.clone().map(|(example, cells)| Oddity::Blanks { example, cells, rows })
            }
            _ if all.has(Seen::WHOLE) && all.has(Seen::CODE) && all.only(Seen::WHOLE | Seen::CODE) => {
                Some(Oddity::Codes)
            }
            _ if column_type == Some(ColumnType::Float) && all.has(Seen::WHOLE) && !all.has(Seen::FRACTION) => {
                Some(Oddity::Exponents)
            }
            (Some(rest), _) if placeholders.are_few() => Some(Oddity::Placeholders(placeholders, rest, rows)),
            (_, Some(rest)) if matches!(first.0, Seen::TEXT | Seen::POINT) && placeholders.are_none() => {
                Some(Oddity::FirstText(rest))
            }
            _ if column_type == Some(ColumnType::String) => self.few(values, rows),
            _ => None,
        };
        Shown { column_type, numbers, oddity }
    }

    /// The cells of another kind, if they are few beside those with a type: one of a hundred, or a
    /// few words in one of ten.
    fn few(mut self, values: Seen, rows: u32) -> Option<Oddity> {
        let [typed_kinds @ .., _, _] = &self.cells;
        let (most, typed_cells) = typed_kinds.iter().copied().enumerate().max_by_key(|(_, cells)| *cells)?;
        let rest = typed(Seen(values.0 & Seen::KINDS[most]))?;
        let cells = self.cells.iter().sum::<u32>() - typed_cells;
        let most_cells = typed_cells / if self.texts.len() > TEXTS_MAX { 100 } else { 10 };
        if typed_cells < TYPED_MIN || cells > most_cells {
            return None;
        }
        // A text tells the most.
        let example =
            (0..Seen::KINDS.len()).rev().filter(|kind| *kind != most).find_map(|kind| self.examples[kind].take())?;
        Some(Oddity::Few(Few { cells, rows, example }, rest))
    }
}

struct Observe<'a> {
    row: Vec<Seen>,
    /// Of the cells of the row that are [`Seen::PLACEHOLDER`].
    placeholders: Vec<Placeholder>,
    /// The contents of the cells of the row that are the first of their kind.
    examples: Vec<Option<String>>,
    marks: Vec<Mark>,
    /// Its cells that are the first ones with their mark, where one is to be shown.
    grouped: Vec<Option<String>>,
    /// Its texts that are numbers or dates without their blanks.
    padded: Vec<Option<String>>,
    tallies: Vec<Tally>,
    /// Lines above the rows.
    lines: u64,
    /// Rows that count.
    rows: u32,
    /// How many more may count.
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
        let is_first = seen.kind().is_some_and(|kind| self.tallies[index].cells[kind] == 0);
        self.examples[index] = is_first.then(|| beginning(contents));
        let mark = Mark::of(contents, *seen, self.comma);
        let is_new = match mark {
            Mark::Groups => self.tallies[index].grouped.is_none(),
            Mark::Comma(true) => self.tallies[index].with_comma.is_none(),
            _ => false,
        };
        self.marks[index] = mark;
        self.grouped[index] = is_new.then(|| beginning(contents));
        let is_padded = seen.0 == Seen::TEXT
            && has_blanks_around(contents)
            && Seen::of(contents.trim_ascii(), self.comma).0 != Seen::TEXT;
        self.padded[index] = is_padded.then(|| beginning(contents));
        let texts = &mut self.tallies[index].texts;
        if seen.0 == Seen::TEXT && texts.len() <= TEXTS_MAX {
            let text = beginning(contents);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }

    fn row(&mut self, row: Row) -> bool {
        let is_empty = self.row.iter().all(|seen| *seen == Seen::default());
        if row.cells == self.tallies.len() && !row.unclosed && !is_empty {
            for (index, (tally, seen)) in self.tallies.iter_mut().zip(&self.row).enumerate() {
                if seen.0 == Seen::PLACEHOLDER {
                    tally.placeholders.add(self.placeholders[index]);
                } else if self.rows == 0 {
                    tally.first = *seen;
                } else {
                    tally.others.0 |= seen.0;
                }
                let Some(kind) = seen.kind() else { continue };
                tally.cells[kind] += 1;
                let line = self.lines + u64::from(row.line) + 1;
                let mark = self.marks[index];
                tally.has_points |= mark == Mark::Point;
                tally.commas += u32::from(matches!(mark, Mark::Comma(_)));
                if let Some(contents) = self.grouped[index].take() {
                    let shown = if mark == Mark::Groups { &mut tally.grouped } else { &mut tally.with_comma };
                    *shown = Some(Example { line, contents });
                }
                if let Some(contents) = self.padded[index].take() {
                    tally.padded.get_or_insert((Example { line, contents }, 0)).1 += 1;
                }
                if let Some(contents) = self.examples[index].take() {
                    tally.examples[kind] = Some(Example { line, contents });
                }
            }
            self.rows += 1;
            self.rows_max -= 1;
        }
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
        infer(data.as_bytes(), &layout, (columns, 0), rows_max, &CsvOptions::default())
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
    fn points_that_may_be_between_groups_are_told_where_another_column_has_decimal_commas() {
        let layout = Layout::new(Dialect::plain(b';', Some(b'"')));
        let odd = |data: &str| -> Vec<String> {
            let all = infer(data.as_bytes(), &layout, (3, 1), 9, &CsvOptions::default());
            let name = |(at, shown): (usize, Shown)| Some(format!("{at} {}", shown.oddity?.message("c")));
            all.into_iter().enumerate().filter_map(name).collect()
        };
        assert_eq!(
            odd("7;1.000;1,1\n8;;\n9;2.500;1.234,25\n"),
            [
                "1 numbers have a decimal point, so \"1.000\" in line 2 is sent as a fraction, but another column has numbers with a \
              decimal comma, such as \"1,1\" in line 2; if its points are between groups of digits, option \
              `schema=c:decimal-comma` says so of it, and option `decimal=,` of all columns; option `schema=c:float` says that \
              they are decimal points"
            ]
        );
        assert_eq!(odd("950;1.000;1,1\n1.250;2.500;7,5\n").len(), 2);
        for plain in [
            // A fraction has not three digits, or is less than one, or there are none.
            "7;1.000;1,1\n8;2.5;1,2\n",
            "7;1.000;1,1\n8;0.125;1,2\n",
            "7;1.000;1,1\n8;1e-5;1,2\n",
            "7;1;1,1\n8;2;1,2\n",
            // The commas may be between groups as well, or between words.
            "7;1.000;1,100\n8;2.500;2,250\n",
            "7;1.000;1,1\n8;2.500;a,b\n",
            "7;1.000;1,1\n8;2.500;x\n",
            "7;1.000;1\n8;2.500;2\n",
        ] {
            assert!(odd(plain).is_empty(), "{plain}: {:?}", odd(plain));
        }
    }

    #[test]
    fn numbers_with_a_comma_are_those_that_the_option_says() {
        let layout = Layout::new(Dialect::plain(b';', Some(b'"')));
        let types = |data: &str, decimal_comma| {
            let options = CsvOptions { decimal_comma, ..CsvOptions::default() };
            let shown = infer(data.as_bytes(), &layout, (5, 0), 9, &options);
            shown.into_iter().map(|shown| shown.column_type.map_or("-", ColumnType::name)).collect::<Vec<_>>()
        };
        let data = "1,5;1.234;1.5;7;2025-01-31\n-1.234,56;1.000;2;8;2025-02-01\n3;;;;\n";
        assert_eq!(types(data, true), ["decimal-comma", "integer", "string", "integer", "date"]);
        assert_eq!(types(data, false), ["string", "float", "float", "integer", "date"]);
        let beside = "1.234;10.0.0.1;01,5;1,2,3;1e5\n0,5;1,5;1,5;1;1,5\n";
        assert_eq!(types(beside, true), ["decimal-comma", "string", "string", "string", "string"]);
        // Addresses and ids are no numbers. Blanks are between groups where a number has a comma.
        let grouped = "2.500;192.168.178.100;732 829 320;3 000;1.234\n\
                       12;192.168.178.101;732 829 321;12;2.500\n\
                       3;192.168.178.102;;1,5;3.000\n";
        assert_eq!(types(grouped, true), ["integer", "string", "string", "decimal-comma", "integer"]);
    }

    #[test]
    fn points_in_a_file_of_numbers_with_a_comma_are_told() {
        let layout = Layout::new(Dialect::plain(b';', Some(b'"')));
        let odd = |data: &str, comma| -> Vec<String> {
            let options = CsvOptions { decimal_comma: comma, ..CsvOptions::default() };
            let name = |(at, shown): (usize, Shown)| {
                let oddity = shown.oddity.filter(|oddity| !matches!(oddity, Oddity::Few(..)))?;
                Some(format!("{at} {}: {}", oddity.kind(), oddity.message("c")))
            };
            infer(data.as_bytes(), &layout, (3, 1), 9, &options).into_iter().enumerate().filter_map(name).collect()
        };
        let none: [String; 0] = [];
        // A sheet that was written as CSV: each point is that of a fraction.
        let told = odd("1.125;1.19;x\n2.500;;y\n3;1e-7;2\n", true);
        assert_eq!(
            told,
            [
                "0 points_as_groups: numbers have a decimal comma, so \"1.125\" in line 2 is sent as a whole number, but another \
                 column has numbers with a decimal point; if this one has, too, give option `schema=c:float`; with option \
                 `schema=c:decimal-comma` its dots are between groups of digits",
                "1 points_as_text: numbers have a decimal comma, but line 2 has \"1.19\", so all are sent as strings; if it is a \
                 number, give option `schema=c:float`; option `schema=c:string` says that all are text",
            ]
        );
        let mixed = odd("7;1,5;x\n8;1.5;x\n", true);
        assert_eq!(
            mixed,
            [
                "1 points_as_text: numbers have a decimal comma, but line 3 has \"1.5\", so all are sent as strings; correct it; \
              option `schema=c:string` says that all are text"
            ]
        );
        // Groups alone, text beside, and a file of numbers with a point.
        assert_eq!(odd("1.125;1.234.567;1,5\n2.500;3;1.234,5\n", true), none);
        assert_eq!(odd("1.125;1.19;10.0.0.1\n2;v2;1.5\n", true), none);
        assert_eq!(odd("1.125;1.19;1\n2.500;2.38;2\n", false), none);
    }

    #[test]
    fn codes_among_whole_numbers_stay_text_and_other_oddities_are_told() {
        let odd = |data: &str| {
            let Shown { column_type, oddity, .. } = shown(data, 1, 99).remove(0);
            let oddity = oddity.filter(|oddity| !matches!(oddity, Oddity::Few(..)));
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
        let told = |data: &str| match shown(data, 1, 99).remove(0) {
            Shown {
                column_type: Some(ColumnType::String),
                oddity: Some(ref odd @ Oddity::Placeholders(_, rest, rows)),
                ..
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
        let of_numbers = Some(ColumnType::Integer);
        let expected = Shown { column_type: of_numbers, numbers: of_numbers, oddity: None };
        assert_eq!(shown("1,2\nNA\n3,4\n", 2, 9)[0], expected);
    }

    #[test]
    fn a_few_cells_of_another_kind_are_told_with_their_line() {
        let few = |data: &str| match shown(data, 1, 999).remove(0).oddity {
            Some(Oddity::Few(Few { cells, rows, example }, rest)) => {
                Some((rest.name(), cells, rows, example.line, example.contents))
            }
            _ => None,
        };
        let told = |kind, cells, rows, line, text: &str| Some((kind, cells, rows, line, text.to_owned()));
        let prices = "1.5\n\n".repeat(100);
        for (data, expected) in [
            // A few cells show nothing.
            ("1.5\nabc\n", None),
            ("1\nNA\nx\n", None),
            (&("1.5\n".repeat(9) + "abc\n"), None),
            (&("1.5\n".repeat(10) + "abc\n"), told("float", 1, 11, 11, "abc")),
            (&("1\n".repeat(10) + "true\n"), told("integer", 1, 11, 11, "true")),
            (&("2024-01-01\n".repeat(10) + "7\n"), told("date", 1, 11, 11, "7")),
            (&("1\n".repeat(10) + "x\ny\n"), None),
            // Codes are no numbers.
            ("64700\n75001\n01067\n", None),
            ("64700\n75001\nx\n01067\n", None),
            ("18446744073709551616\nx\n", None),
            (&(prices.clone() + "on request\nNA\n"), told("float", 2, 102, 201, "on request")),
            (&(prices.clone() + "NA\n-\n?\nnull\n"), told("float", 4, 104, 201, "NA")),
            (&(prices.clone() + &"x\n".repeat(10)), told("float", 10, 110, 201, "x")),
            (&(prices.clone() + &"x\n".repeat(11)), None),
            // Many texts are codes.
            (&(prices.clone() + "A1\nA2\nA3\n"), told("float", 3, 103, 201, "A1")),
            (&(prices + "A1\nA2\nA3\nA4\n"), None),
        ] {
            assert_eq!(few(data), expected, "{data:?}");
        }
    }

    #[test]
    fn the_numbers_among_texts_have_a_type_unless_they_may_be_codes() {
        let numbers = |data: &str| shown(data, 1, 99)[0].numbers.map(ColumnType::name);
        assert_eq!(numbers("x\n1\ny\nNA\n2.5\n"), Some("float"));
        for data in ["x\n", "1\n01067\nx\n", "10001\n1E5\n", "1\n18446744073709551616\n"] {
            assert_eq!(numbers(data), None, "{data:?}");
        }
    }

    #[test]
    fn a_text_that_an_option_cannot_name_is_only_shown() {
        let few =
            |contents: &str| Few { cells: 1, rows: 200, example: Example { line: 7, contents: contents.to_owned() } };
        assert_eq!(
            few("auf Anfrage").message(ColumnType::DecimalComma, "Preis"),
            "the first rows have numbers with a decimal comma, but line 7 has \"auf Anfrage\" (1 of 200 rows have another \
             cell, 0.5 %), so all are sent as strings; if it means no value, give option `null=auf Anfrage`; with option \
             `schema=Preis:decimal-comma` such rows are dead letters, and option `schema=Preis:string` says that all are \
             text"
        );
        for contents in ["a`b", "it's", &"x".repeat(31)] {
            assert!(!few(contents).message(ColumnType::Float, "p").contains("null="), "{contents}");
        }
    }

    #[test]
    fn only_the_first_rows_and_whole_rows_count() {
        assert_eq!(types("1\n2\nx\n", 1, 2), ["integer"]);
        assert_eq!(types("1,2\nx\n3,4\n", 2, 9), ["integer", "integer"]);
        assert_eq!(types(",\nx\n,\n1,2\nx,y\n", 2, 1), ["integer", "integer"], "rows that do not count take no place");
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
