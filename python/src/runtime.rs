//! The engine's runtime, and how Python waits for it: without the GIL, and with checks for signals.

use std::future::Future;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::Runtime;

/// The interval between checks for signals during a wait.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The process that created the runtime, and the runtime. After a fork the threads are those of the
/// parent, so a child creates its own.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The runtime of this process.
pub(crate) fn runtime() -> PyResult<&'static Runtime> {
    let mut kept = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, runtime)) = *kept
        && owner == process
    {
        return Ok(runtime);
    }
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(4);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name("inrush")
        .enable_all()
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("cannot start the threads of inrush: {error}")))?;
    // The runtime lives as long as the process, because a load may outlive the code that started
    // it.
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    *kept = Some((process, runtime));
    Ok(runtime)
}

/// Waits for `future`. A signal whose handler raises, such as Ctrl-C, ends the wait and the future.
pub(crate) fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    future: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let task = runtime()?.spawn(async move {
        // Without a receiver, the wait was interrupted.
        let _ = sender.send(future.await);
    });
    let receiver = Mutex::new(receiver);
    loop {
        let received = py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK_EVERY));
        match received {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("inrush panicked; this is a defect, please report it"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals() {
            task.abort();
            return Err(error);
        }
    }
}
