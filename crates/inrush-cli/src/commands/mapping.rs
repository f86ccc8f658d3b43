//! `inrush mapping`.

use std::io::Write as _;

use anyhow::{Context, Result, anyhow, bail};
use inrush::config::{Limits, LoadConfig};
use inrush::infer::{Inference, Mixed, Note, NoteKind, infer};
use inrush::source::SourceError;
use serde_json::{Value, json};

use super::source;
use crate::args::{IndexArgs, MappingArgs, MixedArg, SourceArgs};
use crate::failure::UsageError;
use crate::logging::{self, Stderr};
use crate::overwrites::Inputs;
use crate::units::{count, counted};

/// Records that `load --map auto` looks at: about a second of work.
const ROWS_OF_LOAD: u64 = 100_000;

/// Notes that `load --map auto` shows.
const NOTES_OF_LOAD_MAX: usize = 5;

/// Looks, prints, and returns the exit status.
pub(crate) async fn run(args: MappingArgs) -> Result<u8> {
    let mut stderr = Stderr::new();
    logging::start(&args.log, false, &stderr);
    let document_bytes_max = Limits::default().document_bytes_max;
    let MappingArgs { sources, reading, database, sql, .. } = args;
    Inputs::new(&sources, &sql).check([("--out", args.out.as_ref())])?;
    let source = SourceArgs { sources, reading, database, sql, ..SourceArgs::default() };
    // Reading is all that this does, so a source that cannot be read is a failure of it.
    let failed = |error: anyhow::Error| if error.is::<SourceError>() { anyhow!("{error}") } else { error };
    let found = look(&source, document_bytes_max, args.rows, args.mixed).await.map_err(failed)?;
    let mapping = serde_json::to_string_pretty(&found.advice.mapping).context("cannot write the mapping as JSON")?;
    if args.json {
        let text = serde_json::to_string(&as_json(&found)).context("cannot write the mapping as JSON")?;
        return super::print(&(text + "\n")).map(|()| 0);
    }
    // Nobody is left to tell if stderr is closed.
    told(&found).iter().for_each(|line| drop(writeln!(stderr, "{line}")));
    match &args.out {
        Some(path) => {
            std::fs::write(path, mapping + "\n").with_context(|| format!("cannot write {}", path.display()))?
        }
        None => super::print(&(mapping + "\n"))?,
    }
    Ok(0)
}

/// What `load --map auto` does before an index is made: a mapping from the first records of the sources.
pub(crate) async fn of_load(source: &SourceArgs, to: &IndexArgs, config: &mut LoadConfig) -> Result<()> {
    if to.map.is_none() {
        return Ok(());
    }
    if source.from_dead_letters.is_some() || source.sources.iter().any(|source| source == "-") {
        let message = "--map auto reads the sources twice, which stdin and dead letters do not allow";
        return Err(UsageError::new(message)
            .hint("write a mapping with `inrush mapping`, and give it with --mapping")
            .into());
    }
    let refused = |error: anyhow::Error| match error.is::<UsageError>() || error.is::<SourceError>() {
        true => error,
        false => UsageError::new(format!("--map auto: {error:#}")).into(),
    };
    let found = look(source, config.limits.document_bytes_max, Some(ROWS_OF_LOAD), to.mixed).await.map_err(refused)?;
    let conflicts = found.advice.notes.iter().filter(|note| note.kind == NoteKind::Conflict);
    for note in conflicts.take(NOTES_OF_LOAD_MAX) {
        tracing::warn!("--map auto: {}", line(note));
    }
    config.create.mapping = Some(found.advice.mapping);
    Ok(())
}

async fn look(
    args: &SourceArgs,
    document_bytes_max: usize,
    rows: Option<u64>,
    mixed: Option<MixedArg>,
) -> Result<Inference> {
    let mixed = match mixed {
        None | Some(MixedArg::Widen) => Mixed::Widen,
        Some(MixedArg::Keep) => Mixed::Keep,
        Some(MixedArg::Ignore) => Mixed::Ignore,
    };
    if source::index_address(&args.sources, &args.reading)?.is_some() {
        return Err(UsageError::new("an index has a mapping already")
            .hint("`inrush load --copy-mapping` takes it over, and GET INDEX/_mapping shows it")
            .into());
    }
    // Dates are told from text. The mapping that comes of it takes milliseconds as well.
    let mut args = args.clone();
    args.reading.timestamps = None;
    let mut source = source::open_rows(&args, None, document_bytes_max).await?;
    let found =
        tokio::task::spawn_blocking(move || infer(&mut *source, rows, mixed)).await.context("reading panicked")??;
    if found.advice.docs == 0 {
        match &found.first_rejected {
            Some(first) => bail!(
                "there are no documents: {} refused, the first at {first}",
                counted(found.docs_rejected, "record")
            ),
            None => bail!("there are no documents to look at"),
        }
    }
    Ok(found)
}

fn as_json(found: &Inference) -> Value {
    let notes = found.advice.notes.iter().map(|note| {
        let kind = match note.kind {
            NoteKind::Conflict => "conflict",
            NoteKind::Choice => "choice",
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
    })
}

/// What is told besides the mapping.
fn told(found: &Inference) -> Vec<String> {
    let not_all = if found.complete { "" } else { ", not all: what comes later may want other types" };
    let mut lines = vec![format!("{} looked at{not_all}", counted(found.advice.docs, "document"))];
    if let Some(first) = &found.first_rejected {
        lines.push(format!("no documents: {}, the first at {first}", count(found.docs_rejected)));
    }
    for note in &found.advice.notes {
        let kind = match note.kind {
            NoteKind::Conflict => "conflict",
            NoteKind::Choice => "note",
        };
        lines.push(format!("{kind}: {}", line(note)));
    }
    lines
}

fn line(note: &Note) -> String {
    if note.field.is_empty() { note.text.clone() } else { format!("{} {}", note.field, note.text) }
}
