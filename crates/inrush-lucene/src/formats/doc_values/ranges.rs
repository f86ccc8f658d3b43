//! The index of ranges, by which a reader of Lucene 10 leaves out documents.
//!
//! Source: the documentation of `org.apache.lucene.index.DocValuesSkipper` and of
//! `org.apache.lucene.codecs.lucene90.Lucene90DocValuesFormat` in Lucene 10.

use super::{DocValuesWriter, Values};
use crate::formats::output::{FileOutput, Put};

/// Documents of a range.
const RANGE_DOCS: u32 = 4096;
const LEVEL_SHIFT: usize = 3;
const LEVELS: usize = 4;

impl DocValuesWriter {
    /// The ranges of the values, for each 4,096 documents and for 8, 64 and 512 times as many.
    pub(super) fn put_ranges(&mut self, values: Values) {
        let start = self.data.position();
        let ranges = Range::split(values);
        for ranges in ranges.chunks(1 << (LEVEL_SHIFT * (LEVELS - 1))) {
            put_levels(&mut self.data, ranges);
        }
        let all = ranges.iter().copied().reduce(Range::join);
        let all = all.unwrap_or(Range { first: 0, last: u32::MAX, docs: 0, least: i64::MAX, most: i64::MIN });
        self.meta.put_u64(start);
        self.meta.put_u64(self.data.position() - start);
        self.meta.put_i64(all.most);
        self.meta.put_i64(all.least);
        self.meta.put_u32(all.docs);
        self.meta.put_u32(all.last);
    }
}

/// The values of some documents that follow each other.
#[derive(Clone, Copy)]
struct Range {
    first: u32,
    last: u32,
    docs: u32,
    least: i64,
    most: i64,
}

impl Range {
    /// A range ends after 4,096 documents, unless the following ones have the one value of all.
    fn split(values: Values) -> Vec<Self> {
        let mut ranges: Vec<Self> = Vec::new();
        let mut last_doc = None;
        let several = |i: usize| values.docs.is_some_and(|docs| docs.get(i) == docs.get(i + 1));
        for (i, (doc, value)) in values.iter().enumerate() {
            let new_doc = last_doc != Some(doc);
            last_doc = Some(doc);
            let open = ranges.last_mut().filter(|range| {
                let full = new_doc && range.docs >= RANGE_DOCS;
                let one = range.least == range.most && range.least == value && range.docs == doc - range.first;
                !full || (one && !several(i))
            });
            match open {
                Some(range) => {
                    range.docs += u32::from(new_doc);
                    range.last = doc;
                    range.least = range.least.min(value);
                    range.most = range.most.max(value);
                }
                None => ranges.push(Self { first: doc, last: doc, docs: 1, least: value, most: value }),
            }
        }
        ranges
    }

    fn join(self, next: Self) -> Self {
        Self {
            first: self.first,
            last: next.last,
            docs: self.docs + next.docs,
            least: self.least.min(next.least),
            most: self.most.max(next.most),
        }
    }
}

/// Each range, after those of higher levels that begin with it.
fn put_levels(data: &mut FileOutput, ranges: &[Range]) {
    let mut levels = vec![ranges.to_vec()];
    for level in 1..LEVELS {
        let joined = levels[level - 1]
            .chunks_exact(1 << LEVEL_SHIFT)
            .filter_map(|part| part.iter().copied().reduce(Range::join));
        let joined = joined.collect();
        levels.push(joined);
    }
    for i in 0..ranges.len() {
        let begins = |level: usize| {
            i.is_multiple_of(1 << (LEVEL_SHIFT * level)) && i >> (LEVEL_SHIFT * level) < levels[level].len()
        };
        let count = (1..LEVELS).find(|&level| !begins(level)).unwrap_or(LEVELS);
        data.put_u8(count as u8);
        for level in (0..count).rev() {
            let range = levels[level][i >> (LEVEL_SHIFT * level)];
            data.put_u32(range.last);
            data.put_u32(range.first);
            data.put_i64(range.most);
            data.put_i64(range.least);
            data.put_u32(range.docs);
        }
    }
}
