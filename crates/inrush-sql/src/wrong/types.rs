//! Types that do not fit together.

use datafusion::sql::sqlparser::ast::Expr;

use super::columns::in_words;
use super::place::Place;
use super::survey::{arguments, place, place_of};
use super::{Case, Problem, cleaned, groups, listed, syntax, written};

impl Case<'_> {
    pub(super) fn of_types(&self, text: &str) -> Option<Problem> {
        const OPERATOR: &str = r"(\S+|IS (?:NOT )?DISTINCT FROM)";
        if let Some([left, operator, right]) =
            groups(&format!(r"Cannot coerce arithmetic expression (.+) {OPERATOR} (.+) to valid types"), text)
        {
            return Some(self.operation(&left, &operator, &right, "take"));
        }
        if let Some([left, operator, right]) =
            groups(&format!(r"Cannot infer common argument type for \w+ operation (.+) {OPERATOR} (.+)$"), text)
        {
            return Some(self.operation(&left, &operator, &right, "compare"));
        }
        if let Some([left, right]) =
            groups(r"There isn't a common type to coerce (.+) and (.+) in \w+ expression", text)
        {
            return Some(
                Problem::new(format!("LIKE is for text: {} and {}", in_words(&left), in_words(&right)))
                    .hint("the pattern is a text: LIKE 'a%'; CAST(… AS TEXT) makes text of a number"),
            );
        }
        if let Some([then, otherwise]) =
            groups(r"Failed to coerce then \((.+)\) and else \((.+)\) to common types in CASE", text)
        {
            let [then, otherwise] = [then, otherwise].map(|of| in_words(&of));
            return Some(
                Problem::new(format!("CASE makes {then} here and {otherwise} there"))
                    .at(self.case())
                    .hint("give both the same type with CAST"),
            );
        }
        if text.contains("in CASE WHEN expression") {
            return Some(Problem::new(cleaned(text)).at(self.case()).hint("give all of them the same type with CAST"));
        }
        if let Some([first, second, column]) = groups(
            r"Incompatible inputs for \w+: Previous inputs were of type (.+), but got incompatible type (.+) on column '(.*)'",
            text,
        ) {
            let (first, second, column) = (in_words(&first), in_words(&second), written(&column));
            return Some(
                Problem::new(format!("{column} is {second}, and {first} in the query before UNION"))
                    .hint(format!("columns are matched by their order; cast one of them: CAST({column} AS TEXT)")),
            );
        }
        None
    }

    /// Conditions, and operators with one operand.
    pub(super) fn of_operands(&self, text: &str) -> Option<Problem> {
        if let Some([predicate, of]) =
            groups(r"Cannot create filter with non-boolean predicate '(.*)' returning (\S+)", text)
        {
            let name = predicate.rsplit('.').next().unwrap_or(&predicate);
            return Some(
                Problem::new(format!("{name} is {}, not a condition", in_words(&of)))
                    .at(self.survey.selects.iter().find_map(|select| select.selection.as_ref().and_then(place)))
                    .hint(format!("compare it with something: {name} = … or {name} IS NOT NULL")),
            );
        }
        if let Some([operator]) = groups(r"Unary operator '(\S+)' (?:requires|only)", text) {
            let (whole, of) = self.survey.unary(&operator).find(|(_, of)| self.column(of).is_some()).unzip();
            let column = of.and_then(|of| self.column(of));
            let takes = if operator == "NOT" { "true or false" } else { "a number" };
            let at = self.at.or_else(|| whole.and_then(place));
            return Some(match column {
                Some(column) if column.is_text() && operator != "NOT" => {
                    Problem::new(format!("{operator} takes {takes}, but {}", column.why_text()))
                        .at(at)
                        .hint(column.as_number())
                }
                Some(column) => {
                    Problem::new(format!("{operator} takes {takes}, but {} is {}", column.name(), column.in_words()))
                        .at(at)
                        .hint("compare it with something")
                }
                None => Problem::new(cleaned(text)).at(at),
            });
        }
        None
    }

    /// Fields of objects, elements of lists, and names of types.
    pub(super) fn of_nested(&self, text: &str) -> Option<Problem> {
        if let Some([of]) = groups(r"Cannot access field at argument \d+: type (.+) is not Struct", text) {
            let hint = match of.starts_with("List") {
                true => {
                    "an element of a list is selected by its number from 1: tags[1]; unnest(tags) makes a row of each element"
                }
                false => "only objects have fields",
            };
            return Some(Problem::new(format!("{} has no fields", in_words(&of))).at(self.access()).hint(hint));
        }
        if let Some([field]) = groups(r"Field (.+) not found in struct", text) {
            let fields = self.survey.expressions.iter().find_map(|expression| match expression {
                Expr::CompoundFieldAccess { root, .. } => match self.column(root)?.field.data_type() {
                    arrow_schema::DataType::Struct(fields) => {
                        Some(listed(fields.iter().map(|field| field.name().as_str())))
                    }
                    _ => None,
                },
                _ => None,
            });
            let problem = Problem::new(format!("there is no field {field} in the object")).at(self.access());
            return Some(match fields {
                Some(fields) => problem.hint(format!("its fields: {fields}")),
                None => problem,
            });
        }
        if text.contains("unnest() can only be applied to") {
            let call = self.survey.calls("unnest").next();
            let of = call.and_then(|call| arguments(call).first().copied()).and_then(|of| self.column(of));
            let of = of.map_or_else(String::new, |of| format!(", but {} is {}", of.name(), of.in_words()));
            return Some(
                Problem::new(format!("unnest takes a list{of}"))
                    .at(call.and_then(place_of))
                    .hint("string_to_array(text, ',') makes a list of a text"),
            );
        }
        if let Some([name]) = groups(r"Unsupported SQL type (.+)$", text) {
            let instead = match name.split('(').next().unwrap_or_default().to_uppercase().as_str() {
                "NUMBER" => "DECIMAL(20, 2), BIGINT or DOUBLE",
                "DATETIME" => "TIMESTAMP",
                _ => "BIGINT, DOUBLE, DECIMAL(20, 2), TEXT, BOOLEAN, DATE or TIMESTAMP",
            };
            let tokens = syntax::tokens(&self.scene.sql);
            let word = name.split(['(', ' ']).next().unwrap_or_default();
            let at = tokens.iter().rev().find(|token| token.token.to_string().eq_ignore_ascii_case(word));
            let at = at.and_then(|token| Place::of_parsed(token.span));
            return Some(Problem::new(format!("there is no type {name}")).at(at).hint(format!("write {instead}")));
        }
        None
    }

    /// An operator between two types that it does not accept.
    fn operation(&self, left: &str, operator: &str, right: &str, verb: &str) -> Problem {
        let fits = |expression: &Expr, data_type: &str| match expression {
            Expr::Value(_) => true,
            other => self.column(other).is_none_or(|column| column.field.data_type().to_string() == data_type),
        };
        let known =
            |expression: &Expr| usize::from(self.column(expression).is_some() || matches!(expression, Expr::Value(_)));
        let found = self.survey.operations(operator).filter(|(_, a, b)| fits(a, left) && fits(b, right));
        let Some((whole, a, b)) = found.max_by_key(|(_, a, b)| known(a) + known(b)) else {
            let (left, right) = (in_words(left), in_words(right));
            return Problem::new(format!("{operator} cannot {verb} these: {left}, {right}")).hint("cast one of them");
        };
        let at = place(whole);
        let text = [a, b].into_iter().filter_map(|side| self.column(side)).find(|column| column.is_text());
        let arithmetic = verb == "take";
        match text {
            Some(column) if arithmetic => Problem::new(format!("{operator} takes numbers, but {}", column.why_text()))
                .at(at)
                .hint(column.as_number()),
            _ => {
                let hint = match (left.starts_with("List"), right.starts_with("List")) {
                    (false, false) => "cast one of them, for example CAST(… AS TEXT)".to_owned(),
                    (true, _) => format!("array_has({a}, {b}) says whether it is in the list"),
                    (_, true) => format!("array_has({b}, {a}) says whether it is in the list"),
                };
                let (a, b) = (self.described(a, left), self.described(b, right));
                Problem::new(format!("{operator} cannot {verb} these: {a}, {b}")).at(at).hint(hint)
            }
        }
    }

    fn case(&self) -> Option<Place> {
        self.survey.expressions.iter().find(|expression| matches!(expression, Expr::Case { .. })).and_then(place)
    }

    fn access(&self) -> Option<Place> {
        let access =
            |expression: &&Expr| matches!(expression, Expr::CompoundFieldAccess { .. } | Expr::CompoundIdentifier(_));
        self.survey.expressions.iter().find(access).and_then(place)
    }
}
