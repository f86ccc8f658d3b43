//! Whole numbers in columns of floats, as texts for ids, routing values and names of indices.
//!
//! A tool that has no nulls for whole numbers, such as pandas, makes floats of a column with one
//! value missing. `1.0` is then the id `1`, as without the missing value. Fractions, a negative
//! zero and numbers beyond the exact ones keep the text of the document.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Fields, Schema};
use inrush_core::{DocMeta, FieldPath};

/// Up to these numbers each whole number is a float of its own.
const EXACT_16: f64 = 2048.0;
const EXACT_32: f64 = 16_777_216.0;
const EXACT_64: f64 = 9_007_199_254_740_992.0;

/// A field of floats.
#[derive(Clone, Debug)]
pub(super) struct WholeField {
    name: Arc<str>,
    /// The position of the column, and those of the members below it.
    place: Vec<usize>,
}

/// The fields of floats among `texts`, which are paths. `names` are those of the columns.
pub(super) fn fields(texts: &[String], names: &[String], schema: &Schema) -> Vec<WholeField> {
    let place = |text: &String| {
        let column = |name: &str| names.iter().position(|known| known == name);
        let place = match column(text) {
            Some(at) => vec![at],
            None => {
                let path: FieldPath = text.parse().ok()?;
                let (first, rest) = path.names().split_first()?;
                let at = column(first)?;
                let mut place = vec![at];
                let mut data_type = schema.field(at).data_type();
                for name in rest {
                    let DataType::Struct(members) = data_type else { return None };
                    let (at, member) = find(members, name)?;
                    place.push(at);
                    data_type = member;
                }
                place
            }
        };
        is_float(schema, &place).then(|| WholeField { name: Arc::from(text.as_str()), place })
    };
    texts.iter().filter_map(place).collect()
}

fn find<'a>(members: &'a Fields, name: &str) -> Option<(usize, &'a DataType)> {
    members.iter().enumerate().find(|(_, member)| member.name() == name).map(|(at, member)| (at, member.data_type()))
}

fn is_float(schema: &Schema, place: &[usize]) -> bool {
    let data_type = place[1..].iter().fold(schema.field(place[0]).data_type(), |data_type, at| match data_type {
        DataType::Struct(members) => members[*at].data_type(),
        other => other,
    });
    data_type.is_floating()
}

/// The texts of each row.
pub(super) fn metas(fields: &[WholeField], batch: &RecordBatch) -> Vec<DocMeta> {
    let mut texts = vec![Vec::new(); batch.num_rows()];
    for field in fields {
        let mut arrays: Vec<&dyn Array> = vec![batch.column(field.place[0])];
        for at in &field.place[1..] {
            let Some(structs) = arrays.last().and_then(|array| array.as_struct_opt()) else { break };
            arrays.push(structs.column(*at));
        }
        let Some(floats) = arrays.last() else { continue };
        for (row, texts) in texts.iter_mut().enumerate() {
            if arrays.iter().all(|array| array.is_valid(row))
                && let Some(whole) = whole(*floats, row)
            {
                texts.push((Arc::clone(&field.name), whole.to_string()));
            }
        }
    }
    texts.into_iter().map(|texts| DocMeta::default().with_texts(texts)).collect()
}

fn whole(array: &dyn Array, row: usize) -> Option<i64> {
    let (value, exact) = match array.data_type() {
        DataType::Float16 => (f64::from(array.as_primitive::<Float16Type>().value(row)), EXACT_16),
        DataType::Float32 => (f64::from(array.as_primitive::<Float32Type>().value(row)), EXACT_32),
        DataType::Float64 => (array.as_primitive::<Float64Type>().value(row), EXACT_64),
        _ => return None,
    };
    let is_whole = value.fract() == 0.0 && value.abs() <= exact && (value != 0.0 || value.is_sign_positive());
    is_whole.then_some(value as i64)
}
