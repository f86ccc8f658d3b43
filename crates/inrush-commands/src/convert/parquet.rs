//! Writes documents as Parquet, compressed with zstd: one column for each field, of the field's one
//! type. An object is a group, an array is a list. An absent field is a null.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Decimal128Builder, Decimal256Builder, Float64Builder, Int64Builder, StringBuilder,
};
use arrow_array::{ArrayRef, ListArray, RecordBatch, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, i256};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema};
use inrush_formats::numbers::{Numbers, scaled};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::ConvertError;
use super::packed::Out;
use super::reading::Reading;
use super::shape::{Path, Shape, Shapes};
use super::value::{Cell, Value, fields, twice};

/// The pages of a row group are in memory until it is complete.
const ROW_GROUP_BYTES: usize = 128 << 20;

/// Writes the documents up to the end of the part.
pub(super) fn write(reading: &mut Reading<'_>, shapes: &Shapes, out: &mut impl Out) -> Result<(), ConvertError> {
    let root = &shapes.root;
    let types = root.types(None).map_err(ConvertError::Impossible)?;
    if types.is_empty() {
        return Err(ConvertError::Impossible("there are no fields, but Parquet needs a column".to_owned()));
    }
    let schema = Arc::new(Schema::new(types.clone()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
        .build();
    let failed = |error: parquet::errors::ParquetError| ConvertError::Write(std::io::Error::other(error));
    let mut writer = ArrowWriter::try_new(out, schema, Some(properties)).map_err(failed)?;
    let mut builder = Group::new(root, &types, None);
    reading.for_each_block(|block, rows| {
        for record in 0..block.records.len() {
            let document = fields(block.record(record)).map_err(|problem| rows.error(record, problem))?;
            builder.push(Some(document)).map_err(|problem| rows.error(record, problem))?;
        }
        let columns = builder.finish().map_err(|error| ConvertError::Write(std::io::Error::other(error)))?;
        writer.write(&RecordBatch::from(columns)).map_err(failed)?;
        Ok((writer.bytes_written() + writer.in_progress_size()) as u64)
    })?;
    writer.close().map_err(failed)?;
    Ok(())
}

/// A note for each field that has no column. `shape`: that of the documents.
pub(super) fn left_out(shape: &Shape, inside: Option<&Path<'_>>) -> Vec<String> {
    let mut notes = Vec::new();
    let items = shape.items().map(|items| ("[]", items));
    let fields = shape.fields().0.iter().map(|(name, field)| (name.as_str(), field));
    for (name, field) in fields.chain(items) {
        let path = Path::new(inside, name);
        match field.data_type(&path) {
            Ok(None) if field.items().is_none() => notes.push(format!(
                "field `{path}` is left out: its values are empty objects, which Parquet cannot represent"
            )),
            _ => notes.extend(left_out(field, Some(&path))),
        }
    }
    notes
}

/// A column of objects. The documents are one.
struct Group {
    types: Fields,
    /// By place of the field. `None`: it has no column.
    columns: Vec<Option<Builder>>,
    places: HashMap<String, usize>,
    nulls: NullBufferBuilder,
}

enum Builder {
    Boolean(BooleanBuilder),
    Integer(Int64Builder, String),
    Number(Float64Builder, String),
    Decimal(Decimal128Builder, u8, String),
    Long(Decimal256Builder, u8, String),
    String(StringBuilder),
    Group(Group),
    List { of: FieldRef, items: Box<Builder>, lengths: Vec<usize>, nulls: NullBufferBuilder },
}

impl Group {
    fn new(shape: &Shape, types: &Fields, inside: Option<&Path<'_>>) -> Self {
        let (fields, places) = shape.fields();
        let column = |(name, field): &(String, Shape)| {
            let (_, of) = types.find(name)?;
            Some(Builder::new(field, of.data_type(), &Path::new(inside, name)))
        };
        let columns = fields.iter().map(column).collect();
        Group { types: types.clone(), columns, places: places.clone(), nulls: NullBufferBuilder::new(0) }
    }

    /// Appends an object, or a null.
    fn push(&mut self, object: Option<Vec<(String, Cell<'_>)>>) -> Result<(), String> {
        self.nulls.append(object.is_some());
        let mut row = vec![None; self.columns.len()];
        for (name, value) in object.into_iter().flatten() {
            let place = self.places.get(&name).ok_or_else(|| {
                format!(
                    "field `{name}` was not in the source when it was read for its columns; the source has changed since"
                )
            })?;
            if row[*place].replace(value).is_some() {
                return Err(twice(&name));
            }
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            if let Some(column) = column {
                column.push(value.filter(|value| !value.is_null()))?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<StructArray, ArrowError> {
        let columns = self.columns.iter_mut().flatten().map(Builder::finish).collect::<Result<_, _>>()?;
        StructArray::try_new(self.types.clone(), columns, self.nulls.finish())
    }
}

impl Builder {
    fn new(shape: &Shape, of: &DataType, path: &Path<'_>) -> Self {
        let name = path.to_string();
        match of {
            DataType::Boolean => Builder::Boolean(BooleanBuilder::new()),
            DataType::Int64 => Builder::Integer(Int64Builder::new(), name),
            DataType::Float64 => Builder::Number(Float64Builder::new(), name),
            DataType::Decimal128(_, scale) => {
                let builder = Decimal128Builder::new().with_data_type(of.clone());
                Builder::Decimal(builder, scale.unsigned_abs(), name)
            }
            DataType::Decimal256(_, scale) => {
                let builder = Decimal256Builder::new().with_data_type(of.clone());
                Builder::Long(builder, scale.unsigned_abs(), name)
            }
            DataType::Struct(types) => Builder::Group(Group::new(shape, types, Some(path))),
            DataType::List(of) if let Some(items) = shape.items() => Builder::List {
                of: Arc::clone(of),
                items: Box::new(Builder::new(items, of.data_type(), &Path::new(Some(path), "[]"))),
                lengths: Vec::new(),
                nulls: NullBufferBuilder::new(0),
            },
            _ => Builder::String(StringBuilder::new()),
        }
    }

    /// Appends a value, or a null.
    fn push(&mut self, value: Option<Cell<'_>>) -> Result<(), String> {
        let refuse = |name: &str| {
            let text = value.map_or("", |value| value.0);
            format!(
                "field `{name}` is {text}, which a Parquet column of floats cannot represent exactly together with its other values; convert to NDJSON or CSV"
            )
        };
        match self {
            Builder::Boolean(builder) => builder.append_option(value.map(|value| value.0 == "true")),
            Builder::Integer(builder, name) => {
                let number = value.map(|value| value.0.parse().map_err(|_| refuse(name)));
                builder.append_option(number.transpose()?);
            }
            Builder::Number(builder, name) => {
                let number = value.map(|value| exact(value.0).ok_or_else(|| refuse(name)));
                builder.append_option(number.transpose()?);
            }
            Builder::Decimal(builder, scale, name) => {
                let number = value.map(|value| scaled(value.0, *scale).parse().map_err(|_| refuse(name)));
                builder.append_option(number.transpose()?);
            }
            Builder::Long(builder, scale, name) => {
                let of = |value: Cell<'_>| i256::from_string(&scaled(value.0, *scale)).ok_or_else(|| refuse(name));
                builder.append_option(value.map(of).transpose()?);
            }
            Builder::String(builder) => builder.append_option(value.map(Cell::text)),
            Builder::Group(group) => group.push(match value.map(Cell::read).transpose()? {
                Some(Value::Object(fields)) => Some(fields),
                // The column has the type of all values.
                Some(Value::Scalar(_) | Value::Array(_)) | None => None,
            })?,
            Builder::List { items, lengths, nulls, .. } => {
                let values = match value.map(Cell::read).transpose()? {
                    Some(Value::Array(values)) => Some(values),
                    Some(Value::Scalar(_) | Value::Object(_)) | None => None,
                };
                nulls.append(values.is_some());
                let values = values.unwrap_or_default();
                lengths.push(values.len());
                for value in values {
                    items.push(Some(value).filter(|value| !value.is_null()))?;
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Builder::Boolean(builder) => Arc::new(builder.finish()),
            Builder::Integer(builder, _) => Arc::new(builder.finish()),
            Builder::Number(builder, _) => Arc::new(builder.finish()),
            Builder::Decimal(builder, ..) => Arc::new(builder.finish()),
            Builder::Long(builder, ..) => Arc::new(builder.finish()),
            Builder::String(builder) => Arc::new(builder.finish()),
            Builder::Group(group) => Arc::new(group.finish()?),
            Builder::List { of, items, lengths, nulls } => {
                // A block has less than 4 GiB, and an item of an array takes two bytes of it.
                let offsets = OffsetBuffer::from_lengths(lengths.drain(..));
                Arc::new(ListArray::try_new(Arc::clone(of), offsets, items.finish()?, nulls.finish())?)
            }
        })
    }
}

/// The double of this text, if the double's shortest text has the same digits.
fn exact(text: &str) -> Option<f64> {
    if Numbers::of(text).are_doubles() { text.parse().ok() } else { None }
}
