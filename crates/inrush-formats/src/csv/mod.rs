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
use self::infer::{Oddity, Shown, infer};
pub(super) use self::options::Context;
pub use self::options::{CsvOptions, Header};
use self::row::{Row, RowSink};
use self::scan::scan_rows;
use self::surprises::Surprises;
use self::texts::Texts;
use self::top::Top;
pub use self::value::{ColumnType, is_date};
pub(super) use self::value::{push_in_zone, push_value};
use super::Decode;
use super::cut::Boundary;
use super::input::Input;
use super::lines::RecordsHint;
use super::warnings::{FRACTIONS, TITLE, fractions_of, title_of};

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

/// Takes rows for the sake of their lines.
struct Nothing;

impl RowSink for Nothing {
    fn cell(&mut self, _: usize, _: &[u8]) {}

    fn row(&mut self, _: Row) -> bool {
        true
    }
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
    let Top { names, named, cells, header, rows_start } = top::top(&sample[data_start..], dialect, &context)?;
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
    let above = scan_rows(&sample[..data_start], &Layout::new(dialect), &mut Nothing).lines + skipped.lines;
    let (mut columns, layout) = columns((names, named), (data, above), layout, &context, types);
    for column in &mut columns {
        column.is_key = context.texts.contains(&column.name);
    }
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
/// this one, which are below some lines. Numbers of a field that the target maps as a number are
/// numbers, beside any other cells, and cells of one that it maps as text are text. The layout
/// leaves no row out that may be the only cell of a text.
fn columns(
    (names, named): (Vec<String>, Vec<bool>),
    (data, above): (&[u8], u64),
    mut layout: Layout,
    context: &Context<'_>,
    types: &mut HashMap<String, ColumnType>,
) -> (Vec<Column>, Layout) {
    let (options, fields) = (context.options, &context.rows.fields);
    // If two entries name the same column, the later one counts.
    let declared: HashMap<&str, ColumnType> =
        options.schema.iter().map(|(name, found)| (name.as_str(), *found)).collect();
    // Where each cell has its own type, the first rows show only the point of the numbers.
    let is_shown = !options.each_cell || options.decimal_comma;
    let rows_max = if options.all_strings || !is_shown { 0 } else { options.infer_rows };
    let shown = infer(data, &layout, (names.len(), above), rows_max, options);
    let with_values = named.into_iter().zip(&shown).filter(|(_, shown)| shown.column_type.is_some());
    if let Some(message) = title_of(with_values.map(|(named, _)| named), "leave it out with option `skip_lines`") {
        context.warnings.add(context.source, TITLE, "", 1, || message);
    }
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
        let field = fields.of(&name);
        let is_number = matches!(field, Some(FieldType::Whole | FieldType::Fraction));
        // A date whose field has a format with a blank is sent as its cell is, and so is what a
        // field of strings takes: a server indexes the number 1.10 there as 1.1.
        let is_text =
            matches!(field, Some(FieldType::SpacedDate | FieldType::Text)) || options.text_columns.contains(&name);
        let numbers = shown.numbers.filter(|_| is_number);
        if let Some(column_type) = numbers.or(shown.column_type) {
            types.entry(name.clone()).or_insert(column_type);
        }
        let earlier = types.get(&name).copied();
        let found = if earlier == Some(ColumnType::String) { numbers.or(earlier) } else { earlier };
        let basis = match found {
            _ if options.all_strings || is_text => Basis::Declared(ColumnType::String),
            _ if options.each_cell => Basis::EachCell { comma: options.decimal_comma },
            Some(found) => Basis::Shown(found),
            None => Basis::Nothing,
        };
        let is_as_shown = matches!(basis, Basis::Shown(found) if shown.column_type == Some(found));
        // Where the target has text, strings are right.
        let is_due = is_new && field != Some(FieldType::Text);
        let is_told = |oddity: &Oddity| is_as_shown || options.each_cell && oddity.is_of_points();
        if let Some(oddity) = shown.oddity.filter(|oddity| is_due && is_told(oddity)) {
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
