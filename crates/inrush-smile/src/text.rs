//! Strings: the inside of a JSON string to plain UTF-8, eight bytes at a time.

use crate::EncodeError;
use crate::output::Output;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Where a string ended, and whether it is ASCII.
pub(crate) struct Text {
    /// The offset after the closing quote.
    pub(crate) after: usize,
    pub(crate) ascii: bool,
}

/// Appends the content of the string whose first byte after the opening quote is `at`. The input is
/// UTF-8: the encoder checked the document as a whole.
#[inline]
pub(crate) fn copy(json: &[u8], mut at: usize, out: &mut Output) -> Result<Text, EncodeError> {
    let mut seen = 0;
    loop {
        let stop = match json[at..].first_chunk::<8>() {
            Some(chunk) => {
                let word = u64::from_le_bytes(*chunk);
                match first_special(word) {
                    8 => {
                        seen |= word;
                        out.extend_word(*chunk, 8);
                        at += 8;
                        continue;
                    }
                    len => {
                        seen |= word & ((1 << (8 * len)) - 1);
                        out.extend_word(*chunk, len);
                        at += len;
                        json[at]
                    }
                }
            }
            None => match json.get(at) {
                Some(&byte) if byte >= 0x20 && byte != b'"' && byte != b'\\' => {
                    seen |= u64::from(byte);
                    out.push(byte);
                    at += 1;
                    continue;
                }
                Some(&byte) => byte,
                None => return Err(EncodeError::invalid(at, "the document ends inside a string")),
            },
        };
        match stop {
            b'"' => return Ok(Text { after: at + 1, ascii: seen & HIGHS == 0 }),
            b'\\' => at = escape(json, at, out, &mut seen)?,
            _ => return Err(EncodeError::invalid(at, "a control character inside a string")),
        }
    }
}

/// The number of bytes before the first quote, backslash or control character in the word; 8 if
/// there is none.
#[inline]
fn first_special(word: u64) -> usize {
    // A byte with its high bit set belongs to a multi-byte character. A borrow can only spoil bytes
    // after the first hit.
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let special = zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5C)) | control;
    (special & HIGHS).trailing_zeros() as usize / 8
}

/// Appends the character of the escape at `at`. Returns the offset after the escape.
fn escape(json: &[u8], at: usize, out: &mut Output, seen: &mut u64) -> Result<usize, EncodeError> {
    let byte = match json.get(at + 1) {
        Some(&byte @ (b'"' | b'\\' | b'/')) => byte,
        Some(b'b') => 0x08,
        Some(b'f') => 0x0C,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'u') => {
            let (character, after) = unicode(json, at)?;
            let mut utf8 = [0; 4];
            out.extend(character.encode_utf8(&mut utf8).as_bytes());
            *seen |= if character.is_ascii() { 0 } else { 0x80 };
            return Ok(after);
        }
        _ => return Err(EncodeError::invalid(at, "an unknown escape inside a string")),
    };
    out.push(byte);
    Ok(at + 2)
}

/// Reads `\uXXXX`, or two of them that form a surrogate pair.
fn unicode(json: &[u8], at: usize) -> Result<(char, usize), EncodeError> {
    let unit = |at: usize| match json.get(at..at + 6) {
        Some([b'\\', b'u', digits @ ..]) => {
            digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
        }
        _ => None,
    };
    let first = unit(at).ok_or_else(|| EncodeError::invalid(at, "\\u is not followed by four hexadecimal digits"))?;
    let (code, after) = match (first, unit(at + 6)) {
        (0xD800..=0xDBFF, Some(second @ 0xDC00..=0xDFFF)) => {
            (0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), at + 12)
        }
        _ => (first, at + 6),
    };
    // Half a surrogate pair is not a character.
    char::from_u32(code)
        .map(|character| (character, after))
        .ok_or_else(|| EncodeError::invalid(at, "half a surrogate pair"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) {
        let json = serde_json::to_string(text).unwrap();
        let mut out = Output::default();
        let found = copy(json.as_bytes(), 1, &mut out).unwrap();
        assert_eq!((out.written(), found.after, found.ascii), (text.as_bytes(), json.len(), text.is_ascii()));
    }

    fn fails(json: &str) -> String {
        copy(json.as_bytes(), 1, &mut Output::default()).err().unwrap().to_string()
    }

    #[test]
    fn every_byte_is_found_at_every_place_of_a_word() {
        for special in 0_u8..0x80 {
            for before in 0..16 {
                check(&format!("{}{}{}", "é".repeat(before % 3), "a".repeat(before), char::from(special)));
                check(&format!("{}{}0123456789", "~".repeat(before), char::from(special)));
            }
        }
    }

    #[test]
    fn invalid_strings_are_refused() {
        for json in ["\"abc", "\"", "\"0123456789", "\"a\\"] {
            assert!(fails(json).contains("ends inside") || fails(json).contains("escape"), "{json}");
        }
        assert!(fails("\"\u{1}\"").contains("control"));
        assert!(fails("\"0123\t567\"").contains("control"));
        assert!(fails("\"\\x\"").contains("escape"));
        assert!(fails("\"\\u12\"").contains("hexadecimal"));
        assert!(fails("\"\\u+123\"").contains("hexadecimal"));
        assert!(fails("\"\\ud800\"").contains("surrogate"));
        assert!(fails("\"\\udc00\\ud800\"").contains("surrogate"));
        assert!(fails("\"\\ud800\\u0041\"").contains("surrogate"));
    }

    proptest! {
        #[test]
        fn any_text_is_copied(text: String) {
            check(&text);
        }
    }
}
