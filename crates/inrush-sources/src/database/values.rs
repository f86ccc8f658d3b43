//! JSON from the text of databases, by the type of the column.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inrush_formats::json_string::push_escaped;

use super::nested::{array, composite};

/// Kind of a column's values, as far as JSON needs it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// `t` and `f`, or 1 and 0.
    Bool,
    /// A number with all its digits.
    Integer,
    /// A number that gets a `.0` where it is whole, because the first value decides the mapping of
    /// a new index.
    Float,
    /// A number with all its digits.
    Decimal,
    /// JSON as it is.
    Json,
    /// Hexadecimal digits after `\x`. Base64 in JSON.
    Hex,
    /// A date, or a date and a time without a zone.
    DateTime,
    /// A date and a time with its offset from UTC, or in UTC without an offset.
    Moment,
    /// A string.
    Text,
    /// `{1,2}`
    Array(Box<Kind>),
    /// `(1,a)`, an object in JSON.
    Composite(Vec<(String, Kind)>),
}

/// Appends `text` as JSON. It returns false, appends nothing and adds to `no_value` where JSON or a
/// date in an index has no such value: NaN, infinity, years before 1, days that do not exist.
pub(super) fn push_value(kind: &Kind, text: &[u8], out: &mut Vec<u8>, no_value: &mut u64) -> bool {
    let fits = match kind {
        Kind::Bool => {
            out.extend_from_slice(if matches!(text, b"f" | b"0" | b"false") { b"false" } else { b"true" });
            true
        }
        Kind::Integer => push_number(text, out),
        Kind::Decimal => push_number(text, out),
        Kind::Float => {
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
        Kind::DateTime => push_time(text, false, out),
        Kind::Moment => push_time(text, true, out),
        Kind::Text => {
            push_string(text, out);
            true
        }
        Kind::Array(item) => {
            let start = out.len();
            if array(text, item, out, no_value).is_none() {
                out.truncate(start);
                push_string(text, out);
            }
            true
        }
        Kind::Composite(fields) => {
            let start = out.len();
            if composite(text, fields, out, no_value).is_none() {
                out.truncate(start);
                push_string(text, out);
            }
            true
        }
    };
    *no_value += u64::from(!fits);
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

/// Numbers of databases are valid in JSON, except NaN and infinity.
fn push_number(text: &[u8], out: &mut Vec<u8>) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let fits = digits.first().is_some_and(u8::is_ascii_digit);
    if fits {
        out.extend_from_slice(text);
    }
    fits
}

fn from_hex(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    text.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// `2024-01-31 10:00:00.5+00` in ISO 8601. With `moment`, a time without an offset is in UTC.
fn push_time(text: &[u8], moment: bool, out: &mut Vec<u8>) -> bool {
    // `infinity`, `0044-03-15 BC`, `0000-00-00`.
    if !text.first().is_some_and(u8::is_ascii_digit) || text.ends_with(b" BC") || text.starts_with(b"0000-00-00") {
        return false;
    }
    let day_end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    let (day, time) = text.split_at(day_end);
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
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &Kind, text: &str, expected: &str) {
        let (mut out, mut no_value) = (Vec::new(), 0);
        let fits = push_value(kind, text.as_bytes(), &mut out, &mut no_value);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, expected, "{text}");
        assert_eq!((fits, no_value), (!expected.is_empty(), u64::from(expected.is_empty())), "{text}");
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
    fn times_are_iso_8601() {
        check(&Kind::Moment, "2024-01-31 10:00:00.123456+00", "\"2024-01-31T10:00:00.123456Z\"");
        check(&Kind::Moment, "2024-01-31 10:00:00+05", "\"2024-01-31T10:00:00+05:00\"");
        check(&Kind::Moment, "2024-01-31 10:00:00-03:30", "\"2024-01-31T10:00:00-03:30\"");
        check(&Kind::Moment, "2024-01-31 10:00:00", "\"2024-01-31T10:00:00Z\"");
        check(&Kind::DateTime, "2024-01-31 10:00:00", "\"2024-01-31T10:00:00\"");
        check(&Kind::DateTime, "2024-01-31", "\"2024-01-31\"");
        for none in ["infinity", "-infinity", "0044-03-15 BC", "0000-00-00 00:00:00"] {
            check(&Kind::DateTime, none, "");
        }
    }

    #[test]
    fn other_values() {
        check(&Kind::Bool, "t", "true");
        check(&Kind::Bool, "0", "false");
        check(&Kind::Hex, "\\x00ff10", "\"AP8Q\"");
        check(&Kind::Hex, "\\x", "\"\"");
        check(&Kind::Json, "{\"a\":\n [1]}", "{\"a\":  [1]}");
        check(&Kind::Json, "null", "null");
        check(&Kind::Text, "a \"b\"\n", "\"a \\\"b\\\"\\n\"");
    }
}
