//! Reads shards side by side, each in the order of its sequence numbers, a few pages ahead.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use inrush_core::block::Origin;
use inrush_core::{DocBlock, SourceId};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};

use super::super::{SourceError, Warnings};
use super::pace::Pace;
use super::page::{Ask, Page, Window};
use super::snapshot::{Snapshot, Snapshots, preference};
use crate::cluster::{ClusterError, ClusterInfo, Product, changes, index, stats};
use crate::transport::{HttpErrorKind, Request, Transport, path_segment};

/// Searches under way at once, over all shards.
const SEARCHES: usize = 4;
/// After so many passes, whoever writes to the source all the time is told instead of waited for.
const PASSES_MAX: u32 = 10;
/// Pauses between tries double from the first to the second.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// What the reading tasks tell the source.
pub(super) enum Message {
    /// Documents; the permit is for the memory that they take.
    Block(DocBlock, OwnedSemaphorePermit),
    /// Nothing more comes.
    End(Result<(), SourceError>),
}

/// A shard, and how far it is read.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    pub(super) source: SourceId,
    pub(super) index: String,
    pub(super) number: u32,
    /// The first sequence number that was not read yet.
    pub(super) next: u64,
    pub(super) filter: Option<Value>,
    pub(super) pace: Pace,
}

/// Index and shard.
type ShardKey = (String, u32);

/// Where a shard ends.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// Everything below this number is on all of its copies.
    whole: u64,
    /// One past the highest number.
    max: u64,
}

impl Shard {
    fn key(&self) -> ShardKey {
        (self.index.clone(), self.number)
    }
}

/// What all tasks share.
pub(super) struct Reading {
    pub(super) transport: Transport,
    pub(super) info: ClusterInfo,
    pub(super) expression: String,
    pub(super) ask: Ask,
    /// The indices, and what tells each from a later one of the same name.
    pub(super) uuids: BTreeMap<String, String>,
    /// Read what changed meanwhile as well.
    pub(super) catch_up: bool,
    pub(super) retry_for: Duration,
    pub(super) warnings: Warnings,
    /// A permit a page.
    pub(super) pages: Arc<Semaphore>,
    pub(super) messages: mpsc::UnboundedSender<Message>,
}

/// Why a page was not read.
enum Trouble {
    /// The same may work a little later.
    Later { why: String, after: Option<Duration> },
    /// It may work with fewer documents.
    TooMuch { why: String },
    /// The point in time is gone.
    SnapshotLost { why: String },
    /// It will not work.
    Fatal(String),
}

/// Nobody takes what is read any more.
struct Gone;

enum Ended {
    Gone,
    Failed(SourceError),
}

impl From<Gone> for Ended {
    fn from(_: Gone) -> Self {
        Ended::Gone
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
        // A source that is dropped waits for nothing.
        let _ = self.messages.send(Message::End(result));
    }

    async fn passes(self: Arc<Self>, mut shards: Vec<Shard>) -> Result<(), Ended> {
        let snapshots = match (Snapshots::of(&self.info), shards.first()) {
            (Snapshots::None, _) | (_, None) => Snapshots::None,
            (snapshots, Some(shard)) => self.try_snapshot(snapshots, shard).await?,
        };
        // What changes under a search without a point in time has a new sequence number, beyond what was searched.
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
                    tracing::info!("{}: pass {pass} for {left} operations that came meanwhile", self.expression);
                }
                if last {
                    self.warnings.add(&self.expression, "still_written", "", left, || {
                        format!("after {PASSES_MAX} passes the index is still written to, and what comes from now on is not read; stop the writers, and load it once more")
                    });
                } else if shards.iter().all(|shard| end(shard).whole <= shard.next) {
                    // Being written just now.
                    tokio::time::sleep(PAUSE_MIN).await;
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

    /// Whether points in time can be had.
    async fn try_snapshot(&self, snapshots: Snapshots, shard: &Shard) -> Result<Snapshots, Ended> {
        let preference = preference(self.info.product, shard.number);
        let why = match snapshots.open(&self.transport, &shard.index, &preference).await {
            Ok(Some(snapshot)) => {
                snapshot.close(&self.transport).await;
                return Ok(snapshots);
            }
            Ok(None) => return Ok(snapshots),
            Err(error) if error.cannot_be_asked() && error.status() != Some(404) => error.to_string(),
            // Whatever this is, the first page will meet it again, and be patient.
            Err(_) => return Ok(snapshots),
        };
        tracing::warn!("{why}; the index is read as it is at each moment, and what changes is read again");
        Ok(Snapshots::None)
    }

    /// One pass over all shards, some of them side by side: up to `ends`, or to all that is seen.
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
                // A panic of ours: the documents of that shard are missing.
                Some(Err(error)) => {
                    return Err(self.failed(format!("a reader stopped in the middle: {error}; please report this")));
                }
            }
        }
        done.sort_by_key(|shard| (shard.source, shard.number));
        Ok(done)
    }

    /// Makes searches see what was written so far, and says where each shard ended before that; nothing where that is not needed.
    async fn ends(&self, shards: &[Shard], needed: bool) -> Result<BTreeMap<ShardKey, End>, Ended> {
        let mut patience = Patience::new(self.retry_for);
        loop {
            match self.ask_ends(shards, needed).await {
                Ok(ends) => return Ok(ends),
                Err(error) if is_fatal(&error) => return Err(self.failed(error.to_string())),
                Err(error) => patience.wait(error.to_string(), None).await.map_err(|why| self.failed(why))?,
            }
        }
    }

    async fn ask_ends(&self, shards: &[Shard], needed: bool) -> Result<BTreeMap<ShardKey, End>, ClusterError> {
        for (name, uuid) in index::uuids(&self.transport, &self.expression).await? {
            if self.uuids.get(&name).is_some_and(|known| *known != uuid) {
                let problem = "it was deleted and made anew while it was read; load it from the beginning".to_owned();
                return Err(ClusterError::Target { name, problem });
            }
        }
        let ends = if needed { self.ends_now(shards).await? } else { BTreeMap::new() };
        match stats::refresh(&self.transport, &self.expression).await {
            Ok(_) => {}
            Err(error) if error.status() == Some(403) => {
                self.warnings.add(&self.expression, "not_refreshed", "", 1, || {
                    format!("what was written to it last may not be seen, because it may not be refreshed ({error}); grant maintenance, or refresh it before")
                });
            }
            Err(error) => return Err(error),
        }
        Ok(ends)
    }

    async fn ends_now(&self, shards: &[Shard]) -> Result<BTreeMap<ShardKey, End>, ClusterError> {
        let copies = match changes::copies(&self.transport, &self.expression).await {
            Ok(copies) => copies.shards,
            // Without the privilege to see statistics: what a search shows.
            Err(error) if error.status() == Some(403) => {
                tracing::debug!("{error}; the ends of the shards are searched for");
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
            // -1 for none.
            let after = |number: i64| u64::try_from(number + 1).unwrap_or(0);
            Some((shard.key(), End { whole: after(primary.on_all_up_to), max: after(primary.max) }))
        };
        let ends: BTreeMap<ShardKey, End> = shards.iter().filter_map(end).collect();
        if ends.len() < shards.len() {
            // As if the cluster had said so: it may pass.
            let what = format!("reading {}", self.expression);
            let reason = ": not all of its primary shards are in use; wait until they are".to_owned();
            return Err(ClusterError::Refused { what, status: 503, reason });
        }
        Ok(ends)
    }

    /// One past the highest sequence number that a search shows.
    async fn last_number(&self, shard: &Shard, snapshot: Option<&Snapshot>) -> Result<u64, ClusterError> {
        let what = format!("looking for the end of {}", shard.index);
        let mut body = json!({"size": 1, "sort": [{"_seq_no": "desc"}], "_source": false, "track_total_hits": false, "seq_no_primary_term": true});
        if let Some(snapshot) = snapshot {
            body["pit"] = snapshot.value();
        }
        let path = search_path(shard, self.info.product, snapshot.is_some());
        let reply = self.transport.demand(&what, Method::POST, &path, Some(&body)).await?;
        Ok(reply.pointer("/hits/hits/0/_seq_no").and_then(Value::as_u64).map_or(0, |number| number + 1))
    }

    fn failed(&self, why: String) -> Ended {
        Ended::Failed(SourceError::new(&*self.expression, why))
    }

    /// Asks for one window of a shard.
    async fn fetch(&self, shard: &Shard, window: Window, snapshot: Option<Value>) -> Result<Page, Trouble> {
        let path = search_path(shard, self.info.product, snapshot.is_some());
        let mut request = Request::new(Method::POST, path);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = vec![Bytes::from(self.ask.body(&window, shard.filter.as_ref(), snapshot).to_string())];
        let response = match self.transport.request(&request).await.result {
            Ok(response) => response,
            Err(error) => {
                return Err(match error.kind {
                    HttpErrorKind::NotSent => Trouble::Later { why: error.to_string(), after: None },
                    HttpErrorKind::Lost | HttpErrorKind::TimedOut => Trouble::TooMuch { why: error.to_string() },
                    HttpErrorKind::Local => Trouble::Fatal(error.to_string()),
                });
            }
        };
        if response.status != 200 {
            let text = String::from_utf8_lossy(&response.body);
            let body = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
            let what = format!("searching shard {} of {}", shard.number, shard.index);
            let why = ClusterError::from_status(&what, response.status, &body).to_string();
            return Err(match response.status {
                404 if text.contains("search_context_missing_exception") => Trouble::SnapshotLost { why },
                _ if text.contains("circuit_breaking_exception") => Trouble::TooMuch { why },
                429 | 500 | 502..=504 => Trouble::Later { why, after: response.retry_after },
                _ => Trouble::Fatal(why),
            });
        }
        let origin = Origin { source: shard.source, partition: shard.number, ..Origin::default() };
        let ask = self.ask.clone();
        // Takes milliseconds of work, which the runtime's own threads are not for.
        let page = tokio::task::spawn_blocking(move || ask.cut(response.body, &window, origin)).await;
        match page {
            Ok(Ok(page)) => Ok(page),
            Ok(Err(why)) => {
                Err(Trouble::Later { why: format!("the answer is not what was expected: {why}"), after: None })
            }
            Err(error) => Err(Trouble::Fatal(format!("reading an answer panicked: {error}; please report this"))),
        }
    }
}

/// Where a shard is searched; a point in time knows its index and shard.
fn search_path(shard: &Shard, product: Product, in_snapshot: bool) -> String {
    if in_snapshot {
        return "/_search?allow_partial_search_results=false".to_owned();
    }
    let preference = preference(product, shard.number);
    format!("/{}/_search?allow_partial_search_results=false&preference={preference}", path_segment(&shard.index))
}

/// Whether asking once more is of no use.
fn is_fatal(error: &ClusterError) -> bool {
    match error {
        ClusterError::Http(error) => error.kind == HttpErrorKind::Local,
        _ => !matches!(error.status(), Some(429 | 500 | 502..=504)),
    }
}

/// A shard that is being read, up to `end`, or to all that is seen.
struct ShardRead {
    reading: Arc<Reading>,
    shard: Shard,
    end: Option<u64>,
    snapshots: Snapshots,
    /// Searches at once.
    depth: usize,
}

/// A page that was asked for. Dropped, it is not waited for.
struct Ahead {
    window: Window,
    task: JoinHandle<Result<Page, Trouble>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ShardRead {
    async fn run(mut self) -> Result<Shard, Ended> {
        let mut snapshot = None;
        let read = self.read(&mut snapshot).await;
        if let Some(snapshot) = snapshot {
            snapshot.close(&self.reading.transport).await;
        }
        read.map(|()| self.shard)
    }

    async fn read(&mut self, snapshot: &mut Option<Snapshot>) -> Result<(), Ended> {
        let mut patience = Patience::new(self.reading.retry_for);
        let mut ahead: VecDeque<Ahead> = VecDeque::new();
        let mut bound = self.begin(snapshot, &mut patience).await?;
        while self.shard.next < bound {
            self.ask_ahead(&mut ahead, bound, snapshot.as_ref()).await?;
            // At least one was asked for, because the shard is not at its end.
            let Some(mut first) = ahead.pop_front() else { continue };
            let trouble = match (&mut first.task).await {
                Ok(Ok(page)) => {
                    patience.over();
                    self.shard.pace.saw(&page, &first.window);
                    self.shard.next = page.end;
                    if page.end < first.window.end {
                        // There is more in this window than one page.
                        ahead.clear();
                    }
                    let permit = first.permit.take();
                    if let Some(permit) = permit {
                        let message = Message::Block(page.block, permit);
                        self.reading.messages.send(message).map_err(|_| Gone)?;
                    }
                    continue;
                }
                Ok(Err(trouble)) => trouble,
                Err(error) => Trouble::Fatal(format!("a reader stopped in the middle: {error}; please report this")),
            };
            ahead.clear();
            match trouble {
                Trouble::Later { why, after } => self.wait(&mut patience, why, after).await?,
                Trouble::TooMuch { why } => {
                    self.shard.pace.failed(&first.window);
                    self.wait(&mut patience, why, None).await?;
                }
                Trouble::SnapshotLost { why } => {
                    tracing::info!("{why}; another point in time is opened");
                    *snapshot = None;
                    self.wait(&mut patience, why, Some(Duration::ZERO)).await?;
                    // What changed since has a higher sequence number now.
                    bound = self.begin(snapshot, &mut patience).await?;
                }
                Trouble::Fatal(why) => return Err(self.reading.failed(why)),
            }
        }
        Ok(())
    }

    /// Opens a point in time, and says where the shard ends in it.
    async fn begin(&self, snapshot: &mut Option<Snapshot>, patience: &mut Patience) -> Result<u64, Ended> {
        let reading = &self.reading;
        let preference = preference(reading.info.product, self.shard.number);
        loop {
            let begun = async {
                if snapshot.is_none() {
                    *snapshot = self.snapshots.open(&reading.transport, &self.shard.index, &preference).await?;
                }
                match self.end {
                    Some(end) => Ok(end),
                    None => reading.last_number(&self.shard, snapshot.as_ref()).await,
                }
            };
            match begun.await {
                Ok(end) => return Ok(end),
                Err(error) if error.status() == Some(404) && snapshot.is_some() => {
                    *snapshot = None;
                    self.wait(patience, error.to_string(), None).await?;
                }
                Err(error) if is_fatal(&error) => return Err(reading.failed(error.to_string())),
                Err(error) => self.wait(patience, error.to_string(), None).await?,
            }
        }
    }

    /// Asks for the next windows, as many as there is room for.
    async fn ask_ahead(
        &self,
        ahead: &mut VecDeque<Ahead>,
        bound: u64,
        snapshot: Option<&Snapshot>,
    ) -> Result<(), Gone> {
        let mut from = ahead.back().map_or(self.shard.next, |last| last.window.end);
        while ahead.len() < self.depth && from < bound {
            let pages = Arc::clone(&self.reading.pages);
            // The next page in order has to come, others only if there is room.
            let permit = match ahead.is_empty() {
                true => pages.acquire_owned().await.map_err(|_| Gone)?,
                false => match pages.try_acquire_owned() {
                    Ok(permit) => permit,
                    Err(_) => break,
                },
            };
            let window = self.shard.pace.window(from, bound);
            let (reading, shard, pit) = (Arc::clone(&self.reading), self.shard.clone(), snapshot.map(Snapshot::value));
            let task = tokio::spawn(async move { reading.fetch(&shard, window, pit).await });
            from = window.end;
            ahead.push_back(Ahead { window, task, permit: Some(permit) });
        }
        Ok(())
    }

    async fn wait(&self, patience: &mut Patience, why: String, after: Option<Duration>) -> Result<(), Ended> {
        patience.wait(why, after).await.map_err(|why| self.reading.failed(why))
    }
}

/// How long something is tried again.
struct Patience {
    since: Option<Instant>,
    pause: Duration,
    retry_for: Duration,
}

impl Patience {
    fn new(retry_for: Duration) -> Self {
        Patience { since: None, pause: PAUSE_MIN, retry_for }
    }

    /// It worked.
    fn over(&mut self) {
        self.since = None;
        self.pause = PAUSE_MIN;
    }

    /// Waits before the next try: for `after` where that is given.
    ///
    /// # Errors
    /// It has failed for too long; says why.
    async fn wait(&mut self, why: String, after: Option<Duration>) -> Result<(), String> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.retry_for {
            return Err(format!(
                "it could not be read for {} s: {why}; what was read before is loaded, and --resume goes on",
                since.elapsed().as_secs()
            ));
        }
        if self.pause == PAUSE_MIN {
            tracing::info!("reading the source is tried again: {why}");
        }
        tokio::time::sleep(after.unwrap_or(self.pause).min(PAUSE_MAX)).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}
