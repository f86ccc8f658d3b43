//! Vectors: the fields of a mapping that hold one, the vectors that servers refuse, and the forms
//! that they are sent in.
//!
//! Every server takes a vector as an array of numbers. Elasticsearch 9.3 and newer also takes the
//! base64 of its bytes: big-endian float32, or the bytes of elements `byte` and `bit`. A load packs
//! vectors so only after [`Packing::begin`], which means that the server has shown it.

mod count;
mod field;
pub mod graph;
mod mapping;
mod pack;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use count::{VectorCounts, VectorMark, VectorsBefore};
pub use field::{Element, Similarity, VectorField, definitions};
pub use mapping::{SeenVector, VectorServer, upgrade};
pub use pack::{push_packed, push_packed_bytes};

/// Numbers of the shortest and the longest list that counts as a vector.
pub const DIMS: std::ops::RangeInclusive<usize> = 32..=4096;

/// Whether vectors are packed. Clones share it, and the loop may change it while threads read.
#[derive(Clone, Debug, Default)]
pub struct Packing(Arc<AtomicBool>);

impl Packing {
    /// Vectors are packed from now on.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether vectors are packed.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for Packing {
    fn eq(&self, other: &Self) -> bool {
        self.is_on() == other.is_on()
    }
}

impl Eq for Packing {}

/// Why a server refuses a vector.
#[derive(Clone, Debug, PartialEq)]
pub enum BadVector {
    /// It has another number of elements than the mapping says.
    Length {
        /// Elements that it has.
        found: usize,
        /// Elements that the mapping says.
        expected: usize,
    },
    /// This element, from 0, is missing.
    Missing(usize),
    /// This element, from 0, is no finite float32.
    NotFinite(usize),
    /// This element, from 0, is no whole number from -128 to 127.
    NotByte(usize),
    /// All is 0, which this similarity has no direction for.
    Zero(Similarity),
    /// Its length is not 1. The square of it is this.
    NotUnit(f32),
}

impl fmt::Display for BadVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadVector::Length { found, expected } => {
                write!(
                    f,
                    "has {found} elements, and the mapping says {expected}; correct the vector, or map the field with its length"
                )
            }
            BadVector::Missing(at) => write!(f, "has null as element {at}; expected a number in each place"),
            BadVector::NotFinite(at) => {
                write!(f, "has NaN, infinity or a number beyond float32 as element {at}; expected a finite number")
            }
            BadVector::NotByte(at) => {
                write!(
                    f,
                    "has something else than a whole number from -128 to 127 as element {at}, which its element type takes only"
                )
            }
            BadVector::Zero(similarity) => {
                let other = if *similarity == Similarity::CosineSimil { "l2" } else { "l2_norm" };
                write!(
                    f,
                    "is zero, or too small to have a direction, which the similarity {similarity} refuses; leave the field out, or map it with {other}"
                )
            }
            BadVector::NotUnit(squared) => write!(
                f,
                "has the squared length {squared}, and the similarity dot_product takes the length 1 only; normalise it, or map the field with cosine"
            ),
        }
    }
}
