//! The examples of docs/sql.md and docs/sql/times.md give the results that stand below them.

use std::path::PathBuf;

use inrush_sources::{FormatOptions, SourceSpec};
use inrush_sql::{QueryOptions, Session, SessionOptions, TableSpec};

use crate::source_support::drain;

/// Fenced blocks with their language, and the file's name that stands in the line before.
fn blocks(page: &str) -> Vec<(String, Option<String>, String)> {
    let mut blocks = Vec::new();
    let mut before = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let name = before.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).map(str::to_owned);
            blocks.push((language.to_owned(), name, body.join("\n") + "\n"));
        }
        before = line;
    }
    blocks
}

#[tokio::test]
async fn examples_are_true() {
    assert_eq!(checked(include_str!("../../../../docs/sql.md")).await, 3);
    assert_eq!(checked(include_str!("../../../../docs/sql/times.md")).await, 1);
}

/// Checks the examples of a page. Returns how many there are.
async fn checked(page: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut tables: Vec<(String, PathBuf)> = Vec::new();
    let mut query = None;
    let mut checked = 0;
    for (language, name, body) in blocks(page) {
        match (language.as_str(), name) {
            (_, Some(name)) => {
                let path = folder.path().join(&name);
                std::fs::write(&path, body).unwrap();
                // The first file of the page is the source, the others are further tables.
                let table = if tables.is_empty() { "input" } else { name.split('.').next().unwrap() };
                tables.push((table.to_owned(), path));
            }
            ("sql", None) => query = Some(body),
            ("json", None) => {
                let spec = |(name, path): &(String, PathBuf)| TableSpec {
                    name: name.clone(),
                    sources: vec![SourceSpec::new(path)],
                    format: FormatOptions::default(),
                };
                let specs = tables.iter().map(spec).collect();
                let session = Session::open(specs, SessionOptions::default()).await.unwrap();
                let sql = query.take().expect("a query stands before its result");
                let mut source = session.query(&sql, QueryOptions::default()).await.unwrap();
                let outcome = tokio::task::spawn_blocking(move || drain(&mut source, 1 << 20)).await.unwrap();
                assert!(outcome.error.is_none(), "{sql}: {:?}", outcome.error);
                assert_eq!(outcome.texts().join("\n") + "\n", body, "{sql}");
                checked += 1;
            }
            _ => {}
        }
    }
    assert_eq!(query, None);
    checked
}
