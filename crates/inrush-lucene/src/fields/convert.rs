//! From a value of a document to what its field indexes.

use std::borrow::Cow;

use crate::analysis::{Analyzer, Normalizer, Unread};
use crate::fields::composed::{Range, Suggestion};
use crate::fields::dates::{Formats, Moment};
use crate::fields::field::{Field, Kind};
use crate::fields::json::Scalar;
use crate::fields::refused::{Refused, TERM_MAX};
use crate::fields::shapes::Shape;
use crate::fields::target::{KnownProduct, ServerVersion};
use crate::fields::values;

/// A value as its field has it; the number of the field is beside it.
#[derive(Debug, Clone)]
pub(crate) enum Indexable<'a> {
    Number(i64),
    /// A number, and the text that is stored of it.
    Written(i64, Box<str>),
    Address(u128),
    Term(Cow<'a, str>),
    Text(Cow<'a, str>),
    Bytes(Vec<u8>),
    /// A term with a weight.
    Feature(Cow<'a, str>, u32),
    Range(Box<Range>),
    Suggestion(Box<Suggestion>),
    Shape(Box<Shape>),
    /// The id of the document, as a term.
    OwnId,
    /// Nothing, but a query for existence finds it.
    Exists,
}

impl Indexable<'_> {
    pub(crate) fn into_owned(self) -> Indexable<'static> {
        match self {
            Indexable::Number(number) => Indexable::Number(number),
            Indexable::Written(number, text) => Indexable::Written(number, text),
            Indexable::Address(address) => Indexable::Address(address),
            Indexable::Term(term) => Indexable::Term(Cow::Owned(term.into_owned())),
            Indexable::Text(text) => Indexable::Text(Cow::Owned(text.into_owned())),
            Indexable::Bytes(bytes) => Indexable::Bytes(bytes),
            Indexable::Feature(term, weight) => Indexable::Feature(Cow::Owned(term.into_owned()), weight),
            Indexable::Range(range) => Indexable::Range(range),
            Indexable::Suggestion(suggestion) => Indexable::Suggestion(suggestion),
            Indexable::Shape(shape) => Indexable::Shape(shape),
            Indexable::OwnId => Indexable::OwnId,
            Indexable::Exists => Indexable::Exists,
        }
    }
}

/// Whether a value stands for none.
pub(crate) fn is_null(scalar: &Scalar, field: &Field) -> bool {
    match scalar {
        Scalar::Null => true,
        Scalar::Text(text) => text.is_empty() && field.coerce && field.kind.is_number(),
        _ => false,
    }
}

/// What a field makes of a value; nothing of one that it leaves out.
pub(crate) fn convert<'a>(
    scalar: &Scalar<'a>,
    field: &Field,
    target: ServerVersion,
) -> Result<Option<Indexable<'a>>, Refused> {
    if field.is_unread() {
        return Ok(None);
    }
    if !is_null(scalar, field) {
        return value(scalar, field, target);
    }
    let instead = match &field.null_value {
        None => return Ok(None),
        Some(serde_json::Value::Bool(value)) => Scalar::Bool(*value),
        Some(serde_json::Value::String(text)) => Scalar::Text(Cow::Owned(text.clone())),
        Some(other) => Scalar::Text(Cow::Owned(other.to_string())),
    };
    value(&instead, &Field { coerce: true, ..field.clone() }, target)
}

fn value<'a>(scalar: &Scalar<'a>, field: &Field, target: ServerVersion) -> Result<Option<Indexable<'a>>, Refused> {
    let product = target.product;
    let wrong = |expected| Refused::Value { field: field.name.clone(), type_name: field.type_name.clone(), expected };
    let coerce = field.coerce;
    let number = |number: Option<i64>, expected| {
        number.map(|number| Some(Indexable::Number(number))).ok_or_else(|| wrong(expected))
    };
    const DATE: &str = "a date of its formats";
    match &field.kind {
        Kind::Whole { least, most, .. } => {
            let is_long = coerce && *most == i64::MAX && product == KnownProduct::Elasticsearch;
            let beyond = if is_long { values::beyond_decimals(scalar) } else { None };
            let whole = beyond.unwrap_or_else(|| values::whole(scalar, *least, *most, coerce));
            number(whole, "a whole number within its bounds")
        }
        Kind::Unsigned { .. } => {
            number(values::unsigned(scalar, coerce, product), "a whole number from 0 to 18446744073709551615")
        }
        Kind::Double => number(values::double(scalar, coerce), "a finite number"),
        Kind::Float => number(values::float(scalar, coerce), "a finite number of 32 bits"),
        Kind::HalfFloat => number(values::half_float(scalar, coerce), "a finite number of 16 bits"),
        Kind::Scaled(factor) => number(values::scaled(scalar, *factor, coerce), "a finite number"),
        Kind::Date(formats) => match scalar {
            Scalar::Number(number) if let Some(millis) = long_millis(number, formats, target) => {
                Ok(Some(Indexable::Number(millis)))
            }
            Scalar::Text(_) | Scalar::Number(_) => {
                let moment = moment(&text(scalar), formats, field)?;
                number(moment.map(|moment| moment.millis), DATE)
            }
            _ => Err(wrong(DATE)),
        },
        Kind::DateNanos(formats) => match scalar {
            Scalar::Number(number) if let Some(millis) = long_millis(number, formats, target) => {
                Ok(Some(Indexable::Number(millis.saturating_mul(1_000_000))))
            }
            Scalar::Text(_) | Scalar::Number(_) => {
                let moment = moment(&text(scalar), formats, field)?.ok_or_else(|| wrong(DATE))?;
                number(moment.nanos(), "a date from 1970 to 2262-04-11T23:47:16.854775807")
            }
            _ => Err(wrong(DATE)),
        },
        Kind::Ip => address(scalar, field, target)?.map(Some).ok_or_else(|| wrong("an IP address")),
        Kind::TokenCount { analyzer, gaps } => {
            let count = analyzer.count(&text(scalar), *gaps).map_err(|unread| only_of_a_server(unread, field))?;
            Ok(Some(Indexable::Number(i64::from(count))))
        }
        Kind::Boolean => number(boolean(scalar), "true or false"),
        Kind::Keyword { ignore_above, normalizer } => {
            keyword(text(scalar), field, (*ignore_above, normalizer), product)
        }
        Kind::Text { analyzer, .. } => {
            let text = text(scalar);
            if field.indexed {
                check_terms(&text, field, analyzer)?;
            }
            Ok(Some(Indexable::Text(text)))
        }
        Kind::Bytes { .. } => {
            let bytes = if let Scalar::Text(text) = scalar { base64_bytes(text) } else { None };
            bytes.map(|bytes| Some(Indexable::Bytes(bytes))).ok_or_else(|| wrong("a text in base 64"))
        }
        // They are read by modules of their own.
        Kind::GeoPoint { .. } | Kind::GeoShape(_) => Err(wrong("another value")),
        Kind::Feature | Kind::Range(_) | Kind::Suggest(_) => Err(wrong("another value")),
    }
}

/// The address that a value is; none if it is no address.
fn address<'a>(scalar: &Scalar, field: &Field, target: ServerVersion) -> Result<Option<Indexable<'a>>, Refused> {
    let Scalar::Text(text) = scalar else { return Ok(None) };
    match values::address(text, target.reads_as_9_4()) {
        None if is_nearly_address(text, target) => {
            let what = format!("{text:?}, which is nearly an address, in the field {:?}", field.name);
            Err(Refused::Unsupported(what))
        }
        address => Ok(address.map(Indexable::Address)),
    }
}

/// Whether only a server knows which address a text is.
fn is_nearly_address(text: &str, target: ServerVersion) -> bool {
    match target.product {
        KnownProduct::OpenSearch => false,
        KnownProduct::Elasticsearch if target.reads_as_9_4() => values::is_nearly_address_in_9_4(text),
        KnownProduct::Elasticsearch => values::is_nearly_address(text),
    }
}

/// The milliseconds of a number of more than 32 bits, where the server does not read it as a text.
fn long_millis(number: &str, formats: &Formats, target: ServerVersion) -> Option<i64> {
    if !target.reads_as_9_4() || !formats.are_default() {
        return None;
    }
    number.parse::<i64>().ok().filter(|millis| i32::try_from(*millis).is_err())
}

/// The moment of a date; nothing if it is none.
fn moment(text: &str, formats: &Formats, field: &Field) -> Result<Option<Moment>, Refused> {
    match formats.moment(text) {
        None => match formats.only_of_a_server(text) {
            Some(what) => Err(Refused::Unsupported(format!("{what} in the field {:?}", field.name))),
            None => Ok(None),
        },
        moment => Ok(moment),
    }
}

fn keyword<'a>(
    text: Cow<'a, str>,
    field: &Field,
    (ignore_above, normalizer): (u32, &Normalizer),
    product: KnownProduct,
) -> Result<Option<Indexable<'a>>, Refused> {
    if text.len() > ignore_above as usize && text.encode_utf16().count() > ignore_above as usize {
        return Ok(None);
    }
    let text = if *normalizer == Normalizer::NONE {
        text
    } else {
        Cow::Owned(normalizer.text(&text).map_err(|unread| only_of_a_server(unread, field))?)
    };
    // OpenSearch stores longer texts, too.
    let is_stored = field.stored && product == KnownProduct::Elasticsearch;
    // The servers look at the length only of what they keep.
    let is_kept = field.indexed && !field.grams || field.doc_values || is_stored;
    if is_kept && text.len() > TERM_MAX {
        return Err(Refused::ImmenseTerm(field.name.clone()));
    }
    Ok(Some(Indexable::Term(text)))
}

/// What refuses a text of which only a server knows the terms.
fn only_of_a_server(unread: Unread, field: &Field) -> Refused {
    let what = match unread {
        Unread::Many => "the terms of a long text",
        Unread::Pattern => {
            "a text in which a regular expression of Java, or another version of Unicode, may find something else"
        }
    };
    Refused::Unsupported(format!("{what} in the field {:?}", field.name))
}

/// Checks that a text becomes no term that is too long, and not too many.
fn check_terms(text: &str, field: &Field, analyzer: &Analyzer) -> Result<(), Refused> {
    if text.len() <= analyzer.harmless(TERM_MAX) && !analyzer.doubts(text) {
        return Ok(());
    }
    match analyzer.longest(text) {
        Ok(0..=TERM_MAX) => Ok(()),
        Ok(_) => Err(Refused::ImmenseTerm(field.name.clone())),
        Err(unread) => Err(only_of_a_server(unread, field)),
    }
}

fn boolean(scalar: &Scalar) -> Option<i64> {
    match scalar {
        Scalar::Bool(value) => Some(i64::from(*value)),
        Scalar::Text(text) if text == "true" => Some(1),
        Scalar::Text(text) if text == "false" || text.is_empty() => Some(0),
        _ => None,
    }
}

/// The bytes of a text in base 64, as Jackson reads it: in groups of four characters, of which the
/// last ones may be `=`, with any spaces before a group.
fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut found = Vec::with_capacity(text.len() / 4 * 3);
    let mut rest = text.as_bytes();
    loop {
        let spaces = rest.iter().take_while(|byte| **byte <= b' ').count();
        rest = &rest[spaces..];
        if rest.is_empty() {
            return Some(found);
        }
        let (group, behind) = rest.split_at_checked(4)?;
        let padding = group.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
        let mut bits = 0;
        for byte in &group[..4 - padding] {
            bits = bits << 6 | digit(*byte)?;
        }
        bits <<= 6 * padding;
        found.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
        rest = behind;
    }
}

/// The text of a value.
pub(crate) fn text<'a>(scalar: &Scalar<'a>) -> Cow<'a, str> {
    match scalar {
        Scalar::Text(text) => text.clone(),
        Scalar::Number(text) => Cow::Borrowed(text),
        Scalar::Bool(true) => Cow::Borrowed("true"),
        Scalar::Bool(false) => Cow::Borrowed("false"),
        Scalar::Null => Cow::Borrowed(""),
    }
}
