//! What people get wrong in queries, and what they are told.

use inrush_sql::{QueryOptions, Session, TableSpec};
use tempfile::TempDir;

use super::{SMALL, batch, problem, query, table, write_parquet};
use crate::source_support::{drain, write};

/// What people get wrong: the query, the place of it, what the message says, and the hint.
const WRONG: &[(&str, &str, &str, &str)] = &[
    (
        "SELECT sum(votes) FROM input",
        "sum(votes)",
        "votes is text: \"n/a\" in votes.csv, line 4",
        "try_cast(votes AS DOUBLE)",
    ),
    (
        "SELECT sum(price * votes) FROM input",
        "price * votes",
        "* takes numbers, but votes is text: \"n/a\"",
        "option `schema=votes:float`",
    ),
    ("SELECT -title FROM input", "title", "- takes a number, but title is text", "try_cast(title AS DOUBLE)"),
    ("SELECT round(price, 1, 2) FROM input", "round(price, 1, 2)", "round takes 1 or 2 arguments, not 3", ""),
    (
        "SELECT geo_point(title, 1) FROM input",
        "geo_point(title, 1)",
        "geo_point takes a number, but title is text",
        "try_cast",
    ),
    ("SELECT lenght(title) FROM input", "lenght", "there is no function lenght", "did you mean length?"),
    ("SELECT group_concat(title) FROM input", "group_concat", "there is no function", "write string_agg(text, ', ')"),
    ("SELECT row_number() FROM input", "row_number", "a window function, but has no OVER", "OVER (PARTITION BY"),
    (
        "SELECT titel FROM input",
        "titel",
        "there is no column titel",
        "did you mean title? Columns here: id, title, votes",
    ),
    (
        "SELECT Title FROM input",
        "Title",
        "there is no column Title",
        "upper and lower case are different in names: write title",
    ),
    ("SELECT j.title FROM input i", "j.title", "there is no table j in FROM", "tables here: i"),
    ("SELECT id", "id", "the query has no FROM", "add FROM input"),
    (
        "SELECT * FROM inputs",
        "inputs",
        "there is no table inputs",
        "did you mean input? tables: input, artists; option `table=inputs=PATH`",
    ),
    (
        "SELECT id FROM input JOIN artists ON title = name",
        "id",
        "a column of several tables: input, artists",
        "input.id or artists.id",
    ),
    ("SELECT title AS t FROM input WHERE t = 'One'", "t = ", "there is no column t", "computed after WHERE"),
    (
        "SELECT id FROM input WHERE title = \"One\"",
        "\"One\"",
        "there is no column One",
        "text is written in single quotes: 'One'",
    ),
    ("SELECT id, title AS id FROM input", "id FROM", "two columns named id", "another name with AS"),
    ("SELECT id, title, count(*) FROM input GROUP BY id", "title", "neither in GROUP BY nor", "add title to GROUP BY"),
    ("SELECT id FROM input WHERE sum(price) > 1", "sum(price)", "sum is used in WHERE", "HAVING"),
    ("SELECT id FROM input WHERE row_number() OVER (ORDER BY id) = 1", "row_number", "is used in WHERE", "QUALIFY"),
    ("SELECT sum(sum(price)) FROM input", "price", "cannot be nested", "inner query"),
    ("SELECT id FROM input WHERE id = 'abc'", "'abc'", "'abc' is not a whole number", "CAST(id AS TEXT)"),
    ("SELECT id FROM input WHERE day > DATE '2019-13-01'", "'2019-13-01'", "is not a date", "'2019-01-31'"),
    (
        "SELECT name FROM artists WHERE tags = 3",
        "tags = 3",
        "tags is a list of TEXT, 3 is a whole number",
        "array_has(tags, 3)",
    ),
    (
        "SELECT CASE WHEN true THEN id ELSE tags END FROM artists",
        "CASE",
        "CASE makes text here and a list of TEXT there",
        "CAST",
    ),
    (
        "SELECT id FROM artists UNION ALL SELECT tags FROM artists",
        "",
        "tags is a list of TEXT, and text in the query before",
        "CAST",
    ),
    (
        "SELECT id FROM input UNION ALL SELECT id, name FROM artists",
        "",
        "different numbers of columns: 1 and 2",
        "NULL AS name",
    ),
    ("SELECT id FROM input WHERE title", "title", "title is text, not a condition", "IS NOT NULL"),
    ("SELECT at['y'] FROM artists", "at['y'", "there is no field y", "its fields: x"),
    ("SELECT unnest(title) FROM input", "unnest(title)", "unnest takes a list, but title is text", "string_to_array"),
    ("SELECT CAST(id AS DATETIME) FROM input", "DATETIME", "there is no type DATETIME", "TIMESTAMP"),
    ("SELECT id FROM input LIMIT -1", "LIMIT", "LIMIT takes a number from 0, not -1", ""),
    ("SELECT id FROM input LIMIT id", "id", "where only a constant can be", "LIMIT"),
    ("SELECT id FROM input ORDER BY 5", "ORDER", "ORDER BY 5: the SELECT has 1 column", "a name is safer"),
    ("SELECT DISTINCT id FROM input ORDER BY title", "title", "not in SELECT DISTINCT", "to the SELECT"),
    ("SELECT id FROM input LIMIT 3 ORDER BY id", "ORDER", "expected end of statement, found ORDER", "ORDER BY, LIMIT"),
    ("SELECT id FORM input", "input", "found input", "did you mean FROM instead of FORM?"),
    ("SELECT id,, title FROM input", ",", "expected an expression", "a comma too many"),
    ("SELECT 'title FROM input", "'", "this text has no closing quote", "'it''s'"),
    ("SELECT (id FROM input", "FROM", "expected ), found FROM", "still open"),
    ("SELECT id FROM input WHERE", "", "found the end of the query", "too early"),
    ("SELECT id, (SELECT id, name FROM artists) FROM input", "", "must have one column here", ""),
    ("SELECT TOP 5 id FROM input", "TOP", "there is no TOP", "LIMIT 5"),
    (
        "SELECT count(DISTINCT id, title) FROM input",
        "count(DISTINCT",
        "count(DISTINCT …) takes one argument",
        "named_struct('a', a, 'b', b)",
    ),
    ("SELECT string_agg(title, votes) FROM input", "string_agg", "delimiter must be a string literal", ""),
    ("SELECT approx_percentile_cont(price, price) FROM input", "", "must be a literal", ""),
    ("SELECT ntile(0) OVER (ORDER BY id) AS n FROM input", "ntile(0)", "NTILE requires a positive integer", ""),
    (
        "SELECT lag(id, title) OVER (ORDER BY id) AS n FROM input",
        "lag(",
        "takes a constant as its second argument",
        "lag(x, 1)",
    ),
    (
        "SELECT median(DISTINCT id) OVER (ORDER BY id ROWS 1 PRECEDING) AS n FROM input",
        "median(",
        "over rows that move along",
        "UNBOUNDED PRECEDING",
    ),
    (
        "SELECT sum(DISTINCT id) OVER (ORDER BY id ROWS 1 PRECEDING) AS n FROM input",
        "sum(",
        "over rows that move along",
        "UNBOUNDED PRECEDING",
    ),
    (
        "SELECT id, (SELECT name FROM artists WHERE id > input.title) FROM input",
        "SELECT name",
        "this one may have several rows",
        "SELECT min(x)",
    ),
    ("SELECT i.id FROM input i, LATERAL (SELECT name FROM artists LIMIT i.id)", "LIMIT", "LIMIT takes a number", ""),
    ("SELECT id FROM input TABLESAMPLE BERNOULLI (10)", "input", "there is no TABLESAMPLE", "random() < 0.1"),
    ("SELECT id FROM input PIVOT (sum(price) FOR id IN (1, 2))", "PIVOT", "there is no PIVOT", "FILTER (WHERE"),
    ("SELECT regexp_replace(title, '(', '') FROM input", "", "not a regular expression: unclosed group", "\\"),
    (
        "SELECT id FROM input WHERE regexp_like(title, '[')",
        "",
        "not a regular expression: unclosed character class",
        "\\",
    ),
    ("SELECT date_trunc('mont', to_timestamp('2019-01-01')) FROM input", "'mont'", "granularity: 'mont'", ""),
    ("SELECT date_trunc('mont', to_timestamp(day)) FROM input", "'mont'", "granularity: 'mont'", ""),
    ("SELECT date_part('yeer', to_timestamp(day)) FROM input", "'yeer'", "yeer", ""),
    ("SELECT encode(title, 'base99') FROM input", "'base99'", "no built-in encoding named 'base99'", ""),
    ("SELECT id FROM input WHERE digest(title, 'md99') IS NULL", "'md99'", "no built-in digest algorithm", ""),
    ("SELECT substr(title) FROM input", "title", "substr takes 2 or 3 arguments", "substr(text, 1, 3)"),
];

/// What is found when rows are computed.
const FAILING: &[(&str, &str, &str, &str)] = &[
    (
        "SELECT CAST(votes AS INT) FROM input",
        "votes",
        "\"n/a\" is not a whole number: column votes in votes.csv, line 4",
        "try_cast(votes AS INT)",
    ),
    ("SELECT id FROM input WHERE votes > 3", "votes > 3", "\"n/a\" is not a whole number", "is written in quotes"),
    (
        "SELECT to_date(day, '%d/%m/%Y') FROM input",
        "to_date",
        "\"2019-01-04\" is not of the form %d/%m/%Y",
        "one more form",
    ),
    ("SELECT to_timestamp(day) FROM input", "to_timestamp", "\"04/01/2019\" is not a date or time", "'%d/%m/%Y'"),
    ("SELECT CAST(big AS INT) FROM input", "big", "too large for INT: column big in votes.csv, line 2", "try_cast"),
    ("SELECT price / (id - 1) / (id - 1) FROM input WHERE 1 / (id - 1) > 0", "", "division by zero", "nullif("),
    (
        "SELECT big * 2 AS x FROM input",
        "big * 2",
        "does not fit BIGINT: column big in votes.csv, line 2",
        "DECIMAL(38, 0)",
    ),
    (
        "SELECT sum(big) AS x FROM input",
        "sum(big)",
        "sum(big) is 9223372036854775808, which does not fit",
        "DECIMAL(38, 0)",
    ),
    ("SELECT id, (SELECT name FROM artists) FROM input", "SELECT name", "this one has several rows", "array_agg"),
    (
        "SELECT i.id FROM input i JOIN artists a ON i.id = a.id",
        "i.id = a.id",
        "\"a\" is not a whole number: column id in artists.ndjson, line 1",
        "CAST(i.id AS TEXT) = a.id",
    ),
];

fn mistakes(folder: &TempDir) -> Vec<TableSpec> {
    let votes = "id,title,votes,price,day,big\n1,One,12,1.5,2019-01-04,9223372036854775807\n\
                 2,Two,7,,04/01/2019,0\n3,Three,n/a,0.5,,1\n";
    let artists =
        "{\"id\":\"a\",\"name\":\"Ada\",\"tags\":[\"x\"],\"at\":{\"x\":1}}\n{\"id\":\"b\",\"name\":\"Ben\"}\n";
    let votes = write(folder, "votes.csv", votes.as_bytes());
    let artists = write(folder, "artists.ndjson", artists.as_bytes());
    vec![table("input", &[&votes]), table("artists", &[&artists])]
}

/// What only DataFusion's developers need.
fn is_ours(message: &str) -> bool {
    const FOREIGN: [&str; 10] =
        ["bug", "DataFusion", "caused by", "Error during", "Utf8", "Int64", "Arrow error", "Some(", " { ", "backtrace"];
    !FOREIGN.iter().any(|word| message.contains(word))
}

#[tokio::test]
async fn wrong_queries_have_a_place_and_a_hint() {
    let folder = TempDir::new().unwrap();
    let session = Session::open(mistakes(&folder), SMALL).await.unwrap();
    let here = format!("{}/", folder.path().display());
    for (sql, at, says, hint) in WRONG {
        let error = session.query(sql, QueryOptions::default()).await.map(drop).expect_err(sql);
        let message = error.to_string().replace(&here, "");
        let (what, advice) = message.split_once("\nhint: ").unwrap_or((&message, ""));
        assert!(what.contains(says) && advice.contains(hint) && is_ours(&message), "{sql}: {message}");
        let mut lines = what.lines().skip(1);
        let marked = lines.next().zip(lines.next()).and_then(|(query, mark)| query.get(mark.find('^')?..));
        assert!(marked.unwrap_or_default().starts_with(at), "{sql}: {at} is not marked in {message}");
    }
}

#[tokio::test]
async fn values_that_cannot_be_computed_with_have_a_row_and_a_hint() {
    let folder = TempDir::new().unwrap();
    let session = Session::open(mistakes(&folder), SMALL).await.unwrap();
    let here = format!("{}/", folder.path().display());
    for (sql, at, says, hint) in FAILING {
        let mut source = session.query(sql, QueryOptions::default()).await.unwrap();
        let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 1000)).await.unwrap();
        let message = outcome.error.expect(sql).to_string().replace(&here, "");
        assert!(message.contains(says) && message.contains(hint) && is_ours(&message), "{sql}: {message}");
        let place = format!("query: line 1, column {}: ", sql.find(at).unwrap() + 1);
        assert!(at.is_empty() || message.starts_with(&place), "{sql}: {message}");
        // A report has one line for it.
        assert!(!message.contains('\n'), "{sql}: {message}");
    }
}

#[tokio::test]
async fn a_row_is_told_by_its_file_and_line_however_far_it_is() {
    let folder = TempDir::new().unwrap();
    let rows: String = (0..100_000).map(|n| format!("{n}\n")).collect();
    let first = write(&folder, "1.csv", format!("n\n{rows}").as_bytes());
    let second = write(&folder, "2.csv", format!("n\n{rows}x7\n{rows}").as_bytes());
    let problem = problem("SELECT avg(n) AS mean FROM input", vec![table("input", &[&first, &second])]).await;
    assert!(problem.contains("\"x7\" in ") && problem.contains("2.csv, line 100002"), "{problem}");
    let parquet = folder.path().join("p.parquet");
    write_parquet(&parquet, &batch(&[1, 2, 3]));
    let sql = "SELECT CAST(CASE WHEN n > 2 THEN name END AS DOUBLE) AS n FROM input";
    let mut source = query(sql, vec![table("input", &[&parquet])]).await.unwrap();
    let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 1000)).await.unwrap();
    let problem = outcome.error.unwrap().to_string();
    assert!(
        problem.contains("\"n3\" is not a number: column name") && problem.contains("p.parquet, row 3"),
        "{problem}"
    );
}

#[tokio::test]
async fn long_values_are_cut_in_messages() {
    let folder = TempDir::new().unwrap();
    let article = "words ".repeat(100_000);
    let path = write(&folder, "a.csv.parts.ndjson", format!("{{\"body\":\"{article}\"}}\n").as_bytes());
    let problem = problem("SELECT sum(body) AS s FROM input", vec![table("input", &[&path])]).await;
    assert!(problem.contains("body is text: \"words words") && problem.contains("…\" in "), "{problem:.300}");
    assert!(problem.len() < 1000, "{}", problem.len());
    // NDJSON is not CSV, although its name contains another extension.
    assert!(!problem.contains("--schema"), "{problem}");
    let sql = "SELECT CAST(body AS INT) AS n FROM input";
    let mut source = query(sql, vec![table("input", &[&path])]).await.unwrap();
    let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 1000)).await.unwrap();
    let problem = outcome.error.unwrap().to_string();
    assert!(problem.contains("column body in") && problem.len() < 1000, "{problem:.300}");
}
