//! JSON from the text of databases, by the type of the column.

mod nested;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inrush_formats::csv::is_date;
use inrush_formats::json_string::push_escaped;

use nested::{array, composite};

/// Kind of a column's values, as far as JSON needs it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// `t` and `f`, or these words.
    Bool,
    /// A number that is true or false where it is 1 or 0. Another one stays a number, because the
    /// type of the column is known before its values.
    Flag,
    /// A number with all its digits.
    Integer,
    /// A number that gets a `.0` where it is whole, because the first value decides the mapping of
    /// a new index: of a type of floats, or of decimals without a scale.
    Float,
    /// A decimal with all its digits. All values of its column have the same number of them behind
    /// the point.
    Decimal,
    /// JSON as it is.
    Json,
    /// Hexadecimal digits after `\x`. Base64 in JSON.
    Hex,
    /// A date, or a date and a time without a zone.
    DateTime,
    /// A date and a time with its offset from UTC, or in UTC without an offset.
    Moment,
    /// One of these two as the database writes it, for a field whose format has a blank.
    SpacedTime,
    /// A string.
    Text,
    /// `{1,2}`
    Array(Box<Kind>),
    /// `(1,a)`, an object in JSON.
    Composite(Vec<(String, Kind)>),
}

/// What is noted of the values of a column, and how they are written beside their kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Noted {
    /// Values that JSON or an index cannot represent.
    pub(super) no_value: u64,
    /// Numbers in a column of true and false.
    pub(super) numbers: u64,
    /// Fractions in a field for whole numbers.
    pub(super) fractions: u64,
    /// Whether the field is for whole numbers.
    pub(super) whole: bool,
    /// Whether a missing member of a composite value is a `null`. If not, it is left out.
    pub(super) nulls: bool,
}

impl Noted {
    /// Counts a fraction of a number that the field has no room for.
    #[inline]
    pub(super) fn note_fraction(&mut self, number: &[u8]) {
        self.fractions += u64::from(self.whole && has_fraction(number));
    }
}

/// Appends `text` as JSON. It returns false, appends nothing and counts it in `noted` where JSON or
/// a date in an index has no such value: NaN, infinity, days that do not exist, years before 1 and
/// after 9999.
pub(super) fn push_value(kind: &Kind, text: &[u8], out: &mut Vec<u8>, noted: &mut Noted) -> bool {
    let fits = match kind {
        Kind::Bool => {
            out.extend_from_slice(if matches!(text, b"f" | b"false") { b"false" } else { b"true" });
            true
        }
        Kind::Flag if matches!(text, b"0" | b"1") => {
            out.extend_from_slice(if text == b"0" { b"false" } else { b"true" });
            true
        }
        Kind::Flag => {
            noted.numbers += 1;
            push_number(text, out)
        }
        Kind::Integer => push_number(text, out),
        Kind::Decimal => {
            noted.note_fraction(text);
            push_number(text, out)
        }
        Kind::Float => {
            noted.note_fraction(text);
            let fits = push_number(text, out);
            if fits && !text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
                out.extend_from_slice(b".0");
            }
            fits
        }
        Kind::Json => {
            // A line end is white space in JSON, and the end of the document in a bulk request.
            out.extend(text.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
            !text.is_empty()
        }
        Kind::Hex => {
            push_base64(&from_hex(text.strip_prefix(b"\\x").unwrap_or(text)), out);
            true
        }
        Kind::DateTime | Kind::Moment | Kind::SpacedTime if !is_time(text) => false,
        Kind::DateTime => {
            push_time(text, false, out);
            true
        }
        Kind::Moment => {
            push_time(text, true, out);
            true
        }
        Kind::Text | Kind::SpacedTime => {
            push_string(text, out);
            true
        }
        Kind::Array(item) => {
            let start = out.len();
            if array(text, item, out, noted).is_none() {
                out.truncate(start);
                push_string(text, out);
            }
            true
        }
        Kind::Composite(fields) => {
            let start = out.len();
            if composite(text, fields, out, noted).is_none() {
                out.truncate(start);
                push_string(text, out);
            }
            true
        }
    };
    noted.no_value += u64::from(!fits);
    fits
}

pub(super) fn push_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}

pub(super) fn push_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.push(b'"');
}

/// Numbers of databases are valid in JSON, except NaN, infinity, and the zeros of `ZEROFILL` and of
/// the year 0000, which are left out.
fn push_number(text: &[u8], out: &mut Vec<u8>) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    match digits {
        [b'0', b'0'..=b'9', ..] => {
            out.extend_from_slice(&text[..text.len() - digits.len()]);
            out.extend_from_slice(without_zeros(digits));
        }
        [b'0'..=b'9', ..] => out.extend_from_slice(text),
        _ => return false,
    }
    true
}

/// Digits without the zeros before them.
pub(super) fn without_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|byte| **byte == b'0').count();
    // One zero stays where no other digit follows.
    if digits.get(zeros).is_some_and(u8::is_ascii_digit) {
        &digits[zeros..]
    } else {
        &digits[zeros.saturating_sub(1)..]
    }
}

/// Whether a number has a fraction that is not zero. One with a negative exponent counts as one.
fn has_fraction(text: &[u8]) -> bool {
    let mut behind = text.iter().skip_while(|byte| !matches!(byte, b'.' | b'e' | b'E'));
    match behind.next() {
        Some(b'.') => behind.any(|byte| matches!(byte, b'1'..=b'9' | b'-')),
        Some(_) => behind.next() == Some(&b'-'),
        None => false,
    }
}

fn from_hex(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    text.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// Length of `2024-01-31`.
const DAY: usize = 10;

/// Whether the text begins with a day that an index can store. Others are `infinity`,
/// `0044-03-15 BC`, `10000-01-01`, `0000-00-00` and `2024-05-00`.
#[inline]
pub(super) fn is_time(text: &[u8]) -> bool {
    let Some((day, time)) = text.split_at_checked(DAY) else { return false };
    matches!(time.first(), None | Some(b' ')) && is_date(day) && !day.starts_with(b"0000") && !time.ends_with(b" BC")
}

/// `2024-01-31 10:00:00.5+00` in ISO 8601, for a text that [`is_time`]. With `moment`, a time
/// without an offset is in UTC.
fn push_time(text: &[u8], moment: bool, out: &mut Vec<u8>) {
    let (day, time) = text.split_at(DAY.min(text.len()));
    out.push(b'"');
    out.extend_from_slice(day);
    if let Some(time) = time.strip_prefix(b" ") {
        let zone = time.iter().position(|byte| matches!(byte, b'+' | b'-')).unwrap_or(time.len());
        let (time, zone) = time.split_at(zone);
        out.push(b'T');
        out.extend_from_slice(time);
        match zone {
            b"" if moment => out.push(b'Z'),
            b"+00" | b"+00:00" => out.push(b'Z'),
            zone => {
                out.extend_from_slice(zone);
                if zone.len() == 3 {
                    out.extend_from_slice(b":00");
                }
            }
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &Kind, text: &str, expected: &str) {
        let (mut out, mut noted) = (Vec::new(), Noted::default());
        let fits = push_value(kind, text.as_bytes(), &mut out, &mut noted);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, expected, "{text}");
        assert_eq!((fits, noted.no_value), (!expected.is_empty(), u64::from(expected.is_empty())), "{text}");
        if fits {
            serde_json::from_str::<serde_json::Value>(&out).unwrap_or_else(|e| panic!("{out}: {e}"));
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        check(&Kind::Integer, "-9223372036854775808", "-9223372036854775808");
        check(&Kind::Decimal, "123456789012345678901234567890.1234567890", "123456789012345678901234567890.1234567890");
        check(&Kind::Decimal, "5", "5");
        check(&Kind::Float, "5", "5.0");
        check(&Kind::Float, "-1e-07", "-1e-07");
        for none in ["NaN", "Infinity", "-Infinity"] {
            check(&Kind::Float, none, "");
            check(&Kind::Decimal, none, "");
        }
    }

    #[test]
    fn zeros_before_a_number_are_left_out() {
        check(&Kind::Integer, "00042", "42");
        check(&Kind::Integer, "0000", "0");
        check(&Kind::Integer, "-007", "-7");
        check(&Kind::Integer, "0", "0");
        check(&Kind::Decimal, "0001.50", "1.50");
        check(&Kind::Decimal, "0000.50", "0.50");
        check(&Kind::Float, "00000002.5", "2.5");
        check(&Kind::Float, "0000", "0.0");
        check(&Kind::Float, "-0", "-0.0");
    }

    #[test]
    fn true_and_false_are_1_and_0_and_other_numbers_stay() {
        let mut noted = Noted::default();
        let mut out = Vec::new();
        for text in ["0", "1", "5", "-1"] {
            assert!(push_value(&Kind::Flag, text.as_bytes(), &mut out, &mut noted));
            out.push(b' ');
        }
        assert_eq!(String::from_utf8(out).unwrap(), "false true 5 -1 ");
        assert_eq!(noted.numbers, 2);
    }

    #[test]
    fn fractions_in_a_field_for_whole_numbers_are_counted() {
        let mut noted = Noted { whole: true, ..Noted::default() };
        for text in ["5", "5.0", "5.50", "1e-7", "1e7", "1.5e3", "-0.25"] {
            push_value(&Kind::Float, text.as_bytes(), &mut Vec::new(), &mut noted);
        }
        push_value(&Kind::Decimal, b"1.01", &mut Vec::new(), &mut noted);
        assert_eq!(noted.fractions, 5);
    }

    #[test]
    fn times_are_iso_8601() {
        check(&Kind::Moment, "2024-01-31 10:00:00.123456+00", "\"2024-01-31T10:00:00.123456Z\"");
        check(&Kind::Moment, "2024-01-31 10:00:00+05", "\"2024-01-31T10:00:00+05:00\"");
        check(&Kind::Moment, "2024-01-31 10:00:00-03:30", "\"2024-01-31T10:00:00-03:30\"");
        check(&Kind::Moment, "2024-01-31 10:00:00", "\"2024-01-31T10:00:00Z\"");
        check(&Kind::DateTime, "2024-01-31 10:00:00", "\"2024-01-31T10:00:00\"");
        check(&Kind::DateTime, "2024-01-31", "\"2024-01-31\"");
        check(&Kind::DateTime, "0001-01-01", "\"0001-01-01\"");
        check(&Kind::DateTime, "9999-12-31 23:59:59.999999", "\"9999-12-31T23:59:59.999999\"");
        check(&Kind::SpacedTime, "2024-01-31 10:00:00", "\"2024-01-31 10:00:00\"");
        for none in [
            "infinity",
            "-infinity",
            "0044-03-15 BC",
            "0044-03-15 10:00:00 BC",
            "10000-01-01",
            "0000-00-00 00:00:00",
            "0000-00-00",
            "1999-05-00",
            "2024-00-00 10:00:00",
            "2024-00-12",
            "0000-01-12",
            "2023-02-29",
        ] {
            for kind in [Kind::DateTime, Kind::Moment, Kind::SpacedTime] {
                check(&kind, none, "");
            }
        }
    }

    #[test]
    fn other_values() {
        check(&Kind::Bool, "t", "true");
        check(&Kind::Bool, "f", "false");
        check(&Kind::Bool, "false", "false");
        check(&Kind::Hex, "\\x00ff10", "\"AP8Q\"");
        check(&Kind::Hex, "\\x", "\"\"");
        check(&Kind::Json, "{\"a\":\n [1]}", "{\"a\":  [1]}");
        check(&Kind::Json, "null", "null");
        check(&Kind::Text, "a \"b\"\n", "\"a \\\"b\\\"\\n\"");
    }
}
