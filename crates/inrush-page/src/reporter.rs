//! Tells the page of a job how one of its parts is doing.

use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use inrush_cluster::transport::{Credentials, HttpOptions, Request, Transport};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::board::Load;
use crate::config::JobPage;

/// The path of reports.
pub(crate) const PATH: &str = "/parts";
/// The time for a report. A part never waits for one, but for the last one.
const REPORT_MAX: Duration = Duration::from_secs(2);
/// The longest wait for the last report.
const END_MAX: Duration = Duration::from_millis(500);
/// Seconds between two reports where the page does not answer.
const AWAY_SECONDS: u64 = 5;
/// The longest time between two reports that the page may ask for.
const EVERY_MAX: u64 = 600;

/// Reports to the page of a job. Without an answer the part loads as before, and the page has no
/// news of it.
#[derive(Debug)]
pub(crate) struct Reporter {
    load: Arc<Load>,
    page: JobPage,
    transport: Transport,
    ending: Arc<Notify>,
}

impl Reporter {
    /// Reports nothing yet.
    pub(crate) fn new(load: Arc<Load>, page: JobPage, ending: Arc<Notify>) -> Result<Self, String> {
        let options =
            HttpOptions { request_timeout: REPORT_MAX, connect_timeout: REPORT_MAX, ..HttpOptions::default() };
        let transport =
            Transport::new(&[&page.url], Credentials::default(), &options).map_err(|error| error.to_string())?;
        Ok(Reporter { load, page, transport, ending })
    }

    /// Reports until it is told to end, and once more then.
    pub(crate) async fn run(self) {
        let mut is_away = false;
        loop {
            let every = tokio::select! {
                biased;
                () = self.ending.notified() => break,
                every = self.report() => every,
            };
            is_away = every.is_none();
            let pause = Duration::from_secs(every.unwrap_or(AWAY_SECONDS).clamp(1, EVERY_MAX));
            tokio::select! {
                biased;
                () = self.ending.notified() => break,
                () = sleep(pause) => {}
            }
        }
        // A page that no part reaches does not hold up each of them at its end.
        if !is_away {
            // Its result no longer matters.
            let _ = timeout(END_MAX, self.report()).await;
        }
    }

    /// Reports. Returns the seconds until the next report, or `None` without an answer.
    async fn report(&self) -> Option<u64> {
        let report = self.load.lock().history.part_report(&self.page.name, &self.page.host);
        let mut request = Request::new(Method::POST, PATH);
        let token = format!("Bearer {}", self.page.token.expose());
        request.headers.insert(AUTHORIZATION, HeaderValue::try_from(token).ok()?);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = vec![serde_json::to_vec(&report).ok()?.into()];
        match self.transport.request_to(0, &request).await {
            Ok(response) if response.status == 200 => std::str::from_utf8(&response.body).ok()?.trim().parse().ok(),
            Ok(response) => {
                tracing::debug!("the page of the job answers a report with the status {}", response.status);
                None
            }
            Err(error) => {
                tracing::debug!("the page of the job does not answer: {error}");
                None
            }
        }
    }
}
