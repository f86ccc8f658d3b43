//! Stored fields: the documents in chunks, compressed with a dictionary each.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90StoredFieldsFormat`
//! (mode `BEST_SPEED`).

use std::io;
use std::path::Path;

use crate::formats::fields_index::FieldsIndex;
use crate::formats::lz4::{Compressor, WINDOW};
use crate::formats::output::{FileOutput, ID_BYTES, Put};

/// Bytes after which a chunk ends.
const CHUNK_BYTES: usize = 10 * 8 * 1024;
/// Documents after which a chunk ends.
const CHUNK_DOCS: usize = 1024;
const SUB_BLOCKS: usize = 10;
const TYPE_BITS: u32 = 3;

/// A value that is stored.
pub(crate) enum Stored<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
    Int(i32),
    Float(f32),
    Long(i64),
    Double(f64),
}

/// The files `.fdt`, `.fdx` and `.fdm`.
pub(crate) struct StoredWriter {
    data: FileOutput,
    index: FieldsIndex,
    /// The documents of the chunk.
    chunk: Vec<u8>,
    /// How many fields the document has so far.
    count: u32,
    /// How many fields each of them has, and where each ends in the chunk.
    fields: Vec<u32>,
    ends: Vec<u32>,
    compressor: Compressor,
    block: Vec<u8>,
    packed: Vec<u8>,
    lengths: Vec<u8>,
}

impl StoredWriter {
    pub(crate) fn create(folder: &Path, segment: &str, id: &[u8; ID_BYTES]) -> io::Result<Self> {
        let mut data = FileOutput::create(folder, format!("{segment}.fdt"))?;
        data.put_index_header("Lucene90StoredFieldsFastData", 1, id, "");
        let mut index = FieldsIndex::create(folder, segment, id, "Lucene90FieldsIndex", ["fdx", "fdm"], [0, 1])?;
        index.meta.put_vint(CHUNK_BYTES as u32);
        Ok(Self {
            data,
            index,
            chunk: Vec::with_capacity(2 * CHUNK_BYTES),
            count: 0,
            fields: Vec::new(),
            ends: Vec::new(),
            compressor: Compressor::new(),
            block: Vec::new(),
            packed: Vec::new(),
            lengths: Vec::new(),
        })
    }

    /// Adds a field to the document that [`StoredWriter::end_doc`] ends.
    pub(crate) fn add(&mut self, number: u32, value: Stored) {
        encode(&mut self.chunk, number, value);
        self.count += 1;
    }

    /// The same for all fields of a document, as [`encode`] makes them.
    pub(crate) fn add_encoded(&mut self, count: u32, fields: &[u8]) {
        self.chunk.extend_from_slice(fields);
        self.count += count;
    }

    pub(crate) fn end_doc(&mut self) {
        self.fields.push(std::mem::take(&mut self.count));
        self.ends.push(self.chunk.len() as u32);
        if self.chunk.len() >= CHUNK_BYTES || self.ends.len() >= CHUNK_DOCS {
            self.end_chunk(false);
        }
    }

    fn end_chunk(&mut self, unfinished: bool) {
        let count = self.ends.len();
        let first = self.index.start_chunk(count as u64, self.data.position());
        let sliced = self.chunk.len() >= 2 * CHUNK_BYTES;
        self.data.put_vlong(first);
        self.data.put_vlong((count as u64) << 2 | u64::from(unfinished) << 1 | u64::from(sliced));
        self.block.clear();
        put_ints(&mut self.block, &self.fields);
        let mut lengths = std::mem::take(&mut self.ends);
        for i in (1..count).rev() {
            lengths[i] -= lengths[i - 1];
        }
        put_ints(&mut self.block, &lengths);
        self.data.put(&self.block);
        let chunk = std::mem::take(&mut self.chunk);
        for part in chunk.chunks(if sliced { CHUNK_BYTES } else { chunk.len().max(1) }) {
            self.compress(part);
        }
        (self.chunk, self.ends) = (chunk, lengths);
        self.chunk.clear();
        self.ends.clear();
        self.fields.clear();
    }

    /// Writes a dictionary, the first bytes, and blocks that refer to it.
    fn compress(&mut self, part: &[u8]) {
        let dictionary = (part.len() / (2 * SUB_BLOCKS)).min(WINDOW);
        let block_len = (part.len() - dictionary).div_ceil(SUB_BLOCKS);
        self.data.put_vlong(dictionary as u64);
        self.data.put_vlong(block_len as u64);
        self.packed.clear();
        self.lengths.clear();
        self.compressor.compress(&part[..dictionary], &mut self.packed);
        self.lengths.put_vlong(self.packed.len() as u64);
        self.compressor.learn(part, dictionary);
        self.block.clear();
        self.block.extend_from_slice(&part[..dictionary]);
        for piece in part[dictionary..].chunks(block_len.max(1)) {
            self.block.truncate(dictionary);
            self.block.extend_from_slice(piece);
            let before = self.packed.len();
            self.compressor.compress_behind(&self.block, dictionary, &mut self.packed);
            self.lengths.put_vlong((self.packed.len() - before) as u64);
        }
        self.data.put(&self.lengths);
        self.data.put(&self.packed);
    }

    pub(crate) fn finish(mut self) -> io::Result<Vec<String>> {
        let unfinished = self.ends.len() as u64;
        if unfinished > 0 {
            self.end_chunk(true);
        }
        let mut files = self.index.finish(self.data.position(), unfinished)?;
        self.data.put_footer();
        files.push(self.data.finish()?);
        Ok(files)
    }
}

/// Appends a field as the files have it.
pub(crate) fn encode(out: &mut Vec<u8>, number: u32, value: Stored) {
    let kind = match value {
        Stored::Text(_) => 0,
        Stored::Bytes(_) => 1,
        Stored::Int(_) => 2,
        Stored::Float(_) => 3,
        Stored::Long(_) => 4,
        Stored::Double(_) => 5,
    };
    out.put_vlong(u64::from(number) << TYPE_BITS | kind);
    match value {
        Stored::Text(text) => put_bytes(out, text.as_bytes()),
        Stored::Bytes(bytes) => put_bytes(out, bytes),
        Stored::Int(number) => out.put_vint((number << 1 ^ number >> 31) as u32),
        Stored::Float(number) => put_float(out, number),
        Stored::Long(number) => put_long(out, number),
        Stored::Double(number) => put_double(out, number),
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.put_vlong(bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A small whole number in one byte, others with their sign first.
fn put_float(out: &mut Vec<u8>, number: f32) {
    let (whole, bits) = (number as i32, number.to_bits());
    if whole as f32 == number && (-1..=0x7d).contains(&whole) && bits != (-0.0_f32).to_bits() {
        out.push(0x80 | (whole + 1) as u8);
    } else if number.is_sign_positive() {
        out.push((bits >> 24) as u8);
        out.put_u16((bits >> 8) as u16);
        out.push(bits as u8);
    } else {
        out.push(0xff);
        out.put_u32(bits);
    }
}

/// As [`put_float`]; a number that has no more than 32 bits in these.
fn put_double(out: &mut Vec<u8>, number: f64) {
    let (whole, bits) = (number as i32, number.to_bits());
    if f64::from(whole) == number && (-1..=0x7c).contains(&whole) && bits != (-0.0_f64).to_bits() {
        out.push(0x80 | (whole + 1) as u8);
    } else if f64::from(number as f32) == number {
        out.push(0xfe);
        out.put_u32((number as f32).to_bits());
    } else if number.is_sign_positive() {
        out.push((bits >> 56) as u8);
        out.put_u32((bits >> 24) as u32);
        out.put_u16((bits >> 8) as u16);
        out.push(bits as u8);
    } else {
        out.push(0xff);
        out.put_u64(bits);
    }
}

/// A number with the unit of time that divides it: milliseconds, seconds, hours or days.
fn put_long(out: &mut Vec<u8>, number: i64) {
    const UNITS: [(i64, u8); 3] = [(86_400_000, 0xc0), (3_600_000, 0x80), (1000, 0x40)];
    let (unit, mut header) = UNITS.into_iter().find(|(unit, _)| number % unit == 0).unwrap_or((1, 0));
    let number = number / unit;
    let signed = (number << 1 ^ number >> 63) as u64;
    header |= (signed & 0x1f) as u8;
    let above = signed >> 5;
    if above == 0 {
        out.push(header);
    } else {
        out.push(header | 0x20);
        out.put_vlong(above);
    }
}

/// Numbers of one width: whole words of 128 of them, the rest one by one.
fn put_ints(out: &mut Vec<u8>, values: &[u32]) {
    if let [value] = values {
        out.put_vint(*value);
        return;
    }
    if values.iter().all(|value| *value == values[0]) {
        out.push(0);
        out.put_vint(values[0]);
        return;
    }
    let all = values.iter().fold(0, |all, value| all | value);
    let width: usize = match all {
        0..=0xff => 8,
        0x100..=0xffff => 16,
        _ => 32,
    };
    out.push(width as u8);
    let blocks = values.chunks_exact(128);
    let rest = blocks.remainder();
    for block in blocks {
        let words = 2 * width;
        for i in 0..words {
            let word = (0..64 / width).fold(0, |word: u64, k| word << width | u64::from(block[k * words + i]));
            out.put_u64(word);
        }
    }
    for value in rest {
        out.extend_from_slice(&value.to_le_bytes()[..width / 8]);
    }
}
