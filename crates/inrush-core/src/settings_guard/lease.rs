//! What the cluster knows about a guarded index: the lease, one document for each of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The settings of an index, flat (`index.refresh_interval`), every value as text, as the servers keep them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What was set.
    pub set: BTreeMap<String, String>,
    /// What the server assumes where nothing was set.
    pub defaults: BTreeMap<String, String>,
}

impl Settings {
    /// What holds: the value that was set, else the default.
    pub fn effective(&self, name: &str) -> Option<&str> {
        self.set.get(name).or_else(|| self.defaults.get(name)).map(String::as_str)
    }
}

/// One setting that is changed for the time of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The value that was set; `None`: it was not set.
    pub original: Option<String>,
    /// The value for the time of the load.
    pub applied: String,
}

/// Changes by the setting's name.
pub type Changes = BTreeMap<String, Change>;

/// A load that has a share in the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Rises with every sign of life. Whether it has risen is all that matters: clocks are not compared.
    pub beat: u64,
}

/// What happens with a guarded index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Its settings may be changed. Without holders: somebody could not put all of them back.
    Held,
    /// Its settings are being put back.
    Restoring {
        /// By whom.
        by: String,
    },
}

/// The lease: the document in the cluster, under the index's UUID as its id. It is written only by compare-and-set.
///
/// Nobody changes a setting before the lease says what it was, so wherever a loader stops, anyone can put it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The name of the index.
    pub index: String,
    /// What happens with it.
    #[serde(flatten)]
    pub phase: Phase,
    /// Settings that may be changed now, with their originals.
    pub changes: Changes,
    /// The loads that have a share, by their ids.
    pub holders: BTreeMap<String, Holder>,
}

/// Which version of the lease was read or written, for compare-and-set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// `_seq_no`.
    pub seq_no: u64,
    /// `_primary_term`.
    pub primary_term: u64,
}

/// Where the settings of a change stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingState {
    Original,
    Applied,
    /// Somebody else has set it meanwhile: it is theirs now.
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
