//! Strings: from the inside of a JSON string to plain UTF-8, eight bytes at a time.

use super::NotSmile;
use super::output::Output;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Where a string ended.
pub(super) struct Text {
    /// The byte after the closing quote.
    pub(super) after: usize,
    pub(super) ascii: bool,
}

/// Appends the content of the string whose first byte after the opening quote is `at`. The input is UTF-8, which was checked for
/// the document as a whole.
#[inline]
pub(super) fn copy(json: &[u8], mut at: usize, out: &mut Output) -> Result<Text, NotSmile> {
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
                None => return Err(NotSmile::invalid(at, "the document ends inside of a string")),
            },
        };
        match stop {
            b'"' => return Ok(Text { after: at + 1, ascii: seen & HIGHS == 0 }),
            b'\\' => at = escape(json, at, out, &mut seen)?,
            _ => return Err(NotSmile::invalid(at, "a control character inside of a string")),
        }
    }
}

/// How many bytes of the word come before the first quote, backslash or control character; 8 if it has none.
#[inline]
fn first_special(word: u64) -> usize {
    // A byte with the high bit set is part of a character. A borrow can only spoil what comes after the first hit.
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let special = zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5C)) | control;
    (special & HIGHS).trailing_zeros() as usize / 8
}

/// Appends the character that the escape at `at` stands for. Returns the byte after it.
fn escape(json: &[u8], at: usize, out: &mut Output, seen: &mut u64) -> Result<usize, NotSmile> {
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
        _ => return Err(NotSmile::invalid(at, "an unknown escape inside of a string")),
    };
    out.push(byte);
    Ok(at + 2)
}

/// The character of `\uXXXX`, or of two of them that make a surrogate pair.
fn unicode(json: &[u8], at: usize) -> Result<(char, usize), NotSmile> {
    let unit = |at: usize| match json.get(at..at + 6) {
        Some([b'\\', b'u', digits @ ..]) => {
            digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
        }
        _ => None,
    };
    let first = unit(at).ok_or_else(|| NotSmile::invalid(at, "\\u is not followed by four hexadecimal digits"))?;
    let (code, after) = match (first, unit(at + 6)) {
        (0xD800..=0xDBFF, Some(second @ 0xDC00..=0xDFFF)) => {
            (0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), at + 12)
        }
        _ => (first, at + 6),
    };
    // Only half of a surrogate pair is no character.
    char::from_u32(code)
        .map(|character| (character, after))
        .ok_or_else(|| NotSmile::invalid(at, "half a surrogate pair"))
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
    fn what_is_no_string_is_refused() {
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
