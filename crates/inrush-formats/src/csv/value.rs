//! The types of cells, and how cells are written as JSON.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use inrush_core::date_forms::{DayOrder, Moment};
use inrush_core::zone::Zone;
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
    /// `YYYY-MM-DDTHH:MM[:SS[.fraction]][Z|±hh:mm]`, with `T` or a space, and a dot or a comma, or
    /// a date. Written with `T`, a dot and the given zone.
    Timestamp,
    /// Any text.
    String,
    /// A number with a comma before its fraction, as in `1.234,56`. Written with a dot.
    DecimalComma,
    /// As [`ColumnType::Date`], with the day first where day and month are numbers: `3/4/2026`.
    DateDayFirst,
    /// As [`ColumnType::Date`], with the month first.
    DateMonthFirst,
    /// As [`ColumnType::Timestamp`], with the day first.
    TimestampDayFirst,
    /// As [`ColumnType::Timestamp`], with the month first.
    TimestampMonthFirst,
}

/// The names of the types in options.
const NAMES: [(ColumnType, &str); 11] = [
    (ColumnType::String, "string"),
    (ColumnType::Integer, "integer"),
    (ColumnType::Float, "float"),
    (ColumnType::Boolean, "boolean"),
    (ColumnType::Date, "date"),
    (ColumnType::Timestamp, "timestamp"),
    (ColumnType::DecimalComma, "decimal-comma"),
    (ColumnType::DateDayFirst, "date-dmy"),
    (ColumnType::DateMonthFirst, "date-mdy"),
    (ColumnType::TimestampDayFirst, "timestamp-dmy"),
    (ColumnType::TimestampMonthFirst, "timestamp-mdy"),
];

/// Words for true and false in columns that are declared as booleans.
const WORDS: [(&str, &str); 10] = [
    ("1", "0"),
    ("yes", "no"),
    ("y", "n"),
    ("t", "f"),
    ("on", "off"),
    ("ja", "nein"),
    ("j", "n"),
    ("wahr", "falsch"),
    ("oui", "non"),
    ("vrai", "faux"),
];

impl ColumnType {
    /// What cells of this type are called in messages.
    pub(super) fn cells(self) -> &'static str {
        match self {
            ColumnType::Integer => "whole numbers",
            ColumnType::Float => "numbers",
            ColumnType::Boolean => "true or false",
            ColumnType::Date | ColumnType::DateDayFirst | ColumnType::DateMonthFirst => "dates",
            ColumnType::Timestamp | ColumnType::TimestampDayFirst | ColumnType::TimestampMonthFirst => {
                "dates with times"
            }
            ColumnType::DecimalComma => "numbers with a decimal comma",
            ColumnType::String => "text",
        }
    }

    /// Whether a document may write a value differently from its cell: `1` as `1.0`, `TRUE` as
    /// `true`, a `T` between date and time.
    pub fn writes_otherwise(self) -> bool {
        !matches!(self, ColumnType::Integer | ColumnType::Date | ColumnType::String)
    }

    /// Whether it is a date with a time.
    pub fn is_timestamp(self) -> bool {
        matches!(self, ColumnType::Timestamp | ColumnType::TimestampDayFirst | ColumnType::TimestampMonthFirst)
    }

    /// The name in options.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(found, _)| *found == self).map_or("string", |(_, name)| name)
    }

    /// The same type where numbers have a comma before their fraction.
    #[must_use]
    pub fn with_comma(self, is_comma: bool) -> Self {
        if is_comma && self == ColumnType::Float { ColumnType::DecimalComma } else { self }
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
        let found = NAMES.iter().find(|(_, known)| *known == name).map(|(found, _)| *found);
        found.ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|(_, name)| *name).collect();
            format!("unknown column type {name:?}; expected one of {}", known.join(", "))
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
/// match. A cell of a `declared` type may have any form that means one value: numbers a plus sign
/// and leading zeros, booleans other words, and dates those of [`Moment::read`].
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
        ColumnType::Boolean => match boolean(cell).or_else(|| word(cell).filter(|_| declared)) {
            None => return false,
            Some(true) => out.extend_from_slice(b"true"),
            Some(false) => out.extend_from_slice(b"false"),
        },
        ColumnType::Date => {
            if !is_date(cell) {
                return declared && push_moment(out, cell, DayOrder::Unknown, true);
            }
            push_quoted(out, &[cell]);
        }
        ColumnType::Timestamp => match timestamp_separator(cell) {
            // As programs in Python and Java log it. A date of ISO 8601 has a dot for all servers.
            Some(at) if cell.get(COMMA_AT) == Some(&b',') => {
                push_quoted(out, &[&cell[..at], b"T", &cell[at + 1..COMMA_AT], b".", &cell[COMMA_AT + 1..]]);
            }
            Some(at) => push_quoted(out, &[&cell[..at], b"T", &cell[at + 1..]]),
            None if is_date(cell) => push_quoted(out, &[cell]),
            None => return declared && push_moment(out, cell, DayOrder::Unknown, false),
        },
        other => return push_form(out, other, declared, cell),
    }
    true
}

/// Appends a cell that does not match the type as a value of the next wider type. Returns that
/// type, or nothing if the cell does not match it either. `comma`: numbers have one before their
/// fraction.
pub(super) fn push_wider(out: &mut Vec<u8>, column_type: ColumnType, comma: bool, cell: &[u8]) -> Option<ColumnType> {
    let wider = match column_type {
        // A number too long for an integer may well be an id, of which a server would keep 15
        // digits.
        ColumnType::Integer if !is_whole(cell) && !is_address(cell) => ColumnType::Float.with_comma(comma),
        ColumnType::Date => ColumnType::Timestamp,
        _ => return None,
    };
    push_value(out, wider, false, cell).then_some(wider)
}

/// Whether the cell has digits alone, and zeros before the others: a code.
pub(super) fn has_leading_zeros(cell: &[u8]) -> bool {
    is_whole(cell) && !is_integer(cell) && float_shape(cell).is_none()
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

/// Appends a value of a type whose cells have another form than JSON's and ISO 8601's.
#[inline(never)]
fn push_form(out: &mut Vec<u8>, column_type: ColumnType, declared: bool, cell: &[u8]) -> bool {
    match column_type {
        ColumnType::DateDayFirst => push_moment(out, cell, DayOrder::DayFirst, true),
        ColumnType::DateMonthFirst => push_moment(out, cell, DayOrder::MonthFirst, true),
        ColumnType::TimestampDayFirst => push_moment(out, cell, DayOrder::DayFirst, false),
        ColumnType::TimestampMonthFirst => push_moment(out, cell, DayOrder::MonthFirst, false),
        _ => with_dot(cell).is_some_and(|number| push_value(out, ColumnType::Float, declared, &number)),
    }
}

/// A word for true or false.
fn word(cell: &[u8]) -> Option<bool> {
    let is = |word: &str| cell.eq_ignore_ascii_case(word.as_bytes());
    let yes = WORDS.iter().any(|(yes, _)| is(yes));
    (yes || WORDS.iter().any(|(_, no)| is(no))).then_some(yes)
}

/// Appends a date, or a date with its time.
fn push_moment(out: &mut Vec<u8>, cell: &[u8], order: DayOrder, is_date: bool) -> bool {
    let moment = std::str::from_utf8(cell).ok().and_then(|text| Moment::read(text, order));
    let Some(moment) = moment.filter(|moment| !is_date || moment.is_day()) else { return false };
    let text = if is_date { moment.day() } else { moment.iso() };
    push_quoted(out, &[text.as_bytes()]);
    true
}

/// Appends a time with the zone that its cell names, or else with this one.
pub(crate) fn push_in_zone(out: &mut Vec<u8>, column_type: ColumnType, zone: &Zone, cell: &[u8]) -> bool {
    let order = match column_type {
        ColumnType::TimestampDayFirst => DayOrder::DayFirst,
        ColumnType::TimestampMonthFirst => DayOrder::MonthFirst,
        _ => DayOrder::Unknown,
    };
    let moment = std::str::from_utf8(cell).ok().and_then(|text| Moment::read(text, order));
    let Some(moment) = moment.and_then(|moment| moment.in_zone(zone)) else { return false };
    push_quoted(out, &[moment.iso().as_bytes()]);
    true
}

/// What may stand between groups of three digits: a dot, a blank, an apostrophe, and blanks that no
/// line ends at.
const BETWEEN: [&[u8]; 5] = [b".", b" ", b"'", "\u{a0}".as_bytes(), "\u{202f}".as_bytes()];

/// The number of a cell with a comma before its fraction, with a dot instead: `1.234,5` is
/// `1234.5`. `None` if it is none, as `0.815`: the first of several groups does not begin with a
/// zero.
fn with_dot(cell: &[u8]) -> Option<Vec<u8>> {
    let (whole, fraction) = match cell.iter().position(|byte| *byte == b',') {
        Some(at) => (&cell[..at], Some(&cell[at + 1..])),
        None => (cell, None),
    };
    let mut number = Vec::with_capacity(cell.len());
    let sign = whole.iter().take_while(|byte| matches!(byte, b'-' | b'+')).count();
    let (sign, mut rest) = whole.split_at(sign);
    number.extend_from_slice(sign);
    let between = BETWEEN.iter().find(|between| rest.windows(between.len()).any(|part| part == **between));
    if let Some(between) = between {
        let first = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=3).contains(&first) || rest[0] == b'0' {
            return None;
        }
        number.extend_from_slice(&rest[..first]);
        rest = &rest[first..];
        while !rest.is_empty() {
            let digits = rest.strip_prefix(*between)?.get(..3)?;
            number.extend_from_slice(digits);
            rest = &rest[between.len() + 3..];
        }
    } else {
        number.extend_from_slice(rest);
    }
    if let Some(fraction) = fraction {
        number.push(b'.');
        number.extend_from_slice(fraction);
    }
    // Exponents and words are other things.
    let is_number = number[sign.len()..].iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    (is_number && number.len() > sign.len()).then_some(number)
}

/// Appends a whole number with something between its groups of digits, without it: `1.234` is
/// `1234` where numbers have a comma before their fraction. Returns `false` for every other cell.
pub(super) fn push_groups(out: &mut Vec<u8>, cell: &[u8]) -> bool {
    let may_be = matches!(cell.first(), Some(b'-' | b'0'..=b'9')) && !cell.contains(&b',') && !is_address(cell);
    let number = if may_be { with_dot(cell) } else { None };
    let Some(number) = number.filter(|number| is_integer(number)) else { return false };
    out.extend_from_slice(&number);
    true
}

/// As [`push_groups`], for cells of a column without a declared type. Only dots are between groups:
/// digits with blanks may well be an id.
pub(super) fn push_dotted(out: &mut Vec<u8>, cell: &[u8]) -> bool {
    cell.iter().all(|byte| matches!(byte, b'-' | b'.' | b'0'..=b'9')) && push_groups(out, cell)
}

/// Whether the cell is an address of IPv4, as `192.168.178.100`: four numbers up to 255, which have
/// no zeros before them.
fn is_address(cell: &[u8]) -> bool {
    std::str::from_utf8(cell).is_ok_and(|text| text.parse::<Ipv4Addr>().is_ok())
}

/// As [`narrowest`], where numbers have a comma before their fraction. A dot is between groups of
/// digits then: `1.234` is a whole number, and `1.5` is text.
pub(super) fn narrowest_with_comma(cell: &[u8]) -> ColumnType {
    match narrowest(cell) {
        ColumnType::Float | ColumnType::String if push_dotted(&mut Vec::new(), cell) => ColumnType::Integer,
        ColumnType::Float => ColumnType::String,
        ColumnType::String if cell.contains(&b',') && is_comma_number(cell) => ColumnType::DecimalComma,
        other => other,
    }
}

/// Whether a cell is a number in a column of numbers with a comma.
pub(super) fn is_comma_number(cell: &[u8]) -> bool {
    push_value(&mut Vec::new(), ColumnType::DecimalComma, false, cell)
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
pub fn is_date(cell: &[u8]) -> bool {
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

/// The position of a comma before a fraction of a second.
const COMMA_AT: usize = "YYYY-MM-DD HH:MM:SS".len();

/// The position of the `T` or the space in `YYYY-MM-DD[T ]HH:MM[:SS[.fraction]][Z|±hh:mm]`, with
/// fractions of up to nine digits, after a dot or a comma.
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
        if let [b'.' | b',', after @ ..] = rest {
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
            ("2015-06-01 15:56:39,213", Timestamp),
            ("2015-06-01T15:56:39,213456789Z", Timestamp),
            ("2015-06-01 15:56:39,", TEXT),
            ("2015-06-01 15:56,213", TEXT),
            ("2015-06-01,213", TEXT),
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
            let found = push_wider(&mut out, column_type, false, cell.as_bytes());
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
    fn a_number_with_a_comma_in_a_column_of_whole_numbers_stays_what_it_is() {
        use ColumnType::DecimalComma;
        let wider = |column_type, cell: &str| {
            let mut out = Vec::new();
            let found = push_wider(&mut out, column_type, true, cell.as_bytes());
            found.map(|wider| (wider, String::from_utf8(out).unwrap()))
        };
        for (cell, expected) in [("1,5", "1.5"), ("-1.234,5", "-1234.5")] {
            assert_eq!(wider(Integer, cell), Some((DecimalComma, expected.to_owned())), "{cell}");
        }
        for cell in ["1.5", "0.815", "1e3", "007", "18446744073709551616", "192.168.178.100", "x"] {
            assert_eq!(wider(Integer, cell), None, "{cell}");
        }
        assert_eq!(wider(Date, "2024-01-01 10:00"), Some((Timestamp, "\"2024-01-01T10:00\"".to_owned())));
    }

    #[test]
    fn a_whole_number_with_groups_of_digits_is_a_whole_number_where_numbers_have_a_comma() {
        for (cell, expected) in [
            ("1.234", Some("1234")),
            ("-12.345.678", Some("-12345678")),
            ("1.234.567.890", Some("1234567890")),
            ("1.001.002.003", Some("1001002003")),
            ("1.2345", None),
            ("0.815", None),
            ("1,234", None),
            ("18.446.744.073.709.551.616", None),
            ("1.234 567", None),
            ("10.0.0.1", None),
            ("192.168.178.100", None),
        ] {
            let mut out = Vec::new();
            let pushed = push_dotted(&mut out, cell.as_bytes());
            assert_eq!(pushed.then(|| String::from_utf8(out).unwrap()).as_deref(), expected, "{cell}");
            assert_eq!(narrowest_with_comma(cell.as_bytes()) == Integer, expected.is_some(), "{cell}");
        }
        // Only a declared number has them.
        for (cell, expected) in [("1'234", "1234"), ("732 829 320", "732829320"), ("12\u{202f}345", "12345")] {
            let mut out = Vec::new();
            assert!(push_groups(&mut out, cell.as_bytes()) && out == expected.as_bytes(), "{cell}");
            assert!(!push_dotted(&mut Vec::new(), cell.as_bytes()), "{cell}");
            assert_eq!(narrowest_with_comma(cell.as_bytes()), TEXT, "{cell}");
        }
        assert!(!push_groups(&mut Vec::new(), b"192.168.178.100"));
        assert!(has_leading_zeros(b"01067") && has_leading_zeros(b"-007"));
        assert!(
            !["0", "10", "0.5", "18446744073709551616", "00x", ""]
                .iter()
                .any(|cell| has_leading_zeros(cell.as_bytes()))
        );
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
    fn a_decimal_comma_is_a_dot_in_the_document() {
        use ColumnType::DecimalComma;
        for (cell, expected) in [
            ("1,5", Some("1.5")),
            ("-1.234,56", Some("-1234.56")),
            ("1.234.567", Some("1234567.0")),
            ("12 345,6", Some("12345.6")),
            ("12\u{a0}345\u{202f}678", None),
            ("12\u{202f}345\u{202f}678,9", Some("12345678.9")),
            ("1'234'567,8", Some("1234567.8")),
            ("7", Some("7.0")),
            (",5", Some("0.5")),
            ("5,", Some("5.0")),
            ("+1,5", None),
            ("007,5", None),
            ("1.5", None),
            ("0.815", None),
            ("-0.815", None),
            ("012.345,6", None),
            ("0 815", None),
            ("0,815", Some("0.815")),
            ("12.34,5", None),
            ("1234.567,8", None),
            ("1,2,3", None),
            ("1,5e3", None),
            ("1e3", None),
            ("1.234 567,8", None),
            ("", None),
            (",", None),
            ("-", None),
            ("NaN", None),
            ("1,5 €", None),
        ] {
            assert_eq!(value(DecimalComma, false, cell).as_deref(), expected, "{cell}");
        }
        assert_eq!(value(DecimalComma, true, "+007,50").as_deref(), Some("7.50"));
        for cell in ["0.815", "+0.815", "00.815,5"] {
            assert_eq!(value(DecimalComma, true, cell), None, "{cell}: is the dot a decimal point?");
            assert_eq!(narrowest_with_comma(cell.as_bytes()), TEXT, "{cell}");
        }
    }

    #[test]
    fn declared_booleans_have_words_of_several_languages() {
        for cell in ["true", "TRUE", "1", "yes", "Y", "T", "on", "Ja", "j", "WAHR", "oui", "vrai"] {
            assert_eq!(value(Boolean, true, cell).as_deref(), Some("true"), "{cell}");
        }
        for cell in ["false", "0", "no", "N", "f", "Off", "nein", "FALSCH", "non", "faux"] {
            assert_eq!(value(Boolean, true, cell).as_deref(), Some("false"), "{cell}");
        }
        for cell in ["", "2", "maybe", "ye", "10", "wah", "01"] {
            assert_eq!(value(Boolean, true, cell), None, "{cell}");
        }
        assert_eq!(value(Boolean, false, "ja"), None, "an undeclared column has no words");
    }

    #[test]
    fn declared_dates_have_any_form_that_means_one_day() {
        use ColumnType::{DateDayFirst, DateMonthFirst, TimestampDayFirst, TimestampMonthFirst};
        for (column_type, cell, expected) in [
            (Date, "31.12.2025", Some("2025-12-31")),
            (Date, "31.12.2025 00:00:00", Some("2025-12-31")),
            (Date, "2025/12/31", Some("2025-12-31")),
            (Date, "31 Dec 2025", Some("2025-12-31")),
            (Date, "31.12.2025 10:00", None),
            (Date, "3/4/2026", None),
            (Date, "32.12.2025", None),
            (DateDayFirst, "3/4/2026", Some("2026-04-03")),
            (DateMonthFirst, "3/4/2026", Some("2026-03-04")),
            (DateMonthFirst, "13/4/2026", None),
            (Timestamp, "31.12.2025 13:55", Some("2025-12-31T13:55:00")),
            (Timestamp, "28/Nov/2025:13:55:36 +0100", Some("2025-11-28T13:55:36+01:00")),
            (Timestamp, "1764334536", Some("2025-11-28T12:55:36Z")),
            (Timestamp, "1764334536000", Some("2025-11-28T12:55:36Z")),
            (Timestamp, "2025-11-28 13:55:36", Some("2025-11-28T13:55:36")),
            (Timestamp, "soon", None),
            (TimestampDayFirst, "3/4/2026 1:02 PM", Some("2026-04-03T13:02:00")),
            (TimestampMonthFirst, "3/4/2026 13:02", Some("2026-03-04T13:02:00")),
        ] {
            let expected = expected.map(|text| format!("\"{text}\""));
            assert_eq!(value(column_type, true, cell), expected, "{cell}");
        }
        assert_eq!(value(Date, false, "31.12.2025"), None, "an undeclared column has one form");
        assert_eq!(value(Timestamp, false, "1764334536"), None);
    }

    #[test]
    fn a_time_without_a_zone_gets_the_one_that_is_given() {
        use ColumnType::{TimestampDayFirst, TimestampMonthFirst};
        let zone = "Europe/Paris".parse().unwrap();
        for (column_type, cell, expected) in [
            (Timestamp, "2024-07-01 10:00", Some("2024-07-01T10:00:00+02:00")),
            (Timestamp, "2024-07-01T10:00:00,5", Some("2024-07-01T10:00:00.500+02:00")),
            (Timestamp, "2024-07-01 10:00Z", Some("2024-07-01T10:00:00Z")),
            (Timestamp, "1.12.2024 10:00", Some("2024-12-01T10:00:00+01:00")),
            (Timestamp, "3/4/2026 10:00", None),
            (TimestampDayFirst, "3/4/2026 10:00", Some("2026-04-03T10:00:00+02:00")),
            (TimestampMonthFirst, "3/4/2026 10:00", Some("2026-03-04T10:00:00+01:00")),
            (Timestamp, "2025-03-30 02:30", None),
            (Timestamp, "soon", None),
        ] {
            let mut out = Vec::new();
            let pushed = push_in_zone(&mut out, column_type, &zone, cell.as_bytes());
            let expected = expected.map(|text| format!("\"{text}\""));
            assert_eq!(pushed.then(|| String::from_utf8(out).unwrap()), expected, "{cell}");
        }
    }

    #[test]
    fn types_have_the_names_of_the_option() {
        for (column_type, name) in NAMES {
            assert_eq!((name.parse(), column_type.to_string().as_str()), (Ok(column_type), name));
        }
        assert!("money".parse::<ColumnType>().unwrap_err().contains("expected one of string, integer, float"));
    }

    #[test]
    fn timestamps_get_a_t_and_keep_their_zone() {
        assert_eq!(value(Timestamp, false, "2024-01-01 10:00+02:00").as_deref(), Some("\"2024-01-01T10:00+02:00\""));
        assert_eq!(value(Timestamp, false, "2024-01-01").as_deref(), Some("\"2024-01-01\""));
        for (cell, expected) in [
            ("2015-06-01 15:56:39,213", "\"2015-06-01T15:56:39.213\""),
            ("2015-06-01T15:56:39,5Z", "\"2015-06-01T15:56:39.5Z\""),
            ("2015-06-01 15:56:39,213456+02:00", "\"2015-06-01T15:56:39.213456+02:00\""),
        ] {
            assert_eq!(value(Timestamp, false, cell).as_deref(), Some(expected));
        }
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
