//! The format of a source: given by the user, or guessed from name and contents.

use serde::Serialize;

use super::charset::Charset;
use super::chosen::Chosen;
use super::csv::CsvOptions;
use super::foreign;
use super::json_head;
use super::json_scan::RecordsPath;
pub use super::known::Format;
use super::parse::Parse;
use super::uses::Given;
use super::vector_format::VectorFormat;

/// The part of a workbook that is read, and a limit on its size.
#[derive(Clone, Debug, Serialize)]
pub struct SheetOptions {
    /// The sheet, by its name or its number from 1. Default: the first sheet that is not hidden,
    /// with a warning if there are others.
    pub sheet: Option<String>,
    /// The row with the names of the columns, from 1, for [`crate::csv::Header::FirstRow`]. Rows
    /// above it are left out. Default: the first row that is not empty.
    pub header_row: Option<u32>,
    /// The largest unpacked size of the parts of a workbook that are read for one sheet, bytes.
    /// They are held in memory. Default 512 MiB.
    #[serde(skip)]
    pub bytes_max: u64,
}

impl Default for SheetOptions {
    fn default() -> Self {
        SheetOptions { sheet: None, header_row: None, bytes_max: 512 << 20 }
    }
}

/// How timestamps of columns are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Timestamps {
    /// As text in ISO 8601. Servers detect it as a date even without a mapping.
    #[default]
    Iso,
    /// As the number of milliseconds since 1970 in UTC. Servers parse it with less work, but only a
    /// mapping makes the field a date (without one it becomes a number). A type without a zone
    /// counts as UTC, as servers treat text without a zone. A value that is not a whole number of
    /// milliseconds, or too large, is written as [`Timestamps::Iso`], which the same mapping
    /// accepts.
    EpochMillis,
}

/// How binary values of columns are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Binary {
    /// As text where the first values of a column are text, with a warning; else as base64. The
    /// files of a job have one form for a column. Fields of ids and routing values, and those that
    /// the target maps as `binary`, are base64, as are all rows that come from no file.
    #[default]
    Auto,
    /// As text. A row with a value that is not UTF-8 becomes a reject.
    Text,
    /// As base64, which fields of type `binary` take.
    Base64,
}

impl Binary {
    /// The form where the first values of a column may not decide: rows come in no fixed order, or
    /// several processes have a part of them each. Then base64 is meant by [`Binary::Auto`].
    #[must_use]
    pub fn fixed(self) -> Self {
        match self {
            Binary::Auto => Binary::Base64,
            other => other,
        }
    }
}

/// The field for lines of text where none is named.
const TEXT_FIELD: &str = "message";

/// Whether the field of vectors need not be recorded. One option names it and the field of text, so
/// where it is given, the other one records it, but for its default.
fn is_told_by_text_field(field: &str) -> bool {
    field != TEXT_FIELD
}

/// How to read the sources of a job. The same options apply to all of them.
#[derive(Clone, Debug, Serialize)]
pub struct FormatOptions {
    /// The format. Default: guessed for each file, from its name (`.ndjson`, `.jsonl`, `.json`,
    /// `.csv`, `.tsv`, `.psv`, `.txt`, `.log`, `.parquet`, `.arrow`, `.avro`, `.xlsx`, `.xls`,
    /// `.ods`, `.smile`, `.npy`, `.fbin` and other vectors, `.bulk`, before a compression suffix)
    /// and from its first bytes. `{` is NDJSON, or JSON if a value is longer than its line or
    /// shares it. `[` is JSON. Parquet, Arrow, Avro, workbooks and SMILE have magic numbers.
    pub format: Option<Format>,
    /// Where the documents are inside each JSON value. Default: the value itself, or the elements
    /// of an array.
    #[doc(hidden)]
    pub records: Option<RecordsPath>,
    /// The encoding of text. A byte order mark takes precedence. Default UTF-8, which is not
    /// checked if the format does not need it. In other charsets malformed bytes become replacement
    /// characters, with a warning.
    #[doc(hidden)]
    pub charset: Option<Charset>,
    /// The field for lines of text. Default `message`.
    pub text_field: String,
    /// The field for rows of files of vectors. Default `vector`.
    #[doc(hidden)]
    #[serde(skip_serializing_if = "is_told_by_text_field")]
    pub vector_field: String,
    /// How the parts of a text line become fields, instead of one field for the whole line. Without
    /// a `format`, all sources except binary ones are then lines of text. The types of the fields
    /// are in [`CsvOptions::schema`]. Default: none.
    #[doc(hidden)]
    pub parse: Option<Parse>,
    /// The dialect of CSV and similar formats.
    #[doc(hidden)]
    pub csv: CsvOptions,
    /// The part of workbooks that is read. [`CsvOptions::header`] says where their column names
    /// come from.
    #[doc(hidden)]
    pub sheet: SheetOptions,
    /// The largest record, bytes without its line end. A larger one is a reject of kind `too_large`
    /// and is never held in memory as a whole. Default 100 MiB, at most 1 GiB.
    pub document_bytes_max: usize,
    /// Whether documents of NDJSON and JSON arrays are checked to be JSON objects (RFC 8259).
    /// Others become rejects of kind `invalid_json` or `not_an_object`. Costs about a second of one
    /// core for a gigabyte. Default: no. Then servers find them, and a document that is not JSON
    /// can cost its request a second attempt.
    pub validate: bool,
    /// Whether NDJSON and JSON are extended JSON of MongoDB: objects that stand for one value, such
    /// as `{"$numberLong":"5"}`, become the value, and the `_id` becomes the id. Default: no.
    pub extended_json: bool,
    /// Whether folders such as `year=2024` in the path of a file become fields of its documents,
    /// unless these have a field of that name. The value is a whole number if it is one in all
    /// files, else a string. Default: yes.
    pub hive_partitions: bool,
    /// The columns to read from Parquet files. Names that do not exist are ignored. Default: all
    /// columns.
    #[doc(hidden)]
    pub only_columns: Option<Vec<String>>,
    /// How timestamps of Parquet, Arrow and Avro are written. Default: ISO 8601.
    pub timestamps: Timestamps,
    /// How binary values of Parquet, Arrow and Avro are written. Default: decided by the first
    /// values of a column.
    #[doc(hidden)]
    pub binary: Binary,
    /// Which files of folders, archives and patterns are read. Default: all.
    #[doc(hidden)]
    #[serde(skip)]
    pub chosen: Chosen,
    /// The options that the user gave, by name. One that no source can use is refused. Default:
    /// none.
    #[doc(hidden)]
    #[serde(skip)]
    pub given: Given,
}

impl Default for FormatOptions {
    fn default() -> Self {
        FormatOptions {
            format: None,
            records: None,
            charset: None,
            text_field: TEXT_FIELD.to_owned(),
            vector_field: "vector".to_owned(),
            parse: None,
            csv: CsvOptions::default(),
            sheet: SheetOptions::default(),
            document_bytes_max: 100 << 20,
            validate: false,
            extended_json: false,
            hive_partitions: true,
            only_columns: None,
            timestamps: Timestamps::default(),
            binary: Binary::default(),
            chosen: Chosen::default(),
            given: Given::default(),
        }
    }
}

impl FormatOptions {
    /// Rejects options that contradict each other, so that no file can be read with them.
    pub fn check(&self) -> Result<(), String> {
        self.csv.check()?;
        if let (Some(_), Some(format)) = (&self.records, self.format.filter(|format| !format.is_json())) {
            return Err(no_records(format));
        }
        if let (true, Some(format)) = (self.extended_json, self.format.filter(|format| !format.takes_extended_json())) {
            return Err(no_extended_json(format));
        }
        match &self.parse {
            Some(parse) => parse.parser(&self.csv, &[]).map(drop),
            None => Ok(()),
        }
    }
}

/// Suffixes of compressed files.
const COMPRESSIONS: [&str; 6] = [".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz"];

/// The extension of a name, without a suffix of a compression.
fn extension(name: &str) -> String {
    let mut name = name.to_ascii_lowercase();
    if let (true, Some(query)) = (name.starts_with("http"), name.find('?')) {
        name.truncate(query);
    }
    let stem = COMPRESSIONS.iter().find_map(|s| name.strip_suffix(s));
    stem.unwrap_or(&name).rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_owned())
}

/// Whether a name ends like that of a readable file.
pub fn promises_a_format(name: &str) -> bool {
    let compressed = COMPRESSIONS.iter().any(|suffix| name.to_ascii_lowercase().ends_with(suffix));
    compressed || by_name(name).is_some()
}

/// Whether the name of a source says that it is delimited text.
#[cfg(feature = "sql")]
pub fn is_delimited(name: &str) -> bool {
    matches!(by_name(name), Some(Format::Csv | Format::Tsv))
}

/// Whether the documents of a source may name an action and an index of their own.
pub fn has_operations(options: &FormatOptions, name: &str) -> bool {
    matches!(options.format.or_else(|| by_name(name)), Some(Format::Bulk | Format::DeadLetters))
}

/// The format that the name implies, if any.
pub fn by_name(name: &str) -> Option<Format> {
    match extension(name).as_str() {
        "ndjson" | "jsonl" | "json" => Some(Format::Ndjson),
        "csv" | "psv" => Some(Format::Csv),
        "tsv" => Some(Format::Tsv),
        "txt" | "log" => Some(Format::Text),
        "parquet" => Some(Format::Parquet),
        "arrow" | "arrows" | "feather" => Some(Format::Arrow),
        "avro" => Some(Format::Avro),
        "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => Some(Format::Excel),
        "smile" | "sml" => Some(Format::Smile),
        "bulk" => Some(Format::Bulk),
        other => VectorFormat::by_name(other).map(Format::Vectors),
    }
}

/// Whether a source counts as text only because of an extension that tables have as well.
pub fn may_be_a_table(options: &FormatOptions, name: &str, format: Format) -> bool {
    options.format.is_none() && options.parse.is_none() && format == Format::Text && extension(name) == "txt"
}

/// The separator that the format or the name implies.
pub fn separator(format: Format, name: &str) -> u8 {
    match (format, extension(name).as_str()) {
        (Format::Tsv, _) | (_, "tsv") => b'\t',
        (_, "psv") => b'|',
        _ => b',',
    }
}

/// Whether a zip archive begins as workbooks do.
pub fn is_workbook(head: &[u8]) -> bool {
    let first = head.strip_prefix(b"PK\x03\x04").and_then(|head| head.get(26..)).unwrap_or_default();
    [&b"[Content_Types].xml"[..], b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"]
        .iter()
        .any(|name| first.starts_with(name))
}

/// The binary format of a source that begins with `head`, if it has one that can be read.
pub fn decide_binary(options: &FormatOptions, name: &str, head: &[u8]) -> Option<Format> {
    if let Some(format) = options.format {
        return Some(format).filter(|format| format.is_binary());
    }
    if let Some(vectors) = of_bare_vectors(name) {
        return Some(vectors);
    }
    // Text may begin with the letters of a magic number, but it has no such control characters.
    let controls = head.iter().any(|&b| b < 9);
    if controls && head.starts_with(b"PAR1") {
        return Some(Format::Parquet);
    }
    if head.starts_with(b"Obj\x01") {
        return Some(Format::Avro);
    }
    if controls && head.starts_with(b"\xD0\xCF\x11\xE0") || is_workbook(head) {
        return Some(Format::Excel);
    }
    if head.starts_with(b"\x93NUMPY") {
        return Some(Format::Vectors(VectorFormat::Npy));
    }
    // The header, and its options.
    if matches!(head, [b':', b')', b'\n', 0..=7, ..]) {
        return Some(Format::Smile);
    }
    // A stream begins with a marker and the length of its schema, which is below 16 MiB.
    let stream = matches!(head, [0xFF, 0xFF, 0xFF, 0xFF, _, _, _, 0, ..]);
    if controls && (stream || head.starts_with(b"ARROW1")) || is_old_arrow(head) {
        return Some(Format::Arrow);
    }
    // A damaged or empty file still has the format of its name, unless it is obviously another one.
    let other = head.trim_ascii_start().first() == Some(&b'{')
        || head.starts_with(foreign::ENCRYPTED_PARQUET)
        || foreign::text(head, false).is_some();
    by_name(name).filter(|format| format.is_binary() && !other)
}

/// The format of a file of vectors that begins with a number. Its name alone tells it: the number
/// may look like any beginning.
pub(crate) fn of_bare_vectors(name: &str) -> Option<Format> {
    by_name(name).filter(|format| matches!(format, Format::Vectors(vectors) if vectors.begins_with_a_number()))
}

/// Whether a stream begins like Arrow before 0.15: with the length of a flatbuffer, and the
/// position of its root.
fn is_old_arrow(head: &[u8]) -> bool {
    let &[a, b, c, 0, root @ 4..=64, 0, 0, 0, ..] = head else { return false };
    let len = u32::from_le_bytes([a, b, c, 0]);
    len > u32::from(root) && len.is_multiple_of(4)
}

/// The error for a path to records in a `format` that has none.
pub fn no_records(format: Format) -> String {
    format!("option `records` is for JSON, and the format is {}; leave it out", format.name())
}

/// The error for extended JSON in a `format` that has none.
pub(crate) fn no_extended_json(format: Format) -> String {
    format!("option `extended_json` is for JSON, and the format is {}; leave it out", format.name())
}

/// The format of a source whose text begins with `head`. `complete` says that `head` is the whole
/// text.
pub fn decide(options: &FormatOptions, name: &str, head: &[u8], complete: bool) -> Result<Format, String> {
    let format = match options.format {
        Some(Format::Text) => Format::Text,
        // A first cell may be a part of a page.
        Some(format) => {
            match foreign::binary(head).or_else(|| foreign::text(head, matches!(format, Format::Csv | Format::Tsv))) {
                Some(problem) => return Err(problem),
                None => format,
            }
        }
        None => guess(options, name, head, complete)?,
    };
    match options.records {
        None => Ok(format),
        // A line may be an object with records.
        Some(_) if format == Format::Ndjson => Ok(Format::Json),
        Some(_) if format.is_json() => Ok(format),
        Some(_) => Err(no_records(format)),
    }
}

fn guess(options: &FormatOptions, name: &str, head: &[u8], complete: bool) -> Result<Format, String> {
    if let Some(problem) = foreign::binary(head) {
        return Err(problem);
    }
    let lines = options.parse.is_some() || by_name(name) == Some(Format::Text);
    if let Some(problem) = foreign::text(head, lines) {
        return Err(problem);
    }
    if options.parse.is_some() {
        return Ok(Format::Text);
    }
    let text = head.trim_ascii_start();
    let format = match (by_name(name), text.first()) {
        (Some(Format::Bulk), _) => Format::Bulk,
        (_, Some(b'{')) => {
            let in_lines = matches!(extension(name).as_str(), "ndjson" | "jsonl");
            if json_head::is_values(text, complete, in_lines) { Format::Json } else { Format::Ndjson }
        }
        (None | Some(Format::Ndjson), Some(b'[')) => Format::Json,
        (Some(format), _) => format,
        // An empty source is empty in every format.
        (None, None) => Format::Ndjson,
        (None, Some(_)) => {
            return Err(
                "cannot tell the format from name or contents; give option `format=ndjson`, csv, or text with option `field` \
                        NAME"
                    .to_owned(),
            );
        }
    };
    if format.is_json() && options.records.is_none() {
        if let Some(body) = json_head::bulk_body(text) {
            let looks = "looks like the body of a bulk request, with an action line before each document";
            return Err(match body.not_taken.as_slice() {
                [] => format!(
                    "{looks}; give option `format=bulk`, where an `_index` of these lines takes precedence over option `index`, or option `format=ndjson` if \
                     each line is a document"
                ),
                keys => format!(
                    "{looks}, but with {} in it, which option `format=bulk` does not accept; remove that from these lines and give \
                     option `format=bulk`, or give option `format=ndjson` if each line is a document",
                    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ")
                ),
            });
        }
        if json_head::is_dead_letter(text) {
            return Err(
                "looks like the dead letters of a load; name the file with option `from_dead_letters` to send their documents again, or give option \
                 `format=ndjson` to load the letters as they are"
                    .to_owned(),
            );
        }
        if json_head::is_hit(text) {
            return Err(
                "looks like search hits, or like what elasticdump writes: the documents are in `_source`; give option `format=hits`, which keeps their `_id`, \
                 or option `format=json` to load them as they are"
                    .to_owned(),
            );
        }
    }
    Ok(format)
}

/// A pattern of option `exclude` for a file that cannot be read: its extension where data have
/// another one, else its name.
pub fn pattern_for(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    // Each load names its own.
    if let Some(letters) = Some("inrush-dead-letters-").filter(|letters| name.starts_with(letters)) {
        return format!("{letters}*");
    }
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty() && !promises_a_format(name));
    match extension {
        Some((_, extension)) if extension.bytes().all(|byte| byte.is_ascii_alphanumeric()) => format!("*.{extension}"),
        // A comma would begin another pattern, and these quotes end it in a message or a shell.
        _ => glob::Pattern::escape(name).replace([',', '{', '`', '\'', '|'], "?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, head: &str) -> Result<Format, String> {
        decide(&FormatOptions::default(), name, head.as_bytes(), true)
    }

    #[test]
    fn names_are_looked_at_before_a_compression_suffix() {
        assert_eq!(check("a.NDJSON", "x"), Ok(Format::Ndjson));
        assert_eq!(check("dir.csv/a.jsonl.gz", "x"), Ok(Format::Ndjson));
        assert_eq!(check("a.log.zst", "x"), Ok(Format::Text));
        assert_eq!(check("https://h/a.csv.gz?v=1.2", "x"), Ok(Format::Csv));
    }

    #[test]
    fn separators_follow_the_name_and_the_format() {
        assert_eq!(check("a.csv.gz", "x"), Ok(Format::Csv));
        assert_eq!(separator(Format::Csv, "a.csv.gz"), b',');
        assert_eq!(separator(Format::Csv, "a.tsv.gz"), b'\t');
        assert_eq!(separator(Format::Csv, "a.PSV"), b'|');
        assert_eq!(separator(Format::Tsv, "a.psv"), b'\t');
    }

    #[test]
    fn contents_decide_where_the_name_does_not() {
        assert_eq!(check("-", " \n{\"a\":1}"), Ok(Format::Ndjson));
        assert_eq!(check("a.log", "{\"a\":1}"), Ok(Format::Ndjson));
        assert_eq!(check("-", " \n"), Ok(Format::Ndjson));
        assert!(check("apache_logs", "1.2.3.4 - -").unwrap_err().contains("option `format=ndjson`"));
    }

    #[test]
    fn a_bracket_begins_an_array_unless_the_name_says_otherwise() {
        assert_eq!(check("a.json", " [\n{}"), Ok(Format::Json));
        assert_eq!(check("-", "[]"), Ok(Format::Json));
        assert_eq!(check("a.log", "[2024-01-01] started"), Ok(Format::Text));
    }

    #[test]
    fn binary_formats_are_told_by_their_first_bytes_and_their_names() {
        let check = |name: &str, head: &[u8]| decide_binary(&FormatOptions::default(), name, head);
        assert_eq!(check("x", b"PAR1\x15\x04"), Some(Format::Parquet));
        assert_eq!(check("x", b"ARROW1\0\0"), Some(Format::Arrow));
        assert_eq!(check("x", b"\xFF\xFF\xFF\xFF\x10\x02\0\0"), Some(Format::Arrow));
        assert_eq!(check("x", b"\xE4\x02\0\0\x10\0\0\0\0\0"), Some(Format::Arrow));
        assert_eq!(check("x", b"a\0b\0c\0d\0"), None);
        assert_eq!(check("x", b"Obj\x01\x04"), Some(Format::Avro));
        assert_eq!(check("x", b":)\n\x01\xFA"), Some(Format::Smile));
        assert_eq!(check("x.log", b":)\nhello"), None);
        assert_eq!(check("x", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0"), Some(Format::Excel));
        assert_eq!(check("x.ods", b"PK\x03\x04"), Some(Format::Excel));
        assert_eq!(check("x.zip", b"PK\x03\x04"), None);
        assert_eq!(check("x.parquet", b""), Some(Format::Parquet));
        assert_eq!(check("x.parquet", b" {}"), None);
        assert_eq!(check("x.txt", b"PAR1 is a magic number"), None);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert!(check("a.json", "{\"index\":{}}\n{\"a\":1}\n").unwrap_err().contains("option `format=bulk`"));
        assert!(check("a.jsonl", "{\"_id\":\"1\",\"_source\":{}}\n").unwrap_err().contains("option `format=hits`"));
        let letter = r#"{"error":{"status":400,"type":"k","reason":"r"},"position":{"source":"a","partition":0,"doc":5},"action":{"index":{}}}"#;
        assert!(check("a.ndjson", letter).unwrap_err().contains("option `from_dead_letters`"));
        let options = FormatOptions { format: Some(Format::Ndjson), ..FormatOptions::default() };
        assert_eq!(decide(&options, "a.ndjson", letter.as_bytes(), true), Ok(Format::Ndjson));
        for other in [r#"{"error":{"type":"k"},"position":{"source":"a"},"text":"t"}"#, r#"{"error":"e","position":5}"#]
        {
            assert_eq!(check("a.ndjson", other), Ok(Format::Ndjson));
        }
        assert!(check("a", "ORC\x01").unwrap_err().contains("ORC"));
        assert!(check("a.csv", "PK\x03\x04").unwrap_err().contains("zip"));
        let tar = format!("{:\0<257}ustar\0", "a.csv");
        assert!(check("a.csv", &tar).unwrap_err().contains("a tar archive; unpack it"));
        assert!(check("a.db", "SQLite format 3\0\x10\0").unwrap_err().contains("write it as sqlite://PATH"));
        assert!(check("a.csv", &format!("{:x<257}ustar", "")).is_ok());
        let encrypted = "PARE\x01\x02";
        assert_eq!(decide_binary(&FormatOptions::default(), "a.parquet", encrypted.as_bytes()), None);
        assert!(check("a.parquet", encrypted).unwrap_err().contains("encrypted Parquet; decrypt it"));
    }

    #[test]
    fn pages_and_pointers_are_refused_under_any_name_and_format() {
        let page = "\n<!-- x -->\n<!DOCTYPE html>\n<html>, </html>\n";
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
        let error = "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code></Error>";
        let told = |format| FormatOptions { format: Some(format), ..FormatOptions::default() };
        for head in [page, pointer, error, "%PDF-1.4\n"] {
            for name in
                ["a.csv", "a.tsv", "a.json", "a.ndjson", "a.log", "a.txt", "-", "https://h/export?x=1", "a.bulk"]
            {
                assert!(check(name, head).unwrap_err().starts_with("contents are "), "{name}: {head}");
            }
            for format in [Format::Csv, Format::Tsv, Format::Ndjson, Format::Json, Format::Hits, Format::Bulk] {
                assert!(
                    decide(&told(format), "https://h/export", head.as_bytes(), true).is_err(),
                    "{format:?}: {head}"
                );
            }
            assert_eq!(decide(&told(Format::Text), "a.html", head.as_bytes(), true), Ok(Format::Text));
            assert_eq!(
                decide_binary(&FormatOptions::default(), "a.parquet", head.as_bytes()).is_none(),
                head != "%PDF-1.4\n"
            );
        }
        assert_eq!(check("a.log", "<34>Oct 11 22:14:15 host su: failed\n"), Ok(Format::Text));
    }

    #[test]
    fn a_format_that_is_told_is_taken() {
        let options = FormatOptions { format: Some(Format::Text), ..FormatOptions::default() };
        assert_eq!(decide(&options, "a.json", b"[1]", true), Ok(Format::Text));
        for (format, text) in
            [(Format::Ndjson, "{\"index\":{}}\n{\"a\":1}\n"), (Format::Ndjson, "{\n}"), (Format::Hits, "{}")]
        {
            let options = FormatOptions { format: Some(format), ..FormatOptions::default() };
            assert_eq!(decide(&options, "a.json", text.as_bytes(), true), Ok(format));
        }
    }

    #[test]
    fn values_over_several_lines_or_beside_each_other_are_json() {
        for (name, head) in
            [("a.json", "{\n \"a\": 1}"), ("-", "{\"a\":1}{\"a\":2}"), ("a.jsonl", "{\n}\n"), ("a", "{},\n{},\n")]
        {
            assert_eq!(check(name, head), Ok(Format::Json), "{head}");
        }
        assert_eq!(check("a.json", "{\"a\":1}\n{\"a\":2}"), Ok(Format::Ndjson));
    }

    #[test]
    fn records_are_in_json() {
        let check = |format, head: &str| {
            let records = Some("a".parse().unwrap());
            decide(&FormatOptions { format, records, ..FormatOptions::default() }, "a", head.as_bytes(), true)
        };
        assert_eq!(check(None, "{\"_id\":\"1\",\"_source\":{}}"), Ok(Format::Json));
        assert_eq!(check(Some(Format::Ndjson), "{}"), Ok(Format::Json));
        assert_eq!(check(Some(Format::Hits), "{}"), Ok(Format::Hits));
        assert!(check(Some(Format::Csv), "{}").unwrap_err().contains("the format is csv"));
    }
}
