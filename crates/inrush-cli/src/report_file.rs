//! The report of a run as a file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use inrush_cluster::transport::Transport;
use inrush_commands::doctor::examine;
use inrush_commands::options::{Inputs, LoadOptions};
use inrush_core::Code;
use inrush_load::config::LoadConfig;
use inrush_load::loader::http_options;
use inrush_page::{Made, Run, Shown, report_page};
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::failure::{UsageError, code_of, label};
use crate::index_segments::pattern;
use crate::logging::Stderr;
use crate::plain::quoted;

/// The longest time for the doctor. A user who stops a load does not wait longer.
const DOCTOR_MAX: Duration = Duration::from_secs(5);

/// The page that a command writes at its end, if the user wants one.
#[derive(Debug)]
pub(crate) struct ReportFile {
    path: Option<PathBuf>,
    /// The cluster and the index that the doctor examines at the end.
    patient: OnceLock<(Transport, String)>,
}

impl ReportFile {
    /// Refuses a file that could not be written at the end.
    pub(crate) fn new(path: Option<PathBuf>, options: &LoadOptions) -> Result<Self> {
        let (trace, dead_letters) = (options.sizes.trace.as_ref(), options.errors.dead_letters.as_ref());
        Inputs::of_load(options)
            .check([("--report", path.as_ref()), ("--trace", trace), ("--dead-letters", dead_letters)])
            .map_err(UsageError::from)?;
        if let Some(path) = &path {
            if path.is_dir() {
                let message = format!("--report: {} is a folder; name a file in it", path.display());
                return Err(UsageError::new(Code::UnusableValue, message).into());
            }
            let beside = beside(path);
            // A full disk refuses no file, but its first byte.
            let written = File::create(&beside).and_then(|mut file| {
                file.write_all(b"\n")?;
                file.sync_all()
            });
            let removed = std::fs::remove_file(&beside);
            written.and(removed).map_err(|error| {
                UsageError::new(Code::UnusableValue, format!("--report: cannot write {}: {error}", path.display()))
            })?;
        }
        Ok(ReportFile { path, patient: OnceLock::new() })
    }

    /// Whether there will be a page, which has the history of the loads.
    pub(crate) fn is_wanted(&self) -> bool {
        self.path.is_some()
    }

    /// Lets the doctor examine the index of this load at its end.
    pub(crate) fn examine(&self, config: &LoadConfig) {
        if !self.is_wanted() {
            return;
        }
        if let Ok(transport) = Transport::new(&config.to, config.credentials.clone(), &http_options(config)) {
            // A command with several loads has no patient.
            let _ = self.patient.set((transport, pattern(config.index.as_str())));
        }
    }

    /// The findings of the doctor, where it gets them in time.
    async fn diagnosis(&self) -> Option<Value> {
        let (transport, index) = self.patient.get()?;
        let diagnosis = timeout(DOCTOR_MAX, examine(transport, Some(index))).await.ok()?.ok()?;
        serde_json::to_value(diagnosis).ok()
    }

    /// Writes the page of these reports. `shown`: their histories in the same order. If that fails,
    /// an error is printed, and the load keeps its exit status.
    pub(crate) async fn write(&self, reports: &[(&str, &impl Serialize)], shown: &[Shown], stderr: &Stderr) {
        let Some(path) = &self.path else { return };
        let diagnosis = self.diagnosis().await;
        let runs = reports.iter().enumerate().filter_map(|(at, (name, report))| {
            let load = shown.get(at).and_then(|shown| serde_json::to_value(shown.snapshot()).ok());
            let load = load.map(without_report);
            Some(Run {
                name: (*name).to_owned(),
                report: serde_json::to_value(report).ok()?,
                load,
                made: Some(made(std::env::args_os())),
                doctor: diagnosis.clone(),
            })
        });
        if let Err(error) = write(path, &report_page(runs.collect())) {
            // If stderr is closed, there is no other place to report it.
            let _ = writeln!(stderr.clone(), "{}: {error:#}", label(code_of(&error)));
        }
    }
}

/// A history without its report, which the page has anyway.
fn without_report(mut load: Value) -> Value {
    if let Some(keys) = load.as_object_mut() {
        keys.remove("report");
    }
    load
}

fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    PathBuf::from(beside)
}

/// Replaces a file by a rename, so that it is never incomplete.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let beside = beside(path);
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // A part of a page is useless, and takes disk space that may be missing.
        let _ = std::fs::remove_file(&beside);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// How this process made a run: `arguments` are those of the process, whose first is the program.
fn made(arguments: impl IntoIterator<Item = OsString>) -> Made {
    let ended = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Made {
        command: command(arguments),
        folder: std::env::current_dir().map(|folder| folder.display().to_string()).unwrap_or_default(),
        inrush: env!("CARGO_PKG_VERSION").to_owned(),
        system: format!(
            "{} {}, {}",
            std::env::consts::OS,
            std::env::consts::ARCH,
            crate::units::counted(processors as u64, "processor")
        ),
        ended,
    }
}

/// The arguments as a shell reads them, without secrets. Before the command is the program, and
/// an interpreter where there is one.
fn command(arguments: impl IntoIterator<Item = OsString>) -> String {
    let arguments = arguments.into_iter().skip_while(|argument| argument != "load" && argument != "bake");
    let words = arguments.map(|argument| quoted(&without_secrets(&argument)));
    std::iter::once("inrush".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// An argument, where it has addresses without their passwords and queries. An option takes no
/// secret itself.
fn without_secrets(argument: &OsStr) -> String {
    let text = argument.to_string_lossy();
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        // A password may hold any character, so everything up to the last `@` is removed.
        let (user, rest) = match part.rsplit_once('@') {
            Some((user, rest)) if user.contains(':') => ("***@", rest),
            _ => ("", part),
        };
        let rest = match rest.split_once('?') {
            // The scheme of the next address of a list is a part of this one.
            Some((path, query)) => match query.rsplit_once(',').filter(|_| parts.peek().is_some()) {
                Some((_, scheme)) => format!("{path}?***,{scheme}"),
                None => format!("{path}?***"),
            },
            None => rest.to_owned(),
        };
        shown = format!("{shown}://{user}{rest}");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str]) -> String {
        command(std::iter::once("/usr/bin/inrush").chain(arguments.iter().copied()).map(OsString::from))
    }

    #[test]
    fn a_shell_reads_the_command_again() {
        assert_eq!(
            of(&["load", "logs/*.ndjson", "--index", "a", "--sql", "SELECT 'x'"]),
            "inrush load 'logs/*.ndjson' --index a --sql 'SELECT '\\''x'\\'''"
        );
        assert_eq!(of(&["load", ""]), "inrush load ''");
    }

    #[test]
    fn a_command_has_no_secrets() {
        for (given, shown) in [
            ("postgres://ada:pa/ss@w@h/db", "'postgres://***@h/db'"),
            ("https://u:p@h:9200,https://v:q@i:9200", "'https://***@h:9200,https://***@i:9200'"),
            ("https://u:p,w@h:9200,https://v:q@i:9200", "'https://***@h:9200,https://***@i:9200'"),
            ("https://h/a.csv?sig=secret", "'https://h/a.csv?***'"),
            ("https://h/a?sig=secret,https://h/b?sig=secret", "'https://h/a?***,https://h/b?***'"),
            ("postgres://ada@h/db", "postgres://ada@h/db"),
            ("--to=http://u:secret@h:9200", "'--to=http://***@h:9200'"),
            ("s3://bucket/a@b.csv", "s3://bucket/a@b.csv"),
        ] {
            assert_eq!(of(&["load", given]), format!("inrush load {shown}"));
        }
    }

    #[test]
    fn a_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.html");
        for text in ["one", "two"] {
            write(&path, text).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
        assert!(write(&folder.path().join("no/a.html"), "").unwrap_err().to_string().contains("no/a.html"));
    }
}
