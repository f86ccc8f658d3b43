//! From the text of documents to the values that are indexed.

pub(crate) mod convert;
pub(crate) mod dates;
mod definition;
pub(crate) mod document;
pub(crate) mod field;
mod geo;
pub(crate) mod ids;
pub(crate) mod json;
pub(crate) mod mapping;
pub(crate) mod refused;
mod values;
