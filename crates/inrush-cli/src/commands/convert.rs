//! `inrush convert`.

use std::ffi::OsStr;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use inrush_commands::convert::{
    Again, Bucket, BulkLines, ConvertError, Converted, Export, Exported, Output, OutputFormat, Packing, Place as Parts,
    convert, export,
};
use inrush_commands::options::{
    ByteSize, Environment, IndexSourceOptions, Inputs, LoadOptions, OpenSource, ResumeOptions, SourceOptions, Style,
    TargetOptions, Use, render,
};
use inrush_core::Code;
use inrush_front::errors::Hint;
use inrush_node::user;
use inrush_sources::{Repeats, Source, SourceError, SourceUrl, StoreOptions};
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::sync::watch;

use super::load;
use super::signals::Signals;
use crate::args::{ConvertArgs, OutCompression, OutFormat};
use crate::failure::{ExitStatus, UsageError};
use crate::logging::{self, Stderr};
use crate::progress::{Display, show_row};
use crate::units::{bytes, count, counted};

/// Converts, prints the result, and returns the exit status.
pub(crate) async fn run(args: ConvertArgs) -> Result<u8> {
    let mut stderr = Stderr::new();
    logging::start(&args.output.log, args.output.quiet, &stderr);
    let to = target(&args).await?;
    let output = output(&args, &to)?;
    let (json, quiet) = (args.output.json, args.output.quiet);
    let to_stdout = matches!(to, Target::Stdout);
    if to_stdout && json {
        return Err(UsageError::new(Code::OptionsConflict, "--json and the documents would both go to stdout")
            .hint("name a file as OUT")
            .into());
    }
    let options = load_options(&args);
    Inputs::of_sources(&options.source.sources, &options.reading, &options.query)
        .check([("OUT", (!to_stdout).then_some(&args.out))])
        .map_err(load::refused)?;
    if matches!(to, Target::Folder(_)) && is_below(&args.out, &args.source) {
        let message =
            format!("OUT is in the folder IN, {}, and would be read with it", Path::new(&args.source).display());
        return Err(UsageError::new(Code::OptionsConflict, message).hint("name a folder outside of IN as OUT").into());
    }
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
    let (warnings, title) = (described.warnings, args.out.display().to_string());
    let is_folder = matches!(to, Target::Folder(_));
    let begun = match &to {
        Target::Folder(export) => Arc::clone(&export.begun),
        _ => Arc::default(),
    };
    let repeats = described.repeats == Repeats::Always;
    let goes_on = || repeats && begun.load(Ordering::Relaxed);
    let display = if to_stdout { Display::None } else { Display::detect(quiet, args.output.log.log_json) };
    let Some(done) = in_background((source, reopen), output, to, (display, &stderr))
        .await
        .map_err(|error| if goes_on() { with_hint(error) } else { refused(error) })?
    else {
        let _ = match goes_on() {
            _ if to_stdout => writeln!(stderr, "interrupted"),
            true => writeln!(stderr, "interrupted: {title} is not complete; the same command with --resume goes on"),
            false if is_folder => writeln!(stderr, "interrupted: {title} is not complete"),
            false => writeln!(stderr, "interrupted: {title} is as it was"),
        };
        return Ok(ExitStatus::Interrupted.code());
    };
    let found = warnings.iter().flat_map(|warnings| warnings.list()).map(|warning| warning.to_string());
    let found: Vec<String> = found.chain(done.converted.notes.iter().cloned()).collect();
    // If stderr is closed, there is no other place to report it.
    found.iter().for_each(|warning| drop(writeln!(stderr, "warning: {warning}")));
    if json {
        super::print(&format!("{}\n", done.json(&found)))?;
    } else if !to_stdout && !quiet {
        let _ = writeln!(stderr, "{}", done.text(&title));
    }
    Ok(0)
}

/// A conversion that has ended.
struct Done {
    converted: Converted,
    /// The files of a folder.
    parts: Option<usize>,
    was_complete: bool,
}

impl Done {
    fn json(&self, warnings: &[String]) -> serde_json::Value {
        let Converted { docs, bytes_read, bytes_written, .. } = &self.converted;
        let mut report =
            json!({ "docs": docs, "bytes_read": bytes_read, "bytes_written": bytes_written, "warnings": warnings });
        if let Some(parts) = self.parts {
            report["parts"] = parts.into();
        }
        report
    }

    fn text(&self, out: &str) -> String {
        let Converted { docs, bytes_read, bytes_written, .. } = &self.converted;
        let (docs, from, to) = (counted(*docs, "document"), bytes(*bytes_read), bytes(*bytes_written));
        match self.parts {
            Some(parts) if self.was_complete => {
                format!("{out} is complete already: {docs}, {to} in {}", counted(parts as u64, "file"))
            }
            Some(parts) => format!("{docs} converted: {to} in {} from {from}", counted(parts as u64, "file")),
            None => format!("{docs} converted: {to} from {from}"),
        }
    }
}

/// An error with what goes on after it, if it can pass.
fn with_hint(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(ConvertError::Source(_) | ConvertError::Write(_)) => {
            error.context(Hint("remove the cause, and start the same command with --resume, which goes on".to_owned()))
        }
        _ => refused(error),
    }
}

/// A refusal as such.
fn refused(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(ConvertError::Refused(why)) => {
            UsageError::new(Code::StateUnusable, render(why, Style::Flag).into_owned()).into()
        }
        _ => error,
    }
}

/// How long a source that waits for its server may go on after a signal.
const LAST_BLOCK: Duration = Duration::from_secs(3);

/// Converts in a thread of its own, and shows how far it is. `None` after a signal. The temporary
/// files are deleted however it ends.
async fn in_background(
    (source, reopen): (Box<dyn Source>, Option<OpenSource>),
    output: Output,
    to: Target,
    (display, stderr): (Display, &Stderr),
) -> Result<Option<Done>> {
    let mut signals = Signals::new()?;
    let (progress, watched) = watch::channel(Converted::default());
    let shown = tokio::spawn(show_row(watched, row, display, stderr.clone()));
    let stop = Arc::new(AtomicBool::new(false));
    let is_stopped = Arc::clone(&stop);
    let watch = move |now: &Converted| {
        progress.send_replace(now.clone());
        !is_stopped.load(Ordering::Relaxed)
    };
    let written = Written::new(to)?;
    let is_table = matches!(output.target, OutputFormat::Csv | OutputFormat::Parquet);
    let is_kept = is_table && reopen.is_none() && !matches!(written, Written::Folder(_));
    let kept = is_kept.then(|| written.temporary(".ndjson")).transpose()?;
    let (sink, keep) = (written.sink(), kept.as_ref().map(|kept| kept.path().to_owned()));
    let mut work = tokio::task::spawn_blocking(move || sink.write((source, reopen), keep.as_deref(), &output, &watch));
    let converted = tokio::select! {
        converted = &mut work => converted,
        () = signals.next() => {
            stop.store(true, Ordering::Relaxed);
            match tokio::time::timeout(LAST_BLOCK, work).await {
                Ok(converted) => converted,
                Err(_) => {
                    if let Written::Object(_, name) = &written {
                        tracing::warn!(
                            "the source did not answer in time, so an incomplete upload of {name} may stay in the object store; a rule of the bucket for incomplete uploads deletes it"
                        );
                    }
                    return Ok(None);
                }
            }
        }
    };
    // The row is cleared before the result is printed. Its own result no longer matters.
    let _ = shown.await;
    match converted.context("converting panicked")? {
        Err(error) if matches!(error.downcast_ref(), Some(ConvertError::Stopped)) => Ok(None),
        done => {
            let done = done?;
            written.keep()?;
            Ok(Some(done))
        }
    }
}

fn row(now: &Converted) -> String {
    format!("{} documents, {} read", count(now.docs), bytes(now.bytes_read))
}

fn is_in_a_store(argument: &OsStr) -> bool {
    argument.to_str().and_then(|text| SourceUrl::new(text, &Arc::default())).is_some_and(|url| url.is_in_a_store())
}

/// Whether OUT is a folder that is read, or below it.
fn is_below(out: &Path, source: &OsStr) -> bool {
    match (is_in_a_store(out.as_os_str()), is_in_a_store(source)) {
        (true, true) => {
            let folder = format!("{}/", source.to_string_lossy().trim_end_matches('/'));
            out.to_string_lossy().starts_with(&folder)
        }
        (false, false) if source != "-" && Path::new(source).is_dir() => {
            let (Ok(out), Ok(source)) = (std::path::absolute(out), Path::new(source).canonicalize()) else {
                return false;
            };
            // OUT need not be there, but IN is.
            out.ancestors().find_map(|path| path.canonicalize().ok()).is_some_and(|found| found.starts_with(source))
        }
        _ => false,
    }
}

/// The source as options of a load.
fn load_options(args: &ConvertArgs) -> LoadOptions {
    let mut reading = args.reading.0.clone();
    if is_in_a_store(args.out.as_os_str()) && !is_in_a_store(&args.source) {
        // They are about OUT.
        reading.store_option = Vec::new();
    }
    LoadOptions {
        source: SourceOptions { sources: vec![args.source.clone()], ..SourceOptions::default() },
        reading,
        database: args.database.0.clone(),
        query: args.sql.0.clone(),
        shape: args.shape.0.clone(),
        resume: ResumeOptions { resume: args.resume, ..ResumeOptions::default() },
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

/// Where the output goes, as the user names it.
enum Target {
    Stdout,
    File(PathBuf),
    Folder(Export),
    /// An object of this name.
    Object(Bucket, String),
}

/// Bytes of a part of a folder.
const PART_BYTES: u64 = 128 << 20;

/// What OUT is. Flags for folders are refused for others.
async fn target(args: &ConvertArgs) -> Result<Target> {
    let text = args.out.to_str().unwrap_or_default();
    let stores = StoreOptions::parse(&args.reading.0.store_option)
        .map_err(|problem| UsageError::new(Code::BadOptionValue, format!("--store-option: {problem}")))?;
    let url = SourceUrl::new(text, &Arc::new(stores));
    let is_folder = text.ends_with('/') || args.out.is_dir();
    let for_folders = [("--resume", args.resume), ("--part-bytes", args.part_bytes.is_some())];
    if let Some((flag, _)) = for_folders.iter().find(|(_, given)| *given && !is_folder) {
        return Err(UsageError::new(Code::OptionsConflict, format!("{flag} is for a folder, and OUT is none"))
            .hint("leave it out, or name a folder, as out/ or s3://bucket/out/")
            .into());
    }
    let part_bytes = args.part_bytes.map_or(PART_BYTES, ByteSize::bytes);
    let export =
        |place, kept| Target::Folder(Export { place, part_bytes, resume: args.resume, kept, begun: Arc::default() });
    let Some(url) = url else {
        return Ok(match text {
            "-" => Target::Stdout,
            _ if is_folder => export(Parts::Folder(args.out.clone()), args.out.join(KEPT)),
            _ => Target::File(args.out.clone()),
        });
    };
    if !url.is_in_a_store() {
        return Err(UsageError::new(Code::UnusableValue, format!("OUT is the address of a web server: {url}"))
            .hint("inrush load IN --index INDEX --to URL writes documents to a cluster")
            .into());
    }
    if text.split_once("://").is_some_and(|(_, rest)| !rest.contains('/')) {
        let message = format!("OUT is a bucket without a name in it: {url}");
        return Err(UsageError::new(Code::UnusableValue, message)
            .hint("name an object, as s3://bucket/name.ndjson, or a folder, as s3://bucket/out/")
            .into());
    }
    let opened = Bucket::open(&url).await;
    let code = if cfg!(feature = "cloud") { Code::RemoteFailed } else { Code::NotInThisBuild };
    let (bucket, name) = opened.map_err(|error| UsageError::new(code, format!("cannot write to {url}: {error}")))?;
    Ok(match name.is_empty() {
        true => export(Parts::Bucket(bucket), kept_of(text)),
        false => Target::Object(bucket, name),
    })
}

/// The name of the folder in OUT in which documents are kept.
const KEPT: &str = ".documents";

/// The folder of this machine in which the documents for a folder of an object store are kept. Its
/// name is a hash (FNV-1a) that all versions make alike: addresses may be longer than file names.
fn kept_of(url: &str) -> PathBuf {
    let folder = user::state_folder(user::variable).unwrap_or_else(std::env::temp_dir);
    let (basis, prime) = (0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, 0x0100_0000_0000_0000_0000_013b_u128);
    let hash = url.bytes().fold(basis, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(prime));
    folder.join("exports").join(format!("{hash:032x}"))
}

/// The output. A file is written under a temporary name and renamed at the end, so that OUT is
/// never incomplete.
enum Written {
    Stdout,
    /// A pipe or a device, which cannot be renamed over.
    Device(PathBuf),
    File(PathBuf, NamedTempFile),
    Folder(Export),
    Object(Bucket, String),
}

/// The same for the thread that writes.
enum Sink {
    Stdout,
    Path(PathBuf),
    Folder(Export),
    Object(Bucket, String),
}

impl Written {
    fn new(to: Target) -> Result<Self> {
        Ok(match to {
            Target::Stdout => Written::Stdout,
            Target::Folder(export) => Written::Folder(export),
            Target::Object(bucket, name) => Written::Object(bucket, name),
            Target::File(path) if path.exists() && !path.is_file() => Written::Device(path),
            Target::File(path) => {
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
            Written::Stdout | Written::Device(_) | Written::Folder(_) | Written::Object(..) => std::env::temp_dir(),
        };
        let made = temporary(&folder, OsStr::new("inrush-"), suffix);
        made.with_context(|| format!("cannot write a temporary file to {}", folder.display()))
    }

    fn sink(&self) -> Sink {
        match self {
            Written::Stdout => Sink::Stdout,
            Written::Device(path) => Sink::Path(path.clone()),
            Written::File(_, part) => Sink::Path(part.path().to_owned()),
            Written::Folder(export) => Sink::Folder(export.clone()),
            Written::Object(bucket, name) => Sink::Object(bucket.clone(), name.clone()),
        }
    }

    /// Gives the complete file its name.
    fn keep(self) -> Result<()> {
        let Written::File(path, part) = self else { return Ok(()) };
        part.as_file().sync_all().with_context(|| format!("cannot write {}", path.display()))?;
        part.persist(&path).map(drop).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Sink {
    /// Writes all documents. `keep`: the file for those of a source that is read once, if there is
    /// one.
    fn write(
        &self,
        (mut source, reopen): (Box<dyn Source>, Option<OpenSource>),
        keep: Option<&Path>,
        output: &Output,
        watch: &dyn Fn(&Converted) -> bool,
    ) -> Result<Done> {
        let source = source.as_mut();
        let again = || match (&reopen, keep) {
            (Some(reopen), _) => Again::Open(Box::new(|| reopen())),
            // Without the one there is the other.
            (None, keep) => Again::Keep(keep.unwrap_or(Path::new(""))),
        };
        let converted = match self {
            Sink::Stdout => convert(source, again(), output, watch, BufWriter::new(std::io::stdout()))?,
            Sink::Path(path) => {
                let file = std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
                convert(source, again(), output, watch, BufWriter::new(file))?
            }
            Sink::Object(bucket, name) => {
                let mut object = bucket.writer(name);
                let converted = convert(source, again(), output, watch, &mut object);
                match converted.and_then(|converted| Ok(object.finish().map(|()| converted)?)) {
                    Ok(converted) => converted,
                    Err(error) => {
                        if let Err(left) = object.abort() {
                            tracing::warn!("an incomplete upload stays in the object store: {left}");
                        }
                        return Err(error.into());
                    }
                }
            }
            Sink::Folder(to) => {
                let again = reopen.as_deref().map(|again| again as &dyn Fn() -> Result<Box<dyn Source>, SourceError>);
                let Exported { converted, parts, was_complete } = export(source, again, output, to, watch)?;
                return Ok(Done { converted, parts: Some(parts), was_complete });
            }
        };
        Ok(Done { converted, parts: None, was_complete: false })
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
fn output(args: &ConvertArgs, to: &Target) -> Result<Output, UsageError> {
    let refused = |message: &str, hint: &str| Err(UsageError::new(Code::OptionsConflict, message).hint(hint));
    let (name, packing) = match args.out.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => (args.out.with_extension(""), Packing::Gzip),
        Some("zst") => (args.out.with_extension(""), Packing::Zstd),
        _ => (args.out.clone(), Packing::None),
    };
    let packing = match args.out_compression {
        None => packing,
        Some(OutCompression::None) => Packing::None,
        Some(OutCompression::Gzip) => Packing::Gzip,
        Some(OutCompression::Zstd) => Packing::Zstd,
    };
    let format = match args.out_format {
        Some(format) => format,
        None if matches!(to, Target::Folder(_)) => {
            let message = "OUT is a folder, whose name sets no format";
            return Err(UsageError::new(Code::MissingOption, message).hint(FORMATS));
        }
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
        let hint = "give OUT a name that ends in .parquet, and leave --out-compression out";
        return refused("Parquet files are compressed already", hint);
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
    Ok(Output { target, packing, shaping: args.shape.shaping(), id_as: args.id_as.clone() })
}

const FORMATS: &str = "give --out-format ndjson, smile, bulk, bulk-smile, csv or parquet";

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
            Err(UsageError::new(Code::MissingOption, message).hint(FORMATS))
        }
    }
}
