//! Columns in messages: their types in words, and why a column is text.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use datafusion::sql::sqlparser::ast::Expr;

use super::super::table::Table;
use super::survey::column_name;
use super::{Case, groups, trace, written};

/// A column that a query names.
pub(super) struct Column<'a> {
    pub(super) table: &'a Arc<Table>,
    pub(super) field: &'a Field,
}

impl Case<'_> {
    /// The column of a table that an expression stands for.
    pub(super) fn column(&self, expression: &Expr) -> Option<Column<'_>> {
        let (relation, name) = column_name(expression)?;
        let called =
            self.survey.relations.iter().filter(|(called, _)| relation.is_none_or(|relation| relation == called));
        let mut tables = called.filter_map(|(_, table)| self.scene.tables.iter().find(|known| known.name == *table));
        tables.find_map(|table| Some(Column { table, field: table.schema.field_with_name(name).ok()? }))
    }

    /// An expression with its type, as far as known: `votes is text`.
    pub(super) fn described(&self, expression: &Expr, data_type: &str) -> String {
        format!("{expression} is {}", self.column(expression).map_or_else(|| in_words(data_type), |c| c.in_words()))
    }
}

impl Column<'_> {
    pub(super) fn name(&self) -> &str {
        self.field.name()
    }

    pub(super) fn in_words(&self) -> String {
        in_words(&self.field.data_type().to_string())
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.field.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    }

    /// `votes is text: "n/a" in votes.csv, line 4`, with the first value that is not a number.
    pub(super) fn why_text(&self) -> String {
        let is_number = |text: &str| serde_json::from_str::<serde_json::Number>(text).is_ok();
        let found = trace::first(self.table, &[self.name()], |text| !text.is_empty() && !is_number(text));
        let why = found.map(|found| format!(": {:?} in {}", found.value, found.place())).unwrap_or_default();
        format!("{} is text{why}", written(self.name()))
    }

    /// What to write to get a number.
    pub(super) fn as_number(&self) -> String {
        let name = written(self.name());
        let csv = self.table.name == "input" && self.table.is_delimited();
        let schema = if csv {
            format!("; with option `schema={}:float` such rows are dead letters", self.name())
        } else {
            String::new()
        };
        format!("write try_cast({name} AS DOUBLE), which is null if the text is not a number{schema}")
    }
}

/// The name of a type in a sentence.
pub(super) fn in_words(data_type: &str) -> String {
    if let Some([inner]) = groups(r"^(?:Large)?(?:List|FixedSizeList)(?:View)?\((?:\d+ x )?(.*)\)$", data_type) {
        return format!("a list of {}", sql_type(&inner));
    }
    let words = match data_type.split('(').next().unwrap_or_default() {
        "Utf8" | "LargeUtf8" | "Utf8View" | "String" => "text",
        "Int8" | "Int16" | "Int32" | "Int64" | "UInt8" | "UInt16" | "UInt32" | "UInt64" | "Integer" => "a whole number",
        "Float16" | "Float32" | "Float64" | "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" | "Decimal" => {
            "a number"
        }
        "Boolean" => "true or false",
        "Date32" | "Date64" | "Date" => "a date",
        "Timestamp" => "a timestamp",
        "Time32" | "Time64" | "Time" => "a time of day",
        "Interval" | "Duration" => "a span of time",
        "Binary" | "LargeBinary" | "FixedSizeBinary" | "BinaryView" => "binary",
        "Struct" if data_type.contains("\"$json\"") => "JSON of several kinds",
        "Struct" | "Map" => "an object",
        "Null" => "null",
        _ => return data_type.to_owned(),
    };
    words.to_owned()
}

/// The name of a type in a query.
pub(super) fn sql_type(data_type: &str) -> String {
    let name = match data_type.split('(').next().unwrap_or_default() {
        "Int8" => "TINYINT",
        "Int16" => "SMALLINT",
        "Int32" => "INT",
        "Int64" => "BIGINT",
        "UInt8" => "TINYINT UNSIGNED",
        "UInt16" => "SMALLINT UNSIGNED",
        "UInt32" => "INT UNSIGNED",
        "UInt64" => "BIGINT UNSIGNED",
        "Float32" => "REAL",
        "Float64" => "DOUBLE",
        "Boolean" => "BOOLEAN",
        "Date32" | "Date64" => "DATE",
        "Timestamp" => "TIMESTAMP",
        "Utf8" | "LargeUtf8" | "Utf8View" => "TEXT",
        "Decimal128" | "Decimal256" => {
            return data_type.replace("Decimal128", "DECIMAL").replace("Decimal256", "DECIMAL");
        }
        _ => return in_words(data_type),
    };
    name.to_owned()
}
