//! A JSON value as a tree, and the text that the servers write of it.
//!
//! Source: RFC 8259; the documentation of `Double.toString` in Java from 19 on.

use std::borrow::Cow;

use crate::fields::json::{Malformed, Reader, Scalar};

/// A member of an object.
pub(super) type Member<'a> = (Cow<'a, str>, Json<'a>);
/// The members of an object, in their order.
pub(super) type Members<'a> = Vec<Member<'a>>;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'a> {
    Object(Members<'a>),
    Array(Vec<Json<'a>>),
    Scalar(Scalar<'a>),
}

impl<'a> Json<'a> {
    /// Reads a value.
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        match reader.peek() {
            b'{' => {
                reader.open(b'{')?;
                let mut members = Vec::new();
                while reader.more(members.is_empty(), b'}')? {
                    let name = reader.name()?;
                    members.push((name, Self::read(reader)?));
                }
                Ok(Self::Object(members))
            }
            b'[' => {
                reader.open(b'[')?;
                let mut elements = Vec::new();
                while reader.more(elements.is_empty(), b']')? {
                    elements.push(Self::read(reader)?);
                }
                Ok(Self::Array(elements))
            }
            _ => reader.scalar().map(Self::Scalar),
        }
    }

    /// Whether it is an object or an array with nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Object(members) => members.is_empty(),
            Self::Array(elements) => elements.is_empty(),
            Self::Scalar(_) => false,
        }
    }

    /// Writes it as the servers do.
    pub(super) fn write(&self, escapes_pairs: bool, out: &mut Vec<u8>) {
        match self {
            Self::Object(members) => {
                out.push(b'{');
                for (at, (name, value)) in members.iter().enumerate() {
                    out.extend(if at > 0 { &b","[..] } else { b"" });
                    write_text(name, escapes_pairs, out);
                    out.push(b':');
                    value.write(escapes_pairs, out);
                }
                out.push(b'}');
            }
            Self::Array(elements) => {
                out.push(b'[');
                for (at, value) in elements.iter().enumerate() {
                    out.extend(if at > 0 { &b","[..] } else { b"" });
                    value.write(escapes_pairs, out);
                }
                out.push(b']');
            }
            Self::Scalar(Scalar::Null) => out.extend(b"null"),
            Self::Scalar(Scalar::Bool(is)) => out.extend(is.to_string().as_bytes()),
            Self::Scalar(Scalar::Number(number)) => out.extend(number_of(number).as_bytes()),
            Self::Scalar(Scalar::Text(text)) => write_text(text, escapes_pairs, out),
        }
    }
}

/// The number that the servers write of one. A whole number keeps its digits.
fn number_of(number: &str) -> Cow<'_, str> {
    match number {
        "-0" => Cow::Borrowed("0"),
        whole if !whole.contains(['.', 'e', 'E']) => Cow::Borrowed(whole),
        // The reader takes none that Rust does not.
        decimal => Cow::Owned(java_double(decimal.parse().unwrap_or_default())),
    }
}

/// The text that Java writes of a number of 64 bits; in quotes if it is too great for one.
pub(super) fn java_double(number: f64) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let number = number.abs();
    if number.is_infinite() {
        return format!("\"{sign}Infinity\"");
    }
    let shortest = nearest(number);
    let two = format!("{number:.1e}");
    // Java takes two digits where one is enough, and those that are nearest.
    let digits = if !shortest.contains('.') && two.parse() == Ok(number) { two } else { shortest };
    let (digits, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if number == 0.0 || (-3..7).contains(&exponent) {
        return format!("{sign}{number:?}");
    }
    let zero = if digits.contains('.') { "" } else { ".0" };
    format!("{sign}{digits}{zero}E{exponent}")
}

/// The fewest digits that say a number, in the form `1.5e3`. Of two that are equally near, Java
/// takes the even one, and Rust the greater one.
fn nearest(number: f64) -> String {
    let shortest = format!("{number:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let Some(last @ (b'1' | b'3' | b'5' | b'7' | b'9')) = digits.bytes().last() else { return shortest };
    let even = format!("{}{}e{exponent}", &digits[..digits.len() - 1], char::from(last - 1));
    // No number has more digits.
    let is_half = || {
        let exact = format!("{number:.767e}");
        let (exact, _) = exact.split_once('e').unwrap_or_default();
        exact.get(digits.len()..).is_some_and(|rest| rest.trim_end_matches('0') == "5")
    };
    if even.parse() == Ok(number) && is_half() { even } else { shortest }
}

/// Writes a text in quotes. With `escapes_pairs` characters of two units of UTF-16 are two escapes.
fn write_text(text: &str, escapes_pairs: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' => out.extend(b"\\\""),
            '\\' => out.extend(b"\\\\"),
            '\u{8}' => out.extend(b"\\b"),
            '\u{c}' => out.extend(b"\\f"),
            '\n' => out.extend(b"\\n"),
            '\r' => out.extend(b"\\r"),
            '\t' => out.extend(b"\\t"),
            '\u{10000}'.. if !escapes_pairs => out.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
            '\0'..' ' | '\u{10000}'.. => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend(format!("\\u{unit:04X}").as_bytes());
                }
            }
            c => out.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::java_double;

    #[test]
    fn numbers_are_written_as_java_writes_them() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.001, "0.001"),
            (0.00099, "9.9E-4"),
            (9_999_999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (123_456_789.125, "1.23456789125E8"),
            (1e23, "1.0E23"),
            (2e23, "2.0E23"),
            (5e-324, "4.9E-324"),
            (2e-323, "2.0E-323"),
            (-1.5e-10, "-1.5E-10"),
            (f64::MAX, "1.7976931348623157E308"),
            (-891_173_591_639_357.0 / 8.0, "-1.1139669895491962E14"),
            (7_129_388_733_114_855.0 / 64.0, "1.1139669895491961E14"),
            (2.5, "2.5"),
            (f64::INFINITY, "\"Infinity\""),
            (-f64::INFINITY, "\"-Infinity\""),
        ] {
            assert_eq!(java_double(number), text);
        }
    }
}
