//! Points: leaves of 512 sorted values with their documents, and a tree above them.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90PointsFormat`, and of
//! `org.apache.lucene.util.bkd` in Lucene 9.12 (version 9 of the tree).

mod docs;
mod pairs;
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
        let mut tree = Tree::new(width, 1);
        for start in (0..count).step_by(LEAF) {
            tree.leaves.push(self.data.position());
            self.leaf.fill(points, start..(start + LEAF).min(count), width);
            tree.splits.extend_from_slice(&self.leaf.values[..width]);
            self.leaf.write(width);
            self.data.put(&self.leaf.out);
        }
        let ends = [0, count - 1].map(|at| points.get(at).0.to_be_bytes());
        let (least, most) = (&ends[0][16 - width..], &ends[1][16 - width..]);
        self.end_field(&tree, &FieldPoints { number, count, docs, data_start, least, most });
    }

    /// Writes the tree of a field.
    fn end_field(&mut self, tree: &Tree, field: &FieldPoints) {
        let index = tree.packed();
        let meta = &mut self.meta;
        meta.put_u32(field.number);
        meta.put_header("BKD", TREE_VERSION);
        meta.put_vint(tree.dimensions as u32);
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
