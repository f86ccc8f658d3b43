//! From the text of documents to the values that are indexed.

pub(crate) mod dates;
pub(crate) mod document;
pub(crate) mod ids;
pub(crate) mod json;
pub(crate) mod mapping;
mod values;
