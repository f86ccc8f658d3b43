//! Reads one shard in the order of its sequence numbers, a few pages ahead.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use inrush_cluster::api::{ClusterError, stored};
use inrush_cluster::transport::{HttpErrorKind, Request};
use inrush_core::block::Origin;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use super::page::{Page, Window};
use super::patience::Patience;
use super::read::{Ended, Gone, Message, Reading, Shard, is_fatal, search_path};
use super::snapshot::{Snapshot, Snapshots, preference};

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

/// A shard that is being read, up to `end`, or to all that is seen.
pub(super) struct ShardRead {
    pub(super) reading: Arc<Reading>,
    pub(super) shard: Shard,
    pub(super) end: Option<u64>,
    pub(super) snapshots: Snapshots,
    /// Searches at once.
    pub(super) depth: usize,
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
    pub(super) async fn run(mut self) -> Result<Shard, Ended> {
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

impl Reading {
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
        let body = response.body.clone();
        let page = tokio::task::spawn_blocking(move || ask.cut(body, &window, origin)).await;
        match page {
            Ok(Ok(page)) => Ok(page),
            Ok(Err(why)) => {
                let what = format!("searching shard {} of {}", shard.number, shard.index);
                Err(match stored::no_json(&what, &response.body) {
                    // It stays so, however often it is asked for.
                    Some(error) => Trouble::Fatal(error.to_string()),
                    None => Trouble::Later { why: format!("the answer is not what was expected: {why}"), after: None },
                })
            }
            Err(error) => Err(Trouble::Fatal(format!("reading an answer panicked: {error}; please report this"))),
        }
    }
}
