//! Reads one shard in the order of its sequence numbers, a few pages ahead.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use inrush_cluster::Wait;
use inrush_cluster::api::{ClusterError, stored};
use inrush_cluster::transport::{HttpErrorKind, Request};
use inrush_core::Code;
use inrush_core::block::Origin;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use super::page::{Page, Window};
use super::retries::{pause, retries};
use super::shared::{Ended, Gone, Message, Reading, Shard, is_fatal, search_path};
use super::snapshot::{Snapshot, Snapshots, preference};

/// Why a page was not read.
enum PageError {
    /// A retry may succeed a little later.
    Later { why: String, after: Option<Duration> },
    /// A request for fewer documents may succeed.
    TooMuch { why: String },
    /// The point in time does not exist any more.
    SnapshotLost { why: String },
    /// A retry cannot succeed.
    Fatal(String),
}

/// A shard that is being read, up to `end`, or to all visible documents.
pub(super) struct ShardRead {
    pub(super) reading: Arc<Reading>,
    pub(super) shard: Shard,
    pub(super) end: Option<u64>,
    pub(super) snapshots: Snapshots,
    /// Largest number of concurrent searches.
    pub(super) depth: usize,
}

/// A page that was requested. Dropping it cancels the request.
struct PageRequest {
    window: Window,
    task: JoinHandle<Result<Page, PageError>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for PageRequest {
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
        let mut retries = retries(self.reading.retry_for);
        let mut requested: VecDeque<PageRequest> = VecDeque::new();
        let mut bound = self.begin(snapshot, &mut retries).await?;
        while self.shard.next < bound {
            self.request_pages(&mut requested, bound, snapshot.as_ref()).await?;
            // The shard is not at its end, so at least one page was requested.
            let Some(mut first) = requested.pop_front() else { continue };
            let error = match (&mut first.task).await {
                Ok(Ok(page)) => {
                    retries.succeeded();
                    self.shard.pace.saw(&page, &first.window);
                    self.shard.next = page.end;
                    if page.end < first.window.end {
                        // The window has more than one page.
                        requested.clear();
                    }
                    let permit = first.permit.take();
                    if let Some(permit) = permit {
                        if let Some(shared) = &self.reading.shared_ids {
                            let (expression, warnings) = (&self.reading.expression, &self.reading.warnings);
                            shared.add(expression, self.shard.source, &page.block.meta, warnings);
                        }
                        let message = Message::Block(page.block, permit);
                        self.reading.messages.send(message).map_err(|_| Gone)?;
                    }
                    continue;
                }
                Ok(Err(error)) => error,
                Err(error) => PageError::Fatal(format!(
                    "a reading task panicked: {error}; this is a defect of inrush; please report it"
                )),
            };
            requested.clear();
            match error {
                PageError::Later { why, after } => self.wait(&mut retries, why, after).await?,
                PageError::TooMuch { why } => {
                    self.shard.pace.failed(&first.window);
                    self.wait(&mut retries, why, None).await?;
                }
                PageError::SnapshotLost { why } => {
                    tracing::info!("{why}; another point in time is opened");
                    *snapshot = None;
                    self.wait(&mut retries, why, Some(Duration::ZERO)).await?;
                    // Documents that changed since have a higher sequence number now.
                    bound = self.begin(snapshot, &mut retries).await?;
                }
                PageError::Fatal(why) => return Err(self.reading.failed(Code::RequestRefused, why)),
            }
        }
        Ok(())
    }

    /// Opens a point in time, and returns the end of the shard in it.
    async fn begin(&self, snapshot: &mut Option<Snapshot>, retries: &mut Wait) -> Result<u64, Ended> {
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
                    self.wait(retries, error.to_string(), None).await?;
                }
                Err(error) if is_fatal(&error) => return Err(reading.failed(error.code(), error.to_string())),
                Err(error) => self.wait(retries, error.to_string(), None).await?,
            }
        }
    }

    /// Requests the next windows, as many as there is room for.
    async fn request_pages(
        &self,
        requested: &mut VecDeque<PageRequest>,
        bound: u64,
        snapshot: Option<&Snapshot>,
    ) -> Result<(), Gone> {
        let mut from = requested.back().map_or(self.shard.next, |last| last.window.end);
        while requested.len() < self.depth && from < bound {
            let pages = Arc::clone(&self.reading.pages);
            // The next page in order waits for room. Pages behind it are requested only where there
            // is room.
            let permit = match requested.is_empty() {
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
            requested.push_back(PageRequest { window, task, permit: Some(permit) });
        }
        Ok(())
    }

    async fn wait(&self, retries: &mut Wait, why: String, after: Option<Duration>) -> Result<(), Ended> {
        pause(retries, why, after).await.map_err(|why| self.reading.failed(Code::RequestRefused, why))
    }
}

impl Reading {
    /// Requests one window of a shard.
    async fn fetch(&self, shard: &Shard, window: Window, snapshot: Option<Value>) -> Result<Page, PageError> {
        let path = search_path(shard, self.info.product, snapshot.is_some());
        let mut request = Request::new(Method::POST, path);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = vec![Bytes::from(self.ask.body(&window, shard.filter.as_ref(), snapshot).to_string())];
        let response = match self.transport.request(&request).await.result {
            Ok(response) => response,
            Err(error) => {
                return Err(match error.kind {
                    HttpErrorKind::NotSent => PageError::Later { why: error.to_string(), after: None },
                    HttpErrorKind::Lost | HttpErrorKind::TimedOut => PageError::TooMuch { why: error.to_string() },
                    HttpErrorKind::Local => PageError::Fatal(error.to_string()),
                });
            }
        };
        if response.status != 200 {
            let text = String::from_utf8_lossy(&response.body);
            let body = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
            let what = format!("searching shard {} of {}", shard.number, shard.index);
            let why = ClusterError::from_status(&what, response.status, &body).to_string();
            return Err(match response.status {
                404 if text.contains("search_context_missing_exception") => PageError::SnapshotLost { why },
                _ if text.contains("circuit_breaking_exception") => PageError::TooMuch { why },
                429 | 500 | 502..=504 => PageError::Later { why, after: response.retry_after },
                _ => PageError::Fatal(why),
            });
        }
        let origin = Origin { source: shard.source, partition: shard.number, ..Origin::default() };
        let (ask, index) = (self.ask.clone(), shard.index.clone());
        // This takes milliseconds of CPU time, which would block the threads of the runtime.
        let body = response.body.clone();
        let page = tokio::task::spawn_blocking(move || ask.cut(body, &window, origin, &index)).await;
        match page {
            Ok(Ok(page)) => Ok(page),
            Ok(Err(why)) => {
                let what = format!("searching shard {} of {}", shard.number, shard.index);
                Err(match stored::no_json(&what, &response.body) {
                    // A retry would give the same reply.
                    Some(error) => PageError::Fatal(error.to_string()),
                    None => PageError::Later { why: format!("the reply is not as expected: {why}"), after: None },
                })
            }
            Err(error) => Err(PageError::Fatal(format!(
                "reading a reply panicked: {error}; this is a defect of inrush; please report it"
            ))),
        }
    }
}
