//! Points of one dimension: leaves of 512 sorted values with their documents, and a tree above
//! them.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90PointsFormat`, and of
//! `org.apache.lucene.util.bkd` in Lucene 9.12 (version 9 of the tree).

use std::io;
use std::path::Path;

use crate::formats::output::{FileOutput, ID_BYTES, Put};
use crate::radix::Sorted;

const VERSION: u32 = 0;
const TREE_VERSION: u32 = 9;
const LEAF: usize = 512;

/// The files `.kdd`, `.kdi` and `.kdm`.
pub(crate) struct PointsWriter {
    data: FileOutput,
    index: FileOutput,
    meta: FileOutput,
    leaf: Leaf,
}

/// The values and documents of a leaf.
struct Leaf {
    /// Each value's bytes, the highest first.
    values: Vec<u8>,
    docs: Vec<u32>,
    out: Vec<u8>,
}

impl PointsWriter {
    pub(crate) fn create(folder: &Path, segment: &str, id: &[u8; ID_BYTES]) -> io::Result<Self> {
        let open = |extension: &str, codec: &str| {
            let mut file = FileOutput::create(folder, format!("{segment}.{extension}"))?;
            file.put_index_header(codec, VERSION, id, "");
            io::Result::Ok(file)
        };
        Ok(Self {
            data: open("kdd", "Lucene90PointsFormatData")?,
            index: open("kdi", "Lucene90PointsFormatIndex")?,
            meta: open("kdm", "Lucene90PointsFormatMeta")?,
            leaf: Leaf { values: Vec::new(), docs: Vec::new(), out: Vec::new() },
        })
    }

    /// Adds a field with values of `width` bytes, as unsigned numbers, that `docs` documents have.
    /// A field without values is left out.
    pub(crate) fn add(&mut self, number: u32, width: usize, points: &Sorted, docs: u32) {
        let count = points.len();
        if count == 0 {
            return;
        }
        let data_start = self.data.position();
        let mut tree = Tree { width, starts: Vec::new(), leaves: Vec::new() };
        for start in (0..count).step_by(LEAF) {
            tree.leaves.push(self.data.position());
            self.leaf.fill(points, start..(start + LEAF).min(count), width);
            tree.starts.extend_from_slice(&self.leaf.values[..width]);
            self.leaf.write(width);
            self.data.put(&self.leaf.out);
        }
        let mut index = Vec::new();
        tree.pack(&mut index, 0, tree.leaves.len(), Place { least_at: 0, left: false, split: vec![0; width] });
        let meta = &mut self.meta;
        meta.put_u32(number);
        meta.put_header("BKD", TREE_VERSION);
        meta.put_vint(1);
        meta.put_vint(1);
        meta.put_vint(LEAF as u32);
        meta.put_vint(width as u32);
        meta.put_vint(tree.leaves.len() as u32);
        for at in [0, count - 1] {
            meta.put(&points.get(at).0.to_be_bytes()[16 - width..]);
        }
        meta.put_vlong(count as u64);
        meta.put_vint(docs);
        meta.put_vint(index.len() as u32);
        meta.put_u64(data_start);
        meta.put_u64(self.index.position());
        self.index.put(&index);
    }

    pub(crate) fn finish(mut self) -> io::Result<Vec<String>> {
        self.meta.put_i32(-1);
        self.index.put_footer();
        self.data.put_footer();
        self.meta.put_u64(self.index.position());
        self.meta.put_u64(self.data.position());
        self.meta.put_footer();
        [self.data, self.index, self.meta].into_iter().map(FileOutput::finish).collect()
    }
}

impl Leaf {
    fn fill(&mut self, points: &Sorted, range: std::ops::Range<usize>, width: usize) {
        self.values.clear();
        self.docs.clear();
        for at in range {
            let (value, doc) = points.get(at);
            self.values.extend_from_slice(&value.to_be_bytes()[16 - width..]);
            self.docs.push(doc);
        }
    }

    fn write(&mut self, width: usize) {
        let count = self.docs.len();
        self.out.clear();
        self.out.put_vint(count as u32);
        put_docs(&mut self.out, &self.docs);
        let values = &self.values;
        let last = &values[(count - 1) * width..];
        let prefix = values[..width].iter().zip(last).take_while(|(a, b)| a == b).count();
        self.out.put_vint(prefix as u32);
        self.out.extend_from_slice(&values[..prefix]);
        if prefix == width {
            // All are equal.
            self.out.push(0xff);
            return;
        }
        let value = |i: usize| &values[i * width..(i + 1) * width];
        let different = 1 + (1..count).filter(|&i| value(i) != value(i - 1)).count();
        if different < count
            && different * (width - prefix + 1) <= (count * (width - prefix - 1) + 2 * runs(values, width, prefix))
        {
            // Each value once, with how often it comes.
            self.out.push(0xfe);
            let mut start = 0;
            for i in 1..=count {
                if i == count || value(i) != value(start) {
                    self.out.put_vint((i - start) as u32);
                    self.out.extend_from_slice(&value(start)[prefix..]);
                    start = i;
                }
            }
            return;
        }
        // Runs with one byte behind the prefix, which is there once a run.
        self.out.push(0);
        let mut start = 0;
        while start < count {
            let byte = value(start)[prefix];
            let end =
                (start..count.min(start + 0xff)).find(|&i| value(i)[prefix] != byte).unwrap_or(count.min(start + 0xff));
            self.out.push(byte);
            self.out.push((end - start) as u8);
            for i in start..end {
                self.out.extend_from_slice(&value(i)[prefix + 1..]);
            }
            start = end;
        }
    }
}

/// How many runs of values have the same byte at `at`; a run has 255 values at most.
fn runs(values: &[u8], width: usize, at: usize) -> usize {
    let mut bytes = values.iter().skip(at).step_by(width);
    let Some(mut byte) = bytes.next() else { return 0 };
    let (mut runs, mut len) = (1, 1);
    for next in bytes {
        if next == byte && len < 0xff {
            len += 1;
        } else {
            (byte, len) = (next, 1);
            runs += 1;
        }
    }
    runs
}

/// The documents of a leaf: a range, bits, 16-bit distances, or 24 or 32 bits each.
fn put_docs(out: &mut Vec<u8>, docs: &[u32]) {
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

/// The leaves of a field.
struct Tree {
    width: usize,
    /// The first value of each leaf.
    starts: Vec<u8>,
    /// Where each leaf is.
    leaves: Vec<u64>,
}

/// Where a node is in the tree.
struct Place {
    /// Where the leftmost leaf of the parent is.
    least_at: u64,
    left: bool,
    /// The last split value above.
    split: Vec<u8>,
}

impl Tree {
    /// Appends the node over `count` leaves from `first` on, and what is below it.
    fn pack(&self, out: &mut Vec<u8>, first: usize, count: usize, place: Place) {
        let at = self.leaves[first];
        if !place.left {
            out.put_vlong(at - place.least_at);
        }
        if count == 1 {
            return;
        }
        let left = left_leaves(count);
        let right = first + left;
        let split = &self.starts[right * self.width..(right + 1) * self.width];
        let prefix = split.iter().zip(&place.split).take_while(|(a, b)| a == b).count();
        let difference = match (split.get(prefix), place.split.get(prefix)) {
            (Some(a), Some(b)) => u32::from(a.abs_diff(*b)),
            _ => 0,
        };
        out.put_vint(difference * (1 + self.width as u32) + prefix as u32);
        if prefix + 1 < self.width {
            out.extend_from_slice(&split[prefix + 1..]);
        }
        let mut below = Vec::new();
        self.pack(&mut below, first, left, Place { least_at: at, left: true, split: split.to_vec() });
        if left != 1 {
            out.put_vint(below.len() as u32);
        }
        out.extend_from_slice(&below);
        self.pack(out, right, count - left, Place { least_at: at, left: false, split: split.to_vec() });
    }
}

/// How many of the leaves are on the left: all levels but the last are full, and that one is filled
/// from the left.
fn left_leaves(count: usize) -> usize {
    let full = 1 << count.ilog2();
    full / 2 + (count - full).min(full / 2)
}
