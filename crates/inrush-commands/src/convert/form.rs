//! The format of an output, and what its files have in common.

use inrush_core::encode::Encoder;
use inrush_sources::Source;

use super::packed::Out;
#[cfg(feature = "parquet")]
use super::parquet;
use super::reading::Reading;
#[cfg(feature = "parquet")]
use super::shape::Shapes;
use super::{ConvertError, Output, OutputFormat, csv, documents};

/// A format, with the columns of tables.
pub(super) enum Form {
    Ndjson,
    Smile,
    Bulk(Box<Encoder>),
    BulkSmile(Box<Encoder>),
    Csv(csv::Columns),
    #[cfg(feature = "parquet")]
    Parquet(Shapes),
}

impl Form {
    pub(super) fn new(output: &Output) -> Result<Self, ConvertError> {
        let encoder = |lines| documents::bulk_encoder(lines, &output.shaping).map(Box::new);
        Ok(match &output.target {
            OutputFormat::Ndjson => Form::Ndjson,
            OutputFormat::Smile => Form::Smile,
            OutputFormat::Bulk(lines) => Form::Bulk(encoder(lines)?),
            OutputFormat::BulkSmile(lines) => Form::BulkSmile(encoder(lines)?),
            OutputFormat::Csv => Form::Csv(csv::Columns::default()),
            #[cfg(feature = "parquet")]
            OutputFormat::Parquet => Form::Parquet(Shapes::default()),
            #[cfg(not(feature = "parquet"))]
            OutputFormat::Parquet => {
                let why = "this build cannot write parquet; build it with the cargo feature parquet";
                return Err(ConvertError::Impossible(why.to_owned()));
            }
        })
    }

    /// Tells the source, before its first document, what the format needs of it.
    pub(super) fn prepare(&self, source: &mut dyn Source) {
        if let Form::Bulk(encoder) | Form::BulkSmile(encoder) = self {
            source.keep_texts(&encoder.fields());
        }
    }

    /// Whether all documents have to be seen ([`Form::see`]) before the first is written.
    pub(super) fn is_table(&self) -> bool {
        match self {
            Form::Ndjson | Form::Smile | Form::Bulk(_) | Form::BulkSmile(_) => false,
            Form::Csv(_) => true,
            #[cfg(feature = "parquet")]
            Form::Parquet(_) => true,
        }
    }

    /// Adds the columns of a document to those of the table.
    pub(super) fn see(&mut self, document: &[u8]) -> Result<(), String> {
        match self {
            Form::Ndjson | Form::Smile | Form::Bulk(_) | Form::BulkSmile(_) => Ok(()),
            Form::Csv(columns) => columns.add(document),
            #[cfg(feature = "parquet")]
            Form::Parquet(shapes) => shapes.add(document),
        }
    }

    /// Writes a file, up to the end of the part.
    pub(super) fn write(&mut self, reading: &mut Reading<'_>, out: &mut impl Out) -> Result<(), ConvertError> {
        match self {
            Form::Ndjson => documents::ndjson(reading, out),
            Form::Smile => documents::smile(reading, out),
            Form::Bulk(encoder) => documents::bulk(reading, encoder, false, out),
            Form::BulkSmile(encoder) => documents::bulk(reading, encoder, true, out),
            Form::Csv(columns) => csv::write(reading, columns, out),
            #[cfg(feature = "parquet")]
            Form::Parquet(shapes) => parquet::write(reading, shapes, out),
        }
    }

    /// What the output lacks, in sentences for the user.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Form::Ndjson | Form::Smile => Vec::new(),
            Form::Bulk(encoder) | Form::BulkSmile(encoder) => encoder.shape().warnings(),
            Form::Csv(columns) => columns.note().into_iter().collect(),
            #[cfg(feature = "parquet")]
            Form::Parquet(shapes) => parquet::left_out(&shapes.root, None),
        }
    }

    /// The number of empty lines, which an output in parts counts over all its runs.
    pub(super) fn empty_lines(&mut self) -> Option<&mut u64> {
        match self {
            Form::Csv(columns) => Some(&mut columns.empty),
            _ => None,
        }
    }
}
