//! Points of several dimensions, of which the first ones are in the tree.
//!
//! Source: the documentation of `org.apache.lucene.util.bkd.BKDWriter` in Lucene 9.12: the points
//! are halved along the dimension that is the longest one, until a half fits into a leaf.

use super::docs::put_docs;
use super::tree::{Tree, left_leaves};
use super::{FieldPoints, LEAF, PointsWriter};
use crate::formats::output::Put;

/// A value of a dimension: a number without a sign.
pub(crate) trait Unsigned: Copy + Ord {
    const WIDTH: usize;
    /// The same with the highest byte first.
    type Bytes: AsRef<[u8]>;

    fn bytes(self) -> Self::Bytes;

    /// How far it is from a lesser one.
    fn less(self, other: Self) -> Self;

    /// How many of the highest bytes two have in common.
    fn common(self, other: Self) -> usize;
}

macro_rules! unsigned {
    ($($number:ty)*) => { $(
        impl Unsigned for $number {
            const WIDTH: usize = size_of::<Self>();
            type Bytes = [u8; size_of::<Self>()];

            #[inline]
            fn bytes(self) -> Self::Bytes {
                self.to_be_bytes()
            }

            #[inline]
            fn less(self, other: Self) -> Self {
                self - other
            }

            #[inline]
            fn common(self, other: Self) -> usize {
                ((self ^ other).leading_zeros() / 8) as usize
            }
        }
    )* };
}

unsigned!(u32 u64 u128);

/// A value, and its document.
pub(crate) type Pair<T> = Tuple<T, 2>;

/// A value of several dimensions, and its document.
pub(crate) type Tuple<T, const ALL: usize> = ([T; ALL], u32);

/// The least and the greatest value of each dimension.
type Bounds<T, const COUNT: usize> = [(T, T); COUNT];

/// How often the tree is halved until the bounds of a part are looked for again, if it has more
/// than two dimensions.
const HALVES: u32 = 4;

fn bounds<T: Unsigned, const ALL: usize, const COUNT: usize>(tuples: &[Tuple<T, ALL>]) -> Bounds<T, COUNT> {
    std::array::from_fn(|dimension| {
        let first = tuples[0].0[dimension];
        let values = tuples.iter().map(|(value, _)| value[dimension]);
        values.fold((first, first), |(least, most), value| (least.min(value), most.max(value)))
    })
}

impl PointsWriter {
    /// Adds a field with values of two dimensions, as unsigned numbers, that `docs` documents have.
    /// A field without values is left out.
    pub(crate) fn add_pairs<T: Unsigned>(&mut self, number: u32, pairs: Vec<Pair<T>>, docs: u32) {
        self.add_tree::<T, 2, 2>(number, pairs, docs);
    }

    /// The same of `ALL` dimensions, of which `TREE` are in the tree.
    pub(crate) fn add_tree<T: Unsigned, const ALL: usize, const TREE: usize>(
        &mut self,
        number: u32,
        mut tuples: Vec<Tuple<T, ALL>>,
        docs: u32,
    ) {
        if tuples.is_empty() {
            return;
        }
        let data_start = self.data.position();
        let leaves = tuples.len().div_ceil(LEAF);
        let mut tree = Tree::new(T::WIDTH, TREE);
        tree.splits = vec![0; leaves * T::WIDTH];
        tree.split_dimensions = vec![0; leaves];
        let all: Bounds<T, TREE> = bounds(&tuples);
        self.build(&mut tree, &mut tuples, Part { first: 0, leaves, bounds: all, splits: [0; TREE] });
        let end = |of: fn((T, T)) -> T| {
            let bytes = all.map(|bounds| of(bounds).bytes());
            bytes.iter().flat_map(|bytes| bytes.as_ref().iter().copied()).collect::<Vec<u8>>()
        };
        let (least, most) = (end(|(least, _)| least), end(|(_, most)| most));
        let (count, dimensions) = (tuples.len(), ALL);
        let field = FieldPoints { number, dimensions, count, docs, data_start, least: &least, most: &most };
        self.end_field(&tree, &field);
    }

    fn build<T: Unsigned, const ALL: usize, const TREE: usize>(
        &mut self,
        tree: &mut Tree,
        tuples: &mut [Tuple<T, ALL>],
        mut of: Part<T, TREE>,
    ) {
        if of.leaves == 1 {
            tree.leaves.push(self.data.position());
            let leaf = leaf::<T, ALL, TREE>(tuples);
            self.data.put(&leaf);
            return;
        }
        let halves: u32 = of.splits.iter().sum();
        if TREE > 2 && halves > 0 && halves.is_multiple_of(HALVES) {
            of.bounds = bounds(tuples);
        }
        let dimension = of.dimension();
        let left = left_leaves(of.leaves);
        let middle = left * LEAF;
        let (_, &mut (value, _), _) =
            tuples.select_nth_unstable_by_key(middle, |&(value, doc)| (value[dimension], doc));
        let split = value[dimension];
        let right = of.first + left;
        tree.splits[right * T::WIDTH..(right + 1) * T::WIDTH].copy_from_slice(split.bytes().as_ref());
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
        let (low, high) = tuples.split_at_mut(middle);
        self.build(tree, low, below[0]);
        self.build(tree, high, below[1]);
    }
}

/// A part of the tree.
#[derive(Clone, Copy)]
struct Part<T, const TREE: usize> {
    first: usize,
    leaves: usize,
    bounds: Bounds<T, TREE>,
    /// How often each dimension was halved above.
    splits: [u32; TREE],
}

impl<T: Unsigned, const TREE: usize> Part<T, TREE> {
    /// The dimension to halve: the longest one, but none much less often than another one.
    fn dimension(&self) -> usize {
        let length = |dimension: usize| self.bounds[dimension].1.less(self.bounds[dimension].0);
        let is_long = |dimension: usize| self.bounds[dimension].1 > self.bounds[dimension].0;
        let most = self.splits.iter().max().map_or(0, |most| most / 2);
        let longest = |a: usize, b: usize| if length(b) > length(a) { b } else { a };
        (0..TREE)
            .find(|&dimension| self.splits[dimension] < most && is_long(dimension))
            .unwrap_or_else(|| (1..TREE).fold(0, longest))
    }
}

/// The bytes of a leaf.
fn leaf<T: Unsigned, const ALL: usize, const TREE: usize>(tuples: &mut [Tuple<T, ALL>]) -> Vec<u8> {
    let bounds: Bounds<T, ALL> = bounds(tuples);
    let prefixes = bounds.map(|(least, most)| least.common(most));
    let suffix = |dimension: usize| T::WIDTH - prefixes[dimension];
    // Sorted by the dimension with the fewest different bytes behind the prefix.
    let byte = |value: [T; ALL], dimension: usize| value[dimension].bytes().as_ref()[prefixes[dimension]];
    let different_bytes = |dimension: usize| {
        let mut used = [false; 256];
        tuples.iter().for_each(|&(value, _)| used[usize::from(byte(value, dimension))] = true);
        used.iter().filter(|used| **used).count()
    };
    let sorted =
        (0..ALL).filter(|&dimension| suffix(dimension) > 0).min_by_key(|&dimension| different_bytes(dimension));
    // By the dimensions that are not in the tree before the others.
    tuples.sort_unstable_by(|(a, doc_a), (b, doc_b)| {
        let by = sorted.unwrap_or(0);
        a[by].cmp(&b[by]).then_with(|| a[TREE..].cmp(&b[TREE..])).then_with(|| (a, doc_a).cmp(&(b, doc_b)))
    });
    let mut out = Vec::new();
    out.put_vint(tuples.len() as u32);
    put_docs(&mut out, &tuples.iter().map(|&(_, doc)| doc).collect::<Vec<_>>());
    for (dimension, prefix) in prefixes.into_iter().enumerate() {
        out.put_vint(prefix as u32);
        out.extend_from_slice(&tuples[0].0[dimension].bytes().as_ref()[..prefix]);
    }
    let Some(sorted) = sorted else {
        // All are equal.
        out.push(0xff);
        return out;
    };
    let put = |out: &mut Vec<u8>, value: [T; ALL], skip: usize| {
        for (dimension, prefix) in prefixes.into_iter().enumerate() {
            let more = if dimension == sorted { skip } else { 0 };
            out.extend_from_slice(&value[dimension].bytes().as_ref()[prefix + more..]);
        }
    };
    let bytes: usize = (0..ALL).map(suffix).sum();
    let (values, runs) =
        (tuples.chunk_by(|a, b| a.0 == b.0).count(), runs(tuples, |value| byte(value, sorted)).count());
    let few = values < tuples.len() && values * (bytes + 1) <= tuples.len() * (bytes - 1) + 2 * runs;
    out.push(if few { 0xfe } else { sorted as u8 });
    for (dimension, (least, most)) in bounds.into_iter().enumerate().take(TREE) {
        for end in [least, most] {
            out.extend_from_slice(&end.bytes().as_ref()[prefixes[dimension]..]);
        }
    }
    if few {
        // Each value once, with how often it comes.
        for same in tuples.chunk_by(|a, b| a.0 == b.0) {
            out.put_vint(same.len() as u32);
            put(&mut out, same[0].0, 0);
        }
    } else {
        // Runs with one byte behind the prefix, which is there once a run.
        for run in self::runs(tuples, |value| byte(value, sorted)) {
            out.push(byte(run[0].0, sorted));
            out.push(run.len() as u8);
            run.iter().for_each(|&(value, _)| put(&mut out, value, 1));
        }
    }
    out
}

/// Runs of values with the same byte, of 255 values at most.
fn runs<T: Unsigned, const ALL: usize>(
    tuples: &[Tuple<T, ALL>],
    byte: impl Fn([T; ALL]) -> u8,
) -> impl Iterator<Item = &[Tuple<T, ALL>]> {
    tuples.chunk_by(move |a, b| byte(a.0) == byte(b.0)).flat_map(|run| run.chunks(255))
}
