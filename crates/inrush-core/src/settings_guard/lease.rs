//! The lease: one document in the cluster for each guarded index.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The settings of an index by flat name (`index.refresh_interval`). Values are text, as servers
/// store them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Settings with a value.
    pub set: BTreeMap<String, String>,
    /// Defaults of the server.
    pub defaults: BTreeMap<String, String>,
}

impl Settings {
    /// The effective value: the one that was set, else the default.
    pub fn effective(&self, name: &str) -> Option<&str> {
        self.set.get(name).or_else(|| self.defaults.get(name)).map(String::as_str)
    }
}

/// What a lease is about. The graphs of vectors have a lease of their own: they are restored before
/// the segments are merged, and the settings after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The settings of the index.
    Settings,
    /// When the graphs of its vectors are built.
    Graphs,
}

/// What the id of a lease of graphs ends with. A UUID has no dot.
const OF_GRAPHS: &str = ".graphs";

impl Part {
    /// The id of the lease on this part of the index with this UUID.
    pub fn lease_id(self, uuid: &str) -> String {
        match self {
            Part::Settings => uuid.to_owned(),
            Part::Graphs => format!("{uuid}{OF_GRAPHS}"),
        }
    }

    /// The UUID of the index of a lease, and its part.
    pub fn of(lease_id: &str) -> (&str, Part) {
        match lease_id.strip_suffix(OF_GRAPHS) {
            Some(uuid) => (uuid, Part::Graphs),
            None => (lease_id, Part::Settings),
        }
    }
}

/// A setting that is changed during a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The value before; `None` if it was not set.
    pub original: Option<String>,
    /// The value during the load.
    pub applied: String,
}

/// Changes by the name of the setting.
pub type Changes = BTreeMap<String, Change>;

/// A load that holds a share of the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Increases with every heartbeat. Only the increase matters: clocks are not compared.
    pub beat: u64,
}

/// The phase of a guarded index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Its settings may be changed. Without holders: a restore was incomplete.
    Held,
    /// Its settings are being restored.
    Restoring {
        /// The guard that restores them.
        by: String,
    },
}

/// The lease, a document with the index's UUID as its id, and its [`Part`]. It is written by
/// compare-and-set only.
///
/// No setting is changed before the lease records its original value. So anyone can restore the
/// settings wherever a loader stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The name of the index.
    pub index: String,
    /// The phase.
    #[serde(flatten)]
    pub phase: Phase,
    /// Settings that may be changed at the moment, with their originals.
    pub changes: Changes,
    /// The loads that hold a share, by id.
    pub holders: BTreeMap<String, Holder>,
}

/// The version of a lease, for compare-and-set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// `_seq_no`.
    pub seq_no: u64,
    /// `_primary_term`.
    pub primary_term: u64,
}

/// The current value of a changed setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingState {
    Original,
    Applied,
    /// Someone else set it in the meantime, so it is not restored.
    Foreign,
}

impl Change {
    pub(super) fn state(&self, name: &str, settings: &Settings) -> SettingState {
        let now = settings.set.get(name);
        if now == Some(&self.applied) {
            SettingState::Applied
        } else if now == self.original.as_ref() {
            SettingState::Original
        } else {
            SettingState::Foreign
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_an_index_has_a_lease() {
        for part in [Part::Settings, Part::Graphs] {
            assert_eq!(Part::of(&part.lease_id("u-1_x")), ("u-1_x", part));
        }
    }

    #[test]
    fn the_document_is_plain_json() {
        let lease = Lease {
            index: "trips".into(),
            phase: Phase::Restoring { by: "a".into() },
            changes: Changes::from([(
                "index.refresh_interval".into(),
                Change { original: None, applied: "60s".into() },
            )]),
            holders: BTreeMap::from([("b".into(), Holder { beat: 3 })]),
        };
        let text = serde_json::to_string(&lease).unwrap();
        assert_eq!(
            text,
            r#"{"index":"trips","phase":"restoring","by":"a","changes":{"index.refresh_interval":{"original":null,"applied":"60s"}},"holders":{"b":{"beat":3}}}"#
        );
        assert_eq!(serde_json::from_str::<Lease>(&text).unwrap(), lease);
    }
}
