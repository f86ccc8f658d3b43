//! The thread of all network reads of a job. Threads that may wait read the sources, and this
//! runtime executes the requests that they wait for.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime with one thread. It ends when its last owner is dropped.
pub(super) struct Network {
    /// `None` only while it is dropped.
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

    /// Runs `task`, and returns a receiver of its result. The receiver gets nothing where the task
    /// panics.
    pub(super) fn begin<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Receiver<T> {
        let (sender, receiver) = sync_channel(1);
        self.handle.spawn(async move {
            // The receiver may be dropped.
            let _ = sender.send(task.await);
        });
        receiver
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // A task of another runtime may drop this value, and must not wait for the end of this
        // runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
