//! What a cell of a CSV file can be, and how it is written as JSON.

use std::str::FromStr;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text, as it stands.
    String,
    /// A whole number from -2^63 to 2^63 - 1 without leading zeros; its digits are kept.
    Integer,
    /// A number; its digits are kept where JSON can say them. A whole number gets `.0`, so that a server that makes up the mapping
    /// does not take the column for whole numbers and cut the others off.
    Float,
    /// `true` or `false` in any case.
    Boolean,
    /// `YYYY-MM-DD`.
    Date,
    /// `YYYY-MM-DD`, `T` or a space, `HH:MM[:SS[.fff]]`, and a zone or none; written with `T`.
    Timestamp,
}

impl ColumnType {
    pub(super) const fn name(self) -> &'static str {
        match self {
            ColumnType::String => "string",
            ColumnType::Integer => "integer",
            ColumnType::Float => "float",
            ColumnType::Boolean => "boolean",
            ColumnType::Date => "date (YYYY-MM-DD)",
            ColumnType::Timestamp => "timestamp (YYYY-MM-DDTHH:MM:SS)",
        }
    }

    /// Writes the cell, or leaves `out` as it was and answers `false` where the cell is none of this type. Not for strings.
    pub(super) fn write(self, cell: &[u8], out: &mut Vec<u8>) -> bool {
        match self {
            ColumnType::String => false,
            ColumnType::Integer => {
                let fits = is_integer(cell);
                if fits {
                    out.extend_from_slice(cell);
                }
                fits
            }
            ColumnType::Float => write_float(cell, out),
            ColumnType::Boolean => {
                let text: &[u8] = if cell.eq_ignore_ascii_case(b"true") {
                    b"true"
                } else if cell.eq_ignore_ascii_case(b"false") {
                    b"false"
                } else {
                    return false;
                };
                out.extend_from_slice(text);
                true
            }
            ColumnType::Date => {
                let fits = is_date(cell);
                if fits {
                    quoted(cell, out);
                }
                fits
            }
            ColumnType::Timestamp => {
                // A day without a time is a moment as well, for servers too.
                if is_date(cell) {
                    quoted(cell, out);
                    return true;
                }
                if !is_timestamp(cell) {
                    return false;
                }
                let at = out.len() + 1 + "YYYY-MM-DD".len();
                quoted(cell, out);
                out[at] = b'T';
                true
            }
        }
    }
}

impl FromStr for ColumnType {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "string" | "text" | "keyword" => Ok(ColumnType::String),
            "integer" | "int" | "long" => Ok(ColumnType::Integer),
            "float" | "double" => Ok(ColumnType::Float),
            "boolean" | "bool" => Ok(ColumnType::Boolean),
            "date" => Ok(ColumnType::Date),
            "timestamp" => Ok(ColumnType::Timestamp),
            other => Err(format!(
                "unknown column type {other:?}; expected string, integer, float, boolean, date or timestamp"
            )),
        }
    }
}

fn quoted(cell: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(cell);
    out.push(b'"');
}

fn text(cell: &[u8]) -> Option<&str> {
    std::str::from_utf8(cell).ok()
}

/// A whole number that JSON and a `long` can hold. `007` is none: it is a code, and its zeros matter.
pub(super) fn is_integer(cell: &[u8]) -> bool {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && (digits.len() == 1 || digits[0] != b'0');
    plain && (digits.len() < 19 || text(cell).is_some_and(|t| t.parse::<i64>().is_ok()))
}

fn write_float(cell: &[u8], out: &mut Vec<u8>) -> bool {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    match json_number(digits) {
        Some(Number::Whole) => {
            out.extend_from_slice(cell);
            out.extend_from_slice(b".0");
            true
        }
        Some(Number::Fraction) => {
            out.extend_from_slice(cell);
            true
        }
        None => match float_of(cell) {
            Some(number) => {
                // `.5`, `5.`, `+5`, `05.5`: numbers to people, not to JSON.
                out.extend_from_slice(format!("{number:?}").as_bytes());
                true
            }
            None => false,
        },
    }
}

/// A number as people write it, without words like `inf`.
pub(super) fn float_of(cell: &[u8]) -> Option<f64> {
    let plain = cell.iter().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    text(cell).filter(|_| plain)?.parse::<f64>().ok().filter(|f| f.is_finite())
}

enum Number {
    Whole,
    Fraction,
}

/// Whether `digits` (without a sign) are a number of JSON's grammar.
fn json_number(digits: &[u8]) -> Option<Number> {
    let run = |from: usize| digits[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = run(0);
    if at == 0 || (at > 1 && digits[0] == b'0') {
        return None;
    }
    if at == digits.len() {
        return Some(Number::Whole);
    }
    if digits[at] == b'.' {
        let fraction = run(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if matches!(digits.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(digits.get(at), Some(b'+' | b'-')));
        let exponent = if at <= digits.len() { run(at) } else { 0 };
        // An exponent too large for a double is a number to JSON and an error to a server.
        if exponent == 0 || exponent > 2 {
            return None;
        }
        at += exponent;
    }
    (at == digits.len()).then_some(Number::Fraction)
}

/// `YYYY-MM-DD` with a month and a day that exist in some year.
pub(super) fn is_date(cell: &[u8]) -> bool {
    cell.len() == 10 && is_date_prefix(cell)
}

fn is_date_prefix(cell: &[u8]) -> bool {
    let shape =
        [0, 1, 2, 3, 5, 6, 8, 9].iter().all(|&i| cell[i].is_ascii_digit()) && cell[4] == b'-' && cell[7] == b'-';
    let two = |i: usize| (cell[i] - b'0') * 10 + (cell[i + 1] - b'0');
    shape && (1..=12).contains(&two(5)) && (1..=31).contains(&two(8))
}

/// A day and a time, with seconds, fractions and zone or without.
pub(super) fn is_timestamp(cell: &[u8]) -> bool {
    if cell.len() < 16 || !is_date_prefix(cell) || !matches!(cell[10], b'T' | b't' | b' ') {
        return false;
    }
    let digits = |at: usize, n: usize| cell.get(at..at + n).is_some_and(|d| d.iter().all(u8::is_ascii_digit));
    let below = |at: usize, limit: u8| (cell[at] - b'0') * 10 + (cell[at + 1] - b'0') < limit;
    if !(digits(11, 2) && cell[13] == b':' && digits(14, 2) && below(11, 24) && below(14, 60)) {
        return false;
    }
    let mut at = 16;
    if cell.get(at) == Some(&b':') {
        if !digits(at + 1, 2) || !below(at + 1, 61) {
            return false;
        }
        at += 3;
        if matches!(cell.get(at), Some(b'.' | b',')) {
            let fraction = cell[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
            if cell[at] == b',' || fraction == 0 || fraction > 9 {
                return false;
            }
            at += 1 + fraction;
        }
    }
    match &cell[at..] {
        [] | [b'Z'] => true,
        [b'+' | b'-', zone @ ..] => match zone {
            [a, b] | [a, b, b':', ..] if !(a.is_ascii_digit() && b.is_ascii_digit()) => false,
            [_, _] => true,
            [_, _, b':', c, d] => c.is_ascii_digit() && d.is_ascii_digit(),
            [a, b, c, d] => [a, b, c, d].iter().all(|x| x.is_ascii_digit()),
            _ => false,
        },
        _ => false,
    }
}

/// Finds the type of a column from cells of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inference {
    seen: bool,
    not_integer: bool,
    not_float: bool,
    not_boolean: bool,
    not_date: bool,
    not_timestamp: bool,
}

impl Inference {
    /// Takes a cell that is not empty.
    pub(super) fn see(&mut self, cell: &[u8]) {
        self.seen = true;
        self.not_integer = self.not_integer || !is_integer(cell);
        self.not_float = self.not_float || !is_plain_float(cell);
        self.not_boolean =
            self.not_boolean || !(cell.eq_ignore_ascii_case(b"true") || cell.eq_ignore_ascii_case(b"false"));
        self.not_date = self.not_date || !is_date(cell);
        self.not_timestamp = self.not_timestamp || !(is_date(cell) || is_timestamp(cell));
    }

    /// The narrowest type that all cells fit.
    pub(super) fn column_type(self) -> ColumnType {
        match self {
            Inference { seen: false, .. } => ColumnType::String,
            Inference { not_integer: false, .. } => ColumnType::Integer,
            Inference { not_float: false, .. } => ColumnType::Float,
            Inference { not_boolean: false, .. } => ColumnType::Boolean,
            Inference { not_date: false, .. } => ColumnType::Date,
            Inference { not_timestamp: false, .. } => ColumnType::Timestamp,
            _ => ColumnType::String,
        }
    }
}

/// A number without leading zeros, which would be a code.
fn is_plain_float(cell: &[u8]) -> bool {
    let digits = cell.strip_prefix(b"-").or_else(|| cell.strip_prefix(b"+")).unwrap_or(cell);
    let code = digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
    // A long row of digits is an account or a part number, and a double would lose the last of them.
    let whole = digits.iter().all(u8::is_ascii_digit);
    !(code || (whole && digits.len() > 18)) && float_of(cell).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(column: ColumnType, cell: &str, expected: Option<&str>) {
        let mut out = Vec::new();
        let fits = column.write(cell.as_bytes(), &mut out);
        assert_eq!(fits.then(|| String::from_utf8(out.clone()).unwrap()).as_deref(), expected, "{column:?} {cell:?}");
        if let Some(json) = expected {
            serde_json::from_str::<serde_json::Value>(json).unwrap();
        } else {
            assert!(out.is_empty());
        }
    }

    #[test]
    fn integers_are_exact_or_none() {
        for good in ["0", "-1", "42", "9223372036854775807", "-9223372036854775808"] {
            check(ColumnType::Integer, good, Some(good));
        }
        for bad in ["", "-", "007", "1.0", "+1", "1e3", "9223372036854775808", " 1", "1_000"] {
            check(ColumnType::Integer, bad, None);
        }
    }

    #[test]
    fn floats_keep_their_digits() {
        for good in ["1.50", "-0.1", "1e5", "1.5E-7", "0.30000000000000004441"] {
            check(ColumnType::Float, good, Some(good));
        }
        check(ColumnType::Float, "5", Some("5.0"));
        check(ColumnType::Float, "-5", Some("-5.0"));
        check(ColumnType::Float, ".5", Some("0.5"));
        check(ColumnType::Float, "5.", Some("5.0"));
        check(ColumnType::Float, "+5.5", Some("5.5"));
        check(ColumnType::Float, "05.5", Some("5.5"));
        for bad in ["", "-", "NaN", "inf", "1e999", "1.2.3", "1,5", "e5"] {
            check(ColumnType::Float, bad, None);
        }
    }

    #[test]
    fn dates_and_times() {
        check(ColumnType::Boolean, "TRUE", Some("true"));
        check(ColumnType::Boolean, "yes", None);
        check(ColumnType::Date, "2018-01-31", Some("\"2018-01-31\""));
        check(ColumnType::Date, "2018-13-31", None);
        check(ColumnType::Date, "31/01/2018", None);
        check(ColumnType::Timestamp, "2018-01-31", Some("\"2018-01-31\""));
        for good in [
            "2018-01-31T10:00",
            "2018-01-31T10:00:01",
            "2018-01-31T10:00:01.123Z",
            "2018-01-31T10:00:01+02:00",
            "2018-01-31T10:00:01-0330",
            "2018-01-31T10:00Z",
        ] {
            check(ColumnType::Timestamp, good, Some(&format!("\"{good}\"")));
        }
        check(ColumnType::Timestamp, "2018-01-31 10:00:01", Some("\"2018-01-31T10:00:01\""));
        for bad in [
            "2018-01-31T1:00",
            "2018-01-31T25:00",
            "2018-01-31T10:00:01 CET",
            "2018-01-31T10:00:01+2:00",
            "2018-01-31T10:00:0x",
        ] {
            check(ColumnType::Timestamp, bad, None);
        }
    }

    #[test]
    fn columns_get_the_narrowest_type() {
        let infer = |cells: &[&str]| {
            let mut inference = Inference::default();
            cells.iter().for_each(|c| inference.see(c.as_bytes()));
            inference.column_type()
        };
        assert_eq!(infer(&[]), ColumnType::String);
        assert_eq!(infer(&["1", "-2"]), ColumnType::Integer);
        assert_eq!(infer(&["1", "2.5"]), ColumnType::Float);
        assert_eq!(infer(&["1", "01"]), ColumnType::String);
        assert_eq!(infer(&["1.5", "00.5"]), ColumnType::String);
        assert_eq!(infer(&["true", "False"]), ColumnType::Boolean);
        assert_eq!(infer(&["2018-01-01"]), ColumnType::Date);
        assert_eq!(infer(&["2018-01-01", "2018-01-01 10:00"]), ColumnType::Timestamp);
        assert_eq!(infer(&["2018-01-01", "x"]), ColumnType::String);
        assert_eq!(infer(&["12345678901234567890"]), ColumnType::String);
    }
}
