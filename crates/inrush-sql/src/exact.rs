//! Computes whole numbers and decimals exactly, or fails.
//!
//! DataFusion's `+`, `-`, `*` and `sum` wrap around if the result does not fit its type.
//! [`Arithmetic`] replaces these operators by functions that fail instead, and [`sum`] adds in a
//! wider type. The types of results stay the same.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::numeric;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, exec_err, not_impl_err, plan_err};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, merge_schema};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, BinaryExpr, ColumnarValue, EmitTo, Expr, ExprSchemable,
    GroupsAccumulator, LogicalPlan, Operator, ReturnFieldArgs, ReversedUDAF, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr_common::datum::apply;

/// Replaces `+`, `-` and `*` between whole numbers by [`Checked`]. For decimals DataFusion's own
/// operators fail.
#[derive(Debug)]
pub(super) struct Arithmetic;

impl AnalyzerRule for Arithmetic {
    fn name(&self) -> &str {
        "checked_arithmetic"
    }

    /// Runs after DataFusion's own rules, which give both sides of an operator the same type.
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let checked = plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            let checked = plan.map_expressions(|expression| {
                let name = names.save(&expression);
                let checked = expression.transform_up(|expression| {
                    let checked = checked(&expression, &schema)?;
                    Ok(checked.map_or_else(|| Transformed::no(expression), Transformed::yes))
                })?;
                Ok(checked.update_data(|expression| name.restore(expression)))
            })?;
            checked.map_data(LogicalPlan::recompute_schema)
        })?;
        Ok(checked.data)
    }
}

fn checked(expression: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let (operator, arguments) = match expression {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => (*op, vec![left, right]),
        Expr::Negative(of) => (Operator::Minus, vec![of]),
        _ => return Ok(None),
    };
    if !matches!(operator, Operator::Plus | Operator::Minus | Operator::Multiply) {
        return Ok(None);
    }
    for argument in &arguments {
        if !argument.get_type(schema)?.is_integer() {
            return Ok(None);
        }
    }
    let any = Signature::any(arguments.len(), Volatility::Immutable);
    let function = ScalarUDF::new_from_impl(Checked { operator, signature: any });
    Ok(Some(function.call(arguments.into_iter().map(|argument| (**argument).clone()).collect())))
}

/// An operator between whole numbers of one type, or the sign before one.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operator: Operator,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.operator {
            Operator::Plus => "+",
            Operator::Multiply => "*",
            _ => "-",
        }
    }

    /// The name that DataFusion gives the operator. Columns of a result have these names.
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        Ok(match arguments {
            [left, right] => format!("{} {} {}", left.schema_name(), self.operator, right.schema_name()),
            _ => format!("(- {})", arguments[0].schema_name()),
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = arguments.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), arguments.arg_fields[0].data_type().clone(), nullable)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let data_type = arguments.return_type();
        let computed = match (self.operator, arguments.args.as_slice()) {
            (Operator::Plus, [left, right]) => apply(left, right, numeric::add),
            (Operator::Multiply, [left, right]) => apply(left, right, numeric::mul),
            (Operator::Minus, [left, right]) => apply(left, right, numeric::sub),
            (Operator::Minus, [of]) => {
                apply(&ColumnarValue::Scalar(ScalarValue::new_zero(data_type)?), of, numeric::sub)
            }
            (operator, arguments) => return not_impl_err!("{operator} of {} whole numbers", arguments.len()),
        };
        computed.or_else(|error| match &error {
            DataFusionError::ArrowError(inner, _) => match &**inner {
                // `wrong::running` explains this error.
                ArrowError::ArithmeticOverflow(text) => exec_err!("{text} of {data_type}"),
                _ => Err(error),
            },
            _ => Err(error),
        })
    }
}

/// `sum` that fails if its total does not fit the type.
pub(super) fn sum() -> AggregateUDF {
    AggregateUDF::new_from_impl(Sum(sum_udaf()))
}

/// DataFusion's `sum` with values of a wider type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sum(Arc<AggregateUDF>);

/// The exponent of ten of a number of rows that no table reaches.
const ROWS_DIGITS: u8 = 10;

/// The type in which values are added. `None` if their own type is wide enough.
fn wider(data_type: &DataType) -> Option<DataType> {
    match *data_type {
        DataType::Int64 | DataType::UInt64 => Some(DataType::Decimal128(20, 0)),
        DataType::Decimal128(precision, scale) if precision + ROWS_DIGITS > DECIMAL128_MAX_PRECISION => {
            Some(DataType::Decimal256(precision, scale))
        }
        _ => None,
    }
}

impl Sum {
    /// The result of `make` for wider values, and the conversion to results. `None` if the values
    /// need no wider type.
    fn wide<T>(
        &self,
        arguments: AccumulatorArgs<'_>,
        make: impl FnOnce(AccumulatorArgs<'_>) -> Result<T>,
    ) -> Result<(T, Option<Total>)> {
        let Some(wide) = wider(arguments.expr_fields[0].data_type()) else { return Ok((make(arguments)?, None)) };
        let total =
            Total { name: arguments.name.to_owned(), wide: wide.clone(), result: arguments.return_type().clone() };
        let return_field = Field::new(arguments.name, self.0.return_type(std::slice::from_ref(&wide))?, true);
        let expr_fields = [Arc::new(Field::new(arguments.name, wide, true))];
        let arguments =
            AccumulatorArgs { return_field: Arc::new(return_field), expr_fields: &expr_fields, ..arguments };
        Ok((make(arguments)?, Some(total)))
    }

    fn wide_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
        make: impl FnOnce(AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>>,
    ) -> Result<Box<dyn Accumulator>> {
        Ok(match self.wide(arguments, make)? {
            (inner, Some(total)) => Box::new(Wide { inner, total }),
            (inner, None) => inner,
        })
    }
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [DataType::Decimal256(precision, _)] if precision + ROWS_DIGITS > DECIMAL256_MAX_PRECISION => {
                let most = DECIMAL256_MAX_PRECISION - ROWS_DIGITS;
                plan_err!("sum takes numbers of at most {most} digits, not DECIMAL of {precision}")
            }
            _ => self.0.return_type(arguments),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.wide_accumulator(arguments, |arguments| self.0.accumulator(arguments))
    }

    fn create_sliding_accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.wide_accumulator(arguments, |arguments| self.0.create_sliding_accumulator(arguments))
    }

    fn state_fields(&self, arguments: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let Some(wide) = wider(arguments.input_fields[0].data_type()) else { return self.0.state_fields(arguments) };
        let return_field = Field::new(arguments.name, self.0.return_type(&[wide])?, true);
        self.0.state_fields(StateFieldsArgs { return_field: Arc::new(return_field), ..arguments })
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs) -> bool {
        self.0.groups_accumulator_supported(arguments)
    }

    fn create_groups_accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(match self.wide(arguments, |arguments| self.0.create_groups_accumulator(arguments))? {
            (inner, Some(total)) => Box::new(Wide { inner, total }),
            (inner, None) => inner,
        })
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// How values are widened, and their totals converted to results.
#[derive(Debug)]
struct Total {
    /// The name of the result's column.
    name: String,
    wide: DataType,
    result: DataType,
}

impl Total {
    fn widened(&self, values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        Ok(values.iter().map(|values| cast(values, &self.wide)).collect::<Result<_, _>>()?)
    }

    fn result(&self, totals: &ArrayRef) -> Result<ArrayRef> {
        // A total that does not fit becomes null.
        let results = cast(totals, &self.result)?;
        match (0..totals.len()).find(|row| totals.is_valid(*row) && results.is_null(*row)) {
            // `wrong::running` explains this error.
            Some(row) => {
                let total = ScalarValue::try_from_array(totals, row)?;
                exec_err!("sum overflow: {total} of {} in {}", self.result, self.name)
            }
            None => Ok(results),
        }
    }
}

/// An accumulator of wider values.
#[derive(Debug)]
struct Wide<A> {
    inner: A,
    total: Total,
}

impl Accumulator for Wide<Box<dyn Accumulator>> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&self.total.widened(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&self.total.widened(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let totals = self.inner.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&self.total.result(&totals)?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

impl GroupsAccumulator for Wide<Box<dyn GroupsAccumulator>> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        groups_total: usize,
    ) -> Result<()> {
        self.inner.update_batch(&self.total.widened(values)?, groups, filter, groups_total)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.total.result(&self.inner.evaluate(emit)?)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], groups_total: usize) -> Result<()> {
        self.inner.merge_batch(states, groups, groups_total)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&self.total.widened(values)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
