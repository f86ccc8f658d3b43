//! What loads remember of a cluster and an index, and when it applies to another load. This module
//! decides; the engine reads and writes the files.
//!
//! A file holds one [`Remembered`]. Its name follows from the cluster, the target and the kind of
//! load, so that loads of different kinds do not overwrite each other.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::operation::Action;
use crate::tune::{Bounds, Learned};

/// The version of the format that is written, and the only one that is read.
pub const FORMAT: u32 = 1;
/// Older memories are not used, days. Data and traffic of a cluster change.
const DAYS_MAX: u64 = 90;
const DAY_SECONDS: u64 = 24 * 60 * 60;
/// What a load into another index of the cluster learned is used from this measured time on,
/// seconds.
const ELSEWHERE_SECONDS_MIN: f64 = 5.0;
/// The shortest measured time that is worth remembering, seconds.
const SECONDS_MIN: f64 = 0.3;
/// A load that measured for this time, seconds, replaces any memory. A shorter one replaces those
/// of loads that measured for four times as long at most.
const SECONDS_ENOUGH: f64 = 3.0;
/// A way to the cluster that is longer or shorter by this factor, and by more than
/// [`DISTANCE_SECONDS`], is another one.
const DISTANCE_FACTOR: f64 = 3.0;
/// A busy node takes this much longer for a request without work.
const DISTANCE_SECONDS: f64 = 0.03;

/// The properties of a load that its best plan depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadKind {
    /// The action of its documents.
    pub action: Action,
    /// Whether the documents have ids, which the cluster then looks up.
    pub with_ids: bool,
    /// The ingest pipeline that the requests name.
    pub pipeline: Option<String>,
    /// Whether the load is large enough to change settings of the index.
    pub changes_settings: bool,
    /// Whether other loads of the same job run at the same time.
    pub one_of_several: bool,
    /// The bounds of the plan.
    pub bounds: Bounds,
}

/// The cluster and the index, as far as the user may read them. An unknown value differs from no
/// other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// Product and version.
    pub version: String,
    /// Data nodes.
    pub data_nodes: Option<u32>,
    /// Write threads of all data nodes.
    pub write_threads: Option<u32>,
    /// Primary shards of the index.
    pub shards: Option<u32>,
    /// Replicas of each shard.
    pub replicas: Option<u32>,
    /// Duration of a request without work, seconds.
    pub distance_seconds: Option<f64>,
}

impl Topology {
    /// The first difference that makes a memory useless, in words.
    pub fn difference(&self, before: &Topology) -> Option<String> {
        if self.version != before.version {
            return Some(format!("the cluster runs {}, and ran {} before", self.version, before.version));
        }
        let counts = [
            ("data nodes", self.data_nodes, before.data_nodes),
            ("write threads", self.write_threads, before.write_threads),
            ("shards", self.shards, before.shards),
            ("replicas", self.replicas, before.replicas),
        ];
        for (what, now, before) in counts {
            if let (Some(now), Some(before)) = (now, before)
                && now != before
            {
                return Some(format!("{now} {what}, and {before} before"));
            }
        }
        let (now, before) = (self.distance_seconds?, before.distance_seconds?);
        let (short, long) = (now.min(before), now.max(before));
        let other = long > DISTANCE_FACTOR * short + DISTANCE_SECONDS;
        other.then(|| format!("a request without work takes {:.0} ms, and {:.0} before", now * 1e3, before * 1e3))
    }
}

/// A load that looks for a memory, or leaves one.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The UUID of the cluster.
    pub cluster: String,
    /// The target as it was named: an index, an alias, a data stream, or a name with placeholders.
    pub target: String,
    /// The kind of load.
    pub kind: LoadKind,
    /// The cluster and the index.
    pub topology: Topology,
}

/// What one load left for the next one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    format: u32,
    cluster: String,
    target: String,
    kind: LoadKind,
    topology: Topology,
    /// When, seconds since 1970.
    pub at_unix_seconds: u64,
    /// What the load learned.
    pub learned: Learned,
}

/// Why a file is not used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RememberedError {
    /// The text is not what this program writes.
    #[error("it is damaged")]
    Damaged(#[source] serde_json::Error),
    /// Another version of the program wrote it.
    #[error("it has format {found}, and this version of inrush reads format {FORMAT}")]
    Format {
        /// The format of the file.
        found: u32,
    },
    /// A number is none that a load can learn.
    #[error("its numbers are impossible")]
    Unsound,
}

/// The memory for a load.
#[derive(Clone, Debug, PartialEq)]
pub enum Recall {
    /// There is none.
    Nothing,
    /// The cluster or the index has changed since, in this way.
    Changed(String),
    /// The load begins with it.
    Found(Box<Remembered>),
}

#[derive(Deserialize)]
struct Form {
    format: u32,
}

impl Remembered {
    /// What a load at `place` learned.
    pub fn new(place: Place, at_unix_seconds: u64, learned: Learned) -> Self {
        let Place { cluster, target, kind, topology } = place;
        Remembered { format: FORMAT, cluster, target, kind, topology, at_unix_seconds, learned }
    }

    /// Parses a file.
    ///
    /// # Errors
    /// [`RememberedError`]; the memory is not used then.
    pub fn parse(text: &[u8]) -> Result<Self, RememberedError> {
        let form: Form = serde_json::from_slice(text).map_err(RememberedError::Damaged)?;
        if form.format != FORMAT {
            return Err(RememberedError::Format { found: form.format });
        }
        let remembered: Remembered = serde_json::from_slice(text).map_err(RememberedError::Damaged)?;
        if remembered.learned.is_sound() { Ok(remembered) } else { Err(RememberedError::Unsound) }
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        // Numbers and strings always become JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The target of the load that learned this.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether it may replace `old` in its file. What a short load learned does not replace what a
    /// long one did, unless the cluster has changed since.
    pub fn is_worth_more_than(&self, old: Option<&Remembered>) -> bool {
        let needed = match old.filter(|old| self.topology.difference(&old.topology).is_none()) {
            Some(old) => (old.learned.seconds / 4.0).min(SECONDS_ENOUGH),
            None => 0.0,
        };
        self.learned.seconds >= needed.max(SECONDS_MIN)
    }
}

impl Place {
    /// The beginning of the names of all files about this cluster.
    pub fn file_prefix(&self) -> String {
        format!("{}-", hash(&[&self.cluster]))
    }

    /// The name of the file.
    pub fn file_name(&self) -> String {
        // Numbers and strings always become JSON.
        let kind = serde_json::to_string(&self.kind).unwrap_or_default();
        format!("{}{}.json", self.file_prefix(), hash(&[&self.target, &kind]))
    }

    /// The memory that a load at this place begins with: that of its own target, or else the newest
    /// of another target on the same cluster whose index has as many shards and replicas.
    pub fn recall(&self, found: impl IntoIterator<Item = Remembered>, now_unix_seconds: u64) -> Recall {
        let oldest = now_unix_seconds.saturating_sub(DAYS_MAX * DAY_SECONDS);
        let mut elsewhere: Option<Remembered> = None;
        let mut changed = None;
        for memory in found {
            let same = memory.cluster == self.cluster && memory.kind == self.kind;
            // A clock may have been wrong, by less than a day.
            let dated = (oldest..now_unix_seconds.saturating_add(DAY_SECONDS)).contains(&memory.at_unix_seconds);
            if !same || !dated {
                continue;
            }
            let difference = self.topology.difference(&memory.topology);
            if memory.target == self.target {
                match difference {
                    None => return Recall::Found(Box::new(memory)),
                    Some(why) => changed = Some(why),
                }
            } else if difference.is_none()
                && memory.learned.seconds >= ELSEWHERE_SECONDS_MIN
                && elsewhere.as_ref().is_none_or(|other| other.at_unix_seconds < memory.at_unix_seconds)
            {
                elsewhere = Some(memory);
            }
        }
        match (changed, elsewhere) {
            (Some(why), _) => Recall::Changed(why),
            (None, Some(memory)) => Recall::Found(Box::new(memory)),
            (None, None) => Recall::Nothing,
        }
    }
}

/// 64 bits of a hash, in hexadecimal digits.
fn hash(texts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
