//! The values of record batches as columns, beside the documents that [`super::value`] writes.
//!
//! | Arrow | values |
//! |---|---|
//! | integers but those of 64 bits without a sign | whole numbers |
//! | floats of 64 bits | the same |
//! | other numbers | their digits |
//! | booleans | the same |
//! | timestamps, dates | moments; numbers, where timestamps are written as such |
//! | text, dictionaries of it | texts |
//! | everything else | its JSON |

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type,
};
use arrow_array::{Array, OffsetSizeTrait};
use arrow_schema::{DataType, Field, TimeUnit};
use inrush_core::columns::{self, Cells, Column, Texts};

use super::value::{self, Writing};
use crate::format::Timestamps;
use crate::time::{Zone, epoch_millis};

/// The furthest zone from UTC that servers take, in seconds.
const ZONE_MAX: i64 = 18 * 3600;
/// Milliseconds of a day.
const DAY_MILLIS: i64 = 86_400_000;

/// The values of an array. `text_only` gets the rows whose value the document has in another form
/// than the others.
pub(super) fn column(
    array: &dyn Array,
    field: &Field,
    timestamps: Timestamps,
    text_only: &mut Vec<u32>,
) -> Option<Column> {
    let cells = match field.data_type() {
        DataType::Int8 => whole::<Int8Type>(array),
        DataType::Int16 => whole::<Int16Type>(array),
        DataType::Int32 => whole::<Int32Type>(array),
        DataType::Int64 => Cells::Whole(array.as_primitive::<Int64Type>().values().to_vec()),
        DataType::UInt8 => whole::<UInt8Type>(array),
        DataType::UInt16 => whole::<UInt16Type>(array),
        DataType::UInt32 => whole::<UInt32Type>(array),
        DataType::Float64 => return Some(doubles(array)),
        DataType::Boolean => Cells::Bool(array.as_boolean().values().iter().collect()),
        DataType::Date32 => Cells::Timestamps(widened::<Date32Type>(array), columns::TimeUnit::Day),
        DataType::Date64 => {
            let days = array.as_primitive::<Date64Type>().values().iter().map(|millis| millis.div_euclid(DAY_MILLIS));
            Cells::Timestamps(days.collect(), columns::TimeUnit::Day)
        }
        DataType::Timestamp(unit, zone) if takes_zone(zone.as_deref()) => {
            let (values, unit) = (instants(array, *unit), *unit);
            match timestamps {
                Timestamps::EpochMillis => {
                    let millis = values.iter().map(|value| epoch_millis(*value, unit.into()));
                    let rows = (0..).zip(millis.clone());
                    text_only.extend(
                        rows.filter(|(row, millis)| millis.is_none() && array.is_valid(*row as usize))
                            .map(|(row, _)| row),
                    );
                    Cells::Whole(millis.map(Option::unwrap_or_default).collect())
                }
                Timestamps::Iso => Cells::Timestamps(values, self::unit(unit)),
            }
        }
        DataType::Utf8 => Cells::Text(offset_texts::<i32>(array)),
        DataType::LargeUtf8 => Cells::Text(offset_texts::<i64>(array)),
        DataType::Utf8View => {
            let views = array.as_string_view();
            let mut texts = Texts::with_capacity(views.len(), views.total_buffer_bytes_used());
            (0..views.len()).for_each(|row| texts.push(if views.is_valid(row) { views.value(row) } else { "" }));
            Cells::Text(texts)
        }
        DataType::Dictionary(_, values) if **values == DataType::Utf8 => return Some(dictionary(array)),
        _ => return json(array, field, timestamps),
    };
    Some(Column { cells, present: present(array, |_| true) })
}

/// Whether each row has a value that is not null and `is_value`; `None` if all have.
fn present(array: &dyn Array, is_value: impl Fn(usize) -> bool) -> Option<Vec<bool>> {
    let present: Vec<bool> = match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => (0..array.len()).map(is_value).collect(),
        Some(nulls) => nulls.iter().enumerate().map(|(row, valid)| valid && is_value(row)).collect(),
    };
    present.contains(&false).then_some(present)
}

fn widened<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array) -> Vec<i64> {
    array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect()
}

fn whole<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array) -> Cells {
    Cells::Whole(widened::<T>(array))
}

fn doubles(array: &dyn Array) -> Column {
    let values = array.as_primitive::<Float64Type>().values();
    Column { present: present(array, |row| values[row].is_finite()), cells: Cells::Double(values.to_vec()) }
}

fn instants(array: &dyn Array, unit: TimeUnit) -> Vec<i64> {
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values().to_vec(),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values().to_vec(),
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values().to_vec(),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values().to_vec(),
    }
}

fn unit(unit: TimeUnit) -> columns::TimeUnit {
    match unit {
        TimeUnit::Second => columns::TimeUnit::Second,
        TimeUnit::Millisecond => columns::TimeUnit::Millisecond,
        TimeUnit::Microsecond => columns::TimeUnit::Microsecond,
        TimeUnit::Nanosecond => columns::TimeUnit::Nanosecond,
    }
}

fn takes_zone(zone: Option<&str>) -> bool {
    match Zone::new(zone) {
        Zone::None => true,
        Zone::Offset(seconds) => seconds.abs() <= ZONE_MAX,
    }
}

fn offset_texts<O: OffsetSizeTrait>(array: &dyn Array) -> Texts {
    let strings = array.as_string::<O>();
    let offsets = strings.value_offsets();
    let bytes = offsets[strings.len()].as_usize() - offsets[0].as_usize();
    let mut texts = Texts::with_capacity(strings.len(), bytes);
    (0..strings.len()).for_each(|row| texts.push(strings.value(row)));
    texts
}

fn dictionary(array: &dyn Array) -> Column {
    let dictionary = array.as_any_dictionary();
    let values = dictionary.values().as_string::<i32>();
    // Without values there are no keys but nulls.
    let keys = if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
    let place = |row: usize| keys.get(row).copied().filter(|key| array.is_valid(row) && values.is_valid(*key));
    let mut texts = Texts::with_capacity(array.len(), 0);
    (0..array.len()).for_each(|row| texts.push(place(row).map_or("", |key| values.value(key))));
    Column { present: present(array, |row| place(row).is_some()), cells: Cells::Text(texts) }
}

/// `None` if what is written is not UTF-8, which JSON is.
fn json(array: &dyn Array, field: &Field, timestamps: Timestamps) -> Option<Column> {
    let writing = Writing { timestamps, ..Writing::default() };
    let cells = value::cells(array, field, &writing);
    let (mut out, mut ends) = (Vec::new(), Vec::with_capacity(array.len()));
    let mut present = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        present.push(cells.push(row, &mut out));
        ends.push(out.len() as u32);
    }
    let texts = Texts::from_utf8(out, ends)?;
    let cells = if field.data_type().is_numeric() { Cells::Number(texts) } else { Cells::Json(texts) };
    Some(Column { cells, present: present.contains(&false).then_some(present) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{Int32Builder, ListBuilder};
    use arrow_array::{
        ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray, Float16Array,
        Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, NullArray,
        StringArray, StringViewArray, StructArray, Time32SecondArray, TimestampMicrosecondArray,
        TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array,
        UInt32Array, UInt64Array,
    };
    use half::f16;

    use super::*;
    use crate::columns::json::json_type;

    /// What a row without a value has, and what a row has whose value is in its text only.
    const NONE: &str = "none";
    const IN_TEXT: &str = "in the text";

    /// The kind of the values, and those of all rows.
    fn values(column: &Column) -> (String, Vec<String>) {
        fn all<T: ToString>(kind: &str, values: &[T]) -> (String, Vec<String>) {
            (kind.to_owned(), values.iter().map(T::to_string).collect())
        }
        let texts = |kind, texts: &Texts| all(kind, &(0..texts.len()).map(|row| texts.get(row)).collect::<Vec<_>>());
        let (kind, mut found) = match &column.cells {
            Cells::Whole(values) => all("whole", values),
            Cells::Double(values) => all("double", values),
            Cells::Bool(values) => all("bool", values),
            Cells::Timestamps(values, unit) => all(&format!("{unit:?}"), values),
            Cells::Text(values) => texts("text", values),
            Cells::Number(values) => texts("number", values),
            Cells::Json(values) => texts("json", values),
        };
        assert!(column.present.as_ref().is_none_or(|present| present.len() == found.len() && present.contains(&false)));
        let absent = found.iter_mut().enumerate().filter(|(row, _)| !column.has(*row));
        absent.for_each(|(_, value)| NONE.clone_into(value));
        (kind, found)
    }

    /// Checks the values of an array and of all slices of it.
    fn check_as(timestamps: Timestamps, array: &dyn Array, kind: &str, expected: &[&str]) {
        let field = Field::new("v", array.data_type().clone(), true);
        for (first, end) in (0..=array.len()).flat_map(|first| (first..=array.len()).map(move |end| (first, end))) {
            let mut text_only = Vec::new();
            let column = column(&array.slice(first, end - first), &field, timestamps, &mut text_only).unwrap();
            let (found, mut values) = values(&column);
            for row in text_only.iter().map(|row| *row as usize) {
                assert!(column.has(row), "the text of a null has nothing else");
                IN_TEXT.clone_into(&mut values[row]);
            }
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            assert_eq!((found.as_str(), &values[..]), (kind, &expected[first..end]), "{first}..{end}");
        }
    }

    fn check(array: impl Array, kind: &str, expected: &[&str]) {
        check_as(Timestamps::Iso, &array, kind, expected);
    }

    #[test]
    fn each_type_has_its_kind_of_values() {
        check(Int8Array::from(vec![Some(i8::MIN), None]), "whole", &["-128", NONE]);
        check(Int16Array::from(vec![Some(i16::MIN), None]), "whole", &["-32768", NONE]);
        check(Int32Array::from(vec![Some(i32::MIN), None]), "whole", &["-2147483648", NONE]);
        check(Int64Array::from(vec![Some(i64::MIN), None]), "whole", &["-9223372036854775808", NONE]);
        check(UInt8Array::from(vec![Some(u8::MAX), None]), "whole", &["255", NONE]);
        check(UInt16Array::from(vec![Some(u16::MAX), None]), "whole", &["65535", NONE]);
        check(UInt32Array::from(vec![Some(u32::MAX), None]), "whole", &["4294967295", NONE]);
        check(UInt64Array::from(vec![Some(u64::MAX), None]), "number", &["18446744073709551615", NONE]);
        let decimals = Decimal128Array::from(vec![Some(-105), None]).with_precision_and_scale(38, 2).unwrap();
        check(decimals, "number", &["-1.05", NONE]);
        check(BooleanArray::from(vec![Some(true), None, Some(false)]), "bool", &["true", NONE, "false"]);
        check(Date32Array::from(vec![Some(1), None, Some(-1)]), "Day", &["1", NONE, "-1"]);
        check(Date64Array::from(vec![Some(86_399_999), None, Some(-1)]), "Day", &["0", NONE, "-1"]);
        check(Time32SecondArray::from(vec![Some(1), None]), "json", &["\"00:00:01\"", NONE]);
        check(BinaryArray::from(vec![Some(&b"a"[..]), None]), "json", &["\"YQ==\"", NONE]);
        check(NullArray::new(2), "json", &[NONE, NONE]);
        let mut lists = ListBuilder::new(Int32Builder::new());
        lists.append_value([Some(1), None]);
        lists.append_null();
        lists.append_value([]);
        check(lists.finish(), "json", &["[1,null]", NONE, "[]"]);
        let DataType::Struct(fields) = json_type() else { panic!("it is a struct") };
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("{\"a\": 1}"), None]));
        check(StructArray::new(fields, vec![texts], None), "json", &["{\"a\": 1}", NONE]);
    }

    #[test]
    fn floats_that_are_no_numbers_are_null() {
        let doubles = vec![Some(0.1), Some(f64::NAN), None, Some(-0.0), Some(f64::NEG_INFINITY)];
        check(Float64Array::from(doubles.clone()), "double", &["0.1", NONE, NONE, "-0", NONE]);
        let floats: Float32Array = doubles.iter().map(|value| value.map(|value| value as f32)).collect();
        check(floats, "number", &["0.1", NONE, NONE, "-0.0", NONE]);
        check(Float16Array::from(vec![Some(f16::from_f32(1.5)), Some(f16::NAN), None]), "number", &["1.5", NONE, NONE]);
    }

    #[test]
    fn text_is_without_quotes_and_escapes() {
        let texts = vec![Some("a\"b\n"), None, Some(""), Some("東京, longer than a view has room for")];
        let expected = &["a\"b\n", NONE, "", "東京, longer than a view has room for"];
        check(StringArray::from(texts.clone()), "text", expected);
        check(LargeStringArray::from(texts.clone()), "text", expected);
        check(StringViewArray::from(texts), "text", expected);
    }

    #[test]
    fn dictionaries_of_text_are_text_and_may_have_nulls_in_keys_and_values() {
        let dictionary = |keys: Vec<Option<i8>>, values: ArrayRef| DictionaryArray::new(Int8Array::from(keys), values);
        let keys = || vec![Some(0), None, Some(1), Some(0)];
        let texts = vec![Some("x\""), None];
        let of_text = dictionary(keys(), Arc::new(StringArray::from(texts.clone())));
        check(of_text, "text", &["x\"", NONE, NONE, "x\""]);
        let of_nothing = dictionary(vec![None, None], Arc::new(StringArray::from(Vec::<&str>::new())));
        check(of_nothing, "text", &[NONE, NONE]);
        let of_large_text = dictionary(keys(), Arc::new(LargeStringArray::from(texts)));
        check(of_large_text, "json", &["\"x\\\"\"", NONE, NONE, "\"x\\\"\""]);
    }

    #[test]
    fn timestamps_are_moments_in_zones_that_servers_take() {
        let (values, expected) = (vec![Some(-1), None, Some(i64::MAX)], &["-1", NONE, "9223372036854775807"]);
        for zone in [None, Some("UTC"), Some("Europe/Paris"), Some("+18:00"), Some("-18:00")] {
            check(TimestampSecondArray::from(values.clone()).with_timezone_opt(zone), "Second", expected);
            check(TimestampMillisecondArray::from(values.clone()).with_timezone_opt(zone), "Millisecond", expected);
            check(TimestampMicrosecondArray::from(values.clone()).with_timezone_opt(zone), "Microsecond", expected);
            check(TimestampNanosecondArray::from(values.clone()).with_timezone_opt(zone), "Nanosecond", expected);
        }
        for (zone, expected) in [("+18:01", "1970-01-01T18:01:00+18:01"), ("-23:59", "1969-12-31T00:01:00-23:59")] {
            let seconds = TimestampSecondArray::from(vec![Some(0), None]).with_timezone(zone);
            check_as(Timestamps::EpochMillis, &seconds, "json", &["0", NONE]);
            check(seconds, "json", &[&format!("\"{expected}\""), NONE]);
        }
    }

    #[test]
    fn timestamps_as_numbers_are_whole_milliseconds_and_others_are_left_to_the_text() {
        let check = |array: &dyn Array, expected: &[&str]| check_as(Timestamps::EpochMillis, array, "whole", expected);
        let seconds = TimestampSecondArray::from(vec![Some(-1), None, Some(i64::MAX)]).with_timezone("+02:00");
        check(&seconds, &["-1000", NONE, IN_TEXT]);
        check(&TimestampMillisecondArray::from(vec![Some(i64::MIN), None]), &["-9223372036854775808", NONE]);
        // What is below the null is no whole millisecond either.
        let (micros, valid) = (vec![1_500_000, 1, 1, -1_000, -999], vec![true, true, false, true, true]);
        let micros = TimestampMicrosecondArray::new(micros.into(), Some(valid.into()));
        check(&micros, &["1500", IN_TEXT, NONE, "-1", IN_TEXT]);
        check(&TimestampNanosecondArray::from(vec![1_000_000, 1_000_001]), &["1", IN_TEXT]);
        check_as(Timestamps::EpochMillis, &Date32Array::from(vec![1]), "Day", &["1"]);
    }
}
