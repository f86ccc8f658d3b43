//! Documents become bulk items.

mod fields;
mod json;
mod smile;

use std::borrow::Cow;

pub use fields::Dropped;
pub use json::Encoder;
pub use smile::SmileItemEncoder;

use crate::operation::FieldPath;

/// The text of a single value of a document, as it would stand for its id or routing value. `None`: it is absent, no single value, or the document is
/// not JSON or nested too deeply; [`Encoder`] says which.
pub fn text_at<'a>(document: &'a [u8], path: &FieldPath) -> Option<Cow<'a, str>> {
    fields::scalar(fields::Shallow::new(document)?, path).ok().map(|scalar| scalar.text)
}
