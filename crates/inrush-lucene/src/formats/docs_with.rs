//! Which documents have a value.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.IndexedDISI`.

use crate::formats::output::{FileOutput, Put};

const RANGE: usize = 1 << 16;
/// From this number of documents on, a range has a bit for each.
const DENSE: usize = 1 << 12;
/// A rank is stored for each 2^9 documents.
const RANK_SHIFT: u32 = 9;
/// The number that stands for the end of all documents.
const NO_MORE: u32 = i32::MAX as u32;

/// Writes which of `max_doc` documents have a value: `docs`, ascending, each once. `None` is all.
pub(crate) fn write_docs_with(meta: &mut FileOutput, data: &mut FileOutput, docs: Option<&[u32]>, max_doc: u32) {
    match docs {
        Some(docs) if docs.len() != max_doc as usize && !docs.is_empty() => {
            let start = data.position();
            meta.put_u64(start);
            let jumps = write_ranges(data, docs, start);
            meta.put_u64(data.position() - start);
            meta.put_u16(jumps);
            meta.put_u8(RANK_SHIFT as u8);
        }
        docs => {
            let none = docs.is_some_and(<[u32]>::is_empty) || max_doc == 0;
            meta.put_i64(if none { -2 } else { -1 });
            meta.put_u64(0);
            meta.put_u16(u16::MAX);
            meta.put_u8(u8::MAX);
        }
    }
}

/// Writes ranges of 65,536 documents and where to find them; returns how many can be found.
fn write_ranges(data: &mut FileOutput, docs: &[u32], start: u64) -> u16 {
    // For each range: how many documents are before it, and where it is.
    let mut jumps: Vec<(u32, u32)> = Vec::new();
    let mut before = 0;
    for range in docs.chunk_by(|a, b| a >> 16 == b >> 16) {
        let number = (range[0] >> 16) as usize;
        jumps.resize(number + 1, (before, (data.position() - start) as u32));
        write_range(data, range);
        before += range.len() as u32;
    }
    jumps.push((before, (data.position() - start) as u32));
    write_range(data, &[NO_MORE]);
    if jumps.len() == 2 {
        // One range is found without a table.
        return 0;
    }
    for (index, at) in &jumps {
        data.put_u32(*index);
        data.put_u32(*at);
    }
    jumps.len() as u16
}

fn write_range(data: &mut FileOutput, docs: &[u32]) {
    data.put_u16((docs[0] >> 16) as u16);
    data.put_u16((docs.len() - 1) as u16);
    if docs.len() == RANGE {
        return;
    }
    if docs.len() < DENSE {
        for doc in docs {
            data.put_u16(*doc as u16);
        }
        return;
    }
    let mut words = vec![0_u64; RANGE / 64];
    for doc in docs {
        let bit = (*doc & 0xffff) as usize;
        words[bit / 64] |= 1 << (bit % 64);
    }
    let mut rank = 0_u32;
    for words in words.chunks(1 << (RANK_SHIFT - 6)) {
        data.put(&(rank as u16).to_be_bytes());
        rank += words.iter().map(|word| word.count_ones()).sum::<u32>();
    }
    for word in words {
        data.put_u64(word);
    }
}
