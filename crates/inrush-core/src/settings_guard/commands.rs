//! Commands of a guard, their replies, and the guard's outcome.

use std::collections::BTreeMap;
use std::mem;

use super::lease::{Changes, Lease, Settings, Version};
use super::policy::GROUPS;
use crate::time::Time;

/// The purpose of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A load runs: hold a share of the lease.
    Hold,
    /// The load has ended: restore the settings, unless others still hold the lease.
    Leave,
    /// Restore what others left.
    Recover,
}

/// The next action for a guard, one at a time. Each is answered with a [`Reply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read the current lease from its shard.
    ReadLease,
    /// Read the settings of the index, including defaults.
    ReadSettings,
    /// Write the lease.
    WriteLease {
        /// The content.
        lease: Lease,
        /// The condition of the write.
        over: Precondition,
    },
    /// Delete the lease if it still has this version.
    DeleteLease {
        /// The version.
        version: Version,
    },
    /// Change settings of the index, all or none.
    Put {
        /// By name; `None` resets a setting to its default.
        values: BTreeMap<String, Option<String>>,
        /// The changes that the lease records.
        changes: Changes,
    },
    /// Do nothing until this time, then answer [`Reply::Due`].
    Wait {
        /// The end of the wait.
        until: Time,
    },
}

/// The precondition of a write of the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// There is no lease (`op_type=create`).
    Absent,
    /// The lease has this version (`if_seq_no`, `if_primary_term`).
    Version(Version),
}

/// The result of a [`Command`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The lease, or `None`.
    Lease(Option<(Lease, Version)>),
    /// The settings.
    Settings(Settings),
    /// The lease was written and now has this version.
    Written(Version),
    /// The lease was deleted.
    Deleted,
    /// Another writer was faster.
    Conflict,
    /// The settings were changed.
    Put,
    /// The server refuses the settings, with its reason.
    Refused(String),
    /// The index was deleted, or another index has its name.
    Gone,
    /// No usable answer after all tries, with the reason. The command may have been executed.
    Failed(String),
    /// The wait is over.
    Due,
}

/// The outcome of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardOutcome {
    /// Nothing was changed, so nothing had to be restored.
    Nothing,
    /// Everything is restored, except settings that someone else set in the meantime.
    Restored {
        /// The names of those settings.
        foreign: Vec<String>,
    },
    /// Others hold the lease or are restoring. The last holder restores.
    PassedOn {
        /// The number of holders; 0 if one is restoring.
        holders: usize,
    },
    /// Some settings were refused. They stay in the lease.
    NotRestored {
        /// The server's reasons, by setting.
        refused: BTreeMap<String, String>,
    },
    /// The cluster gave no usable answer, with the reason. The lease records the originals.
    Unknown(String),
}

/// Settings on their way to the server: all at once, or in groups if the server refuses that.
#[derive(Clone, Debug, Default)]
pub(super) struct Puts {
    pub(super) now: BTreeMap<String, Option<String>>,
    next: Vec<BTreeMap<String, Option<String>>>,
    split: bool,
    pub(super) refused: BTreeMap<String, String>,
}

impl Puts {
    pub(super) fn new(values: BTreeMap<String, Option<String>>) -> Self {
        Puts { now: values, ..Puts::default() }
    }

    /// Moves on after an answer. Returns whether `now` has more settings to change.
    pub(super) fn advance(&mut self, refused: Option<String>) -> bool {
        let done = mem::take(&mut self.now);
        match refused {
            Some(_) if !self.split && done.len() > 1 => {
                let known = |name: &String| GROUPS.iter().position(|group| group.contains(&name.as_str()));
                let mut groups: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
                for (name, value) in done {
                    groups.entry(known(&name).ok_or_else(|| name.clone())).or_default().insert(name, value);
                }
                self.next = groups.into_values().rev().collect();
                self.split = true;
            }
            Some(why) => self.refused.extend(done.into_keys().map(|name| (name, why.clone()))),
            None => {}
        }
        match self.next.pop() {
            Some(next) => {
                self.now = next;
                true
            }
            None => false,
        }
    }
}
