//! Writes flat documents as Parquet, compressed with zstd: one column per field, of the field's one
//! type. An absent field is a null.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Decimal128Builder, Decimal256Builder, Float64Builder, Int64Builder, StringBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::i256;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, Schema};
use inrush_formats::numbers::{Holder, Numbers, scaled};
use inrush_sources::Source;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::table::{Cell, Column, Columns, Kind};
use super::{ConvertError, Converted, Rows, for_each_block};

pub(super) fn write(
    source: &mut dyn Source,
    columns: &Columns,
    out: &mut (impl Write + Send),
) -> Result<Converted, ConvertError> {
    if columns.all.is_empty() {
        return Err(ConvertError::Impossible("there are no fields, but Parquet needs a column".to_owned()));
    }
    let schema = Arc::new(Schema::new(columns.all.iter().map(field).collect::<Result<Vec<_>, _>>()?));
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let failed = |error: parquet::errors::ParquetError| ConvertError::Write(std::io::Error::other(error));
    let mut writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties)).map_err(failed)?;
    let converted = for_each_block(source, |block, rows| {
        let mut builders: Vec<Builder> =
            columns.all.iter().map(|column| Builder::new(column, block.records.len())).collect();
        for record in 0..block.records.len() {
            let cells = columns.row(block.record(record)).map_err(|problem| rows.error(record, problem))?;
            for ((value, column), builder) in cells.into_iter().zip(&columns.all).zip(&mut builders) {
                builder.push(value.filter(|value| value.kind() != Some(Kind::Null)), (column, record, rows))?;
            }
        }
        let arrays = builders.iter_mut().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)
            .map_err(|error| ConvertError::Write(std::io::Error::other(error)))?;
        writer.write(&batch).map_err(failed)
    })?;
    writer.close().map_err(failed)?;
    Ok(converted)
}

fn field(column: &Column) -> Result<Field, ConvertError> {
    let data_type = match column.kind {
        Kind::Boolean => DataType::Boolean,
        Kind::Number(numbers) => match numbers.holder() {
            Holder::Integer => DataType::Int64,
            Holder::Decimal(precision, scale) if precision <= DECIMAL128_MAX_PRECISION => {
                DataType::Decimal128(precision, scale as i8)
            }
            Holder::Decimal(precision, scale) => DataType::Decimal256(precision, scale as i8),
            // A value that is not a number is refused.
            Holder::Double | Holder::Rounded | Holder::Nothing => DataType::Float64,
        },
        Kind::String | Kind::Null => DataType::Utf8,
        Kind::Mixed => {
            return Err(ConvertError::Impossible(format!(
                "field `{}` has values of several types, but a Parquet column has only one; convert to NDJSON or CSV",
                column.name
            )));
        }
    };
    Ok(Field::new(&column.name, data_type, true))
}

enum Builder {
    Boolean(BooleanBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Decimal(Decimal128Builder, u8),
    Long(Decimal256Builder, u8),
    String(StringBuilder),
}

impl Builder {
    fn new(column: &Column, rows: usize) -> Self {
        match column.kind {
            Kind::Boolean => Builder::Boolean(BooleanBuilder::with_capacity(rows)),
            Kind::Number(numbers) => match numbers.holder() {
                Holder::Integer => Builder::Integer(Int64Builder::with_capacity(rows)),
                Holder::Decimal(precision, scale) if precision <= DECIMAL128_MAX_PRECISION => {
                    let of = DataType::Decimal128(precision, scale as i8);
                    Builder::Decimal(Decimal128Builder::with_capacity(rows).with_data_type(of), scale)
                }
                Holder::Decimal(precision, scale) => {
                    let of = DataType::Decimal256(precision, scale as i8);
                    Builder::Long(Decimal256Builder::with_capacity(rows).with_data_type(of), scale)
                }
                Holder::Double | Holder::Rounded | Holder::Nothing => {
                    Builder::Number(Float64Builder::with_capacity(rows))
                }
            },
            Kind::String | Kind::Null | Kind::Mixed => Builder::String(StringBuilder::with_capacity(rows, 0)),
        }
    }

    /// Appends a value, or a null.
    fn push(
        &mut self,
        value: Option<Cell<'_>>,
        (column, record, rows): (&Column, usize, &Rows<'_>),
    ) -> Result<(), ConvertError> {
        let refuse = || {
            let text = value.map_or("", |value| value.0);
            let problem = format!(
                "field `{}` is {text}, which a Parquet column of floats cannot represent exactly together with its other values; convert to NDJSON or CSV",
                column.name
            );
            rows.error(record, problem)
        };
        match self {
            Builder::Boolean(builder) => builder.append_option(value.map(|value| value.0 == "true")),
            Builder::Integer(builder) => builder.append_option(match value {
                None => None,
                Some(value) => Some(value.0.parse().map_err(|_| refuse())?),
            }),
            Builder::Number(builder) => builder.append_option(match value {
                None => None,
                Some(value) => Some(exact(value.0).ok_or_else(refuse)?),
            }),
            Builder::Decimal(builder, scale) => builder.append_option(match value {
                None => None,
                Some(value) => Some(scaled(value.0, *scale).parse().map_err(|_| refuse())?),
            }),
            Builder::Long(builder, scale) => builder.append_option(match value {
                None => None,
                Some(value) => Some(i256::from_string(&scaled(value.0, *scale)).ok_or_else(refuse)?),
            }),
            Builder::String(builder) => builder.append_option(value.map(Cell::text)),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Boolean(builder) => Arc::new(builder.finish()),
            Builder::Integer(builder) => Arc::new(builder.finish()),
            Builder::Number(builder) => Arc::new(builder.finish()),
            Builder::Decimal(builder, _) => Arc::new(builder.finish()),
            Builder::Long(builder, _) => Arc::new(builder.finish()),
            Builder::String(builder) => Arc::new(builder.finish()),
        }
    }
}

/// The double of this text, if the double's shortest text has the same digits.
fn exact(text: &str) -> Option<f64> {
    if Numbers::of(text).are_doubles() { text.parse().ok() } else { None }
}
