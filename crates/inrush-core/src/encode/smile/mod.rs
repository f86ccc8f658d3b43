//! JSON documents as SMILE, the binary JSON that servers take in bulk bodies, and back.
//!
//! [`SmileEncoder`] goes from text to bytes in one pass and writes what Jackson's generator would, byte by byte; [`SmileDecoder`] goes back. In
//! a bulk body every action line and every document is a document of its own, with its header, followed by [`SEPARATOR`].

mod action;
mod big;
mod decimal;
mod decode;
mod names;
mod number;
mod output;
#[cfg(test)]
mod tests;
mod text;
mod token;
mod values;

pub use action::ActionLine;
pub use decode::{BadSmile, SmileDecoder};

use names::{Names, Outer};
use output::Output;
use values::Values;

/// What follows each action line and each document of a bulk body. It is never inside of them, because binary values are written with
/// seven bits a byte.
pub const SEPARATOR: u8 = token::END_OF_CONTENT;

/// Objects and arrays within each other, at most, in either direction. Servers refuse more.
pub const DEPTH_MAX: usize = 1000;

/// Bytes of the longest name. Servers refuse names of more than 50,000 characters.
pub const NAME_LEN_MAX: usize = 50_000;

/// Characters of the longest string that is marked as ASCII. Jackson marks longer ones as any text, because they do not fit its buffer.
const LONG_ASCII_LEN_MAX: usize = 2666;

/// How documents are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmileOptions {
    /// Whether a string value of up to 64 bytes that a document repeats is written once. Smaller where values repeat inside of one document;
    /// costs time for every string here, and memory for every string in the server. Default: off, as in Jackson.
    pub shared_values: bool,
    /// How numbers with a point or an exponent are written. Default: [`Decimals::ByText`].
    pub decimals: Decimals,
}

/// How a JSON number with a point or an exponent is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decimals {
    /// So that the server's text of it is what stands in the document, because fields of text, keywords and dates take the text of a number: as a
    /// double if that does it (`1.5`), else as a BigDecimal (`1.50`, `12345678.5`; a server calls these doubles `1.5` and `1.23456785E7`). What
    /// neither does (`1e3`) is [`NotSmile::Inexact`].
    #[default]
    ByText,
    /// As a double, as Jackson does, if that is the same number; else it is [`NotSmile::Inexact`]. Enough where decimals go into numeric fields
    /// only.
    ByValue,
}

/// Why a document cannot be sent as SMILE. It can still be sent as JSON, and the server decides.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSmile {
    /// The document is not JSON.
    #[error("the document is not JSON at byte {at}: {reason}")]
    Invalid {
        /// The offset in the document.
        at: usize,
        /// What was found.
        reason: &'static str,
    },
    /// An object has the same name twice. Servers refuse that.
    #[error("an object has the field at byte {at} twice")]
    DuplicateName {
        /// The offset of the second name.
        at: usize,
    },
    /// The name of a field has more than [`NAME_LEN_MAX`] bytes.
    #[error("the name of the field at byte {at} has more than {NAME_LEN_MAX} bytes")]
    NameTooLong {
        /// The offset of the name.
        at: usize,
    },
    /// A number would not be read as the same: `-0`, one with too many digits, or what [`Decimals`] rules out.
    #[error("SMILE cannot say the number at byte {at} exactly")]
    Inexact {
        /// The offset of the number.
        at: usize,
    },
    /// There are more than [`DEPTH_MAX`] objects and arrays within each other.
    #[error("more than {DEPTH_MAX} objects and arrays within each other at byte {at}")]
    TooDeep {
        /// The offset of the one too many.
        at: usize,
    },
    /// The document has 2 GiB or more.
    #[error("the document has {bytes} bytes, more than SMILE is made for here")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
}

impl NotSmile {
    fn invalid(at: usize, reason: &'static str) -> Self {
        NotSmile::Invalid { at, reason }
    }
}

/// Turns JSON documents into SMILE documents, one after another. It keeps its buffers and remembers the names of fields, so one for each thread
/// and job is best. Memory: about the largest document, and up to 1 MiB of names.
#[derive(Debug)]
pub struct SmileEncoder {
    out: Output,
    names: Names,
    values: Option<Values>,
    decimals: Decimals,
    open: Vec<Open>,
}

#[derive(Clone, Copy, Debug)]
enum Open {
    Array,
    Object(Outer),
}

impl SmileEncoder {
    /// An encoder with these options.
    pub fn new(options: SmileOptions) -> Self {
        SmileEncoder {
            out: Output::default(),
            names: Names::default(),
            values: options.shared_values.then(Values::new),
            decimals: options.decimals,
            open: Vec::new(),
        }
    }

    /// Appends the JSON value `json` as a SMILE document. On an error nothing is appended.
    pub fn encode(&mut self, json: &[u8], out: &mut Vec<u8>) -> Result<(), NotSmile> {
        check_text(json)?;
        self.begin();
        self.value(json)?;
        out.extend_from_slice(self.out.written());
        Ok(())
    }

    /// Appends what a bulk update sends for the document `json`: `{"doc": json}`, with `"doc_as_upsert": true` if it is an upsert. On an error
    /// nothing is appended.
    pub fn encode_update(&mut self, json: &[u8], upsert: bool, out: &mut Vec<u8>) -> Result<(), NotSmile> {
        check_text(json)?;
        self.begin();
        self.out.push(token::START_OBJECT);
        self.names.insert("doc", &mut self.out);
        self.value(json)?;
        if upsert {
            self.names.insert("doc_as_upsert", &mut self.out);
            self.out.push(token::TRUE);
        }
        self.out.push(token::END_OBJECT);
        out.extend_from_slice(self.out.written());
        Ok(())
    }

    fn begin(&mut self) {
        self.out.clear();
        self.out.extend(&token::HEADER);
        self.out.push(token::SHARED_NAMES | if self.values.is_some() { token::SHARED_VALUES } else { 0 });
        self.names.begin();
        if let Some(values) = &mut self.values {
            values.begin();
        }
        self.open.clear();
    }

    /// Writes the one value that `json` has.
    fn value(&mut self, json: &[u8]) -> Result<(), NotSmile> {
        let mut at = 0;
        'value: loop {
            at = skip(json, at);
            at = match json.get(at) {
                Some(b'"') => self.string(json, at + 1)?,
                Some(b'-' | b'0'..=b'9') => number::transcode(json, at, self.decimals, &mut self.out)?,
                Some(b'{') => {
                    self.enter(at, token::START_OBJECT)?;
                    let outer = self.names.open();
                    let first = skip(json, at + 1);
                    if json.get(first) == Some(&b'}') {
                        self.names.close(outer);
                        self.out.push(token::END_OBJECT);
                        first + 1
                    } else {
                        self.open.push(Open::Object(outer));
                        at = self.name(json, first)?;
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.enter(at, token::START_ARRAY)?;
                    let first = skip(json, at + 1);
                    if json.get(first) == Some(&b']') {
                        self.out.push(token::END_ARRAY);
                        first + 1
                    } else {
                        self.open.push(Open::Array);
                        at = first;
                        continue 'value;
                    }
                }
                Some(b'n') => self.literal(json, at, b"null", token::NULL)?,
                Some(b't') => self.literal(json, at, b"true", token::TRUE)?,
                Some(b'f') => self.literal(json, at, b"false", token::FALSE)?,
                Some(_) => return Err(NotSmile::invalid(at, "expected a value")),
                None => return Err(NotSmile::invalid(at, "the document ends where a value is expected")),
            };
            loop {
                at = skip(json, at);
                match (self.open.last(), json.get(at)) {
                    (None, None) => return Ok(()),
                    (None, Some(_)) => return Err(NotSmile::invalid(at, "something follows the document")),
                    (Some(Open::Object(_)), Some(b',')) => {
                        at = self.name(json, skip(json, at + 1))?;
                        continue 'value;
                    }
                    (Some(Open::Array), Some(b',')) => {
                        at += 1;
                        continue 'value;
                    }
                    (Some(Open::Object(outer)), Some(b'}')) => {
                        self.names.close(*outer);
                        self.out.push(token::END_OBJECT);
                    }
                    (Some(Open::Array), Some(b']')) => self.out.push(token::END_ARRAY),
                    (Some(Open::Object(_)), Some(_)) => return Err(NotSmile::invalid(at, "expected `,` or `}`")),
                    (Some(Open::Array), Some(_)) => return Err(NotSmile::invalid(at, "expected `,` or `]`")),
                    (Some(_), None) => return Err(NotSmile::invalid(at, "the document ends too early")),
                }
                self.open.pop();
                at += 1;
            }
        }
    }

    fn enter(&mut self, at: usize, start: u8) -> Result<(), NotSmile> {
        if self.open.len() == DEPTH_MAX {
            return Err(NotSmile::TooDeep { at });
        }
        self.out.push(start);
        Ok(())
    }

    /// Writes the name at `at`. Returns the byte after the colon.
    #[inline]
    fn name(&mut self, json: &[u8], at: usize) -> Result<usize, NotSmile> {
        if json.get(at) != Some(&b'"') {
            return Err(NotSmile::invalid(at, "expected the name of a field"));
        }
        let after = self.names.transcode(json, at + 1, &mut self.out)?;
        let colon = skip(json, after);
        if json.get(colon) != Some(&b':') {
            return Err(NotSmile::invalid(colon, "expected `:`"));
        }
        Ok(colon + 1)
    }

    /// Writes the string whose first byte after the opening quote is `at`. Returns the byte after the closing quote.
    #[inline]
    fn string(&mut self, json: &[u8], at: usize) -> Result<usize, NotSmile> {
        let start = self.out.len();
        self.out.push(token::EMPTY_STRING);
        let text = text::copy(json, at, &mut self.out)?;
        let len = self.out.len() - start - 1;
        if len > token::SHORT_VALUE_LEN_MAX {
            let ascii = text.ascii && len <= LONG_ASCII_LEN_MAX;
            self.out.set(start, if ascii { token::LONG_ASCII } else { token::LONG_UNICODE });
            self.out.push(token::END_OF_STRING);
        } else if len > 0 {
            match self.values.as_mut().and_then(|values| values.share(self.out.written(), start + 1)) {
                None => self.out.set(start, if text.ascii { token::ASCII } else { token::UNICODE } + len as u8),
                Some(reference) => {
                    self.out.truncate(start);
                    match reference {
                        // 0 is not used.
                        0..31 => self.out.push(1 + reference as u8),
                        _ => {
                            self.out.push(token::SHARED_VALUE_LONG + (reference >> 8) as u8);
                            self.out.push(reference as u8);
                        }
                    }
                }
            }
        }
        Ok(text.after)
    }

    fn literal(&mut self, json: &[u8], at: usize, text: &'static [u8], token: u8) -> Result<usize, NotSmile> {
        if !json[at..].starts_with(text) {
            return Err(NotSmile::invalid(at, "expected a value"));
        }
        self.out.push(token);
        Ok(at + text.len())
    }
}

/// The first byte from `at` on that is no white space.
#[inline]
fn skip(json: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = json.get(at) {
        at += 1;
    }
    at
}

fn check_text(json: &[u8]) -> Result<(), NotSmile> {
    if json.len() > i32::MAX as usize {
        return Err(NotSmile::TooLarge { bytes: json.len() });
    }
    match std::str::from_utf8(json) {
        Ok(_) => Ok(()),
        Err(e) => Err(NotSmile::invalid(e.valid_up_to(), "not UTF-8")),
    }
}
