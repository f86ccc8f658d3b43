//! The parts of a query and their positions.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Select,
    SelectItem, Spanned, Statement, TableFactor, UnaryOperator, Value, ValueWithSpan, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::place::Place;

/// The parts of a query, in their order. Empty if the query cannot be parsed.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) expressions: Vec<Expr>,
    pub(super) selects: Vec<Select>,
    values: Vec<ValueWithSpan>,
    /// The aliases of tables, and their names.
    pub(super) relations: Vec<(String, String)>,
    /// The position of a TABLESAMPLE, which DataFusion ignores.
    pub(super) sample: Option<Place>,
}

impl Survey {
    pub(super) fn of(sql: &str) -> Self {
        let mut survey = Survey::default();
        if let Ok(statements) = Parser::parse_sql(&GenericDialect {}, sql) {
            let _: ControlFlow<()> =
                statements.first().map_or(ControlFlow::Continue(()), |first: &Statement| first.visit(&mut survey));
        }
        survey
    }

    /// The first position of a column or another name.
    pub(super) fn name(&self, relation: Option<&str>, name: &str) -> Option<Place> {
        let found = self.expressions.iter().find(|expression| match column_name(expression) {
            Some((of, found)) => found == name && (relation.is_none() || relation == of),
            None => false,
        });
        found.and_then(place)
    }

    /// The calls of a function, in upper or lower case.
    pub(super) fn calls<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Function> {
        self.expressions.iter().filter_map(move |expression| match expression {
            Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case(name) => Some(function),
            _ => None,
        })
    }

    /// The position of a text or a number.
    pub(super) fn literal(&self, text: &str) -> Option<Place> {
        let found = self.values.iter().find(|value| match &value.value {
            Value::Number(number, _) => *number == text,
            value => value.clone().into_string().is_some_and(|found| found == text),
        });
        found.and_then(|value| Place::of_parsed(value.span))
    }

    /// The position at which a SELECT defines an alias.
    pub(super) fn alias(&self, name: &str) -> Option<Place> {
        self.selects.iter().flat_map(|select| &select.projection).find_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } if alias.value == name => Place::of_parsed(alias.span),
            _ => None,
        })
    }

    /// The uses of an operator between two expressions.
    pub(super) fn operations<'s>(&'s self, operator: &'s str) -> impl Iterator<Item = (&'s Expr, &'s Expr, &'s Expr)> {
        self.expressions.iter().filter_map(move |expression| match expression {
            Expr::BinaryOp { left, op, right } if op.to_string() == operator || same(op, operator) => {
                Some((expression, &**left, &**right))
            }
            _ => None,
        })
    }

    /// The uses of a sign or NOT before an expression.
    pub(super) fn unary(&self, operator: &str) -> impl Iterator<Item = (&Expr, &Expr)> {
        let wanted = match operator {
            "-" => UnaryOperator::Minus,
            "+" => UnaryOperator::Plus,
            _ => UnaryOperator::Not,
        };
        self.expressions.iter().filter_map(move |expression| match expression {
            Expr::UnaryOp { op, expr } if *op == wanted => Some((expression, &**expr)),
            _ => None,
        })
    }
}

fn same(operator: &BinaryOperator, text: &str) -> bool {
    matches!((operator, text), (BinaryOperator::NotEq, "!=" | "<>"))
}

impl Visitor for Survey {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.selects.push(select.clone());
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, sample, .. } = table {
            self.sample = self.sample.or(sample.as_ref().and_then(|_| place_of(name)));
            let name = last(name);
            self.relations.push((alias.as_ref().map_or_else(|| name.clone(), |alias| alias.name.value.clone()), name));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        self.expressions.push(expression.clone());
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        self.values.push(value.clone());
        ControlFlow::Continue(())
    }
}

fn last(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map_or_else(String::new, |name| name.value.clone())
}

pub(super) fn place(expression: &Expr) -> Option<Place> {
    Place::of_parsed(expression.span())
}

pub(super) fn place_of(spanned: &impl Spanned) -> Option<Place> {
    Place::of_parsed(spanned.span())
}

/// The relation and the name, if the expression may be a column.
pub(super) fn column_name(expression: &Expr) -> Option<(Option<&str>, &str)> {
    match expression {
        Expr::Identifier(name) => Some((None, &name.value)),
        Expr::CompoundIdentifier(names) => match names.as_slice() {
            [of, name] => Some((Some(&of.value), &name.value)),
            _ => None,
        },
        Expr::Nested(inner) => column_name(inner),
        _ => None,
    }
}

/// The arguments of a call.
pub(super) fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let arguments = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression),
        _ => None,
    });
    arguments.collect()
}

/// Whether `expression` requires values that a text may not match: a cast that fails, a sum, a
/// comparison, a call.
pub(super) fn converts(expression: &Expr) -> bool {
    match expression {
        Expr::Cast { kind, .. } => !matches!(kind, CastKind::TryCast | CastKind::SafeCast),
        Expr::Function(_)
        | Expr::BinaryOp { .. }
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Case { .. }
        | Expr::Extract { .. } => true,
        _ => false,
    }
}

/// All columns inside an expression.
pub(super) fn columns_below(expression: &Expr) -> Vec<Expr> {
    let mut below = Survey::default();
    let _ = expression.visit(&mut below);
    below.expressions.into_iter().filter(|expression| column_name(expression).is_some()).collect()
}
