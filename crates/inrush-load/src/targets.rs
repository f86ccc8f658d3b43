//! The indices that get documents during a load, and the conditions that forbid writing to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::health::{Health, Observer};
use inrush_cluster::api::index;
use inrush_cluster::clock;
use inrush_cluster::transport::Transport;
use inrush_core::Pause;
use inrush_core::report::IndexCounts;
use tokio::sync::{mpsc, watch};

use crate::event::Event;

/// The indices that the load writes to, for the tasks that watch them.
pub(crate) struct Targets {
    names: watch::Sender<Vec<String>>,
    /// Only the newest index is written to, because a rollover replaces one by the next.
    newest_only: bool,
    seen: BTreeSet<String>,
}

impl Targets {
    /// `first` is the index that is known before the first document. `earlier` has the indices of
    /// earlier runs.
    pub(crate) fn new<'a>(
        first: Option<&str>,
        newest_only: bool,
        earlier: impl IntoIterator<Item = &'a String>,
    ) -> Self {
        let first: Vec<String> = first.into_iter().map(str::to_owned).collect();
        let mut seen: BTreeSet<String> = earlier.into_iter().cloned().collect();
        seen.extend(first.iter().cloned());
        Targets { names: watch::Sender::new(first), newest_only, seen }
    }

    /// Reports the names at each new one, the newest last. The channel closes with the load.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Vec<String>> {
        self.names.subscribe()
    }

    /// Handles the indices that have got documents.
    pub(crate) fn update(&mut self, indices: &BTreeMap<String, IndexCounts>) {
        // `indices` never shrinks, so an equal length means no new name.
        if indices.len() <= self.seen.len() && indices.keys().all(|name| self.seen.contains(name)) {
            return;
        }
        for name in indices.keys() {
            if self.seen.insert(name.clone()) {
                self.names.send_modify(|names| {
                    if self.newest_only {
                        names.clear();
                    }
                    names.push(name.clone());
                });
            }
        }
    }
}

/// Message for a load whose index was deleted and created again.
pub(crate) fn replaced(name: &str) -> String {
    format!(
        "the index {name} was deleted during the load, and another index has its name now, without the documents that \
         were sent before; create the index as it should be, and load from the beginning"
    )
}

/// The first index whose name now belongs to another index. An index that cannot be read counts as
/// unchanged.
pub(crate) async fn another_index(transport: &Transport, uuids: &BTreeMap<String, String>) -> Option<String> {
    for (name, uuid) in uuids {
        let now = index::uuids(transport, name).await.unwrap_or_default();
        if now.get(name).is_some_and(|now| now != uuid) {
            return Some(name.clone());
        }
    }
    None
}

/// Checks the indices at the interval `every` until the load ends. It reports conditions that
/// forbid writing, and an index that replaces one in `uuids`.
pub(crate) async fn observe(
    transport: Arc<Transport>,
    names: watch::Receiver<Vec<String>>,
    uuids: BTreeMap<String, String>,
    every: Duration,
    events: mpsc::UnboundedSender<Event>,
) {
    let mut observer = Observer::new(Arc::clone(&transport));
    let (mut known, mut last) = (None, None);
    loop {
        let now = names.borrow().clone();
        let health = tokio::select! {
            () = events.closed() => return,
            health = observer.look(&now) => health,
        };
        if let Some(name) = another_index(&transport, &uuids).await {
            // The load may have ended.
            let _ = events.send(Event::Replaced(name));
            return;
        }
        let pause = pause(health, &mut known);
        if pause != last {
            last.clone_from(&pause);
            // The next wait returns where the load has ended.
            let _ = events.send(Event::ClusterPause(pause));
        }
        tokio::select! {
            () = events.closed() => return,
            () = clock::sleep(every) => {}
        }
    }
}

/// The pause for what a look has found. `known` is the trouble that the last answer told: without
/// an answer it lasts, and the reason says that it may be out of date.
fn pause(health: Health, known: &mut Option<Pause>) -> Option<Pause> {
    match health {
        Health::Fine => *known = None,
        Health::Trouble(pause) => *known = Some(pause),
        Health::Unknown => {
            let Pause { kind, why } = known.clone()?;
            return Some(Pause { kind, why: format!("the cluster does not answer; its last answer was: {why}") });
        }
    }
    known.clone()
}

#[cfg(test)]
mod tests {
    use inrush_core::PauseKind;

    use super::*;

    #[test]
    fn a_reason_is_marked_as_old_while_the_cluster_is_away() {
        let mut known = None;
        let red = || Pause { kind: PauseKind::IndexRed, why: "the index a is red".to_owned() };
        assert_eq!(pause(Health::Unknown, &mut known), None, "the flow notices that itself");
        assert_eq!(pause(Health::Trouble(red()), &mut known), Some(red()));
        for _ in 0..2 {
            let away = pause(Health::Unknown, &mut known).unwrap();
            let why = "the cluster does not answer; its last answer was: the index a is red";
            assert_eq!((away.kind, away.why.as_str()), (PauseKind::IndexRed, why));
        }
        assert_eq!(pause(Health::Trouble(red()), &mut known), Some(red()));
        assert_eq!(pause(Health::Fine, &mut known), None);
        assert_eq!(pause(Health::Unknown, &mut known), None);
    }

    #[test]
    fn each_index_is_told_once_and_of_a_data_stream_the_newest() {
        let indices = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), IndexCounts::default())).collect();
        let earlier = ["a-1".to_owned()];
        let mut all = Targets::new(None, false, &earlier);
        let names = all.subscribe();
        all.update(&indices(&["a-1", "a-3"]));
        all.update(&indices(&["a-1", "a-2", "a-3"]));
        assert_eq!(*names.borrow(), ["a-3", "a-2"]);
        let mut stream = Targets::new(Some("a-2"), true, &earlier);
        let names = stream.subscribe();
        stream.update(&indices(&["a-1", "a-2"]));
        assert!(!names.has_changed().unwrap());
        stream.update(&indices(&["a-1", "a-2", "a-3"]));
        assert_eq!(*names.borrow(), ["a-3"]);
        drop(stream);
        assert!(names.has_changed().is_err());
    }
}
