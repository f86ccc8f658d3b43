//! The JSON of each Arrow type.
//!
//! | Arrow | JSON |
//! |---|---|
//! | integers, 64 bits included | a number with all its digits |
//! | floats | the shortest number of the same value, `.0` if whole; NaN and infinity are null |
//! | decimals | a number with all its digits |
//! | timestamps | `2024-01-31T10:00:00.123Z`, without a zone if the type has none; or a number |
//! | dates, times, durations, intervals | `2024-01-31`, `10:00:00`, `PT1.5S`, `P1M2DT3S` |
//! | text, dictionaries of it | a string |
//! | binary | a string: its text or base64 ([`forms`]); a UUID as people write it |
//! | lists | an array, in which nulls are `null` |
//! | structs, maps | an object without its nulls |
//! | values marked by [`json`] | the JSON in their text |
//!
//! [`Timestamps`] selects text or numbers. A field that is null is left out, like an empty cell of
//! CSV.

pub(super) mod forms;
pub mod json;
pub(super) mod nested;
pub(super) mod vectors;

use std::cell::{Cell, RefCell};

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType,
    IntervalYearMonthType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, BooleanArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use inrush_core::vectors::BadVector;

use crate::format::Timestamps;
use crate::json_string::push_text;
use crate::numbers::push_decimal;
use crate::time::{self, Zone, epoch_millis, push_date, push_duration, push_interval, push_time, push_timestamp};
use vectors::VectorWriting;

/// The values of an array, ready to be written one by one.
pub(super) trait Cells {
    /// Appends the value of `row` as JSON. If it is null, appends nothing and returns false.
    fn push(&self, row: usize, out: &mut Vec<u8>) -> bool;
}

/// How the values of a column are written, and what was noticed meanwhile.
#[derive(Default)]
pub(super) struct Writing {
    pub(super) timestamps: Timestamps,
    /// Whether a member of an object that is missing is a `null`.
    pub(super) nulls: bool,
    /// The column is a vector of the index.
    pub(super) vector: Option<VectorWriting>,
    /// Number of floats that JSON cannot express.
    pub(super) not_finite: Cell<u64>,
    /// Why a value is not what it should be: the last error.
    pub(super) bad: RefCell<Option<Bad>>,
}

/// A value that is not what its column should have.
pub(super) enum Bad {
    /// A text is not JSON, and why.
    Json(String),
    /// The byte at this position is not UTF-8.
    Bytes { at: usize },
    /// The index would refuse a vector.
    Vector(BadVector),
}

/// Prepares `array`, which holds the values of `field`, to be written as `writing` says. Problems
/// of values are noted in `writing`.
pub(super) fn cells<'a>(array: &'a dyn Array, field: &Field, writing: &'a Writing) -> Box<dyn Cells + 'a> {
    if let Some(how) = writing.vector {
        return vectors::cells(array, how, writing);
    }
    match field.data_type() {
        DataType::Null => Box::new(Nulls),
        DataType::Boolean => scalars(array, |a: &BooleanArray, row, out| {
            out.extend_from_slice(if a.value(row) { b"true" } else { b"false" });
        }),
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => integers::<UInt64Type>(array),
        DataType::Float16 => floats::<Float16Type, _>(array, writing, f32::from),
        DataType::Float32 => floats::<Float32Type, _>(array, writing, |v| v),
        DataType::Float64 => floats::<Float64Type, _>(array, writing, |v| v),
        DataType::Decimal32(_, scale) => decimals::<Decimal32Type>(array, *scale),
        DataType::Decimal64(_, scale) => decimals::<Decimal64Type>(array, *scale),
        DataType::Decimal128(_, scale) => decimals::<Decimal128Type>(array, *scale),
        DataType::Decimal256(_, scale) => decimals::<Decimal256Type>(array, *scale),
        DataType::Timestamp(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_)
        | DataType::Interval(_) => moments(array, field.data_type(), writing.timestamps),
        DataType::Utf8 => scalars(array, |a: &StringArray, row, out| push_text(out, a.value(row))),
        DataType::LargeUtf8 => scalars(array, |a: &LargeStringArray, row, out| push_text(out, a.value(row))),
        DataType::Utf8View => scalars(array, |a: &StringViewArray, row, out| push_text(out, a.value(row))),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            forms::cells(array, field, writing)
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..)
        | DataType::Struct(_)
        | DataType::Union(..)
        | DataType::Dictionary(..)
        | DataType::Map(..)
        | DataType::RunEndEncoded(..) => nested::cells(array, field, writing),
    }
}

/// Prepares an array of dates, times, durations or intervals. `style` concerns timestamps only.
fn moments<'a>(array: &'a dyn Array, data_type: &DataType, style: Timestamps) -> Box<dyn Cells + 'a> {
    match data_type {
        DataType::Timestamp(unit, zone) => {
            let (unit, zone) = (*unit, Zone::new(zone.as_deref()));
            let as_number = style == Timestamps::EpochMillis;
            match unit {
                TimeUnit::Second => timestamps::<TimestampSecondType>(array, unit.into(), zone, as_number),
                TimeUnit::Millisecond => timestamps::<TimestampMillisecondType>(array, unit.into(), zone, as_number),
                TimeUnit::Microsecond => timestamps::<TimestampMicrosecondType>(array, unit.into(), zone, as_number),
                TimeUnit::Nanosecond => timestamps::<TimestampNanosecondType>(array, unit.into(), zone, as_number),
            }
        }
        DataType::Date32 => quoted::<Date32Type>(array, |days, out| push_date(out, i64::from(days))),
        DataType::Date64 => quoted::<Date64Type>(array, |ms, out| push_date(out, ms.div_euclid(86_400_000))),
        DataType::Time32(TimeUnit::Second) => {
            quoted::<Time32SecondType>(array, |v, out| push_time(out, i64::from(v), time::TimeUnit::Second))
        }
        // Arrow has no other 32-bit and 64-bit times than these.
        DataType::Time32(_) => {
            quoted::<Time32MillisecondType>(array, |v, out| push_time(out, i64::from(v), time::TimeUnit::Millisecond))
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            quoted::<Time64NanosecondType>(array, |v, out| push_time(out, v, time::TimeUnit::Nanosecond))
        }
        DataType::Time64(_) => {
            quoted::<Time64MicrosecondType>(array, |v, out| push_time(out, v, time::TimeUnit::Microsecond))
        }
        DataType::Duration(unit) => {
            let counted = time::TimeUnit::from(*unit);
            let push = move |value, out: &mut Vec<u8>| push_duration(out, value, counted);
            match unit {
                TimeUnit::Second => quoted::<DurationSecondType>(array, push),
                TimeUnit::Millisecond => quoted::<DurationMillisecondType>(array, push),
                TimeUnit::Microsecond => quoted::<DurationMicrosecondType>(array, push),
                TimeUnit::Nanosecond => quoted::<DurationNanosecondType>(array, push),
            }
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            quoted::<IntervalYearMonthType>(array, |months, out| push_interval(out, months, 0, 0))
        }
        DataType::Interval(IntervalUnit::DayTime) => quoted::<IntervalDayTimeType>(array, |v, out| {
            push_interval(out, 0, v.days, i64::from(v.milliseconds) * 1_000_000);
        }),
        DataType::Interval(IntervalUnit::MonthDayNano) => quoted::<IntervalMonthDayNanoType>(array, |v, out| {
            push_interval(out, v.months, v.days, v.nanoseconds);
        }),
        other => unreachable!("{other} is not a date or time"),
    }
}

/// Whether the field is a UUID: Arrow's own mark, or that of Avro's `fixed`, which its reader
/// passes on.
pub(super) fn is_uuid(field: &Field) -> bool {
    field.extension_type_name() == Some("arrow.uuid")
        || field.metadata().get("logicalType").is_some_and(|logical| logical == "uuid")
}

/// An array as the Rust type of its data type.
pub(super) fn downcast<A: 'static>(array: &dyn Array) -> &A {
    array.as_any().downcast_ref::<A>().expect("the data type of an array tells its Rust type")
}

struct Nulls;

impl Cells for Nulls {
    fn push(&self, _: usize, _: &mut Vec<u8>) -> bool {
        false
    }
}

struct Scalars<'a, A, F> {
    array: &'a A,
    nulls: Option<&'a NullBuffer>,
    push: F,
}

impl<A, F: Fn(&A, usize, &mut Vec<u8>)> Cells for Scalars<'_, A, F> {
    #[inline]
    fn push(&self, row: usize, out: &mut Vec<u8>) -> bool {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return false;
        }
        (self.push)(self.array, row, out);
        true
    }
}

pub(super) fn scalars<'a, A: Array + 'static>(
    array: &'a dyn Array,
    push: impl Fn(&A, usize, &mut Vec<u8>) + 'a,
) -> Box<dyn Cells + 'a> {
    let array: &A = downcast(array);
    Box::new(Scalars { array, nulls: array.nulls().filter(|nulls| nulls.null_count() > 0), push })
}

fn integers<'a, T: ArrowPrimitiveType>(array: &'a dyn Array) -> Box<dyn Cells + 'a>
where
    T::Native: itoa::Integer,
{
    scalars(array, |a: &PrimitiveArray<T>, row, out| {
        out.extend_from_slice(itoa::Buffer::new().format(a.value(row)).as_bytes());
    })
}

/// `as_number`: milliseconds since 1970, if the value is a whole number of them.
fn timestamps<'a, T: ArrowPrimitiveType<Native = i64>>(
    array: &'a dyn Array,
    unit: time::TimeUnit,
    zone: Zone,
    as_number: bool,
) -> Box<dyn Cells + 'a> {
    scalars(array, move |a: &PrimitiveArray<T>, row, out| {
        let value = a.value(row);
        match epoch_millis(value, unit).filter(|_| as_number) {
            Some(millis) => out.extend_from_slice(itoa::Buffer::new().format(millis).as_bytes()),
            None => {
                out.push(b'"');
                push_timestamp(out, value, unit, zone);
                out.push(b'"');
            }
        }
    })
}

/// Values that are written between quotes without escaping.
fn quoted<'a, T: ArrowPrimitiveType>(
    array: &'a dyn Array,
    push: impl Fn(T::Native, &mut Vec<u8>) + 'a,
) -> Box<dyn Cells + 'a> {
    scalars(array, move |a: &PrimitiveArray<T>, row, out| {
        out.push(b'"');
        push(a.value(row), out);
        out.push(b'"');
    })
}

struct Floats<'a, T: ArrowPrimitiveType, F> {
    array: &'a PrimitiveArray<T>,
    writing: &'a Writing,
    to_float: F,
}

/// A float that can be printed.
trait Float: zmij::Float + Copy {
    fn finite(self) -> bool;
}

impl Float for f32 {
    fn finite(self) -> bool {
        self.is_finite()
    }
}

impl Float for f64 {
    fn finite(self) -> bool {
        self.is_finite()
    }
}

impl<T: ArrowPrimitiveType, N: Float, F: Fn(T::Native) -> N> Cells for Floats<'_, T, F> {
    #[inline]
    fn push(&self, row: usize, out: &mut Vec<u8>) -> bool {
        if self.array.is_null(row) {
            return false;
        }
        let value = (self.to_float)(self.array.value(row));
        if !value.finite() {
            self.writing.not_finite.set(self.writing.not_finite.get() + 1);
            return false;
        }
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
        true
    }
}

fn floats<'a, T: ArrowPrimitiveType, N: Float + 'a>(
    array: &'a dyn Array,
    writing: &'a Writing,
    to_float: impl Fn(T::Native) -> N + 'a,
) -> Box<dyn Cells + 'a> {
    Box::new(Floats::<T, _> { array: downcast(array), writing, to_float })
}

fn decimals<'a, T: ArrowPrimitiveType>(array: &'a dyn Array, scale: i8) -> Box<dyn Cells + 'a>
where
    T::Native: std::fmt::Display,
{
    scalars(array, move |a: &PrimitiveArray<T>, row, out| push_decimal(out, &a.value(row).to_string(), scale.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_all_their_digits() {
        for (digits, scale, expected) in [
            ("12345", 2, "123.45"),
            ("-5", 2, "-0.05"),
            ("0", 3, "0.000"),
            ("-12345678901234567890123456789012345678", 10, "-1234567890123456789012345678.9012345678"),
            ("7", 0, "7"),
            ("7", -3, "7000"),
            ("0", -3, "0"),
            ("100", 2, "1.00"),
        ] {
            let mut out = Vec::new();
            push_decimal(&mut out, digits, scale);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
