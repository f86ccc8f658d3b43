//! Cells of all kinds, and what has to be true of the documents, the mapping and the Parquet file
//! that are made of them. Also a part of the fuzz target `types`.
// Each user of it has a part of it.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::path::Path;

use inrush_commands::convert::{Again, OutputFormat, convert};
use inrush_sources::{CsvOptions, Format, FormatOptions, Source, SourceError, SourceSpec, Warnings, open};
use serde_json::Value;
use serde_json::value::RawValue;

/// A cell: empty, or one of many kinds.
pub fn cell(&(kind, number, places): &(u8, u64, u8)) -> String {
    let small = number % 10_000;
    let places = usize::from(places % 40);
    match kind % 24 {
        0..3 => String::new(),
        3..7 => small.to_string(),
        7 => (number as i64).to_string(),
        8 => number.to_string(),
        9 => format!("{number}{number}"),
        10 => format!("{small}.0"),
        11 => format!("{small}.{number}"),
        12 => format!("-{}.{}{number}", number % 7, "0".repeat(places)),
        13 => format!("{small}.{small}e{}", places as i64 * 7 - 130),
        14 => format!("{number}e-{places}"),
        15 => format!(".{small}"),
        16 => format!("{small}."),
        17 => format!("00{small}"),
        18 => format!("2024-{:02}-{:02}", number % 14, places),
        19 => format!("2024-01-{:02} {:02}:00", places, number % 30),
        20 => format!("2024-02-03T{:02}:{:02}:05.{small}Z", number % 24, places),
        21 => ["true", "FALSE", "True", "yes"][number as usize % 4].to_owned(),
        22 => ["NaN", "inf", "+5", "1_000", "1e400", "-0", "-0.0", "1e-400", "-", "."][number as usize % 10].to_owned(),
        _ => ["x", "é\n\"", " 1", "{}", "null", "\\", "1,5"][number as usize % 7].to_owned(),
    }
}

/// A number as its sign, its significant digits, and the power of ten of the last digit. `None` if
/// the text is not a number.
pub fn normal(text: &str) -> Option<(bool, String, i64)> {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{before}{behind}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let exponent = exponent.parse::<i64>().ok()? - behind.len() as i64;
    let counting = digits.trim_start_matches('0').trim_end_matches('0');
    if counting.is_empty() {
        return Some((false, String::new(), 0));
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    Some((negative, counting.to_owned(), exponent + zeros as i64))
}

/// Whether a cell is a number without being a code.
fn is_number(cell: &str) -> bool {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let code = digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    !code && normal(cell).is_some() && cell.parse::<f64>().is_ok_and(f64::is_finite)
}

fn is_fraction(cell: &str) -> bool {
    cell.contains(['.', 'e', 'E'])
}

fn is_long(cell: &str) -> bool {
    is_number(cell) && !is_fraction(cell) && cell.parse::<i64>().is_err() && cell.parse::<u64>().is_err()
}

type Document = BTreeMap<String, Box<RawValue>>;

/// Rows of cells, `columns` in each: what is made of them has their values.
pub fn check(infer_rows: usize, columns: usize, cells: &[(u8, u64, u8)]) {
    let mut rows: Vec<Vec<String>> = cells.chunks_exact(columns).map(|row| row.iter().map(cell).collect()).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.csv");
    let header: Vec<String> = (0..columns).map(|at| format!("c{at}")).collect();
    let mut text = format!("{}\n", header.join(","));
    for row in &rows {
        let quoted: Vec<String> = row.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
        text.push_str(&quoted.join(","));
        text.push('\n');
    }
    std::fs::write(&path, text).expect("it can be written");
    // Rows of several cells that are all empty are left out.
    rows.retain(|row| columns == 1 || row.iter().any(|cell| !cell.is_empty()));
    let options = FormatOptions {
        format: Some(Format::Csv),
        csv: CsvOptions { infer_rows, ..CsvOptions::default() },
        ..FormatOptions::default()
    };
    let source = || -> Result<Box<dyn Source>, SourceError> {
        Ok(Box::new(open(&[SourceSpec::new(&path)], options.clone(), &Warnings::default())?))
    };
    let mut ndjson = Vec::new();
    convert(
        source().expect("it opens").as_mut(),
        Again::Open(Box::new(source)),
        &OutputFormat::Ndjson.into(),
        &|_| true,
        &mut ndjson,
    )
    .expect("it is converted");
    let documents = parse(&ndjson);
    assert_eq!(documents.len(), rows.len());
    for (at, name) in header.iter().enumerate() {
        let column: Vec<&str> = rows.iter().map(|row| row[at].as_str()).collect();
        check_documents(name, &column, &documents, infer_rows);
    }
    let advice = inrush_commands::mapping::infer(
        source().expect("it opens").as_mut(),
        None,
        inrush_commands::mapping::Mixed::Widen,
    )
    .expect("it is read")
    .advice;
    for (at, name) in header.iter().enumerate() {
        let column: Vec<&str> = rows.iter().map(|row| row[at].as_str()).collect();
        check_mapping(&advice.mapping["properties"][name], &column, infer_rows);
    }
    check_parquet(folder.path(), &documents, source);
}

fn parse(ndjson: &[u8]) -> Vec<Document> {
    let lines = ndjson.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("a line is a JSON object")).collect()
}

/// Whether a cell of the sample says what the column is. One that is empty so far is text.
fn seen(column: &[&str], infer_rows: usize) -> bool {
    column.iter().take(infer_rows).any(|cell| !cell.is_empty())
}

fn check_documents(name: &str, column: &[&str], documents: &[Document], infer_rows: usize) {
    let seen = seen(column, infer_rows);
    let numbers = column.iter().all(|cell| cell.is_empty() || is_number(cell));
    // Ids that are longer than an integer are text, unless there are fractions beside them.
    let long = column.iter().any(|cell| is_long(cell));
    for (cell, document) in column.iter().zip(documents) {
        let Some(raw) = document.get(name) else {
            assert!(cell.is_empty(), "{cell:?} is not there");
            continue;
        };
        match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => {
                let with_t = || cell.as_bytes().get(10) == Some(&b' ') && text == cell.replacen(' ', "T", 1);
                assert!(text == **cell || with_t(), "{cell:?} is {text:?}");
                assert!(!(seen && numbers && !long), "{cell:?} is no number in {column:?}");
            }
            Err(_) if matches!(raw.get(), "true" | "false") => assert!(cell.eq_ignore_ascii_case(raw.get())),
            Err(_) => {
                assert!(is_number(cell), "{cell:?} is {}", raw.get());
                assert_eq!(normal(raw.get()), normal(cell), "{cell:?} is {}", raw.get());
                // It is JSON for strict readers, too.
                serde_json::from_str::<Value>(raw.get()).expect("a number");
            }
        }
    }
}

fn check_mapping(property: &Value, column: &[&str], infer_rows: usize) {
    let filled: Vec<&str> = column.iter().copied().filter(|cell| !cell.is_empty()).collect();
    let all = |fits: &dyn Fn(&str) -> bool| {
        for cell in &filled {
            assert!(fits(cell), "{property} for {cell:?} in {filled:?}");
        }
    };
    let within = |cell: &str, least: f64, most: f64| {
        let number = cell.parse::<f64>().ok();
        is_number(cell) && number.is_some_and(|number| number.fract() == 0.0 && (least..=most).contains(&number))
    };
    match property["type"].as_str() {
        None => assert!(filled.is_empty(), "{filled:?} have no type"),
        Some("integer") => all(&|cell| within(cell, f64::from(i32::MIN), f64::from(i32::MAX))),
        Some("long") => all(&|cell| within(cell, i64::MIN as f64, i64::MAX as f64)),
        Some("double") => all(&is_number),
        Some("boolean") => all(&|cell| cell.eq_ignore_ascii_case("true") || cell.eq_ignore_ascii_case("false")),
        Some("date") => all(&|cell| cell.starts_with("2024-")),
        // Numbers are text for the sake of one that a long cannot hold.
        Some("keyword") => assert!(
            filled.iter().any(|cell| !is_number(cell) || !is_fraction(cell) && cell.parse::<i64>().is_err())
                || !seen(column, infer_rows),
            "{property} for numbers: {filled:?}"
        ),
        Some(_) => {}
    }
}

/// A file of Parquet has the values of the documents, where there is one.
fn check_parquet(folder: &Path, documents: &[Document], source: impl Fn() -> Result<Box<dyn Source>, SourceError>) {
    let mut parquet = Vec::new();
    let made = convert(
        source().expect("it opens").as_mut(),
        Again::Open(Box::new(&source)),
        &OutputFormat::Parquet.into(),
        &|_| true,
        &mut parquet,
    );
    let path = folder.join("a.parquet");
    if made.is_err() || std::fs::write(&path, parquet).is_err() {
        return;
    }
    let back = || -> Result<Box<dyn Source>, SourceError> {
        Ok(Box::new(open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default())?))
    };
    let mut ndjson = Vec::new();
    convert(
        back().expect("it opens").as_mut(),
        Again::Open(Box::new(back)),
        &OutputFormat::Ndjson.into(),
        &|_| true,
        &mut ndjson,
    )
    .expect("it is converted");
    let found = parse(&ndjson);
    assert_eq!(found.len(), documents.len());
    for (found, expected) in found.iter().zip(documents) {
        type Values = BTreeMap<String, (Option<(bool, String, i64)>, String)>;
        let values = |document: &Document| -> Values {
            let value = |raw: &RawValue| {
                let number = normal(raw.get());
                let text = if number.is_some() { String::new() } else { raw.get().to_owned() };
                (number, text)
            };
            document.iter().map(|(name, raw)| (name.clone(), value(raw))).collect()
        };
        assert_eq!(values(found), values(expected));
    }
}
