//! The events of the viewers: made once a second for all of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::board::Board;

/// Viewers at once.
const VIEWERS_MAX: usize = 64;
/// Events that wait for a viewer. One that is further behind is dropped, and its browser connects
/// again.
const WAITING_MAX: usize = 8;
/// The shortest time between two snapshots for new viewers.
const SNAPSHOT_EVERY: Duration = Duration::from_millis(200);

/// The viewers, and what they get.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) board: Arc<Board>,
    joining: Mutex<Vec<Viewer>>,
    wake: Notify,
    ending: Notify,
    viewers: AtomicUsize,
}

/// One viewer.
#[derive(Debug)]
struct Viewer {
    events: mpsc::Sender<Bytes>,
    /// Ends its connection, which may wait for a client that reads nothing.
    cut: Arc<Notify>,
}

impl Hub {
    pub(crate) fn new(board: Arc<Board>) -> Self {
        Hub {
            board,
            joining: Mutex::default(),
            wake: Notify::new(),
            ending: Notify::new(),
            viewers: AtomicUsize::new(0),
        }
    }

    /// The events of a new viewer. `None`: there are too many, or the page ends. `cut` ends its
    /// connection.
    pub(crate) fn join(&self, cut: Arc<Notify>) -> Option<mpsc::Receiver<Bytes>> {
        let mut joining = self.joining.lock().unwrap_or_else(PoisonError::into_inner);
        // The last round takes all that joined before the end.
        if self.board.is_closed() || joining.len() + self.viewers.load(Ordering::Relaxed) >= VIEWERS_MAX {
            return None;
        }
        let (events, receiver) = mpsc::channel(WAITING_MAX);
        joining.push(Viewer { events, cut });
        self.wake.notify_one();
        Some(receiver)
    }

    /// The number of viewers.
    pub(crate) fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }

    /// The JSON of a snapshot.
    pub(crate) fn snapshot(&self) -> Bytes {
        json(&self.board.snapshot()).into()
    }

    /// Sends the last events, and ends [`Hub::run`].
    pub(crate) fn end(&self) {
        self.ending.notify_one();
    }

    /// Sends events until [`Hub::end`].
    pub(crate) async fn run(&self) {
        let mut viewers = Vec::new();
        let mut ticks = interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut shown = self.board.generation();
        loop {
            let earliest = Instant::now() + SNAPSHOT_EVERY;
            let mut is_over = false;
            tokio::select! {
                biased;
                () = self.ending.notified() => is_over = true,
                _ = ticks.tick() => {}
                () = self.joined(earliest) => {}
            }
            if is_over {
                self.board.close();
            }
            self.round(&mut viewers, &mut shown);
            if is_over {
                send(&mut viewers, &event("end", &json(&self.board.end())));
                self.viewers.store(0, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Waits for a new viewer, but no less than to this moment, so that many new viewers share one
    /// snapshot.
    async fn joined(&self, earliest: Instant) {
        self.wake.notified().await;
        sleep_until(earliest).await;
    }

    /// Sends what is new to the viewers, and everything to the new ones.
    fn round(&self, viewers: &mut Vec<Viewer>, shown: &mut u64) {
        self.board.tick();
        let generation = self.board.generation();
        let is_replaced = std::mem::replace(shown, generation) != generation;
        let mut joining = std::mem::take(&mut *self.joining.lock().unwrap_or_else(PoisonError::into_inner));
        let needs_all = !joining.is_empty() || (is_replaced && !viewers.is_empty());
        // Also without viewers: what this update had is no part of the next one.
        let (update, snapshot) = self.board.take_update(needs_all);
        if !viewers.is_empty() && !is_replaced {
            send(viewers, &event("point", &json(&update)));
        }
        if let Some(snapshot) = snapshot {
            let snapshot = event("snapshot", &json(&snapshot));
            if is_replaced {
                send(viewers, &snapshot);
            }
            send(&mut joining, &snapshot);
            viewers.append(&mut joining);
        }
        viewers.retain(|viewer| !viewer.events.is_closed());
        self.viewers.store(viewers.len(), Ordering::Relaxed);
    }
}

/// Sends an event. A viewer that is too slow is dropped.
fn send(viewers: &mut Vec<Viewer>, event: &Bytes) {
    viewers.retain(|viewer| {
        let sent = viewer.events.try_send(event.clone()).is_ok();
        if !sent {
            viewer.cut.notify_one();
        }
        sent
    });
}

/// An event of a stream of server-sent events. JSON has no line ends.
fn event(name: &str, json: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(json.len() + name.len() + 20);
    text.extend_from_slice(b"event: ");
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"\ndata: ");
    text.extend_from_slice(json);
    text.extend_from_slice(b"\n\n");
    text.into()
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // The types have string keys and finite numbers only.
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_viewer_that_reads_nothing_is_dropped_and_the_others_stay() {
        let hub = Hub::new(Arc::new(Board::new(false)));
        let (mut viewers, mut shown) = (Vec::new(), 0);
        let cut = Arc::new(Notify::new());
        let slow = hub.join(Arc::clone(&cut)).unwrap();
        let mut fast = hub.join(Arc::default()).unwrap();
        for _ in 0..WAITING_MAX + 3 {
            hub.round(&mut viewers, &mut shown);
            while fast.try_recv().is_ok() {}
        }
        assert_eq!((hub.viewers(), slow.len()), (1, WAITING_MAX));
        // Its connection is told to end.
        cut.notified().await;
        drop(fast);
        hub.round(&mut viewers, &mut shown);
        assert_eq!(hub.viewers(), 0);
    }

    #[test]
    fn there_is_a_most_of_viewers_and_new_ones_share_a_snapshot() {
        let hub = Hub::new(Arc::new(Board::new(false)));
        let (mut viewers, mut shown) = (Vec::new(), 0);
        let mut joined: Vec<_> = (0..VIEWERS_MAX).map(|_| hub.join(Arc::default()).unwrap()).collect();
        assert!(hub.join(Arc::default()).is_none());
        hub.round(&mut viewers, &mut shown);
        assert!(hub.join(Arc::default()).is_none());
        let snapshots: Vec<Bytes> = joined.iter_mut().map(|events| events.try_recv().unwrap()).collect();
        assert!(snapshots.iter().all(|snapshot| snapshot.as_ptr() == snapshots[0].as_ptr()));
        assert!(snapshots[0].starts_with(b"event: snapshot\ndata: {\"version\":1,"));
    }
}
