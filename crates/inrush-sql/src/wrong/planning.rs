//! Errors of planning: parts of a query that contradict each other.

use datafusion::sql::sqlparser::ast::{Expr, Function, SelectItem};

use super::columns::in_words;
use super::names::same_names;
use super::place::Place;
use super::survey::{arguments, place, place_of};
use super::{Case, Problem, cleaned, groups, listed, syntax};

impl Case<'_> {
    pub(super) fn planning(&self, text: &str) -> Option<Problem> {
        self.of_zones(text)
            .or_else(|| self.of_names(text))
            .or_else(|| self.of_groups(text))
            .or_else(|| self.of_functions(text))
            .or_else(|| self.of_types(text))
            .or_else(|| self.of_operands(text))
            .or_else(|| self.of_nested(text))
            .or_else(|| self.of_clauses(text))
            .or_else(|| self.of_order(text))
            .or_else(|| self.of_unsupported(text))
    }

    /// A zone around an expression whose texts were read already.
    fn of_zones(&self, text: &str) -> Option<Problem> {
        let [zone, reader] = groups(r"AT TIME ZONE '(.*?)' is around (\w+) of a text", text)?;
        Some(
            Problem::new(format!(
                "AT TIME ZONE '{zone}' is around more than {reader}, which takes a text without a zone for UTC"
            ))
            .at(self.word("ZONE"))
            .hint(format!("write it at the time itself: {reader}(…) AT TIME ZONE '{zone}'")),
        )
    }

    fn of_names(&self, text: &str) -> Option<Problem> {
        if let Some([name]) = groups(r"table '(?:datafusion\.)?(?:public\.)?([^']+)' not found", text) {
            return Some(self.unknown_table(&name));
        }
        if let Some([name]) = groups(r"Invalid qualifier (\S+)", text) {
            let tables: Vec<&str> = self.survey.relations.iter().map(|(called, _)| called.as_str()).collect();
            return Some(
                Problem::new(format!("{name}.*: there is no table {name} in FROM"))
                    .at(self.at)
                    .hint(format!("tables here: {}", listed(tables))),
            );
        }
        if let Some([name, first, second]) = groups(
            r#"Projections require unique expression names but the expression "(.*?)" at position (\d+) and ".*?" at position (\d+)"#,
            text,
        ) {
            let name = name.rsplit_once(" AS ").map_or(name.as_str(), |(_, alias)| alias);
            let name = groups(r"^(?:\w+\.)?(\w+)$", name).map_or_else(|| cleaned(name), |[name]| name);
            let item = |at: &str| self.survey.selects.first()?.projection.get(at.parse::<usize>().ok()?);
            let at = item(&second).or_else(|| item(&first)).and_then(|item| match item {
                SelectItem::UnnamedExpr(expression) => place(expression),
                SelectItem::ExprWithAlias { alias, .. } => Place::of_parsed(alias.span),
                _ => None,
            });
            return Some(same_names(&name).at(at));
        }
        None
    }

    fn of_groups(&self, text: &str) -> Option<Problem> {
        if let Some([part, column]) =
            groups(r#"Column in ([A-Z ]+) must be in GROUP BY or an aggregate function.*?column "(.*?)" must"#, text)
        {
            let short = groups(r#"^(?:\w+|"[^"]+")\.(\w+|"[^"]+")$"#, &column).map_or(column, |[name]| name);
            return Some(
                Problem::new(format!(
                    "{short} is used in {part}, but is neither in GROUP BY nor in an aggregate function"
                ))
                .at(self.at.or_else(|| self.survey.name(None, &short)))
                .hint(format!(
                    "add {short} to GROUP BY, or take one or all of a group: min({short}), array_agg({short})"
                )),
            );
        }
        if text.contains("Aggregate functions are not allowed in the WHERE clause") {
            let call = self.in_conditions(|function| self.is_aggregate(function));
            let name = call.map_or_else(|| "an aggregate function".to_owned(), |call| call.name.to_string());
            return Some(
                Problem::new(format!("{name} is used in WHERE, which is computed before groups exist"))
                    .at(call.and_then(place_of))
                    .hint("write a condition on groups after GROUP BY: HAVING …"),
            );
        }
        if text.contains("Physical plan does not support logical expression WindowFunction") {
            let call = self.in_conditions(|function| function.over.is_some());
            let name = call.map_or_else(|| "a window function".to_owned(), |call| call.name.to_string());
            return Some(
                Problem::new(format!("{name} is used in WHERE or HAVING, which are computed before windows"))
                    .at(call.and_then(place_of))
                    .hint("write a condition on windows in QUALIFY, after HAVING"),
            );
        }
        None
    }

    /// The first call in WHERE or HAVING for which `wanted` holds.
    fn in_conditions(&self, wanted: impl Fn(&Function) -> bool) -> Option<&Function> {
        let selects = self.survey.selects.iter();
        let conditions: Vec<String> =
            selects.flat_map(|select| select.selection.iter().chain(&select.having)).map(ToString::to_string).collect();
        self.survey.expressions.iter().find_map(|expression| match expression {
            Expr::Function(function) if wanted(function) => {
                let text = function.to_string();
                conditions.iter().any(|condition| condition.contains(&text)).then_some(function)
            }
            _ => None,
        })
    }

    fn is_aggregate(&self, function: &Function) -> bool {
        const AGGREGATES: [&str; 12] = [
            "sum",
            "avg",
            "min",
            "max",
            "count",
            "array_agg",
            "string_agg",
            "first_value",
            "last_value",
            "median",
            "stddev",
            "var",
        ];
        AGGREGATES.contains(&function.name.to_string().to_lowercase().as_str())
    }

    fn of_clauses(&self, text: &str) -> Option<Problem> {
        if let Some([operator]) =
            groups(r"^(?:Error during planning: )?(\w+) queries have different number of columns", text)
        {
            let notes = self.diagnostic.map(|diagnostic| diagnostic.notes.iter()).into_iter().flatten();
            let counts: Vec<String> =
                notes.filter_map(|note| groups(r"has (\d+) fields", &note.message)).map(|[n]| n).collect();
            let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(" and ")) };
            return Some(
                Problem::new(format!("the queries beside {operator} have different numbers of columns{counts}"))
                    .hint("NULL AS name fills a column that one of them lacks"),
            );
        }
        if let Some([columns]) = groups(r"Too many columns! The subquery should only return one column: (.*)$", text) {
            let subquery = |expression: &&Expr| matches!(expression, Expr::Subquery(_) | Expr::InSubquery { .. });
            let at = self.survey.expressions.iter().find(subquery).and_then(place);
            return Some(
                Problem::new(format!("a subquery must have one column here, but this one has several: {columns}"))
                    .at(self.at.or(at)),
            );
        }
        if text.contains("COUNT DISTINCT with multiple arguments") {
            let call = self.survey.calls("count").find(|call| arguments(call).len() > 1);
            return Some(
                Problem::new("count(DISTINCT …) takes one argument")
                    .at(call.and_then(place_of))
                    .hint("named_struct('a', a, 'b', b) makes one of two"),
            );
        }
        if text.contains("Unable to cast to Date32") {
            let call = self.survey.calls("to_date").next();
            return Some(
                Problem::new("to_date has a text that is not a date")
                    .at(call.and_then(place_of))
                    .hint("a date is written '2019-01-31'; another form is named: to_date(text, '%d/%m/%Y')"),
            );
        }
        None
    }

    /// LIMIT, OFFSET and ORDER BY, and positions of columns.
    fn of_order(&self, text: &str) -> Option<Problem> {
        if let Some([part, value]) = groups(r"(LIMIT|OFFSET) must be >= ?0, '(.*)' was provided", text) {
            return Some(Problem::new(format!("{part} takes a number from 0, not {value}")).at(self.word(&part)));
        }
        if let Some([part, of]) = groups(r"Expected (LIMIT|OFFSET) to be an integer or null, but got (\S+)", text) {
            return Some(
                Problem::new(format!("{part} takes a whole number, not {}", in_words(&of))).at(self.word(&part)),
            );
        }
        if let Some([position, most]) = groups(r"Order by column out of bounds, specified: (\d+), max: (\d+)", text) {
            return Some(self.position("ORDER", "ORDER BY", &position, &most));
        }
        if let Some([position, most]) =
            groups(r"Cannot find column with position (\d+) in SELECT clause. Valid columns: 1 to (\d+)", text)
        {
            return Some(self.position("GROUP", "GROUP BY", &position, &most));
        }
        if let Some([columns]) =
            groups(r"For SELECT DISTINCT, ORDER BY expressions (.+) must appear in select list", text)
        {
            let short = columns.rsplit('.').next().unwrap_or(&columns);
            return Some(
                Problem::new(format!("{short} is in ORDER BY, but not in SELECT DISTINCT"))
                    .at(self.at.or_else(|| self.survey.name(None, short)))
                    .hint("add it to the SELECT, or use GROUP BY and min()"),
            );
        }
        if text.contains("feature is not implemented: TOP") || text.ends_with("TOP") {
            return Some(Problem::new("there is no TOP").at(self.word("TOP")).hint("write LIMIT 5 at the end"));
        }
        if text.contains("unsupported LIMIT expression") || text.contains("Unsupported LIMIT expression") {
            return Some(Problem::new("LIMIT takes a number, but has something else here").at(self.word("LIMIT")));
        }
        None
    }

    /// Parts of SQL that DataFusion does not support.
    fn of_unsupported(&self, text: &str) -> Option<Problem> {
        if text.contains("orrelated scalar subquery must be aggregated") {
            let subquery = self.survey.expressions.iter().find(|expression| matches!(expression, Expr::Subquery(_)));
            return Some(
                Problem::new("a subquery must have one value here, but this one may have several rows")
                    .at(subquery.and_then(place))
                    .hint("take one of them: SELECT min(x) …, or use a JOIN"),
            );
        }
        if text.contains("only support Literal types for field at idx") {
            return Some(
                Problem::new("this window function takes a constant as its second argument")
                    .at(self.window())
                    .hint("as in lag(x, 1)"),
            );
        }
        if text.contains("retract_batch") || text.contains("over sliding window frames") {
            return Some(
                Problem::new(
                    "this function cannot be computed over rows that move along, as ROWS … PRECEDING makes them",
                )
                .at(self.window())
                .hint("leave ROWS or RANGE out, or let it begin with UNBOUNDED PRECEDING"),
            );
        }
        if text.contains("Unsupported ast node Pivot") {
            return Some(
                Problem::new("there is no PIVOT")
                    .at(self.word("PIVOT"))
                    .hint("sum(x) FILTER (WHERE kind = 'a') AS a makes a column of one kind"),
            );
        }
        if text.contains("FETCH clause is not supported") {
            return Some(Problem::new("there is no FETCH").at(self.word("FETCH")).hint("write LIMIT 5 at the end"));
        }
        if let Some([name]) = groups(r"Placeholder '(.*)' was not provided a value", text) {
            return Some(
                Problem::new(format!("{name} has no value, because queries have no parameters"))
                    .hint("write the value itself"),
            );
        }
        if let Some([name]) = groups(r#"WITH query name "?(.*?)"? specified more than once"#, text) {
            return Some(Problem::new(format!("WITH has two queries named {name}")));
        }
        if text.contains("Substring without for/from") {
            let call = self.survey.expressions.iter().find(|expression| matches!(expression, Expr::Substring { .. }));
            return Some(
                Problem::new("substr takes 2 or 3 arguments, not 1")
                    .at(call.and_then(place))
                    .hint("as in substr(text, 1, 3): from the first character, three of them"),
            );
        }
        None
    }

    /// The first call of a window function.
    fn window(&self) -> Option<Place> {
        let is_window = |expression: &&Expr| matches!(expression, Expr::Function(call) if call.over.is_some());
        self.survey.expressions.iter().find(is_window).and_then(place)
    }

    fn position(&self, word: &str, part: &str, position: &str, most: &str) -> Problem {
        Problem::new(format!(
            "{part} {position}: the SELECT has {most} {}",
            if most == "1" { "column" } else { "columns" }
        ))
        .at(self.word(word))
        .hint("a number is the position of a column in the SELECT; a name is safer")
    }

    /// The last position of a word.
    pub(super) fn word(&self, word: &str) -> Option<Place> {
        let tokens = syntax::tokens(&self.scene.sql);
        let found = tokens.iter().rev().find(|token| token.token.to_string().eq_ignore_ascii_case(word));
        found.and_then(|token| Place::of_parsed(token.span))
    }
}
