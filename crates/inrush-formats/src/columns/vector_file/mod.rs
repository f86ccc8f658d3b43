//! Files of vectors: rows of numbers of one type. They are read as a column of lists, so a vector
//! is written as one of Parquet is.

mod layout;

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int32Type, UInt8Type};
use arrow_array::{ArrayRef, FixedSizeListArray, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use self::layout::{Layout, Number};
use super::Batches;
use crate::SourceError;
use crate::input::Input;
use crate::vector_format::VectorFormat;

/// Bytes of the file that are read for a batch, or those of one row.
const BATCH_BYTES: usize = 1 << 20;

/// A file of vectors, read as a stream, so it may be compressed or come through a pipe.
pub(crate) struct VectorFile {
    name: String,
    input: Input,
    layout: Layout,
    schema: SchemaRef,
    consumed: Arc<AtomicU64>,
    rows: u64,
    /// Why the next rows cannot be read.
    problem: Option<String>,
}

impl VectorFile {
    /// Reads the header. `field` is the name of the column. `consumed` counts the bytes of the file
    /// that are used.
    pub(crate) fn open(
        format: VectorFormat,
        mut input: Input,
        name: &str,
        field: &str,
        consumed: Arc<AtomicU64>,
    ) -> Result<Self, SourceError> {
        let layout = Layout::read(format, &mut input).map_err(|problem| {
            let format = format.name();
            SourceError::new(name, format!("{problem}; is the file complete, and {format}?"))
        })?;
        // The numbers of a row are below 2^17.
        let list = DataType::FixedSizeList(item(layout.number), layout.dims as i32);
        let schema = Arc::new(Schema::new(vec![Field::new(field, list, false)]));
        Ok(VectorFile { name: name.to_owned(), input, layout, schema, consumed, rows: 0, problem: None })
    }

    /// The next rows, at most this many. `None` at the end.
    pub(crate) fn next_rows(&mut self, most: usize) -> Result<Option<RecordBatch>, SourceError> {
        let read = match self.problem.take() {
            Some(problem) => Err(problem),
            None => self.read(most),
        };
        read.map_err(|problem| {
            let rows = self.rows;
            SourceError::new(&self.name, format!("the rows after the first {rows} cannot be read: {problem}"))
        })
    }

    fn read(&mut self, most: usize) -> Result<Option<RecordBatch>, String> {
        let left = self.layout.rows.map_or(u64::MAX, |rows| rows - self.rows);
        let wanted = most.min((BATCH_BYTES / self.layout.row_bytes().max(1)).max(1));
        let wanted = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
        if wanted == 0 || self.layout.dims == 0 {
            return self.check_end().map(|()| None);
        }
        let row_bytes = self.layout.row_bytes();
        let mut bytes = Vec::with_capacity(wanted * row_bytes);
        let failed = |error: io::Error| error.to_string();
        (&mut self.input).take((wanted * row_bytes) as u64).read_to_end(&mut bytes).map_err(failed)?;
        let mut rows = bytes.len() / row_bytes;
        if self.layout.has_lengths {
            let other = bytes.chunks(row_bytes).enumerate().find_map(|(row, bytes)| {
                let len = u32::from_le_bytes(*bytes.first_chunk()?);
                (len as usize != self.layout.dims).then_some((row, len))
            });
            if let Some((row, len)) = other {
                let dims = self.layout.dims;
                self.problem = Some(format!("a row of {len} numbers follows, and the first row has {dims}"));
                rows = row;
            }
        }
        if self.problem.is_none() && rows < wanted && (self.layout.rows.is_some() || bytes.len() > rows * row_bytes) {
            let of = self.layout.rows.map_or_else(String::new, |all| format!(" of {all}"));
            self.problem = Some(format!("the file is cut off in row {}{of}", self.rows + rows as u64 + 1));
        }
        match (rows, self.problem.take()) {
            (0, Some(problem)) => Err(problem),
            (0, None) => Ok(None),
            (rows, problem) => {
                self.problem = problem;
                self.rows += rows as u64;
                Ok(Some(self.batch(&bytes[..rows * row_bytes])?))
            }
        }
    }

    /// Refuses bytes behind the last row that the header tells.
    fn check_end(&mut self) -> Result<(), String> {
        let failed = |error: io::Error| error.to_string();
        let Some(rows) = self.layout.rows else { return Ok(()) };
        match self.input.read(&mut [0]).map_err(failed)? {
            0 => Ok(()),
            _ => Err(format!("the header says {rows} rows, and more bytes follow; a file has one array")),
        }
    }

    /// Whole rows as a batch.
    fn batch(&self, bytes: &[u8]) -> Result<RecordBatch, String> {
        let stripped;
        let bytes = match self.layout.has_lengths {
            true => {
                stripped =
                    bytes.chunks(self.layout.row_bytes()).flat_map(|row| &row[4..]).copied().collect::<Vec<u8>>();
                &stripped[..]
            }
            false => bytes,
        };
        let is_big = self.layout.is_big_endian;
        macro_rules! numbers {
            ($type:ty) => {{
                type Native = <$type as ArrowPrimitiveType>::Native;
                let number = if is_big { Native::from_be_bytes } else { Native::from_le_bytes };
                let numbers = bytes.as_chunks().0.iter().map(|bytes| number(*bytes));
                Arc::new(PrimitiveArray::<$type>::from_iter_values(numbers)) as ArrayRef
            }};
        }
        let numbers = match self.layout.number {
            Number::F16 => numbers!(Float16Type),
            Number::F32 => numbers!(Float32Type),
            Number::F64 => numbers!(Float64Type),
            Number::I8 => numbers!(Int8Type),
            Number::U8 => numbers!(UInt8Type),
            Number::I32 => numbers!(Int32Type),
        };
        let list = FixedSizeListArray::try_new(item(self.layout.number), self.layout.dims as i32, numbers, None);
        let list: ArrayRef = Arc::new(list.map_err(|error| error.to_string())?);
        RecordBatch::try_new(Arc::clone(&self.schema), vec![list]).map_err(|error| error.to_string())
    }
}

/// The numbers of a list.
fn item(number: Number) -> FieldRef {
    let data_type = match number {
        Number::F16 => DataType::Float16,
        Number::F32 => DataType::Float32,
        Number::F64 => DataType::Float64,
        Number::I8 => DataType::Int8,
        Number::U8 => DataType::UInt8,
        Number::I32 => DataType::Int32,
    };
    Arc::new(Field::new_list_field(data_type, false))
}

impl Batches for VectorFile {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    #[cfg(feature = "sql")]
    fn rows(&self) -> Option<u64> {
        self.layout.rows
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SourceError> {
        self.next_rows(usize::MAX)
    }

    fn bytes_read(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
