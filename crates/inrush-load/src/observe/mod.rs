//! Events of a load, and the observers that receive them.
//!
//! An [`Observer`] is registered with
//! [`ConfiguredLoad::observe`](crate::ConfiguredLoad::observe). The progress,
//! the log, the trace and the times of the report are observers, too.

mod loading_time;
mod log;
mod progress;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_cluster::clock::Instant;
pub use inrush_core::body_format::BodyFormatChange;
pub use inrush_core::flow::Request;
pub use inrush_core::report::Counts;
pub use inrush_core::tune::{Bounds, Decision, Learned, Plan, Sample, SampleOutcome};
pub use inrush_core::{DeadLetter, Pause, PauseKind};
use inrush_sources::SourceError;
pub(crate) use loading_time::LoadingTime;
pub(crate) use log::Log;
pub(crate) use progress::ProgressSender;

use crate::progress::{Phase, Progress};
use crate::report::{Report, SettingChange, SettingsReport};

/// Receives the events of a load. A closure with the same arguments is an observer, too.
///
/// The loop of the load calls it, so it must not wait: its time is added to each request. An
/// observer that panics gets no more events, and the load continues.
///
/// # Example
///
/// Counts the documents that the cluster rejects because of load, and prints each change of the
/// plan:
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::time::Duration;
///
/// use inrush_load::ConfiguredLoad;
/// use inrush_load::config::LoadConfig;
/// use inrush_load::observe::LoadEvent;
///
/// let rejected = Arc::new(AtomicU64::new(0));
/// let count = Arc::clone(&rejected);
/// let config = LoadConfig::new(vec!["http://localhost:9200".to_owned()], "logs".parse()?);
/// let loader = ConfiguredLoad::new(config)?;
/// let loader = loader.observe(move |at: Duration, event: &LoadEvent<'_>| match event {
///     LoadEvent::RequestAnswered { sample, .. } => {
///         count.fetch_add(u64::from(sample.rejected), Ordering::Relaxed);
///     }
///     LoadEvent::PlanChanged(decision) => eprintln!("{at:.1?}: {}", decision.why),
///     _ => {}
/// });
/// # let _ = loader;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observer: Send {
    /// Receives one event. `at` is its time since the start of the load. Events within a few
    /// milliseconds may arrive out of order.
    fn on_event(&mut self, at: Duration, event: &LoadEvent<'_>);
}

impl<F: FnMut(Duration, &LoadEvent<'_>) + Send> Observer for F {
    fn on_event(&mut self, at: Duration, event: &LoadEvent<'_>) {
        self(at, event);
    }
}

/// An event of a load.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum LoadEvent<'a> {
    /// The cluster and the source were examined; reading starts. Always the first event.
    Started(&'a LoadStart),
    /// A block of documents was read and encoded.
    #[non_exhaustive]
    Read {
        /// Its documents, including rejected ones.
        docs: u64,
        /// Bytes of the source that were read for it, before decompression.
        bytes: u64,
    },
    /// The source has no documents for now, and all that it had are settled.
    SourceIdle,
    /// The source has documents again after [`LoadEvent::SourceIdle`].
    SourceResumed,
    /// The source ended, or failed with this error.
    SourceEnded(Option<&'a SourceError>),
    /// A request is sent, also one that is sent again.
    RequestSent(&'a Request),
    /// A request was answered, refused or lost.
    #[non_exhaustive]
    RequestAnswered {
        /// The number of the request, as in [`Request::id`].
        request: u64,
        /// Its node, its time, and the results of its documents.
        sample: &'a Sample,
        /// Whether the tuner uses the sample.
        heard: bool,
    },
    /// Documents were settled. The counts are the sums so far by bucket; after a resume they
    /// include the earlier runs.
    Settled(&'a Counts),
    /// A document became a dead letter. The file of dead letters has it already.
    DeadLetter(&'a DeadLetter),
    /// The tuner changed the plan; the decision has the reason.
    PlanChanged(&'a Decision),
    /// Measurements across this moment say nothing about the cluster, and the tuner drops them.
    MeasurementReset,
    /// The body format changed; the change has the reason.
    BodyFormatChanged(&'a BodyFormatChange),
    /// The server refused a body as too large. Bodies have at most this many bytes from now on.
    BodyLimited(u64),
    /// A request got no answer and will be sent again; with the reason.
    RequestLost(&'a str),
    /// A request was refused or could not be sent, and will be sent again; with the reason.
    RequestRetried(&'a str),
    /// A shard restarted, or another copy became the primary. This many documents were acknowledged
    /// but not flushed, and are sent again.
    DocsResent(u64),
    /// Sending pauses, for this reason. Another pause may follow without an end in between.
    Paused(&'a Pause),
    /// Sending resumes.
    #[non_exhaustive]
    Resumed {
        /// The load was stopped during the pause.
        by_stop: bool,
    },
    /// The settings guard has changed settings of an index for the load.
    #[non_exhaustive]
    SettingsChanged {
        /// The index.
        index: &'a str,
        /// The changes, by setting.
        changed: &'a BTreeMap<String, SettingChange>,
    },
    /// The settings guard has restored the settings, or has failed to.
    SettingsRestored(&'a SettingsReport),
    /// A node does not answer and gets no requests for now: its index in [`LoadStart::nodes`].
    NodeUnhealthy(usize),
    /// The node gets requests again.
    NodeHealthy(usize),
    /// The load enters this phase.
    Phase(&'a Phase),
    /// The progress, ten times a second during reading and sending. It has the memory in use.
    Progress(&'a Progress),
    /// No request is in flight any more: all documents are settled, or the load was stopped.
    Drained,
    /// The load ended. Only [`LoadEvent::Phase`] may follow.
    Ended(&'a Report),
}

/// The facts about a load at its start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadStart {
    /// The id in the logs of the cluster: requests carry `X-Opaque-Id: inrush-<run id>-<number>`.
    pub run_id: String,
    /// Product and version of the cluster.
    pub cluster: String,
    /// The nodes of the cluster, without credentials.
    pub nodes: Vec<String>,
    /// The names of the sources.
    pub sources: Vec<String>,
    /// The size of the sources, bytes, where it is known.
    pub bytes_total: Option<u64>,
    /// The controller of the plan: `auto`, `gentle` or `fixed`.
    pub controller: &'static str,
    /// The bounds of the plan.
    pub bounds: Bounds,
    /// The plan at the start.
    pub plan: Plan,
    /// What the tuner begins with, where an earlier load had learned it.
    pub learned: Option<Learned>,
    /// The counts of the earlier runs of a resumed load.
    pub counts: Counts,
    /// The most bytes of documents in memory.
    pub memory_max: u64,
}

impl LoadStart {
    /// The start of a load without sources, for the tests of a program that shows loads.
    pub fn new(run_id: String, nodes: Vec<String>, bounds: Bounds, plan: Plan) -> Self {
        LoadStart {
            run_id,
            cluster: String::new(),
            nodes,
            sources: Vec::new(),
            bytes_total: None,
            controller: "auto",
            bounds,
            plan,
            learned: None,
            counts: Counts::default(),
            memory_max: 0,
        }
    }
}

/// An observer that a loader and its clones share.
pub(crate) type Shared = Arc<Mutex<dyn Observer>>;

/// The observers of a load. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Observers {
    started: Instant,
    /// Receive all events.
    all: Arc<[Shared]>,
    /// Receive no details: no requests, documents or measurements.
    others: Arc<[Shared]>,
}

impl Observers {
    /// Observers of a load that started then.
    pub(crate) fn new(started: Instant, all: Vec<Shared>, others: Vec<Shared>) -> Self {
        Observers { started, all: all.into(), others: others.into() }
    }

    /// Whether an observer receives details.
    pub(crate) fn want_details(&self) -> bool {
        !self.all.is_empty()
    }

    /// Reports a detail.
    pub(crate) fn notify_detail(&self, at: Duration, event: LoadEvent<'_>) {
        notify(&self.all, at, &event);
    }

    /// Reports a detail with the current time. Without observers of details it makes no event and
    /// reads no clock.
    pub(crate) fn notify_detail_now<'a>(&self, event: impl FnOnce() -> LoadEvent<'a>) {
        if self.want_details() {
            notify(&self.all, self.started.elapsed(), &event());
        }
    }

    /// Reports an event to all observers.
    pub(crate) fn notify(&self, at: Duration, event: LoadEvent<'_>) {
        notify(&self.others, at, &event);
        notify(&self.all, at, &event);
    }

    /// Reports a phase to all observers.
    pub(crate) fn phase(&self, phase: &Phase) {
        self.notify(self.started.elapsed(), LoadEvent::Phase(phase));
    }

    /// Reports an event to all observers, with the current time.
    pub(crate) fn notify_now(&self, event: LoadEvent<'_>) {
        self.notify(self.started.elapsed(), event);
    }

    /// Reports the end of the load to all observers.
    pub(crate) fn ended(&self, report: &Report) {
        self.notify(self.started.elapsed(), LoadEvent::Ended(report));
    }
}

fn notify(observers: &[Shared], at: Duration, event: &LoadEvent<'_>) {
    for observer in observers {
        // The lock of an observer that panicked is poisoned.
        let notified =
            catch_unwind(AssertUnwindSafe(|| observer.lock().map(|mut observer| observer.on_event(at, event)).is_ok()));
        if notified.is_err() {
            tracing::warn!("an observer of the load panicked and gets no more events");
        }
    }
}

/// The observers of a load that has not started. Clones share them.
#[derive(Clone, Default)]
pub struct ObserverSet(pub(crate) Vec<Shared>);

impl ObserverSet {
    /// Adds an observer.
    pub fn add(&mut self, observer: impl Observer + 'static) {
        self.0.push(Arc::new(Mutex::new(observer)));
    }
}

impl fmt::Debug for ObserverSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use inrush_cluster::clock;

    use super::*;

    #[test]
    fn an_observer_that_panics_gets_no_more_events() {
        let heard = Arc::new(Mutex::new((0, 0)));
        let (ours, others) = (Arc::clone(&heard), Arc::clone(&heard));
        let panics: Shared = Arc::new(Mutex::new(move |_: Duration, _: &LoadEvent<'_>| {
            ours.lock().unwrap().0 += 1;
            panic!("on purpose");
        }));
        let counts: Shared = Arc::new(Mutex::new(move |_: Duration, _: &LoadEvent<'_>| others.lock().unwrap().1 += 1));
        let observers = Observers::new(clock::now(), vec![panics], vec![counts]);
        for _ in 0..3 {
            observers.notify(Duration::ZERO, LoadEvent::SourceIdle);
        }
        observers.notify_detail(Duration::ZERO, LoadEvent::MeasurementReset);
        assert_eq!(*heard.lock().unwrap(), (1, 3));
    }
}
