//! `inrush convert`.

use std::ffi::OsStr;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use inrush_commands::convert::{Again, BulkLines, ConvertError, Converted, Output, OutputFormat, Packing, convert};
use inrush_commands::options::{
    Environment, IndexSourceOptions, Inputs, LoadOptions, OpenSource, SourceOptions, TargetOptions, Use,
};
use inrush_core::Code;
use inrush_sources::Source;
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::sync::watch;

use super::load;
use super::signals::Signals;
use crate::args::{ConvertArgs, OutFormat};
use crate::failure::{ExitStatus, UsageError};
use crate::logging::{self, Stderr};
use crate::progress::{Display, show_row};
use crate::units::{bytes, count, counted};

/// Converts, prints the result, and returns the exit status.
pub(crate) async fn run(args: ConvertArgs) -> Result<u8> {
    let mut stderr = Stderr::new();
    logging::start(&args.output.log, args.output.quiet, &stderr);
    let output = output(&args)?;
    let (json, quiet) = (args.output.json, args.output.quiet);
    let to_stdout = args.out == Path::new("-");
    if to_stdout && json {
        return Err(UsageError::new(Code::OptionsConflict, "--json and the documents would both go to stdout")
            .hint("name a file as OUT")
            .into());
    }
    let options = load_options(&args);
    Inputs::of_sources(&options.source.sources, &options.reading, &options.query)
        .check([("OUT", (!to_stdout).then_some(&args.out))])
        .map_err(load::refused)?;
    load::tell_of_terminal(&options);
    let environment = load::with_prompt(Environment::of_process());
    let (source, reopen) = options.open_for(Use::Convert, &environment).await.map_err(load::usage)?;
    let reopen = reopen.filter(|_| !is_read_once(&args.source));
    let described = source.describe();
    if let OutputFormat::Bulk(lines) | OutputFormat::BulkSmile(lines) = &output.target
        && lines.action.needs_id()
        && lines.id.is_none()
        && !described.has_ids
    {
        return Err(UsageError::new(Code::MissingOption, "the action needs the ids of the documents")
            .hint("name the field that holds them with --id FIELD")
            .into());
    }
    let warnings = described.warnings;
    let display = if to_stdout { Display::None } else { Display::detect(quiet, args.output.log.log_json) };
    let out = (!to_stdout).then(|| args.out.clone());
    let Some(converted) = in_background((source, reopen), output, out, (display, &stderr)).await? else {
        let _ = match to_stdout {
            true => writeln!(stderr, "interrupted"),
            false => writeln!(stderr, "interrupted: {} is as it was", args.out.display()),
        };
        return Ok(ExitStatus::Interrupted.code());
    };
    let Converted { docs, bytes_read, bytes_written, notes } = converted;
    let found = warnings.iter().flat_map(|warnings| warnings.list()).map(|warning| warning.to_string());
    // If stderr is closed, there is no other place to report it.
    found.chain(notes).for_each(|warning| drop(writeln!(stderr, "warning: {warning}")));
    if json {
        let report = json!({ "docs": docs, "bytes_read": bytes_read, "bytes_written": bytes_written });
        super::print(&format!("{report}\n"))?;
    } else if !to_stdout && !quiet {
        let (from, to) = (bytes(bytes_read), bytes(bytes_written));
        let _ = writeln!(stderr, "{} converted: {to} from {from}", counted(docs, "document"));
    }
    Ok(0)
}

/// How long a source that waits for its server may go on after a signal.
const LAST_BLOCK: Duration = Duration::from_secs(3);

/// Converts in a thread of its own, and shows how far it is. `None` after a signal. The temporary
/// files are deleted however it ends.
async fn in_background(
    (source, reopen): (Box<dyn Source>, Option<OpenSource>),
    output: Output,
    out: Option<PathBuf>,
    (display, stderr): (Display, &Stderr),
) -> Result<Option<Converted>> {
    let mut signals = Signals::new()?;
    let (progress, watched) = watch::channel(Converted::default());
    let shown = tokio::spawn(show_row(watched, row, display, stderr.clone()));
    let stop = Arc::new(AtomicBool::new(false));
    let is_stopped = Arc::clone(&stop);
    let watch = move |now: &Converted| {
        progress.send_replace(now.clone());
        !is_stopped.load(Ordering::Relaxed)
    };
    let written = Written::new(out)?;
    let kept = reopen.is_none().then(|| written.temporary(".ndjson")).transpose()?;
    let (to, keep) = (written.place(), kept.as_ref().map(|kept| kept.path().to_owned()));
    let mut work = tokio::task::spawn_blocking(move || {
        let (mut source, out) = (source, to.writer()?);
        let again = match (&reopen, &keep) {
            (Some(reopen), _) => Again::Open(Box::new(|| reopen())),
            // Without the one there is the other.
            (None, keep) => Again::Keep(keep.as_deref().unwrap_or(Path::new(""))),
        };
        Ok(convert(source.as_mut(), again, &output, &watch, out)?)
    });
    let converted = tokio::select! {
        converted = &mut work => converted,
        () = signals.next() => {
            stop.store(true, Ordering::Relaxed);
            match tokio::time::timeout(LAST_BLOCK, work).await {
                Ok(converted) => converted,
                Err(_) => return Ok(None),
            }
        }
    };
    // The row is cleared before the result is printed. Its own result no longer matters.
    let _ = shown.await;
    let converted: Result<Converted> = converted.context("converting panicked")?;
    match converted {
        Err(error) if matches!(error.downcast_ref(), Some(ConvertError::Stopped)) => Ok(None),
        converted => {
            let converted = converted?;
            written.keep()?;
            Ok(Some(converted))
        }
    }
}

fn row(now: &Converted) -> String {
    format!("{} documents, {} read", count(now.docs), bytes(now.bytes_read))
}

/// The source as options of a load.
fn load_options(args: &ConvertArgs) -> LoadOptions {
    LoadOptions {
        source: SourceOptions { sources: vec![args.source.clone()], ..SourceOptions::default() },
        reading: args.reading.0.clone(),
        database: args.database.0.clone(),
        query: args.sql.0.clone(),
        index_source: IndexSourceOptions {
            query: args.query.clone(),
            index_in_id: args.index_in_id,
            ..IndexSourceOptions::default()
        },
        source_login: args.source_login.0.clone(),
        target: TargetOptions { id: args.id.clone(), routing: args.routing.clone(), ..TargetOptions::default() },
        ..LoadOptions::default()
    }
}

/// Where the output goes. A file is written under a temporary name and renamed at the end, so that
/// OUT is never incomplete.
enum Written {
    Stdout,
    /// A pipe or a device, which cannot be renamed over.
    Device(PathBuf),
    File(PathBuf, NamedTempFile),
}

/// The same for the thread that writes.
enum Place {
    Stdout,
    Path(PathBuf),
}

impl Written {
    fn new(out: Option<PathBuf>) -> Result<Self> {
        Ok(match out {
            None => Written::Stdout,
            Some(path) if path.exists() && !path.is_file() => Written::Device(path),
            Some(path) => {
                let mut prefix = path.file_name().unwrap_or_default().to_owned();
                prefix.push(".");
                let part = temporary(&folder_of(&path), &prefix, ".part");
                let part = part.with_context(|| format!("cannot write {}", path.display()))?;
                Written::File(path, part)
            }
        })
    }

    /// A temporary file beside OUT, or in the folder of the system where OUT is no file.
    fn temporary(&self, suffix: &str) -> Result<NamedTempFile> {
        let folder = match self {
            Written::File(path, _) => folder_of(path),
            Written::Stdout | Written::Device(_) => std::env::temp_dir(),
        };
        let made = temporary(&folder, OsStr::new("inrush-"), suffix);
        made.with_context(|| format!("cannot write a temporary file to {}", folder.display()))
    }

    fn place(&self) -> Place {
        match self {
            Written::Stdout => Place::Stdout,
            Written::Device(path) => Place::Path(path.clone()),
            Written::File(_, part) => Place::Path(part.path().to_owned()),
        }
    }

    /// Gives the complete file its name.
    fn keep(self) -> Result<()> {
        let Written::File(path, part) = self else { return Ok(()) };
        part.as_file().sync_all().with_context(|| format!("cannot write {}", path.display()))?;
        part.persist(&path).map(drop).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Place {
    fn writer(&self) -> Result<BufWriter<Box<dyn Write + Send>>> {
        Ok(BufWriter::new(match self {
            Place::Stdout => Box::new(std::io::stdout()),
            Place::Path(path) => {
                let file = std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
                Box::new(file)
            }
        }))
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A file that others may read as far as the file mode mask says, as they may read OUT.
fn temporary(folder: &Path, prefix: &OsStr, suffix: &str) -> std::io::Result<NamedTempFile> {
    let mode = std::fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(prefix).suffix(suffix).permissions(mode).tempfile_in(folder)
}

/// Whether a source can be read once: a pipe or a device.
fn is_read_once(source: &OsStr) -> bool {
    source == "-" || Path::new(source).metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// What is written, by the flags and the name of OUT.
fn output(args: &ConvertArgs) -> Result<Output, UsageError> {
    let refused = |message: &str, hint: &str| Err(UsageError::new(Code::OptionsConflict, message).hint(hint));
    let (name, packing) = match args.out.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => (args.out.with_extension(""), Packing::Gzip),
        Some("zst") => (args.out.with_extension(""), Packing::Zstd),
        _ => (args.out.clone(), Packing::None),
    };
    let format = match args.out_format {
        Some(format) => format,
        None => by_name(&name)?,
    };
    let lines =
        || BulkLines { action: args.action.unwrap_or_default(), id: args.id.clone(), routing: args.routing.clone() };
    let for_bulk =
        [("--action", args.action.is_some()), ("--id", args.id.is_some()), ("--routing", args.routing.is_some())];
    let bulk = matches!(format, OutFormat::Bulk | OutFormat::BulkSmile);
    if let Some((flag, _)) = for_bulk.iter().find(|(_, given)| *given && !bulk) {
        return refused(&format!("{flag} is for bulk bodies"), "leave it out, or give --out-format bulk");
    }
    if bulk && args.id_as.is_some() {
        return refused("--id-as is not for bulk bodies, whose action lines have the ids", "leave it out");
    }
    if args.index_in_id && !bulk && args.id_as.is_none() {
        return refused("--index-in-id is about ids, which OUT does not have", "add --id-as FIELD, or leave it out");
    }
    if format == OutFormat::Parquet && packing != Packing::None {
        return refused("Parquet files are compressed already", "give OUT a name that ends in .parquet");
    }
    if args.reading.0.extended_json && args.id.is_some() {
        let message = "--id does not work with --extended-json, whose documents have the id `_id`";
        return refused(message, "leave --id out");
    }
    let target = match format {
        OutFormat::Ndjson => OutputFormat::Ndjson,
        OutFormat::Smile => OutputFormat::Smile,
        OutFormat::Bulk => OutputFormat::Bulk(lines()),
        OutFormat::BulkSmile => OutputFormat::BulkSmile(lines()),
        OutFormat::Csv => OutputFormat::Csv,
        OutFormat::Parquet => OutputFormat::Parquet,
    };
    Ok(Output { target, packing, id_as: args.id_as.clone() })
}

fn by_name(out: &Path) -> Result<OutFormat, UsageError> {
    let extension = out.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("ndjson" | "jsonl" | "json") => Ok(OutFormat::Ndjson),
        Some("smile" | "sml") => Ok(OutFormat::Smile),
        Some("bulk") => Ok(OutFormat::Bulk),
        Some("csv") => Ok(OutFormat::Csv),
        Some("parquet") => Ok(OutFormat::Parquet),
        _ => {
            let message = format!("the format cannot be derived from the name {}", out.display());
            Err(UsageError::new(Code::MissingOption, message)
                .hint("give --out-format ndjson, smile, bulk, bulk-smile, csv or parquet"))
        }
    }
}
