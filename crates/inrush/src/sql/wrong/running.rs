//! Values that a query cannot be computed with: what a cast fails at, division by zero, numbers that are too large.

use datafusion::sql::sqlparser::ast::{BinaryOperator, CastKind, Expr, Value};

use super::columns::{Column, in_words, sql_type};
use super::survey::{arguments, column_name, columns_below, converts, place};
use super::trace::{self, Found};
use super::{Case, Problem, cleaned, groups, written};

impl Case<'_> {
    pub(super) fn running(&self, text: &str) -> Option<Problem> {
        if let Some([value, of]) = groups(r"(?s)Cannot cast (?:string|value) '(.*)' to value of (.+) type", text) {
            return Some(self.value(&value, &of, &format!("is not {}", in_words(&of))));
        }
        if let Some([value, of]) = groups(r"Can't cast value (\S+) to type (.+)$", text) {
            return Some(self.value(&value, &of, &format!("is too large for {}", sql_type(&of))));
        }
        if let Some([of, value]) = groups(r"Cannot cast to (.+)\. Overflowing on (.+)$", text) {
            return Some(self.value(&value, &of, &format!("is too large for {}", sql_type(&of))));
        }
        if let Some([value, of, precision]) =
            groups(r"^.*?(\S+) is too large to store in a (\w+) of precision (\d+)", text)
        {
            return Some(self.value(&value, &of, &format!("has more than the {precision} digits of its type")));
        }
        if let Some([value, format]) = groups(r"(?s)Error parsing timestamp from '(.*?)' using format '(.*?)'", text) {
            return Some(self.value(&value, "Timestamp", &format!("is not of the form {format}")));
        }
        if let Some([value]) = groups(r"(?s)Error parsing timestamp from '(.*?)'", text) {
            return Some(self.value(&value, "Timestamp", "is not a date or time as in 2019-01-31T08:00:00Z"));
        }
        if let Some([left, operator, right]) = groups(r"Overflow happened on: (\S+) ([-+*/%]) (\S+)", text) {
            return Some(self.overflow(&format!("{left} {operator} {right}"), &operator));
        }
        if text.contains("Scalar subquery returned more than one row") {
            let subquery = self.survey.expressions.iter().find(|expression| matches!(expression, Expr::Subquery(_)));
            return Some(
                Problem::new("a query in brackets gives one value, and this one has several rows")
                    .at(subquery.and_then(place))
                    .hint("take one of them: SELECT min(x) …, or SELECT array_agg(x) … for all; or use a JOIN"),
            );
        }
        if text.contains("regex parse error") {
            let why = text.rsplit_once("error: ").map_or_else(|| cleaned(text), |(_, why)| cleaned(why));
            return Some(
                Problem::new(format!("this is no regular expression: {why}"))
                    .hint("signs such as ( stand for themselves behind a \\"),
            );
        }
        if text.contains("Divide by zero") {
            return Some(self.division());
        }
        None
    }

    /// A value that does not fit where it is used, which stands in the query or in a row.
    fn value(&self, value: &str, of: &str, trouble: &str) -> Problem {
        if let Some(at) = self.survey.literal(value) {
            let hint = match in_words(of).as_str() {
                "a date" | "a timestamp" => "a date is written '2019-01-31', a time '2019-01-31T08:00:00Z'".to_owned(),
                "a whole number" if value.parse::<f64>().is_ok() => {
                    "a DOUBLE or DECIMAL has digits behind the point".to_owned()
                }
                _ => match self.beside(value) {
                    Some(column) => format!("compare it as text: CAST({column} AS TEXT)"),
                    None => format!(
                        "both sides have to be of one type: CAST(… AS TEXT), or {} without quotes",
                        in_words(of)
                    ),
                },
            };
            return Problem::new(format!("'{value}' {trouble}")).at(Some(at)).hint(hint);
        }
        let Some(found) = self.row(value) else {
            return Problem::new(format!("'{value}' {trouble}"))
                .hint(format!("try_cast(… AS {}) makes null of it", sql_type(of)));
        };
        let (use_of, hint) = self.use_of(&found, of);
        Problem::new(format!("{:?} {trouble}: column {} in {}", found.value, written(&found.column), found.place()))
            .at(use_of.and_then(place))
            .hint(hint)
    }

    /// The column that a text is compared with.
    fn beside(&self, text: &str) -> Option<String> {
        let is_text = |expression: &Expr| match expression {
            Expr::Value(value) => matches!(&value.value, Value::SingleQuotedString(found) if found == text),
            _ => false,
        };
        self.survey.expressions.iter().find_map(|expression| match expression {
            Expr::BinaryOp { left, right, .. } if is_text(right) && column_name(left).is_some() => {
                Some(left.to_string())
            }
            Expr::BinaryOp { left, right, .. } if is_text(left) && column_name(right).is_some() => {
                Some(right.to_string())
            }
            Expr::InList { expr, list, .. } if list.iter().any(is_text) => Some(expr.to_string()),
            Expr::Between { expr, low, high, .. } if is_text(low) || is_text(high) => Some(expr.to_string()),
            _ => None,
        })
    }

    /// The first row that has a value in a column which the query converts.
    fn row(&self, value: &str) -> Option<Found> {
        let mut columns: Vec<(&str, String)> = Vec::new();
        let converting: Vec<Expr> =
            self.survey.expressions.iter().filter(|e| converts(e)).flat_map(columns_below).collect();
        for expression in self.joining().chain(&converting) {
            if let Some(column) = self.column(expression) {
                let known = (column.table.name.as_str(), column.name().to_owned());
                if !columns.contains(&known) {
                    columns.push(known);
                }
            }
        }
        self.scene.tables.iter().find_map(|table| {
            let of: Vec<&str> =
                columns.iter().filter(|(name, _)| *name == table.name).map(|(_, column)| column.as_str()).collect();
            // DataFusion shows some values in small letters.
            if of.is_empty() {
                None
            } else {
                trace::first(table, &of, |text| text == value || text.to_lowercase() == value)
            }
        })
    }

    /// Columns by themselves, which a join or a condition may convert.
    fn joining(&self) -> impl Iterator<Item = &Expr> {
        self.survey.selects.iter().filter_map(|select| select.selection.as_ref())
    }

    /// How the query uses a column, and what to write instead.
    fn use_of(&self, found: &Found, of: &str) -> (Option<&Expr>, String) {
        let (column, target) = (written(&found.column), sql_type(of));
        let below = |expression: &Expr| {
            columns_below(expression)
                .iter()
                .any(|below| column_name(below).is_some_and(|(_, name)| name == found.column))
        };
        let uses = || self.survey.expressions.iter().filter(|expression| converts(expression) && below(expression));
        // The smallest expression is the last one.
        let cast = uses().rfind(|expression| matches!(expression, Expr::Cast { .. }));
        if let Some(whole @ Expr::Cast { kind, expr, data_type, .. }) = cast {
            let hint = match kind {
                CastKind::DoubleColon | CastKind::Cast => {
                    format!("try_cast({expr} AS {data_type}) is null for such values")
                }
                CastKind::TryCast | CastKind::SafeCast => String::new(),
            };
            return (Some(whole), hint);
        }
        let call = uses().rfind(|expression| matches!(expression, Expr::Function(_)));
        match call {
            Some(whole @ Expr::Function(function)) if function.name.to_string().to_lowercase().starts_with("to_") => {
                let format = if arguments(function).len() > 1 { "one more form" } else { "a form" };
                let hint = format!("give it {format}, as in {}({column}, '%Y-%m-%d', '%d/%m/%Y')", function.name);
                (Some(whole), hint)
            }
            _ => {
                let target = if in_words(of) == "a whole number" { "DOUBLE".to_owned() } else { target };
                let whole = uses().next_back();
                if let Some(Expr::BinaryOp { left, op, right }) = whole
                    && let (Some(_), Some(other)) = (self.column(left), self.column(right))
                {
                    let text = |side: &Expr, column: &Column<'_>| {
                        if column.is_text() { side.to_string() } else { format!("CAST({side} AS TEXT)") }
                    };
                    let left_text = self.column(left).map_or_else(|| left.to_string(), |column| text(left, &column));
                    let hint = format!("compare them as text: {left_text} {op} {}", text(right, &other));
                    return (whole, hint);
                }
                let hint = format!(
                    "the text of {column} is taken for {} here; try_cast({column} AS {target}) is null for such values, \
                     and a text to compare with stands in quotes",
                    in_words(of)
                );
                (whole, hint)
            }
        }
    }

    pub(super) fn division(&self) -> Problem {
        let divisions = self.survey.expressions.iter().filter_map(|expression| match expression {
            Expr::BinaryOp { left, op: op @ (BinaryOperator::Divide | BinaryOperator::Modulo), right } => {
                let number = right.to_string().parse::<f64>();
                (number.is_err() || number == Ok(0.0)).then_some((expression, left, op, right))
            }
            _ => None,
        });
        let divisions: Vec<_> = divisions.collect();
        let Some((whole, left, op, right)) = divisions.first() else {
            return Problem::new("division by zero").hint("nullif(x, 0) makes null of a zero");
        };
        let others = if divisions.len() > 1 { ", here or in another division" } else { "" };
        let problem = Problem::new(format!("division by zero{others}")).at(place(whole));
        match right.to_string().parse::<f64>() {
            Ok(_) => problem,
            Err(_) => problem.hint(format!("the result is null with {left} {op} nullif({right}, 0)")),
        }
    }

    fn overflow(&self, what: &str, operator: &str) -> Problem {
        let whole = self.survey.operations(operator).next().map(|(whole, _, _)| whole);
        Problem::new(format!("{what} is too large for BIGINT"))
            .at(whole.and_then(place))
            .hint("cast one side: CAST(… AS DECIMAL(38, 0)) has more digits, CAST(… AS DOUBLE) rounds")
    }
}
