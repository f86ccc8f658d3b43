//! Values that a query cannot be computed with: failed casts, division by zero, numbers that are
//! too large.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{BinaryOperator, CastKind, Expr, Function, Value};
use inrush_formats::beginning;
use regex::Regex;

use super::columns::{Column, in_words, sql_type};
use super::survey::{arguments, column_name, columns_below, converts, place, place_of};
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
        if let Some([value]) = groups(r"(?s)Time out of range: '(.*?)'", text) {
            let problem = self.value(&value, "Timestamp", "is out of the range of nanoseconds, from 1677 to 2262");
            return Some(problem.hint("to_timestamp_millis and try_to_timestamp_millis read it"));
        }
        if let Some([left, operator, right, of]) =
            groups(r"Overflow happened on: (\S+) ([-+*/%]) (\S+)(?: of (.+))?$", text)
        {
            return Some(self.overflow([&left, &right], &operator, &of));
        }
        if let Some([value]) = groups(r"overflow on abs\((\S+)\)", text) {
            return Some(self.no_absolute(&value));
        }
        if text.contains("Overflow in AvgAccumulator") {
            let call = self.survey.calls("avg").next().or_else(|| self.survey.calls("mean").next());
            return Some(
                Problem::new("an average has more digits than its type")
                    .at(call.and_then(place_of))
                    .hint("avg(CAST(… AS DOUBLE)) rounds"),
            );
        }
        if let Some([total, of, name]) = groups(r"(?s)sum overflow: (\S+) of (.+?) in (.+)$", text) {
            return Some(self.sum(&total, &of, &name));
        }
        if text.contains("Scalar subquery returned more than one row") {
            let subquery = self.survey.expressions.iter().find(|expression| matches!(expression, Expr::Subquery(_)));
            return Some(
                Problem::new("a subquery must have one value here, but this one has several rows")
                    .at(subquery.and_then(place))
                    .hint("take one of them: SELECT min(x) …, or SELECT array_agg(x) … for all; or use a JOIN"),
            );
        }
        if text.contains("regex parse error") {
            let why = text.rsplit_once("error: ").map_or_else(|| cleaned(text), |(_, why)| cleaned(why));
            return Some(
                Problem::new(format!("this is not a regular expression: {why}"))
                    .hint("write a \\ before signs such as ( to match them literally"),
            );
        }
        if text.contains("Divide by zero") {
            return Some(self.division());
        }
        None
    }

    /// A value that does not fit its use. It comes from the query or from a row.
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
            let value = beginning(value.as_bytes());
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

    /// The first row with a value in a column that the query converts.
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
            // DataFusion shows some values in lower case.
            if of.is_empty() {
                None
            } else {
                trace::first(table, &of, |text| text == value || text.to_lowercase() == value)
            }
        })
    }

    /// Conditions of the query, whose columns a join or a comparison may convert.
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
                let hint = format!(
                    "give it {format}, as in {0}({column}, '%Y-%m-%d', '%d/%m/%Y'); try_{0} is null for such values",
                    function.name
                );
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
                    "the text of {column} is used as {} here; try_cast({column} AS {target}) is null for such values, \
                     and a text to compare with is written in quotes",
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

    /// Two numbers whose sum, difference, product or quotient does not fit its type. The type `of`
    /// is known for whole numbers.
    fn overflow(&self, values: [&str; 2], operator: &str, of: &str) -> Problem {
        const HINT: &str = "CAST(… AS DECIMAL(38, 0)) of one side has more digits, CAST(… AS DOUBLE) rounds";
        let operations = || self.survey.operations(operator);
        if of.is_empty() {
            let at = operations().next().and_then(|(whole, _, _)| place(whole));
            return Problem::new(format!("a result of {operator} has more digits than its type"))
                .at(at)
                .hint("CAST(… AS DOUBLE) of one side rounds");
        }
        let binary = operations().map(|(whole, left, right)| (whole, vec![(left, values[0]), (right, values[1])]));
        // -x is 0 - x.
        let unary = self.survey.unary(operator).map(|(whole, of)| (whole, vec![(of, values[1])]));
        let unary = unary.filter(|_| values[0] == "0");
        let found = binary.chain(unary).find_map(|(whole, sides)| Some((whole, self.row_of_all(&sides)?)));
        let where_in_files =
            found.as_ref().map(|(_, row)| format!(": column {} in {}", written(&row.column), row.place()));
        let whole = found.map(|(whole, _)| whole).or_else(|| operations().next().map(|(whole, _, _)| whole));
        let what = values.join(&format!(" {operator} "));
        Problem::new(format!("{what} does not fit {}{}", sql_type(of), where_in_files.unwrap_or_default()))
            .at(whole.and_then(place))
            .hint(HINT)
    }

    /// The first row in which the sides of an operator have these values. At least one side is a
    /// column, others may be numbers.
    fn row_of_all(&self, sides: &[(&Expr, &str)]) -> Option<Found> {
        let mut columns: Vec<(Column<'_>, &str)> = Vec::new();
        for (side, value) in sides {
            match self.column(side) {
                Some(column) => columns.push((column, value)),
                None if side.to_string() == *value => {}
                None => return None,
            }
        }
        let table = columns.first()?.0.table;
        let of_table = columns.iter().all(|(column, _)| Arc::ptr_eq(column.table, table));
        let wanted: Vec<(&str, &str)> = columns.iter().map(|(column, value)| (column.name(), *value)).collect();
        if of_table { trace::all(table, &wanted) } else { None }
    }

    /// The smallest whole number of a type, whose absolute value does not fit the type.
    fn no_absolute(&self, value: &str) -> Problem {
        let call = self.survey.calls("abs").next();
        let of = call.and_then(|call| arguments(call).first().copied());
        let row = of.and_then(|of| self.row_of_all(&[(of, value)]));
        let row = row.map(|row| format!(": column {} in {}", written(&row.column), row.place())).unwrap_or_default();
        Problem::new(format!("abs({value}) does not fit its type{row}"))
            .at(call.and_then(place_of))
            .hint("abs(CAST(… AS DECIMAL(38, 0))) has more digits")
    }

    /// A total that does not fit its type.
    fn sum(&self, total: &str, of: &str, name: &str) -> Problem {
        // DataFusion writes the table before each column.
        let bare = |text: &str| match Regex::new(r#"\b\w+\.|"[^"]*"\.|DISTINCT "#) {
            Ok(others) => others.replace_all(text, "").into_owned(),
            Err(_) => text.to_owned(),
        };
        let called = |call: &Function| arguments(call).first().map_or_else(|| "…".to_owned(), ToString::to_string);
        let calls: Vec<&Function> = self.survey.calls("sum").collect();
        let call = calls.iter().find(|call| bare(name).starts_with(&bare(&format!("sum({})", called(call)))));
        let call = call.or(if calls.len() == 1 { calls.first() } else { None }).copied();
        let argument = call.map_or_else(|| "…".to_owned(), called);
        let what = call.map_or_else(|| "a sum".to_owned(), |_| format!("sum({argument})"));
        let wide = match groups(r"^Decimal128\(\d+, (-?\d+)\)$", of) {
            Some([scale]) => format!("DECIMAL(66, {scale})"),
            None => "DECIMAL(38, 0)".to_owned(),
        };
        Problem::new(format!("{what} is {total}, which does not fit {}", sql_type(of)))
            .at(call.and_then(place_of))
            .hint(format!("sum(CAST({argument} AS {wide})) has more digits, sum(CAST({argument} AS DOUBLE)) rounds"))
    }
}
