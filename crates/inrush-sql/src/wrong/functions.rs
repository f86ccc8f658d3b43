//! Unknown functions, and arguments of the wrong number or type.

use datafusion::sql::sqlparser::ast::{Expr, Function};

use super::columns::in_words;
use super::survey::{arguments, place_of};
use super::{Case, Problem, groups, nearest};

/// Functions of other databases, and what to write instead.
const ELSEWHERE: [(&str, &str); 24] = [
    ("any_value", "first_value(x)"),
    ("collect_list", "array_agg(x)"),
    ("convert_timezone", "time AT TIME ZONE 'Europe/Paris'"),
    ("date_format", "to_char(time, '%Y-%m-%d')"),
    ("explode", "unnest(list)"),
    ("group_concat", "string_agg(text, ', ')"),
    ("if", "CASE WHEN … THEN … ELSE … END"),
    ("iif", "CASE WHEN … THEN … ELSE … END"),
    ("isnull", "x IS NULL"),
    ("json_build_object", "named_struct('name', value, …)"),
    ("json_object", "named_struct('name', value, …)"),
    ("len", "length(text)"),
    ("listagg", "string_agg(text, ', ')"),
    ("str_to_date", "to_date(text, '%d/%m/%Y')"),
    ("strftime", "to_char(time, '%Y-%m-%d')"),
    ("strptime", "to_timestamp(text, '%d/%m/%Y')"),
    ("parse_date", "try_to_date(text, '%d/%m/%Y')"),
    ("parse_timestamp", "try_to_timestamp(text, '%d/%m/%Y %H:%M')"),
    ("safe_cast", "try_cast(text AS DOUBLE)"),
    ("to_decimal", "CAST(text AS DECIMAL(20, 2))"),
    ("to_number", "CAST(text AS DOUBLE)"),
    ("try_parse_date", "try_to_date(text, '%d/%m/%Y')"),
    ("try_strptime", "try_to_timestamp(text, '%d/%m/%Y')"),
    ("try_to_number", "try_cast(text AS DOUBLE)"),
];

impl Case<'_> {
    pub(super) fn of_functions(&self, text: &str) -> Option<Problem> {
        if let Some([name]) = groups(r"Invalid function '(.*?)'", text) {
            return Some(self.unknown_function(&name));
        }
        let called = groups(r"No function matches the given name and argument types '([\w.]+)\((.*)\)'\. You", text);
        if let Some([name, types]) = called {
            return Some(self.unfit_arguments(text, &name, &types));
        }
        None
    }

    fn unknown_function(&self, name: &str) -> Problem {
        let small = name.to_lowercase();
        let at = self.at.or_else(|| self.survey.calls(name).next().and_then(|call| place_of(&call.name)));
        if self.scene.window_functions.contains(&small) {
            return Problem::new(format!("{name} is a window function, but has no OVER"))
                .at(at)
                .hint(format!("as in {small}(…) OVER (PARTITION BY … ORDER BY …)"));
        }
        let known = || self.scene.functions.iter().chain(&self.scene.window_functions).map(String::as_str);
        let hint = match ELSEWHERE.iter().find(|(other, _)| *other == small) {
            Some((_, instead)) => format!("write {instead}"),
            None => match nearest(&small, known()) {
                Some(like) => format!("did you mean {like}?"),
                None => "docs/sql.md says where the functions are listed".to_owned(),
            },
        };
        Problem::new(format!("there is no function {name}")).at(at).hint(hint)
    }

    /// A call with too few or too many arguments, or with arguments of the wrong type.
    fn unfit_arguments(&self, text: &str, name: &str, types: &str) -> Problem {
        let types = parts(types);
        let fits = |call: &&Function| {
            let arguments = arguments(call);
            arguments.len() == types.len()
                && arguments.iter().zip(&types).all(|(argument, data_type)| {
                    self.column(argument).is_none_or(|column| column.field.data_type().to_string() == *data_type)
                })
        };
        // DataFusion names the function behind an alias: nvl for ifnull.
        let call = self.survey.calls(name).find(fits);
        let call = call.or_else(|| {
            self.survey.expressions.iter().find_map(|expression| match expression {
                Expr::Function(call) if fits(&call) && !types.is_empty() => Some(call),
                _ => None,
            })
        });
        let name = call.map_or_else(|| name.to_owned(), |call| call.name.to_string());
        let at = call.and_then(place_of).or_else(|| self.survey.calls(&name).next().and_then(place_of));
        let candidates = text.rsplit_once("Candidate functions:").map(|(_, candidates)| candidates).unwrap_or_default();
        let candidates = candidates.lines().filter_map(|line| groups(r"^\s*\w+\((.*)\)$", line)).map(|[inner]| inner);
        let candidates: Vec<String> = candidates.collect();
        let open = candidates.is_empty()
            || candidates.iter().any(|inner| inner.contains("UserDefined") || inner.contains(".."));
        let mut counts: Vec<usize> = candidates.iter().map(|inner| parts(inner).len()).collect();
        counts.sort_unstable();
        counts.dedup();
        if types.is_empty() {
            return Problem::new(format!("{name} takes arguments, but has none")).at(at);
        }
        if !open && !counts.contains(&types.len()) {
            let numbers: Vec<String> = counts.iter().map(ToString::to_string).collect();
            let many = if counts == [1] { "argument" } else { "arguments" };
            return Problem::new(format!("{name} takes {} {many}, not {}", numbers.join(" or "), types.len())).at(at);
        }
        let arguments = call.map(arguments).unwrap_or_default();
        let given: Vec<String> = match arguments.len() == types.len() {
            true => arguments.iter().zip(&types).map(|(argument, of)| self.described(argument, of)).collect(),
            false => types.iter().map(|of| in_words(of)).collect(),
        };
        let mut required = required(text);
        if let (true, false, [candidate]) = (required.is_empty(), open, candidates.as_slice()) {
            required = parts(candidate).into_iter().map(str::to_owned).collect();
        }
        let wanted = kinds(&required);
        let texts: Vec<&&Expr> =
            arguments.iter().filter(|argument| self.column(argument).is_some_and(|column| column.is_text())).collect();
        let number = wanted.first().is_some_and(|first| first == "a number");
        if let (true, [text]) = (number, texts.as_slice())
            && let Some(column) = self.column(text)
        {
            return Problem::new(format!("{name} takes {}, but {}", wanted.join(" or "), column.why_text()))
                .at(at)
                .hint(column.as_number());
        }
        let wants = if wanted.is_empty() {
            "cannot be called like this".to_owned()
        } else {
            format!("takes {}", wanted.join(" or "))
        };
        let hint = if number {
            "cast it: try_cast(… AS DOUBLE) is null if the text is not a number"
        } else {
            "cast it, for example CAST(… AS TEXT)"
        };
        Problem::new(format!("{name} {wants}: {}", given.join(", "))).at(at).hint(hint)
    }
}

/// Splits at top-level commas: `Int64, List(Utf8, Utf8)` has two parts.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Types in words, each once. Whole numbers count as numbers.
fn kinds(types: &[String]) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for words in types.iter().map(|of| in_words(of)) {
        let words = if words == "a whole number" { "a number".to_owned() } else { words };
        if !kinds.contains(&words) {
            kinds.push(words);
        }
    }
    kinds
}

/// The types that a function would accept.
fn required(text: &str) -> Vec<String> {
    let Ok(regex) = regex::Regex::new(r"requires (\w+), but received") else { return Vec::new() };
    regex.captures_iter(text).map(|found| found[1].to_owned()).collect()
}
