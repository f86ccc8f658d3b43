//! 96-bit timestamps, which Spark, Hive and Impala write: days of the Julian calendar and
//! nanoseconds. As nanoseconds since 1970 they reach only from 1677 to 2262. A date outside that
//! range would overflow to another date.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampSecondType;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Type;
use parquet::file::metadata::ParquetMetaData;

use super::Parts;
use crate::catch_panic::{guarded, text};

/// Rows of a batch while values are only checked.
const BATCH_ROWS: usize = 16 << 10;

/// The positions of the 96-bit columns among the leaves. Empty if there are none.
fn places(metadata: &ParquetMetaData) -> Vec<usize> {
    let columns = metadata.file_metadata().schema_descr().columns().iter().enumerate();
    columns.filter(|(_, column)| column.physical_type() == Type::INT96).map(|(at, _)| at).collect()
}

/// The coarsest unit needed for all 96-bit values, found by reading them once. `None` if
/// nanoseconds suffice. A value that cannot be read is an error: in too narrow a unit, the other
/// values would become other dates.
pub(super) fn unit<F: Parts>(file: &F, metadata: &ArrowReaderMetadata) -> Result<Option<TimeUnit>, String> {
    let places = places(metadata.metadata());
    if places.is_empty() {
        return Ok(None);
    }
    let by_second = in_unit(metadata, TimeUnit::Second)?;
    let mut most = 0;
    let groups = metadata.metadata().num_row_groups();
    for group in 0..groups {
        let farthest = guarded(|| farthest_of_group(file, &by_second, &places, group)).map_err(|problem| {
            format!(
                "its 96-bit timestamps, of which the farthest decides how all are read, cannot be read in row group {} of {groups}: \
                 {problem}; no row was read",
                group + 1
            )
        })?;
        most = most.max(farthest);
    }
    // One second less than the limit, because the fraction is unknown.
    let reach = |per_second: u64| i64::MAX.unsigned_abs() / per_second - 1;
    Ok(match most {
        most if most <= reach(1_000_000_000) => None,
        most if most <= reach(1_000_000) => Some(TimeUnit::Microsecond),
        most if most <= reach(1_000) => Some(TimeUnit::Millisecond),
        _ => Some(TimeUnit::Second),
    })
}

/// The longest time from 1970 in the columns `places` of a row group, seconds.
fn farthest_of_group<F: Parts>(
    file: &F,
    by_second: &ArrowReaderMetadata,
    places: &[usize],
    group: usize,
) -> Result<u64, String> {
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.again().map_err(text)?, by_second.clone());
    let mask = ProjectionMask::leaves(builder.parquet_schema(), places.iter().copied());
    let rows = by_second.metadata().row_group(group).num_rows();
    let builder = builder.with_limit(usize::try_from(rows).unwrap_or(0));
    let reader = builder.with_row_groups(vec![group]).with_projection(mask).with_batch_size(BATCH_ROWS);
    let mut most = 0;
    for batch in reader.build().map_err(text)? {
        most = most.max(farthest(&batch.map_err(text)?));
    }
    Ok(most)
}

/// The same columns with 96-bit timestamps in this unit.
pub(super) fn in_unit(metadata: &ArrowReaderMetadata, unit: TimeUnit) -> Result<ArrowReaderMetadata, String> {
    let places = places(metadata.metadata());
    let mut leaf = 0;
    let fields = metadata.schema().fields().iter();
    let fields: Vec<FieldRef> = fields.map(|field| with_unit(field, &places, &mut leaf, unit)).collect();
    let schema: SchemaRef = Arc::new(Schema::new_with_metadata(fields, metadata.schema().metadata().clone()));
    let options = ArrowReaderOptions::new().with_schema(schema);
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options).map_err(text)
}

/// Goes through the leaves of a field. `leaf` counts the leaves before it.
fn with_unit(field: &FieldRef, places: &[usize], leaf: &mut usize, unit: TimeUnit) -> FieldRef {
    let mut again = |field: &FieldRef| with_unit(field, places, leaf, unit);
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(again).collect()),
        DataType::List(item) => DataType::List(again(item)),
        DataType::LargeList(item) => DataType::LargeList(again(item)),
        DataType::ListView(item) => DataType::ListView(again(item)),
        DataType::LargeListView(item) => DataType::LargeListView(again(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(again(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(again(entries), *sorted),
        other => {
            let is_wide = places.contains(leaf);
            *leaf += 1;
            match other {
                DataType::Timestamp(_, zone) if is_wide => DataType::Timestamp(unit, zone.clone()),
                other => other.clone(),
            }
        }
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// The longest time from 1970 in columns of timestamps, seconds.
fn farthest(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|column| farthest_of(column)).max().unwrap_or(0)
}

fn farthest_of(array: &dyn Array) -> u64 {
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            let seconds = array.as_primitive::<TimestampSecondType>();
            seconds.iter().flatten().map(i64::unsigned_abs).max().unwrap_or(0)
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(|column| farthest_of(column)).max().unwrap_or(0),
        DataType::List(_) => farthest_of(array.as_list::<i32>().values()),
        DataType::LargeList(_) => farthest_of(array.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => farthest_of(array.as_fixed_size_list().values()),
        DataType::Map(..) => farthest_of(array.as_map().entries()),
        _ => 0,
    }
}
