//! Lists of floats in a field of the index that holds a vector: checked, and written as float32.
//!
//! They are packed where the load says so. If not, each number is the shortest text of its float32.

use std::cell::RefCell;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use inrush_core::vectors::{BadVector, VectorField, push_packed};

use super::{Bad, Cells, Writing};

/// How a column of vectors is written.
#[derive(Clone, Copy)]
pub(in crate::columns) struct VectorWriting {
    pub(in crate::columns) field: VectorField,
    pub(in crate::columns) packs: bool,
}

/// Whether values of this type can be vectors of floats.
pub(in crate::columns) fn are_vectors(data_type: &DataType) -> bool {
    let (DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _)) = data_type else {
        return false;
    };
    matches!(item.data_type(), DataType::Float16 | DataType::Float32 | DataType::Float64)
}

/// Prepares an array of such a type.
pub(in crate::columns) fn cells<'a>(
    array: &'a dyn Array,
    how: VectorWriting,
    writing: &'a Writing,
) -> Box<dyn Cells + 'a> {
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let offsets = list.value_offsets();
            let range = move |row: usize| offsets[row] as usize..offsets[row + 1] as usize;
            vectors(list.nulls(), range, list.values(), how, writing)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let offsets = list.value_offsets();
            let range = move |row: usize| offsets[row] as usize..offsets[row + 1] as usize;
            vectors(list.nulls(), range, list.values(), how, writing)
        }
        _ => {
            let list = array.as_fixed_size_list();
            let size = list.value_length() as usize;
            vectors(list.nulls(), move |row| row * size..(row + 1) * size, list.values(), how, writing)
        }
    }
}

fn vectors<'a>(
    nulls: Option<&'a NullBuffer>,
    range: impl Fn(usize) -> Range<usize> + 'a,
    values: &'a ArrayRef,
    how: VectorWriting,
    writing: &'a Writing,
) -> Box<dyn Cells + 'a> {
    let floats = match values.data_type() {
        DataType::Float16 => Floats::Half(values.as_primitive::<Float16Type>().values()),
        DataType::Float32 => Floats::Single(values.as_primitive::<Float32Type>().values()),
        _ => Floats::Double(values.as_primitive::<Float64Type>().values()),
    };
    let missing = values.nulls().filter(|nulls| nulls.null_count() > 0);
    Box::new(Vectors { nulls, range, floats, missing, how, writing, single: RefCell::default() })
}

enum Floats<'a> {
    Half(&'a [<Float16Type as ArrowPrimitiveType>::Native]),
    Single(&'a [f32]),
    Double(&'a [f64]),
}

struct Vectors<'a, R> {
    nulls: Option<&'a NullBuffer>,
    range: R,
    floats: Floats<'a>,
    /// Which of all floats are null, if some are.
    missing: Option<&'a NullBuffer>,
    how: VectorWriting,
    writing: &'a Writing,
    /// The float32 of a row that has other floats.
    single: RefCell<Vec<f32>>,
}

impl<R: Fn(usize) -> Range<usize>> Cells for Vectors<'_, R> {
    fn push(&self, row: usize, out: &mut Vec<u8>) -> bool {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return false;
        }
        let range = (self.range)(row);
        let mut single = self.single.borrow_mut();
        single.clear();
        let values = match self.floats {
            Floats::Single(values) => &values[range.clone()],
            Floats::Half(values) => {
                single.extend(values[range.clone()].iter().map(|value| value.to_f32()));
                &single[..]
            }
            Floats::Double(values) => {
                single.extend(values[range.clone()].iter().map(|value| *value as f32));
                &single[..]
            }
        };
        let is_missing = |at: usize| self.missing.is_some_and(|nulls| nulls.is_null(range.start + at));
        let first = self.missing.and_then(|_| (0..values.len()).find(|at| is_missing(*at)));
        let checked = match first {
            Some(at) => Err(BadVector::Missing(at)),
            None => self.how.field.check(values),
        };
        match checked {
            Ok(()) if self.how.packs => push_packed(values, out),
            Ok(()) => push_numbers(values, |_| false, out),
            Err(bad) => {
                self.writing.bad.replace(Some(Bad::Vector(bad)));
                push_numbers(values, is_missing, out);
            }
        }
        true
    }
}

/// Appends an array. What JSON cannot express is null.
fn push_numbers(values: &[f32], is_missing: impl Fn(usize) -> bool, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if value.is_finite() && !is_missing(at) {
            out.extend_from_slice(zmij::Buffer::new().format_finite(*value).as_bytes());
        } else {
            out.extend_from_slice(b"null");
        }
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::RecordBatch;
    use arrow_array::builder::{FixedSizeListBuilder, Float16Builder, Float32Builder, Float64Builder};
    use arrow_array::builder::{LargeListBuilder, ListBuilder};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use half::f16;
    use inrush_core::block::Origin;
    use inrush_core::vectors::Packing;
    use inrush_core::{Code, FieldTypes, RowForm};
    use serde_json::{Value, json};

    use super::super::super::rows::RowWriter;
    use super::*;
    use crate::buffer::BufferPool;
    use crate::warnings::Warnings;

    /// What becomes of each row: its document, and why it is refused.
    fn written(array: &ArrayRef, packs: bool) -> Vec<(Value, Option<String>)> {
        let batch = RecordBatch::try_from_iter([("v", Arc::clone(array))]).unwrap();
        let definition = json!({"type": "dense_vector", "dims": 8, "similarity": "cosine"});
        let packing = Packing::default();
        let fields = FieldTypes::of_mapping(&json!({"properties": {"v": definition}}));
        let form = RowForm { fields, ..RowForm::default() }.with_packing(packing.clone());
        let warnings = Warnings::default();
        let mut writer = RowWriter::new(batch.schema_ref(), &[], 1 << 20, "a", &warnings, BufferPool::new());
        writer.set_fields(&form, batch.schema_ref());
        if packs {
            packing.begin();
        }
        let block = writer.block(&batch, Origin::default(), 0);
        assert!(warnings.list().is_empty());
        let why = |row: u32| block.rejects.iter().find(|reject| reject.record == row);
        let of = |row: usize| {
            let reject = why(row as u32).inspect(|reject| assert_eq!(reject.kind, Code::BadVector));
            (serde_json::from_slice(block.record(row)).unwrap(), reject.map(|reject| reject.reason.clone()))
        };
        (0..block.records.len()).map(of).collect()
    }

    fn floats(value: &Value) -> Vec<u32> {
        match value {
            Value::String(text) => {
                let bytes = STANDARD.decode(text).unwrap();
                bytes.chunks(4).map(|four| u32::from_be_bytes(four.try_into().unwrap())).collect()
            }
            other => {
                let text = |value: &Value| value.to_string().parse::<f32>().unwrap().to_bits();
                other.as_array().unwrap().iter().map(text).collect()
            }
        }
    }

    const ROW: [f32; 8] = [-0.0, 1e-45, 1.175_494_2e-38, f32::MAX, 0.1, -1.0, 0.333_333_34, 16_777_216.0];

    /// The same rows as each type of column: one, a null, the one again.
    fn each_type(row: [f32; 8]) -> Vec<ArrayRef> {
        macro_rules! lists {
            ($values:expr, $value:expr) => {{
                let mut list = ListBuilder::new($values);
                let mut large = LargeListBuilder::new($values);
                let mut fixed = FixedSizeListBuilder::new($values, 8);
                for is_row in [true, false, true] {
                    for value in row {
                        if is_row {
                            list.values().append_value($value(value));
                            large.values().append_value($value(value));
                        }
                        fixed.values().append_value($value(value));
                    }
                    list.append(is_row);
                    large.append(is_row);
                    fixed.append(is_row);
                }
                [
                    Arc::new(list.finish()) as ArrayRef,
                    Arc::new(large.finish()) as ArrayRef,
                    Arc::new(fixed.finish()) as ArrayRef,
                ]
            }};
        }
        let mut all = lists!(Float32Builder::new(), |value| value).to_vec();
        all.extend(lists!(Float64Builder::new(), f64::from));
        if row.iter().all(|value| f16::from_f32(*value).to_f32().to_bits() == value.to_bits()) {
            all.extend(lists!(Float16Builder::new(), f16::from_f32));
        }
        all
    }

    #[test]
    fn floats_of_each_width_and_list_are_the_same_float32() {
        let half = [-0.0, 0.5, 65504.0, 6e-8, -1.0, 0.25, 3.0, 2048.0].map(|value: f32| f16::from_f32(value).to_f32());
        let mut types = 0;
        for row in [ROW, half] {
            let bits: Vec<u32> = row.iter().map(|value| value.to_bits()).collect();
            for array in each_type(row) {
                types += 1;
                for packs in [false, true] {
                    let found = written(&array, packs);
                    assert!(found.iter().all(|(_, bad)| bad.is_none()), "{found:?}");
                    assert_eq!(found[1].0, json!({}));
                    for (document, _) in [&found[0], &found[2]] {
                        assert_eq!(document["v"].is_string(), packs);
                        assert_eq!(floats(&document["v"]), bits, "{:?}", array.data_type());
                    }
                    // A slice of it gives the same.
                    assert_eq!(written(&array.slice(2, 1), packs)[0].0, found[0].0);
                }
            }
        }
        assert_eq!(types, 15);
    }

    #[test]
    fn text_is_the_shortest_of_float32() {
        let [array, ..] = &each_type([0.1; 8])[3..] else { panic!("there are lists of doubles") };
        let batch = written(array, false);
        assert_eq!(batch[0].0.to_string(), r#"{"v":[0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1]}"#);
    }

    #[test]
    fn bad_vectors_are_refused_with_their_row() {
        let mut list = ListBuilder::new(Float64Builder::new());
        let mut row = |values: &[Option<f64>]| list.append_value(values.iter().copied());
        let good = [1.0; 8].map(Some);
        row(&good);
        row(&good[..7]);
        row(&[]);
        row(&[Some(0.0); 8]);
        let with = |value: Option<f64>| {
            let mut values = good;
            values[5] = value;
            values
        };
        for value in [None, Some(f64::NAN), Some(f64::INFINITY), Some(1e39)] {
            row(&with(value));
        }
        row(&good);
        let array: ArrayRef = Arc::new(list.finish());
        for packs in [false, true] {
            let found = written(&array, packs);
            let reasons: Vec<&str> = found.iter().map(|(_, bad)| bad.as_deref().unwrap_or("")).collect();
            let expected = [
                "",
                "has 7 elements, and the mapping says 8",
                "has 0 elements",
                "similarity cosine refuses",
                "has null as element 5",
                "beyond float32 as element 5",
                "beyond float32 as element 5",
                "beyond float32 as element 5",
                "",
            ];
            for (reason, expected) in reasons.iter().zip(expected) {
                assert!(reason.contains(expected) && reason.is_empty() == expected.is_empty(), "{reasons:?}");
            }
            assert_eq!(found[4].0["v"][5], Value::Null);
        }
    }
}
