//! CSV, TSV and other text of cells, written as JSON directly.

mod columns;
mod decode;
mod escaped;
mod infer;
mod scan;
mod surprises;
mod texts;
mod value;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use self::decode::{Basis, Column, CsvDecode};
pub use self::infer::column_names;
use self::infer::{FirstRow, first_row, infer};
use self::scan::Dialect;
use self::surprises::Surprises;
use self::texts::Texts;
pub use self::value::ColumnType;
pub(super) use self::value::push_value;
use super::Decode;
use super::buffer::BufferPool;
use super::cut::Boundary;
use super::input::Input;
use super::lines::RecordsHint;
use super::warnings::Warnings;

/// The dialect of delimited text. It is the same for all files of a job. Each file has its own
/// header.
#[derive(Clone, Debug, Serialize)]
pub struct CsvOptions {
    /// The byte between cells. Default: tab for `.tsv` and the format `tsv`, `|` for `.psv`, else a
    /// comma. If the first line has no comma but `;`, tab or `|`, that byte is used (with a
    /// warning).
    pub separator: Option<u8>,
    /// The byte around cells that contain separators, line ends or (doubled) quotes. Default `"`.
    /// `None`: quotes have no meaning.
    pub quote: Option<u8>,
    /// The byte that removes the meaning of a following quote, separator, line end or escape,
    /// inside quotes and outside, as MySQL writes it. An unquoted cell of this byte and `N` then
    /// counts as empty. Default: none.
    pub escape: Option<u8>,
    /// The origin of the column names.
    pub header: Header,
    /// The types of columns. A cell of another type makes its row a reject of kind `bad_value`.
    /// Columns that are not named here get the type of their first cells.
    pub schema: Vec<(String, ColumnType)>,
    /// Whether every column that is not in `schema` is a string. Default: no.
    pub all_strings: bool,
    /// Columns that are strings in the files that have them, unless `schema` says otherwise.
    /// Default: none.
    pub text_columns: Vec<String>,
    /// Whether each cell has its own type, in columns that neither `schema` nor `text_columns`
    /// name. This is for a reader that looks at all cells. Default: no, the first cells decide for
    /// their column.
    pub each_cell: bool,
    /// Cells with exactly these contents, quoted or not, count as empty: `NA`, `\\N`, `null`. An
    /// empty cell is an absent field. Default: none.
    pub nulls: Vec<String>,
    /// The most rows that types are guessed from. Default 10,000.
    pub infer_rows: usize,
    /// The most bytes that types are guessed from. Default 4 MiB.
    pub infer_bytes: usize,
}

/// How much of the sample is made into documents, to measure how much longer they are than their
/// rows, bytes.
const GROWTH_LEN: usize = 256 << 10;

/// The origin of the column names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Header {
    /// The first row of each file. An empty name becomes `c` and the column's number, a repeated
    /// one gets a number.
    #[default]
    FirstRow,
    /// There is no header: columns are `c1`, `c2`, …, as many as the first row has.
    Numbered,
    /// There is no header: these are the names.
    Names(Vec<String>),
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions {
            separator: None,
            quote: Some(b'"'),
            escape: None,
            header: Header::FirstRow,
            schema: Vec::new(),
            all_strings: false,
            text_columns: Vec::new(),
            each_cell: false,
            nulls: Vec::new(),
            infer_rows: 10_000,
            infer_bytes: 4 << 20,
        }
    }
}

impl CsvOptions {
    /// Parses a separator or quote: one ASCII character, `tab` or `\t`.
    pub fn parse_byte(text: &str) -> Result<u8, String> {
        match text.as_bytes() {
            b"tab" | b"\\t" => Ok(b'\t'),
            [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
            _ => Err(format!("{text:?} is not a separator or quote; expected one ASCII character, or `tab`")),
        }
    }

    /// Parses `column:type,…`. A name may contain colons, but no comma.
    pub fn parse_schema(text: &str) -> Result<Vec<(String, ColumnType)>, String> {
        text.split(',')
            .map(|item| {
                let (name, column_type) =
                    item.rsplit_once(':').ok_or_else(|| format!("{item:?} has no type; write it like price:float"))?;
                Ok((name.to_owned(), column_type.parse()?))
            })
            .collect()
    }

    /// Rejects options that contradict each other, so that no file can be read with them.
    pub(super) fn check(&self) -> Result<(), String> {
        for (what, byte) in [("separator", self.separator), ("quote", self.quote), ("escape", self.escape)] {
            if byte.is_some_and(|b| !b.is_ascii() || matches!(b, b'\n' | b'\r')) {
                return Err(format!("the {what} must be one ASCII character and not a line end"));
            }
        }
        if self.escape.is_some() && self.escape == self.quote {
            return Err(
                "escape and quote are the same character; leave the escape out, because a doubled quote needs none"
                    .to_owned(),
            );
        }
        self.separator.map_or(Ok(()), |separator| self.check_separator(separator))?;
        if let Header::Names(names) = &self.header {
            let mut seen = HashSet::new();
            if let Some(name) = names.iter().find(|name| name.is_empty() || !seen.insert(name.as_str())) {
                return Err(format!("column names must be different and not empty, but {name:?} is repeated or empty"));
            }
        }
        Ok(())
    }

    /// Rejects a separator that has another meaning already.
    fn check_separator(&self, separator: u8) -> Result<(), String> {
        let same = |what| {
            let separator = char::from(separator);
            Err(format!("separator and {what} are the same character, {separator:?}; give another one of them"))
        };
        match Some(separator) {
            separator if separator == self.quote => same("quote"),
            separator if separator == self.escape => same("escape"),
            _ => Ok(()),
        }
    }
}

/// Whether a cell counts as empty.
#[inline]
fn is_null(nulls: &[String], cell: &[u8]) -> bool {
    cell.is_empty() || nulls.iter().any(|null| null.as_bytes() == cell)
}

/// A file of cells with known columns.
pub(super) struct Table {
    pub(super) boundary: Boundary,
    pub(super) decoder: Arc<dyn Decode>,
    /// Bytes of documents for a byte of text.
    pub(super) growth: f64,
}

/// The settings for reading a table.
pub(super) struct Context<'a> {
    pub(super) options: &'a CsvOptions,
    /// Columns whose original text is kept.
    pub(super) texts: &'a [String],
    /// The separator of the file name or the format.
    pub(super) separator: u8,
    pub(super) record_bytes_max: usize,
    /// Offset of the input's first byte.
    pub(super) first_byte: u64,
    /// Whether the text is known to be UTF-8.
    pub(super) valid: bool,
    pub(super) source: &'a str,
    pub(super) warnings: &'a Warnings,
    pub(super) pool: &'a Arc<BufferPool>,
}

/// Determines columns and types from the beginning of a file. `types` holds the types found in
/// earlier files of the job, so that a column keeps its type from file to file.
pub(super) fn prepare(
    input: &mut Input,
    context: Context<'_>,
    types: &mut HashMap<String, ColumnType>,
) -> Result<Table, String> {
    let options = context.options;
    let (dialect, mut data_start) = dialect(input, &context);
    let Dialect { separator, quote, escape } = dialect;
    options.check_separator(separator)?;
    let boundary = Boundary::Csv { separator, quote, escape };
    let sample = sample(input, &context, boundary, data_start)?;
    let first = first_row(&sample[data_start..], dialect);
    let names = match (&options.header, first) {
        (Header::Names(names), _) => names.clone(),
        (_, None) => Vec::new(),
        (Header::Numbered, Some(first)) => (1..=first.cells.len()).map(|i| format!("c{i}")).collect(),
        (Header::FirstRow, Some(first)) => {
            data_start += first.next;
            header_names(first, &context)?
        }
    };
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
    let columns = columns(names, data, dialect, options, types);
    let texts = Texts::new(context.texts, &columns);
    let mut decoder = CsvDecode {
        names: columns.iter().map(|column| column.name().to_owned()).collect(),
        columns,
        nulls: options.nulls.clone(),
        dialect,
        data_start: context.first_byte + data_start as u64,
        record_bytes_max: context.record_bytes_max,
        valid: context.valid,
        source: context.source.to_owned(),
        warnings: context.warnings.clone(),
        pool: Arc::clone(context.pool),
        records: RecordsHint::default(),
        growth: 1.0,
        surprises: Surprises::new(context.first_byte),
        texts,
    };
    let part = &data[..data.len().min(GROWTH_LEN)];
    let growth = decoder.growth_of(&part[..boundary.last_end(part).unwrap_or(part.len())]);
    decoder.growth = growth;
    Ok(Table { boundary, decoder: Arc::new(decoder), growth })
}

/// The columns with their types: declared, or found in an earlier file, or in the first rows of
/// this one.
fn columns(
    names: Vec<String>,
    data: &[u8],
    dialect: Dialect,
    options: &CsvOptions,
    types: &mut HashMap<String, ColumnType>,
) -> Vec<Column> {
    // If two entries name the same column, the later one counts.
    let declared: HashMap<&str, ColumnType> =
        options.schema.iter().map(|(name, found)| (name.as_str(), *found)).collect();
    let text: HashSet<&str> = options.text_columns.iter().map(String::as_str).collect();
    let rows_max = if options.all_strings || options.each_cell { 0 } else { options.infer_rows };
    let inferred = infer(data, dialect, names.len(), rows_max, &options.nulls);
    let column = |(name, inferred): (String, Option<ColumnType>)| {
        if let Some(declared) = declared.get(name.as_str()) {
            return Column::new(name, Basis::Declared(*declared));
        }
        if let Some(inferred) = inferred {
            types.entry(name.clone()).or_insert(inferred);
        }
        let basis = match types.get(&name) {
            _ if options.all_strings || text.contains(name.as_str()) => Basis::Declared(ColumnType::String),
            _ if options.each_cell => Basis::EachCell,
            Some(shown) => Basis::Shown(*shown),
            None => Basis::Nothing,
        };
        Column::new(name, basis)
    };
    names.into_iter().zip(inferred).map(column).collect()
}

/// The dialect of the file, and the bytes before its first row: those of a line that names the
/// separator.
fn dialect(input: &mut Input, context: &Context<'_>) -> (Dialect, usize) {
    let CsvOptions { separator, quote, escape, .. } = *context.options;
    let of = |separator| Dialect { separator, quote, escape };
    let head = input.peek(4096, |head| head.contains(&b'\n'));
    if let Some((named, len)) = named_separator(head, context.options) {
        return (of(separator.unwrap_or(named)), len);
    }
    if let Some(separator) = separator {
        return (of(separator), 0);
    }
    let line = head.trim_ascii_start().split(|&b| b == b'\n').next().unwrap_or_default();
    let others: Vec<u8> = [b';', b'\t', b'|']
        .into_iter()
        .filter(|&b| line.contains(&b) && context.options.check_separator(b).is_ok())
        .collect();
    if let (false, &[separator]) = (line.contains(&context.separator), &others[..]) {
        context.warnings.add(context.source, "separator_guessed", "", 1, || {
            let separator = char::from(separator);
            format!(
                "the first line has no {:?}, so {separator:?} is used as the separator; set it with \
                     option `separator`",
                char::from(context.separator)
            )
        });
        return (of(separator), 0);
    }
    (of(context.separator), 0)
}

/// The separator that a first line `sep=;` names, as Excel writes and reads it, and the length of
/// that line. A letter, or a byte with another meaning, makes the line the name of a column.
fn named_separator(head: &[u8], options: &CsvOptions) -> Option<(u8, usize)> {
    let end = head.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    let line = &head[..end];
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let &[ref name @ .., separator] = line else { return None };
    let next = end + 1 + usize::from(head[end..].starts_with(b"\r\n"));
    let separates = separator.is_ascii_punctuation() || separator == b'\t';
    let names = name.eq_ignore_ascii_case(b"sep=") && separates && options.check_separator(separator).is_ok();
    names.then_some((separator, next))
}

/// The first complete rows of the input, which stay in it. The first row begins at byte
/// `rows_start`. As much as types are guessed from, and at least one row.
fn sample<'a>(
    input: &'a mut Input,
    context: &Context<'_>,
    boundary: Boundary,
    rows_start: usize,
) -> Result<&'a [u8], String> {
    // Two rows, so that a slow source has shown one below its header.
    let enough = |head: &[u8]| {
        let rows = head.get(rows_start..).unwrap_or_default();
        boundary.last_end(rows).is_some_and(|end| boundary.last_end(&rows[..end - 1]).is_some())
    };
    let mut bytes = context.options.infer_bytes.max(1);
    loop {
        let head = input.peek(bytes, enough);
        let (len, end) = (head.len(), boundary.last_end(head));
        if input.peeked_all() {
            return Ok(input.peeked());
        }
        if let Some(end) = end {
            return Ok(&input.peeked()[..end]);
        }
        if len > context.record_bytes_max {
            return Err(format!(
                "the first row does not end within {len} bytes; is this delimited text, and its quote {}?",
                context.options.quote.map_or("none".to_owned(), |quote| char::from(quote).to_string())
            ));
        }
        bytes = len.max(bytes) * 2;
    }
}

fn header_names(first: FirstRow, context: &Context<'_>) -> Result<Vec<String>, String> {
    if first.unclosed {
        return Err("a quote in the header is not closed; close it, or give option `quote=none`".to_owned());
    }
    let header = first.cells.into_iter().map(String::from_utf8).collect::<Result<Vec<_>, _>>().map_err(|_| {
        "the header is not UTF-8; give the file's encoding with option `charset`, such as windows-1252".to_owned()
    })?;
    let (names, duplicates) = column_names(&header);
    for name in duplicates {
        context.warnings.add(context.source, "duplicate_column", &name, 1, || {
            format!("column {name:?} appears more than once; a number was added to the later ones")
        });
    }
    Ok(names)
}
