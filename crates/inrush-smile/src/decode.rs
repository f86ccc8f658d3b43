//! SMILE documents to JSON text.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::{DEPTH_MAX, NAME_LEN_MAX, big, decimal, token};

/// Bytes of the longest whole number, about 10,000 digits. Decoding takes time with the square of
/// the length.
const BIG_LEN_MAX: usize = 4096;

/// Why bytes are not a SMILE document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a SMILE document at byte {at}: {reason}")]
pub struct DecodeError {
    /// The offset in the given bytes.
    pub at: usize,
    /// What was expected or found.
    pub reason: &'static str,
}

/// Turns SMILE documents into the JSON text that Jackson would write: binary values become base64
/// strings, and numbers that JSON lacks (NaN, infinities) become strings.
///
/// A document without a header may refer to names and values of the document before it; a header
/// clears both.
#[derive(Debug, Default)]
pub struct SmileDecoder {
    /// The options of the last header.
    options: Option<u8>,
    names: Shared,
    values: Shared,
    open: Vec<Open>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Array,
    Object,
}

impl SmileDecoder {
    /// Appends the document at the start of `smile` to `out` as JSON text without white space.
    /// Returns the number of bytes read, including the end-of-content marker if there is one: the
    /// next document starts there.
    ///
    /// # Errors
    /// `smile` does not start with a SMILE document, or the document exceeds a limit of the
    /// [crate](crate). `out` is unchanged then. The limits keep foreign input from exhausting the
    /// stack, and from expanding a long name by references.
    pub fn decode(&mut self, smile: &[u8], out: &mut Vec<u8>) -> Result<usize, DecodeError> {
        let before = out.len();
        let mut input = Input { bytes: smile, at: 0 };
        match self.document(&mut input, out) {
            Ok(()) => Ok(input.at),
            Err(reason) => {
                out.truncate(before);
                // The next document cannot refer to one that was not decoded.
                self.options = None;
                Err(DecodeError { at: input.at, reason })
            }
        }
    }

    fn document(&mut self, input: &mut Input<'_>, out: &mut Vec<u8>) -> Result<(), &'static str> {
        if input.bytes.starts_with(&token::HEADER) {
            input.at = 3;
            let options = input.byte()?;
            if options >> 4 != 0 {
                return Err("a version of SMILE other than 0");
            }
            if options & !(token::SHARED_NAMES | token::SHARED_VALUES | token::RAW_BINARY) != 0 {
                return Err("an unknown option in the header");
            }
            self.options = Some(options);
            self.names.clear();
            self.values.clear();
        }
        let options = self.options.ok_or("no header")?;
        self.open.clear();
        self.value(input, options, out)?;
        if input.bytes.get(input.at) == Some(&token::END_OF_CONTENT) {
            input.at += 1;
        }
        Ok(())
    }

    fn value(&mut self, input: &mut Input<'_>, options: u8, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let share_names = options & token::SHARED_NAMES != 0;
        let share_values = options & token::SHARED_VALUES != 0;
        let mut first = true;
        loop {
            match self.open.last() {
                None if !first => return Ok(()),
                None => {}
                Some(Open::Object) => {
                    let token = input.byte()?;
                    if token == token::END_OBJECT {
                        self.open.pop();
                        out.push(b'}');
                        first = false;
                        continue;
                    }
                    if !first {
                        out.push(b',');
                    }
                    self.name(token, share_names, input, out)?;
                    out.push(b':');
                }
                Some(Open::Array) => {
                    if input.bytes.get(input.at) == Some(&token::END_ARRAY) {
                        input.at += 1;
                        self.open.pop();
                        out.push(b']');
                        first = false;
                        continue;
                    }
                    if !first {
                        out.push(b',');
                    }
                }
            }
            first = false;
            match input.byte()? {
                token @ (token::START_ARRAY | token::START_OBJECT) => {
                    if self.open.len() == DEPTH_MAX {
                        return Err("more than 1000 nested objects and arrays");
                    }
                    let object = token == token::START_OBJECT;
                    self.open.push(if object { Open::Object } else { Open::Array });
                    out.push(if object { b'{' } else { b'[' });
                    first = true;
                }
                token @ 0x40..=0xBF => {
                    let len = usize::from(token & 0x3F) + if token < 0x80 { 1 } else { 2 };
                    let text = utf8(input.take(len)?)?;
                    write_string(text, out);
                    if share_values {
                        self.values.add(text);
                    }
                }
                token @ 0x01..=0x1F => write_string(self.values.get(usize::from(token) - 1)?, out),
                token @ token::SHARED_VALUE_LONG..=0xEF => {
                    let reference = usize::from(token & 3) << 8 | usize::from(input.byte()?);
                    write_string(self.values.get(reference)?, out);
                }
                token::LONG_ASCII | token::LONG_UNICODE => write_string(utf8(input.until_end()?)?, out),
                token => scalar(token, input, out)?,
            }
        }
    }

    fn name(&mut self, token: u8, share: bool, input: &mut Input<'_>, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let text = match token {
            token::NAME_EMPTY => {
                write_string("", out);
                return Ok(());
            }
            token::NAME_SHARED_SHORT..=0x7F => {
                write_string(self.names.get(usize::from(token & 0x3F))?, out);
                return Ok(());
            }
            token::NAME_SHARED_LONG..=0x33 => {
                let reference = usize::from(token & 3) << 8 | usize::from(input.byte()?);
                write_string(self.names.get(reference)?, out);
                return Ok(());
            }
            token::NAME_LONG => match input.until_end()? {
                // Each reference writes the name again. Other writers count characters, of up to
                // three bytes.
                name if name.len() <= 3 * NAME_LEN_MAX => utf8(name)?,
                _ => return Err("a name of more than 50,000 characters"),
            },
            0x80..=0xBF => utf8(input.take(usize::from(token & 0x3F) + 1)?)?,
            0xC0..=0xF7 => utf8(input.take(usize::from(token & 0x3F) + 2)?)?,
            _ => return Err("expected a field name"),
        };
        write_string(text, out);
        if share {
            self.names.add(text);
        }
        Ok(())
    }
}

/// Writes a value that is neither a string with content nor a container.
fn scalar(token: u8, input: &mut Input<'_>, out: &mut Vec<u8>) -> Result<(), &'static str> {
    match token {
        token::EMPTY_STRING => out.extend_from_slice(b"\"\""),
        token::NULL => out.extend_from_slice(b"null"),
        token::FALSE => out.extend_from_slice(b"false"),
        token::TRUE => out.extend_from_slice(b"true"),
        token::SMALL_INT..=0xDF => write_integer(u64::from(token & 0x1F), out),
        token::INT_32 => {
            let value = input.variable()?;
            if value > u64::from(u32::MAX) {
                return Err("a 32-bit integer that has more bits");
            }
            write_integer(value, out);
        }
        token::INT_64 => write_integer(input.variable()?, out),
        token::BIG_INTEGER => {
            let (negative, digits) = big::to_digits(&input.big()?);
            if negative {
                out.push(b'-');
            }
            out.extend_from_slice(digits.as_bytes());
        }
        token::FLOAT_32 => decimal::write_float(f32::from_bits(input.groups(5)? as u32), out),
        token::FLOAT_64 => decimal::write_double(f64::from_bits(input.groups(10)?), out),
        token::BIG_DECIMAL => {
            let scale = u32::try_from(input.variable()?).map_err(|_| "a scale with more than 32 bits")?;
            let (negative, digits) = big::to_digits(&input.big()?);
            write_decimal(negative, &digits, unzigzag(u64::from(scale)), out);
        }
        token::BINARY_7BIT => {
            let len = input.length()?;
            write_base64(&input.seven_bit(len)?, out);
        }
        token::BINARY_RAW => {
            let len = input.length()?;
            write_base64(input.take(len)?, out);
        }
        _ => return Err("expected a value"),
    }
    Ok(())
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn write_integer(zigzag: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(unzigzag(zigzag).to_string().as_bytes());
}

fn write_base64(data: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(STANDARD.encode(data).as_bytes());
    out.push(b'"');
}

/// Writes a decimal as Java's `BigDecimal.toString` does.
fn write_decimal(negative: bool, digits: &str, scale: i64, out: &mut Vec<u8>) {
    if negative {
        out.push(b'-');
    }
    let power = digits.len() as i64 - 1 - scale;
    if scale == 0 {
        out.extend_from_slice(digits.as_bytes());
    } else if scale > 0 && power >= -6 {
        let zeros = (-power).max(0) as usize;
        out.extend((0..zeros).map(|_| b'0'));
        // Either leading zeros stand first and the point follows the first of them, or the digits
        // reach before the point.
        let at = out.len() - zeros;
        out.extend_from_slice(digits.as_bytes());
        out.insert(at + (power.max(0) as usize) + 1, b'.');
    } else {
        out.extend_from_slice(&digits.as_bytes()[..1]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits.as_bytes()[1..]);
        }
        if power != 0 {
            out.extend_from_slice(format!("E{power:+}").as_bytes());
        }
    }
}

/// Writes a JSON string with the escapes that Jackson uses.
fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend([b'\\', byte]),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => out.extend_from_slice(format!("\\u{byte:04X}").as_bytes()),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn utf8(bytes: &[u8]) -> Result<&str, &'static str> {
    core::str::from_utf8(bytes).map_err(|_| "a string that is not UTF-8")
}

/// Names or values that references can point to.
#[derive(Debug, Default)]
struct Shared {
    texts: String,
    ends: Vec<usize>,
}

impl Shared {
    fn clear(&mut self) {
        self.texts.clear();
        self.ends.clear();
    }

    fn add(&mut self, text: &str) {
        if self.ends.len() == token::SHARED_MAX as usize {
            self.clear();
        }
        self.texts.push_str(text);
        self.ends.push(self.texts.len());
    }

    fn get(&self, reference: usize) -> Result<&str, &'static str> {
        let end = *self.ends.get(reference).ok_or("a reference to an unknown name or value")?;
        let start = if reference == 0 { 0 } else { self.ends[reference - 1] };
        Ok(&self.texts[start..end])
    }
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn byte(&mut self) -> Result<u8, &'static str> {
        let byte = *self.bytes.get(self.at).ok_or("the bytes end too early")?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], &'static str> {
        let taken = self.bytes[self.at..].get(..len).ok_or("the bytes end too early")?;
        self.at += len;
        Ok(taken)
    }

    /// Reads a long string without its end marker.
    fn until_end(&mut self) -> Result<&'a [u8], &'static str> {
        let len =
            memchr::memchr(token::END_OF_STRING, &self.bytes[self.at..]).ok_or("a string without an end marker")?;
        let taken = self.take(len)?;
        self.at += 1;
        Ok(taken)
    }

    /// Reads a number with seven bits a byte and six bits in the last byte.
    fn variable(&mut self) -> Result<u64, &'static str> {
        let mut value = 0_u64;
        loop {
            let byte = u64::from(self.byte()?);
            let (bits, part) = if byte & 0x80 == 0 { (7, byte) } else { (6, byte & 0x3F) };
            if value.leading_zeros() < bits {
                return Err("an integer with more than 64 bits");
            }
            value = value << bits | part;
            if bits == 6 {
                return Ok(value);
            }
        }
    }

    fn length(&mut self) -> Result<usize, &'static str> {
        usize::try_from(self.variable()?).map_err(|_| "a length beyond the address space")
    }

    /// Reads `count` groups of seven bits as one number.
    fn groups(&mut self, count: usize) -> Result<u64, &'static str> {
        self.take(count)?.iter().try_fold(0, |bits, &byte| match byte {
            0..0x80 => Ok(bits << 7 | u64::from(byte)),
            _ => Err("a number with a byte beyond seven bits"),
        })
    }

    /// Reads the bytes of a whole number.
    fn big(&mut self) -> Result<Vec<u8>, &'static str> {
        match self.length()? {
            len @ 0..=BIG_LEN_MAX => self.seven_bit(len),
            _ => Err("a whole number of more than 4096 bytes"),
        }
    }

    /// Reads `len` bytes of binary data, stored as groups of seven bits.
    fn seven_bit(&mut self, len: usize) -> Result<Vec<u8>, &'static str> {
        let (whole, rest) = (len / 7, len % 7);
        let groups = whole.checked_mul(8).and_then(|groups| groups.checked_add(if rest > 0 { rest + 1 } else { 0 }));
        let groups = self.take(groups.ok_or("a length beyond the address space")?)?;
        let mut data = Vec::with_capacity(len);
        for chunk in groups.chunks(8) {
            let count = chunk.len() - 1;
            // The last group holds the remaining bits, in its low bits.
            let (last, first) = (u64::from(chunk[count]), &chunk[..count]);
            let bits = first.iter().fold(0, |bits, &byte| bits << 7 | u64::from(byte & 0x7F));
            let bits = bits << count | last & ((1 << count) - 1);
            data.extend_from_slice(&bits.to_be_bytes()[8 - count..]);
        }
        Ok(data)
    }
}
