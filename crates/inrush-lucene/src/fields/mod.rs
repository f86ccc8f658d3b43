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
mod index_settings;
pub(crate) mod join;
pub(crate) mod json;
pub(crate) mod live;
pub(crate) mod mapping;
mod new_field;
pub(crate) mod new_fields;
mod object;
mod properties;
pub(crate) mod refused;
mod relations;
pub(crate) mod sorting;
mod spelled;
pub(crate) mod target;
mod templates;
pub(crate) mod values;
