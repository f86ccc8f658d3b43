//! A bake whose shards tasks of Spark build: the driver's side, and the division of rows.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_pyarrow::FromPyArrow;
use inrush_bake::{BakeError, BakeStop};
use inrush_front::embed::{self, BuiltShard, Code, Error, ErrorKind, Secret, ShardOrder};
use inrush_sources::push::{PushOptions, channel};
use inrush_sources::{Binary, Parting, Source, Step, Timestamps};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tokio::sync::oneshot::{Receiver, Sender};

use crate::error::{InrushError, exception};
use crate::load::parse_options;
use crate::report::parse;
use crate::runtime::{runtime, wait_for};

/// The bake, from the check of the target to its end.
#[pyclass(frozen, module = "inrush._inrush")]
pub(crate) struct ShardsBake {
    order: Mutex<Option<Receiver<ShardOrder>>>,
    built: Mutex<Option<Sender<Built>>>,
    stop: BakeStop,
    ending: Arc<Ending>,
}

/// The shards, or why there are none.
type Built = Result<Vec<BuiltShard>, String>;

/// The future report as JSON.
#[derive(Default)]
struct Ending {
    report: Mutex<Option<Result<String, Failure>>>,
    there: Condvar,
}

/// Why there is no report.
#[derive(Clone)]
struct Failure {
    error: Error,
    /// What needs a server, if that is the reason, and nothing is left of the bake.
    needs_server: Option<String>,
}

impl From<BakeError> for Failure {
    fn from(error: BakeError) -> Self {
        let needs_server = error.needs_server().map(keywords);
        Failure { error: error.into(), needs_server }
    }
}

impl Failure {
    /// The exception, with the attribute `needs_server` if that is known.
    fn raised(self) -> PyErr {
        let raised = exception(self.error);
        if let Some(why) = self.needs_server {
            Python::attach(|py| raised.value(py).setattr("needs_server", why).ok());
        }
        raised
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl ShardsBake {
    /// Begins. `options` is a JSON object with the keys of a job file without sources. `name`
    /// stands for the documents in messages.
    #[new]
    fn new(py: Python<'_>, options: &str, secrets: [Option<String>; 3], name: String, log_level: u8) -> PyResult<Self> {
        crate::logs::start(log_level);
        let options = parse_options(options)?;
        let login = secrets.map(|secret| secret.map(Secret::new));
        let bake = wait_for(py, async move { embed::ShardsBake::start(options, &name, login).await })?;
        let embed::ShardsBake { running, order, built } = bake.map_err(exception)?;
        let (stop, ending) = (running.stop_handle(), Arc::new(Ending::default()));
        let told = Arc::clone(&ending);
        let task = runtime()?.spawn(running.finish());
        runtime()?.spawn(async move {
            let report = match task.await {
                Ok(Ok(report)) => Ok(serde_json::to_string(&report)
                    .map_or_else(|e| format!("the report cannot be written: {e}"), |text| keywords(&text))),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => {
                    let message = "inrush panicked; this is a defect, please report it".to_owned();
                    let error = Error { kind: ErrorKind::Cluster, code: Code::Defect, message, hint: None };
                    Err(Failure { error, needs_server: None })
                }
            };
            *lock(&told.report) = Some(report);
            told.there.notify_all();
        });
        Ok(ShardsBake { order: Mutex::new(Some(order)), built: Mutex::new(Some(built)), stop, ending })
    }

    /// Waits for what tasks need to build shards, as JSON. If only a server can build the index,
    /// the exception has the attribute `needs_server`: the reason, as part of a sentence.
    fn order(&self, py: Python<'_>) -> PyResult<String> {
        let order = lock(&self.order).take().ok_or_else(|| PyRuntimeError::new_err("the order was taken before"))?;
        match wait_for(py, order)? {
            Ok(order) => serde_json::to_string(&order).map_err(|e| PyValueError::new_err(e.to_string())),
            // The bake has ended.
            Err(_) => loop {
                if self.wait(py, 1.0)?.is_some() {
                    return Err(PyRuntimeError::new_err("the bake has ended without shards"));
                }
                py.check_signals()?;
            },
        }
    }

    /// Hands the index over with these shards, each as JSON.
    fn build(&self, shards: Vec<String>) -> PyResult<()> {
        let built: PyResult<Vec<BuiltShard>> = shards.iter().map(|shard| parse(shard)).collect();
        self.tell(Ok(built?));
        Ok(())
    }

    /// Ends the bake: there are no shards.
    fn fail(&self, why: String) {
        self.tell(Err(why));
    }

    /// Ends the bake early. The target returns to its former state, unless it has the whole index.
    fn stop(&self) {
        self.stop.stop();
    }

    /// Waits for the report, at most this number of seconds. Returns it as JSON.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<String>> {
        let wait = Duration::try_from_secs_f64(seconds).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let report = py.detach(|| {
            let missing = |report: &mut Option<_>| report.is_none();
            let waited = self.ending.there.wait_timeout_while(lock(&self.ending.report), wait, missing);
            waited.unwrap_or_else(PoisonError::into_inner).0.clone()
        });
        report.transpose().map_err(Failure::raised)
    }
}

impl ShardsBake {
    fn tell(&self, built: Built) {
        if let Some(sender) = lock(&self.built).take() {
            // A bake that has ended meanwhile says why in its report.
            let _ = sender.send(built);
        }
    }
}

/// A text of the engine with its options as keyword arguments. Options have no quotes in them, so
/// JSON stays valid.
fn keywords(text: &str) -> String {
    embed::as_keywords(text).into_owned()
}

/// Divides rows into the shards of an order.
#[pyclass(frozen, module = "inrush._inrush")]
pub(crate) struct ShardDivider {
    parting: Parting,
    timestamps: Timestamps,
    binary: Binary,
    /// Fields of ids and routing values, whose text decides about the shard.
    texts: Vec<String>,
}

#[pymethods]
impl ShardDivider {
    /// `options` are those of the load into the shards, as JSON.
    #[new]
    fn new(order: &str, options: &str) -> PyResult<Self> {
        let order: ShardOrder = parse(order)?;
        let mut load = embed::Load::of_shard(parse_options(options)?, order.clone(), 0).map_err(exception)?;
        let options = load.options();
        let timestamps = options.reading.timestamps.unwrap_or_default();
        let binary = options.reading.binary.unwrap_or_default();
        let texts = [&options.target.id, &options.target.routing].into_iter().flatten();
        let texts = texts.map(|path| path.as_str().to_owned()).collect();
        let parting = order.parting(options.target.id.clone(), options.target.routing.clone());
        let parting = parting.map_err(|error| InrushError::new_err(error.to_string()))?;
        Ok(ShardDivider { parting, timestamps, binary, texts })
    }

    /// The shard of each row of a batch, which has the fields of ids and routing values. A row in
    /// which they cannot be read belongs to the first shard, whose load reports it.
    fn shards(&self, batch: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let batch = RecordBatch::from_pyarrow_bound(batch)?;
        let options = PushOptions { timestamps: self.timestamps, binary: self.binary, ..PushOptions::default() };
        let (sender, mut source) = channel(options);
        source.keep_texts(&self.texts);
        // The source takes rows as long as it is there.
        let _ = sender.add_rows(batch);
        sender.end();
        let mut shards = Vec::new();
        loop {
            match source.next(usize::MAX) {
                Ok(Step::Chunk(chunk)) => shards.extend(self.parting.parts(&chunk.into_block())),
                Ok(Step::Idle) => {}
                Ok(Step::End) => return Ok(shards),
                Err(error) => return Err(InrushError::new_err(error.to_string())),
            }
        }
    }
}
