//! Flat documents as Parquet: one column a field, of its one type; an absent field is a null. Compressed with zstd.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::table::{Cell, Column, Kind, fields};
use super::{ConvertError, Converted, Rows, for_each_block};
use crate::source::Source;

pub(super) fn write(
    source: &mut dyn Source,
    columns: &[Column],
    out: &mut (impl Write + Send),
) -> Result<Converted, ConvertError> {
    if columns.is_empty() {
        return Err(ConvertError::Impossible("there are no fields, and Parquet needs a column".to_owned()));
    }
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Result<Vec<_>, _>>()?));
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let failed = |error: parquet::errors::ParquetError| ConvertError::Write(std::io::Error::other(error));
    let mut writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties)).map_err(failed)?;
    let converted = for_each_block(source, |block, rows| {
        let mut builders: Vec<Builder> = columns.iter().map(Builder::new).collect();
        for record in 0..block.records.len() {
            let fields = fields(block.record(record)).map_err(|problem| rows.error(record, problem))?;
            for (column, builder) in columns.iter().zip(&mut builders) {
                let value = fields.iter().find(|(name, _)| *name == column.name).map(|(_, value)| *value);
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
        Kind::Integer => DataType::Int64,
        Kind::Number => DataType::Float64,
        Kind::String | Kind::Null => DataType::Utf8,
        Kind::Mixed => {
            return Err(ConvertError::Impossible(format!(
                "field `{}` has values of several types, and a Parquet column has one; convert to NDJSON or CSV",
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
    String(StringBuilder),
}

impl Builder {
    fn new(column: &Column) -> Self {
        match column.kind {
            Kind::Boolean => Builder::Boolean(BooleanBuilder::new()),
            Kind::Integer => Builder::Integer(Int64Builder::new()),
            Kind::Number => Builder::Number(Float64Builder::new()),
            Kind::String | Kind::Null | Kind::Mixed => Builder::String(StringBuilder::new()),
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
                "field `{}` is {text}, which a Parquet column of 64-bit floats cannot say exactly; convert to NDJSON or CSV",
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
            Builder::String(builder) => builder.append_option(value.map(Cell::text)),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Boolean(builder) => Arc::new(builder.finish()),
            Builder::Integer(builder) => Arc::new(builder.finish()),
            Builder::Number(builder) => Arc::new(builder.finish()),
            Builder::String(builder) => Arc::new(builder.finish()),
        }
    }
}

/// The double that is written so, if its shortest text has the same digits.
fn exact(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    (value.is_finite() && digits(text) == digits(&format!("{value:e}"))).then_some(value)
}

/// The digits that count.
fn digits(text: &str) -> String {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_start_matches('0').trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_a_double_cannot_say_are_not_taken() {
        for good in ["1.50", "0.1", "-2.5e-7", "100", "0", "9007199254740993e1", "1e3", "43.3587840"] {
            let expected = if good == "9007199254740993e1" { None } else { Some(good.parse().unwrap()) };
            assert_eq!(exact(good), expected, "{good}");
        }
        for bad in ["9007199254740993", "3.14159265358979323846", "1e999"] {
            assert_eq!(exact(bad), None, "{bad}");
        }
    }
}
