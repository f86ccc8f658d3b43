//! Text that is not UTF-8, made UTF-8 as it is read.

use std::io::{self, Read};
use std::str::FromStr;

use encoding_rs::{Decoder, DecoderResult, Encoding};

use super::input::{Bytes, Input};
use super::warnings::Warnings;

/// How text is encoded, by a name of the WHATWG Encoding Standard (`utf-8`, `utf-16le`, `windows-1252`,
/// `shift_jis`, …). `latin1` and `iso-8859-1` are windows-1252 there, which differs in 0x80 to 0x9F only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset(&'static Encoding);

impl Charset {
    /// The name of the standard.
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

impl FromStr for Charset {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Encoding::for_label_no_replacement(name.as_bytes()).map(Charset).ok_or_else(|| {
            format!("unknown charset {name:?}; expected a WHATWG name such as utf-8, utf-16le, latin1 or windows-1252")
        })
    }
}

/// What a file's text is to be read as.
pub(super) struct Text {
    /// The text in UTF-8; where `replaced` is false malformed bytes are still in it.
    pub(super) input: Input,
    /// Bytes of a byte order mark that were left out.
    pub(super) bom_len: u64,
    /// Whether malformed bytes have become replacement characters, so that all of it is valid.
    pub(super) valid: bool,
}

/// Finds the charset: a byte order mark first, then `charset`, else UTF-8. UTF-8 passes through unchanged; only where
/// it was asked for are malformed bytes replaced (and counted in `warnings`).
pub(super) fn read_text(
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
        (Some(encoding), _) => encoding,
        (None, Some(Charset(encoding))) => encoding,
        (None, None) => encoding_rs::UTF_8,
    };
    if encoding == encoding_rs::UTF_8 && charset.is_none() {
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
    // Offsets count converted bytes, of which the mark is none, unless nothing is converted.
    let bom_len = if encoding == encoding_rs::UTF_8 { bom_len as u64 } else { 0 };
    Ok(Text { input: Input::new(transcode), bom_len, valid: true })
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
                        // What the decoder holds back is part of a character that never came.
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
                    "bytes that are no {} became the replacement character U+FFFD; check --charset",
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
    fn utf_8_passes_through_unless_it_was_asked_for() {
        assert_eq!(read(b"a\xFFb", None), (b"a\xFFb".to_vec(), 0, 0));
        assert_eq!(read(b"a\xFFb\xC3", Some("utf-8")), ("a\u{FFFD}b\u{FFFD}".into(), 0, 2));
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
