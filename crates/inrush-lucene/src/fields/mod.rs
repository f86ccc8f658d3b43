//! From the text of documents to the values that are indexed.

pub(crate) mod columns;
pub(crate) mod convert;
pub(crate) mod dates;
mod definition;
pub(crate) mod document;
mod dynamic;
pub(crate) mod field;
mod flat;
mod geo;
pub(crate) mod ids;
pub(crate) mod json;
pub(crate) mod live;
pub(crate) mod mapping;
pub(crate) mod new_fields;
mod properties;
pub(crate) mod refused;
pub(crate) mod sorting;
mod templates;
pub(crate) mod values;
