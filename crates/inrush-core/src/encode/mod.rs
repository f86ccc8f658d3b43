//! Documents to bulk items.

mod address;
mod builder;
mod fields;
mod json;
mod presence;
mod shape;
mod smile;
mod vectors;

use std::borrow::Cow;

pub use json::Encoder;
pub use presence::Presence;
pub use shape::Shape;
pub use smile::SmileItemEncoder;
pub use vectors::Packer;

use crate::operation::FieldPath;

/// The text of a document's field in the form of an id or routing value. `None`: the field is
/// missing or not a single value, or the document is not JSON or nested too deeply. [`Encoder`]
/// reports which.
pub fn text_at<'a>(document: &'a [u8], path: &FieldPath) -> Option<Cow<'a, str>> {
    fields::scalar(fields::Shallow::new(document)?, path).ok().map(|scalar| scalar.text)
}
