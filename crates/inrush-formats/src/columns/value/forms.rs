//! Binary values: as text, or as base64.
//!
//! Many writers store text in columns of bytes. The first values of a column decide whether it is
//! text, and all of the column is written in that form. The decision is kept as a mark in the
//! metadata of the field that has the bytes, also inside of lists, structs and maps. Fields whose
//! form must not depend on their values are decided before ([`BinaryForms::base64`]).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray};
use arrow_schema::{DataType, Field, FieldRef, UnionFields};

use super::json::is_json;
use super::{Bad, Cells, Writing, is_uuid, scalars};
use crate::format::Binary;
use crate::json_string::{push_base64, push_text, push_uuid};

/// The key of the mark in a field's metadata, and its values.
const MARK: &str = "inrush.binary";
const TEXT: &str = "text";
const BASE64: &str = "base64";

/// The forms of binary columns, by their paths. The files of a job share them, so that a column has
/// one form in all of them.
#[derive(Clone, Debug, Default)]
pub struct BinaryForms(Arc<Mutex<HashMap<String, &'static str>>>);

impl BinaryForms {
    /// Decides for base64 at these paths, unless their form is decided.
    pub(crate) fn base64<'p>(&self, paths: impl Iterator<Item = &'p str>) {
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for path in paths {
            forms.entry(path.to_owned()).or_insert(BASE64);
        }
    }
}

/// Prepares an array of bytes to be written as its field's mark says.
pub(in crate::columns) fn cells<'a>(array: &'a dyn Array, field: &Field, writing: &'a Writing) -> Box<dyn Cells + 'a> {
    match field.data_type() {
        DataType::FixedSizeBinary(16) if is_uuid(field) => {
            scalars(array, |a: &FixedSizeBinaryArray, row, out| push_uuid(out, a.value(row)))
        }
        DataType::FixedSizeBinary(_) => of_bytes(array, field, writing, FixedSizeBinaryArray::value),
        DataType::LargeBinary => of_bytes(array, field, writing, LargeBinaryArray::value),
        DataType::BinaryView => of_bytes(array, field, writing, BinaryViewArray::value),
        _ => of_bytes(array, field, writing, BinaryArray::value),
    }
}

fn of_bytes<'a, A: Array + 'static>(
    array: &'a dyn Array,
    field: &Field,
    writing: &'a Writing,
    value: fn(&A, usize) -> &[u8],
) -> Box<dyn Cells + 'a> {
    if mark(field) != Some(TEXT) {
        return scalars(array, move |a: &A, row, out| push_base64(out, value(a, row)));
    }
    scalars(array, move |a: &A, row, out| {
        let bytes = value(a, row);
        match std::str::from_utf8(bytes) {
            Ok(text) => push_text(out, text),
            Err(error) => {
                push_base64(out, bytes);
                writing.bad.replace(Some(Bad::Bytes { at: error.valid_up_to() }));
            }
        }
    })
}

fn mark(field: &Field) -> Option<&str> {
    field.metadata().get(MARK).map(String::as_str)
}

/// Whether values of this field have bytes whose form is not decided.
pub(in crate::columns) fn is_undecided(field: &Field) -> bool {
    let mut found = false;
    // Without values and a form nothing is decided.
    rebuild(field, None, "", &mut |leaf, _, _| {
        found |= mark(leaf).is_none();
        None
    });
    found
}

/// The decisions about the bytes of one column.
pub(in crate::columns) struct Deciding<'a> {
    /// What the user wants.
    pub(in crate::columns) binary: Binary,
    /// What was decided before.
    pub(in crate::columns) forms: &'a BinaryForms,
}

impl Deciding<'_> {
    /// The field with marks, as far as the values of `array` or the user decide. `on_text` gets the
    /// path of each column that is text by its values.
    pub(in crate::columns) fn decide(
        &self,
        field: &Field,
        array: Option<&dyn Array>,
        mut on_text: impl FnMut(&str),
    ) -> Field {
        rebuild(field, array, field.name(), &mut |leaf, array, path| {
            let fixed = match self.binary {
                Binary::Text => Some(TEXT),
                Binary::Base64 => Some(BASE64),
                Binary::Auto => None,
            };
            if mark(leaf).is_some() || fixed.is_some() {
                return fixed;
            }
            let mut forms = self.forms.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(form) = forms.get(path) {
                return Some(*form);
            }
            let is_text = is_text(array?)?;
            if is_text {
                on_text(path);
            }
            let form = if is_text { TEXT } else { BASE64 };
            forms.insert(path.to_owned(), form);
            Some(form)
        })
    }
}

/// Whether all values are text without control characters. `None` where there are none.
fn is_text(array: &dyn Array) -> Option<bool> {
    let value = |row: usize| -> &[u8] {
        match array.data_type() {
            DataType::Binary => array.as_binary::<i32>().value(row),
            DataType::LargeBinary => array.as_binary::<i64>().value(row),
            DataType::BinaryView => array.as_binary_view().value(row),
            _ => array.as_fixed_size_binary().value(row),
        }
    };
    let mut rows = (0..array.len()).filter(|row| array.is_valid(*row)).map(value).filter(|bytes| !bytes.is_empty());
    let controls = |text: &str| text.bytes().any(|byte| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r'));
    let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(|text| !controls(text));
    let first = is_text(rows.next()?);
    Some(first && rows.all(is_text))
}

/// What decides about a field of bytes, from its values and its path.
type Decide<'a> = dyn FnMut(&Field, Option<&dyn Array>, &str) -> Option<&'static str> + 'a;

/// A copy of the field in which each field of bytes has the mark that `decide` returns.
fn rebuild(field: &Field, array: Option<&dyn Array>, path: &str, decide: &mut Decide<'_>) -> Field {
    let data_type = match field.data_type() {
        DataType::FixedSizeBinary(16) if is_uuid(field) => return field.clone(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            let Some(form) = decide(field, array, path) else { return field.clone() };
            let mut metadata = field.metadata().clone();
            metadata.insert(MARK.to_owned(), form.to_owned());
            return field.clone().with_metadata(metadata);
        }
        DataType::Dictionary(key, values) => {
            let item = field.clone().with_data_type((**values).clone());
            let values = array.and_then(|array| array.as_any_dictionary_opt());
            let item = rebuild(&item, values.map(|values| &**values.values()), path, decide);
            let data_type = DataType::Dictionary(key.clone(), Box::new(item.data_type().clone()));
            return item.with_data_type(data_type);
        }
        _ if is_json(field.data_type()) => return field.clone(),
        DataType::Struct(fields) => {
            let columns = array.map(|array| array.as_struct().columns());
            let member = |(at, member): (usize, &FieldRef)| {
                below(member, columns.map(|columns| &*columns[at]), &format!("{path}.{}", member.name()), decide)
            };
            DataType::Struct(fields.iter().enumerate().map(member).collect())
        }
        DataType::Map(entries, sorted) => {
            let entry: Option<&dyn Array> = array.map(|array| array.as_map().entries() as &dyn Array);
            DataType::Map(below(entries, entry, path, decide), *sorted)
        }
        DataType::Union(fields, mode) => {
            let member = |(id, member): (i8, &FieldRef)| {
                let child = array.map(|array| &**array.as_union().child(id));
                (id, below(member, child, &format!("{path}.{}", member.name()), decide))
            };
            DataType::Union(fields.iter().map(member).collect::<UnionFields>(), *mode)
        }
        DataType::RunEndEncoded(ends, values) => {
            let inside: Option<&dyn Array> = array.map(|array| match ends.data_type() {
                DataType::Int16 => &**array.as_run::<Int16Type>().values(),
                DataType::Int32 => &**array.as_run::<Int32Type>().values(),
                _ => &**array.as_run::<Int64Type>().values(),
            });
            DataType::RunEndEncoded(Arc::clone(ends), below(values, inside, path, decide))
        }
        other => match list_item(other, array) {
            None => return field.clone(),
            Some((item, values)) => with_item(other, below(item, values, path, decide)),
        },
    };
    field.clone().with_data_type(data_type)
}

fn below(field: &FieldRef, array: Option<&dyn Array>, path: &str, decide: &mut Decide<'_>) -> FieldRef {
    Arc::new(rebuild(field, array, path, decide))
}

/// The field and the values of a list; `None` if it is no list.
fn list_item<'a>(
    data_type: &'a DataType,
    array: Option<&'a dyn Array>,
) -> Option<(&'a FieldRef, Option<&'a dyn Array>)> {
    let (item, values) = match data_type {
        DataType::List(item) => (item, array.map(|array| array.as_list::<i32>().values())),
        DataType::LargeList(item) => (item, array.map(|array| array.as_list::<i64>().values())),
        DataType::ListView(item) => (item, array.map(|array| array.as_list_view::<i32>().values())),
        DataType::LargeListView(item) => (item, array.map(|array| array.as_list_view::<i64>().values())),
        DataType::FixedSizeList(item, _) => (item, array.map(|array| array.as_fixed_size_list().values())),
        _ => return None,
    };
    Some((item, values.map(|values| &**values)))
}

/// The type of a list with another field of its items.
fn with_item(list: &DataType, item: FieldRef) -> DataType {
    match list {
        DataType::LargeList(_) => DataType::LargeList(item),
        DataType::ListView(_) => DataType::ListView(item),
        DataType::LargeListView(_) => DataType::LargeListView(item),
        DataType::FixedSizeList(_, size) => DataType::FixedSizeList(item, *size),
        _ => DataType::List(item),
    }
}
