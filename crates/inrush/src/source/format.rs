//! What the bytes of a source mean: told, or guessed from name and contents.

use std::str::FromStr;

use super::charset::Charset;
use super::csv::CsvOptions;

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON document a line (`ndjson`, also `jsonl`).
    Ndjson,
    /// Cells with separators, a header above them, and quotes (`csv`).
    Csv,
    /// The same with tabs (`tsv`).
    Tsv,
    /// Lines of text; each becomes a document with one field (`text`).
    Text,
    /// Parquet (`parquet`).
    Parquet,
    /// The dead letters of an earlier load (`dead-letters`): one JSON object a line, with the `document`, or else its
    /// `text` or `base64`, and the `action` it was sent with.
    DeadLetters,
}

impl Format {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ndjson => "ndjson",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Text => "text",
            Format::Parquet => "parquet",
            Format::DeadLetters => "dead-letters",
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "ndjson" | "jsonl" => Ok(Format::Ndjson),
            "csv" => Ok(Format::Csv),
            "tsv" => Ok(Format::Tsv),
            "text" => Ok(Format::Text),
            "parquet" => Ok(Format::Parquet),
            "dead-letters" => Ok(Format::DeadLetters),
            _ => Err(format!("unknown format {name:?}; expected ndjson, csv, tsv, text, parquet or dead-letters")),
        }
    }
}

/// How to read the sources of a job; the same for all of them.
#[derive(Clone, Debug)]
pub struct FormatOptions {
    /// The format. Default: guessed for each file, from its name (`.ndjson`, `.jsonl`, `.json`, `.csv`, `.tsv`,
    /// `.psv`, `.txt`, `.log`, before a compression suffix) and from its first character: `{` is NDJSON.
    pub format: Option<Format>,
    /// How text is encoded. A byte order mark wins over it. Default UTF-8, passed through unchecked where the format
    /// does not need to look; naming `utf-8` here makes malformed bytes into replacement characters.
    pub charset: Option<Charset>,
    /// The field that takes the lines of text. Default `message`.
    pub text_field: String,
    /// How CSV and the like are written.
    pub csv: CsvOptions,
    /// The largest record, bytes without its line end; a larger one is a reject of kind `too_large` and is never held in
    /// memory as a whole. Default 100 MiB, at most 1 GiB.
    pub document_bytes_max: usize,
}

impl Default for FormatOptions {
    fn default() -> Self {
        FormatOptions {
            format: None,
            charset: None,
            text_field: "message".to_owned(),
            csv: CsvOptions::default(),
            document_bytes_max: 100 << 20,
        }
    }
}

/// The last part of a name, before a suffix that stands for a compression.
fn extension(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let stem = [".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz"].iter().find_map(|s| name.strip_suffix(s));
    stem.unwrap_or(&name).rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_owned())
}

/// What the name promises, if anything.
fn by_name(name: &str) -> Option<Format> {
    match extension(name).as_str() {
        "ndjson" | "jsonl" | "json" => Some(Format::Ndjson),
        "csv" | "psv" => Some(Format::Csv),
        "tsv" => Some(Format::Tsv),
        "txt" | "log" => Some(Format::Text),
        "parquet" => Some(Format::Parquet),
        _ => None,
    }
}

/// Whether a source is text only because of an ending that tables have as well.
pub(super) fn may_be_a_table(options: &FormatOptions, name: &str, format: Format) -> bool {
    options.format.is_none() && format == Format::Text && extension(name) == "txt"
}

/// The separator that the format or the name stands for.
pub(super) fn separator(format: Format, name: &str) -> u8 {
    match (format, extension(name).as_str()) {
        (Format::Tsv, _) | (_, "tsv") => b'\t',
        (_, "psv") => b'|',
        _ => b',',
    }
}

impl Format {
    /// Whether the format is no text, so that nothing may be decoded before it is read.
    fn is_binary(self) -> bool {
        match self {
            Format::Parquet => true,
            Format::Ndjson | Format::Csv | Format::Tsv | Format::Text | Format::DeadLetters => false,
        }
    }
}

/// The binary format of a source that begins with `head`, if it has one that can be read.
pub(super) fn decide_binary(options: &FormatOptions, name: &str, head: &[u8]) -> Option<Format> {
    if let Some(format) = options.format {
        return Some(format).filter(|format| format.is_binary());
    }
    // A text may begin with the letters of a magic number, but it has no such control characters.
    let controls = head.iter().any(|&b| b < 9);
    if controls && head.starts_with(b"PAR1") {
        return Some(Format::Parquet);
    }
    // A file that is damaged or empty is still what its name says, unless it is obviously something else.
    let text = head.trim_ascii_start().first() == Some(&b'{');
    by_name(name).filter(|format| format.is_binary() && !text)
}

/// Names a binary format that is not text, by its first bytes.
fn binary(head: &[u8]) -> Option<&'static str> {
    const MAGICS: [(&[u8], &str); 8] = [
        (b"Obj\x01", "Avro"),
        (b"ARROW1", "Arrow IPC"),
        (b"ORC", "ORC"),
        (b"PK\x03\x04", "a zip archive (or a spreadsheet)"),
        (b":)\n", "SMILE"),
        (b"\x04\x22\x4D\x18", "lz4"),
        (b"\x1F\x9D", "compress (.Z)"),
        (b"SQLite format 3\0", "SQLite"),
    ];
    // A text may begin with the letters of a magic number, but it has no such control characters.
    let controls = head.iter().any(|&b| b < 9);
    MAGICS.iter().find(|(magic, _)| controls && head.starts_with(magic)).map(|&(_, name)| name)
}

/// The format of a source whose text begins with `head`. `complete` says that `head` is all of it.
pub(super) fn decide(options: &FormatOptions, name: &str, head: &[u8]) -> Result<Format, String> {
    if let Some(format) = options.format {
        return Ok(format);
    }
    if let Some(binary) = binary(head) {
        return Err(format!("contents are {binary}, which cannot be read yet; convert the file to NDJSON or CSV"));
    }
    let text = head.trim_ascii_start();
    let format = match (by_name(name), text.first()) {
        (_, Some(b'{')) => Format::Ndjson,
        (Some(format), _) => format,
        // An empty source is empty in every format.
        (None, None) => Format::Ndjson,
        (None, Some(_)) => {
            return Err(
                "cannot tell the format from name or contents; give --format ndjson, csv, or text with --field \
                        NAME"
                    .to_owned(),
            );
        }
    };
    if format == Format::Ndjson {
        let first_line = text.split(|&b| b == b'\n').next().unwrap_or_default().trim_ascii_end();
        if text.first() == Some(&b'[') {
            return Err("contents are a JSON array, which cannot be read yet; convert it to one document a line with \
                        `jq -c '.[]'`"
                .to_owned());
        }
        if first_line == b"{" {
            return Err(
                "contents are JSON over several lines, expected one document a line; convert it with `jq -c .`"
                    .to_owned(),
            );
        }
    }
    Ok(format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, head: &str) -> Result<Format, String> {
        decide(&FormatOptions::default(), name, head.as_bytes())
    }

    #[test]
    fn names_are_looked_at_before_a_compression_suffix() {
        assert_eq!(check("a.NDJSON", "x"), Ok(Format::Ndjson));
        assert_eq!(check("dir.csv/a.jsonl.gz", "x"), Ok(Format::Ndjson));
        assert_eq!(check("a.log.zst", "x"), Ok(Format::Text));
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
        assert!(check("apache_logs", "1.2.3.4 - -").unwrap_err().contains("--format"));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert!(check("a.json", " [\n{}").unwrap_err().contains("jq -c '.[]'"));
        assert!(check("a.json", "{\n \"a\": 1}").unwrap_err().contains("jq -c ."));
        assert!(check("a", "ORC\x01").unwrap_err().contains("ORC"));
        assert!(check("a.csv", "PK\x03\x04").unwrap_err().contains("zip"));
    }

    #[test]
    fn a_format_that_is_told_is_taken() {
        let options = FormatOptions { format: Some(Format::Text), ..FormatOptions::default() };
        assert_eq!(decide(&options, "a.json", b"[1]"), Ok(Format::Text));
    }
}
