//! The values of a JSON document, without a tree.
//!
//! Source: RFC 8259.

use std::borrow::Cow;
use std::collections::HashSet;

/// A value that is neither an object nor an array.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar<'a> {
    Null,
    Bool(bool),
    /// A number as it is written.
    Number(&'a str),
    Text(Cow<'a, str>),
}

/// Where a text stops being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) at: usize,
    pub(crate) expected: &'static str,
}

/// What a document has to have; the servers refuse others, too.
pub(crate) const NO_DUPLICATE: &str = "a name that the object does not have yet";

/// Only some servers refuse others.
pub(crate) const SHORT_NAME: &str = "a name of at most 50,000 characters";
/// The same.
pub(crate) const WHOLE_NAME: &str = "a name without half a pair of UTF-16";
/// Some servers take more.
pub(crate) const FEW_LEVELS: &str = "at most 1,000 levels";

/// The deepest nesting that is read.
const DEPTH_MAX: u32 = 1000;
/// The longest number and the longest name.
pub(crate) const NUMBER_MAX: usize = 1000;
pub(crate) const NAME_MAX: usize = 50_000;

/// Reads a document from its beginning to its end.
pub(crate) struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    /// Whether an escape was half a pair of UTF-16.
    pub(crate) half_pair: bool,
    /// Where the last escape ends that was the first half of a pair without the second one.
    first_half_end: Option<usize>,
}

type Result<T> = std::result::Result<T, Malformed>;

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0, depth: 0, half_pair: false, first_half_end: None }
    }

    /// Reads a member's value that is taken out of its document.
    pub(crate) fn of_value(text: &'a str) -> Self {
        Self { depth: 1, ..Self::new(text) }
    }

    pub(crate) fn malformed<T>(&self, expected: &'static str) -> Result<T> {
        Err(Malformed { at: self.at, expected })
    }

    /// The next byte that is no space, or 0 at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> u8 {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b'/' if self.skip_comment() => {}
                byte => return *byte,
            }
        }
        0
    }

    /// Goes over a comment, which the servers take. Whether there was one.
    #[cold]
    fn skip_comment(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        let len = match rest.get(1) {
            Some(b'*') => rest[2..].windows(2).position(|pair| pair == b"*/").map(|end| end + 4),
            Some(b'/') => Some(rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len())),
            _ => None,
        };
        self.at += len.unwrap_or(0);
        len.is_some()
    }

    #[inline]
    fn take(&mut self, byte: u8, expected: &'static str) -> Result<()> {
        if self.peek() != byte {
            return self.malformed(expected);
        }
        self.at += 1;
        Ok(())
    }

    /// Begins an object or an array.
    pub(crate) fn open(&mut self, byte: u8) -> Result<()> {
        self.take(byte, if byte == b'{' { "an object" } else { "an array" })?;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.malformed(FEW_LEVELS);
        }
        Ok(())
    }

    /// Whether another member or element follows; ends the object or array if not. `first` is
    /// whether none came yet.
    #[inline]
    pub(crate) fn more(&mut self, first: bool, close: u8) -> Result<bool> {
        let byte = self.peek();
        if byte == close {
            self.at += 1;
            self.depth -= 1;
            return Ok(false);
        }
        if !first {
            self.take(b',', "`,` or the end of the object or array")?;
        }
        Ok(true)
    }

    /// The name of a member, and its colon.
    #[inline]
    pub(crate) fn name(&mut self) -> Result<Cow<'a, str>> {
        if self.peek() != b'"' {
            return self.malformed("a name in quotes");
        }
        let before = std::mem::take(&mut self.half_pair);
        let name = self.string()?;
        if self.half_pair {
            return self.malformed(WHOLE_NAME);
        }
        self.half_pair = before;
        if name.len() > NAME_MAX && name.encode_utf16().count() > NAME_MAX {
            return self.malformed(SHORT_NAME);
        }
        self.take(b':', "`:`")?;
        Ok(name)
    }

    /// Goes over a member's name, its quotes and its colon if they are the next bytes.
    #[inline]
    pub(crate) fn take_name(&mut self, quoted: &[u8]) -> bool {
        let is_next = self.bytes[self.at..].starts_with(quoted);
        self.at += if is_next { quoted.len() } else { 0 };
        is_next
    }

    /// A whole number of up to 18 digits within bounds, as most are. Any other value is still to be
    /// read.
    #[inline]
    pub(crate) fn short_whole(&mut self, least: i64, most: i64) -> Option<i64> {
        let start = self.at + usize::from(self.bytes.get(self.at) == Some(&b'-'));
        let (mut at, mut number) = (start, 0);
        while let Some(digit) = self.bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit <= 9) {
            if at - start == 18 {
                return None;
            }
            number = number * 10 + i64::from(digit);
            at += 1;
        }
        let is_long = at - start > 1;
        // A number does not begin with a zero that others follow.
        if at == start || is_long && self.bytes[start] == b'0' || matches!(self.bytes.get(at), Some(b'.' | b'e' | b'E'))
        {
            return None;
        }
        let number = if start > self.at { -number } else { number };
        (least..=most).contains(&number).then(|| {
            self.at = at;
            number
        })
    }

    /// A value that is neither an object nor an array.
    #[inline]
    pub(crate) fn scalar(&mut self) -> Result<Scalar<'a>> {
        match self.peek() {
            b'"' => Ok(Scalar::Text(self.string()?)),
            b'-' | b'0'..=b'9' => Ok(Scalar::Number(self.number()?)),
            b't' => self.word("true", Scalar::Bool(true)),
            b'f' => self.word("false", Scalar::Bool(false)),
            b'n' => self.word("null", Scalar::Null),
            _ => self.malformed("a value"),
        }
    }

    /// Whether the last scalar is a text that ends with the first half of a pair of UTF-16.
    pub(crate) fn is_cut(&self) -> bool {
        // Its quote is behind the escape.
        self.first_half_end.is_some_and(|end| end + 1 == self.at)
    }

    fn word(&mut self, word: &'static str, value: Scalar<'a>) -> Result<Scalar<'a>> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.malformed("a value");
        }
        self.at += word.len();
        Ok(value)
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { self.malformed("a digit") } else { Ok(()) }
    }

    fn number(&mut self) -> Result<&'a str> {
        let start = self.at;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        if self.at - start > NUMBER_MAX {
            return self.malformed("a number of at most 1,000 characters");
        }
        Ok(&self.text[start..self.at])
    }

    #[inline]
    fn string(&mut self) -> Result<Cow<'a, str>> {
        self.at += 1;
        let start = self.at;
        self.at = plain_end(self.bytes, start);
        match self.bytes.get(self.at) {
            Some(b'"') => {
                let text = &self.text[start..self.at];
                self.at += 1;
                Ok(Cow::Borrowed(text))
            }
            Some(b'\\') => self.escaped(start),
            _ => self.malformed("the end of the string"),
        }
    }

    /// The rest of a string from its first escape on.
    #[cold]
    fn escaped(&mut self, start: usize) -> Result<Cow<'a, str>> {
        let mut text = self.text[start..self.at].to_owned();
        let mut plain = self.at;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    text.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => {
                    text.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    text.push(self.escape()?);
                    plain = self.at;
                }
                Some(0x20..) => self.at += 1,
                _ => return self.malformed("the end of the string"),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let byte = self.bytes.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return self.malformed("an escape"),
        })
    }

    /// The character of an escape of four digits, or of two that are a pair. Half a pair becomes
    /// what the servers index in its place.
    fn unicode(&mut self) -> Result<char> {
        let first = self.hex()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        let c = char::from_u32(first);
        self.half_pair |= c.is_none();
        if (0xd800..0xdc00).contains(&first) {
            self.first_half_end = Some(self.at);
        }
        Ok(c.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits =
            self.text.get(self.at..self.at + 4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(digits) = digits else { return self.malformed("four hexadecimal digits") };
        self.at += 4;
        Ok(u32::from_str_radix(digits, 16).unwrap_or_default())
    }

    /// Goes over a value of any kind.
    pub(crate) fn skip(&mut self) -> Result<()> {
        match self.peek() {
            b'{' => {
                self.open(b'{')?;
                let mut names = HashSet::new();
                while self.more(names.is_empty(), b'}')? {
                    let name = self.name()?;
                    if !names.insert(name) {
                        return self.malformed(NO_DUPLICATE);
                    }
                    self.skip()?;
                }
            }
            b'[' => {
                self.open(b'[')?;
                let mut first = true;
                while self.more(first, b']')? {
                    first = false;
                    self.skip()?;
                }
            }
            _ => {
                self.scalar()?;
            }
        }
        Ok(())
    }

    /// Goes over a value of any kind, and returns its text.
    pub(crate) fn raw(&mut self) -> Result<&'a str> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(&self.text[start..self.at])
    }

    /// Checks that nothing follows.
    pub(crate) fn end(&mut self) -> Result<()> {
        if self.peek() == 0 && self.at == self.bytes.len() { Ok(()) } else { self.malformed("the end of the document") }
    }
}

/// Where the next quote, backslash or control character is from `at` on, or the end.
#[inline]
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHEST: u64 = ONES << 7;
    // The highest bit of each byte that is less; of a greater one only if it is above such a byte.
    let less = |word: u64, than: u64| word.wrapping_sub(ONES * than) & !word & HIGHEST;
    while let Some(Ok(eight)) = bytes.get(at..at + 8).map(<[u8; 8]>::try_from) {
        let word = u64::from_le_bytes(eight);
        let equal = |byte: u8| less(word ^ (ONES * u64::from(byte)), 1);
        let found = equal(b'"') | equal(b'\\') | less(word, 0x20);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let end = bytes[at..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
    end.map_or(bytes.len(), |end| at + end)
}

#[cfg(test)]
mod tests {
    use super::{NO_DUPLICATE, Reader, Scalar, plain_end};

    fn skip(text: &str) -> Result<(), &'static str> {
        let mut reader = Reader::new(text);
        reader.skip().and_then(|()| reader.end()).map_err(|error| error.expected)
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "-",
            "1.",
            "1e",
            "tru",
            "\"\u{1}\"",
            "\"\\x\"",
            "1 2",
            "{1:2}",
            "[1 2]",
            "+1",
            "{\"\\ud800\":1}",
        ] {
            assert!(skip(text).is_err(), "{text}");
        }
        for text in ["{/*x*/}//y", "{}", " [ ] ", "-0.5e+10", "\"\\u00e9\"", "{\"a\":{\"a\":[null,true,false]}}"] {
            assert_eq!(skip(text), Ok(()), "{text}");
        }
        assert_eq!(skip("{\"a\":1,\"a\":2}"), Err(NO_DUPLICATE));
        assert_eq!(skip(&"[".repeat(1001)), Err("at most 1,000 levels"));
    }

    #[test]
    fn escapes_are_characters() {
        let text = r#""a\n\u00e9\ud83d\ude00\ud83d.\udc00""#;
        let Ok(Scalar::Text(text)) = Reader::new(text).scalar() else { panic!("no text") };
        assert_eq!(text, "a\né😀\u{fffd}.\u{fffd}");
    }

    #[test]
    fn strings_end_at_their_quote_and_not_before() {
        for before in 0..20 {
            for behind in [0, 1, 9] {
                for end in [0, 0x1f, b'"', b'\\'] {
                    let mut bytes = "aé\u{7f}\u{20}!#[]ÿ".repeat(2).into_bytes();
                    bytes.truncate(before);
                    let expected = bytes.len();
                    bytes.push(end);
                    bytes.extend(std::iter::repeat_n(b'x', behind));
                    assert_eq!(plain_end(&bytes, 0), expected);
                    assert_eq!(plain_end(&bytes[..expected], 0), expected);
                }
            }
        }
    }

    #[test]
    fn short_numbers_are_those_that_the_rest_reads() {
        let short = |text: &str| Reader::new(text).short_whole(-12, i64::MAX);
        assert_eq!(
            ["0,", "-12}", "999999999999999999"].map(short),
            [Some(0), Some(-12), Some(999_999_999_999_999_999)]
        );
        for text in ["", "-", "-13", "01", "-00", "1.5", "1e3", "1E3", "1000000000000000000", "\"1\"", "null"] {
            assert_eq!(short(text), None, "{text}");
        }
    }
}
