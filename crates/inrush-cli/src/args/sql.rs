//! What can be said about queries.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::units::parse_bytes_positive;

/// A query between the sources and the documents.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "SQL")]
pub(crate) struct SqlArgs {
    /// Load the result of a query instead of the sources, which are its table `input`: each row is a document. Names are
    /// taken as they are written; see docs/sql.md
    #[arg(long, value_name = "QUERY", conflicts_with = "sql_file")]
    pub(crate) sql: Option<String>,
    /// The same with the query in a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) sql_file: Option<PathBuf>,
    /// SQL: one more table, of a file, folder or glob, as in artists='data/artists*.csv'; repeated for several. Flags about formats
    /// but --workbook-bytes are for the sources, and not for these
    #[arg(long, value_name = "NAME=PATH", value_hint = ValueHint::FilePath, value_parser = parse_table)]
    pub(crate) table: Vec<(String, PathBuf)>,
    /// SQL: memory for sorting, grouping and joining; what needs more goes to temporary files (TMPDIR). Default 1GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes_positive)]
    pub(crate) sql_memory: Option<u64>,
}

impl SqlArgs {
    /// The first flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        [
            ("--sql", self.sql.is_some()),
            ("--sql-file", self.sql_file.is_some()),
            ("--table", !self.table.is_empty()),
            ("--sql-memory", self.sql_memory.is_some()),
        ]
        .into_iter()
        .find(|(_, given)| *given)
        .map(|(flag, _)| flag)
    }
}

fn parse_table(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.into())),
        _ => Err("expected a name and a path, as in artists=artists.csv".to_owned()),
    }
}
