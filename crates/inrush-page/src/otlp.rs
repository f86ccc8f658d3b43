//! Metrics and traces for a collector of OpenTelemetry: OTLP by HTTP, in its JSON form.

mod config;
mod json;

use std::sync::Arc;
use std::time::Duration;

use config::Destination;
pub use config::{OtlpConfig, OtlpEndpoint};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use inrush_cluster::transport::{Credentials, HttpOptions, Request, Transport};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::board::Board;
use crate::tracer::{Tracer, now};

/// The longest time for the last figures, which the end of the process waits for.
const END_MAX: Duration = Duration::from_secs(5);

/// What an exporter sends.
#[derive(Debug)]
enum Signal {
    /// All metrics. The number: nanoseconds since 1970 at which the counters were 0.
    Metrics(Arc<Board>, u64),
    Traces(Arc<Tracer>),
}

impl Signal {
    fn name(&self) -> &'static str {
        match self {
            Signal::Metrics(..) => "metrics",
            Signal::Traces(_) => "traces",
        }
    }

    /// Waits until there is enough for a message before its time.
    async fn full(&self) {
        match self {
            Signal::Metrics(..) => std::future::pending().await,
            Signal::Traces(tracer) => tracer.full().await,
        }
    }

    /// The next message, or `None` if there is nothing more to send for now. `first`: the first one
    /// at this time.
    fn message(&self, resource: &[(String, String)], first: bool) -> Option<Vec<u8>> {
        match self {
            Signal::Metrics(board, began) => first.then(|| json::of(&board.metrics(0), resource, (*began, now()))),
            Signal::Traces(tracer) => {
                let spans = tracer.take();
                (!spans.is_empty()).then(|| json::of_spans(&spans, resource))
            }
        }
    }
}

/// Sends a signal in intervals.
#[derive(Debug)]
pub(crate) struct Exporter {
    signal: Signal,
    to: Destination,
    every: Duration,
    resource: Vec<(String, String)>,
    transport: Transport,
    ending: Arc<Notify>,
}

/// The tracer of a configuration, if there are traces.
pub(crate) fn tracer(config: Option<&OtlpConfig>) -> Option<Arc<Tracer>> {
    let traces = config?.traces.as_ref()?;
    Some(Arc::new(Tracer::new(traces.sampler, traces.queue_max, traces.batch_max)))
}

/// The exporters of a configuration, and what ends each of them. They send nothing yet.
pub(crate) fn exporters(board: &Arc<Board>, config: OtlpConfig) -> Result<Vec<(Exporter, Arc<Notify>)>, String> {
    let metrics = (Signal::Metrics(Arc::clone(board), now()), config.metrics, config.every);
    let traces = config.traces.zip(board.tracer.clone());
    let traces = traces.map(|(traces, tracer)| (Signal::Traces(tracer), traces.to, traces.every));
    let exporter = |(signal, to, every): (Signal, Destination, Duration)| {
        let options = HttpOptions { request_timeout: to.timeout, ..HttpOptions::default() };
        let transport =
            Transport::new(&[to.server()], Credentials::default(), &options).map_err(|error| error.to_string())?;
        let (ending, resource) = (Arc::new(Notify::new()), config.resource.clone());
        Ok((Exporter { signal, to, every, resource, transport, ending: Arc::clone(&ending) }, ending))
    };
    std::iter::once(metrics).chain(traces).map(exporter).collect()
}

impl Exporter {
    /// Sends until it is told to end, and once more then. Failures are logged, the first of a row
    /// as a warning.
    pub(crate) async fn run(self) {
        let mut ticks = interval_at(Instant::now() + self.every, self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (name, mut has_failed) = (self.signal.name(), false);
        loop {
            let is_over = tokio::select! {
                biased;
                () = self.ending.notified() => true,
                _ = ticks.tick() => false,
                () = self.signal.full() => false,
            };
            let sent = if is_over {
                timeout(END_MAX, self.send()).await.unwrap_or_else(|_| Err("no answer".to_owned()))
            } else {
                self.send().await
            };
            match &sent {
                Err(why) if !has_failed => tracing::warn!("cannot send {name} to {}: {why}", self.to.url()),
                Err(why) => tracing::debug!("cannot send {name} to {}: {why}", self.to.url()),
                Ok(()) => {}
            }
            has_failed = sent.is_err();
            if is_over {
                break;
            }
        }
        if let Signal::Traces(tracer) = &self.signal
            && let dropped @ 1.. = tracer.take_dropped()
        {
            tracing::warn!("{dropped} sampled requests are no traces, because OTEL_BSP_MAX_QUEUE_SIZE of them waited");
        }
    }

    /// Sends what there is. What cannot be sent is dropped.
    async fn send(&self) -> Result<(), String> {
        let mut first = true;
        while let Some(message) = self.signal.message(&self.resource, std::mem::take(&mut first)) {
            let mut request = Request::new(Method::POST, self.to.path());
            request.headers = self.to.headers();
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.body = vec![message.into()];
            let response = self.transport.request_to(0, &request).await.map_err(|error| error.to_string())?;
            if !(200..300).contains(&response.status) {
                return Err(format!("the collector answered with the status {}", response.status));
            }
        }
        Ok(())
    }
}
