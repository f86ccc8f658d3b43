//! Statistics of one field.

use std::collections::BTreeMap;
use std::hash::BuildHasherDefault;

use hashbrown::HashSet;
use xxhash_rust::xxh3::xxh3_64;

use super::RowPosition;
use super::shape::{Shape, shape};
use crate::order::AlreadyHashed;

/// Distinct values of a field that are remembered, to distinguish categories from free text.
const DISTINCT_MAX: usize = 1_000;

/// A count of occurrences, with the positions of the first and the last one.
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

/// The values of a field, including elements of arrays.
#[derive(Debug, Default)]
pub(super) struct Field {
    pub(super) nulls: Seen,
    pub(super) booleans: Seen,
    pub(super) integers: Seen,
    /// The smallest and the largest integer. Integers beyond 64 bits count as decimals.
    pub(super) least: i128,
    pub(super) most: i128,
    pub(super) decimals: Seen,
    /// The largest absolute value of a number.
    pub(super) magnitude: f64,
    pub(super) strings: Strings,
    pub(super) objects: Seen,
    /// Objects that are elements of arrays.
    pub(super) objects_in_arrays: Seen,
    pub(super) arrays: Seen,
    /// The fields of objects, sorted by name so that equal documents give equal mappings.
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

/// The strings among the values of a field.
#[derive(Debug, Default)]
pub(super) struct Strings {
    pub(super) all: Seen,
    /// Counts by shape.
    pub(super) shapes: BTreeMap<Shape, Seen>,
    /// The smallest and the largest whole number among the strings.
    pub(super) least: i64,
    pub(super) most: i64,
    /// The length of the longest string, bytes.
    pub(super) longest: usize,
    /// The number of words in all strings.
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

    /// Whether few distinct values repeat, as in a category.
    pub(super) fn repeat(&self) -> bool {
        self.distinct.len() < DISTINCT_MAX && self.all.count >= 4 * self.distinct.len() as u64
    }

    /// Strings of this shape.
    pub(super) fn of(&self, shape: Shape) -> Seen {
        self.shapes.get(&shape).copied().unwrap_or_default()
    }

    /// The number of non-empty strings.
    pub(super) fn filled(&self) -> u64 {
        self.all.count - self.of(Shape::Empty).count
    }

    /// The first non-empty string with none of these shapes.
    pub(super) fn first_other(&self, shapes: &[Shape]) -> Option<RowPosition> {
        let others = self.shapes.iter().filter(|(shape, _)| **shape != Shape::Empty && !shapes.contains(shape));
        others.map(|(_, seen)| seen.first).min()
    }
}
