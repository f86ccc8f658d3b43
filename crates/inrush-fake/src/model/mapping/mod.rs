//! Mappings: the fields of an index, and the check of documents against them.

mod accept;
mod definition;
mod values;
mod vectors;

pub(super) use self::accept::{DocumentContext, failed_to_parse};
pub(crate) use self::definition::Mapping;
pub(super) use self::definition::TOTAL_FIELDS_LIMIT;
