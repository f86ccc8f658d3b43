//! The dictionary of terms: blocks of 25 to 48 terms that share a prefix, and an index of the
//! prefixes.
//!
//! Source: the documentation of
//! `org.apache.lucene.codecs.lucene90.blocktree.Lucene90BlockTreeTermsWriter` in Lucene 9.12.

use std::io;
use std::num::NonZero;
use std::path::Path;

use crate::formats::fst::FstBuilder;
use crate::formats::output::{FileOutput, ID_BYTES, Put, zigzag};
use crate::formats::positions::PositionsAt;
use crate::formats::postings::Occurrences;

const VERSION: u32 = 2;
const LEAST: usize = 25;
const MOST: usize = 48;

/// Where the postings of a term are, and how many.
#[derive(Clone, Copy, Default)]
pub(crate) struct TermState {
    pub(crate) docs: u32,
    pub(crate) occurrences: u64,
    /// Start in the file of documents.
    pub(crate) docs_at: u64,
    /// Starts in the files of positions and offsets.
    pub(crate) positions_at: PositionsAt,
    /// From there to the positions behind the last whole block, if there is a whole block before.
    pub(crate) last_block_at: Option<NonZero<u64>>,
    /// The document, where there is only one.
    pub(crate) only_doc: Option<u32>,
}

/// What the dictionary says of a field.
pub(crate) struct FieldTerms {
    pub(crate) number: u32,
    pub(crate) freqs: bool,
    pub(crate) occurrences: Occurrences,
    /// How many documents have a term in the field.
    pub(crate) docs: u32,
}

/// The terms of a field, in their order.
pub(crate) trait Terms {
    fn len(&self) -> usize;
    fn term(&self, at: usize) -> &[u8];
    fn state(&self, at: usize) -> TermState;
}

/// The files `.tim`, `.tip` and `.tmd`.
pub(crate) struct TermsWriter {
    terms: FileOutput,
    index: FileOutput,
    meta: FileOutput,
    fields: Vec<u8>,
    count: u32,
}

/// A term, or a block of terms that was written.
enum Entry {
    Term(usize),
    Block(Block),
}

/// A written block; its prefix is that of any term in it.
struct Block {
    /// A term with the prefix, and the length of the prefix.
    term: usize,
    prefix: usize,
    at: u64,
    has_terms: bool,
    /// The first byte behind the prefix, of a block that continues another one.
    lead: Option<u8>,
}

impl TermsWriter {
    pub(crate) fn create(folder: &Path, base: &str, id: &[u8; ID_BYTES], suffix: &str) -> io::Result<Self> {
        let open = |extension: &str, codec: &str| {
            let mut file = FileOutput::create(folder, format!("{base}.{extension}"))?;
            file.put_index_header(codec, VERSION, id, suffix);
            io::Result::Ok(file)
        };
        let terms = open("tim", "BlockTreeTermsDict")?;
        let index = open("tip", "BlockTreeTermsIndex")?;
        let mut meta = open("tmd", "BlockTreeTermsMeta")?;
        meta.put_index_header("Lucene90PostingsWriterTerms", 0, id, suffix);
        meta.put_vint(crate::formats::packed::BLOCK as u32);
        Ok(Self { terms, index, meta, fields: Vec::new(), count: 0 })
    }

    /// Adds a field. Fields come in the order of their names. A field without terms is left out.
    pub(crate) fn add(&mut self, field: &FieldTerms, terms: &impl Terms) {
        if terms.len() == 0 {
            return;
        }
        let mut blocks = Blocks {
            out: &mut self.terms,
            field,
            terms,
            pending: Vec::new(),
            index: Vec::new(),
            codes: Vec::new(),
            parts: Parts::default(),
        };
        blocks.write_all();
        let (mut index, codes) = (blocks.index, blocks.codes);
        index.sort_unstable_by(|a, b| terms.term(a.term)[..a.prefix].cmp(&terms.term(b.term)[..b.prefix]));
        let mut fst = FstBuilder::new();
        for entry in &index {
            fst.add(&terms.term(entry.term)[..entry.prefix], &codes[entry.code.0..entry.code.1]);
        }
        let root = &codes[index[0].code.0..index[0].code.1];
        let (docs, occurrences) = (0..terms.len())
            .map(|i| terms.state(i))
            .fold((0, 0), |sum, state| (sum.0 + u64::from(state.docs), sum.1 + state.occurrences));
        let meta = &mut self.fields;
        meta.put_vint(field.number);
        meta.put_vlong(terms.len() as u64);
        meta.put_vint(root.len() as u32);
        meta.put(root);
        if field.freqs {
            meta.put_vlong(occurrences);
        }
        meta.put_vlong(docs);
        meta.put_vint(field.docs);
        for term in [terms.term(0), terms.term(terms.len() - 1)] {
            meta.put_vint(term.len() as u32);
            meta.put(term);
        }
        meta.put_vlong(self.index.position());
        fst.finish(meta, &mut self.index);
        self.count += 1;
    }

    pub(crate) fn finish(mut self) -> io::Result<Vec<String>> {
        self.meta.put_vint(self.count);
        self.meta.put(&self.fields);
        self.index.put_footer();
        self.meta.put_u64(self.index.position());
        self.terms.put_footer();
        self.meta.put_u64(self.terms.position());
        self.meta.put_footer();
        [self.terms, self.index, self.meta].into_iter().map(FileOutput::finish).collect()
    }
}

/// A prefix in the index.
struct Indexed {
    term: usize,
    prefix: usize,
    /// Where its output is in the codes.
    code: (usize, usize),
}

/// The parts of a block, which are written one after the other.
#[derive(Default)]
struct Parts {
    suffixes: Vec<u8>,
    lengths: Vec<u8>,
    stats: Vec<u8>,
    states: Vec<u8>,
    block: Vec<u8>,
}

/// The blocks of one field.
struct Blocks<'a, T: Terms> {
    out: &'a mut FileOutput,
    field: &'a FieldTerms,
    terms: &'a T,
    /// Terms and blocks that no block has yet.
    pending: Vec<Entry>,
    index: Vec<Indexed>,
    codes: Vec<u8>,
    parts: Parts,
}

impl<T: Terms> Blocks<'_, T> {
    /// Goes through the terms once. A prefix that two or more terms share is open from its first
    /// term until a term without it comes; then its entries become blocks, if there are enough.
    fn write_all(&mut self) {
        // Open prefixes: their length, and their first pending entry.
        let mut open = vec![(0, 0)];
        for i in 1..=self.terms.len() {
            self.pending.push(Entry::Term(i - 1));
            let shared = if i == self.terms.len() { 0 } else { shared(self.terms.term(i - 1), self.terms.term(i)) };
            let mut first = self.pending.len() - 1;
            while let Some(&(prefix, start)) = open.last()
                && prefix > shared
            {
                open.pop();
                first = start;
                if self.pending.len() - start >= LEAST {
                    self.write_blocks(i - 1, prefix, start);
                }
            }
            if open.last().is_none_or(|&(prefix, _)| prefix < shared) {
                open.push((shared, first));
            }
        }
        self.write_blocks(0, 0, 0);
    }

    /// The byte of an entry behind the prefix, if it has one.
    fn lead(&self, entry: &Entry, prefix: usize) -> Option<u8> {
        let term = match entry {
            Entry::Term(term) => *term,
            Entry::Block(block) => block.term,
        };
        self.terms.term(term).get(prefix).copied()
    }

    /// Writes the pending entries from `start` on, which share a prefix, as one block, or as
    /// several that follow each other where they are too many.
    fn write_blocks(&mut self, term: usize, prefix: usize, start: usize) {
        let entries = self.pending.split_off(start);
        let mut blocks = Vec::new();
        let mut from = 0;
        let mut lead = None;
        for i in 1..entries.len() {
            if i - from < LEAST || entries.len() - from <= MOST {
                continue;
            }
            let here = self.lead(&entries[i], prefix);
            if here != self.lead(&entries[i - 1], prefix) {
                blocks.push(self.write_block(&entries[from..i], term, prefix, lead, false));
                from = i;
                lead = here;
            }
        }
        blocks.push(self.write_block(&entries[from..], term, prefix, lead, true));
        let code = self.codes.len();
        self.put_code(&blocks);
        self.index.push(Indexed { term, prefix, code: (code, self.codes.len()) });
        self.pending.push(Entry::Block(blocks.swap_remove(0)));
    }

    /// What the index says of a prefix: where its first block is, and which blocks follow.
    fn put_code(&mut self, blocks: &[Block]) {
        let first = &blocks[0];
        let several = blocks.len() > 1;
        put_from_highest(&mut self.codes, first.at << 2 | u64::from(first.has_terms) << 1 | u64::from(several));
        if several {
            self.codes.put_vint(blocks.len() as u32 - 1);
            for block in &blocks[1..] {
                self.codes.push(block.lead.unwrap_or_default());
                self.codes.put_vlong((block.at - first.at) << 1 | u64::from(block.has_terms));
            }
        }
    }

    fn write_block(&mut self, entries: &[Entry], term: usize, prefix: usize, lead: Option<u8>, last: bool) -> Block {
        let at = self.out.position();
        let leaf = entries.iter().all(|entry| matches!(entry, Entry::Term(_)));
        let mut parts = std::mem::take(&mut self.parts);
        let mut states = States { field: self.field, singles: 0, before: TermState::default() };
        let mut has_terms = false;
        for entry in entries {
            match entry {
                Entry::Term(term) => {
                    has_terms = true;
                    let suffix = &self.terms.term(*term)[prefix..];
                    parts.suffixes.extend_from_slice(suffix);
                    parts.lengths.put_vlong(if leaf { suffix.len() as u64 } else { (suffix.len() as u64) << 1 });
                    states.add(&mut parts, self.terms.state(*term));
                }
                Entry::Block(block) => {
                    let suffix = &self.terms.term(block.term)[prefix..block.prefix];
                    parts.suffixes.extend_from_slice(suffix);
                    parts.lengths.put_vlong((suffix.len() as u64) << 1 | 1);
                    parts.lengths.put_vlong(at - block.at);
                }
            }
        }
        states.end_singles(&mut parts.stats);
        parts.assemble(entries.len(), leaf, last);
        self.out.put(&parts.block);
        self.parts = parts;
        self.parts.clear();
        Block { term, prefix, at, has_terms, lead }
    }
}

impl Parts {
    fn assemble(&mut self, entries: usize, leaf: bool, last: bool) {
        let block = &mut self.block;
        block.put_vlong((entries as u64) << 1 | u64::from(last));
        // The two lowest bits name a compression: none.
        block.put_vlong((self.suffixes.len() as u64) << 3 | u64::from(leaf) << 2);
        block.extend_from_slice(&self.suffixes);
        let len = self.lengths.len() as u64;
        if self.lengths.iter().all(|byte| *byte == self.lengths[0]) {
            block.put_vlong(len << 1 | 1);
            block.push(self.lengths[0]);
        } else {
            block.put_vlong(len << 1);
            block.extend_from_slice(&self.lengths);
        }
        for part in [&self.stats, &self.states] {
            block.put_vlong(part.len() as u64);
            block.extend_from_slice(part);
        }
    }

    fn clear(&mut self) {
        for part in [&mut self.suffixes, &mut self.lengths, &mut self.stats, &mut self.states, &mut self.block] {
            part.clear();
        }
    }
}

/// The numbers of the terms in a block, each with respect to the one before.
struct States<'a> {
    field: &'a FieldTerms,
    /// Terms with one occurrence since the last one with more.
    singles: u64,
    before: TermState,
}

impl States<'_> {
    fn add(&mut self, parts: &mut Parts, state: TermState) {
        if state.docs == 1 && (!self.field.freqs || state.occurrences == 1) {
            self.singles += 1;
        } else {
            self.end_singles(&mut parts.stats);
            parts.stats.put_vlong(u64::from(state.docs) << 1);
            if self.field.freqs {
                parts.stats.put_vlong(state.occurrences - u64::from(state.docs));
            }
        }
        let out = &mut parts.states;
        match (self.before.only_doc, state.only_doc) {
            (Some(before), Some(doc)) if self.before.docs_at == state.docs_at => {
                out.put_vlong(zigzag(i64::from(doc) - i64::from(before)) << 1 | 1);
            }
            _ => {
                out.put_vlong((state.docs_at - self.before.docs_at) << 1);
                if let Some(doc) = state.only_doc {
                    out.put_vlong(u64::from(doc));
                }
            }
        }
        if self.field.occurrences.positions {
            out.put_vlong(state.positions_at.positions - self.before.positions_at.positions);
            if self.field.occurrences.offsets || self.field.occurrences.payloads {
                out.put_vlong(state.positions_at.offsets - self.before.positions_at.offsets);
            }
            if let Some(at) = state.last_block_at {
                out.put_vlong(at.get());
            }
        }
        self.before = state;
    }

    fn end_singles(&mut self, stats: &mut Vec<u8>) {
        if self.singles > 0 {
            stats.put_vlong((self.singles - 1) << 1 | 1);
            self.singles = 0;
        }
    }
}

/// Seven bits a byte, the highest first, so that neighbours begin alike.
fn put_from_highest(out: &mut Vec<u8>, value: u64) {
    let groups = crate::formats::packed::bits(value).div_ceil(7);
    for group in (0..groups).rev() {
        let more = if group > 0 { 0x80 } else { 0 };
        out.push((value >> (7 * group)) as u8 & 0x7f | more);
    }
}

/// How many bytes two terms have in common at their beginnings.
#[inline]
fn shared(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let mut i = 0;
    while i + 8 <= len {
        let left = u64::from_le_bytes(a[i..i + 8].try_into().unwrap_or_default());
        let right = u64::from_le_bytes(b[i..i + 8].try_into().unwrap_or_default());
        if left != right {
            return i + (left ^ right).trailing_zeros() as usize / 8;
        }
        i += 8;
    }
    while i < len && a[i] == b[i] {
        i += 1;
    }
    i
}
