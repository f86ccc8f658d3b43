//! The options of a load and of a bake, and the use cases beside a load: `verify`, `doctor`,
//! `segments`, `mapping`, `convert`, `lag` and the copy of an index. The command line, the Python
//! package and the crate `inrush` are front ends of this crate.
//!
//! Programs use the crate `inrush`, which promises its names.

// The setters of all options are one chain of macros.
#![recursion_limit = "256"]

pub mod bake;
pub mod convert;
pub mod copy;
pub mod doctor;
pub mod lag;
pub mod mapping;
pub mod options;
pub mod segments;
pub mod shards;
pub mod verify;

pub use options::{Loader, LoaderBuilder};
