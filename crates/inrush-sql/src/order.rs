//! Whether a second run of a query gives the same documents at the same positions.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use inrush_core::FieldPath;
use inrush_sources::Repeats;

/// The repeatability of a result.
///
/// With `ORDER BY` over the field that holds the id, the id determines a document's position, as
/// long as ids are different and the query finds the same ids again. With another `ORDER BY`, rows
/// that it treats as equal may change places. Without `ORDER BY`, all rows may.
pub(super) fn repeats(
    logical: &LogicalPlan,
    physical: &Arc<dyn ExecutionPlan>,
    id: Option<&FieldPath>,
) -> Result<Repeats> {
    let ordering = physical.output_ordering().filter(|_| physical.output_partitioning().partition_count() == 1);
    let Some(ordering) = ordering else { return Ok(Repeats::Unordered) };
    let id = match id.map(FieldPath::names) {
        Some([name]) => name,
        _ => return Ok(Repeats::Once),
    };
    let by_id = ordering.iter().any(|key| {
        let key: &dyn Any = key.expr.as_ref();
        key.downcast_ref::<Column>().is_some_and(|column| column.name() == id)
    });
    Ok(if by_id && is_determined(logical)? { Repeats::Always } else { Repeats::Once })
}

/// Whether the tables alone determine the rows: no random numbers, no row numbers, no first rows of
/// an unordered result.
fn is_determined(plan: &LogicalPlan) -> Result<bool> {
    let mut determined = true;
    plan.apply_with_subqueries(|node| {
        determined &= match node {
            LogicalPlan::Window(_) => false,
            LogicalPlan::Limit(limit) => is_sorted(&limit.input),
            other => !other.expressions().iter().any(|expression| expression.is_volatile()),
        };
        Ok(if determined { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(determined)
}

fn is_sorted(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(_) => true,
        LogicalPlan::Projection(projection) => is_sorted(&projection.input),
        _ => false,
    }
}
