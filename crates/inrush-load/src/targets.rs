//! Which indices take the documents while a load goes on, and whether this is a time to write to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::health::{Health, Observer};
use inrush_cluster::api::index;
use inrush_cluster::transport::Transport;
use inrush_core::report::IndexCounts;
use tokio::sync::{mpsc, watch};

use crate::event::Event;

/// The indices that are written to, for whoever looks after them.
pub(crate) struct Targets {
    names: watch::Sender<Vec<String>>,
    /// One index takes the place of another, as those of a data stream do: only the newest one counts.
    newest_only: bool,
    seen: BTreeSet<String>,
}

impl Targets {
    /// `first`: what is written to as far as that is known before the first document. `earlier`: what earlier runs wrote to.
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

    /// The names, the newest last, whenever there is another one. The channel ends with the load.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Vec<String>> {
        self.names.subscribe()
    }

    /// Takes the indices that have taken documents.
    pub(crate) fn update(&mut self, indices: &BTreeMap<String, IndexCounts>) {
        // None is ever forgotten, so nothing else can be new.
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

/// What a load is told whose index was deleted and made anew.
pub(crate) fn replaced(name: &str) -> String {
    format!(
        "the index {name} was deleted during the load, and there is another one of its name now, which the server makes \
         without the mapping and the settings that {name} had; make it as it has to be, and load from the beginning"
    )
}

/// Whether another index has the name of one of these by now. What cannot be asked is no other one.
pub(crate) async fn another_index(transport: &Transport, uuids: &BTreeMap<String, String>) -> Option<String> {
    for (name, uuid) in uuids {
        let now = index::uuids(transport, name).await.unwrap_or_default();
        if now.get(name).is_some_and(|now| now != uuid) {
            return Some(name.clone());
        }
    }
    None
}

/// Looks every `every`, and tells the load of trouble and of an index that takes the place of one in `uuids`, until nobody listens.
pub(crate) async fn observe(
    transport: Arc<Transport>,
    names: watch::Receiver<Vec<String>>,
    uuids: BTreeMap<String, String>,
    every: Duration,
    events: mpsc::UnboundedSender<Event>,
) {
    let mut observer = Observer::new(Arc::clone(&transport));
    let mut told = None;
    loop {
        let now = names.borrow().clone();
        let looked = tokio::select! {
            () = events.closed() => return,
            health = observer.look(&now) => health,
        };
        if let Some(name) = another_index(&transport, &uuids).await {
            // Whether anybody listens does not matter.
            let _ = events.send(Event::Replaced(name));
            return;
        }
        let trouble = match looked {
            Health::Fine => None,
            Health::Trouble(pause) => Some(pause),
            Health::Unknown => told.clone(),
        };
        if trouble != told {
            told.clone_from(&trouble);
            // Whether anybody listens is looked at below.
            let _ = events.send(Event::Trouble(trouble));
        }
        tokio::select! {
            () = events.closed() => return,
            () = tokio::time::sleep(every) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
