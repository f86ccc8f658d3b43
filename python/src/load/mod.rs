//! A running load, as the Python part of the package sees it.

mod push;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inrush_bake::BakeError;
use inrush_front::embed::{self, Begun, JobPage, Outcomes, ProgressLine, ProgressTable, Secret, ShardBuild};
use inrush_load::{Others, PauseHandle, Phase, Progress, Report, StopHandle};
use inrush_sources::push::Sender;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::watch;

use crate::error::{InrushError, exception};
use crate::logs::say;
use crate::runtime::{LOOK_EVERY, runtime, wait_for};

/// A running load. It ends when its sources do, or, if the program feeds it, after `end`.
#[pyclass(frozen, module = "inrush._inrush")]
pub(crate) struct Load {
    /// The sender of the program's documents. `None` for files.
    feed: Option<Sender>,
    progress: watch::Receiver<Progress>,
    line: Mutex<ProgressLine>,
    table: Mutex<ProgressTable>,
    stop: StopHandle,
    pause: PauseHandle,
    /// The end of each document, where the program asked for it.
    outcomes: Mutex<Option<Outcomes>>,
    others: Others,
    /// What the parts of an earlier job learned, as JSON.
    for_parts: Option<String>,
    /// The address at which its page listens.
    page: Option<SocketAddr>,
    ending: Arc<Ending>,
    process: u32,
}

/// The page of a job: its address, the token, and the name and the machine of the part.
pub(crate) type Job = (String, String, String, String);

pub(crate) fn job_page((url, token, name, host): Job) -> JobPage {
    JobPage { url, token: Secret::new(token), name, host }
}

/// The future report.
#[derive(Default)]
struct Ending {
    report: Mutex<Option<Result<String, String>>>,
    /// The shard as JSON, or why a server has to build it.
    built: Mutex<Option<Result<String, String>>>,
    there: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Load {
    /// Starts the load. `options` is a JSON object with the keys of a job file. `sources` are
    /// paths, globs and URLs. `None` means that the program feeds the load, under the name `name`
    /// and with about `bytes` bytes. `parts` is the token of the parts of this job, which report to
    /// its page. `job` is the page of the job that this load is a part of: its address, the token,
    /// and the name and the machine of the part. `shard` is the order of a bake as JSON, and the
    /// shard that this load builds for it.
    #[new]
    #[pyo3(signature = (options, sources, secrets, name, bytes, keep_outcomes, log_level, parts, job, shard))]
    #[expect(clippy::too_many_arguments, reason = "the one caller is `inrush/_running.py`, which names them all")]
    fn new(
        py: Python<'_>,
        options: &str,
        sources: Option<Vec<OsString>>,
        secrets: [Option<String>; 3],
        name: &str,
        bytes: Option<u64>,
        keep_outcomes: bool,
        log_level: u8,
        parts: Option<String>,
        job: Option<Job>,
        shard: Option<(String, u32)>,
    ) -> PyResult<Self> {
        crate::logs::start(log_level);
        let options = parse_options(options)?;
        let load = match shard {
            None => embed::Load::new(options),
            Some((order, number)) => embed::Load::of_shard(options, crate::report::parse(&order)?, number),
        };
        let mut load = load.map_err(exception)?;
        let fed = sources.is_none();
        let given = load.options();
        given.source.sources = sources.unwrap_or_default();
        let secrets = secrets.map(|secret| secret.map(Secret::new));
        [given.login.password, given.login.api_key, given.login.bearer] = secrets;
        load.keep_outcomes(keep_outcomes);
        if let Some(token) = parts {
            load.with_parts(Secret::new(token));
        }
        if let Some(job) = job {
            load.part_of(job_page(job));
        }
        let name = name.to_owned();
        let begun = wait_for(py, async move {
            Ok(match fed {
                true => {
                    let (feed, begun) = load.start_fed(&name, bytes, &say).await?;
                    (Some(feed), begun)
                }
                false => (None, load.start(&say).await?),
            })
        })?;
        let (feed, begun) = begun.map_err(exception)?;
        Load::watch(feed, begun)
    }

    /// The host and the port at which the page of this load listens.
    fn page(&self) -> Option<(String, u16)> {
        self.page.map(|address| (address.ip().to_string(), address.port()))
    }

    /// Waits for the report, at most this number of seconds. Returns it as JSON.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<String>> {
        self.check_process()?;
        let wait = Duration::try_from_secs_f64(seconds).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let report = py.detach(|| {
            let missing = |report: &mut Option<_>| report.is_none();
            let waited = self.ending.there.wait_timeout_while(lock(&self.ending.report), wait, missing);
            waited.unwrap_or_else(PoisonError::into_inner).0.clone()
        });
        report.transpose().map_err(InrushError::new_err)
    }

    /// The shard that this load has built, as JSON, or why a server has to build it. Both are
    /// `None` before the end, after a load that has failed, and for a load into a cluster.
    fn built(&self) -> (Option<String>, Option<String>) {
        match lock(&self.ending.built).clone() {
            Some(Ok(built)) => (Some(built), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        }
    }

    /// The progress: documents read, settled, and so on.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let now = self.progress.borrow().clone();
        let dict = PyDict::new(py);
        dict.set_item("docs_read", now.docs_read)?;
        dict.set_item("docs_settled", now.docs_settled)?;
        dict.set_item("docs_dead_lettered", now.docs_dead_lettered)?;
        dict.set_item("docs_superseded", now.docs_superseded)?;
        dict.set_item("bytes_read", now.bytes_read)?;
        dict.set_item("bytes_total", now.bytes_total)?;
        dict.set_item("bytes_sent", now.bytes_sent)?;
        dict.set_item("requests", now.requests)?;
        dict.set_item("retried_items", now.retried_items)?;
        dict.set_item("in_flight", now.in_flight)?;
        dict.set_item("seconds", now.seconds)?;
        dict.set_item("lag_records", now.lag.as_ref().map(|lag| lag.records))?;
        dict.set_item("lag_seconds", now.lag.as_ref().and_then(|lag| lag.seconds))?;
        dict.set_item("phase", phase(&now.phase))?;
        Ok(dict)
    }

    /// The progress in one line, as in the command line.
    fn line(&self) -> String {
        lock(&self.line).text(&self.progress.borrow())
    }

    /// The progress as names and values.
    fn rows(&self) -> Vec<(String, String)> {
        lock(&self.table).rows(&self.progress.borrow())
    }

    /// Whether there is room for more documents, within this number of seconds. Also true if the
    /// load has ended, which `add` then reports.
    fn has_room(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let wait = Duration::try_from_secs_f64(seconds).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let feed = self.fed()?;
        Ok(py.detach(|| feed.wait_for_room(wait)).unwrap_or(true))
    }

    /// The number of documents added so far.
    fn given(&self) -> PyResult<u64> {
        Ok(self.fed()?.given())
    }

    /// Sends the documents added so far at once.
    fn hurry(&self) -> PyResult<()> {
        self.fed()?.flush();
        Ok(())
    }

    /// Ends the feed: no more documents follow.
    fn end(&self) -> PyResult<()> {
        self.fed()?.end();
        Ok(())
    }

    /// Ends the feed after an error of the program: the load ends as failed, after the documents
    /// added so far.
    fn fail(&self, why: &str) -> PyResult<()> {
        self.fed()?.fail(why);
        Ok(())
    }

    /// Ends the load early, after its requests in flight.
    fn stop(&self) {
        self.stop.stop();
        if let Some(feed) = &self.feed {
            feed.close();
        }
    }

    /// Sends no new requests until `resume`.
    fn pause(&self) {
        self.pause.pause();
    }

    /// Ends a pause.
    fn resume(&self) {
        self.pause.resume();
    }

    /// The dead letters since the last call: position, status, type, reason, action line and
    /// document.
    fn failures(&self) -> Vec<Letter> {
        let mut outcomes = lock(&self.outcomes);
        let mut all = Vec::new();
        while let Some(failure) = outcomes.as_mut().and_then(|outcomes| outcomes.failures.try_recv()) {
            let letter = failure.letter;
            let action = letter.action.map(|action| action.to_vec());
            all.push((
                letter.position.doc,
                letter.status,
                letter.kind,
                embed::as_keywords(&letter.reason).into_owned(),
                action,
                letter.document.to_vec(),
            ));
        }
        all
    }

    /// The results of other documents since the last call: the number of the first one, their
    /// count, and the result.
    fn settlements(&self) -> Vec<(u64, u32, &'static str)> {
        let mut outcomes = lock(&self.outcomes);
        let mut all = Vec::new();
        while let Some(settlement) = outcomes.as_mut().and_then(|outcomes| outcomes.settlements.try_recv()) {
            all.push((settlement.first_doc, settlement.docs, settlement.settled.name()));
        }
        all
    }

    /// Documents whose result was dropped, because the program did not fetch the waiting results.
    fn outcomes_dropped(&self) -> u64 {
        lock(&self.outcomes).as_ref().map_or(0, Outcomes::dropped)
    }

    /// Adds the report of another load of the same job, as JSON.
    fn absorb(&self, report: &str) -> PyResult<()> {
        let other: Report = crate::report::parse(report)?;
        self.others.absorb(&other.counts, &other.indices, &other.errors);
        if let Some(learned) = &other.plan.learned {
            self.others.absorb_learned(learned);
        }
        Ok(())
    }

    /// What the parts of this job begin with, for the option `learned`. `None` if earlier jobs left
    /// nothing that applies.
    fn learned(&self) -> Option<&str> {
        self.for_parts.as_deref()
    }

    /// Adds the elements of an iterable: dicts, JSON as bytes or str, record batches. False if the
    /// load has ended already.
    fn push(&self, items: &Bound<'_, PyAny>) -> PyResult<bool> {
        push::items(self, items)
    }

    /// Adds the record batches of an Arrow stream or array. False if the load has ended already.
    fn push_arrow(&self, data: &Bound<'_, PyAny>) -> PyResult<bool> {
        push::arrow(self, data)
    }

    /// Adds one document. False if the load has ended already.
    #[pyo3(signature = (document, id, routing, index, action, version))]
    fn add(
        &self,
        document: &Bound<'_, PyAny>,
        id: Option<String>,
        routing: Option<String>,
        index: Option<String>,
        action: Option<&str>,
        version: Option<u64>,
    ) -> PyResult<bool> {
        let action = action.map(str::parse).transpose().map_err(|error: String| PyValueError::new_err(error))?;
        let meta = inrush_core::DocMeta::default()
            .with_action(action)
            .with_index(index)
            .with_id(id)
            .with_routing(routing)
            .with_version(version);
        push::one(self, document, meta)
    }
}

/// Document number, status, type, reason, action line, document.
type Letter = (u64, u16, String, String, Option<Vec<u8>>, Vec<u8>);

impl Load {
    fn watch(feed: Option<Sender>, begun: Begun) -> PyResult<Self> {
        let Begun { load, outcomes, page, shard } = begun;
        let ending = Arc::new(Ending::default());
        let others = load.others();
        // Numbers always become JSON.
        let for_parts = load.learned_for_parts().and_then(|learned| serde_json::to_string(learned).ok());
        let (progress, stop, pause) = (load.progress(), load.stop_handle(), load.pause_handle());
        let told = Arc::clone(&ending);
        let task = runtime()?.spawn(load.finish());
        runtime()?.spawn(async move {
            let report = match task.await {
                Ok(report) => match shard {
                    None => text_of(&report),
                    Some(shard) => end_shard(shard, report, &told).await,
                },
                Err(_) => Err("inrush panicked; this is a defect, please report it".to_owned()),
            };
            *lock(&told.report) = Some(report);
            told.there.notify_all();
        });
        Ok(Load {
            feed,
            progress,
            line: Mutex::default(),
            table: Mutex::default(),
            stop,
            pause,
            outcomes: Mutex::new(outcomes),
            others,
            for_parts,
            page,
            ending,
            process: std::process::id(),
        })
    }

    /// The sender of the program's documents.
    pub(crate) fn fed(&self) -> PyResult<&Sender> {
        self.check_process()?;
        self.feed.as_ref().ok_or_else(|| PyRuntimeError::new_err("this load reads files and takes no documents"))
    }

    /// Waits for room. False if the load has ended.
    pub(crate) fn room(&self, py: Python<'_>) -> PyResult<bool> {
        let feed = self.fed()?;
        let mut wait = Duration::ZERO;
        loop {
            let room = match wait {
                Duration::ZERO => feed.wait_for_room(wait),
                wait => py.detach(|| feed.wait_for_room(wait)),
            };
            match room {
                Ok(true) => return Ok(true),
                Ok(false) => py.check_signals()?,
                Err(_) => return Ok(false),
            }
            wait = LOOK_EVERY;
        }
    }

    fn check_process(&self) -> PyResult<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(PyRuntimeError::new_err("this load belongs to the parent process; begin a load of its own after a fork"))
    }
}

/// A report or a shard as JSON, with options as keyword arguments. They have no quotes in them, so
/// the text stays valid.
fn text_of(value: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(value)
        .map(|text| embed::as_keywords(&text).into_owned())
        .map_err(|e| format!("the report cannot be written: {e}"))
}

/// Ends the shard that a load has built. Returns the report.
async fn end_shard(shard: ShardBuild, report: Report, told: &Ending) -> Result<String, String> {
    let loaded = text_of(&report);
    match shard.end(report).await {
        Ok(built) => {
            *lock(&told.built) = Some(text_of(&built));
            text_of(&built.report)
        }
        Err(BakeError::NotLoaded(report)) => text_of(&report),
        Err(BakeError::NotNative(why)) => {
            *lock(&told.built) = Some(Err(embed::as_keywords(&why).into_owned()));
            loaded
        }
        Err(error) => Err(embed::as_keywords(&error.to_string()).into_owned()),
    }
}

impl Drop for Load {
    /// Stops a load that no code can end any more, so that its threads do not wait for ever.
    fn drop(&mut self) {
        if self.process == std::process::id() && lock(&self.ending.report).is_none() {
            self.stop();
        }
    }
}

/// Parses the options. Null means the default.
pub(crate) fn parse_options(options: &str) -> PyResult<serde_json::Map<String, serde_json::Value>> {
    serde_json::from_str(options).map_err(|error| PyValueError::new_err(format!("options: {error}")))
}

fn phase(phase: &Phase) -> String {
    match phase {
        Phase::Starting => "starting".to_owned(),
        Phase::Loading => "loading".to_owned(),
        Phase::Idle => "idle".to_owned(),
        Phase::Paused(why) => format!("paused: {why}"),
        Phase::Draining(why) => format!("draining: {why}"),
        Phase::PuttingBack => "putting back".to_owned(),
        Phase::Refreshing => "refreshing".to_owned(),
        Phase::Verifying => "verifying".to_owned(),
        Phase::Finishing { detail, .. } => format!("finishing: {detail}"),
        Phase::Baking(detail) => format!("baking: {detail}"),
        Phase::Done => "done".to_owned(),
        other => other.name().to_owned(),
    }
}
