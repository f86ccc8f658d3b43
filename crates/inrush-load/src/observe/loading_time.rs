//! The loading time of a load.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{LoadEvent, Observer};

/// Measures the loading time for the report. Clones share the measurement: one is an observer, the
/// other is read at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadingTime(Arc<Mutex<Times>>);

#[derive(Clone, Copy, Debug, Default)]
struct Times {
    first: Option<Duration>,
    drained: Option<Duration>,
    paused: Span,
    idle: Span,
}

/// A sum of intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    since: Option<Duration>,
    total: Duration,
}

impl Span {
    fn begin(&mut self, at: Duration) {
        self.since.get_or_insert(at);
    }

    fn end(&mut self, at: Duration) {
        if let Some(since) = self.since.take() {
            self.total += at.saturating_sub(since);
        }
    }
}

impl LoadingTime {
    /// The time of the first documents, since the start of the load.
    pub(crate) fn first(&self) -> Option<Duration> {
        self.times().first
    }

    /// The time at which no request was in flight any more, since the start of the load.
    pub(crate) fn drained(&self) -> Option<Duration> {
        self.times().drained
    }

    /// The time in which the source had no documents and all of them were settled.
    pub(crate) fn idle(&self) -> Duration {
        self.times().idle.total
    }

    /// The time from [`LoadingTime::first`] to [`LoadingTime::drained`], without pauses. Zero
    /// before.
    pub(crate) fn loading(&self) -> Duration {
        let Times { first, drained, paused, .. } = *self.times();
        let all = drained.zip(first).map(|(drained, first)| drained.saturating_sub(first));
        all.unwrap_or_default().saturating_sub(paused.total)
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        // The state is a few numbers that are valid at every moment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for LoadingTime {
    fn on_event(&mut self, at: Duration, event: &LoadEvent<'_>) {
        let mut times = self.times();
        match event {
            LoadEvent::Read { .. } => {
                times.first.get_or_insert(at);
            }
            LoadEvent::Paused(_) => times.paused.begin(at),
            LoadEvent::Resumed { .. } => times.paused.end(at),
            LoadEvent::SourceIdle => times.idle.begin(at),
            LoadEvent::SourceResumed => times.idle.end(at),
            LoadEvent::Drained => {
                times.paused.end(at);
                times.idle.end(at);
                times.drained = Some(at);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::{Pause, PauseKind};

    use super::*;

    #[test]
    fn pauses_are_left_out_and_idle_time_is_told_apart() {
        let time = LoadingTime::default();
        let mut observer = time.clone();
        let pause = Pause { kind: PauseKind::ByHand, why: String::new() };
        let read = LoadEvent::Read { docs: 1, bytes: 1 };
        let resumed = LoadEvent::Resumed { by_stop: false };
        for (seconds, event) in [
            (2, read),
            (3, LoadEvent::Paused(&pause)),
            (4, LoadEvent::Paused(&pause)),
            (6, resumed),
            (7, LoadEvent::SourceIdle),
            (8, LoadEvent::SourceResumed),
            (8, read),
            (9, LoadEvent::SourceIdle),
            (11, LoadEvent::Drained),
        ] {
            observer.on_event(Duration::from_secs(seconds), &event);
        }
        let seconds = |seconds| Duration::from_secs(seconds);
        assert_eq!((time.first(), time.drained()), (Some(seconds(2)), Some(seconds(11))));
        assert_eq!((time.loading(), time.idle()), (seconds(6), seconds(3)));
        assert_eq!(LoadingTime::default().loading(), Duration::ZERO);
    }
}
