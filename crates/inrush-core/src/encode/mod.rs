//! Documents become bulk items.

mod fields;
mod json;
pub mod smile;
mod transcode;

pub use json::Encoder;
pub use transcode::SmileWeaver;
