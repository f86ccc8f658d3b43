//! Sources as tables: determines their columns.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use inrush_core::SourceId;
use inrush_formats::format::is_delimited;
use inrush_formats::recorded;
use inrush_sources::{
    CHUNK_BYTES, Chunk, Files, Fingerprint, Format, FormatOptions, Repeats, Source, SourceError, SourceInfo,
    SourceSpec, Warnings, open,
};
use tempfile::TempPath;

use super::shape::{Object, Tally};

/// A table for queries.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// The name of the table in queries.
    pub name: String,
    /// The sources of the table. Stdin, and other sources that can be read only once, are copied to
    /// a temporary file first.
    pub sources: Vec<SourceSpec>,
    /// How the sources are read.
    pub format: FormatOptions,
}

/// A table with known columns.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) schema: SchemaRef,
    /// The shape of its documents. Without fields if its files have columns of their own.
    pub(super) shape: Object,
    /// Columns that are text because of a few of their values.
    pub(super) few_texts: Vec<(String, Tally)>,
    /// The fields from each file's folders.
    pub(super) folders: Vec<Vec<(String, ScalarValue)>>,
    /// The display names of its files.
    pub(super) names: Vec<String>,
    /// The index of its first file among those of all tables.
    pub(super) first_source: u32,
    /// Size of its files, bytes, if known.
    pub(super) bytes: Option<u64>,
    /// Rows of its files, if the files state them.
    pub(super) rows: Option<u64>,
    /// Whether a second run finds the same rows in it.
    pub(super) repeats: bool,
    specs: Vec<SourceSpec>,
    format: FormatOptions,
    /// Kept until the table is dropped.
    _copies: Vec<Copy>,
}

impl Table {
    /// Determines the columns of a table. For files with columns of their own it reads the
    /// beginning of each file, for others all documents, with `workers` threads.
    pub(super) fn open(spec: TableSpec, first_source: u32, workers: usize) -> Result<Self, SourceError> {
        let TableSpec { name, sources, mut format } = spec;
        let (specs, copies) = copied(sources)?;
        // Warnings are reported when the rows are read.
        let mut files = open(&specs, format.clone(), &Warnings::default())?;
        let SourceInfo { bytes_total: bytes, mut names, repeats, .. } = files.describe();
        let repeats = copies.is_empty() && repeats == Repeats::Always;
        for name in &mut names {
            let copy = copies.iter().find(|copy| copy.path.display().to_string() == *name);
            *name = copy.map_or_else(|| std::mem::take(name), |copy| copy.of.clone());
        }
        let partitions = files.partitions().to_vec();
        let mut table = Table {
            name,
            schema: Arc::new(Schema::empty()),
            shape: Object::default(),
            few_texts: Vec::new(),
            folders: Vec::new(),
            names,
            first_source,
            bytes,
            rows: None,
            repeats,
            specs,
            format: format.clone(),
            _copies: copies,
        };
        if let Some(columnar) = files.columnar()? {
            table.rows = columnar.iter().map(|file| file.rows).sum();
            table.folders = partitions.iter().map(|fields| fields.iter().map(folder).collect()).collect();
            let schemas: Vec<SchemaRef> = columnar.into_iter().map(|file| file.schema).collect();
            table.schema = Arc::new(merge(&schemas, &table.names, &table.folders)?);
        } else {
            // All cells are read, so that no type is guessed from the first cells.
            format.csv.each_cell = true;
            let files = open(&table.specs, format.clone(), &Warnings::default())?;
            table.shape = look(files, workers)?;
            table.few_texts = table.shape.few_texts().map(|(name, tally)| (name.to_owned(), tally)).collect();
            let schema = table.shape.schema();
            // So that all cells of a column with a text somewhere are read as their text.
            let text = schema.fields().iter().filter(|field| *field.data_type() == DataType::Utf8);
            format.csv.text_columns = text.map(|field| field.name().clone()).collect();
            (table.schema, table.format) = (Arc::new(schema), format);
        }
        if table.schema.fields().is_empty() {
            return Err(SourceError::new(
                table.names.join(", "),
                format!("there is no document, so that table {} has no columns", table.name),
            ));
        }
        Ok(table)
    }

    /// Warns of columns that lose digits.
    pub(super) fn warn(&self, warnings: &Warnings) {
        for (name, _) in self.shape.fields().iter().filter(|(_, shape)| shape.rounds()) {
            warnings.add(&self.names.join(", "), "digits_rounded", name, 1, || {
                "has numbers with more digits than a float has, over a range that no decimal type has: they are rounded to \
                 floats; a query that only passes them on can keep them as text, with option `schema`"
                    .to_owned()
            });
        }
    }

    /// The rows of the table from the beginning. Of Parquet only the columns `only` are read.
    pub(super) fn read(&self, only: Vec<String>, warnings: &Warnings) -> Result<Box<dyn Source>, SourceError> {
        let files = open(&self.specs, FormatOptions { only_columns: Some(only), ..self.format.clone() }, warnings)?;
        Ok(Box::new(files))
    }

    /// Whether its files are text. Text rows take more time to read than columnar ones.
    pub(super) fn is_text(&self) -> bool {
        !self.shape.fields().is_empty()
    }

    /// Whether its types are those of CSV cells, which `--schema` changes.
    pub(super) fn is_delimited(&self) -> bool {
        match self.format.format {
            Some(format) => matches!(format, Format::Csv | Format::Tsv),
            None => self.names.iter().any(|name| is_delimited(name)),
        }
    }

    /// The same table with all its rows in one Arrow file, which is deleted with it.
    pub(super) fn in_file(&self, path: TempPath) -> Self {
        Table {
            name: self.name.clone(),
            schema: Arc::clone(&self.schema),
            shape: Object::default(),
            few_texts: self.few_texts.clone(),
            folders: Vec::new(),
            names: self.names.clone(),
            first_source: self.first_source,
            bytes: path.metadata().ok().map(|meta| meta.len()),
            rows: None,
            repeats: false,
            specs: vec![SourceSpec::Path(path.to_path_buf())],
            format: FormatOptions { format: Some(Format::Arrow), ..FormatOptions::default() },
            _copies: vec![Copy { path, of: self.names.join(", ") }],
        }
    }

    /// The fingerprints of its files.
    pub(super) fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        open(&self.specs, self.format.clone(), &Warnings::default())?.fingerprints()
    }

    /// All options on which its rows depend.
    pub(super) fn reading(&self) -> String {
        format!("{} {}", self.name, recorded::text(&self.format))
    }
}

/// A copy of a source that can be read only once. It is needed because the source is first read for
/// its columns.
#[derive(Debug)]
struct Copy {
    path: TempPath,
    /// The display name of the original.
    of: String,
}

fn copied(specs: Vec<SourceSpec>) -> Result<(Vec<SourceSpec>, Vec<Copy>), SourceError> {
    let mut copies = Vec::new();
    let mut read = Vec::new();
    for spec in specs {
        let (name, from): (_, io::Result<Box<dyn io::Read>>) = match &spec {
            SourceSpec::Stdin => ("-".to_owned(), Ok(Box::new(io::stdin().lock()))),
            SourceSpec::Path(path) if path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) => {
                (path.display().to_string(), File::open(path).map(|file| Box::new(file) as _))
            }
            SourceSpec::Path(_) | SourceSpec::Url(_) => {
                read.push(spec);
                continue;
            }
        };
        let copy = from.and_then(|mut from| {
            let mut to = tempfile::Builder::new().prefix("inrush-source-").tempfile()?;
            io::copy(&mut from, &mut to)?;
            Ok(to.into_temp_path())
        });
        let path = copy.map_err(|error| {
            SourceError::io(&name, "cannot be copied to a temporary file (TMPDIR says where)", error)
        })?;
        read.push(SourceSpec::Path(path.to_path_buf()));
        copies.push(Copy { path, of: name });
    }
    Ok((read, copies))
}

/// The value of a field from a folder name.
fn folder((name, json): &(String, String)) -> (String, ScalarValue) {
    let value = match json.parse() {
        Ok(number) => ScalarValue::Int64(Some(number)),
        // This program has written the value, as a number or as a string.
        Err(_) => ScalarValue::Utf8(serde_json::from_str(json).ok()),
    };
    (name.clone(), value)
}

/// The columns of all files, and the fields of their folders.
fn merge(
    schemas: &[SchemaRef],
    names: &[String],
    folders: &[Vec<(String, ScalarValue)>],
) -> Result<Schema, SourceError> {
    let mut fields: Vec<(Field, &str)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (schema, name) in schemas.iter().zip(names) {
        for field in schema.fields() {
            match places.get(field.name()).map(|at| &fields[*at]) {
                None => {
                    places.insert(field.name().clone(), fields.len());
                    fields.push((field.as_ref().clone().with_nullable(true), name));
                }
                Some((known, _)) if known.data_type() == field.data_type() => {}
                Some((known, other)) => {
                    return Err(SourceError::new(
                        name,
                        format!(
                            "column {} is {} here and {} in {other}; make each a table by itself, and join them with UNION ALL and CAST",
                            field.name(),
                            field.data_type(),
                            known.data_type()
                        ),
                    ));
                }
            }
        }
    }
    for (name, value) in folders.iter().flatten() {
        if !places.contains_key(name) {
            places.insert(name.clone(), fields.len());
            fields.push((Field::new(name, value.data_type(), true), ""));
        }
    }
    Ok(Schema::new(fields.into_iter().map(|(field, _)| field).collect::<Vec<_>>()))
}

/// Reads all documents with `workers` threads.
fn look(files: Files, workers: usize) -> Result<Object, SourceError> {
    let reading = Mutex::new((files, Vec::<SourceId>::new(), None));
    let work = || {
        let mut shape = Object::default();
        loop {
            let (chunk, columns) = {
                // A thread that panicked makes the others panic at the end of the scope.
                let mut reading = reading.lock().unwrap_or_else(PoisonError::into_inner);
                let (files, seen, failed) = &mut *reading;
                let chunk = match files.next_chunk(CHUNK_BYTES) {
                    Ok(Some(chunk)) => chunk,
                    Ok(None) => return shape,
                    Err(error) => {
                        *failed = Some(error);
                        return shape;
                    }
                };
                let columns = match &chunk {
                    Chunk::Raw(raw) if !seen.contains(&raw.origin.source) => {
                        seen.push(raw.origin.source);
                        raw.decoder.columns()
                    }
                    _ => Vec::new(),
                };
                (chunk, columns)
            };
            shape.add(&columns);
            let block = chunk.into_block();
            let mut refused = block.rejects.iter().map(|reject| reject.record as usize).peekable();
            for at in 0..block.records.len() {
                if refused.next_if_eq(&at).is_none() {
                    shape.observe(block.record(at));
                }
            }
        }
    };
    let mut shape = Object::default();
    std::thread::scope(|scope| {
        // If the system starts no more threads, the existing ones do the work.
        let more = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let threads: Vec<_> = (1..workers.max(1)).map_while(more).collect();
        shape = work();
        for thread in threads {
            match thread.join() {
                Ok(other) => shape.join(other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    let (_, _, failed) = reading.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(shape), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(files: &[(&str, &str)]) -> Result<Table, SourceError> {
        let folder = tempfile::tempdir().unwrap();
        let sources = files.iter().map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            SourceSpec::new(path)
        });
        let spec = TableSpec { name: "t".to_owned(), sources: sources.collect(), format: FormatOptions::default() };
        Table::open(spec, 0, 2)
    }

    fn columns(files: &[(&str, &str)]) -> String {
        let table = table(files).unwrap();
        let fields = table.schema.fields().iter();
        fields.map(|field| format!("{}: {}", field.name(), field.data_type())).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn all_columns_of_a_header_are_there_in_its_order() {
        assert_eq!(columns(&[("a.csv", "z,empty,a\n1,,x\n")]), "z: Int64; empty: Utf8; a: Utf8");
        assert_eq!(
            columns(&[("a.csv", "z,a\n01,1\n2,1.5\n"), ("b.csv", "b\ntrue\n")]),
            "z: Utf8; a: Float64; b: Boolean"
        );
    }

    #[test]
    fn files_without_documents_are_no_table() {
        assert!(table(&[("a.ndjson", "")]).unwrap_err().to_string().contains("no document"));
        assert_eq!(columns(&[("a.csv", "x,y\n")]), "x: Utf8; y: Utf8");
    }

    #[test]
    fn folders_have_types() {
        let int = folder(&("year".to_owned(), "2024".to_owned()));
        let text = folder(&("c".to_owned(), "\"F\\\"R\"".to_owned()));
        assert_eq!((int.1, text.1), (ScalarValue::Int64(Some(2024)), ScalarValue::from("F\"R")));
    }
}
