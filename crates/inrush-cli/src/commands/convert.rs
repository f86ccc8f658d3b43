//! `inrush convert`.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use inrush_commands::convert::{BulkLines, Converted, Target, convert};
use inrush_commands::options::{Inputs, LoadOptions, SourceOptions};
use inrush_core::Code;
use inrush_load::config::Limits;
use inrush_sources::{FormatOptions, Source, SourceSpec, Warnings, open};
use serde_json::json;

use super::load;
use crate::args::{ConvertArgs, OutFormat};
use crate::failure::UsageError;
use crate::logging::{self, Stderr};
use crate::units::{bytes, counted};

/// Converts, prints the result, and returns the exit status.
pub(crate) async fn run(args: ConvertArgs) -> Result<u8> {
    let mut stderr = Stderr::new();
    logging::start(&args.log, false, &stderr);
    let target = target(&args)?;
    let format = args.reading.format_options(Limits::default().document_bytes_max).map_err(load::refused)?;
    let stdin = args.source == "-";
    if stdin && matches!(target, Target::Csv | Target::Parquet) {
        return Err(UsageError::new(
            Code::OptionsConflict,
            "the columns of CSV and Parquet are found by a first reading, but stdin can be read only once",
        )
        .hint("save the input to a file first")
        .into());
    }
    let to_stdout = args.out == Path::new("-");
    if to_stdout && args.json {
        return Err(UsageError::new(Code::OptionsConflict, "--json and the documents would both go to stdout")
            .hint("name a file as OUT")
            .into());
    }
    let sources = std::slice::from_ref(&args.source);
    Inputs::default().and(sources).check([("OUT", (!to_stdout).then_some(&args.out))]).map_err(load::refused)?;
    let source = SourceOptions { sources: sources.to_vec(), ..SourceOptions::default() };
    load::tell_of_terminal(&LoadOptions { source, ..LoadOptions::default() });
    let specs = args.reading.specs(sources).map_err(load::refused)?;
    let warnings = Warnings::default();
    let source = opened(&specs, &format, &warnings).map_err(|error| UsageError::new(error.code, error.to_string()))?;
    let (out, told) = (args.out.clone(), warnings.clone());
    let work = move || to_file(source, || opened(&specs, &format, &warnings), &target, (!to_stdout).then_some(out));
    let converted = tokio::task::spawn_blocking(work).await.context("converting panicked")??;
    for warning in told.list() {
        // If stderr is closed, there is no other place to report it.
        let _ = writeln!(stderr, "warning: {warning}");
    }
    if args.json {
        let Converted { docs, bytes_read, bytes_written } = converted;
        let report = json!({ "docs": docs, "bytes_read": bytes_read, "bytes_written": bytes_written });
        super::print(&format!("{report}\n"))?;
    } else if !to_stdout {
        let (from, to) = (bytes(converted.bytes_read), bytes(converted.bytes_written));
        let _ = writeln!(stderr, "{} converted: {to} from {from}", counted(converted.docs, "document"));
    }
    Ok(0)
}

fn opened(
    specs: &[SourceSpec],
    format: &FormatOptions,
    warnings: &Warnings,
) -> Result<Box<dyn Source>, inrush_sources::SourceError> {
    Ok(Box::new(open(specs, format.clone(), warnings)?))
}

/// Writes to a temporary file beside OUT and renames it at the end, so that OUT is never
/// incomplete. Without a path, writes to stdout.
fn to_file(
    mut source: Box<dyn Source>,
    again: impl FnOnce() -> Result<Box<dyn Source>, inrush_sources::SourceError>,
    target: &Target,
    out: Option<PathBuf>,
) -> Result<Converted> {
    let Some(path) = out else {
        return Ok(convert(source.as_mut(), again, target, BufWriter::new(std::io::stdout()))?);
    };
    let cannot = || format!("cannot write {}", path.display());
    // A pipe or device cannot be renamed over.
    if path.exists() && !path.is_file() {
        let file = std::fs::File::create(&path).with_context(cannot)?;
        return Ok(convert(source.as_mut(), again, target, BufWriter::new(file))?);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    // The name belongs to this process, but the target of a link of that name does not.
    let file = std::fs::File::options().write(true).create_new(true).open(&part).with_context(cannot)?;
    let converted = convert(source.as_mut(), again, target, BufWriter::new(&file));
    let moved = converted.map_err(anyhow::Error::new).and_then(|converted| {
        file.sync_all().and_then(|()| std::fs::rename(&part, &path)).with_context(cannot)?;
        Ok(converted)
    });
    if moved.is_err() {
        // The partial file is useless, and the first error says more than an error of this removal.
        let _ = std::fs::remove_file(&part);
    }
    moved
}

fn target(args: &ConvertArgs) -> Result<Target, UsageError> {
    let format = match args.out_format {
        Some(format) => format,
        None => by_name(&args.out)?,
    };
    let lines =
        || BulkLines { action: args.action.unwrap_or_default(), id: args.id.clone(), routing: args.routing.clone() };
    let for_bulk =
        [("--action", args.action.is_some()), ("--id", args.id.is_some()), ("--routing", args.routing.is_some())];
    let bulk = matches!(format, OutFormat::Bulk | OutFormat::BulkSmile);
    if let Some((flag, _)) = for_bulk.iter().find(|(_, given)| *given && !bulk) {
        return Err(UsageError::new(Code::OptionsConflict, format!("{flag} is for bulk bodies"))
            .hint("leave it out, or give --out-format bulk"));
    }
    if bulk && lines().action.needs_id() && args.id.is_none() {
        return Err(UsageError::new(Code::MissingOption, "the action needs the ids of the documents")
            .hint("name the field that holds them with --id FIELD"));
    }
    Ok(match format {
        OutFormat::Ndjson => Target::Ndjson,
        OutFormat::Smile => Target::Smile,
        OutFormat::Bulk => Target::Bulk(lines()),
        OutFormat::BulkSmile => Target::BulkSmile(lines()),
        OutFormat::Csv => Target::Csv,
        OutFormat::Parquet => Target::Parquet,
    })
}

fn by_name(out: &Path) -> Result<OutFormat, UsageError> {
    let extension = out.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("ndjson" | "jsonl" | "json") => Ok(OutFormat::Ndjson),
        Some("smile" | "sml") => Ok(OutFormat::Smile),
        Some("bulk") => Ok(OutFormat::Bulk),
        Some("csv") => Ok(OutFormat::Csv),
        Some("parquet") => Ok(OutFormat::Parquet),
        _ => Err(UsageError::new(Code::MissingOption, format!("the format cannot be derived from the name {}", out.display()))
            .hint("give --out-format ndjson, smile, bulk, bulk-smile, csv or parquet; compress the result with another program")),
    }
}
