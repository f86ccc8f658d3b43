//! CSV, TSV and other text of cells, written as JSON directly.

mod basis;
mod columns;
mod decode;
pub(crate) mod dialect;
mod escaped;
mod infer;
mod options;
mod placeholders;
mod row;
mod scan;
mod surprises;
mod texts;
mod top;
mod value;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use inrush_core::FieldType;

use self::basis::{Basis, Column};
use self::decode::CsvDecode;
use self::dialect::Layout;
pub use self::infer::column_names;
use self::infer::{Shown, infer};
pub(super) use self::options::Context;
pub use self::options::{CsvOptions, Header};
use self::surprises::Surprises;
use self::texts::Texts;
use self::top::Top;
pub use self::value::{ColumnType, is_date};
pub(super) use self::value::{push_in_zone, push_value};
use super::Decode;
use super::cut::Boundary;
use super::input::Input;
use super::lines::RecordsHint;
use super::warnings::{FRACTIONS, fractions_of};

/// How much of the sample is made into documents, to measure how much longer they are than their
/// rows, bytes.
const GROWTH_LEN: usize = 256 << 10;

/// A file of cells with known columns.
pub(super) struct Table {
    pub(super) boundary: Boundary,
    pub(super) decoder: Arc<dyn Decode>,
    /// Bytes of documents for a byte of text.
    pub(super) growth: f64,
    /// Offset of the first byte that is left in the input.
    pub(super) first_byte: u64,
}

/// Determines columns and types from the beginning of a file. `types` holds the types found in
/// earlier files of the job, so that a column keeps its type from file to file.
pub(super) fn prepare(
    input: &mut Input,
    context: Context<'_>,
    types: &mut HashMap<String, ColumnType>,
) -> Result<Table, String> {
    let options = context.options;
    let skipped = top::skip_lines(input, options.skip_lines);
    let first_byte = context.first_byte + skipped.bytes;
    let (dialect, mut data_start) = top::dialect(input, &context);
    options.check_separator(dialect.separator)?;
    let boundary = Boundary::Csv(dialect);
    let sample = top::sample(input, &context, boundary, data_start)?;
    let Top { names, cells, header, rows_start } = top::top(&sample[data_start..], dialect, &context)?;
    let layout = Layout::with_header(dialect, &cells, header);
    data_start += rows_start;
    // A file without any row cannot contradict a schema.
    let known: HashSet<&str> = names.iter().map(String::as_str).collect();
    let undeclared = |name: &&(String, ColumnType)| !known.contains(name.0.as_str());
    if let Some((missing, _)) = options.schema.iter().find(undeclared).filter(|_| !names.is_empty()) {
        return Err(format!(
            "the schema names column {missing:?}, which does not exist; columns are {}",
            names.join(", ")
        ));
    }
    let data = &sample[data_start..];
    let (columns, layout) = columns(names, data, layout, &context, types);
    let texts = Texts::new(context.texts, &columns);
    let mut decoder = CsvDecode {
        names: columns.iter().map(|column| column.name().to_owned()).collect(),
        columns,
        nulls: options.nulls.clone(),
        pushes_nulls: context.rows.nulls,
        comma: options.decimal_comma,
        layout,
        first_byte,
        skipped_lines: skipped.lines,
        data_start: first_byte + data_start as u64,
        record_bytes_max: context.record_bytes_max,
        valid: context.valid,
        source: context.source.to_owned(),
        warnings: context.warnings.clone(),
        pool: Arc::clone(context.pool),
        records: RecordsHint::default(),
        growth: 1.0,
        surprises: Surprises::new(first_byte),
        texts,
    };
    let part = &data[..data.len().min(GROWTH_LEN)];
    let growth = decoder.growth_of(&part[..boundary.last_end(part).unwrap_or(part.len())]);
    decoder.growth = growth;
    Ok(Table { boundary, decoder: Arc::new(decoder), growth, first_byte })
}

/// The columns with their types: declared, or found in an earlier file, or in the first rows of
/// this one. The layout leaves no row out that may be the only cell of a text.
fn columns(
    names: Vec<String>,
    data: &[u8],
    mut layout: Layout,
    context: &Context<'_>,
    types: &mut HashMap<String, ColumnType>,
) -> (Vec<Column>, Layout) {
    let (options, fields) = (context.options, &context.rows.fields);
    // If two entries name the same column, the later one counts.
    let declared: HashMap<&str, ColumnType> =
        options.schema.iter().map(|(name, found)| (name.as_str(), *found)).collect();
    // A date whose field has a format with a blank is sent as its cell is.
    let spaced = fields.all(FieldType::SpacedDate);
    let text: HashSet<&str> = options.text_columns.iter().map(String::as_str).chain(spaced).collect();
    let rows_max = if options.all_strings || options.each_cell { 0 } else { options.infer_rows };
    let shown = infer(data, &layout, names.len(), rows_max, options);
    let column = |(name, shown): (String, Shown)| {
        if let Some(declared) = declared.get(name.as_str()) {
            return Column::new(
                name,
                match options.time_zone.filter(|_| declared.is_timestamp()) {
                    Some(zone) => Basis::InZone(*declared, zone),
                    None => Basis::Declared(*declared),
                },
            );
        }
        let is_new = !types.contains_key(&name);
        if let Some(column_type) = shown.column_type {
            types.entry(name.clone()).or_insert(column_type);
        }
        let basis = match types.get(&name) {
            _ if options.all_strings || text.contains(name.as_str()) => Basis::Declared(ColumnType::String),
            _ if options.each_cell => Basis::EachCell { comma: options.decimal_comma },
            Some(shown) => Basis::Shown(*shown),
            None => Basis::Nothing,
        };
        if let (Some(oddity), true, Basis::Shown(_)) = (shown.oddity, is_new, basis) {
            context.warnings.add(context.source, oddity.kind(), &name, 1, || oddity.message(&name));
        }
        Column::new(name, basis)
    };
    let columns: Vec<Column> = names.into_iter().zip(shown).map(column).collect();
    if let [only] = &columns[..]
        && only.is_text()
    {
        layout = Layout::new(layout.dialect);
    }
    warn_of_fractions(&columns, context);
    (columns, layout)
}

/// Warns of numbers with fractions in fields for whole numbers.
fn warn_of_fractions(columns: &[Column], context: &Context<'_>) {
    let is_fraction = |column: &&Column| {
        let (Basis::Declared(found) | Basis::Shown(found)) = column.basis() else { return false };
        matches!(found, ColumnType::Float | ColumnType::DecimalComma)
    };
    for column in columns.iter().filter(is_fraction) {
        let name = column.name();
        if context.rows.fields.of(name) == Some(FieldType::Whole) {
            context.warnings.add(context.source, FRACTIONS, name, 1, || fractions_of(name));
        }
    }
}
