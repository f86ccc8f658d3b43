//! Execution of the flow's commands.

use std::sync::Arc;

use inrush_cluster::api::body_formats::probe;
use inrush_cluster::api::{ClusterError, Created, index, primary_terms, stats};
use inrush_cluster::transport::Transport;
use inrush_core::Command;
use inrush_core::flow::Item;

use super::Run;
use crate::compare::Comparer;
use crate::config::IndexCreation;
use crate::event::Event;
use crate::order;

impl Run {
    pub(super) fn execute(&mut self, command: Command) {
        match command {
            Command::Send(request) => {
                self.notifier.sent(&request);
                let (transport, endpoint, sender) =
                    (Arc::clone(&self.transport), Arc::clone(&self.endpoint), self.sender.clone());
                tokio::spawn(async move {
                    let id = request.id;
                    let (wall, node, attempt) = endpoint.send(&transport, request).await;
                    let _ = sender.send(Event::Attempt { request: id, wall, node, attempt });
                });
            }
            Command::AwaitGone { request } => self.watcher.tell_gone(request, self.endpoint.opaque_id(request)),
            Command::AwaitOver { request } => self.watcher.tell_over(request, self.endpoint.opaque_id(request)),
            Command::ReadBack { request, writes } => {
                let (transport, sender, index) =
                    (Arc::clone(&self.transport), self.sender.clone(), self.fixed_index.clone());
                tokio::spawn(async move {
                    let results = order::read_back(&transport, index.as_deref(), &writes).await;
                    let _ = sender.send(Event::ReadBack { request, results });
                });
            }
            Command::Compare { request, items } => self.compare(request, items),
            Command::Flush { request, index } => {
                let (transport, sender) = (Arc::clone(&self.transport), self.sender.clone());
                tokio::spawn(async move {
                    let flushed = primary_terms::flush(&transport, &index).await;
                    let _ = sender.send(Event::Flushed { request, flushed });
                });
            }
            Command::Probe(choices) => {
                let (transport, sender) = (Arc::clone(&self.transport), self.sender.clone());
                let index = self.fixed_index.clone();
                tokio::spawn(async move {
                    let forms = probe(&transport, index.as_deref(), choices.smile, choices.gzip.is_some()).await;
                    let _ = sender.send(Event::AcceptedFormats(forms));
                });
            }
            Command::DeadLetter(letter) => match self.dead_letters.write(&letter) {
                Ok(()) => self.notifier.dead_letter(&letter),
                Err(e) => self.dead_letters_failed(&e),
            },
            Command::Settled(settlement) => {
                if let Some(settlements) = &self.settlements {
                    settlements.send(settlement);
                }
            }
            Command::Note(note) => self.notifier.note(self.now(), &note),
            Command::Sample { request, sample, heard, now } => {
                self.notifier.answered(now, request, &sample, heard, &self.transport);
            }
            Command::Break { now } => self.notifier.measurement_reset(now),
        }
    }

    pub(super) fn create_index(&self, name: String) {
        let (transport, create, sender) = (Arc::clone(&self.patient), Arc::clone(&self.create), self.sender.clone());
        let count = self.count_before;
        let sized = self.sizes_before.contains_key(&name);
        let beginnings = Arc::clone(&self.beginnings);
        tokio::spawn(async move {
            if !sized {
                // Zero documents and bytes where the index does not exist yet.
                let size = stats::stats(&transport.brief(), &name).await.unwrap_or_default();
                let _ = sender.send(Event::Size { name: name.clone(), size });
            }
            let ensured = ensure_index(&transport, &create, &name, count).await;
            if let Ok((is_new, _)) = ensured {
                beginnings.note(&transport, &name, is_new).await;
            }
            let result = ensured.map(|(_, count)| count).map_err(|e| e.to_string());
            let _ = sender.send(Event::Index { name, result });
        });
    }

    /// Refreshes the index while the last requests are in flight, which shortens the refresh at the
    /// end.
    pub(super) fn refresh_early(&mut self) {
        if let Some(index) = self.refresh_early.take() {
            let transport = Arc::clone(&self.transport);
            // The refresh at the end is the one that counts, so an error here does not matter.
            tokio::spawn(async move { stats::refresh(&transport, &index).await });
        }
    }

    fn compare(&self, request: u64, items: Vec<Item>) {
        let (transport, sender, index) = (Arc::clone(&self.transport), self.sender.clone(), self.fixed_index.clone());
        let (beginnings, on_conflict, has_pipeline) =
            (Arc::clone(&self.beginnings), self.on_conflict, self.has_pipeline);
        tokio::spawn(async move {
            let index = index.as_deref();
            let comparer =
                Comparer { transport: &transport, index, on_conflict, has_pipeline, beginnings: &beginnings };
            let results = comparer.compare(&items).await;
            let _ = sender.send(Event::Compared { request, results });
        });
    }
}

/// Creates an index that a document names, where it does not exist. Returns whether it is new, and
/// its documents where the load verifies them (`count`) and the user may count. A user who may
/// write but not read can load all the same; only the verification is missing then.
async fn ensure_index(
    transport: &Transport,
    create: &IndexCreation,
    name: &str,
    count: bool,
) -> Result<(bool, Option<u64>), ClusterError> {
    if !index::exists(transport, name).await?
        && index::create(transport, name, &create.for_index(name)).await? == Created::New
    {
        return Ok((true, Some(0)));
    }
    if !count {
        return Ok((false, None));
    }
    match stats::count_now(transport, name).await {
        Err(e) if e.status() == Some(403) => Ok((false, None)),
        counted => Ok((false, Some(counted?))),
    }
}
