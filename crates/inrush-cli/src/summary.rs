//! The final report, for people.

use std::fmt::Write as _;

use inrush::{Report, Status, VerifiedState};

use crate::units;

/// What is printed at the end. Rows that are zero are left out, except what was read and indexed.
pub(crate) fn text(report: &Report) -> String {
    let mut out = String::new();
    let c = &report.counts;
    let headline = match report.status {
        Status::Complete => "all documents are in",
        Status::Incomplete => "some documents are not in",
        Status::CheckFailed => "a check failed",
        Status::Failed => "the load failed",
        Status::Interrupted => "interrupted",
    };
    // Writing to a string does not fail.
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<20} {value}");
    };
    row("result", headline.to_owned());
    if let Some(failure) = &report.failure {
        row("why", failure.clone());
    }
    row("documents read", units::count(c.docs_read));
    let mut indexed = units::count(c.docs_indexed);
    if c.docs_updated + c.docs_deleted > 0 {
        let parts = [(c.docs_created, "created"), (c.docs_updated, "updated"), (c.docs_deleted, "deleted")];
        let parts: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", units::count(*n))).collect();
        indexed.push_str(&format!(" ({})", parts.join(", ")));
    }
    row("indexed", indexed);
    for (name, count) in [
        ("unchanged", c.docs_noop),
        ("not found", c.docs_not_found),
        ("already there", c.docs_already_there),
        ("conflicting", c.docs_conflicting),
        ("dropped by pipeline", c.docs_dropped),
        ("in failure store", c.docs_redirected),
        ("dead letters", c.docs_dead_lettered),
        ("unknown", c.docs_unknown),
        ("given back", c.docs_given_back),
        ("possible duplicates", c.possible_duplicates),
        ("items retried", c.retried_items),
        ("items rejected", c.rejected_items),
    ] {
        if count > 0 {
            row(name, units::count(count));
        }
    }
    row("time", format!("{} ({} docs/s)", units::seconds(report.seconds), units::count(report.docs_per_second as u64)));
    row("read", units::bytes(c.bytes_read));
    row("sent", format!("{} in {}", units::bytes(c.bytes_sent), units::counted(c.requests, "request")));
    let docs = report.plan.batch_docs.map(|docs| format!(" --batch-docs {docs}")).unwrap_or_default();
    let plan = format!(
        "--batch-bytes {}{docs} --in-flight {} ({})",
        units::bytes_exact(report.plan.batch_bytes),
        report.plan.in_flight,
        report.plan.why
    );
    row("plan", plan);
    let verified = match report.verified.state {
        VerifiedState::Yes => "yes",
        VerifiedState::No => "NO",
        VerifiedState::NotProvable => "not provable",
        VerifiedState::Off => "off",
    };
    row("verified", format!("{verified}: {}", report.verified.detail));
    if report.indices.len() > 1 {
        for (index, counts) in &report.indices {
            let line = format!(
                "{} created, {} updated, {} deleted",
                units::count(counts.created),
                units::count(counts.updated),
                units::count(counts.deleted)
            );
            row(&format!("  {index}"), line);
        }
    }
    for error in report.errors.iter().take(3) {
        let status = if error.status == 0 { String::new() } else { format!("{} ", error.status) };
        row("error", format!("{} x {status}{}: {}", units::count(error.count), error.kind, error.reason));
    }
    if report.errors.len() > 3 {
        row("", format!("and {} other kinds of errors", report.errors.len() - 3));
    }
    for warning in &report.warnings {
        row("warning", warning.clone());
    }
    if let Some(path) = &report.dead_letters {
        let path = path.display();
        row("dead-letter file", path.to_string());
        row("what next", format!("mend the cause, then: inrush load --from-dead-letters {path} --index …"));
    } else if let Some(next) = next(report) {
        row("what next", next.to_owned());
    }
    out
}

fn next(report: &Report) -> Option<&'static str> {
    match report.status {
        Status::Complete => None,
        Status::Incomplete if report.counts.docs_unknown > 0 => Some(
            "the unknown documents were sent without an answer: load them again, with --id so that none is there twice",
        ),
        Status::Incomplete => None,
        Status::CheckFailed => {
            Some("look whether something else writes to or deletes from the index, then count again")
        }
        Status::Failed | Status::Interrupted => {
            Some("mend the cause and load again; with --id no document is there twice")
        }
    }
}
