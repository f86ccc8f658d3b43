//! Postings: for each term its documents, frequencies and positions, in packed blocks with skip
//! data and impacts.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene912.Lucene912PostingsFormat`.

use std::io;
use std::path::Path;

use crate::formats::output::{FileOutput, ID_BYTES, Put};
use crate::formats::packed::{BLOCK, put_gap_block, put_group_vints, put_patched_block};
use crate::formats::positions::{OffsetGaps, PositionsAt, PositionsWriter};
use crate::formats::terms::TermState;

const VERSION: u32 = 0;

/// A run of this many documents has skip data of its own.
const RUN: usize = 32 * BLOCK;

/// The postings of one term.
pub(crate) struct Postings<'a> {
    /// Ascending.
    pub(crate) docs: &'a [u32],
    /// One for each document; none where the field has no frequencies.
    pub(crate) freqs: Option<&'a [u32]>,
    /// Each position's distance from the one before in its document (from 0 for the first), one
    /// for each occurrence; none where the field has no positions.
    pub(crate) position_gaps: Option<&'a [u32]>,
    /// Where each occurrence starts and ends in the texts of its document; none where the field has
    /// no offsets.
    pub(crate) offsets: Option<&'a [(u32, u32)]>,
    /// What stands beside each occurrence; none where the field has no payloads. A field has them
    /// or offsets.
    pub(crate) payloads: Option<Payloads<'a>>,
}

/// Bytes beside each occurrence.
#[derive(Clone, Copy)]
pub(crate) struct Payloads<'a> {
    pub(crate) bytes: &'a [u8],
    /// Where those of each occurrence end.
    pub(crate) ends: &'a [u32],
}

impl Payloads<'_> {
    /// Where those of an occurrence begin.
    pub(super) fn start(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.ends[before] as usize)
    }
}

/// What fields have of each occurrence.
#[derive(Clone, Copy)]
pub(crate) struct Occurrences {
    pub(crate) positions: bool,
    pub(crate) offsets: bool,
    pub(crate) payloads: bool,
}

impl Occurrences {
    pub(crate) const NONE: Self = Self { positions: false, offsets: false, payloads: false };
}

/// The files `.doc` and `.psm`, and those of positions.
pub(crate) struct PostingsWriter {
    docs: FileOutput,
    positions: Option<PositionsWriter>,
    meta: FileOutput,
    /// The sizes that a reader has to have room for.
    impacts_max: [u32; 4],
    block: Vec<u8>,
    run: Vec<u8>,
    head: Vec<u8>,
    skip: Vec<u8>,
    /// The impacts of the current block and of the current run.
    block_impacts: Impacts,
    run_impacts: Impacts,
}

impl PostingsWriter {
    /// `any` says what any field has.
    pub(crate) fn create(
        folder: &Path,
        base: &str,
        id: &[u8; ID_BYTES],
        suffix: &str,
        any: Occurrences,
    ) -> io::Result<Self> {
        let positions = || PositionsWriter::create(folder, base, id, suffix, any.offsets || any.payloads);
        let open = |extension, codec| open(folder, base, id, suffix, (extension, codec));
        Ok(Self {
            docs: open("doc", "Lucene912PostingsWriterDoc")?,
            positions: if any.positions { Some(positions()?) } else { None },
            meta: open("psm", "Lucene912PostingsWriterMeta")?,
            impacts_max: [0; 4],
            block: Vec::new(),
            run: Vec::new(),
            head: Vec::new(),
            skip: Vec::new(),
            block_impacts: Impacts::new(),
            run_impacts: Impacts::new(),
        })
    }

    /// Where the next term's documents will be.
    pub(crate) fn position(&self) -> u64 {
        self.docs.position()
    }

    /// Writes a term that has a document, and returns where. `norms` has a number for each document
    /// of the segment.
    pub(crate) fn add(&mut self, postings: &Postings, norms: Option<&[u8]>) -> TermState {
        let mut state =
            TermState { docs: postings.docs.len() as u32, docs_at: self.docs.position(), ..TermState::default() };
        state.occurrences = match postings.freqs {
            Some(freqs) => freqs.iter().map(|&freq| u64::from(freq)).sum(),
            None => u64::from(state.docs),
        };
        if let (Some(gaps), Some(file)) = (postings.position_gaps, &mut self.positions) {
            let offsets = postings.freqs.zip(postings.offsets).map(|(freqs, offsets)| OffsetGaps::new(freqs, offsets));
            (state.positions_at, state.last_block_at) = file.add(gaps, offsets, postings.payloads);
        }
        match postings.docs {
            &[doc] => state.only_doc = Some(doc),
            _ => self.write_docs(postings, norms, state.positions_at),
        }
        state
    }

    fn write_docs(&mut self, postings: &Postings, norms: Option<&[u8]>, positions_at: PositionsAt) {
        let blocks = postings.docs.len() / BLOCK;
        // Documents and positions before the block and the run; no document is -1.
        let mut block_from = Before { doc: u32::MAX, positions_at };
        let mut run_from = block_from;
        let mut occurrences = 0;
        self.run.clear();
        self.run_impacts.clear();
        for b in 0..blocks {
            let range = b * BLOCK..(b + 1) * BLOCK;
            let docs = &postings.docs[range.clone()];
            self.block.clear();
            self.head.clear();
            if let Some(freqs) = postings.freqs {
                let freqs = &freqs[range];
                self.block_impacts.clear();
                self.block_impacts.add(docs, freqs, norms);
                self.run_impacts.join(&self.block_impacts);
                self.skip.clear();
                self.put_impacts(0);
                self.block.put_vlong(self.skip.len() as u64);
                self.block.extend_from_slice(&self.skip);
                if let Some(positions) = &self.positions
                    && postings.position_gaps.is_some()
                {
                    occurrences += freqs.iter().map(|&freq| freq as usize).sum::<usize>();
                    let here = positions.block_at(occurrences);
                    put_positions_skip(&mut self.block, postings, (block_from.positions_at, here), occurrences);
                    block_from.positions_at = here;
                }
            }
            let skip_len = self.block.len();
            put_gap_block(&mut self.block, &gaps(docs, block_from.doc));
            if let Some(freqs) = postings.freqs {
                let freqs = &freqs[b * BLOCK..(b + 1) * BLOCK];
                put_patched_block(&mut self.block, freqs.try_into().unwrap_or(&[1; BLOCK]));
            }
            let last = docs[BLOCK - 1];
            put_15_bits(&mut self.head, u64::from(last.wrapping_sub(block_from.doc)));
            put_15_bits(&mut self.head, self.block.len() as u64);
            self.run.put_vlong((skip_len + self.head.len()) as u64);
            self.run.extend_from_slice(&self.head);
            self.run.extend_from_slice(&self.block);
            block_from.doc = last;
            if (b + 1).is_multiple_of(RUN / BLOCK) {
                self.end_run(postings, &mut run_from, last, occurrences);
            }
        }
        self.docs.put(&self.run);
        self.run.clear();
        self.write_rest(postings, blocks * BLOCK, block_from.doc);
    }

    /// The documents that do not fill a block.
    fn write_rest(&mut self, postings: &Postings, from: usize, mut before: u32) {
        let docs = &postings.docs[from..];
        if docs.is_empty() {
            return;
        }
        self.block.clear();
        let mut gaps = [0; BLOCK];
        for (gap, &doc) in gaps.iter_mut().zip(docs) {
            *gap = doc.wrapping_sub(before);
            before = doc;
        }
        let gaps = &mut gaps[..docs.len()];
        let freqs = postings.freqs.map(|freqs| &freqs[from..]);
        if let Some(freqs) = freqs {
            for (gap, &freq) in gaps.iter_mut().zip(freqs) {
                *gap = *gap << 1 | u32::from(freq == 1);
            }
        }
        put_group_vints(&mut self.block, gaps);
        for &freq in freqs.into_iter().flatten().filter(|&&freq| freq != 1) {
            self.block.put_vint(freq);
        }
        self.docs.put(&self.block);
    }

    /// Writes a run of blocks with how to skip it.
    fn end_run(&mut self, postings: &Postings, from: &mut Before, last: u32, occurrences: usize) {
        self.docs.put_vint(last.wrapping_sub(from.doc));
        from.doc = last;
        if postings.freqs.is_some() {
            self.skip.clear();
            self.put_impacts(1);
            let impacts = self.skip.len();
            if let Some(positions) = &self.positions
                && postings.position_gaps.is_some()
            {
                let here = positions.block_at(occurrences);
                put_positions_skip(&mut self.skip, postings, (from.positions_at, here), occurrences);
                from.positions_at = here;
            }
            self.docs.put_vlong((4 + self.skip.len() + self.run.len()) as u64);
            self.docs.put_u16(self.skip.len() as u16 + 2);
            self.docs.put_u16(impacts as u16);
            self.docs.put(&self.skip);
        } else {
            self.docs.put_vlong(self.run.len() as u64);
        }
        self.docs.put(&self.run);
        self.run.clear();
        self.run_impacts.clear();
    }

    /// Appends the impacts of a block (level 0) or a run (level 1) to the skip data.
    fn put_impacts(&mut self, level: usize) {
        let impacts = if level == 0 { &self.block_impacts } else { &self.run_impacts };
        let count = impacts.put(&mut self.skip);
        let sizes = &mut self.impacts_max[2 * level..2 * level + 2];
        sizes[0] = sizes[0].max(count);
        sizes[1] = sizes[1].max(self.skip.len() as u32);
    }

    pub(crate) fn finish(mut self) -> io::Result<Vec<String>> {
        self.docs.put_footer();
        for size in self.impacts_max {
            self.meta.put_u32(size);
        }
        self.meta.put_u64(self.docs.position());
        let mut files = vec![self.docs.finish()?];
        if let Some(positions) = self.positions {
            files.extend(positions.finish(&mut self.meta)?);
        }
        self.meta.put_footer();
        files.push(self.meta.finish()?);
        Ok(files)
    }
}

/// Creates a file of postings: its extension, and the name in its header.
pub(super) fn open(
    folder: &Path,
    base: &str,
    id: &[u8; ID_BYTES],
    suffix: &str,
    (extension, codec): (&str, &str),
) -> io::Result<FileOutput> {
    let mut file = FileOutput::create(folder, format!("{base}.{extension}"))?;
    file.put_index_header(codec, VERSION, id, suffix);
    Ok(file)
}

/// The state of the lists before a block or a run.
#[derive(Clone, Copy)]
struct Before {
    doc: u32,
    positions_at: PositionsAt,
}

/// Appends how to skip the positions of a block or a run: from where to where, and how many of
/// those in the last block.
fn put_positions_skip(
    out: &mut Vec<u8>,
    postings: &Postings,
    (from, to): (PositionsAt, PositionsAt),
    occurrences: usize,
) {
    out.put_vlong(to.positions - from.positions);
    out.push((occurrences % BLOCK) as u8);
    if postings.offsets.is_some() || postings.payloads.is_some() {
        out.put_vlong(to.offsets - from.offsets);
        // Bytes of payloads in the last block.
        let in_block = |payloads: Payloads| payloads.start(occurrences) - payloads.start(occurrences / BLOCK * BLOCK);
        out.put_vint(postings.payloads.map_or(0, in_block) as u32);
    }
}

/// The distances between documents, the first from `before`.
fn gaps(docs: &[u32], mut before: u32) -> [u32; BLOCK] {
    let mut gaps = [0; BLOCK];
    for (gap, &doc) in gaps.iter_mut().zip(docs) {
        *gap = doc.wrapping_sub(before);
        before = doc;
    }
    gaps
}

/// Two bytes, or more where 15 bits are not enough.
fn put_15_bits(out: &mut Vec<u8>, value: u64) {
    if value < 1 << 15 {
        out.put_u16(value as u16);
    } else {
        out.put_u16(0x8000 | (value & 0x7fff) as u16);
        out.put_vlong(value >> 15);
    }
}

/// The highest frequency with each norm: what a score cannot exceed.
struct Impacts {
    freqs: [u32; 256],
    /// A bit for each norm.
    norms: [u64; 4],
}

impl Impacts {
    fn new() -> Self {
        Self { freqs: [0; 256], norms: [0; 4] }
    }

    fn clear(&mut self) {
        self.each(|freq| *freq = 0);
        self.norms = [0; 4];
    }

    /// Visits the frequencies that are not 0.
    fn each(&mut self, mut visit: impl FnMut(&mut u32)) {
        for (i, mut bits) in self.norms.into_iter().enumerate() {
            while bits != 0 {
                visit(&mut self.freqs[64 * i + bits.trailing_zeros() as usize]);
                bits &= bits - 1;
            }
        }
    }

    #[inline]
    fn raise(&mut self, norm: u8, freq: u32) {
        let highest = &mut self.freqs[usize::from(norm)];
        *highest = (*highest).max(freq);
        self.norms[usize::from(norm) / 64] |= 1 << (norm % 64);
    }

    fn add(&mut self, docs: &[u32], freqs: &[u32], norms: Option<&[u8]>) {
        for (&doc, &freq) in docs.iter().zip(freqs) {
            self.raise(norms.map_or(1, |norms| norms[doc as usize]), freq);
        }
    }

    fn join(&mut self, other: &Self) {
        for (i, mut bits) in other.norms.into_iter().enumerate() {
            while bits != 0 {
                let norm = 64 * i + bits.trailing_zeros() as usize;
                self.raise(norm as u8, other.freqs[norm]);
                bits &= bits - 1;
            }
        }
    }

    /// Appends those that no other one beats, and returns how many.
    fn put(&self, out: &mut Vec<u8>) -> u32 {
        let (mut freq_before, mut norm_before, mut count) = (0, 0, 0);
        for (i, mut bits) in self.norms.into_iter().enumerate() {
            while bits != 0 {
                let index = 64 * i + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let freq = self.freqs[index];
                if freq <= freq_before {
                    continue;
                }
                let norm = i64::from(index as u8 as i8);
                let (freq_gap, norm_gap) = (freq - freq_before - 1, norm - norm_before - 1);
                if norm_gap == 0 {
                    out.put_vint(freq_gap << 1);
                } else {
                    out.put_vint(freq_gap << 1 | 1);
                    out.put_zlong(norm_gap);
                }
                (freq_before, norm_before) = (freq, norm);
                count += 1;
            }
        }
        count
    }
}
