//! What is known of one field.

use std::collections::BTreeMap;
use std::hash::BuildHasherDefault;

use hashbrown::HashSet;
use xxhash_rust::xxh3::xxh3_64;

use super::RowPosition;
use super::shape::{Shape, shape};
use crate::order::AlreadyHashed;

/// Different values that are remembered of a field, to tell categories from free text.
const DISTINCT_MAX: usize = 1_000;

/// Counts how often something was seen, and remembers where first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) count: u64,
    pub(super) first: RowPosition,
    pub(super) last: RowPosition,
}

impl Seen {
    pub(super) fn at(&mut self, position: RowPosition) {
        if self.count == 0 {
            self.first = position;
        }
        self.count += 1;
        self.last = position;
    }

    pub(super) fn any(self) -> bool {
        self.count > 0
    }
}

/// The values that a field had, elements of arrays included.
#[derive(Debug, Default)]
pub(super) struct Field {
    pub(super) nulls: Seen,
    pub(super) booleans: Seen,
    pub(super) integers: Seen,
    /// Smallest and largest integer; beyond 64 bits they are counted as decimals.
    pub(super) least: i128,
    pub(super) most: i128,
    pub(super) decimals: Seen,
    /// The largest number, without its sign.
    pub(super) magnitude: f64,
    pub(super) strings: Strings,
    pub(super) objects: Seen,
    /// Elements of arrays that are objects.
    pub(super) objects_in_arrays: Seen,
    pub(super) arrays: Seen,
    /// In the order of their names, so that the same documents give the same mapping.
    pub(super) children: BTreeMap<String, Field>,
}

impl Field {
    pub(super) fn integer(&mut self, value: i128, position: RowPosition) {
        if self.integers.any() {
            self.least = self.least.min(value);
            self.most = self.most.max(value);
        } else {
            (self.least, self.most) = (value, value);
        }
        self.integers.at(position);
        self.magnitude = self.magnitude.max((value as f64).abs());
    }

    pub(super) fn decimal(&mut self, value: f64, position: RowPosition) {
        self.decimals.at(position);
        self.magnitude = self.magnitude.max(value.abs());
    }
}

/// The strings among a field's values.
#[derive(Debug, Default)]
pub(super) struct Strings {
    pub(super) all: Seen,
    /// By what they look like.
    pub(super) shapes: BTreeMap<Shape, Seen>,
    /// Smallest and largest of those that are whole numbers.
    pub(super) least: i64,
    pub(super) most: i64,
    /// The longest, bytes.
    pub(super) longest: usize,
    /// Words of all of them.
    pub(super) words: u64,
    distinct: HashSet<u64, BuildHasherDefault<AlreadyHashed>>,
}

impl Strings {
    pub(super) fn add(&mut self, text: &str, position: RowPosition) {
        self.all.at(position);
        let shape = shape(text);
        if shape == Shape::Integer
            && let Ok(value) = text.parse::<i64>()
        {
            let first = !self.shapes.contains_key(&Shape::Integer);
            self.least = if first { value } else { self.least.min(value) };
            self.most = if first { value } else { self.most.max(value) };
        }
        self.shapes.entry(shape).or_default().at(position);
        self.longest = self.longest.max(text.len());
        self.words += text.split_whitespace().count() as u64;
        if self.distinct.len() < DISTINCT_MAX {
            self.distinct.insert(xxh3_64(text.as_bytes()));
        }
    }

    /// Whether the same values come again and again, as those of a category do.
    pub(super) fn repeat(&self) -> bool {
        self.distinct.len() < DISTINCT_MAX && self.all.count >= 4 * self.distinct.len() as u64
    }

    /// Those that look like `shape`.
    pub(super) fn of(&self, shape: Shape) -> Seen {
        self.shapes.get(&shape).copied().unwrap_or_default()
    }

    /// Those that are not empty.
    pub(super) fn filled(&self) -> u64 {
        self.all.count - self.of(Shape::Empty).count
    }

    /// The first that has none of these shapes and is not empty.
    pub(super) fn first_other(&self, shapes: &[Shape]) -> Option<RowPosition> {
        let others = self.shapes.iter().filter(|(shape, _)| **shape != Shape::Empty && !shapes.contains(shape));
        others.map(|(_, seen)| seen.first).min()
    }
}
