//! Numbers in the text of a query keep their digits.
//!
//! DataFusion reads `1234567890123456.79` as the nearest double, and computes decimals beside a
//! double as doubles. Here a number with more digits than doubles have becomes a decimal before
//! that ([`keep_digits`]), and a number beside a decimal later ([`Beside`]).

use std::ops::ControlFlow;

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, Operator, lit};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, CastKind, ExactNumberInfo, Value, ValueWithSpan, visit_expressions_mut};
use inrush_formats::numbers::{Holder, Numbers, plain};

/// The most digits of a 128-bit decimal. Doubles become such decimals.
const DIGITS_MAX: usize = 38;

/// Makes decimals of the numbers in a query that doubles cannot hold.
pub(super) fn keep_digits(statement: &mut Statement) {
    let Statement::Statement(statement) = statement else { return };
    let _: ControlFlow<()> = visit_expressions_mut(&mut **statement, |expression| {
        if let ast::Expr::Value(ValueWithSpan { value: Value::Number(text, _), span }) = expression
            && text.parse::<u64>().is_err()
            && let Holder::Decimal(digits, scale) = Numbers::of(text).holder()
        {
            let text = Value::SingleQuotedString(plain(text, scale)).with_span(*span);
            *expression = ast::Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(ast::Expr::Value(text)),
                data_type: ast::DataType::Decimal(ExactNumberInfo::PrecisionAndScale(digits.into(), scale.into())),
                array: false,
                format: None,
            };
        }
        ControlFlow::Continue(())
    });
}

/// Gives a constant the type of the value that it is compared with, added to or multiplied by: a
/// decimal or a double.
#[derive(Debug)]
pub(super) struct Beside;

impl FunctionRewrite for Beside {
    fn name(&self) -> &str {
        "constants_beside_decimals"
    }

    /// Called before DataFusion gives both sides of an operator the same type.
    fn rewrite(&self, expression: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let fitted = |constant: Box<Expr>, beside: &Expr| fitted(*constant, beside, schema).map(Box::new);
        Ok(match expression {
            // A quotient of decimals has fewer digits than one of doubles.
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if !matches!(op, Operator::Divide | Operator::Modulo) => {
                let right = fitted(right, &left)?;
                let left = fitted(left, &right)?;
                Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            Expr::Between(Between { expr, negated, low, high }) => {
                let (low, high) = (fitted(low, &expr)?, fitted(high, &expr)?);
                Transformed::yes(Expr::Between(Between { expr, negated, low, high }))
            }
            Expr::InList(InList { expr, list, negated }) => {
                let list = list.into_iter().map(|item| self::fitted(item, &expr, schema)).collect::<Result<_>>()?;
                Transformed::yes(Expr::InList(InList { expr, list, negated }))
            }
            other => Transformed::no(other),
        })
    }
}

/// `constant` in the type of the expression beside it. An expression that is not constant stays
/// unchanged.
fn fitted(constant: Expr, beside: &Expr, schema: &DFSchema) -> Result<Expr> {
    // An expression without a type is reported later, with its position.
    let Ok(data_type) = beside.get_type(schema) else { return Ok(constant) };
    if !is_constant(&constant) || !(data_type.is_decimal() || data_type.is_floating()) {
        return Ok(constant);
    }
    let fitted = constant.transform_up(|part| {
        let fitted = match &part {
            Expr::Literal(ScalarValue::Float64(Some(number)), _) if data_type.is_decimal() => decimal(*number),
            Expr::Cast(cast) if data_type.is_floating() => double(cast),
            _ => None,
        };
        Ok(fitted.map_or_else(|| Transformed::no(part), Transformed::yes))
    })?;
    Ok(fitted.data)
}

fn is_constant(expression: &Expr) -> bool {
    match expression {
        Expr::Literal(..) => true,
        Expr::Negative(of) => is_constant(of),
        Expr::Cast(Cast { expr, .. }) => matches!(**expr, Expr::Literal(..)),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus | Operator::Minus | Operator::Multiply, right }) => {
            is_constant(left) && is_constant(right)
        }
        _ => false,
    }
}

/// The decimal of a double's shortest text, which is the text in the query.
fn decimal(number: f64) -> Option<Expr> {
    let text = format!("{number}");
    let (before, behind) = text.split_once('.').unwrap_or((&text, ""));
    let digits = format!("{before}{behind}");
    let length = digits.trim_start_matches('-').len();
    let number = digits.parse().ok().filter(|_| length <= DIGITS_MAX)?;
    Some(lit(ScalarValue::Decimal128(Some(number), length as u8, behind.len() as i8)))
}

/// The nearest double of a decimal that is written as text.
fn double(cast: &Cast) -> Option<Expr> {
    match (&*cast.expr, cast.field.data_type()) {
        (Expr::Literal(ScalarValue::Utf8(Some(text)), _), DataType::Decimal128(..) | DataType::Decimal256(..)) => {
            text.parse::<f64>().ok().map(lit)
        }
        _ => None,
    }
}
