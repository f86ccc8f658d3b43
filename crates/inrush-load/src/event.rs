//! Everything that the loop of a load hears of.

use std::collections::BTreeMap;
use std::time::Duration;

use inrush_cluster::api::body_formats::AcceptedFormats;
use inrush_cluster::api::stats::IndexStats;
use inrush_core::flow::{Comparison, Flushed};
use inrush_core::outcome::Attempt;
use inrush_core::{Checkpoint, ItemBlock, Pause};
use inrush_sources::SourceError;
use tokio::sync::{mpsc, watch};

/// Everything that can happen to a load.
pub(crate) enum Event {
    /// A block was read and encoded.
    Block { number: u64, block: ItemBlock },
    /// The source has nothing for now, after so many blocks.
    SourceIdle { blocks: u64 },
    /// The source is at its end, or cannot be read any further.
    SourceEnd { blocks: u64, result: Result<(), SourceError> },
    /// A reader panicked.
    ReaderDied,
    /// What became of a request.
    Attempt { request: u64, wall: Duration, node: u16, attempt: Attempt },
    /// The cluster no longer works on a request.
    Gone { request: u64 },
    /// Documents were compared.
    Compared { request: u64, results: Vec<Comparison> },
    /// What became of a flush.
    Flushed { request: u64, flushed: Flushed },
    /// What the cluster takes besides plain JSON.
    AcceptedFormats(AcceptedFormats),
    /// An index of a placeholder is there, with so many documents in it before where they were
    /// counted, or cannot be made.
    Index { name: String, result: Result<Option<u64>, String> },
    /// A checkpoint was written, or could not be.
    Checkpoint(Written),
    /// The source was told what is settled; or not, because dead letters could not be synced
    /// before.
    Told(Result<(), String>),
    /// What an index of a placeholder was like before the load.
    Size { name: String, size: IndexStats },
    /// Another index has the name of one that documents went to.
    Replaced(String),
    /// Another run of the same load has taken the place of this one.
    Overtaken,
    /// Why this is no time to send; nothing any more with `None`.
    Trouble(Option<Pause>),
    /// Somebody wants nothing to be sent, or that to end.
    Hold(Hold),
    /// The source is to end, and the load with it.
    EndSource,
    /// Somebody wants the load to end.
    Stop,
}

/// What somebody wants who has the load in hand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hold {
    Pause,
    Resume,
    Toggle,
}

/// A write that has ended.
pub(crate) struct Written {
    pub(crate) result: Result<Checkpoint, String>,
    pub(crate) indices: BTreeMap<String, Option<String>>,
    pub(crate) took: Duration,
}

/// A request to end early.
pub trait StopSignal: Send {
    /// Waits for the request. Does not return where none can come any more.
    fn stopped(&mut self) -> impl Future<Output = ()> + Send;
}

impl StopSignal for watch::Receiver<bool> {
    async fn stopped(&mut self) {
        if self.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Other events that come meanwhile are dropped.
impl StopSignal for mpsc::UnboundedReceiver<Event> {
    async fn stopped(&mut self) {
        while let Some(event) = self.recv().await {
            if matches!(event, Event::Stop) {
                return;
            }
        }
        std::future::pending().await
    }
}
