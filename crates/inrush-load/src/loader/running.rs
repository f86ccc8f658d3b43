//! A running load: watch it, feed it, stop it, wait for its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use inrush_core::report::{Counts, ErrorCount, IndexCounts, Tally};
use inrush_core::tune::Learned;
use inrush_sources::push::{self, Closed, Document};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::event::{Event, PauseRequest};
use crate::grace::Grace;
use crate::progress::{Phase, Progress};
use crate::report::Report;

/// A running load.
#[derive(Debug)]
pub struct RunningLoad {
    stop: StopHandle,
    progress: watch::Receiver<Progress>,
    others: Others,
    for_parts: Option<Learned>,
    task: JoinHandle<Report>,
}

impl RunningLoad {
    pub(super) fn new(
        stop: StopHandle,
        progress: watch::Receiver<Progress>,
        others: Others,
        for_parts: Option<Learned>,
        task: JoinHandle<Report>,
    ) -> Self {
        RunningLoad { stop, progress, others, for_parts, task }
    }

    /// A load whose report is known before it begins.
    pub(super) fn over(report: Report) -> Self {
        let (events, _) = mpsc::unbounded_channel();
        let (_, progress) = watch::channel(Progress { phase: Phase::Done, ..Progress::default() });
        let stop = StopHandle::new(events, Grace::new(Duration::ZERO));
        RunningLoad::new(stop, progress, Others::default(), None, tokio::spawn(async { report }))
    }

    /// Progress of the load, updated ten times a second.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// A handle that ends the load early.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// A handle that pauses the load.
    pub fn pause_handle(&self) -> PauseHandle {
        PauseHandle { events: self.stop.events.clone() }
    }

    /// A handle that adds the counts of other loads of the same job to this load's report and
    /// verification. It is for a job that is spread over several processes, one of which manages
    /// the index.
    pub fn others(&self) -> Others {
        self.others.clone()
    }

    /// What the parts of an earlier job of the same kind learned of the cluster and the index, for
    /// the parts of this job. `None` where the state folder has nothing that applies.
    pub fn learned_for_parts(&self) -> Option<&Learned> {
        self.for_parts.as_ref()
    }

    /// The same load, with a step between its end and the return of [`RunningLoad::finish`], such
    /// as the last figures for a collector of metrics.
    #[must_use]
    pub fn followed_by(self, step: impl Future<Output = ()> + Send + 'static) -> Self {
        let RunningLoad { stop, progress, others, for_parts, task } = self;
        let task = tokio::spawn(async move {
            let report = ended(task).await;
            step.await;
            report
        });
        RunningLoad { stop, progress, others, for_parts, task }
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// If the load itself panicked.
    pub async fn finish(self) -> Report {
        ended(self.task).await
    }
}

async fn ended(task: JoinHandle<Report>) -> Report {
    match task.await {
        Ok(report) => report,
        Err(e) => match e.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a shutdown of the whole runtime cancels the task, and no caller waits here then.
            Err(cancelled) => panic!("the runtime was shut down under a load: {cancelled}"),
        },
    }
}

/// Adds the counts of other loads of the same job, and what they learned.
#[derive(Clone, Debug, Default)]
pub struct Others {
    tally: Arc<Mutex<Tally>>,
    learned: Arc<Mutex<Option<Learned>>>,
}

impl Others {
    /// Adds the counts of a load's report. They count if they arrive before this load's last
    /// document settles.
    pub fn absorb(&self, counts: &Counts, indices: &BTreeMap<String, IndexCounts>, errors: &[ErrorCount]) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.absorb(counts, indices, errors);
    }

    /// Adds what another load learned of the cluster and the index ([`PlanReport::learned`]). The
    /// one that was measured for the longest time is kept for the parts of later jobs.
    ///
    /// [`PlanReport::learned`]: crate::PlanReport::learned
    pub fn absorb_learned(&self, learned: &Learned) {
        let mut kept = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none_or(|kept| kept.seconds < learned.seconds) {
            *kept = Some(*learned);
        }
    }

    /// The sums, and what was learned.
    pub(super) fn take(&self) -> (Tally, Option<Learned>) {
        let tally = std::mem::take(&mut *self.tally.lock().unwrap_or_else(PoisonError::into_inner));
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner).take();
        (tally, learned)
    }
}

/// Ends a load early. The load reads nothing more and waits for its requests in flight, for no
/// longer than [`crate::config::Limits::grace`]. The report contains how far it came.
#[derive(Clone, Debug)]
pub struct StopHandle {
    events: mpsc::UnboundedSender<Event>,
    grace: Grace,
}

impl StopHandle {
    pub(super) fn new(events: mpsc::UnboundedSender<Event>, grace: Grace) -> Self {
        StopHandle { events, grace }
    }

    /// Ends the load. Further calls do nothing.
    pub fn stop(&self) {
        self.grace.begin();
        // A load that has ended needs no stop.
        let _ = self.events.send(Event::Stop);
    }

    /// Ends the source in order: the source hands over the documents that it has fetched, and the
    /// load ends when they are settled, as at the end of a file. Where the source has no
    /// [`inrush_sources::Source::feedback`], this call is the same as [`StopHandle::stop`]. Further
    /// calls do nothing.
    pub fn end_source(&self) {
        // A load that has ended has no source any more.
        let _ = self.events.send(Event::EndSource);
    }
}

/// Pauses a load. During a pause the load sends no new request. Requests in flight finish,
/// checkpoints and the lease of the settings continue, and a stop still ends the load. A pause
/// lasts until the caller ends it, and uses up no retries.
#[derive(Clone, Debug)]
pub struct PauseHandle {
    events: mpsc::UnboundedSender<Event>,
}

impl PauseHandle {
    /// Pauses the load. Further calls do nothing.
    pub fn pause(&self) {
        self.request(PauseRequest::Pause);
    }

    /// Ends the pause. Does nothing where the caller has not paused the load.
    pub fn resume(&self) {
        self.request(PauseRequest::Resume);
    }

    /// Pauses the load, or ends the pause.
    pub fn toggle(&self) {
        self.request(PauseRequest::Toggle);
    }

    fn request(&self, request: PauseRequest) {
        // A load that has ended needs no pause.
        let _ = self.events.send(Event::PauseRequest(request));
    }
}

/// A load of documents that a program sends.
pub struct PushLoad {
    sender: push::Sender,
    load: RunningLoad,
}

impl PushLoad {
    pub(super) fn new(sender: push::Sender, load: RunningLoad) -> Self {
        PushLoad { sender, load }
    }

    /// A sender of documents. Clone it for each task.
    pub fn sender(&self) -> push::Sender {
        self.sender.clone()
    }

    /// Sends one document. Waits while the memory is full.
    ///
    /// # Errors
    /// [`Closed`] after the end of the load. The report has the reason.
    pub async fn send(&self, document: Document) -> Result<(), Closed> {
        self.sender.send(document).await
    }

    /// Progress of the load, updated ten times a second.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.load.progress()
    }

    /// A handle that ends the load early.
    pub fn stop_handle(&self) -> StopHandle {
        self.load.stop_handle()
    }

    /// A handle that pauses the load. During a pause [`PushLoad::send`] waits as soon as the memory
    /// is full.
    pub fn pause_handle(&self) -> PauseHandle {
        self.load.pause_handle()
    }

    /// Sends the remaining documents and waits for the end. It waits until every clone of the
    /// sender is dropped.
    pub async fn finish(self) -> Report {
        drop(self.sender);
        self.load.finish().await
    }
}
