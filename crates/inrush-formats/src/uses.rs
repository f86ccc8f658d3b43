//! The formats for which an option of reading is. An option that no source can use is refused by
//! its name.

use std::fmt;

use inrush_core::Code;

use super::SourceError;
use super::known::Format;

/// The formats for which an option is, a part of its definition.
#[derive(Clone, Copy, Debug)]
pub struct Formats {
    /// The formats, as a message names them.
    pub whose: &'static str,
    /// A name of one of them for option `format`.
    pub format: &'static str,
    /// Whether the option is also for rows that are in no file: those of a query and of data
    /// frames.
    pub is_of_rows: bool,
    /// Whether the option means something for this format. The second argument says whether lines
    /// of text are parsed.
    is_for: fn(Format, bool) -> bool,
}

impl Formats {
    /// CSV and TSV.
    pub const CSV: Formats = Formats::new("CSV", "csv", |format, _| is_csv(format));
    /// Files with a row of names.
    pub const WITH_HEADER: Formats =
        Formats::new("CSV and workbooks", "csv", |format, _| is_csv(format) || format == Format::Excel);
    /// Files whose cells are text.
    pub const WITH_CELLS: Formats = Formats::new("CSV and lines with fields", "csv", |format, is_parsed| {
        is_csv(format) || format == Format::Text && is_parsed
    });
    /// Lines of text.
    pub const TEXT: Formats = Formats::new("text", "text", |format, _| format == Format::Text);
    /// Lines of text, and vectors.
    pub const WITH_ONE_FIELD: Formats = Formats::new("text and files of vectors", "text", |format, _| {
        matches!(format, Format::Text | Format::Vectors(_))
    });
    /// Workbooks.
    pub const WORKBOOKS: Formats = Formats::new("workbooks", "excel", |format, _| format == Format::Excel);
    /// Documents of JSON.
    pub const JSON: Formats = Formats::new("NDJSON and JSON", "ndjson", |format, _| {
        matches!(format, Format::Ndjson | Format::Json | Format::Hits)
    });
    /// Documents that may be extended JSON.
    pub const EXTENDED_JSON: Formats =
        Formats::new("NDJSON and JSON", "ndjson", |format, _| format.takes_extended_json());
    /// Columns with types, and rows of them.
    pub const COLUMNS: Formats = Formats {
        is_of_rows: true,
        ..Formats::new("Parquet, Arrow and Avro", "parquet", |format, _| {
            matches!(format, Format::Parquet | Format::Arrow | Format::Avro)
        })
    };
    /// All formats with a character set.
    pub const WITH_CHARSET: Formats = Formats::new("text", "text", |format, _| !format.is_binary());

    const fn new(whose: &'static str, format: &'static str, is_for: fn(Format, bool) -> bool) -> Self {
        Formats { whose, format, is_of_rows: false, is_for }
    }

    /// Whether an option with these formats means something for this one.
    pub fn have(&self, format: Format, is_parsed: bool) -> bool {
        (self.is_for)(format, is_parsed)
    }
}

fn is_csv(format: Format) -> bool {
    matches!(format, Format::Csv | Format::Tsv)
}

/// The options of reading that the user gave, by their names, and their formats.
#[derive(Clone, Default)]
pub struct Given(pub Vec<(&'static str, Option<Formats>)>);

impl fmt::Debug for Given {
    /// Nothing: their values are elsewhere in the options.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given")
    }
}

/// Options that the user gave, and that no source so far has used.
#[derive(Clone, Debug)]
pub struct Unused {
    options: Vec<(&'static str, Formats)>,
    is_parsed: bool,
}

impl Unused {
    /// Before any source was seen.
    /// `is_parsed`: option `parse` is given.
    pub fn new(given: &Given, is_parsed: bool) -> Self {
        let given = given.0.iter().filter_map(|(option, formats)| Some((*option, (*formats)?)));
        Unused { options: given.collect(), is_parsed }
    }

    /// Whether each option is used.
    pub fn is_empty(&self) -> bool {
        self.options.is_empty()
    }

    /// Takes the format of a source. An empty source has none, and could be of each.
    pub fn see(&mut self, format: Option<Format>) {
        let is_parsed = self.is_parsed;
        self.options.retain(|(_, formats)| format.is_some_and(|format| !formats.have(format, is_parsed)));
    }

    /// The error for the first unused option, if sources of these formats cannot use it either.
    /// The source `name` has this `format`.
    pub fn refused(&self, name: &str, format: Format, others: &[Option<Format>]) -> Option<SourceError> {
        let mut rest = self.clone();
        for other in others {
            rest.see(*other);
        }
        let (option, Formats { whose, format: other, .. }) = *rest.options.first()?;
        let hint = match (option, format) {
            ("header_row", Format::Csv | Format::Tsv) => {
                "leave it out, or leave lines above the header out with option `skip_lines=N`".to_owned()
            }
            ("skip_lines", Format::Excel) => {
                "leave it out, or name the row with the header with option `header_row=N`".to_owned()
            }
            ("schema" | "decimal" | "all_strings" | "null", Format::Excel) => {
                "leave it out, because cells of a workbook have types; to read them as text, make a CSV file of the sheet \
                 with `inrush convert`, and load that with the option"
                    .to_owned()
            }
            _ if format.is_binary() || matches!(other, "excel" | "parquet") => "leave it out".to_owned(),
            _ => format!("leave it out, or give option `format={other}`"),
        };
        let what = if others.is_empty() { "the format" } else { "no source is one: the format here" };
        let message = format!("option `{option}` is for {whose}, but {what} is {}; {hint}", format.name());
        Some(SourceError::new(name, message).coded(Code::OptionsConflict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unused(given: &[(&'static str, Formats)]) -> Unused {
        let given = given.iter().map(|(option, formats)| (*option, Some(*formats)));
        let given = Given([("format", None)].into_iter().chain(given).collect());
        Unused::new(&given, false)
    }

    #[track_caller]
    fn refused(given: (&'static str, Formats), format: Format, expected: &str) {
        let mut unused = unused(&[given]);
        unused.see(Some(format));
        let error = unused.refused("a", format, &[]).map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(&format!("a: option `{}` is for {expected}", given.0)), "{given:?}: {error}");
        assert!(error.contains("leave it out"), "{error}");
    }

    #[test]
    fn an_option_of_another_format_is_refused_by_name() {
        refused(("header_row", Formats::WORKBOOKS), Format::Csv, "workbooks, but the format is csv");
        refused(("sheet", Formats::WORKBOOKS), Format::Ndjson, "workbooks");
        refused(("null", Formats::CSV), Format::Excel, "CSV, but the format is excel");
        refused(("skip_lines", Formats::CSV), Format::Excel, "CSV");
        refused(("columns", Formats::WITH_HEADER), Format::Ndjson, "CSV and workbooks");
        refused(("schema", Formats::WITH_CELLS), Format::Excel, "CSV and lines");
        let schema = unused(&[("schema", Formats::WITH_CELLS)]);
        let error = schema.refused("a.xlsx", Format::Excel, &[]).unwrap().to_string();
        assert!(error.contains("`inrush convert`"), "{error}");
        refused(("schema", Formats::WITH_CELLS), Format::Text, "CSV and lines");
        refused(("field", Formats::TEXT), Format::Csv, "text");
        refused(("validate", Formats::JSON), Format::Csv, "NDJSON and JSON");
        refused(("timestamps", Formats::COLUMNS), Format::Ndjson, "Parquet");
        refused(("charset", Formats::WITH_CHARSET), Format::Avro, "text");
    }

    #[test]
    fn one_source_that_uses_it_is_enough() {
        let mut mixed = unused(&[("separator", Formats::CSV), ("sheet", Formats::WORKBOOKS)]);
        mixed.see(Some(Format::Ndjson));
        mixed.see(Some(Format::Csv));
        let error = mixed.refused("a", Format::Csv, &[Some(Format::Json)]).unwrap().to_string();
        assert!(error.contains("option `sheet`") && error.contains("no source is one"), "{error}");
        // Of others nothing is known, or one may be a workbook.
        assert!(mixed.refused("a", Format::Csv, &[None]).is_none());
        assert!(mixed.refused("a", Format::Csv, &[Some(Format::Excel)]).is_none());
        mixed.see(Some(Format::Excel));
        assert!(mixed.is_empty());
        // An empty source may be of any format.
        let mut empty = unused(&[("separator", Formats::CSV)]);
        empty.see(None);
        assert!(empty.is_empty());
    }
}
