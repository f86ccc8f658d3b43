//! A load under way: watch it, feed it, stop it, wait for its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_core::report::{Counts, ErrorCount, IndexCounts, Tally};
use inrush_sources::push::{self, Closed, Document};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::event::{Event, Hold};
use crate::progress::{Phase, Progress};
use crate::report::Report;

/// A load under way.
#[derive(Debug)]
pub struct RunningLoad {
    stop: StopHandle,
    progress: watch::Receiver<Progress>,
    others: Arc<Mutex<Tally>>,
    task: JoinHandle<Report>,
}

impl RunningLoad {
    pub(super) fn new(
        events: mpsc::UnboundedSender<Event>,
        progress: watch::Receiver<Progress>,
        others: Arc<Mutex<Tally>>,
        task: JoinHandle<Report>,
    ) -> Self {
        RunningLoad { stop: StopHandle { events }, progress, others, task }
    }

    /// One that had come to its end before it began.
    pub(super) fn over(report: Report) -> Self {
        let (events, _) = mpsc::unbounded_channel();
        let (_, progress) = watch::channel(Progress { phase: Phase::Done, ..Progress::default() });
        RunningLoad::new(events, progress, Arc::default(), tokio::spawn(async { report }))
    }

    /// The progress, renewed ten times a second.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// What ends the load early.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// What pauses the load by hand.
    pub fn pause_handle(&self) -> PauseHandle {
        PauseHandle { events: self.stop.events.clone() }
    }

    /// What counts what other loads of the same job did: its sums are part of this one's report and
    /// verification. For a job that is spread over several processes, one of which looks after the
    /// index.
    pub fn others(&self) -> Others {
        Others { tally: Arc::clone(&self.others) }
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// If the load itself panicked.
    pub async fn finish(self) -> Report {
        match self.task.await {
            Ok(report) => report,
            Err(e) => match e.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The task is never cancelled by us, only with the whole runtime, and then nobody
                // waits here.
                Err(cancelled) => panic!("the runtime was shut down under a load: {cancelled}"),
            },
        }
    }
}

/// Counts what other loads of the same job did.
#[derive(Clone, Debug)]
pub struct Others {
    tally: Arc<Mutex<Tally>>,
}

impl Others {
    /// Takes in the numbers of a load's report. They count if they come before this load's own
    /// documents are at their end.
    pub fn absorb(&self, counts: &Counts, indices: &BTreeMap<String, IndexCounts>, errors: &[ErrorCount]) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.absorb(counts, indices, errors);
    }
}

/// Ends a load early: nothing more is read, what is under way is waited for, the report says how
/// far it came.
#[derive(Clone, Debug)]
pub struct StopHandle {
    events: mpsc::UnboundedSender<Event>,
}

impl StopHandle {
    /// Ends it. Further calls do nothing.
    pub fn stop(&self) {
        // A load that has ended needs no stop.
        let _ = self.events.send(Event::Stop);
    }

    /// Ends the source in order: it hands over what it has fetched, and the load ends when that is
    /// in, as it does at the end of a file. Where the source cannot be told to end
    /// ([`inrush_sources::Source::feedback`]), this is [`StopHandle::stop`]. Further calls do
    /// nothing.
    pub fn end_source(&self) {
        // A load that has ended has no source any more.
        let _ = self.events.send(Event::EndSource);
    }
}

/// Pauses a load by hand. Meanwhile nothing new is sent; what is under way ends, checkpoints and
/// the lease of the settings go on, a stop still ends the load. It lasts until somebody ends it,
/// and spends no retries.
#[derive(Clone, Debug)]
pub struct PauseHandle {
    events: mpsc::UnboundedSender<Event>,
}

impl PauseHandle {
    /// Pauses it. Further calls do nothing.
    pub fn pause(&self) {
        self.hold(Hold::Pause);
    }

    /// Goes on. Does nothing where it is not paused by hand.
    pub fn resume(&self) {
        self.hold(Hold::Resume);
    }

    /// The one or the other.
    pub fn toggle(&self) {
        self.hold(Hold::Toggle);
    }

    fn hold(&self, hold: Hold) {
        // A load that has ended needs no pause.
        let _ = self.events.send(Event::Hold(hold));
    }
}

/// A load that a program feeds.
pub struct PushLoad {
    sender: push::Sender,
    load: RunningLoad,
}

impl PushLoad {
    pub(super) fn new(sender: push::Sender, load: RunningLoad) -> Self {
        PushLoad { sender, load }
    }

    /// What sends documents; clone it for each task.
    pub fn sender(&self) -> push::Sender {
        self.sender.clone()
    }

    /// Sends one document, and waits while memory is full.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    pub async fn send(&self, document: Document) -> Result<(), Closed> {
        self.sender.send(document).await
    }

    /// The progress, renewed ten times a second.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.load.progress()
    }

    /// What ends the load early.
    pub fn stop_handle(&self) -> StopHandle {
        self.load.stop_handle()
    }

    /// What pauses the load by hand; then [`PushLoad::send`] waits once memory is full.
    pub fn pause_handle(&self) -> PauseHandle {
        self.load.pause_handle()
    }

    /// Sends what is left and waits for the end. Every clone of the sender has to be gone, or this
    /// waits for it.
    pub async fn finish(self) -> Report {
        drop(self.sender);
        self.load.finish().await
    }
}
