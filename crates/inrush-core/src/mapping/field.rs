//! Statistics of one field.

use std::collections::BTreeMap;
use std::hash::BuildHasherDefault;

use hashbrown::HashSet;
use xxhash_rust::xxh3::xxh3_64;

use super::RowPosition;
use super::shape::{Shape, shape};
use crate::order::AlreadyHashed;
use crate::vectors::DIMS;

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
    pub(super) lists: Lists,
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
        self.number(value as f64);
    }

    pub(super) fn decimal(&mut self, value: f64, position: RowPosition) {
        self.decimals.at(position);
        self.number(value);
    }

    fn number(&mut self, value: f64) {
        self.magnitude = self.magnitude.max(value.abs());
        self.lists.square += value * value;
    }

    /// Whether its values are whole numbers, none below zero and some beyond a long.
    pub(super) fn is_unsigned(&self) -> bool {
        let others = self.decimals.any() || self.booleans.any() || self.strings.all.any() || self.objects.any();
        self.integers.any() && !others && self.least >= 0 && self.most > i64::MAX.into()
    }

    /// Numbers of either kind.
    pub(super) fn numbers(&self) -> u64 {
        self.integers.count + self.decimals.count
    }

    /// The numbers of each list and the lengths of the lists as vectors, if each of `docs`
    /// documents has one list of as many numbers in this field, and nothing else.
    pub(super) fn vector(&self, docs: u64) -> Option<(usize, (f64, f64))> {
        let Lists { len, is_uneven, squares, .. } = self.lists;
        let others = self.nulls.any() || self.booleans.any() || self.strings.all.any() || self.objects.any();
        let len = len.filter(|len| DIMS.contains(len) && !is_uneven && !others && docs > 0)?;
        let fits = self.arrays.count == docs && self.numbers() == docs * len as u64;
        // Lists of whole numbers alone may be counts.
        (fits && self.decimals.any()).then_some((len, squares))
    }
}

/// The lists of a field, as vectors.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// The length of the first list.
    len: Option<usize>,
    /// Whether another list has another length, or has something else than numbers.
    is_uneven: bool,
    /// The squared length of the vector so far.
    square: f64,
    /// The least and the most of it.
    squares: (f64, f64),
}

impl Lists {
    pub(super) fn begin(&mut self) {
        self.square = 0.0;
    }

    /// Ends a list of `len` elements, of which `numbers` are numbers.
    pub(super) fn end(&mut self, len: usize, numbers: u64) {
        self.is_uneven |= numbers != len as u64 || self.len.is_some_and(|first| first != len);
        let (least, most) = if self.len.is_some() { self.squares } else { (f64::INFINITY, 0.0) };
        self.squares = (least.min(self.square), most.max(self.square));
        self.len.get_or_insert(len);
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
