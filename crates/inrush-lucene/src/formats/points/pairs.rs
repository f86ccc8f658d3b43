//! Points of two dimensions of 32 bits each.
//!
//! Source: the documentation of `org.apache.lucene.util.bkd.BKDWriter` in Lucene 9.12: the points
//! are halved along the dimension that is the longer one, until a half fits into a leaf.

use super::docs::put_docs;
use super::tree::{Tree, left_leaves};
use super::{FieldPoints, LEAF, PointsWriter};
use crate::formats::output::Put;

const WIDTH: usize = 4;

/// A value, with the first dimension in its upper half, and its document.
type Pair = (u64, u32);

#[inline]
fn part(value: u64, dimension: usize) -> u32 {
    if dimension == 0 { (value >> 32) as u32 } else { value as u32 }
}

/// The least and the greatest value of each dimension.
type Bounds = [(u32, u32); 2];

fn bounds(pairs: &[Pair]) -> Bounds {
    [0, 1].map(|dimension| {
        pairs
            .iter()
            .map(|&(value, _)| part(value, dimension))
            .fold((u32::MAX, 0), |(least, most), value| (least.min(value), most.max(value)))
    })
}

impl PointsWriter {
    /// Adds a field with values of two dimensions, as unsigned numbers, that `docs` documents have.
    /// A field without values is left out.
    pub(crate) fn add_pairs(&mut self, number: u32, mut pairs: Vec<Pair>, docs: u32) {
        if pairs.is_empty() {
            return;
        }
        let data_start = self.data.position();
        let leaves = pairs.len().div_ceil(LEAF);
        let mut tree = Tree::new(WIDTH, 2);
        tree.splits = vec![0; leaves * WIDTH];
        tree.split_dimensions = vec![0; leaves];
        let all = bounds(&pairs);
        self.build(&mut tree, &mut pairs, Part { first: 0, leaves, bounds: all, splits: [0; 2] });
        let end = |of: fn((u32, u32)) -> u32| all.map(of).map(u32::to_be_bytes).concat();
        let (least, most) = (end(|(least, _)| least), end(|(_, most)| most));
        let field = FieldPoints { number, count: pairs.len(), docs, data_start, least: &least, most: &most };
        self.end_field(&tree, &field);
    }

    fn build(&mut self, tree: &mut Tree, pairs: &mut [Pair], of: Part) {
        if of.leaves == 1 {
            tree.leaves.push(self.data.position());
            let leaf = leaf(pairs);
            self.data.put(&leaf);
            return;
        }
        let dimension = of.dimension();
        let left = left_leaves(of.leaves);
        let middle = left * LEAF;
        let (_, &mut (value, _), _) =
            pairs.select_nth_unstable_by_key(middle, |&(value, doc)| (part(value, dimension), doc));
        let split = part(value, dimension);
        let right = of.first + left;
        tree.splits[right * WIDTH..(right + 1) * WIDTH].copy_from_slice(&split.to_be_bytes());
        tree.split_dimensions[right] = dimension as u8;
        let mut below = [of; 2];
        for half in &mut below {
            half.splits[dimension] += 1;
        }
        below[0].leaves = left;
        below[0].bounds[dimension].1 = split;
        below[1].leaves = of.leaves - left;
        below[1].first = right;
        below[1].bounds[dimension].0 = split;
        let (low, high) = pairs.split_at_mut(middle);
        self.build(tree, low, below[0]);
        self.build(tree, high, below[1]);
    }
}

/// A part of the tree.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    leaves: usize,
    bounds: Bounds,
    /// How often each dimension was halved above.
    splits: [u32; 2],
}

impl Part {
    /// The dimension to halve: the longer one, but none much less often than the other one.
    fn dimension(&self) -> usize {
        let length = |dimension: usize| self.bounds[dimension].1 - self.bounds[dimension].0;
        let most = self.splits[0].max(self.splits[1]);
        (0..2)
            .find(|&dimension| self.splits[dimension] < most / 2 && length(dimension) > 0)
            .unwrap_or(usize::from(length(1) > length(0)))
    }
}

/// The bytes of a leaf.
fn leaf(pairs: &mut [Pair]) -> Vec<u8> {
    let bounds = bounds(pairs);
    let prefixes = bounds.map(|(least, most)| ((least ^ most).leading_zeros() / 8) as usize);
    let suffix = |dimension: usize| WIDTH - prefixes[dimension];
    // Sorted by the dimension with the fewest different bytes behind the prefix.
    let byte = |value: u64, dimension: usize| part(value, dimension).to_be_bytes()[prefixes[dimension]];
    let different_bytes = |dimension: usize| {
        let mut used = [false; 256];
        pairs.iter().for_each(|&(value, _)| used[usize::from(byte(value, dimension))] = true);
        used.iter().filter(|used| **used).count()
    };
    let sorted = (0..2).filter(|&dimension| suffix(dimension) > 0).min_by_key(|&dimension| different_bytes(dimension));
    pairs.sort_unstable_by_key(|&(value, doc)| (part(value, sorted.unwrap_or(0)), value, doc));
    let mut out = Vec::new();
    out.put_vint(pairs.len() as u32);
    put_docs(&mut out, &pairs.iter().map(|&(_, doc)| doc).collect::<Vec<_>>());
    for (dimension, prefix) in prefixes.into_iter().enumerate() {
        out.put_vint(prefix as u32);
        out.extend_from_slice(&part(pairs[0].0, dimension).to_be_bytes()[..prefix]);
    }
    let Some(sorted) = sorted else {
        // All are equal.
        out.push(0xff);
        return out;
    };
    let put = |out: &mut Vec<u8>, value: u64, skip: usize| {
        for (dimension, prefix) in prefixes.into_iter().enumerate() {
            let more = if dimension == sorted { skip } else { 0 };
            out.extend_from_slice(&part(value, dimension).to_be_bytes()[prefix + more..]);
        }
    };
    let bytes = suffix(0) + suffix(1);
    let (values, runs) = (pairs.chunk_by(|a, b| a.0 == b.0).count(), runs(pairs, |value| byte(value, sorted)).count());
    let few = values < pairs.len() && values * (bytes + 1) <= pairs.len() * (bytes - 1) + 2 * runs;
    out.push(if few { 0xfe } else { sorted as u8 });
    for (dimension, (least, most)) in bounds.into_iter().enumerate() {
        for end in [least, most] {
            out.extend_from_slice(&end.to_be_bytes()[prefixes[dimension]..]);
        }
    }
    if few {
        // Each value once, with how often it comes.
        for same in pairs.chunk_by(|a, b| a.0 == b.0) {
            out.put_vint(same.len() as u32);
            put(&mut out, same[0].0, 0);
        }
    } else {
        // Runs with one byte behind the prefix, which is there once a run.
        for run in self::runs(pairs, |value| byte(value, sorted)) {
            out.push(byte(run[0].0, sorted));
            out.push(run.len() as u8);
            run.iter().for_each(|&(value, _)| put(&mut out, value, 1));
        }
    }
    out
}

/// Runs of pairs with the same byte, of 255 pairs at most.
fn runs(pairs: &[Pair], byte: impl Fn(u64) -> u8) -> impl Iterator<Item = &[Pair]> {
    pairs.chunk_by(move |a, b| byte(a.0) == byte(b.0)).flat_map(|run| run.chunks(255))
}
