//! The documents of a leaf.
//!
//! Source: the documentation of `org.apache.lucene.util.bkd.DocIdsWriter` in Lucene 9.12.

use crate::formats::output::Put;

/// The documents of a leaf: a range, bits, 16-bit distances, or 24 or 32 bits each.
pub(super) fn put_docs(out: &mut Vec<u8>, docs: &[u32]) {
    let count = docs.len();
    let least = docs.iter().copied().min().unwrap_or_default();
    let most = docs.iter().copied().max().unwrap_or_default();
    let range = (most - least) as usize + 1;
    if docs.is_sorted_by(|a, b| a < b) {
        if range == count {
            out.push(0xfe);
            out.put_vint(docs[0]);
            return;
        }
        if range <= count << 4 {
            out.push(0xff);
            put_doc_bits(out, docs, most);
            return;
        }
    }
    if range <= 0xffff {
        out.push(16);
        out.put_vint(least);
        let half = count / 2;
        for i in 0..half {
            out.put_u32((docs[i] - least) << 16 | (docs[half + i] - least));
        }
        if count % 2 == 1 {
            out.put_u16((docs[count - 1] - least) as u16);
        }
    } else if most <= 0xff_ffff {
        out.push(24);
        let groups = docs.chunks_exact(8);
        let rest = groups.remainder();
        for group in groups {
            let d = |i: usize| u64::from(group[i]);
            out.put_u64(d(0) << 40 | d(1) << 16 | d(2) >> 8);
            out.put_u64(d(2) << 56 | d(3) << 32 | d(4) << 8 | d(5) >> 16);
            out.put_u64(d(5) << 48 | d(6) << 24 | d(7));
        }
        for doc in rest {
            out.put_u16((doc >> 8) as u16);
            out.push(*doc as u8);
        }
    } else {
        out.push(32);
        for doc in docs {
            out.put_u32(*doc);
        }
    }
}

/// A bit for each document from the first one's word on.
fn put_doc_bits(out: &mut Vec<u8>, docs: &[u32], most: u32) {
    let first = docs[0] >> 6;
    let words = (most >> 6) - first + 1;
    out.put_vint(first);
    out.put_vint(words);
    let start = out.len();
    out.resize(start + 8 * words as usize, 0);
    for doc in docs {
        let bit = (doc - (first << 6)) as usize;
        out[start + bit / 8] |= 1 << (bit % 8);
    }
}
