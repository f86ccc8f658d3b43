//! Changes of the indices that got the documents of an earlier run.

use std::collections::BTreeMap;

use inrush_cluster::api::{ClusterError, index};
use inrush_cluster::transport::Transport;

/// Changes of the indices that got documents.
pub(super) enum IndexChange {
    /// No change was found.
    Same,
    /// None of them exists any more, and why that is known.
    Gone(String),
    /// One was replaced or deleted while others exist, so documents may be indexed.
    Changed(String),
}

impl IndexChange {
    /// Compares the UUIDs of the indices with those of the run.
    pub(super) async fn find(
        indices: &BTreeMap<String, Option<String>>,
        transport: &Transport,
    ) -> Result<IndexChange, ClusterError> {
        let (mut gone, mut why) = (0, None);
        for (name, before) in indices {
            let Some(before) = before else { continue };
            let problem = match index::uuids(transport, name).await {
                // An index whose metadata the user may not read any more may still accept writes.
                Err(e) if e.status() == Some(403) => continue,
                found => match found?.get(name) {
                    Some(now) if now == before => continue,
                    Some(_) => "was deleted and created again",
                    None => {
                        gone += 1;
                        "does not exist any more"
                    }
                },
            };
            why.get_or_insert_with(|| format!("the index {name} {problem}"));
        }
        Ok(match why {
            None => IndexChange::Same,
            Some(why) if gone == indices.len() => IndexChange::Gone(why),
            Some(why) => IndexChange::Changed(why),
        })
    }

    /// The change, as text.
    pub(super) fn problem(&self) -> Option<&str> {
        match self {
            IndexChange::Same => None,
            IndexChange::Gone(why) | IndexChange::Changed(why) => Some(why),
        }
    }
}
