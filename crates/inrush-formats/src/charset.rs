//! Converts text of other encodings to UTF-8 while it is read.

use std::io::{self, Read};
use std::str::FromStr;

use encoding_rs::{Decoder, DecoderResult, Encoding};
use serde::{Serialize, Serializer};

use super::input::{Bytes, Input};
use super::warnings::Warnings;

/// The encoding of text, by a name of the WHATWG Encoding Standard (`utf-8`, `utf-16le`,
/// `windows-1252`, `shift_jis`, …). In that standard `latin1` and `iso-8859-1` mean windows-1252.
/// The two differ only in 0x80 to 0x9F, where ISO 8859-1 has control characters that no text
/// contains. `ascii` means ASCII here, although that standard takes it for windows-1252, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ascii,
    Encoding(&'static Encoding),
}

/// Names of ASCII.
const ASCII: [&str; 4] = ["ascii", "us-ascii", "ansi_x3.4-1968", "iso646-us"];

impl Charset {
    /// The name in the standard.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Ascii => "US-ASCII",
            Kind::Encoding(encoding) => encoding.name(),
        }
    }
}

impl Serialize for Charset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl FromStr for Charset {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if ASCII.contains(&name.trim().to_ascii_lowercase().as_str()) {
            return Ok(Charset(Kind::Ascii));
        }
        Encoding::for_label_no_replacement(name.as_bytes()).map(Kind::Encoding).map(Charset).ok_or_else(|| {
            format!("unknown charset {name:?}; expected a WHATWG name such as utf-8, utf-16le, latin1 or windows-1252")
        })
    }
}

/// The text of a file, in the encoding that was found.
pub struct Text {
    /// The text in UTF-8. If `valid` is false, malformed bytes are still in it.
    pub input: Input,
    /// Bytes of a byte order mark that were removed.
    pub bom_len: u64,
    /// Whether malformed bytes were replaced by replacement characters, so that all of the text is
    /// valid.
    pub valid: bool,
}

/// Determines the charset: a byte order mark, or else `charset`, or else UTF-8.
///
/// UTF-8 passes through unchanged, so a malformed record is rejected later. In other charsets
/// malformed bytes are replaced and counted in `warnings`. In ASCII a byte above 0x7F ends the text
/// with an error.
pub fn read_text(
    mut input: Input,
    charset: Option<Charset>,
    source: &str,
    warnings: &Warnings,
) -> Result<Text, String> {
    let head = input.peek(4, |head| head.contains(&b'\n'));
    if matches!(head, [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..]) {
        return Err("text is UTF-32, which is not supported; convert it with `iconv -f UTF-32 -t UTF-8`".to_owned());
    }
    let (marked, bom_len) = match Encoding::for_bom(head) {
        Some((encoding, len)) => (Some(encoding), len),
        None => (None, 0),
    };
    input.skip(bom_len);
    let encoding = match (marked, charset) {
        (Some(encoding), _) | (None, Some(Charset(Kind::Encoding(encoding)))) => encoding,
        (None, Some(Charset(Kind::Ascii))) => {
            return Ok(Text { input: Input::new(AsciiOnly { input, at: 0, error: None }), bom_len: 0, valid: true });
        }
        (None, None) => encoding_rs::UTF_8,
    };
    if encoding == encoding_rs::UTF_8 {
        return Ok(Text { input, bom_len: bom_len as u64, valid: false });
    }
    let transcode = Transcode {
        input,
        decoder: encoding.new_decoder_without_bom_handling(),
        raw: vec![0; RAW_LEN],
        raw_start: 0,
        raw_end: 0,
        ended: false,
        error: None,
        out: String::with_capacity(RAW_LEN),
        out_start: 0,
        finished: false,
        report: Report { source: source.to_owned(), encoding, warnings: warnings.clone() },
    };
    // Offsets count converted bytes, and the mark is not among them.
    Ok(Text { input: Input::new(transcode), bom_len: 0, valid: true })
}

/// A byte above 0x7F in text that is declared as ASCII.
#[derive(Debug, thiserror::Error)]
#[error(
    "byte {at} of the text is 0x{byte:02x}, which is not ASCII; give the file's encoding with option `charset`, such as utf-8 or \
     windows-1252"
)]
pub struct NotAscii {
    at: u64,
    byte: u8,
}

impl NotAscii {
    /// Whether a read failed because of such a byte.
    pub fn is_cause_of(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<NotAscii>())
    }
}

/// Text up to the first byte above 0x7F.
struct AsciiOnly {
    input: Input,
    /// The offset of the next byte.
    at: u64,
    error: Option<io::Error>,
}

impl Read for AsciiOnly {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let read = self.input.read(buf)?;
        let ascii = buf[..read].iter().position(|byte| !byte.is_ascii()).unwrap_or(read);
        self.at += ascii as u64;
        if ascii < read {
            let error = io::Error::other(NotAscii { at: self.at, byte: buf[ascii] });
            if ascii == 0 {
                return Err(error);
            }
            self.error = Some(error);
        }
        Ok(ascii)
    }
}

impl Bytes for AsciiOnly {
    fn ready_within(&mut self, timeout: std::time::Duration) -> bool {
        self.error.is_some() || self.input.ready_within(timeout)
    }
}

const RAW_LEN: usize = 64 << 10;

struct Report {
    source: String,
    encoding: &'static Encoding,
    warnings: Warnings,
}

struct Transcode {
    input: Input,
    decoder: Decoder,
    raw: Vec<u8>,
    raw_start: usize,
    raw_end: usize,
    ended: bool,
    error: Option<io::Error>,
    out: String,
    out_start: usize,
    finished: bool,
    report: Report,
}

impl Transcode {
    fn fill(&mut self) -> io::Result<()> {
        self.out.clear();
        self.out_start = 0;
        let mut replaced = 0;
        while self.out.is_empty() && !self.finished {
            if self.raw_start == self.raw_end && !self.ended {
                self.raw_start = 0;
                self.raw_end = 0;
                match self.input.read(&mut self.raw) {
                    Ok(0) => self.ended = true,
                    Ok(n) => self.raw_end = n,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => {
                        // The decoder still holds a part of a character whose rest never came.
                        self.error = Some(error);
                        self.finished = true;
                        break;
                    }
                }
            }
            let raw = &self.raw[self.raw_start..self.raw_end];
            let (result, read) = self.decoder.decode_to_string_without_replacement(raw, &mut self.out, self.ended);
            self.raw_start += read;
            match result {
                DecoderResult::InputEmpty => self.finished = self.ended,
                DecoderResult::OutputFull => self.out.reserve(RAW_LEN),
                DecoderResult::Malformed(..) => {
                    self.out.push(char::REPLACEMENT_CHARACTER);
                    replaced += 1;
                }
            }
        }
        if replaced > 0 {
            let Report { source, encoding, warnings } = &self.report;
            warnings.add(source, "replaced_characters", "", replaced, || {
                format!(
                    "bytes that are not {} became the replacement character U+FFFD; check option `charset`",
                    encoding.name()
                )
            });
        }
        Ok(())
    }
}

impl Read for Transcode {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        if self.out_start == self.out.len() {
            self.fill()?;
            if self.out.is_empty() {
                return self.error.take().map_or(Ok(0), Err);
            }
        }
        let rest = &self.out.as_bytes()[self.out_start..];
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        self.out_start += n;
        Ok(n)
    }
}

impl Bytes for Transcode {
    fn ready_within(&mut self, timeout: std::time::Duration) -> bool {
        self.out_start < self.out.len() || self.raw_start < self.raw_end || self.input.ready_within(timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &[u8], charset: Option<&str>) -> (Vec<u8>, u64, u64) {
        let warnings = Warnings::default();
        let charset = charset.map(|c| c.parse().unwrap());
        let input = Input::new(io::Cursor::new(data.to_vec()));
        let mut text = read_text(input, charset, "f", &warnings).unwrap();
        let mut out = Vec::new();
        text.input.read_to_end(&mut out).unwrap();
        (out, text.bom_len, warnings.list().iter().map(|w| w.count).sum())
    }

    fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(unit).collect()
    }

    #[test]
    fn a_byte_order_mark_decides() {
        let text = "été 日本 𝄞\n".repeat(20_000);
        assert_eq!(read(b"\xEF\xBB\xBFab", None), (b"ab".to_vec(), 3, 0));
        assert_eq!(read(b"\xEF\xBB\xBFab", Some("latin1")), (b"ab".to_vec(), 3, 0));
        assert_eq!(read(&utf16(&text, u16::to_le_bytes), None), (text.clone().into_bytes(), 0, 0));
        assert_eq!(read(&utf16(&text, u16::to_be_bytes), Some("latin1")), (text.into_bytes(), 0, 0));
    }

    #[test]
    fn utf_8_passes_through_whether_it_was_asked_for_or_not() {
        for charset in [None, Some("utf-8"), Some("UTF8")] {
            assert_eq!(read(b"a\xFFb\xC3", charset), (b"a\xFFb\xC3".to_vec(), 0, 0));
            assert_eq!(read(b"\xEF\xBB\xBFa\xFF", charset), (b"a\xFF".to_vec(), 3, 0));
        }
    }

    #[test]
    fn ascii_takes_nothing_else() {
        let text = |data: &[u8]| {
            let input = Input::new(io::Cursor::new(data.to_vec()));
            let mut text = read_text(input, Some("ASCII".parse().unwrap()), "f", &Warnings::default()).unwrap();
            let mut out = Vec::new();
            let result = text.input.read_to_end(&mut out);
            (out, result.err().map(|error| error.to_string()))
        };
        assert_eq!(text(b"abc\n"), (b"abc\n".to_vec(), None));
        for data in [&b"ab\xE9\n"[..], b"ab\xC3\xA9"] {
            let (out, error) = text(data);
            assert_eq!(out, b"ab");
            assert!(error.unwrap().starts_with(&format!("byte 2 of the text is 0x{:02x}", data[2])));
        }
        assert!(text(b"\xE9").1.is_some());
        assert_eq!("us-ascii".parse::<Charset>().unwrap().name(), "US-ASCII");
    }

    #[test]
    fn latin_1_is_windows_1252() {
        let latin1: Charset = "ISO-8859-1".parse().unwrap();
        assert_eq!(latin1.name(), "windows-1252");
        assert_eq!(read(b"\xE9\x80", Some("latin1")), ("é€".into(), 0, 0));
        assert!("klingon".parse::<Charset>().unwrap_err().contains("unknown charset"));
    }

    #[test]
    fn half_a_character_at_the_end_is_replaced_and_counted() {
        assert_eq!(read(b"\xFF\xFEa\0b", None), ("a\u{FFFD}".into(), 0, 1));
        assert_eq!(read(b"", Some("latin1")), (Vec::new(), 0, 0));
    }

    #[test]
    fn utf_32_is_refused() {
        let input = Input::new(io::Cursor::new(b"\xFF\xFE\0\0a\0\0\0".to_vec()));
        assert!(read_text(input, None, "f", &Warnings::default()).is_err());
    }
}
