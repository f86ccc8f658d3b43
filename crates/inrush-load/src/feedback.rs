//! Tells the source what is settled, beside the load.
//!
//! What the source is told was settled before, dead letters of it are synced to disk, and where the
//! load keeps checkpoints, one that says so was written: a source may forget what it was told of.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_core::ledger::Partition;
use inrush_sources::{Feedback, SourceInfo};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use crate::event::Event;

/// By partition, the number below which everything is settled.
type Settled = BTreeMap<Partition, u64>;

/// The way back to the source.
pub(crate) struct ToSource {
    feedback: Arc<dyn Feedback>,
    events: UnboundedSender<Event>,
    every: Duration,
    last: Instant,
    /// What the source knows, or is being told.
    told: Settled,
    telling: Option<JoinHandle<Result<(), String>>>,
    /// What it is told after that.
    next: Option<Settled>,
    /// What was settled when the checkpoint that is being written was taken.
    at_checkpoint: Settled,
}

impl ToSource {
    /// For a source with feedback, which has this description.
    pub(crate) fn new(feedback: Arc<dyn Feedback>, info: &SourceInfo, events: UnboundedSender<Event>) -> Self {
        ToSource {
            feedback,
            events,
            every: info.settled_every,
            last: Instant::now(),
            told: Settled::new(),
            telling: None,
            next: None,
            at_checkpoint: Settled::new(),
        }
    }

    /// The source is to end soon.
    pub(crate) fn stop(&self) {
        self.feedback.stop();
    }

    /// A checkpoint is taken, at which this is `settled`.
    pub(crate) fn checkpoint_taken(&mut self, settled: Settled) {
        self.at_checkpoint = settled;
    }

    /// It is on disk, so the source hears of it.
    pub(crate) fn checkpoint_written(&mut self) {
        let settled = std::mem::take(&mut self.at_checkpoint);
        self.start(settled, None);
    }

    /// Whether it is time to tell the source again.
    pub(crate) fn is_due(&self) -> bool {
        self.telling.is_none() && self.last.elapsed() >= self.every
    }

    /// Whether `settled` has something new for it. If not, it is looked at again at the next time.
    pub(crate) fn has_news(&mut self, settled: &Settled) -> bool {
        self.last = Instant::now();
        settled.iter().any(|news| self.is_new(news))
    }

    /// Begins to tell the source what is `settled`, once `letters` are synced to disk. Afterwards
    /// [`Event::Told`] says how it went. Where the source is still being told something, this comes
    /// next.
    pub(crate) fn start(&mut self, settled: Settled, letters: Option<File>) {
        if self.telling.is_some() {
            self.next = Some(settled);
            return;
        }
        let (feedback, events, news) = (Arc::clone(&self.feedback), self.events.clone(), self.news(settled));
        self.telling = Some(tokio::task::spawn_blocking(move || {
            let told = tell(feedback.as_ref(), &news, letters).map_err(|e| e.to_string());
            // A load that has ended needs no answer.
            let _ = events.send(Event::Told(told.clone()));
            told
        }));
    }

    /// The source was told.
    pub(crate) fn ended(&mut self) {
        self.telling = None;
        if let Some(next) = self.next.take() {
            self.start(next, None);
        }
    }

    /// Tells it the last news, and waits until it has heard them, `longest` at most.
    ///
    /// # Errors
    /// Dead letters could not be synced, or the source did not come back in time.
    pub(crate) async fn finish(
        mut self,
        settled: Settled,
        letters: Option<File>,
        longest: Duration,
    ) -> Result<(), String> {
        let all = async move {
            if let Some(telling) = self.telling.take() {
                join(telling).await?;
            }
            self.start(settled, letters);
            match self.telling.take() {
                Some(telling) => join(telling).await,
                None => Ok(()),
            }
        };
        match tokio::time::timeout(longest, all).await {
            Ok(told) => told.map_err(|e| format!("the source could not be told what is settled: {e}")),
            Err(_) => Err(format!(
                "the source did not take in what is settled within {} s; it may read some of it again",
                longest.as_secs_f64()
            )),
        }
    }

    fn is_new(&self, (partition, up_to): (&Partition, &u64)) -> bool {
        self.told.get(partition).unwrap_or(&0) < up_to
    }

    /// What of it is new to the source, and known to it from now on.
    fn news(&mut self, settled: Settled) -> Settled {
        self.last = Instant::now();
        let news: Settled = settled.into_iter().filter(|(partition, up_to)| self.is_new((partition, up_to))).collect();
        self.told.extend(news.iter().map(|(partition, up_to)| (*partition, *up_to)));
        news
    }
}

async fn join(telling: JoinHandle<Result<(), String>>) -> Result<(), String> {
    telling.await.unwrap_or_else(|e| Err(e.to_string()))
}

fn tell(feedback: &dyn Feedback, news: &Settled, letters: Option<File>) -> io::Result<()> {
    if let Some(letters) = letters {
        letters.sync_all()?;
    }
    if !news.is_empty() {
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
        let (events, mut told) = mpsc::unbounded_channel();
        let info = SourceInfo::new(["test"]);
        let mut to_source = ToSource::new(Arc::clone(&heard) as Arc<dyn Feedback>, &info, events);
        assert!(to_source.has_news(&settled([3, 0])) && !to_source.has_news(&settled([0, 0])));
        to_source.start(settled([3, 0]), None);
        assert!(!to_source.is_due());
        to_source.start(settled([3, 4]), None);
        assert!(matches!(told.recv().await, Some(Event::Told(Ok(())))));
        to_source.ended();
        assert!(matches!(told.recv().await, Some(Event::Told(Ok(())))), "what came meanwhile was told next");
        to_source.ended();
        assert!(!to_source.has_news(&settled([3, 4])));
        to_source.finish(settled([3, 7]), None, Duration::from_secs(60)).await.unwrap();
        let heard = heard.0.lock().unwrap().clone();
        let of = |partition: u32, up_to: u64| Settled::from([((SourceId(0), partition), up_to)]);
        assert_eq!(heard, [of(0, 3), of(1, 4), of(1, 7)]);
    }
}
