//! The types of cells, and how cells are written as JSON.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::json_string::push_escaped;

/// The type of a column. An empty cell is an absent field in every type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum ColumnType {
    /// A whole number from -2^63 to 2^64 - 1, written with the same digits.
    Integer,
    /// A finite number, written with the same digits. `.5` and `5.` get the zero that JSON
    /// requires.
    Float,
    /// `true` or `false`, in upper or lower case.
    Boolean,
    /// `YYYY-MM-DD`.
    Date,
    /// `YYYY-MM-DDTHH:MM[:SS[.fraction]][Z|±hh:mm]`, with `T` or a space, or a date. Written with
    /// `T` and the given zone.
    Timestamp,
    /// Any text.
    String,
}

impl ColumnType {
    /// What cells of this type are called in messages.
    pub(super) fn cells(self) -> &'static str {
        match self {
            ColumnType::Integer => "whole numbers",
            ColumnType::Float => "numbers",
            ColumnType::Boolean => "true or false",
            ColumnType::Date => "dates",
            ColumnType::Timestamp => "dates with times",
            ColumnType::String => "text",
        }
    }

    /// Whether a document may write a value differently from its cell: `1` as `1.0`, `TRUE` as
    /// `true`, a `T` between date and time.
    pub fn writes_otherwise(self) -> bool {
        matches!(self, ColumnType::Float | ColumnType::Boolean | ColumnType::Timestamp)
    }

    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            ColumnType::Integer => "integer",
            ColumnType::Float => "float",
            ColumnType::Boolean => "boolean",
            ColumnType::Date => "date",
            ColumnType::Timestamp => "timestamp",
            ColumnType::String => "string",
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ColumnType {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "integer" => ColumnType::Integer,
            "float" => ColumnType::Float,
            "boolean" => ColumnType::Boolean,
            "date" => ColumnType::Date,
            "timestamp" => ColumnType::Timestamp,
            "string" => ColumnType::String,
            _ => {
                return Err(format!(
                    "unknown column type {name:?}; expected string, integer, float, boolean, date or timestamp"
                ));
            }
        })
    }
}

/// The narrowest type that a non-empty cell matches without a declaration.
pub(super) fn narrowest(cell: &[u8]) -> ColumnType {
    match cell[0] {
        b'-' | b'.' | b'0'..=b'9' => {
            if is_integer(cell) {
                ColumnType::Integer
            } else if is_date(cell) {
                ColumnType::Date
            } else if timestamp_separator(cell).is_some() {
                ColumnType::Timestamp
            } else if is_whole(cell) {
                // The number fits no integer type, and a float would lose digits
                // ([`is_long_number`]).
                ColumnType::String
            } else if float_shape(cell).is_some() {
                ColumnType::Float
            } else {
                ColumnType::String
            }
        }
        b't' | b'T' | b'f' | b'F' if boolean(cell).is_some() => ColumnType::Boolean,
        _ => ColumnType::String,
    }
}

/// Appends the cell as a value of the type. Returns `false` and appends nothing if it does not
/// match. Numbers of `declared` types may have a plus sign and leading zeros, which JSON does not
/// allow.
#[inline]
pub(crate) fn push_value(out: &mut Vec<u8>, column_type: ColumnType, declared: bool, cell: &[u8]) -> bool {
    match column_type {
        ColumnType::String => push_string(out, cell),
        ColumnType::Integer => {
            if !is_integer(cell) {
                return declared && push_number_without_zeros(out, cell, ColumnType::Integer);
            }
            out.extend_from_slice(cell);
        }
        ColumnType::Float => match float_shape(cell) {
            None => return declared && push_number_without_zeros(out, cell, ColumnType::Float),
            Some(FloatShape::Json) => {
                out.extend_from_slice(cell);
                // A server without a mapping decides the field's type by the first value. After a
                // whole number it would index only the whole part of all later values.
                if cell.iter().all(|b| b.is_ascii_digit() || *b == b'-') {
                    out.extend_from_slice(b".0");
                }
            }
            Some(FloatShape::BareDot(dot)) => {
                let digit_at = |i: Option<usize>| i.and_then(|i| cell.get(i)).is_some_and(u8::is_ascii_digit);
                out.extend_from_slice(&cell[..dot]);
                if !digit_at(dot.checked_sub(1)) {
                    out.push(b'0');
                }
                out.push(b'.');
                if !digit_at(Some(dot + 1)) {
                    out.push(b'0');
                }
                out.extend_from_slice(&cell[dot + 1..]);
            }
        },
        ColumnType::Boolean => match boolean(cell) {
            None => return false,
            Some(true) => out.extend_from_slice(b"true"),
            Some(false) => out.extend_from_slice(b"false"),
        },
        ColumnType::Date => {
            if !is_date(cell) {
                return false;
            }
            push_quoted(out, &[cell]);
        }
        ColumnType::Timestamp => match timestamp_separator(cell) {
            Some(at) => push_quoted(out, &[&cell[..at], b"T", &cell[at + 1..]]),
            None if is_date(cell) => push_quoted(out, &[cell]),
            None => return false,
        },
    }
    true
}

/// Appends a cell that does not match the type as a value of the next wider type. Returns that
/// type, or nothing if the cell does not match it either.
pub(super) fn push_wider(out: &mut Vec<u8>, column_type: ColumnType, cell: &[u8]) -> Option<ColumnType> {
    let wider = match column_type {
        // A number too long for an integer may well be an id, of which a server would keep 15
        // digits.
        ColumnType::Integer if !is_whole(cell) => ColumnType::Float,
        ColumnType::Date => ColumnType::Timestamp,
        _ => return None,
    };
    push_value(out, wider, false, cell).then_some(wider)
}

/// Whether the cell is a whole number in JSON's form that fits no integer type. It is text, unless
/// its column has fractions.
pub(super) fn is_long_number(cell: &[u8]) -> bool {
    is_whole(cell) && !is_integer(cell) && matches!(float_shape(cell), Some(FloatShape::Json))
}

/// Appends the cell as a string.
#[inline]
pub(super) fn push_string(out: &mut Vec<u8>, cell: &[u8]) {
    out.push(b'"');
    push_escaped(out, cell);
    out.push(b'"');
}

fn push_quoted(out: &mut Vec<u8>, parts: &[&[u8]]) {
    out.push(b'"');
    for part in parts {
        out.extend_from_slice(part);
    }
    out.push(b'"');
}

/// Appends a number in a form that JSON does not have: `+5`, `007`.
fn push_number_without_zeros(out: &mut Vec<u8>, cell: &[u8], column_type: ColumnType) -> bool {
    let (minus, digits) = match cell {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, cell),
    };
    if digits.first() == Some(&b'-') {
        return false;
    }
    let zeros = digits.iter().take_while(|&&b| b == b'0').count();
    // One zero stays if no other digit follows.
    let keep = if digits.get(zeros).is_some_and(u8::is_ascii_digit) { zeros } else { zeros.saturating_sub(1) };
    let mut number = if minus { vec![b'-'] } else { Vec::new() };
    number.extend_from_slice(&digits[keep..]);
    number != cell && !number.is_empty() && push_value(out, column_type, false, &number)
}

/// `-?digits`, of any length.
fn is_whole(cell: &[u8]) -> bool {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// A JSON integer from -2^63 to 2^64 - 1.
#[inline]
fn is_integer(cell: &[u8]) -> bool {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    match digits {
        [b'0'] => return true,
        [] | [b'0', ..] => return false,
        _ => {}
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    if digits.len() <= 18 {
        return true;
    }
    let text = std::str::from_utf8(cell).unwrap_or_default();
    text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
}

/// The form of a number.
enum FloatShape {
    /// The form of JSON.
    Json,
    /// With a dot at this position that lacks a digit before or after it.
    BareDot(usize),
}

#[inline]
fn float_shape(cell: &[u8]) -> Option<FloatShape> {
    let digits_at = |from: usize| cell[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let start = usize::from(cell.first() == Some(&b'-'));
    let whole = digits_at(start);
    if whole > 1 && cell[start] == b'0' {
        return None;
    }
    let mut at = start + whole;
    let mut fraction = 0;
    let mut dot = None;
    if cell.get(at) == Some(&b'.') {
        dot = Some(at);
        fraction = digits_at(at + 1);
        at += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    let exponent = matches!(cell.get(at), Some(b'e' | b'E'));
    if exponent {
        at += 1;
        at += usize::from(matches!(cell.get(at), Some(b'+' | b'-')));
        let digits = digits_at(at);
        if digits == 0 {
            return None;
        }
        at += digits;
    }
    if at != cell.len() {
        return None;
    }
    // Only these can exceed the largest double.
    if exponent || whole > 300 {
        let finite = std::str::from_utf8(cell).ok()?.parse::<f64>().is_ok_and(f64::is_finite);
        if !finite {
            return None;
        }
    }
    Some(match dot {
        Some(dot) if whole == 0 || fraction == 0 => FloatShape::BareDot(dot),
        _ => FloatShape::Json,
    })
}

fn boolean(cell: &[u8]) -> Option<bool> {
    if cell.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if cell.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// Two digits as a number.
fn two(digits: &[u8]) -> Option<u8> {
    match digits {
        [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some((a - b'0') * 10 + (b - b'0')),
        _ => None,
    }
}

/// `YYYY-MM-DD`, of a day that exists (in the proleptic Gregorian calendar).
#[inline]
fn is_date(cell: &[u8]) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *cell else { return false };
    let (Some(century), Some(years), Some(month), Some(day)) =
        (two(&[y1, y2]), two(&[y3, y4]), two(&[m1, m2]), two(&[d1, d2]))
    else {
        return false;
    };
    let year = u32::from(century) * 100 + u32::from(years);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u8::from(leap),
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// The position of the `T` or the space in `YYYY-MM-DD[T ]HH:MM[:SS[.fraction]][Z|±hh:mm]`, with
/// fractions of up to nine digits.
#[inline]
fn timestamp_separator(cell: &[u8]) -> Option<usize> {
    let (date, rest) = cell.split_at_checked(10)?;
    let (b'T' | b' ', clock) = rest.split_first()? else { return None };
    let [h1, h2, b':', m1, m2, rest @ ..] = clock else { return None };
    if !is_date(date) || two(&[*h1, *h2])? > 23 || two(&[*m1, *m2])? > 59 {
        return None;
    }
    let mut rest = rest;
    if let [b':', s1, s2, after @ ..] = rest {
        if two(&[*s1, *s2])? > 59 {
            return None;
        }
        rest = after;
        if let [b'.', after @ ..] = rest {
            let digits = after.iter().take_while(|b| b.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return None;
            }
            rest = &after[digits..];
        }
    }
    match rest {
        [] | [b'Z'] => {}
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            if two(&[*h1, *h2])? > 18 || two(&[*m1, *m2])? > 59 {
                return None;
            }
        }
        _ => return None,
    }
    Some(10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::ColumnType::{Boolean, Date, Float, Integer, Timestamp};
    use super::*;

    fn value(column_type: ColumnType, declared: bool, cell: &str) -> Option<String> {
        let mut out = Vec::new();
        push_value(&mut out, column_type, declared, cell.as_bytes()).then(|| String::from_utf8(out).unwrap())
    }

    const TEXT: ColumnType = ColumnType::String;

    #[test]
    fn cells_have_a_narrowest_type() {
        for (cell, expected) in [
            ("0", Integer),
            ("-7", Integer),
            ("9223372036854775807", Integer),
            ("18446744073709551615", Integer),
            ("-9223372036854775808", Integer),
            ("18446744073709551616", TEXT),
            ("-9223372036854775809", TEXT),
            ("007", TEXT),
            ("01234", TEXT),
            ("-", TEXT),
            ("+5", TEXT),
            ("1.5", Float),
            ("-.5", Float),
            ("5.", Float),
            ("1e5", Float),
            ("1E-5", Float),
            ("1e400", TEXT),
            ("1e", TEXT),
            (".", TEXT),
            ("00.5", TEXT),
            ("1.2.3", TEXT),
            ("NaN", TEXT),
            ("inf", TEXT),
            (" 1", TEXT),
            ("1,5", TEXT),
            ("TRUE", Boolean),
            ("False", Boolean),
            ("t", TEXT),
            ("2024-02-29", Date),
            ("2023-02-29", TEXT),
            ("1900-02-29", TEXT),
            ("2024-13-01", TEXT),
            ("2024-1-1", TEXT),
            ("20240101", Integer),
            ("2024-01-01T10:00", Timestamp),
            ("2024-01-01 10:00:59.123456789+02:00", Timestamp),
            ("2024-01-01T10:00:59Z", Timestamp),
            ("2024-01-01T24:00", TEXT),
            ("2024-01-01T10:00:59.", TEXT),
            ("2024-01-01T10", TEXT),
            ("2024-01-01T10:00+0200", TEXT),
            ("31/12/2024", TEXT),
        ] {
            assert_eq!(narrowest(cell.as_bytes()), expected, "{cell}");
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(value(Float, false, "1.50").as_deref(), Some("1.50"));
        assert_eq!(value(Float, false, "-.5").as_deref(), Some("-0.5"));
        assert_eq!(value(Float, false, "5.").as_deref(), Some("5.0"));
        assert_eq!(value(Float, false, "5.e3").as_deref(), Some("5.0e3"));
        assert_eq!(value(Float, false, "5").as_deref(), Some("5.0"));
        assert_eq!(value(Float, false, "12345678901234567890123").as_deref(), Some("12345678901234567890123.0"));
        assert_eq!(value(Integer, false, "1.0"), None);
    }

    #[test]
    fn a_number_in_a_column_of_whole_numbers_stays_one() {
        let wider = |column_type, cell: &str| {
            let mut out = Vec::new();
            let found = push_wider(&mut out, column_type, cell.as_bytes());
            found.map(|wider| (wider, String::from_utf8(out).unwrap()))
        };
        for (cell, expected) in
            [("2866.0", "2866.0"), ("2866.5", "2866.5"), (".5", "0.5"), ("1e3", "1e3"), ("-5.", "-5.0")]
        {
            assert_eq!(wider(Integer, cell), Some((Float, expected.to_owned())), "{cell}");
        }
        for cell in ["18446744073709551616", "007", "1e400", "x", "", "2024-01-01"] {
            assert_eq!(wider(Integer, cell), None, "{cell}");
        }
        assert_eq!(wider(Date, "2024-01-01 10:00"), Some((Timestamp, "\"2024-01-01T10:00\"".to_owned())));
        assert_eq!(wider(Date, "1"), None);
        assert_eq!(wider(Boolean, "1"), None);
        assert!(is_long_number(b"18446744073709551616") && is_long_number(b"-9223372036854775809"));
        for cell in ["18446744073709551615", "00018446744073709551616", "1.5", "x", ""] {
            assert!(!is_long_number(cell.as_bytes()), "{cell}");
        }
    }

    #[test]
    fn declared_numbers_may_have_zeros_and_a_plus() {
        assert_eq!(value(Integer, false, "007"), None);
        assert_eq!(value(Integer, true, "007").as_deref(), Some("7"));
        assert_eq!(value(Integer, true, "-000").as_deref(), Some("-0"));
        assert_eq!(value(Integer, true, "+5").as_deref(), Some("5"));
        assert_eq!(value(Float, true, "+00.5").as_deref(), Some("0.5"));
        for bad in ["+", "-", "abc", "+-5", "0x1F", "--1"] {
            assert_eq!(value(Integer, true, bad), None, "{bad}");
            assert_eq!(value(Float, true, bad), None, "{bad}");
        }
    }

    #[test]
    fn timestamps_get_a_t_and_keep_their_zone() {
        assert_eq!(value(Timestamp, false, "2024-01-01 10:00+02:00").as_deref(), Some("\"2024-01-01T10:00+02:00\""));
        assert_eq!(value(Timestamp, false, "2024-01-01").as_deref(), Some("\"2024-01-01\""));
        assert_eq!(value(Date, false, "2024-01-01T10:00"), None);
        assert_eq!(value(Boolean, false, "tRue").as_deref(), Some("true"));
    }

    proptest! {
        #[test]
        fn what_fits_is_json_of_the_same_value(cell in "[-+.0-9eE]{1,12}", declared: bool) {
            for column_type in [Integer, Float] {
                if let Some(text) = value(column_type, declared, &cell) {
                    // serde_json decides whether the text is JSON, the standard library gives its
                    // value: serde_json rounds some numbers to a neighbour.
                    prop_assert!(serde_json::from_str::<serde_json::Number>(&text).is_ok(), "{}", text);
                    prop_assert_eq!(text.parse::<f64>().unwrap(), cell.parse::<f64>().unwrap());
                }
            }
        }

        #[test]
        fn a_cell_fits_its_narrowest_type(cell in "\\PC{1,12}|[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.Z+]{0,12}|[-.0-9eE]{1,25}") {
            let text = value(narrowest(cell.as_bytes()), false, &cell);
            prop_assert!(text.is_some_and(|t| serde_json::from_str::<serde_json::Value>(&t).is_ok()));
        }
    }
}
