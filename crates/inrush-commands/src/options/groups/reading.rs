//! Options for reading sources: formats and their details.

use crate::options::LoaderBuilder;
use crate::options::{ByteSize, ColumnSchema, Comment, Count, Decimal, Escape, Outputs, Quote, Separator, VectorsOf};
use inrush_sources::{Binary, Charset, FixedColumn, Format, Formats, LogFormat, NamePattern, RecordsPath, Timestamps};

options! {
    /// How sources are read.
    pub struct ReadingOptions in LoaderBuilder.reading, "Source", outputs(Outputs::All) {
        /// Read only these files of folders, archives, globs and object stores, as in *.csv or
        /// 2024/*.csv. A glob stands for files, and for folders with all that they have, at any
        /// depth; one that begins with / for those at the top. Names with . or _ at their beginning
        /// stay out of folders and archives; repeatable
        include: Vec<NamePattern> = "GLOB,…", delimited(), default("all");
        /// Leave out these files, also of those that option `include` names; repeatable
        exclude: Vec<NamePattern> = "GLOB,…", delimited(), default("none");
        /// Format of the sources
        format: Option<Format> = "FORMAT",
            default("detected for each source from its first bytes ({ is ndjson, or json if a value has several lines, [ is json; Parquet, Arrow, Avro, workbooks) and its file name extension (.ndjson, .jsonl, .json; .csv, .tsv, .psv; .txt, .log are text; .npy, .fvecs, .bvecs, .ivecs, .fbin, .u8bin, .i8bin)");
        /// JSON: the array with the documents, if it is inside an object, as in features,
        /// hits.hits, or as a JSON pointer (/a.b/c). It may be of any length
        records: Option<RecordsPath> = "PATH", default("each value is a document, and each element of an array");
        /// Text, files of vectors: the field that holds each line or row
        field: Option<String> = "FIELD", formats(Formats::WITH_ONE_FIELD),
            default("message for text, vector for vectors");
        /// Text: each line is from a web server's access log; its parts become fields. Other lines
        /// are dead letters
        parse: Option<LogFormat> = "FORMAT", formats(Formats::TEXT), conflicts(&["parse_regex", "fixed_width"]);
        /// Text: the named groups of a regular expression become fields, as in '^(?<level>\w+)
        /// (?<text>.*)'; types from option `schema`. A line that does not match is a dead letter
        parse_regex: Option<String> = "REGEX", formats(Formats::TEXT), conflicts(&["fixed_width"]);
        /// Text: columns of fixed width, in characters from 1, as in id:1-8,name:9-40,rest:41-;
        /// types from option `schema`
        fixed_width: Vec<FixedColumn> = "NAME:FIRST-LAST,…", formats(Formats::TEXT), delimited();
        /// CSV: the separator of cells, one ASCII character, or `tab`
        separator: Option<Separator> = "CHAR", formats(Formats::CSV), default("a comma, a tab with option `format=tsv`");
        /// CSV: the quote around cells that contain separators, one ASCII character, or `none`
        quote: Option<Quote> = "CHAR", formats(Formats::CSV), default("\"");
        /// CSV: the escape character, one ASCII character, as in '\' for MySQL's exports. It makes
        /// a following quote, separator, line end or escape character literal; \N without quotes is
        /// then an empty cell. With option `quote=none`, \n, \t and others are control characters,
        /// as in a COPY of Postgres, Hive, ClickHouse and mysql in batch mode
        escape: Option<Escape> = "CHAR", formats(Formats::CSV), default("none; a quote inside quotes is doubled");
        /// CSV: blanks around cells and around their quotes do not count, as in id, "a, b"
        trim: bool, formats(Formats::CSV);
        /// CSV: lines that begin with this character are left out, one ASCII character, as in #
        comment: Option<Comment> = "CHAR", formats(Formats::CSV), default("none");
        /// CSV: lines at the beginning of each file that are left out, such as a title above the
        /// header. Quotes mean nothing in them
        skip_lines: Option<Count> = "N", formats(Formats::CSV), default("none");
        /// Workbooks: the sheet, by name or number from 1
        sheet: Option<String> = "SHEET", formats(Formats::WORKBOOKS), default("the first one that is not hidden");
        /// Workbooks: the row with the names of the columns, from 1; rows above it are left out.
        /// For CSV, option `skip_lines` does that
        header_row: Option<Count> = "N", formats(Formats::WORKBOOKS), default("the first one that is not empty");
        /// Workbooks: the largest unpacked size of a workbook, including its pictures. A sheet is
        /// held in memory and takes two to three times its size
        workbook_bytes: Option<ByteSize> = "SIZE", formats(Formats::WORKBOOKS), default("512MiB");
        /// CSV, workbooks: the first row is data. The columns' names are those of option `columns`,
        /// else c1, c2, …
        no_header: bool, formats(Formats::WITH_HEADER);
        /// CSV, workbooks: names of the columns in order, for files without a header: the first row
        /// is data
        columns: Vec<String> = "NAME,…", formats(Formats::WITH_HEADER), delimited();
        /// CSV, option `parse_regex`, option `fixed_width`: types of columns instead of the
        /// detected ones, as in id:string,price:float. A cell that is no value of its type is a
        /// dead letter. The types: string; integer, where 007 or +5 becomes 7 or 5, also in an id;
        /// float; decimal-comma, as in 1.234,5; boolean, also yes and no, ja and nein, wahr and
        /// falsch, 1 and 0, t and f; date and timestamp, which are sent in ISO 8601, also of
        /// 31.12.2025, a timestamp also of 28/Nov/2025:13:55:36 +0100 and of seconds to nanoseconds
        /// since 1970; date-dmy, date-mdy, timestamp-dmy and timestamp-mdy for 3/4/2026
        schema: Vec<ColumnSchema> = "COLUMN:TYPE,…", formats(Formats::WITH_CELLS), delimited();
        /// CSV, option `parse_regex`, option `fixed_width`: the character before the fraction of
        /// numbers, a comma as in 1.234,5 or a dot. It is for all columns
        decimal: Option<Decimal> = "CHAR", formats(Formats::WITH_CELLS), default(".");
        /// CSV: every column is a string, except those in option `schema`
        all_strings: bool, formats(Formats::CSV);
        /// CSV: cells with this content count as empty, as in NA or \N, so the field is absent;
        /// repeatable
        null: Vec<String> = "VALUE", formats(Formats::CSV);
        /// NDJSON, JSON: check that every document is a JSON object before it is sent; others
        /// become dead letters. It costs about one second of one core per gigabyte. By default only
        /// the cluster checks
        validate: bool, formats(Formats::JSON);
        /// NDJSON, JSON: the documents are extended JSON of MongoDB, as mongoexport writes it.
        /// {"$numberLong":"5"} is 5, {"$date":…} a time, and the _id is the id of the document
        extended_json: bool, formats(Formats::EXTENDED_JSON);
        /// Do not read fields from folders such as year=2024 in a path. By default the documents of
        /// these files get the fields, as whole numbers or strings, unless they have fields of the
        /// same name
        no_hive_partitions: bool;
        /// Parquet, Arrow, Avro, SQL, data frames: the format of timestamps
        timestamps: Option<Timestamps> = "FORM", formats(Formats::COLUMNS), default("iso");
        /// Parquet, Arrow, Avro, SQL, data frames: the form of binary values
        binary: Option<Binary> = "FORM", formats(Formats::COLUMNS), default("auto");
        /// Vectors of a file, put into the documents: row i into the field FIELD of document i, in
        /// the order in which the files of the sources are read. There must be as many rows as
        /// documents. .npy, .fvecs, .bvecs, .ivecs, .fbin, .u8bin, .i8bin; a glob in quotes or a
        /// folder for several files; repeatable, for several fields
        vectors: Vec<VectorsOf> = "FIELD=PATH";
        /// Object stores: settings that are not in the environment, as in
        /// endpoint=http://localhost:7070, region=eu-west-1, allow_http=true or anonymous=true;
        /// repeatable. Secrets are not allowed: they come from the environment (AWS_*, GOOGLE_*,
        /// AZURE_*), the AWS profile or the identity of the machine
        store_option: Vec<String> = "KEY=VALUE";
        /// Character set of the sources, as in latin1 (which means windows-1252, as in browsers),
        /// utf-16le or shift_jis. Bytes that are not in it become U+FFFD, with a warning. With
        /// ascii such a byte ends the source
        charset: Option<Charset> = "NAME", formats(Formats::WITH_CHARSET),
            default("UTF-8, or that of a byte order mark; a record that is not UTF-8 is a dead letter");
    }
}
