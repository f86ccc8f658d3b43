//! What a checkpoint records of the way in which sources are read, in a form that later versions
//! read. The options of files have theirs in `inrush_formats::recorded`.

use inrush_formats::recorded::of_0_1;
use serde_json::{Value, json};

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

/// The text of a checkpoint of version 0.1.0 in the form of this version. Text of this version
/// stays as it is.
pub fn translated(text: &str) -> String {
    database_of_0_1(text).unwrap_or_else(|| of_0_1::translated(text))
}

/// Version 0.1.0 recorded `derive(Debug)` of the rows and of the column.
fn database_of_0_1(text: &str) -> Option<String> {
    let (rows, rest) = of_0_1::value(text)?;
    let given = |kind: &str| Some(rows.get(kind)?.as_str()?.to_owned());
    let rows = given("Table").map(DatabaseRows::Table).or_else(|| given("Query").map(DatabaseRows::Query))?;
    let (column, rest) = of_0_1::value(rest.strip_prefix(' ')?)?;
    let column = match &column {
        Value::Null => None,
        Value::String(column) => Some(column.as_str()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(of_database(&rows, column) + rest)
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
            let before = format!("{rows:?} {:?}", column.map(str::to_owned));
            assert_eq!(translated(&before), expected);
            assert_eq!(translated(&format!("{before} sampled")), format!("{expected} sampled"));
            assert_eq!(translated(expected), expected);
        }
    }

    #[test]
    fn the_text_of_version_0_1() {
        for (before, expected) in [
            (r#"Table("things") None"#, r#"{"table":"things"}"#),
            (
                r#"Query("select \"id\", '\\' from t\nwhere x = 'ü\u{200b}'") Some("id") part 1 of 2"#,
                "{\"query\":\"select \\\"id\\\", '\\\\' from t\\nwhere x = 'ü\u{200b}'\",\"split_by\":\"id\"} part 1 of 2",
            ),
        ] {
            assert_eq!(translated(before), expected);
        }
    }

    #[test]
    fn other_text_stays() {
        for text in [
            "",
            "{}",
            r#"{"csv":{"separator":59}} sampled"#,
            "Table",
            r#"Table("x")"#,
            r#"Table("x") 5"#,
            "select Table from t t {}",
            r#"query {"match_all":{}}, ids true, routing true, versions false"#,
        ] {
            assert_eq!(translated(text), text);
        }
    }
}
