//! What a guard asks for, what it is answered, and how it ends.

use std::collections::BTreeMap;
use std::mem;

use super::lease::{Changes, Lease, Settings, Version};
use super::policy::GROUPS;
use crate::time::Time;

/// What a guard is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A load runs: hold a share in the lease.
    Hold,
    /// The load has ended: put the settings back, unless others still hold them.
    Leave,
    /// Put back what others left.
    Recover,
}

/// What is to be done for a guard, one thing at a time; each is answered with a [`Reply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read the lease, as it is on its shard now.
    ReadLease,
    /// Read the settings of the index, with defaults.
    ReadSettings,
    /// Write the lease.
    WriteLease {
        /// Its content.
        lease: Lease,
        /// What it may replace.
        over: Precondition,
    },
    /// Delete the lease if it is still this version.
    DeleteLease {
        /// The version.
        version: Version,
    },
    /// Change settings of the index, all or none.
    Put {
        /// By name; `None` puts a setting back to not set.
        values: BTreeMap<String, Option<String>>,
        /// What is written down in the lease now.
        changes: Changes,
    },
    /// Do nothing until then, and answer [`Reply::Due`].
    Wait {
        /// When.
        until: Time,
    },
}

/// What a write of the lease may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Only if there is none (`op_type=create`).
    Absent,
    /// Only this version (`if_seq_no`, `if_primary_term`).
    Version(Version),
}

/// What came of a [`Command`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The lease, or none.
    Lease(Option<(Lease, Version)>),
    /// The settings.
    Settings(Settings),
    /// The lease was written and has this version now.
    Written(Version),
    /// The lease was deleted.
    Deleted,
    /// Somebody else was faster.
    Conflict,
    /// The settings were changed.
    Put,
    /// The server refuses these settings, and why.
    Refused(String),
    /// The index is gone, or another one has its name.
    Gone,
    /// No answer, or none that can be used, after all tries: what was asked for may have been done.
    Failed(String),
    /// The wait is over.
    Due,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was changed, so there was nothing to put back.
    Nothing,
    /// Everything is as it was, but for settings that somebody else has set meanwhile: those were left.
    Restored {
        /// Their names.
        foreign: Vec<String>,
    },
    /// Others hold the lease, or are putting back: the last one does it.
    PassedOn {
        /// How many hold it; none: one is putting back.
        holders: usize,
    },
    /// Some settings were refused; they stay in the lease.
    NotRestored {
        /// The server's reasons, by setting.
        refused: BTreeMap<String, String>,
    },
    /// The cluster gave no answer; the lease holds the originals.
    Unknown(String),
}

/// Settings on their way: all at once, or by groups where the server refuses that.
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

    /// Whether more is to be put after this answer; it is in `now` then.
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
