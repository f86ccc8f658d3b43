//! Points: leaves of 512 sorted values with their documents, and a tree above them.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90PointsFormat`, and of
//! `org.apache.lucene.util.bkd` in Lucene 9.12 (version 9 of the tree).

pub(crate) mod dimensions;
mod docs;
mod tree;

use std::io;
use std::path::Path;

use self::docs::put_docs;
use self::tree::Tree;
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

/// What is said of the points of a field.
struct FieldPoints<'a> {
    number: u32,
    /// How many dimensions the values have, of which some may not be in the tree.
    dimensions: usize,
    count: usize,
    docs: u32,
    /// Where its leaves begin.
    data_start: u64,
    /// The least and the greatest value of each dimension.
    least: &'a [u8],
    most: &'a [u8],
}

/// The values and documents of a leaf.
struct Leaf {
    values: Vec<u128>,
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
        let mut tree = Tree::new(width, 1);
        for start in (0..count).step_by(LEAF) {
            tree.leaves.push(self.data.position());
            self.leaf.fill(points, start..(start + LEAF).min(count));
            put_lowest(&mut tree.splits, self.leaf.values[0], width);
            self.leaf.write(width);
            self.data.put(&self.leaf.out);
        }
        let ends = [0, count - 1].map(|at| points.get(at).0.to_be_bytes());
        let (least, most) = (&ends[0][16 - width..], &ends[1][16 - width..]);
        self.end_field(&tree, &FieldPoints { number, dimensions: 1, count, docs, data_start, least, most });
    }

    /// Writes the tree of a field.
    fn end_field(&mut self, tree: &Tree, field: &FieldPoints) {
        let index = tree.packed();
        let meta = &mut self.meta;
        meta.put_u32(field.number);
        meta.put_header("BKD", TREE_VERSION);
        meta.put_vint(field.dimensions as u32);
        meta.put_vint(tree.dimensions as u32);
        meta.put_vint(LEAF as u32);
        meta.put_vint(tree.width as u32);
        meta.put_vint(tree.leaves.len() as u32);
        meta.put(field.least);
        meta.put(field.most);
        meta.put_vlong(field.count as u64);
        meta.put_vint(field.docs);
        meta.put_vint(index.len() as u32);
        meta.put_u64(field.data_start);
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
    fn fill(&mut self, points: &Sorted, range: std::ops::Range<usize>) {
        self.values.clear();
        self.docs.clear();
        for at in range {
            let (value, doc) = points.get(at);
            self.values.push(value);
            self.docs.push(doc);
        }
    }

    /// Writes values of `width` bytes.
    fn write(&mut self, width: usize) {
        let (out, values) = (&mut self.out, &self.values);
        let count = values.len();
        out.clear();
        out.put_vint(count as u32);
        put_docs(out, &self.docs);
        let (first, last) = (values[0], values[count - 1]);
        // Bytes behind those that all values have in common.
        let rest = (128 - (first ^ last).leading_zeros()).div_ceil(8) as usize;
        let prefix = width - rest;
        out.put_vint(prefix as u32);
        put_lowest(out, first.checked_shr(8 * rest as u32).unwrap_or(0), prefix);
        if rest == 0 {
            // All are equal.
            out.push(0xff);
            return;
        }
        let different = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let byte = |value: u128| (value >> (8 * (rest - 1))) as u8;
        let runs = || values.chunk_by(move |a, b| byte(*a) == byte(*b)).flat_map(|run| run.chunks(0xff));
        if different < count && different * (rest + 1) <= count * (rest - 1) + 2 * runs().count() {
            // Each value once, with how often it comes.
            out.push(0xfe);
            for same in values.chunk_by(|a, b| a == b) {
                out.put_vint(same.len() as u32);
                put_lowest(out, same[0], rest);
            }
            return;
        }
        // Runs with one byte behind the prefix, which is there once a run.
        out.push(0);
        for run in runs() {
            out.push(byte(run[0]));
            out.push(run.len() as u8);
            for value in run {
                put_lowest(out, *value, rest - 1);
            }
        }
    }
}

/// Appends the `len` lowest bytes of a value, the highest of them first.
#[inline]
fn put_lowest(out: &mut Vec<u8>, value: u128, len: usize) {
    if len <= 8 {
        // All eight are copied, as that is faster, and what is too much is cut off.
        let bytes = ((value as u64) << (8 * (8 - len) as u32 % 64)).to_be_bytes();
        let end = out.len() + len;
        out.extend_from_slice(&bytes);
        out.truncate(end);
    } else {
        out.extend_from_slice(&value.to_be_bytes()[16 - len..]);
    }
}

#[cfg(test)]
mod tests {
    use super::put_lowest;

    #[test]
    fn the_lowest_bytes_are_put() {
        let value = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10;
        for len in 0..=16 {
            let mut out = vec![9];
            put_lowest(&mut out, value, len);
            assert_eq!(out, [9].into_iter().chain(17 - len as u8..=16).collect::<Vec<_>>());
        }
    }
}
