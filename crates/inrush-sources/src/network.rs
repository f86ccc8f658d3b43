//! The thread that waits for the network, for all sources of a job: sources are read by threads that may wait, and what
//! they wait for runs on a runtime of its own.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime with one thread. It ends when the last of its owners is dropped.
pub(super) struct Network {
    /// Only left out while it is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Network {
    pub(super) fn new() -> io::Result<Arc<Self>> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("read-network").enable_all().build()?;
        let handle = runtime.handle().clone();
        Ok(Arc::new(Network { runtime: Some(runtime), handle }))
    }

    /// Runs `task`.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(task);
    }

    /// Runs `task`; what it gives can be waited for. Nothing comes where it panics.
    pub(super) fn begin<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Receiver<T> {
        let (sender, receiver) = sync_channel(1);
        self.handle.spawn(async move {
            // Nobody may want it any more.
            let _ = sender.send(task.await);
        });
        receiver
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Where a task of another runtime drops it, that may not wait for the end of ours.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
