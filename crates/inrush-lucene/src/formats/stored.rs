//! Stored fields: the documents in chunks, compressed with a dictionary each.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90StoredFieldsFormat`
//! (mode `BEST_SPEED`) and of `FieldsIndexWriter`.

use std::io;
use std::path::Path;

use crate::formats::lz4::{Compressor, WINDOW};
use crate::formats::output::{FileOutput, ID_BYTES, Put};
use crate::formats::packed::write_monotonic;

/// Bytes after which a chunk ends.
const CHUNK_BYTES: usize = 10 * 8 * 1024;
/// Documents after which a chunk ends.
const CHUNK_DOCS: usize = 1024;
const SUB_BLOCKS: usize = 10;
const INDEX_SHIFT: u32 = 10;
const TYPE_BITS: u32 = 3;

/// A value that is stored.
pub(crate) enum Stored<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// The files `.fdt`, `.fdx` and `.fdm`.
pub(crate) struct StoredWriter {
    data: FileOutput,
    index: FileOutput,
    meta: FileOutput,
    /// The documents of the chunk.
    chunk: Vec<u8>,
    /// How many fields the document has so far.
    count: u32,
    /// How many fields each of them has, and where each ends in the chunk.
    fields: Vec<u32>,
    ends: Vec<u32>,
    /// The first document of each chunk, and where it is.
    firsts: Vec<u64>,
    starts: Vec<u64>,
    docs: u64,
    compressor: Compressor,
    block: Vec<u8>,
    packed: Vec<u8>,
    lengths: Vec<u8>,
}

impl StoredWriter {
    pub(crate) fn create(folder: &Path, segment: &str, id: &[u8; ID_BYTES]) -> io::Result<Self> {
        let open = |extension: &str, codec: &str, version: u32| {
            let mut file = FileOutput::create(folder, format!("{segment}.{extension}"))?;
            file.put_index_header(codec, version, id, "");
            io::Result::Ok(file)
        };
        let mut meta = open("fdm", "Lucene90FieldsIndexMeta", 1)?;
        meta.put_vint(CHUNK_BYTES as u32);
        Ok(Self {
            data: open("fdt", "Lucene90StoredFieldsFastData", 1)?,
            index: open("fdx", "Lucene90FieldsIndexIdx", 0)?,
            meta,
            chunk: Vec::with_capacity(2 * CHUNK_BYTES),
            count: 0,
            fields: Vec::new(),
            ends: Vec::new(),
            firsts: Vec::new(),
            starts: Vec::new(),
            docs: 0,
            compressor: Compressor::new(),
            block: Vec::new(),
            packed: Vec::new(),
            lengths: Vec::new(),
        })
    }

    /// Adds a field to the document that [`StoredWriter::end_doc`] ends.
    pub(crate) fn add(&mut self, number: u32, value: Stored) {
        let (kind, bytes) = match value {
            Stored::Text(text) => (0, text.as_bytes()),
            Stored::Bytes(bytes) => (1, bytes),
        };
        self.chunk.put_vlong(u64::from(number) << TYPE_BITS | kind);
        self.chunk.put_vlong(bytes.len() as u64);
        self.chunk.extend_from_slice(bytes);
        self.count += 1;
    }

    pub(crate) fn end_doc(&mut self) {
        self.fields.push(std::mem::take(&mut self.count));
        self.ends.push(self.chunk.len() as u32);
        if self.chunk.len() >= CHUNK_BYTES || self.ends.len() >= CHUNK_DOCS {
            self.end_chunk(false);
        }
    }

    fn end_chunk(&mut self, unfinished: bool) {
        self.firsts.push(self.docs);
        self.starts.push(self.data.position());
        let count = self.ends.len();
        let sliced = self.chunk.len() >= 2 * CHUNK_BYTES;
        self.data.put_vlong(self.docs);
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
        self.docs += count as u64;
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
        let chunks = self.starts.len() as u64;
        self.firsts.push(self.docs);
        self.starts.push(self.data.position());
        let meta = &mut self.meta;
        meta.put_u32(self.docs as u32);
        meta.put_u32(INDEX_SHIFT);
        meta.put_u32(chunks as u32 + 1);
        meta.put_u64(self.index.position());
        write_monotonic(meta, &mut self.index, &self.firsts, INDEX_SHIFT);
        meta.put_u64(self.index.position());
        write_monotonic(meta, &mut self.index, &self.starts, INDEX_SHIFT);
        meta.put_u64(self.index.position());
        meta.put_u64(self.data.position());
        self.index.put_footer();
        meta.put_vlong(chunks);
        meta.put_vlong(u64::from(unfinished > 0));
        meta.put_vlong(unfinished);
        meta.put_footer();
        self.data.put_footer();
        [self.data, self.index, self.meta].into_iter().map(FileOutput::finish).collect()
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
