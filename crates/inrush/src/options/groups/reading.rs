//! How sources are read: formats, and what each of them has to be told.

use crate::options::LoaderBuilder;
use crate::options::{ByteSize, ColumnSchema, Count, Escape, Quote, Separator};
use crate::source::{Charset, FixedColumn, Format, LogFormat, RecordsPath, Timestamps};

options! {
    /// How sources are read.
    pub struct ReadingOptions in LoaderBuilder.reading, "Source" {
        /// Format of the sources
        format: Option<Format> = "FORMAT",
            default("told from the first bytes of each ({ is ndjson, or json where a value goes over several lines, [ is json; Parquet, Arrow, Avro, workbooks) and the ending of its name (.ndjson, .jsonl, .json; .csv, .tsv, .psv; .txt, .log are text)");
        /// JSON: the field with the documents, where they are inside of an object: an array, as in features,
        /// hits.hits, or as a JSON pointer (/a.b/c). It is read as it comes, however long
        records: Option<RecordsPath> = "PATH", default("each value is a document, and each element of an array");
        /// Text: the field that holds each line
        field: Option<String> = "FIELD", default("message");
        /// Text: each line is one of a web server's access log; its parts become fields. A line of another
        /// form is a dead letter
        parse: Option<LogFormat> = "FORMAT", conflicts(&["parse_regex", "fixed_width"]);
        /// Text: the named groups of a regular expression become fields, as in
        /// '^(?<level>\w+) (?<text>.*)'; types from option `schema`. A line that does not match is a dead
        /// letter
        parse_regex: Option<String> = "REGEX", conflicts(&["fixed_width"]);
        /// Text: columns of fixed width, in characters from 1, as in id:1-8,name:9-40,rest:41-; types from
        /// option `schema`
        fixed_width: Vec<FixedColumn> = "NAME:FIRST-LAST,…", delimited();
        /// CSV: what separates cells, one ASCII character, or `tab`
        separator: Option<Separator> = "CHAR", default("a comma, a tab with option `format=tsv`");
        /// CSV: what encloses cells that hold separators, one ASCII character, or `none`
        quote: Option<Quote> = "CHAR", default("\"");
        /// CSV: what takes the meaning of a quote, separator, line end or itself after it, one ASCII
        /// character, as in '\' for MySQL's exports; \N without quotes is an empty cell then
        escape: Option<Escape> = "CHAR", default("none, a quote inside of quotes is doubled");
        /// Workbooks: the sheet, by name or number from 1
        sheet: Option<String> = "SHEET", default("the first one that is not hidden");
        /// Workbooks: the row that has the names of the columns, from 1; rows above it are left out
        header_row: Option<Count> = "N", default("the first one that is not empty");
        /// Workbooks: the most that one may unpack to, with its pictures, because a sheet is held in memory;
        /// it takes about two to three times as much
        workbook_bytes: Option<ByteSize> = "SIZE", default("512MiB");
        /// CSV, workbooks: the first row is data. Columns are named by option `columns`, else c1, c2, …
        no_header: bool;
        /// CSV, workbooks: names of the columns in order, for files without a header: the first row is data
        columns: Vec<String> = "NAME,…", delimited();
        /// CSV, option `parse_regex`, option `fixed_width`: types of columns instead of the ones that are
        /// found, as in id:string,price:float. An integer 007 or +5 is 7 or 5, as an id, too
        schema: Vec<ColumnSchema> = "COLUMN:TYPE,…", delimited();
        /// CSV: every column is a string, but those that option `schema` names
        all_strings: bool;
        /// CSV: cells with this content count as empty, as in NA or \N: the field is absent; repeated for
        /// several
        null: Vec<String> = "VALUE";
        /// NDJSON, JSON: check that every document is a JSON object before it is sent; others are dead
        /// letters. It costs about a second of one core for a gigabyte. Otherwise the cluster finds out
        validate: bool;
        /// Folders in a path such as year=2024 are no fields. Otherwise the documents of the files in them
        /// get them, as whole numbers or strings, unless they have such a field of their own
        no_hive_partitions: bool;
        /// Parquet, Arrow, Avro, SQL, data frames: how timestamps are written
        timestamps: Option<Timestamps> = "FORM", default("iso");
        /// Object stores: settings that the environment does not have, as in
        /// endpoint=http://localhost:7070, region=eu-west-1, allow_http=true or anonymous=true; repeated for
        /// several. No secrets: those come from the environment (AWS_*, GOOGLE_*, AZURE_*), the AWS profile
        /// or the identity of the machine
        store_option: Vec<String> = "KEY=VALUE";
        /// Character set of the sources, as in latin1 (which is windows-1252, as browsers take it),
        /// utf-16le or shift_jis; bytes that it does not have become U+FFFD, with a warning. With ascii any
        /// other byte ends the source
        charset: Option<Charset> = "NAME",
            default("UTF-8, or what a byte order mark says; a record that is no UTF-8 is a dead letter");
    }
}
