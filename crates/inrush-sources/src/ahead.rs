//! A queue between tasks that read over a network and a thread that uses the items. The queue is
//! bounded in bytes.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::Semaphore;

/// The end for the tasks.
pub(super) struct Sender<T> {
    queue: mpsc::Sender<(T, usize)>,
    room: Arc<Semaphore>,
    bytes_max: usize,
}

/// The end for the thread.
pub(super) struct Receiver<T> {
    queue: mpsc::Receiver<(T, usize)>,
    room: Arc<Semaphore>,
}

/// The result of a wait.
pub(super) enum Next<T> {
    Item(T),
    /// No item arrived in time.
    Silence,
    /// All senders are dropped.
    End,
}

/// The receiver is closed.
#[derive(Debug)]
pub(super) struct Gone;

/// A queue that holds at most `bytes_max` bytes.
pub(super) fn queue<T>(bytes_max: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::channel();
    let room = Arc::new(Semaphore::new(bytes_max));
    (Sender { queue: sender, room: Arc::clone(&room), bytes_max }, Receiver { queue: receiver, room })
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender { queue: self.queue.clone(), room: Arc::clone(&self.room), bytes_max: self.bytes_max }
    }
}

impl<T> Sender<T> {
    /// Whether the receiver is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.room.is_closed()
    }

    /// Waits for room and sends the item. An item that is larger than the whole queue travels
    /// alone.
    pub(super) async fn send(&self, item: T, bytes: usize) -> Result<(), Gone> {
        let bytes = bytes.min(self.bytes_max);
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.room.acquire_many(wanted).await.map_err(|_| Gone)?.forget();
        self.queue.send((item, wanted as usize)).map_err(|_| Gone)
    }
}

impl<T> Receiver<T> {
    /// Closes the queue, because no more items are needed.
    pub(super) fn close(&self) {
        self.room.close();
    }

    /// Waits for the next item, for at most `timeout` where one is given.
    pub(super) fn next(&self, timeout: Option<Duration>) -> Next<T> {
        let next = match timeout {
            Some(timeout) => self.queue.recv_timeout(timeout),
            None => self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok((item, bytes)) => {
                self.room.add_permits(bytes);
                Next::Item(item)
            }
            Err(RecvTimeoutError::Timeout) => Next::Silence,
            Err(RecvTimeoutError::Disconnected) => Next::End,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.close();
    }
}
