//! Events of the loop of a load.

use std::collections::BTreeMap;
use std::time::Duration;

use inrush_cluster::api::body_formats::AcceptedFormats;
use inrush_cluster::api::stats::IndexStats;
use inrush_core::flow::{Comparison, Flushed, Over, ReadBack};
use inrush_core::outcome::Attempt;
use inrush_core::{Checkpoint, ItemBlock, Pause};
use inrush_sources::SourceError;
use tokio::sync::{mpsc, watch};

/// An event of the loop of a load.
pub(crate) enum Event {
    /// A block was read and encoded.
    Block { number: u64, block: ItemBlock },
    /// The source has no document for now. `blocks` blocks were read before.
    SourceIdle { blocks: u64 },
    /// The source has ended, or cannot be read any further.
    SourceEnd { blocks: u64, result: Result<(), SourceError> },
    /// A reader panicked.
    ReaderDied,
    /// The result of a request.
    Attempt { request: u64, wall: Duration, node: u16, attempt: Attempt },
    /// The cluster no longer works on a request.
    Gone { request: u64 },
    /// A request without an answer is over, or nothing more can be found out about it.
    Over { request: u64, over: Over },
    /// The ids behind such requests were read.
    ReadBack { request: u64, results: Vec<ReadBack> },
    /// Requests of earlier runs are over, or that is not known, with the reason.
    EarlierOver(Result<(), String>),
    /// Documents of the source and of the index were compared.
    Compared { request: u64, results: Vec<Comparison> },
    /// The result of a flush.
    Flushed { request: u64, flushed: Flushed },
    /// Encodings and compressions that the cluster accepts.
    AcceptedFormats(AcceptedFormats),
    /// An index of a placeholder exists, or cannot be created. The number is its documents before
    /// the load, where they were counted.
    Index { name: String, result: Result<Option<u64>, String> },
    /// A checkpoint was written, or the write failed.
    Checkpoint(Written),
    /// The source got its settled positions. An error means that dead letters could not be synced
    /// before.
    FeedbackSent(Result<(), String>),
    /// Size of an index of a placeholder before the load.
    Size { name: String, size: IndexStats },
    /// A new index has the name of one that documents went to.
    Replaced(String),
    /// Another run of the same load has replaced this one.
    Overtaken,
    /// A condition of the cluster forbids sending, or has passed (`None`).
    ClusterPause(Option<Pause>),
    /// The caller requests a pause or its end.
    PauseRequest(PauseRequest),
    /// The caller ends the source, and with it the load.
    EndSource,
    /// The caller stops the load.
    Stop,
}

/// A pause or resume requested by the caller.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PauseRequest {
    Pause,
    Resume,
    Toggle,
}

/// The result of writing a checkpoint.
pub(crate) struct Written {
    pub(crate) result: Result<Checkpoint, String>,
    pub(crate) indices: BTreeMap<String, Option<String>>,
    pub(crate) took: Duration,
}

/// A request to end early.
pub trait StopSignal: Send {
    /// Waits for the request. Never returns where none can come any more.
    fn stopped(&mut self) -> impl Future<Output = ()> + Send;
}

impl StopSignal for watch::Receiver<bool> {
    async fn stopped(&mut self) {
        if self.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Drops other events that come meanwhile.
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
