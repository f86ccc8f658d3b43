//! Numbers with fractions in columns whose fields the target maps for whole numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, OffsetSizeTrait, RecordBatch};
use arrow_buffer::i256;
use arrow_schema::{DataType, Schema};
use inrush_core::{FieldType, FieldTypes};

/// A column of numbers that may have fractions, or a member of objects in a column.
#[derive(Clone, Debug)]
pub(super) struct WholeTarget {
    path: String,
    column: usize,
    /// The positions of the members below the column.
    members: Vec<usize>,
    /// Whether a fraction was found. The rest of the file is not searched then.
    is_found: Arc<AtomicBool>,
}

/// The columns of `schema` that `fields` has as whole numbers, with these names.
pub(super) fn targets(fields: &FieldTypes, names: &[String], schema: &Schema) -> Vec<WholeTarget> {
    let mut found = Vec::new();
    if fields.all(FieldType::Whole).next().is_some() {
        for (column, (name, field)) in names.iter().zip(schema.fields()).enumerate() {
            add(field.data_type(), (name, column, &mut Vec::new()), fields, &mut found);
        }
    }
    found
}

fn add(
    data_type: &DataType,
    (path, column, members): (&str, usize, &mut Vec<usize>),
    fields: &FieldTypes,
    found: &mut Vec<WholeTarget>,
) {
    match data_type {
        DataType::Struct(below) => {
            for (at, field) in below.iter().enumerate() {
                members.push(at);
                let path = format!("{path}.{}", field.name());
                add(field.data_type(), (&path, column, &mut *members), fields, found);
                members.pop();
            }
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            add(item.data_type(), (path, column, members), fields, found);
        }
        _ if may_have_fractions(data_type) && fields.of(path) == Some(FieldType::Whole) => {
            let (path, members) = (path.to_owned(), members.clone());
            found.push(WholeTarget { path, column, members, is_found: Arc::default() });
        }
        _ => {}
    }
}

fn may_have_fractions(data_type: &DataType) -> bool {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale > 0,
        other => other.is_floating(),
    }
}

impl WholeTarget {
    /// The path of the field, if a number of the batch is the first with a fraction.
    pub(super) fn first_in(&self, batch: &RecordBatch) -> Option<&str> {
        let is_news = !self.is_found.load(Ordering::Relaxed)
            && has_fraction(batch.column(self.column), &self.members)
            && !self.is_found.swap(true, Ordering::Relaxed);
        is_news.then_some(&self.path)
    }
}

fn has_fraction(array: &dyn Array, members: &[usize]) -> bool {
    match array.data_type() {
        DataType::Struct(_) => members.split_first().is_some_and(|(at, rest)| {
            let member = array.as_struct().column(*at);
            any_run(array, |from, end| has_fraction(&*member.slice(from, end - from), rest))
        }),
        DataType::List(_) => lists_have_fraction::<i32>(array, members),
        DataType::LargeList(_) => lists_have_fraction::<i64>(array, members),
        DataType::FixedSizeList(_, len) => {
            let (values, len) = (array.as_fixed_size_list().values(), len.unsigned_abs() as usize);
            any_run(array, |from, end| has_fraction(&*values.slice(from * len, (end - from) * len), members))
        }
        DataType::Float16 => any::<Float16Type>(array, |number| is_fraction(f64::from(number))),
        DataType::Float32 => any::<Float32Type>(array, |number| is_fraction(f64::from(number))),
        DataType::Float64 => any::<Float64Type>(array, is_fraction),
        DataType::Decimal32(_, scale) => {
            let one = 10_i32.checked_pow(scale.unsigned_abs().into());
            any::<Decimal32Type>(array, |number| one.is_some_and(|one| number % one != 0))
        }
        DataType::Decimal64(_, scale) => {
            let one = 10_i64.checked_pow(scale.unsigned_abs().into());
            any::<Decimal64Type>(array, |number| one.is_some_and(|one| number % one != 0))
        }
        DataType::Decimal128(_, scale) => {
            let one = 10_i128.checked_pow(scale.unsigned_abs().into());
            any::<Decimal128Type>(array, |number| one.is_some_and(|one| number % one != 0))
        }
        DataType::Decimal256(_, scale) => {
            let one = i256::from_i128(10).checked_pow(scale.unsigned_abs().into());
            any::<Decimal256Type>(array, |number| {
                one.and_then(|one| number.checked_rem(one)).is_some_and(|rest| rest != i256::ZERO)
            })
        }
        _ => false,
    }
}

fn lists_have_fraction<O: OffsetSizeTrait>(array: &dyn Array, members: &[usize]) -> bool {
    let list = array.as_list::<O>();
    let offset = |at: usize| list.value_offsets()[at].as_usize();
    any_run(array, |from, end| {
        let (first, last) = (offset(from), offset(end));
        has_fraction(&*list.values().slice(first, last - first), members)
    })
}

/// Whether a run of rows that are not null is wanted. There may be anything below a null.
fn any_run(array: &dyn Array, is_wanted: impl Fn(usize, usize) -> bool) -> bool {
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => nulls.valid_slices().any(|(from, end)| is_wanted(from, end)),
        None => is_wanted(0, array.len()),
    }
}

fn any<T: ArrowPrimitiveType>(array: &dyn Array, is_wanted: impl Fn(T::Native) -> bool) -> bool {
    array.as_primitive::<T>().iter().flatten().any(is_wanted)
}

fn is_fraction(number: f64) -> bool {
    number.is_finite() && number.fract() != 0.0
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Float64Builder, ListBuilder};
    use arrow_array::{
        ArrayRef, Decimal32Array, Decimal64Array, Decimal128Array, Decimal256Array, FixedSizeListArray, Float16Array,
        Float32Array, Float64Array, Int64Array, ListArray, StructArray,
    };
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    use arrow_schema::{Field, Fields};
    use half::f16;
    use serde_json::json;

    use super::*;

    /// The paths of the columns in which fractions are found, batch after batch.
    fn found(batches: &[RecordBatch]) -> Vec<Vec<String>> {
        let long = json!({"type": "long"});
        let fields = FieldTypes::of_mapping(&json!({"properties": {
            "a": long, "o": {"properties": {"p": long}}, "d": {"type": "double"},
        }}));
        let schema = batches[0].schema();
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let targets = targets(&fields, &names, &schema);
        let of = |batch| targets.iter().filter_map(|target| target.first_in(batch)).map(str::to_owned).collect();
        batches.iter().map(of).collect()
    }

    fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
        let columns = columns.iter().map(|(name, array)| (*name, Arc::clone(array), true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    #[test]
    fn a_fraction_is_found_in_each_type_of_numbers_and_once() {
        let whole: Vec<ArrayRef> = vec![
            Arc::new(Float64Array::from(vec![Some(1.0), None, Some(f64::NAN), Some(-0.0), Some(1e300)])),
            Arc::new(Decimal128Array::from(vec![1250, 100]).with_precision_and_scale(9, 1).unwrap().slice(1, 1)),
            Arc::new(Decimal128Array::from(vec![125]).with_precision_and_scale(9, 0).unwrap()),
            Arc::new(Int64Array::from(vec![7])),
        ];
        for array in whole {
            assert_eq!(found(&[batch(&[("a", Arc::clone(&array))])]), [[""; 0]], "{:?}", array.data_type());
        }
        let (precision, scale) = (9, 2);
        let cut: Vec<ArrayRef> = vec![
            Arc::new(Float64Array::from(vec![Some(1.0), None, Some(12.5)])),
            Arc::new(Float32Array::from(vec![0.5])),
            Arc::new(Float16Array::from(vec![f16::from_f32(1.5)])),
            Arc::new(Decimal32Array::from(vec![100, 101]).with_precision_and_scale(precision, scale).unwrap()),
            Arc::new(Decimal64Array::from(vec![100, 101]).with_precision_and_scale(precision, scale).unwrap()),
            Arc::new(Decimal128Array::from(vec![100, 101]).with_precision_and_scale(precision, scale).unwrap()),
            Arc::new(Decimal256Array::from(vec![i256::from_i128(101)]).with_precision_and_scale(76, 2).unwrap()),
        ];
        for array in cut {
            let [one, other] = ["a", "d"].map(|name| batch(&[(name, Arc::clone(&array))]));
            assert_eq!(found(&[one.clone(), one]), [vec!["a"], vec![]], "{:?}", array.data_type());
            assert_eq!(found(&[other]), [[""; 0]], "the field takes fractions");
        }
    }

    #[test]
    fn fractions_in_lists_and_objects_are_found_by_the_path_of_their_field() {
        let mut lists = ListBuilder::new(Float64Builder::new());
        lists.append_value([Some(0.5)]);
        lists.append_value([Some(1.0), None]);
        let lists: ArrayRef = Arc::new(lists.finish());
        assert_eq!(found(&[batch(&[("a", lists.slice(1, 1))]), batch(&[("a", lists)])]), [vec![], vec!["a"]]);
        let member = |name: &str| {
            let numbers: ArrayRef = Arc::new(Float64Array::from(vec![2.5]));
            let object = StructArray::from(vec![(Arc::new(Field::new(name, DataType::Float64, true)), numbers)]);
            batch(&[("o", Arc::new(object) as ArrayRef)])
        };
        assert_eq!((found(&[member("p")]), found(&[member("q")])), (vec![vec!["o.p".to_owned()]], vec![vec![]]));
    }

    #[test]
    fn what_is_below_a_null_does_not_count() {
        let numbers = || -> ArrayRef { Arc::new(Float64Array::from(vec![2.5, 1.0, 0.5])) };
        let nulls = |valid: [bool; 3]| Some(NullBuffer::from(valid.to_vec()));
        let object = |valid: [bool; 3]| -> ArrayRef {
            let fields = Fields::from(vec![Field::new("p", DataType::Float64, true)]);
            Arc::new(StructArray::new(fields, vec![numbers()], nulls(valid)))
        };
        let item = || Arc::new(Field::new("item", DataType::Float64, true));
        let list = |valid: [bool; 3]| -> ArrayRef {
            let offsets = OffsetBuffer::<i32>::from_lengths([1, 1, 1]);
            Arc::new(ListArray::new(item(), offsets, numbers(), nulls(valid)))
        };
        let fixed =
            |valid: [bool; 3]| -> ArrayRef { Arc::new(FixedSizeListArray::new(item(), 1, numbers(), nulls(valid))) };
        let has_found = |name: &str, array: ArrayRef| !found(&[batch(&[(name, array)])])[0].is_empty();
        for (valid, expected) in [([false, true, false], false), ([false, true, true], true)] {
            let all = [("o", object(valid)), ("a", list(valid)), ("a", fixed(valid))];
            assert_eq!(all.map(|(name, array)| has_found(name, array)), [expected; 3]);
        }
    }
}
