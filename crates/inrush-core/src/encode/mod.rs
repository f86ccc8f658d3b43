//! Documents become bulk items.

mod fields;
mod json;
pub mod smile;

pub use json::Encoder;
