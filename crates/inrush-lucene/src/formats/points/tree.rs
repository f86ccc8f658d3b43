//! The tree above the leaves of points.
//!
//! Source: the documentation of `org.apache.lucene.util.bkd.BKDWriter` in Lucene 9.12.

use crate::formats::output::Put;

/// The leaves of a field.
pub(super) struct Tree {
    /// The bytes of a dimension.
    pub(super) width: usize,
    pub(super) dimensions: usize,
    /// Where each leaf is.
    pub(super) leaves: Vec<u64>,
    /// The value that is between each leaf and the one before it, in one dimension.
    pub(super) splits: Vec<u8>,
    /// That dimension; empty where there is only one.
    pub(super) split_dimensions: Vec<u8>,
}

/// Where a node is in the tree.
struct Place {
    /// Where the leftmost leaf of the parent is.
    least_at: u64,
    left: bool,
    /// The last split value above of each dimension.
    splits: Vec<u8>,
}

impl Tree {
    pub(super) fn new(width: usize, dimensions: usize) -> Self {
        Self { width, dimensions, leaves: Vec::new(), splits: Vec::new(), split_dimensions: Vec::new() }
    }

    /// The bytes of the tree.
    pub(super) fn packed(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let splits = vec![0; self.width * self.dimensions];
        self.pack(&mut out, 0, self.leaves.len(), Place { least_at: 0, left: false, splits });
        out
    }

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
        let dimension = self.split_dimensions.get(right).map_or(0, |&dimension| usize::from(dimension));
        let split = &self.splits[right * self.width..(right + 1) * self.width];
        let start = dimension * self.width;
        let above = &place.splits[start..start + self.width];
        let prefix = split.iter().zip(above).take_while(|(a, b)| a == b).count();
        // Whether it is less or more follows from the side on which it is.
        let difference = match (split.get(prefix), above.get(prefix)) {
            (Some(a), Some(b)) => usize::from(a.abs_diff(*b)),
            _ => 0,
        };
        let code = (difference * (1 + self.width) + prefix) * self.dimensions + dimension;
        out.put_vint(code as u32);
        if prefix + 1 < self.width {
            out.extend_from_slice(&split[prefix + 1..]);
        }
        let mut splits = place.splits;
        splits[start..start + self.width].copy_from_slice(split);
        let mut below = Vec::new();
        self.pack(&mut below, first, left, Place { least_at: at, left: true, splits: splits.clone() });
        if left != 1 {
            out.put_vint(below.len() as u32);
        }
        out.extend_from_slice(&below);
        self.pack(out, right, count - left, Place { least_at: at, left: false, splits });
    }
}

/// How many of the leaves are on the left: all levels but the last are full, and that one is filled
/// from the left.
pub(super) fn left_leaves(count: usize) -> usize {
    let full = 1 << count.ilog2();
    full / 2 + (count - full).min(full / 2)
}
