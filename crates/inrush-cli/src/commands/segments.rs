//! `inrush segments`.

use std::fs;
use std::io::{self, BufReader, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use inrush_cluster::api::product;
use inrush_commands::options::{Environment, Inputs, PositiveDuration, WatchOptions, refused_watch, urls};
use inrush_commands::segments::{Advice, Header, Lately, Recorder, Recording, SegmentsMoment, SegmentsReader, advise};
use inrush_core::Code;
use inrush_page::{Watch, recording_page};
use serde::Serialize;
use tokio::time::Instant;

use super::signals::Signals;
use super::{doctor, load};
use crate::args::SegmentsArgs;
use crate::failure::{ExitStatus, UsageError};
use crate::logging::{self, Stderr};
use crate::plain::plain;
use crate::segments::{Terminal, View, picture, table};
use crate::{report_file, watching};

/// The pause between two moments is at least this often the time that the cluster took to answer.
const PAUSE_TIMES: u32 = 4;
/// The most shard copies in a block of a watch that is no terminal's.
const COPIES_IN_LOG: usize = 20;

/// Shows the segments of a cluster or a recording, and returns the exit status.
pub(crate) async fn run(args: SegmentsArgs) -> Result<u8> {
    logging::start(&args.log, false, &Stderr::new());
    match (&args.target, &args.play) {
        (Some(target), _) => cluster(target, &args).await,
        (None, Some(path)) => play(path, &args).await,
        // clap requires one of them.
        (None, None) => Err(UsageError::new(Code::MissingOption, "no address given").into()),
    }
}

async fn cluster(target: &str, args: &SegmentsArgs) -> Result<u8> {
    let (url, index) = doctor::split(target)?;
    let nodes = urls(&[url]).map_err(load::refused)?;
    let environment = load::with_prompt(Environment::of_process());
    let transport = super::reach(&nodes, &args.login.0, &environment).await?;
    let target = match &index {
        Some(index) => format!("{}/{index}", nodes[0]),
        None => nodes[0].to_string(),
    };
    let header = Header::new(product::detect(&transport).await?.to_string(), target);
    let mut reader = SegmentsReader::new(transport, index);
    let first = reader.read(now()).await?;
    let mut output = Output::new(header, args)?;
    output.page = page(args).await?;
    match args.watch {
        Some(every) => {
            let ended = watch(reader, &mut output, every, first).await;
            if let Some(page) = output.page {
                page.end().await;
            }
            ended
        }
        None => output.show(&first).map(|_| 0),
    }
}

/// The page of a watch, if there is one. Its address is printed on stderr.
async fn page(args: &SegmentsArgs) -> Result<Option<Watch>> {
    let Some(address) = args.page else { return Ok(None) };
    let options =
        WatchOptions { page: Some(address), page_token_file: args.page_token_file.clone(), ..WatchOptions::default() };
    let watch = Watch::start(options.config().map_err(load::refused)?).await;
    let watch = watch.map_err(|error| load::refused(refused_watch(&error)))?;
    watching::tell(&watch, &Stderr::new().say(false));
    Ok(Some(watch))
}

/// Shows moments until a signal, or until the reader of stdout has gone.
async fn watch(
    mut reader: SegmentsReader,
    output: &mut Output,
    every: PositiveDuration,
    first: SegmentsMoment,
) -> Result<u8> {
    let mut signals = Signals::new()?;
    let mut moment = first;
    let mut pause = every.get();
    while output.show(&moment)? {
        let next = async {
            tokio::time::sleep(pause).await;
            let asked = Instant::now();
            (reader.read_or_last(now()).await, asked.elapsed())
        };
        let took;
        (moment, took) = tokio::select! {
            next = next => next,
            () = signals.next() => return output.interrupted(),
        };
        pause = every.get().max(took * PAUSE_TIMES);
    }
    Ok(0)
}

/// Plays a recording.
async fn play(path: &Path, args: &SegmentsArgs) -> Result<u8> {
    let shown = path.display();
    let unreadable =
        |error: io::Error| UsageError::new(Code::of_io(&error), format!("cannot read the recording {shown}: {error}"));
    let file = fs::File::open(path).map_err(unreadable)?;
    let recording = Recording::open(BufReader::new(file))
        .map_err(|error| UsageError::new(Code::BadRecording, format!("cannot play {shown}: {error}")))?;
    if let Some(out) = &args.out {
        return write_page(recording, path, out);
    }
    let mut output = Output::new(recording.header().clone(), args)?;
    let mut signals = Signals::new()?;
    let mut last = None;
    for moment in recording {
        let moment = moment.with_context(|| format!("cannot play {shown}"))?;
        let Some(every) = args.watch else {
            output.lately.see(&moment);
            last = Some(moment);
            continue;
        };
        if !output.show(&moment)? {
            return Ok(0);
        }
        // Only a person needs the time to look.
        let pause = if output.is_terminal() { every.get() } else { Duration::ZERO };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = signals.next() => return output.interrupted(),
        }
    }
    if let Some(moment) = last {
        output.show(&moment)?;
    }
    Ok(0)
}

/// Writes a recording as a page. A line of the page has only the copies that changed, as in the
/// recording.
fn write_page(recording: Recording<BufReader<fs::File>>, path: &Path, out: &Path) -> Result<u8> {
    Inputs::default().and([path]).check([("--out", Some(&out.to_owned()))]).map_err(load::refused)?;
    // Writing to memory cannot fail.
    let mut recorder = Recorder::new(Vec::new(), recording.header())?;
    for moment in recording {
        recorder.add(&moment.with_context(|| format!("cannot play {}", path.display()))?)?;
    }
    let lines = String::from_utf8(recorder.into_inner()).context("JSON is text")?;
    report_file::write(out, &recording_page(&lines))?;
    super::print(&format!("{}\n", out.display()))?;
    Ok(0)
}

/// The time, ms since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The file of a recording.
struct File {
    recorder: Recorder<fs::File>,
    name: String,
}

impl File {
    fn create(path: &Path, header: &Header) -> Result<Self> {
        let name = path.display().to_string();
        let file = match fs::File::create_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let hint = "name a new file, or delete this one";
                return Err(UsageError::new(
                    Code::UnusableValue,
                    format!("the file {name} of --record exists already"),
                )
                .hint(hint)
                .into());
            }
            Err(error) => {
                return Err(UsageError::new(
                    Code::of_io(&error),
                    format!("cannot create the file {name} of --record: {error}"),
                )
                .into());
            }
            Ok(file) => file,
        };
        let recorder = Recorder::new(file, header).with_context(|| format!("cannot write {name}"))?;
        Ok(File { recorder, name })
    }

    fn add(&mut self, moment: &SegmentsMoment) -> Result<()> {
        self.recorder.add(moment).with_context(|| format!("cannot write {}", self.name))
    }
}

/// Where moments are shown and recorded, and the moments before.
struct Output {
    header: Header,
    record: Option<File>,
    lately: Lately,
    form: Form,
    page: Option<Watch>,
}

enum Form {
    /// Bars on a terminal.
    Bars(Terminal),
    /// A table, with this number of copies at most.
    Table(Option<usize>),
    Json,
}

/// A moment on the page.
#[derive(Serialize)]
struct OnPage<'a> {
    #[serde(flatten)]
    line: Line<'a>,
    cluster: &'a str,
    target: &'a str,
}

/// A line of JSON: the moment, and what would change it.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    moment: &'a SegmentsMoment,
    advice: &'a [Advice],
}

impl Output {
    fn new(header: Header, args: &SegmentsArgs) -> Result<Self> {
        let every = args.watch.map(PositiveDuration::get);
        let form = match Terminal::of_stdout(every) {
            _ if args.json => Form::Json,
            Some(terminal) => Form::Bars(terminal),
            None => Form::Table(every.map(|_| COPIES_IN_LOG)),
        };
        let record = args.record.as_deref().map(|path| File::create(path, &header)).transpose()?;
        Ok(Output { header, record, lately: Lately::default(), form, page: None })
    }

    fn is_terminal(&self) -> bool {
        matches!(self.form, Form::Bars(_))
    }

    /// Ends after a signal.
    fn interrupted(&self) -> Result<u8> {
        if let Form::Bars(terminal) = &self.form {
            terminal.break_lines()?;
        }
        Ok(ExitStatus::Interrupted.code())
    }

    /// Records and shows a moment. `false` if the reader of stdout has gone.
    fn show(&mut self, moment: &SegmentsMoment) -> Result<bool> {
        if let Some(record) = &mut self.record {
            record.add(moment)?;
        }
        let since = self.lately.since(moment);
        let advice = advise(moment, since.as_ref());
        self.lately.see(moment);
        if let Some(page) = self.page.as_ref().and_then(Watch::segments) {
            let line = Line { moment, advice: &advice };
            let shown = OnPage { line, cluster: &self.header.cluster, target: &self.header.target };
            page.show(serde_json::to_value(shown).context("cannot write the segments as JSON")?);
        }
        let view = View { header: &self.header, moment, since: since.as_ref(), advice: &advice };
        let written = match &mut self.form {
            Form::Bars(terminal) => {
                let screen = terminal.screen();
                terminal.draw(&picture(&view, screen), screen.width)
            }
            Form::Table(most) => write(&table(&view, *most)),
            Form::Json => {
                let line = Line { moment, advice: &advice };
                write(&(serde_json::to_string(&line).context("cannot write the segments as JSON")? + "\n"))
            }
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            other => other.map(|()| true).context("cannot print the segments"),
        }
    }
}

/// Prints text without characters that control a terminal.
fn write(text: &str) -> io::Result<()> {
    crate::failure::has_result();
    let mut stdout = io::stdout().lock();
    stdout.write_all(plain(text).as_bytes())?;
    stdout.flush()
}
