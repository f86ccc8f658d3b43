//! The formats of the sources, from their options.

use crate::options::{ByteSize, ColumnSchema, Count, OptionError, OptionGroup, OptionInfo, ReadingOptions};
use inrush_sources::{
    Chosen, ColumnType, CsvOptions, Format, FormatOptions, Formats, Given, Header, Parse, SheetOptions,
};

/// Options that make fields of the parts of a line.
const PARSED: [&str; 3] = ["parse", "parse_regex", "fixed_width"];

impl ReadingOptions {
    /// The format options of the sources. `document_bytes_max` is the largest document.
    ///
    /// # Errors
    /// Options that do not apply to the format, or contradict each other.
    pub fn format_options(&self, document_bytes_max: usize) -> Result<FormatOptions, OptionError> {
        check(self)?;
        let ReadingOptions {
            include,
            exclude,
            format,
            records,
            field,
            parse: _,
            parse_regex: _,
            fixed_width: _,
            separator,
            quote,
            escape,
            trim,
            comment,
            skip_lines,
            sheet,
            header_row,
            workbook_bytes,
            no_header,
            columns,
            schema,
            decimal,
            all_strings,
            null,
            validate,
            extended_json,
            no_hive_partitions,
            timestamps,
            binary,
            store_option: _,
            vectors: _,
            charset,
        } = self.clone();
        let default = FormatOptions::default();
        let decimal_comma = decimal.is_some_and(|decimal| decimal.is_comma);
        Ok(FormatOptions {
            format,
            records,
            charset,
            text_field: field.clone().unwrap_or(default.text_field),
            vector_field: field.unwrap_or(default.vector_field),
            parse: parse(self),
            csv: CsvOptions {
                separator: separator.map(|separator| separator.0),
                quote: quote.map_or(Some(b'"'), |quote| quote.0),
                escape: escape.map(|escape| escape.0),
                trim,
                comment: comment.map(|comment| comment.0),
                skip_lines: skip_lines.map_or(0, |lines| lines.get()),
                header: header(columns, no_header),
                schema: typed(schema, decimal_comma),
                decimal_comma,
                all_strings,
                nulls: null,
                ..CsvOptions::default()
            },
            document_bytes_max,
            sheet: part_of_workbooks(sheet, header_row, workbook_bytes),
            validate,
            extended_json,
            hive_partitions: !no_hive_partitions,
            only_columns: None,
            timestamps: timestamps.unwrap_or_default(),
            binary: binary.unwrap_or_default(),
            chosen: Chosen { include, exclude },
            given: Given(self.given().map(|info| (info.name, info.formats)).collect()),
        })
    }

    /// The given options that apply only to files.
    pub(super) fn for_files(&self) -> impl Iterator<Item = &'static OptionInfo> {
        self.given().filter(|info| !info.is_of_rows())
    }

    /// The given options that apply to rows of no file, too.
    pub(super) fn for_rows(&self) -> impl Iterator<Item = &'static OptionInfo> {
        self.given().filter(|info| info.is_of_rows())
    }
}

/// The part of workbooks that is read.
fn part_of_workbooks(sheet: Option<String>, header_row: Option<Count>, bytes: Option<ByteSize>) -> SheetOptions {
    SheetOptions {
        sheet,
        header_row: header_row.map(|row| row.get()),
        bytes_max: bytes.map_or(SheetOptions::default().bytes_max, ByteSize::bytes),
    }
}

/// The origin of the columns' names.
fn header(columns: Vec<String>, no_header: bool) -> Header {
    match (columns.is_empty(), no_header) {
        (false, _) => Header::Names(columns),
        (true, true) => Header::Numbered,
        (true, false) => Header::FirstRow,
    }
}

/// The types of columns.
fn typed(schema: Vec<ColumnSchema>, decimal_comma: bool) -> Vec<(String, ColumnType)> {
    schema.into_iter().map(|column| (column.name, column.column_type.with_comma(decimal_comma))).collect()
}

/// The option by which lines of text are parsed.
pub(super) fn parse(options: &ReadingOptions) -> Option<Parse> {
    if !options.fixed_width.is_empty() {
        return Some(Parse::FixedWidth(options.fixed_width.clone()));
    }
    options.parse_regex.clone().map(Parse::Regex).or(options.parse.map(Parse::Named))
}

/// Refuses options that do not apply to the given format.
fn check(options: &ReadingOptions) -> Result<(), OptionError> {
    let parsed = options.given().map(|info| info.name).find(|name| PARSED.contains(name));
    if let (Some(name), Some(_)) = (parsed, &options.field) {
        let message = format!("option `field` does not work with option `{name}`, which names the fields");
        let is_text = options.format.is_none_or(|format| format == Format::Text);
        if is_text {
            return Err(OptionError::conflict(message).of("field").hint("leave it out"));
        }
    }
    let Some(format) = options.format else { return Ok(()) };
    // This one may be about other tables of a query.
    for info in options.for_files().filter(|info| info.name != "workbook_bytes") {
        let Some(Formats { whose, format: other, .. }) =
            info.formats.filter(|formats| !formats.have(format, parsed.is_some()))
        else {
            continue;
        };
        let name = info.name;
        let message =
            format!("option `{name}` is for {whose} and does not work with option `format={}`", format.name());
        return Err(OptionError::conflict(message)
            .of(name)
            .hint(format!("leave it out, or use option `format={other}`")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(options: &[(&str, &str)]) -> ReadingOptions {
        let mut reading = ReadingOptions::default();
        for (name, value) in options {
            let set = match *value {
                "" => reading.set(name, serde_json::Value::Bool(true).into()),
                value => reading.set(name, value.into()),
            };
            set.unwrap().unwrap();
        }
        reading
    }

    #[test]
    fn formats() {
        let options = [
            ("format", "tsv"),
            ("quote", "none"),
            ("schema", "a:b:float,c:string"),
            ("no_header", ""),
            ("null", "a,b"),
        ];
        let format = reading(&options).format_options(7).unwrap();
        assert_eq!((format.format, format.document_bytes_max), (Some(Format::Tsv), 7));
        assert_eq!((format.csv.quote, format.csv.header), (None, Header::Numbered));
        assert_eq!(format.csv.schema[0], ("a:b".to_owned(), ColumnType::Float));
        let comma = reading(&[("schema", "p:float,n:integer"), ("decimal", ",")]).format_options(1).unwrap().csv;
        let types: Vec<_> = comma.schema.iter().map(|(_, found)| *found).collect();
        assert_eq!((types, comma.decimal_comma), (vec![ColumnType::DecimalComma, ColumnType::Integer], true));
        assert_eq!(format.csv.nulls, ["a,b"]);
    }

    #[test]
    fn options_for_another_format_are_refused() {
        for (options, expected) in [
            (&[("format", "csv"), ("field", "f")][..], "option `field` is for text and files of vectors"),
            (&[("format", "ndjson"), ("columns", "a")], "option `columns` is for CSV"),
            (&[("format", "parquet"), ("null", "NA")], "option `null` is for CSV"),
            (&[("format", "csv"), ("sheet", "Data")], "option `sheet` is for workbooks"),
            (&[("format", "csv"), ("parse", "combined")], "option `parse` is for text"),
            (&[("parse", "combined"), ("field", "f")], "option `field` does not work with option `parse`"),
            (&[("format", "text"), ("null", "NA")], "option `null` is for CSV"),
        ] {
            let error = reading(options).format_options(1).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(reading(&[("format", "excel"), ("no_header", "")]).format_options(1).is_ok());
        for name in ["timestamps", "binary"] {
            let value = if name == "binary" { "text" } else { "iso" };
            // They may be about the rows of a query.
            assert!(reading(&[("format", "ndjson"), (name, value)]).format_options(1).is_ok(), "{name}");
        }
        assert!(
            reading(&[("format", "text"), ("parse_regex", "(?<a>.)"), ("schema", "a:string")])
                .format_options(1)
                .is_ok()
        );
    }
}
