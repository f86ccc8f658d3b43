//! The wait for requests that other runs sent: one that was killed, or another member of a group
//! that read the partition before. Such a request may hold older content of an id.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use inrush_core::ItemBlock;
use inrush_core::ledger::Partition;

use super::Run;
use crate::checkpoint::Checkpointer;
use crate::event::Event;
use crate::over;

/// Whether other runs may have sent requests that still run.
#[derive(Debug)]
pub(crate) enum EarlierRuns {
    /// There were none, or they are over.
    None { failure: Option<String> },
    /// A run of the same load ended before. Nothing is sent before its requests are over.
    OneRun { asked: bool },
    /// Other members of a group read partitions before. Each new partition waits.
    Members { over: BTreeSet<Partition>, asked: Option<BTreeSet<Partition>>, failure: Option<String> },
}

impl EarlierRuns {
    /// Of a load whose source is shared with others, or that may go on where another run ended.
    pub(crate) fn of(is_shared: bool, checkpointer: Option<&Checkpointer>) -> Self {
        match checkpointer.is_some_and(Checkpointer::is_resumed) {
            _ if is_shared => EarlierRuns::Members { over: BTreeSet::new(), asked: None, failure: None },
            true => EarlierRuns::OneRun { asked: false },
            false => EarlierRuns::None { failure: None },
        }
    }

    /// The wait has ended.
    pub(super) fn ended(&mut self, result: Result<(), String>) {
        match self {
            EarlierRuns::None { .. } => {}
            EarlierRuns::OneRun { .. } => *self = EarlierRuns::None { failure: result.err() },
            EarlierRuns::Members { over, asked, failure } => {
                over.extend(asked.take().unwrap_or_default());
                *failure = failure.take().or(result.err());
            }
        }
    }

    /// Why it is not known whether earlier requests are over.
    pub(super) fn failure(&self) -> Option<String> {
        match self {
            EarlierRuns::None { failure } | EarlierRuns::Members { failure, .. } => failure.as_ref().map(|why| {
                format!(
                    "requests that an earlier run sent may still be carried out, after newer operations on the same \
                     ids: {why}"
                )
            }),
            EarlierRuns::OneRun { .. } => None,
        }
    }
}

impl Run {
    /// Whether documents of the partition have to wait. Begins to wait where that is needed.
    /// `waiting`: the blocks that have arrived.
    pub(super) fn waits_for_earlier(&mut self, partition: Partition, waiting: &VecDeque<ItemBlock>) -> bool {
        if !self.flow.keeps_order() {
            return false;
        }
        match &mut self.earlier {
            EarlierRuns::None { .. } => return false,
            EarlierRuns::Members { over, .. } if over.contains(&partition) => return false,
            EarlierRuns::OneRun { asked: true } | EarlierRuns::Members { asked: Some(_), .. } => return true,
            EarlierRuns::OneRun { asked } => *asked = true,
            EarlierRuns::Members { asked, .. } => {
                *asked = Some(waiting.iter().map(ItemBlock::partition).collect());
            }
        }
        let (transport, sender) = (Arc::clone(&self.transport), self.sender.clone());
        let (own, longest) = (self.endpoint.opaque_prefix(), self.request_timeout);
        tokio::spawn(async move {
            let result = over::earlier_requests_are_over(&transport, &own, longest).await;
            let _ = sender.send(Event::EarlierOver(result));
        });
        true
    }
}
