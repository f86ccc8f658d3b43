//! One document: from its text to the values of its fields.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::fields::json::{Malformed, NO_DUPLICATE, Reader, Scalar};
use crate::fields::mapping::{Dynamic, Field, Kind, Mapping, Node, Object, Product};
use crate::fields::values;

/// The longest id in bytes.
pub(crate) const ID_MAX: usize = 512;
/// The longest term in bytes.
const TERM_MAX: usize = 32_766;

/// Why a document is not indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It is not JSON, or not an object.
    Malformed {
        /// The byte from which it is not.
        at: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// It is no UTF-8.
    NotUtf8,
    /// Its id is empty or longer than 512 bytes.
    Id,
    /// A field is not in the mapping, which is strict.
    Unmapped(String),
    /// A value is none of its field's type.
    Value {
        /// The field's full name.
        field: String,
        /// What the field takes.
        expected: &'static str,
    },
    /// A term is longer than 32,766 bytes.
    ImmenseTerm(String),
    /// The index writer does not know this yet, but a server does.
    Unsupported(String),
    /// The segment is full; the document fits into another one.
    Full,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed { at, expected } => write!(f, "byte {at} of the document is not {expected}"),
            Self::NotUtf8 => write!(f, "the document is no UTF-8"),
            Self::Id => write!(f, "the id has not 1 to {ID_MAX} bytes"),
            Self::Unmapped(field) => write!(f, "the field {field:?} is not in the mapping"),
            Self::Value { field, expected } => write!(f, "the field {field:?} takes {expected}"),
            Self::ImmenseTerm(field) => write!(f, "a term of the field {field:?} is longer than {TERM_MAX} bytes"),
            Self::Unsupported(what) => {
                write!(f, "{what} is not supported by the index writer; let a server build the index")
            }
            Self::Full => write!(f, "the segment is full"),
        }
    }
}

impl std::error::Error for Refused {}

impl From<Malformed> for Refused {
    fn from(error: Malformed) -> Self {
        Self::Malformed { at: error.at, expected: error.expected }
    }
}

/// A value as its field has it; the number of the field is beside it.
#[derive(Debug)]
pub(crate) enum Indexable<'a> {
    Number(i64),
    Address(u128),
    Term(Cow<'a, str>),
    Text(Cow<'a, str>),
}

/// What is indexed of a document.
#[derive(Default)]
pub(crate) struct Document<'a> {
    pub(crate) values: Vec<(usize, Indexable<'a>)>,
    /// The fields of which a value was left out, as it is malformed.
    pub(crate) ignored: Vec<usize>,
}

/// Reads a document.
pub(crate) fn read<'a>(source: &'a [u8], mapping: &Mapping) -> Result<Document<'a>, Refused> {
    let text = std::str::from_utf8(source).map_err(|_| Refused::NotUtf8)?;
    let mut reader = Reader::new(text);
    let mut document = Document { values: Vec::with_capacity(mapping.fields.len()), ignored: Vec::new() };
    read_object(&mut reader, &mapping.root, mapping, &mut document)?;
    reader.end()?;
    Ok(document)
}

fn read_object<'a>(
    reader: &mut Reader<'a>,
    object: &Object,
    mapping: &Mapping,
    document: &mut Document<'a>,
) -> Result<(), Refused> {
    reader.open(b'{')?;
    // Members often come in the order of the mapping.
    let mut next = 0;
    let mut first = true;
    let mut seen = Seen::default();
    while reader.more(first, b'}')? {
        first = false;
        let name = reader.name()?;
        let expected = object.members.get(next).filter(|member| member.0 == name);
        let found = expected
            .map(|member| (next, member))
            .or_else(|| object.members.iter().enumerate().find(|(_, member)| member.0 == name));
        let new = match found {
            Some((place, _)) => seen.insert(place),
            None => seen.names.insert(name.clone()),
        };
        if !new {
            return Ok(reader.malformed(NO_DUPLICATE)?);
        }
        let Some((place, (_, node))) = found else {
            match object.dynamic {
                Dynamic::Ignore => reader.skip()?,
                Dynamic::Refuse => return Err(Refused::Unmapped(name.into_owned())),
                Dynamic::Add => {
                    return Err(Refused::Unsupported(format!("the field {name:?}, which is not in the mapping,")));
                }
            }
            continue;
        };
        next = place + 1;
        match node {
            Node::Ignored => reader.skip()?,
            Node::Object(object) => read_objects(reader, object, mapping, document)?,
            Node::Fields(numbers) => read_values(reader, numbers, mapping, document)?,
        }
    }
    Ok(())
}

/// The members of an object that were read: by their places in the mapping, the others by name.
#[derive(Default)]
struct Seen<'a> {
    first: u64,
    more: HashSet<usize>,
    names: HashSet<Cow<'a, str>>,
}

impl Seen<'_> {
    fn insert(&mut self, place: usize) -> bool {
        if place >= 64 {
            return self.more.insert(place);
        }
        let new = self.first >> place & 1 == 0;
        self.first |= 1 << place;
        new
    }
}

/// Reads an object, an array of objects, or null.
fn read_objects<'a>(
    reader: &mut Reader<'a>,
    object: &Object,
    mapping: &Mapping,
    document: &mut Document<'a>,
) -> Result<(), Refused> {
    match reader.peek() {
        b'[' => {
            reader.open(b'[')?;
            let mut first = true;
            while reader.more(first, b']')? {
                first = false;
                read_objects(reader, object, mapping, document)?;
            }
            Ok(())
        }
        b'n' => Ok(reader.skip()?),
        _ => read_object(reader, object, mapping, document),
    }
}

/// Reads a value of a field, or an array of them.
#[inline]
fn read_values<'a>(
    reader: &mut Reader<'a>,
    numbers: &[usize],
    mapping: &Mapping,
    document: &mut Document<'a>,
) -> Result<(), Refused> {
    match reader.peek() {
        b'[' => {
            reader.open(b'[')?;
            let mut first = true;
            while reader.more(first, b']')? {
                first = false;
                read_values(reader, numbers, mapping, document)?;
            }
            return Ok(());
        }
        b'{' => {
            let field = numbers.first().map(|&number| mapping.fields[number].name.clone()).unwrap_or_default();
            return Err(Refused::Value { field, expected: "no object" });
        }
        _ => {}
    }
    let scalar = reader.scalar()?;
    for &number in numbers {
        let field = &mapping.fields[number];
        match convert(&scalar, field) {
            Ok(Some(value)) => document.values.push((number, value)),
            Ok(None) => {
                let too_long = matches!(field.kind, Kind::Keyword { .. }) && !is_null(&scalar, field);
                if too_long && mapping.target.product == Product::Elasticsearch {
                    return Err(Refused::Unsupported(format!(
                        "a text longer than `ignore_above` in the field {:?}",
                        field.name
                    )));
                }
            }
            Err(Refused::Value { .. }) if field.ignore_malformed => {
                if mapping.target.product == Product::Elasticsearch {
                    return Err(Refused::Unsupported(format!("a malformed value in the field {:?}", field.name)));
                }
                // The server forgets to name these.
                if !matches!(field.kind, Kind::Scaled(_)) {
                    document.ignored.push(number);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a value stands for none.
fn is_null(scalar: &Scalar, field: &Field) -> bool {
    match scalar {
        Scalar::Null => true,
        Scalar::Text(text) => text.is_empty() && field.coerce && field.kind.is_number(),
        _ => false,
    }
}

/// What a field makes of a value; nothing of one that it leaves out.
fn convert<'a>(scalar: &Scalar<'a>, field: &Field) -> Result<Option<Indexable<'a>>, Refused> {
    // The servers do not look at a boolean of which they keep nothing.
    if field.kind == Kind::Boolean && !field.indexed && !field.doc_values {
        return Ok(None);
    }
    if !is_null(scalar, field) {
        return convert_value(scalar, field);
    }
    let instead = match &field.null_value {
        None => return Ok(None),
        Some(serde_json::Value::Bool(value)) => Scalar::Bool(*value),
        Some(serde_json::Value::String(text)) => Scalar::Text(Cow::Owned(text.clone())),
        Some(other) => Scalar::Text(Cow::Owned(other.to_string())),
    };
    convert_value(&instead, &Field { coerce: true, ..field.clone() })
}

fn convert_value<'a>(scalar: &Scalar<'a>, field: &Field) -> Result<Option<Indexable<'a>>, Refused> {
    let wrong = |expected| Refused::Value { field: field.name.clone(), expected };
    let coerce = field.coerce;
    let number = |number: Option<i64>, expected| {
        number.map(|number| Some(Indexable::Number(number))).ok_or_else(|| wrong(expected))
    };
    match &field.kind {
        Kind::Whole { least, most, .. } => {
            number(values::whole(scalar, *least, *most, coerce), "a whole number within its bounds")
        }
        Kind::Double => number(values::double(scalar, coerce), "a finite number"),
        Kind::Float => number(values::float(scalar, coerce), "a finite number of 32 bits"),
        Kind::Scaled(factor) => number(values::scaled(scalar, *factor, coerce), "a finite number"),
        Kind::Date(formats) => match scalar {
            Scalar::Text(_) | Scalar::Number(_) => number(formats.millis(&text(scalar)), "a date of its formats"),
            _ => Err(wrong("a date of its formats")),
        },
        Kind::Ip => match scalar {
            Scalar::Text(text) => values::address(text)
                .map(|address| Some(Indexable::Address(address)))
                .ok_or_else(|| wrong("an IP address")),
            _ => Err(wrong("an IP address")),
        },
        Kind::Boolean => number(boolean(scalar), "true or false"),
        Kind::Keyword { ignore_above, lower } => {
            let text = text(scalar);
            if text.len() > *ignore_above as usize && text.encode_utf16().count() > *ignore_above as usize {
                return Ok(None);
            }
            let text = if *lower { Cow::Owned(crate::analysis::lower(&text)) } else { text };
            if text.len() > TERM_MAX {
                return Err(Refused::ImmenseTerm(field.name.clone()));
            }
            Ok(Some(Indexable::Term(text)))
        }
        Kind::Text => Ok(Some(Indexable::Text(text(scalar)))),
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

fn text<'a>(scalar: &Scalar<'a>) -> Cow<'a, str> {
    match scalar {
        Scalar::Text(text) => text.clone(),
        Scalar::Number(text) => Cow::Borrowed(text),
        Scalar::Bool(true) => Cow::Borrowed("true"),
        Scalar::Bool(false) => Cow::Borrowed("false"),
        Scalar::Null => Cow::Borrowed(""),
    }
}
