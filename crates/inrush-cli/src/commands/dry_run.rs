//! `inrush load --dry-run`.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use inrush_front::summary::since_row;
use inrush_load::dry_run::DryRun;
use serde_json::Value;

use crate::args::OutputArgs;
use crate::failure::ExitStatus;
use crate::plain::inline;
use crate::units::{count, counted};

/// Prints the result of a dry run, and returns the exit status.
pub(super) fn print(output: &OutputArgs, found: &DryRun) -> Result<u8> {
    let text = match (output.json, output.quiet) {
        (true, _) => serde_json::to_string(found).context("cannot write the result as JSON")? + "\n",
        (false, true) => String::new(),
        (false, false) => text(found),
    };
    super::print(&text)?;
    Ok(if found.is_fine() { 0 } else { ExitStatus::CheckFailed.code() })
}

fn text(found: &DryRun) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to memory cannot fail.
        let _ = writeln!(text, "{line}");
    };
    let of = found.cluster.as_deref().unwrap_or("a cluster that was not contacted");
    let stands_for = match found.stands_for {
        Some("missing") => ", which does not exist yet",
        Some("data_stream") => ", a data stream",
        Some("alias") => ", an alias",
        Some("hidden") => ", which this user may not read",
        Some(_) => ", which exists",
        None => "",
    };
    line(format!("dry run: nothing was written; documents would go to {} of {of}{stands_for}", found.index));
    line(String::new());
    for shown in &found.documents {
        line(inline(&shown.action).into_owned());
        if !shown.document.is_empty() {
            line(inline(&shown.document).into_owned());
        }
    }
    if let Some(create) = &found.create {
        line(String::new());
        line(format!("the index would be created with: {}", pretty(create)));
        if create.get("mappings").is_none() {
            line("so the cluster would map fields dynamically".to_owned());
        }
    }
    line(String::new());
    line(format!("mapping inferred from the documents: {}", pretty(&found.inferred_mapping)));
    found.notes.iter().for_each(|note| line(inline(note).into_owned()));
    line(String::new());
    let all = if found.complete { "all documents" } else { "there are more" };
    line(format!(
        "{} examined ({all}), {} would be dead letters",
        counted(found.docs_looked_at, "document"),
        count(found.docs_failing)
    ));
    for failure in &found.failures {
        let reason = format!("  {} line {}: {}: {}", failure.source, failure.line, failure.kind, failure.reason);
        line(inline(&reason).into_owned());
    }
    found.since.iter().for_each(|since| line(inline(&format!("since: {}", since_row(since))).into_owned()));
    found.bake.iter().for_each(|bake| line(inline(&format!("the index would be {bake}")).into_owned()));
    found.problems.iter().for_each(|problem| line(inline(&format!("problem: {problem}")).into_owned()));
    found.warnings.iter().for_each(|warning| line(inline(&format!("warning: {warning}")).into_owned()));
    text
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
