//! Corrects known writer errors in the footer of a Parquet file before a row is read.

use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, RowGroupMetaData,
};

/// The largest page header of a dictionary that parquet-mr left out of a column's length, bytes.
/// Other readers allow the same.
const HEADER_BYTES_MAX: u64 = 100;

/// A footer that matches the contents of the file.
pub(super) struct Footer {
    pub(super) metadata: ParquetMetaData,
    /// Whether the lengths of columns may be larger than real. Then at most the group's rows may be
    /// read from a group.
    pub(super) roomy: bool,
}

impl Footer {
    /// Checks `metadata` for contradictions. The file has `bytes`.
    pub(super) fn new(metadata: &ParquetMetaData, bytes: u64) -> Result<Footer, String> {
        let roomy = metadata.file_metadata().created_by().is_some_and(counts_no_dictionary_header);
        let room = if roomy { HEADER_BYTES_MAX } else { 0 };
        let groups = metadata.row_groups().iter().enumerate();
        let groups: Vec<_> =
            groups.map(|(at, group)| corrected(group, at, room, bytes)).collect::<Result<_, String>>()?;
        let rows = groups.iter().map(RowGroupMetaData::num_rows).sum();
        let said = metadata.file_metadata();
        let file = FileMetaData::new(
            said.version(),
            rows,
            said.created_by().map(str::to_owned),
            said.key_value_metadata().cloned(),
            said.schema_descr_ptr(),
            said.column_orders().cloned(),
        );
        Ok(Footer { metadata: ParquetMetaDataBuilder::new(file).set_row_groups(groups).build(), roomy })
    }
}

/// Whether the writer is parquet-mr before 1.2.9, which left the header of the dictionary page out
/// of a column's length (IMPALA-694).
fn counts_no_dictionary_header(created_by: &str) -> bool {
    let Some(version) = created_by.strip_prefix("parquet-mr version ") else { return false };
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next()) < (1, 2, 9)
}

fn corrected(group: &RowGroupMetaData, at: usize, room: u64, bytes: u64) -> Result<RowGroupMetaData, String> {
    let rows = rows_of(group).ok_or_else(|| {
        let number = at + 1;
        format!("the footer contradicts itself: row group {number} has no rows, but its columns have values; write the file again")
    })?;
    let columns = group.columns().iter().map(|column| corrected_column(column, room, bytes)).collect::<Result<_, _>>();
    let columns = columns.map_err(|problem: String| format!("row group {}: {problem}", at + 1))?;
    group.clone().into_builder().set_num_rows(rows).set_column_metadata(columns).build().map_err(|e| e.to_string())
}

/// The number of rows of a group. If the footer says 0, it is the number of values of a column with
/// one value in each row.
fn rows_of(group: &RowGroupMetaData) -> Option<i64> {
    let has_values = group.columns().iter().any(|column| column.num_values() > 0);
    if group.num_rows() > 0 || !has_values {
        return Some(group.num_rows().max(0));
    }
    group
        .columns()
        .iter()
        .find(|column| column.column_descr().max_rep_level() == 0)
        .map(ColumnChunkMetaData::num_values)
}

fn corrected_column(column: &ColumnChunkMetaData, room: u64, bytes: u64) -> Result<ColumnChunkMetaData, String> {
    // Some writers give offset 0 for a missing dictionary, where the magic number is.
    let dictionary = column.dictionary_page_offset().filter(|offset| *offset > 0);
    let start = dictionary.unwrap_or_else(|| column.data_page_offset());
    let (start, len) = u64::try_from(start)
        .ok()
        .zip(u64::try_from(column.compressed_size()).ok())
        .ok_or_else(|| format!("column {} has a negative offset or length", column.column_path()))?;
    let room = room.min(bytes.saturating_sub(start.saturating_add(len)));
    let len = len.saturating_add(room) as i64;
    let builder = column.clone().into_builder().set_dictionary_page_offset(dictionary).set_total_compressed_size(len);
    builder.build().map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_of_parquet_mr_are_known() {
        for (created_by, old) in [
            ("parquet-mr version 1.2.8", true),
            ("parquet-mr version 1.1.0-SNAPSHOT (build abc)", true),
            ("parquet-mr version 1.2.9", false),
            ("parquet-mr version 1.10.1 (build 815bcfa)", false),
            ("parquet-cpp-arrow version 1.2.3", false),
            ("parquet-mr", false),
        ] {
            assert_eq!(counts_no_dictionary_header(created_by), old, "{created_by}");
        }
    }
}
