//! Documents become bulk items.

mod fields;
mod json;

pub use json::Encoder;
