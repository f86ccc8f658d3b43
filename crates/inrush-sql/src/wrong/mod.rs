//! Explains what is wrong with a query: what was found, where in the query, which column and which
//! row of which file, and what to write.
//!
//! DataFusion's errors have a structure for unknown names, and a position for some others. The rest
//! is text, which is recognised here (`planning`, `running`). Unrecognised text is passed on
//! without prefixes, structures and requests for bug reports.

mod columns;
mod functions;
mod names;
mod place;
mod planning;
mod running;
mod survey;
mod syntax;
mod trace;
mod types;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use datafusion::execution::SessionState;
use regex::Regex;

use self::place::Place;
use self::survey::Survey;
use super::table::Table;

/// What is wrong with a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// What was found, and where. If the position is known, the message contains the line of the
    /// query with a mark.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl QueryError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        QueryError { message: message.into(), hint: None }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

/// A query, and the names that it can use.
pub(super) struct Scene {
    sql: String,
    tables: Vec<Arc<Table>>,
    functions: Vec<String>,
    window_functions: Vec<String>,
}

impl Scene {
    pub(super) fn new(sql: &str, tables: Vec<Arc<Table>>, state: &SessionState) -> Self {
        let functions = state.scalar_functions().keys().chain(state.aggregate_functions().keys()).cloned();
        let window_functions = state.window_functions().keys().cloned();
        Scene {
            sql: sql.to_owned(),
            tables,
            functions: functions.collect(),
            window_functions: window_functions.collect(),
        }
    }

    /// Refuses text that is not a query, before DataFusion acts on it.
    pub(super) fn check(&self) -> Result<(), QueryError> {
        let sampled = || {
            let at = Survey::of(&self.sql).sample?;
            Some(
                Problem::new("there is no TABLESAMPLE")
                    .at(Some(at))
                    .hint("WHERE random() < 0.1 takes a tenth of the rows"),
            )
        };
        syntax::refuse(&self.sql).or_else(sampled).map_or(Ok(()), |problem| Err(problem.shown(&self.sql)))
    }

    /// Explains an error. This may read tables, to find the row that caused it.
    pub(super) fn explain(&self, error: &DataFusionError) -> QueryError {
        self.problem(error).shown(&self.sql)
    }

    /// The same in one line, for a report.
    pub(super) fn explain_in_line(&self, error: &DataFusionError) -> String {
        self.problem(error).in_line()
    }

    fn problem(&self, error: &DataFusionError) -> Problem {
        let first = error.iter().next().unwrap_or(error);
        let diagnostic = first.diagnostic();
        let at = diagnostic.and_then(|diagnostic| diagnostic.span).map(Place::of);
        let case = Case { scene: self, survey: Survey::of(&self.sql), at, diagnostic };
        case.problem(first.find_root())
    }
}

/// One error of a query.
struct Case<'a> {
    scene: &'a Scene,
    survey: Survey,
    /// The position that DataFusion reports.
    at: Option<Place>,
    diagnostic: Option<&'a datafusion::common::Diagnostic>,
}

impl Case<'_> {
    fn problem(&self, error: &DataFusionError) -> Problem {
        match error {
            DataFusionError::SQL(error, _) => syntax::problem(&self.scene.sql, error),
            DataFusionError::SchemaError(error, _) => self.schema(error),
            DataFusionError::ResourcesExhausted(text) => Problem::new(format!("not enough memory: {}", cleaned(text)))
                .hint("give more memory with option `sql_memory`, or group and join less at once"),
            DataFusionError::ArrowError(error, _) => match &**error {
                ArrowError::DivideByZero => self.division(),
                other => self.text(&other.to_string()),
            },
            other => self.text(&other.message()),
        }
    }

    fn text(&self, text: &str) -> Problem {
        self.running(text).or_else(|| self.planning(text)).unwrap_or_else(|| self.other(text))
    }

    /// An unrecognised error. The text often begins with a function, or quotes a part of the query.
    fn other(&self, text: &str) -> Problem {
        let called = || {
            let [name] = groups(r"^(?:\w+ error: |Error during planning: )*(\w+) ", text)?;
            self.survey.calls(&name).next().and_then(survey::place_of)
        };
        let quoted = || groups(r#"['"]([^'"]+)['"]"#, text).and_then(|[quoted]| self.survey.literal(&quoted));
        let at = self.at.or_else(quoted).or_else(called);
        let problem = match self.diagnostic {
            Some(diagnostic) => {
                let help = diagnostic.helps.first().map(|help| cleaned(&help.message));
                Problem { hint: help, ..Problem::new(cleaned(&diagnostic.message)) }
            }
            None => Problem::new(cleaned(text)),
        };
        problem.at(at)
    }
}

/// A problem, before it is shown beside the query.
struct Problem {
    what: String,
    at: Option<Place>,
    hint: Option<String>,
}

impl Problem {
    fn new(what: impl Into<String>) -> Self {
        Problem { what: what.into(), at: None, hint: None }
    }

    fn at(self, at: Option<Place>) -> Self {
        Problem { at, ..self }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Problem { hint: Some(hint.into()), ..self }
    }

    fn in_line(self) -> String {
        let at = self.at.map_or_else(String::new, |at| format!("line {}, column {}: ", at.line, at.column));
        let hint = self.hint.map_or_else(String::new, |hint| format!("; {hint}"));
        format!("{at}{}{hint}", self.what)
    }

    fn shown(self, sql: &str) -> QueryError {
        let message = match self.at {
            Some(place) => format!("line {}, column {}: {}\n{}", place.line, place.column, self.what, place.shown(sql)),
            None => self.what,
        };
        QueryError { message, hint: self.hint }
    }
}

/// The groups of a pattern, if the text matches.
fn groups<const N: usize>(pattern: &str, text: &str) -> Option<[String; N]> {
    // The patterns are those of this module. A test compiles all of them.
    let found = Regex::new(pattern).ok()?.captures(text)?;
    Some(std::array::from_fn(|group| found.get(group + 1).map_or_else(String::new, |text| text.as_str().to_owned())))
}

/// A text of DataFusion without the parts that only its developers need.
fn cleaned(text: &str) -> String {
    const PREFIXES: &str = r"^(?:(?:Internal|Execution|Arrow|Cast|Parser|Schema|External|SQL|Compute|Invalid argument|IO|Csv|Json) error: |Error during planning: |This feature is not implemented: |type_coercion\ncaused by\n|Optimizer rule '\w+' failed\ncaused by\n)+";
    let replace = |text: &str, pattern: &str, by: &str| match Regex::new(pattern) {
        Ok(regex) => regex.replace_all(text, by).into_owned(),
        Err(_) => text.to_owned(),
    };
    let text = replace(text, PREFIXES, "");
    let text = replace(
        &text,
        r"(?s)\.?\s*(?:This issue was likely caused by|This was likely caused by|\n*backtrace: |Candidate functions:).*",
        "",
    );
    // Removes structures, and the types of literals.
    let text = replace(&text, r"(?s) ?\w+ ?\{.*", "");
    let text = replace(&text, r#"\b(?:U?Int|Float)(?:8|16|32|64)\(([^()]*)\)"#, "$1");
    let text = replace(&text, r#"\bUtf8\("([^"]*)"\)"#, "'$1'");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.trim_end_matches(['.', ' ', ':']);
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        // The first word is not an abbreviation.
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

/// The name most like `name`, if one is similar enough.
fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    use datafusion::common::utils::datafusion_strsim::levenshtein;
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let small = name.to_lowercase();
    let distances = known.into_iter().map(|other| {
        let known = other.to_lowercase();
        // FORM is FROM with two letters exchanged.
        let swapped = small != known && letters(&small) == letters(&known);
        (if swapped { 1 } else { levenshtein(&small, &known) }, other)
    });
    let near = distances.filter(|(distance, other)| {
        let most = name.chars().count().max(other.chars().count());
        distance * 5 <= most * 2
    });
    near.min_by_key(|(distance, other)| (*distance, other.len(), other.to_string())).map(|(_, other)| other)
}

/// Why a column of a table is text, and what to write to get its numbers.
pub(super) fn text_column(table: &Arc<Table>, name: &str) -> Option<(String, String)> {
    let field = table.schema.field_with_name(name).ok()?;
    let column = columns::Column { table, field };
    Some((column.why_text(), column.as_number()))
}

/// A name as a query writes it.
fn written(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty() {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `a, b and 3 more`.
fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const MOST: usize = 20;
    let names: Vec<String> = names.into_iter().map(written).collect();
    let rest = names.len().saturating_sub(MOST);
    let shown = names[..names.len() - rest].join(", ");
    if rest == 0 { shown } else { format!("{shown} and {rest} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_what_only_developers_need() {
        for (text, expected) in [
            ("Error during planning: Internal error: It is odd.\nThis issue was likely caused by a bug", "it is odd"),
            ("type_coercion\ncaused by\nError during planning: There is\nno type", "there is no type"),
            ("Not valid Substring { expr: Identifier(Ident { value: \"x\" }) }", "not valid"),
            ("only \"count(Int64(1))\" and Utf8(\"a b\")", "only \"count(1)\" and 'a b'"),
            ("COUNT DISTINCT with several", "COUNT DISTINCT with several"),
        ] {
            assert_eq!(cleaned(text), expected);
        }
    }

    #[test]
    fn a_name_is_near_if_most_of_it_is_the_same() {
        let known = ["title", "votes", "postalCode"];
        assert_eq!(nearest("titel", known), Some("title"));
        assert_eq!(nearest("FORM", ["FROM", "FORMAT"]), Some("FROM"));
        assert_eq!(nearest("POSTALCODE", known), Some("postalCode"));
        assert_eq!(nearest("One", known), None);
    }

    #[test]
    fn names_are_listed_as_they_are_written() {
        assert_eq!(listed(["a", "b c", "d\"e", "1st"]), "a, \"b c\", \"d\"\"e\", \"1st\"");
        let many: Vec<String> = (0..25).map(|n| format!("c{n}")).collect();
        assert!(listed(many.iter().map(String::as_str)).ends_with("c19 and 5 more"));
    }
}
