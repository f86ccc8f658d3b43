//! Term vectors: the terms of each document, in chunks.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90TermVectorsFormat`, of
//! `org.apache.lucene.util.packed.BlockPackedWriter` and of `PackedInts`.

use std::io;
use std::path::Path;

use crate::formats::fields_index::FieldsIndex;
use crate::formats::lz4::Compressor;
use crate::formats::output::{FileOutput, ID_BYTES, Put, zigzag};
use crate::formats::packed::{DirectWriter, bits, direct_bits};

/// Bytes of terms after which a chunk ends.
const CHUNK_BYTES: usize = 1 << 12;
/// Documents after which a chunk ends.
const CHUNK_DOCS: usize = 128;
const PACKED_VERSION: u32 = 2;
/// The numbers of a packed block.
const BLOCK: usize = 64;
const POSITIONS: u8 = 1;
const OFFSETS: u8 = 2;

/// What is kept of each occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VectorOptions {
    pub(crate) positions: bool,
    pub(crate) offsets: bool,
}

/// An occurrence of a term: its position, and where it starts and ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Occurrence {
    pub(crate) position: u32,
    pub(crate) place: (u32, u32),
}

/// A field of a document in the chunk.
struct FieldVector {
    number: u32,
    options: VectorOptions,
    terms: Vec<TermVector>,
}

struct TermVector {
    /// The bytes that the term before has, too, and its other bytes.
    prefix: usize,
    suffix: usize,
    occurrences: Vec<Occurrence>,
}

impl FieldVector {
    fn flags(&self) -> u8 {
        u8::from(self.options.positions) * POSITIONS + u8::from(self.options.offsets) * OFFSETS
    }
}

/// The files `.tvd`, `.tvx` and `.tvm`.
pub(crate) struct TermVectorsWriter {
    data: FileOutput,
    index: FieldsIndex,
    /// How many fields each document of the chunk has.
    counts: Vec<i64>,
    fields: Vec<FieldVector>,
    suffixes: Vec<u8>,
    last: Vec<u8>,
    compressor: Compressor,
    packed: Vec<u8>,
}

impl TermVectorsWriter {
    pub(crate) fn create(folder: &Path, segment: &str, id: &[u8; ID_BYTES]) -> io::Result<Self> {
        let mut data = FileOutput::create(folder, format!("{segment}.tvd"))?;
        data.put_index_header("Lucene90TermVectorsData", 0, id, "");
        let mut index = FieldsIndex::create(folder, segment, id, "Lucene90TermVectorsIndex", ["tvx", "tvm"], [0, 0])?;
        index.meta.put_vint(PACKED_VERSION);
        index.meta.put_vint(CHUNK_BYTES as u32);
        Ok(Self {
            data,
            index,
            counts: Vec::new(),
            fields: Vec::new(),
            suffixes: Vec::new(),
            last: Vec::new(),
            compressor: Compressor::new(),
            packed: Vec::new(),
        })
    }

    /// Begins a field of the document, in the order of their names.
    pub(crate) fn start_field(&mut self, number: u32, options: VectorOptions) {
        self.fields.push(FieldVector { number, options, terms: Vec::new() });
        self.last.clear();
    }

    /// Adds a term of the field, in the order of their bytes.
    pub(crate) fn add(&mut self, term: &[u8], occurrences: Vec<Occurrence>) {
        let prefix = self.last.iter().zip(term).take_while(|(a, b)| a == b).count();
        self.suffixes.extend_from_slice(&term[prefix..]);
        self.last.clear();
        self.last.extend_from_slice(term);
        if let Some(field) = self.fields.last_mut() {
            field.terms.push(TermVector { prefix, suffix: term.len() - prefix, occurrences });
        }
    }

    /// Ends a document with this number of fields.
    pub(crate) fn end_doc(&mut self, fields: usize) {
        self.counts.push(fields as i64);
        if self.suffixes.len() >= CHUNK_BYTES || self.counts.len() >= CHUNK_DOCS {
            self.end_chunk(false);
        }
    }

    fn end_chunk(&mut self, unfinished: bool) {
        let docs = self.counts.len();
        let base = self.index.start_chunk(docs as u64, self.data.position());
        self.data.put_vlong(base);
        self.data.put_vlong((docs as u64) << 1 | u64::from(unfinished));
        self.packed.clear();
        if let [fields] = self.counts.as_slice() {
            self.packed.put_vlong(*fields as u64);
        } else {
            put_blocks(&mut self.packed, self.counts.iter().copied());
        }
        if !self.fields.is_empty() {
            let mut numbers: Vec<u32> = self.fields.iter().map(|field| field.number).collect();
            numbers.sort_unstable();
            numbers.dedup();
            put_fields(&mut self.packed, &self.fields, &numbers);
            put_terms(&mut self.packed, &self.fields);
            put_offsets(&mut self.packed, &self.fields, &numbers);
            // No payloads.
            self.compressor.compress(&self.suffixes, &mut self.packed);
        }
        self.data.put(&self.packed);
        self.counts.clear();
        self.fields.clear();
        self.suffixes.clear();
    }

    pub(crate) fn finish(mut self) -> io::Result<Vec<String>> {
        let unfinished = self.counts.len() as u64;
        if unfinished > 0 {
            self.end_chunk(true);
        }
        let mut files = self.index.finish(self.data.position(), unfinished)?;
        self.data.put_footer();
        files.push(self.data.finish()?);
        Ok(files)
    }
}

/// Writes which fields there are, which each document has, with what, and of how many terms.
fn put_fields(out: &mut Vec<u8>, fields: &[FieldVector], numbers: &[u32]) {
    let more = numbers.len() as u32 - 1;
    let width = bits(u64::from(numbers[numbers.len() - 1]));
    out.put_u8((more.min(7) << 5 | width) as u8);
    if more >= 7 {
        out.put_vint(more - 7);
    }
    put_packed(out, numbers.iter().map(|number| u64::from(*number)), width);
    let direct = |all: &mut dyn Iterator<Item = u64>, width: u32| {
        let mut bytes = Vec::new();
        let mut writer = DirectWriter::new(&mut bytes, width);
        all.for_each(|value| writer.add(value));
        writer.finish();
        bytes
    };
    let place = |field: &FieldVector| numbers.partition_point(|number| *number < field.number) as u64;
    let bytes = direct(&mut fields.iter().map(place), direct_bits(u64::from(more)));
    out.put_vlong(bytes.len() as u64);
    out.put(&bytes);
    // The options of a field are the same in all documents: one for each field.
    out.put_vint(0);
    let flags = |number: &u32| fields.iter().find(|field| field.number == *number).map_or(0, FieldVector::flags);
    let bytes = direct(&mut numbers.iter().map(|number| u64::from(flags(number))), 4);
    out.put_vlong(bytes.len() as u64);
    out.put(&bytes);
    let width = direct_bits(fields.iter().fold(0, |all, field| all | field.terms.len() as u64));
    out.put_vint(width);
    let bytes = direct(&mut fields.iter().map(|field| field.terms.len() as u64), width);
    out.put_vlong(bytes.len() as u64);
    out.put(&bytes);
}

/// Writes the lengths of terms, how often they come, and their positions.
fn put_terms(out: &mut Vec<u8>, fields: &[FieldVector]) {
    let terms = || fields.iter().flat_map(|field| &field.terms);
    put_blocks(out, terms().map(|term| term.prefix as i64));
    put_blocks(out, terms().map(|term| term.suffix as i64));
    put_blocks(out, terms().map(|term| term.occurrences.len() as i64 - 1));
    let with_positions = fields.iter().filter(|field| field.options.positions).flat_map(|field| &field.terms);
    put_blocks(
        out,
        with_positions.flat_map(|term| {
            let mut before = 0;
            term.occurrences
                .iter()
                .map(move |one| i64::from(one.position) - std::mem::replace(&mut before, i64::from(one.position)))
        }),
    );
}

/// Writes where terms start, as far as that is not known by their positions, and how long they are.
fn put_offsets(out: &mut Vec<u8>, fields: &[FieldVector], numbers: &[u32]) {
    if !fields.iter().any(|field| field.options.offsets) {
        return;
    }
    let rates: Vec<f32> = numbers.iter().map(|number| units_each(fields, *number)).collect();
    rates.iter().for_each(|rate| out.put_u32(rate.to_bits()));
    let with_offsets = || fields.iter().filter(|field| field.options.offsets);
    put_blocks(
        out,
        with_offsets().flat_map(|field| {
            let rate = rates[numbers.partition_point(|number| *number < field.number)];
            let position = |one: &Occurrence| if field.options.positions { one.position as i32 } else { 0 };
            field.terms.iter().flat_map(move |term| {
                let (mut last_position, mut last_start) = (0, 0);
                term.occurrences.iter().map(move |one| {
                    let (start, position) = (one.place.0 as i32, position(one));
                    let expected = (rate * (position - last_position) as f32) as i32;
                    let value = i64::from(start.wrapping_sub(last_start).wrapping_sub(expected));
                    (last_position, last_start) = (position, start);
                    value
                })
            })
        }),
    );
    put_blocks(
        out,
        with_offsets().flat_map(|field| &field.terms).flat_map(|term| {
            let len = (term.prefix + term.suffix) as i64;
            term.occurrences.iter().map(move |one| i64::from(one.place.1 - one.place.0) - len)
        }),
    );
}

/// How many units of a text there are for each position of a field, by the last occurrences.
fn units_each(fields: &[FieldVector], number: u32) -> f32 {
    let both = fields.iter().filter(|field| field.number == number && field.options.positions && field.options.offsets);
    let last = both.flat_map(|field| &field.terms).filter_map(|term| term.occurrences.last());
    let (positions, starts) = last.fold((0, 0), |(positions, starts), one| {
        (positions + i64::from(one.position), starts + i64::from(one.place.0))
    });
    if positions <= 0 || starts <= 0 { 0.0 } else { (starts as f64 / positions as f64) as f32 }
}

/// Writes numbers in blocks, each with as few bits as its span needs.
fn put_blocks(out: &mut Vec<u8>, values: impl Iterator<Item = i64>) {
    let mut block = Vec::with_capacity(BLOCK);
    let mut values = values.peekable();
    while values.peek().is_some() {
        block.clear();
        block.extend(values.by_ref().take(BLOCK));
        put_block(out, &block);
    }
}

fn put_block(out: &mut Vec<u8>, values: &[i64]) {
    let (min, max) = values.iter().fold((i64::MAX, i64::MIN), |(min, max), value| (min.min(*value), max.max(*value)));
    let width = if min == max { 0 } else { bits(max.wrapping_sub(min) as u64) };
    let min = match width {
        64 => 0,
        // The least that needs no more bits is shorter.
        width if min > 0 => (max - ((1_u64 << width) - 1) as i64).max(0),
        _ => min,
    };
    out.put_u8((width << 1) as u8 | u8::from(min == 0));
    if min != 0 {
        let mut value = zigzag(min).wrapping_sub(1);
        let mut bytes = 0;
        while value >= 0x80 && bytes < 8 {
            out.put_u8(value as u8 | 0x80);
            value >>= 7;
            bytes += 1;
        }
        out.put_u8(value as u8);
    }
    if width > 0 {
        put_packed(out, values.iter().map(|value| value.wrapping_sub(min) as u64), width);
    }
}

/// Writes numbers of a width, the highest bit first.
fn put_packed(out: &mut Vec<u8>, values: impl Iterator<Item = u64>, width: u32) {
    let (mut pending, mut pending_bits) = (0_u128, 0);
    for value in values {
        pending = pending << width | u128::from(value);
        pending_bits += width;
        while pending_bits >= 8 {
            pending_bits -= 8;
            out.put_u8((pending >> pending_bits) as u8);
        }
    }
    if pending_bits > 0 {
        out.put_u8((pending << (8 - pending_bits)) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::{put_block, put_packed};

    #[test]
    fn blocks_have_as_few_bits_as_their_span_needs() {
        let block = |values: &[i64]| {
            let mut out = Vec::new();
            put_block(&mut out, values);
            out
        };
        assert_eq!(block(&[0, 0, 0]), [1]);
        assert_eq!(block(&[5]), [0, 9]);
        assert_eq!(block(&[0, 1, 3]), [2 << 1 | 1, 0b0001_1100]);
        assert_eq!(block(&[-1, 0]), [1 << 1, 0, 0b0100_0000]);
        assert_eq!(block(&[2, 3]), [1 << 1, 3, 0b0100_0000]);
    }

    #[test]
    fn packed_numbers_begin_with_their_highest_bit() {
        let mut out = Vec::new();
        put_packed(&mut out, [5, 2, 7].into_iter(), 3);
        assert_eq!(out, [0b1010_1011, 0b1000_0000]);
    }
}
