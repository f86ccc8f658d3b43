//! The formats of the sources, from their options.

use crate::options::{ByteSize, OptionError, OptionGroup, OptionInfo, ReadingOptions};
use inrush_sources::{CsvOptions, Format, FormatOptions, Header, Parse, SheetOptions};

/// The kind of format to which an option applies, if it is only one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Columns,
    Lines,
    OneField,
    Sheets,
    Any,
}

/// The kind of format of the option with this name.
fn purpose(name: &str) -> For {
    match name {
        "separator" | "quote" | "escape" | "no_header" | "columns" | "schema" | "all_strings" | "null" => For::Columns,
        "parse" | "parse_regex" | "fixed_width" => For::Lines,
        "field" => For::OneField,
        "sheet" | "header_row" | "workbook_bytes" => For::Sheets,
        _ => For::Any,
    }
}

impl ReadingOptions {
    /// The format options of the sources. `document_bytes_max` is the largest document.
    ///
    /// # Errors
    /// Options that do not apply to the format, or contradict each other.
    pub fn format_options(&self, document_bytes_max: usize) -> Result<FormatOptions, OptionError> {
        check(self)?;
        let ReadingOptions {
            format,
            records,
            field,
            parse: _,
            parse_regex: _,
            fixed_width: _,
            separator,
            quote,
            escape,
            sheet,
            header_row,
            workbook_bytes,
            no_header,
            columns,
            schema,
            all_strings,
            null,
            validate,
            no_hive_partitions,
            timestamps,
            // These apply to the addresses of the sources.
            store_option: _,
            charset,
        } = self.clone();
        Ok(FormatOptions {
            format,
            records,
            charset,
            text_field: field.unwrap_or_else(|| "message".to_owned()),
            parse: parse(self),
            csv: CsvOptions {
                separator: separator.map(|separator| separator.0),
                quote: quote.map_or(Some(b'"'), |quote| quote.0),
                escape: escape.map(|escape| escape.0),
                header: match (columns.is_empty(), no_header) {
                    (false, _) => Header::Names(columns),
                    (true, true) => Header::Numbered,
                    (true, false) => Header::FirstRow,
                },
                schema: schema.into_iter().map(|column| (column.name, column.column_type)).collect(),
                all_strings,
                nulls: null,
                ..CsvOptions::default()
            },
            document_bytes_max,
            sheet: SheetOptions {
                sheet,
                header_row: header_row.map(|row| row.get()),
                bytes_max: workbook_bytes.map_or(SheetOptions::default().bytes_max, ByteSize::bytes),
            },
            validate,
            hive_partitions: !no_hive_partitions,
            only_columns: None,
            timestamps: timestamps.unwrap_or_default(),
        })
    }

    /// The given options that apply only to files.
    pub(super) fn for_files(&self) -> impl Iterator<Item = &'static OptionInfo> {
        self.given().filter(|info| info.name != "timestamps")
    }

    /// The first given option for this kind of format.
    fn first(&self, what: For) -> Option<&'static str> {
        self.given().map(|info| info.name).find(|name| purpose(name) == what)
    }
}

/// The option by which lines of text are parsed.
fn parse(options: &ReadingOptions) -> Option<Parse> {
    if !options.fixed_width.is_empty() {
        return Some(Parse::FixedWidth(options.fixed_width.clone()));
    }
    options.parse_regex.clone().map(Parse::Regex).or(options.parse.map(Parse::Named))
}

/// Refuses options that do not apply to the given format.
fn check(options: &ReadingOptions) -> Result<(), OptionError> {
    let parsed = options.first(For::Lines);
    if let (Some(name), Some(_)) = (parsed, &options.field) {
        let message = format!("option `field` does not work with option `{name}`, which names the fields");
        let is_text = options.format.is_none_or(|format| format == Format::Text);
        if is_text {
            return Err(OptionError::conflict(message).of("field").hint("leave it out"));
        }
    }
    let Some(format) = options.format else { return Ok(()) };
    // Of the options for columns, those about names also apply to workbooks, and types to parsed
    // lines.
    let for_columns = |name: &str| match name {
        _ if matches!(format, Format::Csv | Format::Tsv) => true,
        "no_header" | "columns" => format == Format::Excel,
        "schema" => parsed.is_some(),
        _ => false,
    };
    for name in options.given().map(|info| info.name) {
        let (is_fine, whose, other) = match purpose(name) {
            For::Any => continue,
            For::Columns => (for_columns(name), "CSV", "csv"),
            For::Lines | For::OneField => (format == Format::Text, "text", "text"),
            For::Sheets => (format == Format::Excel, "workbooks", "excel"),
        };
        if !is_fine {
            let message =
                format!("option `{name}` is for {whose} and does not work with option `format={}`", format.name());
            return Err(OptionError::conflict(message)
                .of(name)
                .hint(format!("leave it out, or use option `format={other}`")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_sources::ColumnType;

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
        assert_eq!(format.csv.nulls, ["a,b"]);
    }

    #[test]
    fn options_for_another_format_are_refused() {
        for (options, expected) in [
            (&[("format", "csv"), ("field", "f")][..], "option `field` is for text"),
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
        assert!(
            reading(&[("format", "text"), ("parse_regex", "(?<a>.)"), ("schema", "a:string")])
                .format_options(1)
                .is_ok()
        );
    }
}
