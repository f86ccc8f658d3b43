//! Reads shards at the same time, in passes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use http::Method;
use inrush_cluster::api::{ClusterError, changes, index, stats};
use inrush_cluster::clock;
use inrush_core::Code;
use inrush_core::ledger::Partition;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::super::SourceError;
use super::retries::{PAUSE_MIN, pause, retries};
use super::shard::ShardRead;
use super::shared::{Ended, Message, Reading, Shard, is_fatal, search_path};
use super::snapshot::{Snapshot, Snapshots, preference};

/// Largest number of concurrent searches, over all shards.
const SEARCHES: usize = 4;
/// Largest number of passes. Writers that still write after them cause a warning.
const PASSES_MAX: u32 = 10;

/// Index and shard.
type ShardKey = (String, u32);

/// The end of a shard.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// All copies have all operations below this number.
    whole: u64,
    /// One past the highest number.
    max: u64,
}

impl Shard {
    fn key(&self) -> ShardKey {
        (self.index.clone(), self.number)
    }
}

impl Reading {
    /// Reads all shards to their ends.
    pub(super) async fn run(self: Arc<Self>, shards: Vec<Shard>) {
        let result = match Arc::clone(&self).passes(shards).await {
            Ok(()) => Ok(()),
            Err(Ended::Failed(error)) => Err(error),
            Err(Ended::Gone) => return,
        };
        // The source may be dropped.
        let _ = self.messages.send(Message::End(result));
    }

    async fn passes(self: Arc<Self>, mut shards: Vec<Shard>) -> Result<(), Ended> {
        let snapshots = match (Snapshots::of(&self.info), shards.first()) {
            (Snapshots::None, _) | (_, None) => Snapshots::None,
            (snapshots, Some(shard)) => self.try_snapshot(snapshots, shard).await?,
        };
        // A change under a search without a point in time has a new sequence number, beyond those
        // searched.
        let again = self.catch_up || snapshots == Snapshots::None;
        for pass in 1.. {
            let ends = self.ends(&shards, again).await?;
            let last = !again || pass == PASSES_MAX;
            if again {
                let end = |shard: &Shard| ends.get(&shard.key()).copied().unwrap_or_default();
                let left: u64 = shards.iter().map(|shard| end(shard).max.saturating_sub(shard.next)).sum();
                if left == 0 {
                    break;
                }
                if pass > 1 {
                    tracing::info!("{}: pass {pass}, for {left} operations that arrived meanwhile", self.expression);
                }
                if last {
                    self.warnings.add(&self.expression, "still_written", "", left, || {
                        format!("after {PASSES_MAX} passes the index is still written to, and documents that are written from now on are not read; stop the writers, and load the index once more")
                    });
                } else if shards.iter().all(|shard| end(shard).whole <= shard.next) {
                    // Operations are being written at this moment.
                    clock::sleep(PAUSE_MIN).await;
                    continue;
                }
            }
            shards = self.pass(shards, if last { None } else { Some(&ends) }, snapshots).await?;
            if last {
                break;
            }
        }
        Ok(())
    }

    /// The lowest numbers that later operations can have.
    pub(super) async fn numbers(&self, shards: &[Shard]) -> Result<BTreeMap<Partition, u64>, SourceError> {
        let ends = match self.ends(shards, true).await {
            Ok(ends) => ends,
            Err(Ended::Failed(error)) => return Err(error),
            // Nothing has been read that could be dropped.
            Err(Ended::Gone) => BTreeMap::new(),
        };
        let end = |shard: &Shard| Some(((shard.source, shard.number), ends.get(&shard.key())?.max));
        Ok(shards.iter().filter_map(end).collect())
    }

    /// Whether the user may open points in time.
    async fn try_snapshot(&self, snapshots: Snapshots, shard: &Shard) -> Result<Snapshots, Ended> {
        let preference = preference(self.info.product, shard.number);
        let why = match snapshots.open(&self.transport, &shard.index, &preference).await {
            Ok(Some(snapshot)) => {
                snapshot.close(&self.transport).await;
                return Ok(snapshots);
            }
            Ok(None) => return Ok(snapshots),
            Err(error) if error.cannot_be_asked() && error.status() != Some(404) => error.to_string(),
            // The first page meets other errors again, and retries.
            Err(_) => return Ok(snapshots),
        };
        tracing::warn!(
            "{why}; the index is read without a point in time, and documents that change meanwhile are read again"
        );
        Ok(Snapshots::None)
    }

    /// One pass over all shards, some of them at the same time, up to `ends`, or to all visible
    /// documents.
    async fn pass(
        self: &Arc<Self>,
        shards: Vec<Shard>,
        ends: Option<&BTreeMap<ShardKey, End>>,
        snapshots: Snapshots,
    ) -> Result<Vec<Shard>, Ended> {
        let depth = SEARCHES.div_ceil(shards.len().max(1));
        let mut waiting: VecDeque<Shard> = shards.into();
        let mut running = JoinSet::new();
        let mut done = Vec::new();
        loop {
            while running.len() < SEARCHES {
                let Some(shard) = waiting.pop_front() else { break };
                let end = ends.map(|ends| ends.get(&shard.key()).copied().unwrap_or_default().whole);
                let work = ShardRead { reading: Arc::clone(self), shard, end, snapshots, depth };
                running.spawn(work.run());
            }
            match running.join_next().await {
                None => break,
                Some(Ok(shard)) => done.push(shard?),
                // After a panic the documents of that shard are missing.
                Some(Err(error)) => {
                    return Err(self.failed(
                        Code::Defect,
                        format!("a reading task panicked: {error}; this is a defect of inrush; please report it"),
                    ));
                }
            }
        }
        done.sort_by_key(|shard| (shard.source, shard.number));
        Ok(done)
    }

    /// Refreshes the index, and returns the ends of the shards before the refresh. Without `needed`
    /// it returns none.
    async fn ends(&self, shards: &[Shard], needed: bool) -> Result<BTreeMap<ShardKey, End>, Ended> {
        let mut retries = retries(self.retry_for);
        loop {
            match self.ask_ends(shards, needed).await {
                Ok(ends) => return Ok(ends),
                Err(error) if is_fatal(&error) => return Err(self.failed(error.code(), error.to_string())),
                Err(error) => {
                    pause(&mut retries, error.to_string(), None).await.map_err(|why| self.failed(error.code(), why))?
                }
            }
        }
    }

    async fn ask_ends(&self, shards: &[Shard], needed: bool) -> Result<BTreeMap<ShardKey, End>, ClusterError> {
        for (name, uuid) in index::uuids(&self.transport, &self.expression).await? {
            if self.uuids.get(&name).is_some_and(|known| *known != uuid) {
                let problem =
                    "it was deleted and created again while it was read; load it from the beginning".to_owned();
                return Err(ClusterError::Target { name, problem });
            }
        }
        let ends = if needed { self.ends_now(shards).await? } else { BTreeMap::new() };
        match stats::refresh(&self.transport, &self.expression).await {
            Ok(_) => {}
            Err(error) if error.status() == Some(403) => {
                self.warnings.add(&self.expression, "not_refreshed", "", 1, || {
                    format!("the last documents may be missing, because this user may not refresh the index ({error}); grant the privilege maintenance, or refresh the index before")
                });
            }
            Err(error) => return Err(error),
        }
        Ok(ends)
    }

    async fn ends_now(&self, shards: &[Shard]) -> Result<BTreeMap<ShardKey, End>, ClusterError> {
        let copies = match changes::copies(&self.transport, &self.expression).await {
            Ok(copies) => copies.shards,
            // A user without the privilege for statistics gets the ends that a search shows.
            Err(error) if error.status() == Some(403) => {
                tracing::debug!("{error}; the ends of the shards are read by a search");
                let mut ends = BTreeMap::new();
                for shard in shards {
                    let end = self.last_number(shard, None).await?;
                    ends.insert(shard.key(), End { whole: end, max: end });
                }
                return Ok(ends);
            }
            Err(error) => return Err(error),
        };
        let end = |shard: &Shard| {
            let primary = copies.get(&shard.key())?.iter().find(|copy| copy.primary)?;
            // -1 means no operation.
            let after = |number: i64| u64::try_from(number + 1).unwrap_or(0);
            Some((shard.key(), End { whole: after(primary.on_all_up_to), max: after(primary.max) }))
        };
        let ends: BTreeMap<ShardKey, End> = shards.iter().filter_map(end).collect();
        if ends.len() < shards.len() {
            // The state may pass, like a reply of the cluster with this status.
            let what = format!("reading {}", self.expression);
            let reason = ": not all of its primary shards are active; wait until they are".to_owned();
            return Err(ClusterError::Refused { what, status: 503, reason, code: Code::RequestRefused });
        }
        Ok(ends)
    }

    /// One past the highest sequence number that a search shows.
    pub(super) async fn last_number(&self, shard: &Shard, snapshot: Option<&Snapshot>) -> Result<u64, ClusterError> {
        let what = format!("reading the end of {}", shard.index);
        let mut body = json!({"size": 1, "sort": [{"_seq_no": "desc"}], "_source": false, "track_total_hits": false, "seq_no_primary_term": true});
        if let Some(snapshot) = snapshot {
            body["pit"] = snapshot.value();
        }
        let path = search_path(shard, self.info.product, snapshot.is_some());
        let reply = self.transport.demand(&what, Method::POST, &path, Some(&body)).await?;
        Ok(reply.pointer("/hits/hits/0/_seq_no").and_then(Value::as_u64).map_or(0, |number| number + 1))
    }
}
