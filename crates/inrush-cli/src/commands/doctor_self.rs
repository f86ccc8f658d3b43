//! `inrush doctor --self`: what this program has, and what it finds on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use inrush_node::{Distribution, KnownProduct, RunState, StartOptions, javas, user};

use crate::summary::Rows;

/// Parts that a build may lack, and whether this one has them.
const PARTS: [(&str, bool); 8] = [
    ("SQL", cfg!(feature = "sql")),
    ("object stores", cfg!(feature = "cloud")),
    ("databases", cfg!(feature = "databases")),
    ("Kafka", cfg!(feature = "kafka")),
    ("Parquet", cfg!(feature = "parquet")),
    ("Arrow", cfg!(feature = "arrow")),
    ("Avro", cfg!(feature = "avro")),
    ("workbooks", cfg!(feature = "excel")),
];

/// Beginnings of the names of variables that change what a command does.
const VARIABLES: [&str; 6] = ["INRUSH_", "AWS_", "KAFKA_", "OTEL_", "PG", "MYSQL_"];
/// Further ones, in lower case.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];

/// A table for people. Variables have no values in it, because some of them are secrets.
pub(super) async fn text() -> Result<String> {
    let mut rows = Rows::default();
    let parts = |wanted: bool| names(PARTS.iter().filter(|(_, has)| *has == wanted).map(|(name, _)| *name));
    rows.add("version", env!("CARGO_PKG_VERSION"));
    rows.add("has", parts(true));
    rows.add("lacks", parts(false));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    rows.add("processors", processors.to_string());
    let java = |(home, major): (PathBuf, u32)| format!("{major} in {}", home.display());
    rows.add("Java", names(javas().into_iter().map(java)));
    rows.add("OpenSearch here", names(Distribution::versions_here(KnownProduct::OpenSearch)));
    rows.add("local node", local_node().await?);
    rows.add("state folder", state_folder(user::variable));
    rows.add("environment", names(variables(std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()))));
    Ok(rows.text())
}

fn names(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

async fn local_node() -> Result<String> {
    let status = inrush_node::status(&StartOptions::default().name).await?;
    Ok(match (status.state, status.node) {
        (RunState::Running, Some(node)) => format!("runs at {} (OpenSearch {})", node.url, node.version),
        (RunState::Crashed, _) => "does not run, and was not stopped; see `inrush node logs`".to_owned(),
        _ => "does not run; `inrush node start` starts it".to_owned(),
    })
}

/// The folder of option `state` if it is not given.
fn state_folder(variable: impl Fn(&str) -> Option<OsString>) -> String {
    let Some(folder) = user::state_folder(variable) else {
        return "none: no home of this user is known (HOME), and XDG_STATE_HOME is not set; give --state".to_owned();
    };
    let there = if Path::is_dir(&folder) { "" } else { " (the first load makes it)" };
    format!("{}{there}", folder.display())
}

fn variables(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let known = |name: &String| {
        VARIABLES.iter().any(|beginning| name.starts_with(beginning))
            || PROXIES.contains(&name.to_ascii_lowercase().as_str())
            || name == "JAVA_HOME"
    };
    let mut names: Vec<String> = names.into_iter().filter(known).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_matter_are_named() {
        let all = ["PATH", "INRUSH_PASSWORD", "https_proxy", "HTTPS_PROXY", "PGPASSWORD", "HOME"];
        let found = variables(all.map(str::to_owned));
        assert_eq!(found, ["HTTPS_PROXY", "INRUSH_PASSWORD", "PGPASSWORD", "https_proxy"]);
    }

    #[test]
    fn the_state_folder_is_that_of_loads() {
        let folder = |set: &'static [(&'static str, &'static str)]| {
            state_folder(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        assert!(folder(&[("XDG_STATE_HOME", "/x"), ("HOME", "/h")]).starts_with("/x/inrush"));
        assert!(folder(&[("XDG_STATE_HOME", "x"), ("HOME", "/h")]).starts_with("/h/.local/state/inrush"));
        assert!(folder(&[]).starts_with("none"));
    }
}
