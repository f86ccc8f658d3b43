//! Values made of other values: lists, structs, maps, dictionaries, runs and unions.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray, OffsetSizeTrait, RunArray,
    StructArray, UnionArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};

use super::json::{self, is_json};
use super::{Cells, Writing, downcast};
use crate::json_string::push_escaped;

/// Prepares an array of one of these types. Arrays of other types have no values inside.
pub(in crate::columns) fn cells<'a>(array: &'a dyn Array, field: &Field, writing: &'a Writing) -> Box<dyn Cells + 'a> {
    match field.data_type() {
        DataType::List(item) => list::<i32>(array, item, writing),
        DataType::LargeList(item) => list::<i64>(array, item, writing),
        DataType::ListView(item) => list_view::<i32>(array, item, writing),
        DataType::LargeListView(item) => list_view::<i64>(array, item, writing),
        DataType::FixedSizeList(item, _) => {
            let list: &FixedSizeListArray = downcast(array);
            let size = list.value_length() as usize;
            let range = move |row| row * size..(row + 1) * size;
            lists(list.nulls(), range, list.values(), item, writing)
        }
        DataType::Struct(_) if is_json(field.data_type()) => json::cells(downcast(array), writing),
        DataType::Struct(fields) => {
            let structs: &StructArray = downcast(array);
            Box::new(Structs {
                nulls: structs.nulls(),
                object: Object::new(&names(fields), structs.columns(), fields, writing),
            })
        }
        DataType::Map(entries, _) => {
            let map: &MapArray = downcast(array);
            // The fields of the column, which may know more than those of the array.
            let DataType::Struct(fields) = entries.data_type() else {
                unreachable!("the entries of a map are structs")
            };
            let (key, value) = (&fields[0], &fields[1]);
            Box::new(Maps {
                map,
                keys: super::cells(map.keys(), key, writing),
                values: super::cells(map.values(), value, writing),
            })
        }
        DataType::Dictionary(_, values) => {
            let dictionary = array.as_any_dictionary();
            // The values of a dictionary can be null, too. They say so when they are written.
            let nulls = dictionary.keys().nulls();
            let places = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            let item = field.clone().with_data_type((**values).clone());
            let values = super::cells(dictionary.values(), &item, writing);
            Box::new(Elsewhere { nulls, place: move |row: usize| places.get(row).copied(), values })
        }
        DataType::RunEndEncoded(ends, values) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(array, values, writing),
            DataType::Int32 => runs::<Int32Type>(array, values, writing),
            _ => runs::<Int64Type>(array, values, writing),
        },
        DataType::Union(fields, _) => {
            let union: &UnionArray = downcast(array);
            let children =
                fields.iter().map(|(id, field)| (id, super::cells(union.child(id), field, writing))).collect();
            Box::new(Unions { union, children })
        }
        other => unreachable!("{other} is not a nested type"),
    }
}

/// The names of fields, unchanged.
fn names(fields: &Fields) -> Vec<String> {
    fields.iter().map(|field| field.name().clone()).collect()
}

/// The fields of a row or a struct.
pub(in crate::columns) struct Object<'a> {
    /// `"name":`, the values, and whether a missing one is a `null`.
    fields: Vec<(Vec<u8>, Box<dyn Cells + 'a>, bool)>,
}

impl<'a> Object<'a> {
    /// `names` are the names of `fields` in documents.
    pub(in crate::columns) fn new(
        names: &[String],
        columns: &'a [ArrayRef],
        fields: &Fields,
        writing: &'a Writing,
    ) -> Self {
        Self::of_columns(names, columns, fields, std::iter::repeat(writing))
    }

    /// The same with a [`Writing`] for each field.
    pub(in crate::columns) fn of_columns(
        names: &[String],
        columns: &'a [ArrayRef],
        fields: &Fields,
        writing: impl Iterator<Item = &'a Writing>,
    ) -> Self {
        let fields = names.iter().zip(columns).zip(fields.iter()).zip(writing);
        let fields = fields.map(|(((name, column), field), writing)| {
            let mut prefix = vec![b'"'];
            push_escaped(&mut prefix, name.as_bytes());
            prefix.extend_from_slice(b"\":");
            (prefix, super::cells(column, field, writing), writing.nulls)
        });
        Object { fields: fields.collect() }
    }

    /// Appends an object with the fields of `row`, followed by `more`: members that each end with a
    /// comma.
    #[inline]
    pub(in crate::columns) fn push(&self, row: usize, more: &[u8], out: &mut Vec<u8>) {
        out.push(b'{');
        for (prefix, values, nulls) in &self.fields {
            let before = out.len();
            out.extend_from_slice(prefix);
            if values.push(row, out) {
                out.push(b',');
            } else if *nulls {
                out.extend_from_slice(b"null,");
            } else {
                out.truncate(before);
            }
        }
        out.extend_from_slice(more);
        close(out, b'{', b'}');
    }
}

/// Ends an object or array whose members are each followed by a comma.
fn close(out: &mut Vec<u8>, opening: u8, closing: u8) {
    match out.last_mut() {
        Some(last) if *last != opening => *last = closing,
        _ => out.push(closing),
    }
}

struct Structs<'a> {
    nulls: Option<&'a NullBuffer>,
    object: Object<'a>,
}

impl Cells for Structs<'_> {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> bool {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return false;
        }
        self.object.push(row, b"", out);
        true
    }
}

struct Lists<'a, F> {
    nulls: Option<&'a NullBuffer>,
    range: F,
    values: Box<dyn Cells + 'a>,
}

impl<F: Fn(usize) -> Range<usize>> Cells for Lists<'_, F> {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> bool {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return false;
        }
        out.push(b'[');
        for item in (self.range)(row) {
            // A null element is written, so the positions of the others stay.
            if !self.values.push(item, out) {
                out.extend_from_slice(b"null");
            }
            out.push(b',');
        }
        close(out, b'[', b']');
        true
    }
}

fn lists<'a>(
    nulls: Option<&'a NullBuffer>,
    range: impl Fn(usize) -> Range<usize> + 'a,
    values: &'a ArrayRef,
    item: &Field,
    writing: &'a Writing,
) -> Box<dyn Cells + 'a> {
    Box::new(Lists { nulls, range, values: super::cells(values, item, writing) })
}

fn list<'a, O: OffsetSizeTrait>(array: &'a dyn Array, item: &Field, writing: &'a Writing) -> Box<dyn Cells + 'a> {
    let list: &GenericListArray<O> = downcast(array);
    let offsets = list.value_offsets();
    let range = move |row: usize| offsets[row].as_usize()..offsets[row + 1].as_usize();
    lists(list.nulls(), range, list.values(), item, writing)
}

fn list_view<'a, O: OffsetSizeTrait>(array: &'a dyn Array, item: &Field, writing: &'a Writing) -> Box<dyn Cells + 'a> {
    let list: &GenericListViewArray<O> = downcast(array);
    let range = move |row| {
        let from = list.value_offset(row).as_usize();
        from..from + list.value_size(row).as_usize()
    };
    lists(list.nulls(), range, list.values(), item, writing)
}

struct Maps<'a> {
    map: &'a MapArray,
    keys: Box<dyn Cells + 'a>,
    values: Box<dyn Cells + 'a>,
}

impl Cells for Maps<'_> {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> bool {
        if self.map.is_null(row) {
            return false;
        }
        let offsets = self.map.value_offsets();
        out.push(b'{');
        for entry in offsets[row] as usize..offsets[row + 1] as usize {
            let before = out.len();
            let key = self.keys.push(entry, out);
            // The name of a field is a string.
            if out.get(before).is_some_and(|first| *first != b'"') {
                let text = out.split_off(before);
                out.push(b'"');
                push_escaped(out, &text);
                out.push(b'"');
            }
            out.push(b':');
            if key && self.values.push(entry, out) {
                out.push(b',');
            } else {
                out.truncate(before);
            }
        }
        close(out, b'{', b'}');
        true
    }
}

/// Values at another position than their row.
struct Elsewhere<'a, F> {
    nulls: Option<&'a NullBuffer>,
    place: F,
    values: Box<dyn Cells + 'a>,
}

impl<F: Fn(usize) -> Option<usize>> Cells for Elsewhere<'_, F> {
    #[inline]
    fn push(&self, row: usize, out: &mut Vec<u8>) -> bool {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return false;
        }
        (self.place)(row).is_some_and(|place| self.values.push(place, out))
    }
}

fn runs<'a, T: RunEndIndexType>(array: &'a dyn Array, values: &Field, writing: &'a Writing) -> Box<dyn Cells + 'a> {
    let runs: &RunArray<T> = downcast(array);
    let place = move |row| Some(runs.get_physical_index(row));
    Box::new(Elsewhere { nulls: None, place, values: super::cells(runs.values(), values, writing) })
}

struct Unions<'a> {
    union: &'a UnionArray,
    children: Vec<(i8, Box<dyn Cells + 'a>)>,
}

impl Cells for Unions<'_> {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> bool {
        let id = self.union.type_id(row);
        let child = self.children.iter().find(|(child, _)| *child == id);
        child.is_some_and(|(_, values)| values.push(self.union.value_offset(row), out))
    }
}
