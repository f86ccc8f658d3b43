//! Positions of the occurrences of a term, and their offsets: where they are in the texts; or their
//! payloads, which are any bytes.
//!
//! Whole blocks of positions are in `.pos`, those of offsets and payloads in `.pay`. What is left
//! of a term is in `.pos`.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene912.Lucene912PostingsFormat`.

use std::io;
use std::num::NonZero;
use std::path::Path;
use std::slice;

use crate::formats::output::{FileOutput, ID_BYTES, Put};
use crate::formats::packed::{BLOCK, put_patched_block};
use crate::formats::postings::{Payloads, open};

/// Places in the files of positions and of offsets.
#[derive(Clone, Copy, Default)]
pub(crate) struct PositionsAt {
    pub(crate) positions: u64,
    pub(crate) offsets: u64,
}

/// The files `.pos` and `.pay`.
pub(super) struct PositionsWriter {
    positions: FileOutput,
    offsets: Option<FileOutput>,
    block: Vec<u8>,
    /// Where the term begins.
    start: PositionsAt,
    /// Where the blocks of the term end.
    ends: Vec<PositionsAt>,
}

impl PositionsWriter {
    /// `offsets` says whether any field has them, or payloads.
    pub(super) fn create(
        folder: &Path,
        base: &str,
        id: &[u8; ID_BYTES],
        suffix: &str,
        offsets: bool,
    ) -> io::Result<Self> {
        let open = |extension, codec| open(folder, base, id, suffix, (extension, codec));
        Ok(Self {
            positions: open("pos", "Lucene912PostingsWriterPos")?,
            offsets: if offsets { Some(open("pay", "Lucene912PostingsWriterPay")?) } else { None },
            block: Vec::new(),
            start: PositionsAt::default(),
            ends: Vec::new(),
        })
    }

    /// Where the next block will be.
    fn position(&self) -> PositionsAt {
        let offsets = self.offsets.as_ref().map_or(0, FileOutput::position);
        PositionsAt { positions: self.positions.position(), offsets }
    }

    /// Writes the distances between the positions of a term. Returns where they begin, and the
    /// distance from there to those behind the last whole block, if there are more than a block.
    pub(super) fn add(
        &mut self,
        gaps: &[u32],
        offsets: Option<OffsetGaps>,
        payloads: Option<Payloads>,
    ) -> (PositionsAt, Option<NonZero<u64>>) {
        self.start = self.position();
        self.ends.clear();
        let blocks = gaps.chunks_exact(BLOCK);
        let rest = blocks.remainder();
        let mut offsets = offsets;
        for (at, block) in blocks.enumerate() {
            self.block.clear();
            put_patched_block(&mut self.block, block.try_into().unwrap_or(&[0; BLOCK]));
            self.positions.put(&self.block);
            if let (Some(offsets), Some(file)) = (&mut offsets, &mut self.offsets) {
                self.block.clear();
                put_offset_block(&mut self.block, offsets);
                file.put(&self.block);
            }
            if let (Some(payloads), Some(file)) = (payloads, &mut self.offsets) {
                self.block.clear();
                put_payload_block(&mut self.block, payloads, at * BLOCK);
                file.put(&self.block);
            }
            self.ends.push(self.position());
        }
        let to_rest = self.positions.position() - self.start.positions;
        self.block.clear();
        match (offsets, payloads) {
            (None, Some(payloads)) => put_with_payloads(&mut self.block, rest, payloads, gaps.len() - rest.len()),
            (None, None) => rest.iter().for_each(|gap| self.block.put_vint(*gap)),
            (Some(offsets), _) => put_with_offsets(&mut self.block, rest, offsets),
        }
        self.positions.put(&self.block);
        (self.start, if gaps.len() > BLOCK { NonZero::new(to_rest) } else { None })
    }

    /// Where the blocks of the term begin that have the occurrence after `occurrences` others.
    pub(super) fn block_at(&self, occurrences: usize) -> PositionsAt {
        match occurrences / BLOCK {
            0 => self.start,
            blocks => self.ends[blocks - 1],
        }
    }

    /// Ends the files, and appends their lengths.
    pub(super) fn finish(self, meta: &mut FileOutput) -> io::Result<Vec<String>> {
        let files = [Some(self.positions), self.offsets].into_iter().flatten();
        let end = |mut file: FileOutput| {
            file.put_footer();
            meta.put_u64(file.position());
            file.finish()
        };
        files.map(end).collect()
    }
}

/// The offsets of a term as they are written: how much further an occurrence begins than the one
/// before in its document (than 0 for the first), and how long it is.
pub(super) struct OffsetGaps<'a> {
    freqs: slice::Iter<'a, u32>,
    offsets: slice::Iter<'a, (u32, u32)>,
    /// Occurrences that the document has yet.
    left: u32,
    before: u32,
}

impl<'a> OffsetGaps<'a> {
    /// `freqs` has the number of occurrences of each document, `offsets` where each occurrence
    /// starts and ends.
    pub(super) fn new(freqs: &'a [u32], offsets: &'a [(u32, u32)]) -> Self {
        Self { freqs: freqs.iter(), offsets: offsets.iter(), left: 0, before: 0 }
    }
}

impl Iterator for OffsetGaps<'_> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        let &(start, end) = self.offsets.next()?;
        if self.left == 0 {
            self.left = *self.freqs.next()?;
            self.before = 0;
        }
        self.left -= 1;
        let gap = start - std::mem::replace(&mut self.before, start);
        Some((gap, end - start))
    }
}

fn put_offset_block(out: &mut Vec<u8>, offsets: &mut OffsetGaps) {
    let (mut gaps, mut lens) = ([0; BLOCK], [0; BLOCK]);
    for ((gap, len), offset) in gaps.iter_mut().zip(&mut lens).zip(offsets) {
        (*gap, *len) = offset;
    }
    put_patched_block(out, &gaps);
    put_patched_block(out, &lens);
}

/// Appends the payloads of a block: their lengths, and the bytes of all.
fn put_payload_block(out: &mut Vec<u8>, payloads: Payloads, from: usize) {
    let lens = std::array::from_fn(|i| (payloads.start(from + i + 1) - payloads.start(from + i)) as u32);
    put_patched_block(out, &lens);
    let bytes = &payloads.bytes[payloads.start(from)..payloads.start(from + BLOCK)];
    out.put_vint(bytes.len() as u32);
    out.extend_from_slice(bytes);
}

/// Appends positions with their payloads, of which those of this term begin `from` a place on. A
/// length is left out that is the one before.
fn put_with_payloads(out: &mut Vec<u8>, positions: &[u32], payloads: Payloads, from: usize) {
    let mut len_before = None;
    for (at, &position) in (from..).zip(positions) {
        let bytes = &payloads.bytes[payloads.start(at)..payloads.start(at + 1)];
        let is_new = len_before != Some(bytes.len());
        out.put_vlong(u64::from(position) << 1 | u64::from(is_new));
        if is_new {
            out.put_vint(bytes.len() as u32);
            len_before = Some(bytes.len());
        }
        out.extend_from_slice(bytes);
    }
}

/// Appends positions with their offsets. A length is left out that is the one before.
fn put_with_offsets(out: &mut Vec<u8>, positions: &[u32], offsets: OffsetGaps) {
    let mut len_before = None;
    for (&position, (gap, len)) in positions.iter().zip(offsets) {
        out.put_vint(position);
        let is_new = len_before != Some(len);
        out.put_vlong(u64::from(gap) << 1 | u64::from(is_new));
        if is_new {
            out.put_vint(len);
            len_before = Some(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OffsetGaps, put_offset_block, put_with_offsets, put_with_payloads};
    use crate::formats::packed::BLOCK;
    use crate::formats::postings::Payloads;

    #[test]
    fn offsets_begin_anew_in_each_document() {
        let offsets = [(3, 5), (300, 302), (0, 0), (7, 9), (7, 9)];
        let gaps: Vec<_> = OffsetGaps::new(&[2, 1, 2], &offsets).collect();
        assert_eq!(gaps, [(3, 2), (297, 2), (0, 0), (7, 2), (0, 2)]);
    }

    #[test]
    fn lengths_come_where_they_change() {
        let mut out = Vec::new();
        put_with_offsets(&mut out, &[4, 0, 1], OffsetGaps::new(&[2, 1], &[(3, 5), (6, 8), (0, 200)]));
        assert_eq!(out, [4, 3 << 1 | 1, 2, 0, 3 << 1, 1, 1, 0xc8, 1]);
    }

    #[test]
    fn payloads_stand_behind_their_positions() {
        let mut out = Vec::new();
        let payloads = Payloads { bytes: b"abcdef", ends: &[1, 2, 4, 6] };
        put_with_payloads(&mut out, &[4, 0, 100], payloads, 1);
        assert_eq!(out, [4 << 1 | 1, 1, b'b', 1, 2, b'c', b'd', 200, 1, b'e', b'f']);
    }

    #[test]
    fn a_block_takes_no_offsets_of_the_next() {
        let offsets: Vec<(u32, u32)> = (0..BLOCK as u32 + 1).map(|i| (2 * i, 2 * i + 1)).collect();
        let freqs = [BLOCK as u32 + 1];
        let (mut gaps, mut out) = (OffsetGaps::new(&freqs, &offsets), Vec::new());
        put_offset_block(&mut out, &mut gaps);
        // All distances are 2 but for the first one, then all lengths are 1.
        assert_eq!((out.len(), out[out.len() - 2..].to_vec()), (16 * 2 + 1 + 2, vec![0, 1]));
        assert_eq!(gaps.next(), Some((2, 1)));
    }
}
