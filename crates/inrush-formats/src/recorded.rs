//! The options of reading as text that a checkpoint records, so that a later version continues the
//! load.

use serde::Serialize;
use serde_json::{Map, Value};

use super::format::FormatOptions;

/// Text that is equal for two sets of options where both make the same documents of a file.
///
/// It is a JSON object of the options that differ from their defaults, so a version that has more
/// options writes the same text. A default that changes would give old text another meaning: the
/// checkpoint needs another format number then. A test holds the defaults.
pub fn text(options: &FormatOptions) -> String {
    let mut changed = Value::Object(differing(members(options), &members(&FormatOptions::default())));
    changed.sort_all_objects();
    changed.to_string()
}

fn members(options: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(options) {
        Ok(Value::Object(members)) => members,
        other => unreachable!("options are a struct whose keys are names: {other:?}"),
    }
}

fn differing(options: Map<String, Value>, defaults: &Map<String, Value>) -> Map<String, Value> {
    let differing = options.into_iter().filter_map(|(name, value)| match (value, defaults.get(&name)) {
        (Value::Object(inner), Some(Value::Object(defaults))) => {
            let inner = differing(inner, defaults);
            (!inner.is_empty()).then(|| (name, inner.into()))
        }
        (value, default) => (default != Some(&value)).then_some((name, value)),
    });
    differing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::{ColumnType, CsvOptions, Header};
    use crate::format::{Format, SheetOptions, Timestamps};
    use crate::parse::{FixedColumn, LogFormat, Parse};

    /// Options and their text.
    fn examples() -> Vec<(FormatOptions, &'static str)> {
        let default = FormatOptions::default;
        let csv = CsvOptions {
            separator: Some(b';'),
            quote: None,
            escape: Some(b'\\'),
            comment: None,
            skip_lines: 0,
            trim: false,
            header: Header::Names(vec!["a \"b\"".to_owned(), "é\n".to_owned()]),
            schema: vec![("n".to_owned(), ColumnType::Integer), ("t".to_owned(), ColumnType::Timestamp)],
            all_strings: true,
            text_columns: vec!["zip".to_owned()],
            decimal_comma: false,
            time_zone: None,
            each_cell: true,
            nulls: vec!["\\N".to_owned()],
            infer_rows: 5,
            infer_bytes: 1 << 20,
        };
        let sheet = SheetOptions { sheet: Some("Sheet 2".to_owned()), header_row: Some(3), bytes_max: 0 };
        let columns = vec![
            FixedColumn { name: "id".to_owned(), first: 1, last: Some(4) },
            FixedColumn { name: "rest".to_owned(), first: 5, last: None },
        ];
        vec![
            (default(), "{}"),
            (
                FormatOptions { csv, format: Some(Format::Csv), charset: "latin1".parse().ok(), ..default() },
                include_str!("recorded/csv.json"),
            ),
            (
                FormatOptions {
                    records: "hits.hits".parse().ok(),
                    charset: "ascii".parse().ok(),
                    text_field: "line".to_owned(),
                    parse: Some(Parse::Regex(r"^(?<a>\d+) '(?<b>.*)'$".to_owned())),
                    document_bytes_max: 1024,
                    validate: true,
                    hive_partitions: false,
                    only_columns: Some(vec!["x".to_owned()]),
                    timestamps: Timestamps::EpochMillis,
                    ..default()
                },
                include_str!("recorded/text.json"),
            ),
            (
                FormatOptions { sheet, parse: Some(Parse::FixedWidth(columns)), ..default() },
                include_str!("recorded/fixed.json"),
            ),
            (
                FormatOptions {
                    parse: Some(Parse::Named(LogFormat::Combined)),
                    csv: CsvOptions { header: Header::Numbered, ..CsvOptions::default() },
                    ..default()
                },
                r#"{"csv":{"header":"Numbered"},"parse":{"Named":"Combined"}}"#,
            ),
        ]
    }

    #[test]
    fn the_text_of_options_stays() {
        for (options, expected) in examples() {
            assert_eq!(text(&options), expected.trim_end());
        }
    }

    #[test]
    fn the_largest_workbook_is_not_recorded() {
        // The limit changes no document, and a later run may raise it.
        let sheet = SheetOptions { bytes_max: 1, ..SheetOptions::default() };
        assert_eq!(text(&FormatOptions { sheet, ..FormatOptions::default() }), "{}");
    }

    /// A checkpoint records no defaults. A default that changes gives the format of checkpoints
    /// another number (`inrush-load/src/checkpoint/state.rs`).
    #[test]
    fn defaults_stay() {
        let defaults = Value::Object(members(&FormatOptions::default()));
        let expected: Value = serde_json::from_str(include_str!("recorded/defaults.json")).unwrap();
        assert_eq!(defaults, expected);
    }
}
