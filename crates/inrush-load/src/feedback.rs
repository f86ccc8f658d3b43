//! Reports settled positions to the source, beside the load.
//!
//! A reported document is settled, its dead letter is on disk or kept by the source's sink, and
//! where the load keeps checkpoints, one on disk contains it. So the source may forget the
//! document.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::clock::{self, Instant};
use inrush_core::ledger::Partition;
use inrush_sources::{Feedback, Lag, SourceInfo};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use crate::dead_letter::Unsynced;
use crate::event::Event;

/// The number below which all documents are settled, by partition.
type Settled = BTreeMap<Partition, u64>;

/// How often the source says how far it is behind.
const LAG_EVERY: Duration = Duration::from_secs(1);

/// Reports settled positions to the source.
pub(crate) struct SourceFeedback {
    feedback: Arc<dyn Feedback>,
    events: UnboundedSender<Event>,
    every: Duration,
    last: Instant,
    /// Positions that the source got, or is getting.
    reported: Settled,
    running: Option<JoinHandle<Result<(), String>>>,
    /// Positions that follow the running report.
    next: Option<Settled>,
    /// Settled positions of the checkpoint that is being written.
    at_checkpoint: Settled,
    /// How far the source was behind, and when it said so.
    lag: Option<(Instant, Arc<Lag>)>,
    /// The next report is the last one, which the source gets also without news.
    is_last: bool,
}

impl SourceFeedback {
    /// Reports for a source with feedback and this description.
    pub(crate) fn new(feedback: Arc<dyn Feedback>, info: &SourceInfo, events: UnboundedSender<Event>) -> Self {
        SourceFeedback {
            feedback,
            events,
            every: info.settled_every,
            last: clock::now(),
            reported: Settled::new(),
            running: None,
            next: None,
            at_checkpoint: Settled::new(),
            lag: None,
            is_last: false,
        }
    }

    /// Ends the source soon.
    pub(crate) fn stop(&self) {
        self.feedback.stop();
    }

    /// Whether the source waits for settled positions.
    pub(crate) fn is_waiting(&self) -> bool {
        self.feedback.is_waiting()
    }

    /// How far the source is behind, as of the last second.
    pub(crate) fn lag(&mut self) -> Option<Arc<Lag>> {
        let is_old = self.lag.as_ref().is_none_or(|(when, _)| when.elapsed() >= LAG_EVERY);
        if is_old {
            self.lag = self.feedback.lag().map(|lag| (clock::now(), Arc::new(lag)));
        }
        self.lag.as_ref().map(|(_, lag)| Arc::clone(lag))
    }

    /// The source's side.
    pub(crate) fn feedback(&self) -> Arc<dyn Feedback> {
        Arc::clone(&self.feedback)
    }

    /// Partitions that the source has lost since the last call.
    pub(crate) fn lost(&self) -> Vec<Partition> {
        self.feedback.lost()
    }

    /// Partitions that the source needs no more, since the last call.
    pub(crate) fn ended_partitions(&self) -> Vec<Partition> {
        self.feedback.ended()
    }

    /// Handles the start of a checkpoint with these settled positions.
    pub(crate) fn checkpoint_taken(&mut self, settled: Settled) {
        self.at_checkpoint = settled;
    }

    /// Handles a checkpoint on disk: its positions are reported.
    pub(crate) fn checkpoint_written(&mut self) {
        let settled = std::mem::take(&mut self.at_checkpoint);
        self.start(settled, Unsynced::default());
    }

    /// Whether the next report is due.
    pub(crate) fn is_due(&self) -> bool {
        self.running.is_none() && self.last.elapsed() >= self.every
    }

    /// Whether `settled` has new positions. If not, the next check follows after the interval.
    pub(crate) fn has_news(&mut self, settled: &Settled) -> bool {
        self.last = clock::now();
        settled.iter().any(|news| self.is_new(news))
    }

    /// Begins to report `settled`, after a sync of `letters`. [`Event::FeedbackSent`] has the
    /// result. During a running report, the positions wait for its end.
    pub(crate) fn start(&mut self, settled: Settled, letters: Unsynced) {
        if self.running.is_some() {
            self.next = Some(settled);
            return;
        }
        let (feedback, events, news) = (Arc::clone(&self.feedback), self.events.clone(), self.news(settled));
        let is_last = self.is_last;
        self.running = Some(tokio::task::spawn_blocking(move || {
            let reported = report(feedback.as_ref(), &news, letters, is_last).map_err(|e| e.to_string());
            // A load that has ended needs no answer.
            let _ = events.send(Event::FeedbackSent(reported.clone()));
            reported
        }));
    }

    /// Handles the end of a report.
    pub(crate) fn ended(&mut self) {
        self.running = None;
        if let Some(next) = self.next.take() {
            self.start(next, Unsynced::default());
        }
    }

    /// Reports the last positions, and waits for the source for at most `longest`.
    ///
    /// # Errors
    /// Dead letters could not be synced, or the source did not return in time.
    pub(crate) async fn finish(mut self, settled: Settled, letters: Unsynced, longest: Duration) -> Result<(), String> {
        let all = async move {
            if let Some(running) = self.running.take() {
                join(running).await?;
            }
            self.is_last = true;
            self.start(settled, letters);
            match self.running.take() {
                Some(running) => join(running).await,
                None => Ok(()),
            }
        };
        match clock::timeout(longest, all).await {
            Ok(reported) => reported.map_err(|e| format!("the source did not get its last settled positions: {e}")),
            Err(_) => Err(format!(
                "the source did not confirm its settled positions within {} s, so it may read some documents again",
                longest.as_secs_f64()
            )),
        }
    }

    fn is_new(&self, (partition, up_to): (&Partition, &u64)) -> bool {
        self.reported.get(partition).unwrap_or(&0) < up_to
    }

    /// The new positions, which count as reported from now on.
    fn news(&mut self, settled: Settled) -> Settled {
        self.last = clock::now();
        let news = settled.iter().filter(|news| self.is_new(*news));
        let news: Settled = news.map(|(partition, up_to)| (*partition, *up_to)).collect();
        // Partitions that have ended are not in it any more.
        self.reported = settled;
        news
    }
}

async fn join(running: JoinHandle<Result<(), String>>) -> Result<(), String> {
    running.await.unwrap_or_else(|e| Err(e.to_string()))
}

fn report(feedback: &dyn Feedback, news: &Settled, letters: Unsynced, is_last: bool) -> io::Result<()> {
    letters.sync()?;
    if is_last || !news.is_empty() {
        feedback.settled(news);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use inrush_core::SourceId;
    use tokio::sync::mpsc;

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<Settled>>);

    impl Feedback for Heard {
        fn settled(&self, up_to: &Settled) {
            self.0.lock().unwrap().push(up_to.clone());
        }

        fn stop(&self) {}
    }

    fn settled(numbers: [u64; 2]) -> Settled {
        numbers.into_iter().enumerate().map(|(at, up_to)| ((SourceId(0), at as u32), up_to)).collect()
    }

    #[tokio::test]
    async fn a_source_hears_what_is_new_to_it() {
        let heard = Arc::new(Heard::default());
        let (events, mut reported) = mpsc::unbounded_channel();
        let info = SourceInfo::new(["test"]);
        let mut source_feedback = SourceFeedback::new(Arc::clone(&heard) as Arc<dyn Feedback>, &info, events);
        assert!(source_feedback.has_news(&settled([3, 0])) && !source_feedback.has_news(&settled([0, 0])));
        source_feedback.start(settled([3, 0]), Unsynced::default());
        assert!(!source_feedback.is_due());
        source_feedback.start(settled([3, 4]), Unsynced::default());
        assert!(matches!(reported.recv().await, Some(Event::FeedbackSent(Ok(())))));
        source_feedback.ended();
        assert!(
            matches!(reported.recv().await, Some(Event::FeedbackSent(Ok(())))),
            "positions that arrived meanwhile are reported next"
        );
        source_feedback.ended();
        assert!(!source_feedback.has_news(&settled([3, 4])));
        source_feedback.finish(settled([3, 7]), Unsynced::default(), Duration::from_secs(60)).await.unwrap();
        let heard = heard.0.lock().unwrap().clone();
        let of = |partition: u32, up_to: u64| Settled::from([((SourceId(0), partition), up_to)]);
        assert_eq!(heard, [of(0, 3), of(1, 4), of(1, 7)]);
    }

    #[tokio::test]
    async fn positions_of_partitions_that_have_ended_are_forgotten() {
        let (events, _) = mpsc::unbounded_channel();
        let mut source_feedback = SourceFeedback::new(Arc::new(Heard::default()), &SourceInfo::new(["test"]), events);
        for partition in 0..100_000 {
            let news = source_feedback.news(Settled::from([((SourceId(0), partition), 7)]));
            assert_eq!((news.len(), source_feedback.reported.len()), (1, 1));
        }
    }
}
