//! What a checkpoint records of the rows of a database, in a form that later versions read. The
//! options of files have theirs in `inrush_formats::recorded`.

use serde_json::json;

use super::DatabaseRows;

/// Text that is equal for two database sources that read the same rows in the same way: a JSON
/// object of the table or query, and of the column whose ranges are read.
pub(crate) fn of_database(rows: &DatabaseRows, split_by: Option<&str>) -> String {
    let mut options = match rows {
        DatabaseRows::Table(table) => json!({"table": table}),
        DatabaseRows::Query(query) => json!({"query": query}),
    };
    if let Some(column) = split_by {
        options["split_by"] = column.into();
    }
    options.sort_all_objects();
    options.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_databases() {
        let table = DatabaseRows::Table("public.things".to_owned());
        let query = DatabaseRows::Query("select \"a\"\nfrom t where b = 'é\\'".to_owned());
        for (rows, column, expected) in [
            (&table, None, r#"{"table":"public.things"}"#),
            (&table, Some("id"), r#"{"split_by":"id","table":"public.things"}"#),
            (&query, None, r#"{"query":"select \"a\"\nfrom t where b = 'é\\'"}"#),
        ] {
            assert_eq!(of_database(rows, column), expected);
        }
    }
}
