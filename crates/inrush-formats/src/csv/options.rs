//! How delimited text is read.

use std::collections::HashSet;
use std::sync::Arc;

use inrush_core::RowForm;
use inrush_core::zone::Zone;
use serde::Serialize;

use super::value::ColumnType;
use crate::buffer::BufferPool;
use crate::warnings::Warnings;

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
    /// counts as empty. Without a quote, this byte and a letter are a control character: `\n`,
    /// `\t`. Default: none.
    pub escape: Option<u8>,
    /// The byte that begins lines which are left out. Default: none.
    pub comment: Option<u8>,
    /// Lines at the beginning of each file that are left out. Default: none.
    pub skip_lines: u32,
    /// Whether blanks around cells, and around their quotes, do not count. Default: they do.
    pub trim: bool,
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
    /// Whether numbers in columns without a declared type have a comma before their fraction, as in
    /// `1.234,56`. Default: a dot.
    pub decimal_comma: bool,
    /// The zone of times that name none, in columns that `schema` calls a timestamp. They are
    /// written with its offset then. Default: as they are.
    pub time_zone: Option<Zone>,
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
            comment: None,
            skip_lines: 0,
            trim: false,
            header: Header::FirstRow,
            schema: Vec::new(),
            all_strings: false,
            text_columns: Vec::new(),
            decimal_comma: false,
            time_zone: None,
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
    pub(crate) fn check(&self) -> Result<(), String> {
        let bytes =
            [("separator", self.separator), ("quote", self.quote), ("escape", self.escape), ("comment", self.comment)];
        for (what, byte) in bytes {
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
        if self.comment.is_some() && [self.quote, self.escape].contains(&self.comment) {
            return Err("comment is the same character as quote or escape; give another one of them".to_owned());
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
    pub(super) fn check_separator(&self, separator: u8) -> Result<(), String> {
        let same = |what| {
            let separator = char::from(separator);
            Err(format!("separator and {what} are the same character, {separator:?}; give another one of them"))
        };
        match Some(separator) {
            separator if separator == self.quote => same("quote"),
            separator if separator == self.escape => same("escape"),
            separator if separator == self.comment => same("comment"),
            _ => Ok(()),
        }
    }
}

/// Whether a cell counts as empty.
#[inline]
pub(super) fn is_null(nulls: &[String], cell: &[u8]) -> bool {
    cell.is_empty() || nulls.iter().any(|null| null.as_bytes() == cell)
}

/// Whether a cell has a value, and a blank before or after it.
pub(super) fn has_blanks_around(cell: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    (is_blank(cell.first()) || is_blank(cell.last())) && !cell.trim_ascii().is_empty()
}

/// The settings for reading a table.
pub(crate) struct Context<'a> {
    pub(crate) options: &'a CsvOptions,
    /// Columns whose original text is kept.
    pub(crate) texts: &'a [String],
    /// How rows are written for the load.
    pub(crate) rows: &'a RowForm,
    /// The separator of the file name or the format.
    pub(crate) separator: u8,
    pub(crate) record_bytes_max: usize,
    /// Offset of the input's first byte.
    pub(crate) first_byte: u64,
    /// Whether the text is known to be UTF-8.
    pub(crate) valid: bool,
    pub(crate) source: &'a str,
    pub(crate) warnings: &'a Warnings,
    pub(crate) pool: &'a Arc<BufferPool>,
}
