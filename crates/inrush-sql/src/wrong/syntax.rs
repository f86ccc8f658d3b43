//! Text that cannot be parsed, and statements that are not queries.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::place::Place;
use super::{Problem, cleaned, groups, nearest};

/// The first words of statements that are not queries.
const STATEMENTS: [&str; 25] = [
    "ALTER", "ANALYZE", "ATTACH", "BEGIN", "COMMIT", "COPY", "CREATE", "DELETE", "DESC", "DESCRIBE", "DROP", "EXECUTE",
    "EXPLAIN", "GRANT", "INSERT", "LOAD", "MERGE", "PRAGMA", "PREPARE", "RESET", "SET", "SHOW", "TRUNCATE", "UPDATE",
    "USE",
];

/// Keywords of queries, for suggestions about misspelt ones.
const KEYWORDS: [&str; 16] = [
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "JOIN", "UNION", "WITH",
    "VALUES", "BETWEEN", "LEFT", "INNER",
];

/// The order of the clauses of a query.
const ORDER: &str = "the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT";

/// Refuses a statement that is not a query, or more than one.
pub(super) fn refuse(sql: &str) -> Option<Problem> {
    let tokens = tokens(sql);
    let Some(first) = tokens.iter().find(|token| token.token != Token::SemiColon) else {
        // Without tokens the text may also be one that cannot be tokenized.
        return sql.trim().is_empty().then(|| Problem::new("the query is empty").hint("as in SELECT * FROM input"));
    };
    let word = first.token.to_string().to_uppercase();
    if STATEMENTS.contains(&word.as_str()) {
        let hint = match word.as_str() {
            "EXPLAIN" | "ANALYZE" | "DESCRIBE" | "DESC" | "SHOW" => {
                "option `explain` shows the columns of the tables, and the plan"
            }
            _ => "write a SELECT; its rows are the documents",
        };
        return Some(Problem::new(format!("{word} is not a query")).at(Place::of_parsed(first.span)).hint(hint));
    }
    let end = tokens.iter().position(|token| token.token == Token::SemiColon)?;
    let next = tokens[end..].iter().find(|token| token.token != Token::SemiColon)?;
    let begins = next.token.to_string().to_uppercase();
    (["SELECT", "WITH", "VALUES"].contains(&begins.as_str()) || STATEMENTS.contains(&begins.as_str())).then(|| {
        Problem::new("there is more than one statement")
            .at(Place::of_parsed(next.span))
            .hint("give one query; a job file can have several: [[output]]")
    })
}

/// The words and signs of a query, without white space.
pub(super) fn tokens(sql: &str) -> Vec<TokenWithSpan> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().unwrap_or_default();
    tokens.into_iter().filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF)).collect()
}

/// Explains an error of the parser.
pub(super) fn problem(sql: &str, error: &ParserError) -> Problem {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
        ParserError::RecursionLimitExceeded => {
            return Problem::new("the query is nested too deeply")
                .hint("give parts of it names: WITH name AS (SELECT …)");
        }
    };
    let found = groups(r"(?s)^(.*?) at Line: (\d+), Column: (\d+)$", text);
    let (text, at) = match &found {
        Some([text, line, column]) => {
            // They are numbers by the pattern.
            (text.as_str(), Place::at(line.parse().unwrap_or(1), column.parse().unwrap_or(1), sql))
        }
        None => (text.as_str(), Place::end(sql)),
    };
    if text.starts_with("Unterminated string literal") {
        return Problem::new("this text has no closing quote")
            .at(Some(at))
            .hint("end it with a '; a ' inside the text is written twice: 'it''s'");
    }
    if text.starts_with("Expected close delimiter") {
        return Problem::new("this name has no closing quote")
            .at(Some(at))
            .hint("end it with a \"; text is written in single quotes: 'text'");
    }
    let Some([expected, found]) = groups(r"(?s)^Expected: (.*), found: (.*)$", text) else {
        return Problem::new(cleaned(text)).at(Some(at));
    };
    let what = if found == "EOF" { "the end of the query".to_owned() } else { found.clone() };
    let expected = if expected == "an SQL statement" { "SELECT, WITH or VALUES" } else { expected.as_str() };
    let problem = Problem::new(format!("expected {expected}, found {what}")).at(Some(at));
    match hint(sql, at, expected, &found) {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

fn hint(sql: &str, at: Place, expected: &str, found: &str) -> Option<String> {
    let before = tokens(sql);
    let before = before.iter().rev().find(|token| {
        let start = token.span.start;
        (start.line, start.column) < (at.line, at.column)
    });
    let before = before.map(|token| token.token.to_string()).unwrap_or_default();
    let upper = found.to_uppercase();
    let misspelt = [found, &before].into_iter().find_map(|word| {
        let is_word = word.chars().count() > 2 && word.chars().all(char::is_alphabetic);
        let like = nearest(word, KEYWORDS).filter(|like| is_word && !like.eq_ignore_ascii_case(word))?;
        (!KEYWORDS.contains(&word.to_uppercase().as_str())).then(|| format!("did you mean {like} instead of {word}?"))
    });
    match (expected, upper.as_str()) {
        _ if misspelt.is_some() => misspelt,
        ("end of statement", "WHERE" | "GROUP" | "HAVING" | "ORDER" | "LIMIT" | "FROM" | "JOIN") => {
            Some(ORDER.to_owned())
        }
        ("end of statement", ")") => Some("there is no ( before it".to_owned()),
        ("end of statement", _) => Some("a comma or an operator may be missing before it".to_owned()),
        (")" | "]", _) => Some(format!("a bracket before it is still open: {expected} closes it")),
        ("an expression", ",") => Some("there is a comma too many".to_owned()),
        ("an expression", _) if before == "," => Some("there is a comma too many".to_owned()),
        (_, "EOF") => Some("the query ends too early".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_query_is_taken() {
        let refused = |sql: &str| refuse(sql).map(|problem| problem.what);
        assert_eq!(refused("-- delete\nSELECT 'a; DROP TABLE x' FROM input;\n"), None);
        assert_eq!(refused("(SELECT 1) UNION ALL SELECT 2"), None);
        assert_eq!(refused("/* x */ drop TABLE input").as_deref(), Some("DROP is not a query"));
        assert_eq!(refused("SELECT 1; SELECT 2").as_deref(), Some("there is more than one statement"));
        assert_eq!(refused(" \n").as_deref(), Some("the query is empty"));
        assert_eq!(refused("SELECT 'a"), None);
    }
}
