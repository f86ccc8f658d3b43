//! Options for reading sources: formats and their details.

use crate::options::LoaderBuilder;
use crate::options::{ByteSize, ColumnSchema, Count, Escape, Quote, Separator};
use inrush_sources::{Charset, FixedColumn, Format, LogFormat, RecordsPath, Timestamps};

options! {
    /// How sources are read.
    pub struct ReadingOptions in LoaderBuilder.reading, "Source" {
        /// Format of the sources
        format: Option<Format> = "FORMAT",
            default("detected for each source from its first bytes ({ is ndjson, or json if a value has several lines, [ is json; Parquet, Arrow, Avro, workbooks) and its file name extension (.ndjson, .jsonl, .json; .csv, .tsv, .psv; .txt, .log are text)");
        /// JSON: the array with the documents, if it is inside an object, as in features,
        /// hits.hits, or as a JSON pointer (/a.b/c). It may be of any length
        records: Option<RecordsPath> = "PATH", default("each value is a document, and each element of an array");
        /// Text: the field that holds each line
        field: Option<String> = "FIELD", default("message");
        /// Text: each line is from a web server's access log; its parts become fields. Other lines
        /// are dead letters
        parse: Option<LogFormat> = "FORMAT", conflicts(&["parse_regex", "fixed_width"]);
        /// Text: the named groups of a regular expression become fields, as in '^(?<level>\w+)
        /// (?<text>.*)'; types from option `schema`. A line that does not match is a dead letter
        parse_regex: Option<String> = "REGEX", conflicts(&["fixed_width"]);
        /// Text: columns of fixed width, in characters from 1, as in id:1-8,name:9-40,rest:41-;
        /// types from option `schema`
        fixed_width: Vec<FixedColumn> = "NAME:FIRST-LAST,…", delimited();
        /// CSV: the separator of cells, one ASCII character, or `tab`
        separator: Option<Separator> = "CHAR", default("a comma, a tab with option `format=tsv`");
        /// CSV: the quote around cells that contain separators, one ASCII character, or `none`
        quote: Option<Quote> = "CHAR", default("\"");
        /// CSV: the escape character, one ASCII character, as in '\' for MySQL's exports. It makes
        /// a following quote, separator, line end or escape character literal; \N without quotes is
        /// then an empty cell
        escape: Option<Escape> = "CHAR", default("none; a quote inside quotes is doubled");
        /// Workbooks: the sheet, by name or number from 1
        sheet: Option<String> = "SHEET", default("the first one that is not hidden");
        /// Workbooks: the row with the names of the columns, from 1; rows above it are left out
        header_row: Option<Count> = "N", default("the first one that is not empty");
        /// Workbooks: the largest unpacked size of a workbook, including its pictures. A sheet is
        /// held in memory and takes two to three times its size
        workbook_bytes: Option<ByteSize> = "SIZE", default("512MiB");
        /// CSV, workbooks: the first row is data. The columns' names are those of option `columns`,
        /// else c1, c2, …
        no_header: bool;
        /// CSV, workbooks: names of the columns in order, for files without a header: the first row
        /// is data
        columns: Vec<String> = "NAME,…", delimited();
        /// CSV, option `parse_regex`, option `fixed_width`, option `sql` over a topic: types of
        /// columns instead of the detected ones, as in id:string,price:float. An integer 007 or +5
        /// becomes 7 or 5, also in an id
        schema: Vec<ColumnSchema> = "COLUMN:TYPE,…", delimited();
        /// CSV: every column is a string, except those in option `schema`
        all_strings: bool;
        /// CSV: cells with this content count as empty, as in NA or \N, so the field is absent;
        /// repeatable
        null: Vec<String> = "VALUE";
        /// NDJSON, JSON: check that every document is a JSON object before it is sent; others
        /// become dead letters. It costs about one second of one core per gigabyte. By default only
        /// the cluster checks
        validate: bool;
        /// Do not read fields from folders such as year=2024 in a path. By default the documents of
        /// these files get the fields, as whole numbers or strings, unless they have fields of the
        /// same name
        no_hive_partitions: bool;
        /// Parquet, Arrow, Avro, SQL, data frames: the format of timestamps
        timestamps: Option<Timestamps> = "FORM", default("iso");
        /// Object stores: settings that are not in the environment, as in
        /// endpoint=http://localhost:7070, region=eu-west-1, allow_http=true or anonymous=true;
        /// repeatable. Secrets are not allowed: they come from the environment (AWS_*, GOOGLE_*,
        /// AZURE_*), the AWS profile or the identity of the machine
        store_option: Vec<String> = "KEY=VALUE";
        /// Character set of the sources, as in latin1 (which means windows-1252, as in browsers),
        /// utf-16le or shift_jis. Bytes that are not in it become U+FFFD, with a warning. With
        /// ascii such a byte ends the source
        charset: Option<Charset> = "NAME",
            default("UTF-8, or that of a byte order mark; a record that is not UTF-8 is a dead letter");
    }
}
