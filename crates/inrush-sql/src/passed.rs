//! Columns that a query passes on as they are, and that are text because of a few of their values.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::logical_expr::{Expr, LogicalPlan};
use inrush_sources::Warnings;

use super::shape::Tally;
use super::table::Table;
use super::wrong::text_column;

/// A column of a table whose values are numbers except for a few.
pub(super) struct Passed {
    table: Arc<Table>,
    column: String,
    tally: Tally,
}

impl Passed {
    /// Warns that the numbers are sent as strings. The table is read for an example.
    pub(super) fn warn(&self, field: &str, warnings: &Warnings) {
        let Passed { table, column, tally } = self;
        warnings.add(&table.names.join(", "), "few_texts", field, 1, || {
            let (why, cure) = text_column(table, column).unwrap_or_default();
            format!(
                "{why} ({} of {} values are no numbers), so all are sent as strings; {cure}",
                tally.texts,
                tally.texts + tally.numbers
            )
        });
    }
}

/// The fields of the result that are such columns.
pub(super) fn few_texts(plan: &LogicalPlan, tables: &[Arc<Table>]) -> Vec<(String, Passed)> {
    if tables.iter().all(|table| table.few_texts.is_empty()) {
        return Vec::new();
    }
    let found = columns(plan).into_iter().filter_map(|(field, (name, column))| {
        let table = tables.iter().find(|table| table.name == name)?;
        let (_, tally) = table.few_texts.iter().find(|(few, _)| *few == column)?;
        Some((field, Passed { table: Arc::clone(table), column, tally: *tally }))
    });
    let mut found: Vec<(String, Passed)> = found.collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// The fields of a plan that are columns of tables, by their names: the table and the column.
fn columns(plan: &LogicalPlan) -> HashMap<String, (String, String)> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let table = scan.table_name.table();
            let names = scan.projected_schema.fields().iter().map(|field| field.name().clone());
            names.map(|name| (name.clone(), (table.to_owned(), name))).collect()
        }
        LogicalPlan::Projection(projection) => {
            let input = columns(&projection.input);
            let passed = |expression: &Expr| {
                let (inner, name) = match expression {
                    Expr::Alias(alias) => (alias.expr.as_ref(), Some(alias.name.clone())),
                    other => (other, None),
                };
                let Expr::Column(column) = inner else { return None };
                Some((name.unwrap_or_else(|| column.name.clone()), input.get(&column.name)?.clone()))
            };
            projection.expr.iter().filter_map(passed).collect()
        }
        LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Distinct(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Join(_) => plan.inputs().into_iter().flat_map(columns).collect(),
        _ => HashMap::new(),
    }
}
