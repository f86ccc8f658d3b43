//! The records of a workbook's stream, and the text in them.

use encoding_rs::{Encoding, UTF_16LE, WINDOWS_1252};

/// The kind of records that continue another one.
const CONTINUE: u16 = 0x3C;

/// The records of a stream.
pub(super) struct Records<'a> {
    stream: &'a [u8],
}

pub(super) struct Record<'a> {
    pub(super) kind: u16,
    /// The contents: the record's own bytes, and those of each record that continues it.
    pub(super) pieces: Vec<&'a [u8]>,
}

impl<'a> Records<'a> {
    pub(super) fn new(stream: &'a [u8]) -> Self {
        Records { stream }
    }

    fn next_one(&mut self) -> Option<(u16, &'a [u8])> {
        let (head, rest) = self.stream.split_first_chunk::<4>()?;
        let len = usize::from(u16::from_le_bytes([head[2], head[3]]));
        // The last record of a truncated file is as long as the file allows.
        let (data, rest) = rest.split_at(len.min(rest.len()));
        self.stream = rest;
        Some((u16::from_le_bytes([head[0], head[1]]), data))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let (kind, data) = self.next_one()?;
        let mut pieces = vec![data];
        while self.stream.starts_with(&CONTINUE.to_le_bytes()) {
            let Some((_, data)) = self.next_one() else { break };
            pieces.push(data);
        }
        Some(Record { kind, pieces })
    }
}

impl<'a> Record<'a> {
    /// The record's own bytes. Most kinds have no others.
    pub(super) fn data(&self) -> &'a [u8] {
        self.pieces[0]
    }

    pub(super) fn reader(&self) -> Pieces<'_> {
        Pieces { pieces: &self.pieces, at: 0 }
    }
}

/// The encoding of text in a workbook.
#[derive(Clone, Copy)]
pub(super) enum Letters {
    /// Since Excel 97: 16 bits, or the low 8 bits of them.
    Unicode,
    /// Before Excel 97: bytes of a code page. `None` if it is unknown.
    Page(Option<&'static Encoding>),
}

/// Reads a record across its pieces.
pub(super) struct Pieces<'a> {
    pieces: &'a [&'a [u8]],
    at: usize,
}

impl<'a> Pieces<'a> {
    /// The rest of the piece, or the next piece if nothing is left.
    fn here(&mut self) -> Option<&'a [u8]> {
        while let [first, rest @ ..] = self.pieces {
            if self.at < first.len() {
                return Some(&first[self.at..]);
            }
            self.pieces = rest;
            self.at = 0;
        }
        None
    }

    pub(super) fn is_empty(&mut self) -> bool {
        self.here().is_none()
    }

    /// Skips up to `count` bytes.
    pub(super) fn skip(&mut self, mut count: usize) {
        while count > 0 {
            let Some(here) = self.here() else { return };
            let taken = here.len().min(count);
            self.at += taken;
            count -= taken;
        }
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.here()?.first()?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from(self.u16()?) | u32::from(self.u16()?) << 16)
    }

    /// `count` letters. Counts the letters of an unknown code page.
    pub(super) fn text(&mut self, count: usize, letters: Letters, unknown: &mut u64) -> Option<String> {
        match letters {
            Letters::Unicode => self.unicode(count),
            Letters::Page(page) => {
                let bytes: Vec<u8> = (0..count).map_while(|_| self.byte()).collect();
                Some(decode(&bytes, page, unknown))
            }
        }
    }

    /// Text with its flags before it. The formatting runs and phonetic data around it are skipped.
    fn unicode(&mut self, count: usize) -> Option<String> {
        let flags = self.byte()?;
        let runs = if flags & 8 != 0 { self.u16()? } else { 0 };
        let sounds = if flags & 4 != 0 { self.u32()? } else { 0 };
        let mut units = Vec::with_capacity(count.min(1 << 15));
        let mut wide = flags & 1 != 0;
        while units.len() < count {
            let Some(here) = self.rest_or_next(&mut wide) else { break };
            let wanted = count - units.len();
            if wide {
                let taken = (here.len() / 2).min(wanted);
                units.extend(here.chunks_exact(2).take(taken).map(|unit| u16::from_le_bytes([unit[0], unit[1]])));
                // Half a letter at the end of a piece is a damaged letter.
                self.at += if taken == 0 { here.len() } else { taken * 2 };
            } else {
                let taken = here.len().min(wanted);
                units.extend(here[..taken].iter().map(|byte| u16::from(*byte)));
                self.at += taken;
            }
        }
        self.skip(usize::from(runs) * 4 + sounds as usize);
        Some(String::from_utf16_lossy(&units))
    }

    /// The rest of the piece. If text continues in the next piece, that begins with the width of
    /// its letters.
    fn rest_or_next(&mut self, wide: &mut bool) -> Option<&'a [u8]> {
        let [first, ..] = self.pieces else { return None };
        if self.at < first.len() {
            return Some(&first[self.at..]);
        }
        *wide = self.byte()? & 1 != 0;
        let first = self.pieces.first()?;
        Some(&first[self.at..])
    }
}

/// Decodes bytes of a code page. If it is unknown, bytes beyond ASCII become U+FFFD and are
/// counted.
fn decode(bytes: &[u8], page: Option<&'static Encoding>, unknown: &mut u64) -> String {
    match page {
        // The length counts bytes, so half a letter means that the text is not 16 bits wide.
        Some(page) if page == UTF_16LE && !bytes.len().is_multiple_of(2) => {
            WINDOWS_1252.decode_without_bom_handling(bytes).0.into()
        }
        Some(page) => page.decode_without_bom_handling(bytes).0.into(),
        None => {
            let letters = bytes.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '\u{FFFD}' });
            *unknown += bytes.iter().filter(|byte| !byte.is_ascii()).count() as u64;
            letters.collect()
        }
    }
}
