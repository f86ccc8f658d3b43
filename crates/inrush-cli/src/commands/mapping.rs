//! `inrush mapping`.

use std::io::Write as _;

use anyhow::{Context, Result};
use inrush_commands::mapping::{Inference, KnownProduct, Note, NoteKind};
use inrush_commands::options::{Inputs, LoadOptions, SourceOptions, TargetOptions};
use inrush_load::LoadError;
use inrush_load::config::Limits;
use serde_json::{Value, json};

use super::load;
use crate::args::MappingArgs;
use crate::failure::Failed;
use crate::logging::{self, Stderr};
use crate::plain::inline;
use crate::units::{count, counted};

/// Infers the mapping, prints it, and returns the exit status.
pub(crate) async fn run(args: MappingArgs) -> Result<u8> {
    let mut stderr = Stderr::new();
    logging::start(&args.log, false, &stderr);
    let MappingArgs { sources, reading, database, query, shape, mixed, product, rows, .. } = args;
    Inputs::of_sources(&sources, &reading, &query).check([("--out", args.out.as_ref())]).map_err(load::refused)?;
    let options = LoadOptions {
        source: SourceOptions { sources, ..SourceOptions::default() },
        reading: reading.0,
        database: database.0,
        query: query.0,
        shape: shape.0,
        target: TargetOptions { mixed, ..TargetOptions::default() },
        ..LoadOptions::default()
    };
    load::tell_of_terminal(&options);
    let found = options.infer(Limits::default().document_bytes_max, rows).await;
    let found = found.map_err(failed)?.map_err(|why| Failed { code: why.code, message: why.message })?;
    let found = found.of_product(product.unwrap_or(KnownProduct::Elasticsearch));
    let mapping = serde_json::to_string_pretty(&found.advice.mapping).context("cannot write the mapping as JSON")?;
    if args.json {
        let text = serde_json::to_string(&as_json(&found)).context("cannot write the mapping as JSON")?;
        return super::print(&(text + "\n")).map(|()| 0);
    }
    // If stderr is closed, there is no other place to report it.
    told(&found).iter().for_each(|line| drop(writeln!(stderr, "{line}")));
    match &args.out {
        Some(path) => {
            std::fs::write(path, mapping + "\n").with_context(|| format!("cannot write {}", path.display()))?
        }
        None => super::print(&(mapping + "\n"))?,
    }
    Ok(0)
}

/// An error of a source is a failure of this command (exit status 1), because reading is all that
/// it does.
fn failed(error: LoadError) -> anyhow::Error {
    match error {
        LoadError::Source(error) => Failed { code: error.code, message: error.to_string() }.into(),
        other => load::usage(other),
    }
}

fn as_json(found: &Inference) -> Value {
    let notes = found.advice.notes.iter().map(|note| {
        let kind = match note.kind {
            NoteKind::Conflict => "conflict",
            NoteKind::Choice | NoteKind::Reading => "choice",
        };
        json!({ "field": note.field, "kind": kind, "text": note.text })
    });
    json!({
        "mapping": found.advice.mapping,
        "notes": notes.collect::<Vec<_>>(),
        "docs": found.advice.docs,
        "docs_rejected": found.docs_rejected,
        "first_rejected": found.first_rejected,
        "complete": found.complete,
        "warnings": warnings(found),
    })
}

/// The notes beside the mapping.
fn told(found: &Inference) -> Vec<String> {
    let not_all = if found.complete { "" } else { ", not all: later documents may need other types" };
    let mut lines = vec![format!("{} examined{not_all}", counted(found.advice.docs, "document"))];
    if let Some(first) = &found.first_rejected {
        lines.push(format!("records that are not documents: {}, the first at {first}", count(found.docs_rejected)));
    }
    for note in &found.advice.notes {
        let kind = match note.kind {
            NoteKind::Conflict => "conflict",
            NoteKind::Choice | NoteKind::Reading => "note",
        };
        lines.push(format!("{kind}: {}", line(note)));
    }
    lines.extend(warnings(found).iter().map(|warning| format!("warning: {warning}")));
    lines
}

fn warnings(found: &Inference) -> Vec<String> {
    let of_columns = found.warnings.iter().map(ToString::to_string);
    of_columns.chain(found.unmet.clone()).map(|warning| inline(&warning).into_owned()).collect()
}

fn line(note: &Note) -> String {
    if note.field.is_empty() { note.text.clone() } else { format!("{} {}", note.field, note.text) }
}
