//! Metrics for a collector of OpenTelemetry: OTLP by HTTP, in its JSON form.

mod config;
mod json;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use config::{OtlpConfig, OtlpEndpoint};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use inrush_cluster::transport::{Credentials, HttpOptions, Request, Transport};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::board::Board;

/// The longest time for the last figures, which the end of the process waits for.
const END_MAX: Duration = Duration::from_secs(5);

/// Sends all metrics in intervals.
#[derive(Debug)]
pub(crate) struct Exporter {
    board: Arc<Board>,
    /// Nanoseconds since 1970 at which the counters were 0.
    began: u64,
    config: OtlpConfig,
    transport: Transport,
    ending: Arc<Notify>,
}

impl Exporter {
    /// Sends nothing yet. `ending` ends it.
    pub(crate) fn new(board: Arc<Board>, config: OtlpConfig, ending: Arc<Notify>) -> Result<Self, String> {
        let options = HttpOptions { request_timeout: config.timeout, ..HttpOptions::default() };
        let transport =
            Transport::new(&[config.server()], Credentials::default(), &options).map_err(|error| error.to_string())?;
        Ok(Exporter { board, began: now(), config, transport, ending })
    }

    /// Sends until it is told to end, and once more then. Failures are logged, the first of a row
    /// as a warning.
    pub(crate) async fn run(self) {
        let every = self.config.every;
        let mut ticks = interval_at(Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut has_failed = false;
        loop {
            let is_over = tokio::select! {
                biased;
                () = self.ending.notified() => true,
                _ = ticks.tick() => false,
            };
            let sent = if is_over {
                timeout(END_MAX, self.send()).await.unwrap_or_else(|_| Err("no answer".to_owned()))
            } else {
                self.send().await
            };
            match &sent {
                Err(why) if !has_failed => tracing::warn!("cannot send metrics to {}: {why}", self.config.url()),
                Err(why) => tracing::debug!("cannot send metrics to {}: {why}", self.config.url()),
                Ok(()) => {}
            }
            has_failed = sent.is_err();
            if is_over {
                return;
            }
        }
    }

    /// Sends the metrics as they are now.
    async fn send(&self) -> Result<(), String> {
        let message = json::of(&self.board.metrics(0), &self.config.resource, (self.began, now()));
        let mut request = Request::new(Method::POST, self.config.path());
        request.headers = self.config.headers();
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = vec![message.into()];
        let response = self.transport.request_to(0, &request).await.map_err(|error| error.to_string())?;
        if !(200..300).contains(&response.status) {
            return Err(format!("the collector answered with the status {}", response.status));
        }
        Ok(())
    }
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
