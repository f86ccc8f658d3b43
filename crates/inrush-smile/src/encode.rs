//! JSON text to SMILE documents.

use alloc::vec::Vec;

use crate::names::{Names, Outer};
use crate::output::Output;
use crate::values::Values;
use crate::{DEPTH_MAX, Decimals, EncodeError, SmileOptions, number, text, token};

/// Characters of the longest string that is marked as ASCII. Jackson marks longer ASCII strings as
/// Unicode, because they do not fit into its buffer.
const LONG_ASCII_LEN_MAX: usize = 2666;

/// Turns JSON documents into SMILE documents, one after another.
///
/// The encoder keeps its buffers and remembers field names from one document to the next. Use one
/// encoder for each thread and kind of document. Memory: the size of the largest document, and at
/// most 1 MiB of names.
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

    /// Appends the JSON value `json` to `out` as a SMILE document.
    ///
    /// # Errors
    /// `json` is not JSON, or SMILE cannot represent it exactly. `out` is unchanged then.
    pub fn encode(&mut self, json: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        check_text(json)?;
        self.begin();
        self.value(json)?;
        out.extend_from_slice(self.out.written());
        Ok(())
    }

    /// Starts a document with its header.
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

    /// Writes the single value in `json`.
    fn value(&mut self, json: &[u8]) -> Result<(), EncodeError> {
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
                Some(_) => return Err(EncodeError::invalid(at, "expected a value")),
                None => return Err(EncodeError::invalid(at, "the document ends where a value was expected")),
            };
            loop {
                at = skip(json, at);
                match (self.open.last(), json.get(at)) {
                    (None, None) => return Ok(()),
                    (None, Some(_)) => return Err(EncodeError::invalid(at, "expected the end of the document")),
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
                    (Some(Open::Object(_)), Some(_)) => return Err(EncodeError::invalid(at, "expected `,` or `}`")),
                    (Some(Open::Array), Some(_)) => return Err(EncodeError::invalid(at, "expected `,` or `]`")),
                    (Some(_), None) => return Err(EncodeError::invalid(at, "the document ends too early")),
                }
                self.open.pop();
                at += 1;
            }
        }
    }

    /// Writes the token that opens an object or an array.
    fn enter(&mut self, at: usize, start: u8) -> Result<(), EncodeError> {
        if self.open.len() == DEPTH_MAX {
            return Err(EncodeError::TooDeep { at });
        }
        self.out.push(start);
        Ok(())
    }

    /// Writes the field name at `at`. Returns the offset after the colon.
    #[inline]
    fn name(&mut self, json: &[u8], at: usize) -> Result<usize, EncodeError> {
        if json.get(at) != Some(&b'"') {
            return Err(EncodeError::invalid(at, "expected a field name"));
        }
        let after = self.names.transcode(json, at + 1, &mut self.out)?;
        let colon = skip(json, after);
        if json.get(colon) != Some(&b':') {
            return Err(EncodeError::invalid(colon, "expected `:`"));
        }
        Ok(colon + 1)
    }

    /// Writes the string whose first byte after the opening quote is `at`. Returns the offset after
    /// the closing quote.
    #[inline]
    fn string(&mut self, json: &[u8], at: usize) -> Result<usize, EncodeError> {
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
                        // Token 0x00 is reserved.
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

    fn literal(&mut self, json: &[u8], at: usize, text: &'static [u8], token: u8) -> Result<usize, EncodeError> {
        if !json[at..].starts_with(text) {
            return Err(EncodeError::invalid(at, "expected a value"));
        }
        self.out.push(token);
        Ok(at + text.len())
    }
}

/// The offset of the first byte at or after `at` that is not white space.
#[inline]
fn skip(json: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = json.get(at) {
        at += 1;
    }
    at
}

/// Checks the size and that the text is UTF-8.
fn check_text(json: &[u8]) -> Result<(), EncodeError> {
    if json.len() > i32::MAX as usize {
        return Err(EncodeError::TooLarge { bytes: json.len() });
    }
    match core::str::from_utf8(json) {
        Ok(_) => Ok(()),
        Err(e) => Err(EncodeError::invalid(e.valid_up_to(), "not UTF-8")),
    }
}
