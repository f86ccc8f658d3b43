//! Text that is JSON and becomes part of the document unchanged.
//!
//! It is marked by its type, a struct with one field named [`FIELD`], and not by metadata of a
//! field: a type stays with its values through all operators of a query, metadata does not.

#[cfg(any(feature = "sql", test))]
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, StructArray};
use arrow_schema::DataType;
#[cfg(any(feature = "sql", test))]
use arrow_schema::Field;
use serde::de::IgnoredAny;

use super::{Bad, Cells, Writing};
use crate::json_string::push_escaped;

/// The name of the only field, whose text is JSON.
pub const FIELD: &str = "$json";

/// The type of text that is JSON.
#[cfg(any(feature = "sql", test))]
pub fn json_type() -> DataType {
    DataType::Struct([Arc::new(Field::new(FIELD, DataType::Utf8, true))].into_iter().collect())
}

/// Whether values of this type are JSON.
pub fn is_json(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => {
            matches!(&fields[..], [field] if field.name() == FIELD && *field.data_type() == DataType::Utf8)
        }
        _ => false,
    }
}

/// Whether this type contains JSON at any depth.
pub(in crate::columns) fn has_json(data_type: &DataType) -> bool {
    match data_type {
        _ if is_json(data_type) => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_json(field.data_type())),
        DataType::Union(fields, _) => fields.iter().any(|(_, field)| has_json(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => has_json(field.data_type()),
        DataType::Dictionary(_, values) => has_json(values),
        _ => false,
    }
}

/// Prepares an array of [`json_type`].
pub(in crate::columns) fn cells<'a>(array: &'a StructArray, writing: &'a Writing) -> Box<dyn Cells + 'a> {
    Box::new(Json { array, writing })
}

struct Json<'a> {
    array: &'a StructArray,
    writing: &'a Writing,
}

impl Cells for Json<'_> {
    /// Writes text that is not JSON as a string, and records the error.
    fn push(&self, row: usize, out: &mut Vec<u8>) -> bool {
        let texts = self.array.column(0).as_string::<i32>();
        if self.array.is_null(row) || texts.is_null(row) {
            return false;
        }
        let text = texts.value(row);
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) if text.trim_ascii() == "null" => return false,
            // Line ends can only be between tokens. They would end the line of the document.
            Ok(_) => out.extend(text.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte })),
            Err(error) => {
                out.push(b'"');
                push_escaped(out, text.as_bytes());
                out.push(b'"');
                self.writing.bad.replace(Some(Bad::Json(error.to_string())));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, StringArray};

    use super::*;

    fn write(text: Option<&str>) -> (Option<String>, Option<String>) {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let DataType::Struct(fields) = json_type() else { unreachable!() };
        let (array, writing) = (StructArray::new(fields, vec![texts], None), Writing::default());
        let mut out = Vec::new();
        let there = cells(&array, &writing).push(0, &mut out);
        let why = writing.bad.take().map(|bad| match bad {
            Bad::Json(why) => why,
            Bad::Bytes { .. } | Bad::Vector(_) => unreachable!(),
        });
        (there.then(|| String::from_utf8(out).unwrap()), why)
    }

    #[test]
    fn json_is_passed_on_in_one_line() {
        assert_eq!(write(Some("{\"a\":\r\n[1, 2.50]}")), (Some("{\"a\":  [1, 2.50]}".to_owned()), None));
        assert_eq!(write(Some("12345678901234567890123")).0.as_deref(), Some("12345678901234567890123"));
        assert_eq!(write(Some(" null ")), (None, None));
        assert_eq!(write(None), (None, None));
    }

    #[test]
    fn what_is_no_json_is_a_string_and_noted() {
        let (written, why) = write(Some("{a:1}"));
        assert_eq!(written.as_deref(), Some("\"{a:1}\""));
        assert!(why.unwrap().contains("line 1"));
    }

    #[test]
    fn json_is_found_wherever_it_is() {
        let item = Arc::new(Field::new("item", json_type(), true));
        assert!(has_json(&DataType::List(item)) && !is_json(&DataType::Utf8));
        assert!(!has_json(&DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)))));
    }
}
