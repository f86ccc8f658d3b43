//! What became of the settings that a load changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Settings that a load changed on its index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SettingsReport {
    /// Whether the settings are restored.
    pub restored: SettingsRestored,
    /// The changes, by setting.
    pub changed: BTreeMap<String, SettingChange>,
    /// The changes and the restore, as text.
    pub detail: String,
}

impl SettingsReport {
    /// A report without changes.
    pub fn new(restored: SettingsRestored, detail: String) -> Self {
        SettingsReport { restored, changed: BTreeMap::new(), detail }
    }

    /// This report and another one. The worst result counts. Of a setting that both have changed,
    /// it has the values of this one.
    #[doc(hidden)]
    pub fn with(mut self, other: SettingsReport) -> Self {
        let weight = |restored: SettingsRestored| match restored {
            SettingsRestored::No => 3,
            SettingsRestored::PassedOn => 2,
            SettingsRestored::Yes => 1,
            SettingsRestored::Unchanged => 0,
        };
        if weight(other.restored) > weight(self.restored) {
            self.restored = other.restored;
        }
        for (name, change) in other.changed {
            self.changed.entry(name).or_insert(change);
        }
        self.detail = format!("{}; {}", self.detail, other.detail);
        self
    }
}

/// The change of one setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Value before the load. Null where it was not set.
    pub from: Option<String>,
    /// Value during the load.
    pub to: String,
}

/// Whether the settings of the index are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SettingsRestored {
    /// The load changed them and restored them.
    #[serde(rename = "yes")]
    Yes,
    /// The load changed none.
    #[serde(rename = "unchanged")]
    Unchanged,
    /// Other loads into the index need them. The last one restores them.
    #[serde(rename = "passed on")]
    PassedOn,
    /// The restore failed. Exit status 4, where nothing worse happened.
    #[serde(rename = "no")]
    No,
}
