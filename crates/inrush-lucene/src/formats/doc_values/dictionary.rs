//! The dictionary of doc values that are terms.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90DocValuesFormat` (sorted
//! doc values).

use super::{ADDRESS_SHIFT, DocValuesWriter};
use crate::formats::lz4::Compressor;
use crate::formats::output::{FileOutput, Put};
use crate::formats::packed::write_monotonic;

/// Terms in a block.
const TERMS: usize = 64;
/// Terms between those that the index has.
const INDEXED_SHIFT: u32 = 10;

/// The terms of a field, in their order.
pub(crate) trait Dictionary {
    fn len(&self) -> usize;
    /// Calls `visit` with each term.
    fn each(&self, visit: &mut dyn FnMut(&[u8]));
}

impl DocValuesWriter {
    /// Blocks of 64 terms: the first whole, the others as what they do not share with the one
    /// before, compressed.
    pub(super) fn put_dictionary(&mut self, terms: &impl Dictionary) {
        self.meta.put_vlong(terms.len() as u64);
        self.meta.put_u32(ADDRESS_SHIFT);
        let start = self.data.position();
        let mut writer = DictionaryWriter::new(&mut self.data);
        terms.each(&mut |term| writer.add(term));
        writer.end_block();
        let (term_max, block_max, addresses) = (writer.term_max, writer.block_max, writer.addresses);
        let end = self.data.position();
        let mut bytes = Vec::new();
        write_monotonic(&mut self.meta, &mut bytes, &addresses, ADDRESS_SHIFT);
        self.meta.put_u32(term_max);
        self.meta.put_u32(block_max);
        self.meta.put_u64(start);
        self.meta.put_u64(end - start);
        self.meta.put_u64(end);
        self.data.put(&bytes);
        self.meta.put_u64(self.data.position() - end);
    }

    /// As much of every 1,024th term as tells it from the one before.
    pub(super) fn put_dictionary_index(&mut self, terms: &impl Dictionary) {
        self.meta.put_u32(INDEXED_SHIFT);
        let start = self.data.position();
        let mut addresses = Vec::new();
        let mut sum = 0;
        let mut before = Vec::new();
        let mut i = 0_usize;
        let mask = (1 << INDEXED_SHIFT) - 1;
        let data = &mut self.data;
        terms.each(&mut |term| {
            if i & mask == 0 {
                addresses.push(sum);
                let len = if i == 0 { 0 } else { shared(&before, term) + 1 };
                sum += len as u64;
                data.put(&term[..len]);
            } else if i & mask == mask {
                before.clear();
                before.extend_from_slice(term);
            }
            i += 1;
        });
        addresses.push(sum);
        let end = self.data.position();
        let mut bytes = Vec::new();
        write_monotonic(&mut self.meta, &mut bytes, &addresses, ADDRESS_SHIFT);
        self.meta.put_u64(start);
        self.meta.put_u64(end - start);
        self.meta.put_u64(end);
        self.data.put(&bytes);
        self.meta.put_u64(self.data.position() - end);
    }
}

/// Writes the blocks of a dictionary.
struct DictionaryWriter<'a> {
    data: &'a mut FileOutput,
    start: u64,
    addresses: Vec<u64>,
    count: usize,
    before: Vec<u8>,
    /// The first term of the block, then what the others add.
    block: Vec<u8>,
    first_len: usize,
    packed: Vec<u8>,
    compressor: Compressor,
    term_max: u32,
    block_max: u32,
}

impl<'a> DictionaryWriter<'a> {
    fn new(data: &'a mut FileOutput) -> Self {
        let start = data.position();
        Self {
            data,
            start,
            addresses: Vec::new(),
            count: 0,
            before: Vec::new(),
            block: Vec::new(),
            first_len: 0,
            packed: Vec::new(),
            compressor: Compressor::new(),
            term_max: 0,
            block_max: 0,
        }
    }

    fn add(&mut self, term: &[u8]) {
        if self.count.is_multiple_of(TERMS) {
            self.end_block();
            self.addresses.push(self.data.position() - self.start);
            self.data.put_vint(term.len() as u32);
            self.data.put(term);
            self.block.extend_from_slice(term);
            self.first_len = term.len();
        } else {
            let prefix = shared(&self.before, term);
            let suffix = term.len() - prefix;
            self.block.push(prefix.min(15) as u8 | ((suffix - 1).min(15) as u8) << 4);
            if prefix >= 15 {
                self.block.put_vlong(prefix as u64 - 15);
            }
            if suffix >= 16 {
                self.block.put_vlong(suffix as u64 - 16);
            }
            self.block.extend_from_slice(&term[prefix..]);
        }
        self.term_max = self.term_max.max(term.len() as u32);
        self.before.clear();
        self.before.extend_from_slice(term);
        self.count += 1;
    }

    fn end_block(&mut self) {
        let len = self.block.len() - self.first_len;
        if len > 0 {
            self.data.put_vlong(len as u64);
            self.packed.clear();
            self.compressor.compress(&self.block[self.first_len..], &mut self.packed);
            self.data.put(&self.packed);
            self.block_max = self.block_max.max(len as u32);
        }
        self.block.clear();
        self.first_len = 0;
    }
}

fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
