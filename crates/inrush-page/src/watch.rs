//! What shows the loads of a process, from its begin to its end.

use std::net::SocketAddr;
use std::sync::Arc;

use inrush_cluster::run_id::run_id;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::board::{Board, Recorder, Shown};
use crate::config::{JobPage, WatchConfig, WatchError};
use crate::hub::Hub;
use crate::otlp::Exporter;
use crate::reporter::Reporter;
use crate::server::Server;
use crate::textfile::Textfile;

/// What shows the loads of a process.
#[derive(Debug)]
pub struct Watch {
    board: Arc<Board>,
    hub: Arc<Hub>,
    server: Option<Server>,
    publisher: JoinHandle<()>,
    /// The writer of the file and the sender to the collector, and what ends each of them.
    writers: Vec<(JoinHandle<()>, Arc<Notify>)>,
    job: Option<JobPage>,
}

/// The place of a page that shows the segments of the index. Clones stand for the same place.
#[derive(Clone, Debug)]
pub struct SegmentsView(Arc<Hub>);

impl SegmentsView {
    /// Shows these segments from now on.
    pub fn show(&self, segments: Value) {
        self.0.board.set_segments(segments);
    }

    /// Whether the page has a viewer.
    pub fn is_watched(&self) -> bool {
        self.0.viewers() > 0
    }

    /// Whether all loads have ended.
    pub fn has_ended(&self) -> bool {
        self.0.board.has_ended()
    }
}

/// The place of a page that shows the runs of a sweep.
#[derive(Clone, Debug)]
pub struct SweepView(Arc<Board>);

impl SweepView {
    /// Shows these runs from now on.
    pub fn show(&self, sweep: Value) {
        self.0.set_sweep(sweep);
    }
}

impl Watch {
    /// Begins to listen, where there is a page, and to write metrics. Without both it keeps the
    /// history of the loads only. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// The address, the folder or the collector cannot be used, or the page would be open to other
    /// machines.
    pub async fn start(config: WatchConfig) -> Result<Self, WatchError> {
        // The processes of a job are not stopped by the page of one of them.
        let control = config.page.as_ref().is_some_and(|page| page.token.is_some() && page.parts.is_none());
        let board = Arc::new(Board::new(control));
        let hub = Arc::new(Hub::new(Arc::clone(&board)));
        let of_file = Arc::new(Notify::new());
        let textfile = config.textfile.map(|folder| Textfile::new(Arc::clone(&board), folder, Arc::clone(&of_file)));
        let textfile = textfile.transpose()?;
        let of_collector = Arc::new(Notify::new());
        let exporter = config.otlp.map(|otlp| Exporter::new(Arc::clone(&board), otlp, Arc::clone(&of_collector)));
        let exporter = exporter.transpose().map_err(WatchError::Otlp)?;
        // Nothing runs yet that an error would have to end.
        let server = match &config.page {
            Some(page) => Some(Server::start(page, Arc::clone(&hub), &run_id()).await?),
            None => None,
        };
        let mut writers = Vec::new();
        if let Some(textfile) = textfile {
            writers.push((tokio::spawn(textfile.run()), of_file));
        }
        if let Some(exporter) = exporter {
            writers.push((tokio::spawn(exporter.run()), of_collector));
        }
        let publishing = Arc::clone(&hub);
        let publisher = tokio::spawn(async move { publishing.run().await });
        Ok(Watch { board, hub, server, publisher, writers, job: config.job })
    }

    /// The address of the page for a browser. It has no token.
    pub fn url(&self) -> Option<String> {
        let mut address = self.server.as_ref()?.address();
        if address.ip().is_unspecified() {
            // A browser of this machine finds it there.
            address.set_ip(match address.ip() {
                std::net::IpAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                std::net::IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        Some(format!("http://{address}/"))
    }

    /// The address at which the page listens.
    pub fn address(&self) -> Option<SocketAddr> {
        Some(self.server.as_ref()?.address())
    }

    /// Whether viewers need a token.
    pub fn needs_token(&self) -> bool {
        self.server.as_ref().is_some_and(Server::needs_token)
    }

    /// The observer of a load, and the load as it is shown. `name` is its index.
    pub fn show(&self, name: &str) -> (Recorder, Shown) {
        self.board.add(name)
    }

    /// Shows a load in place of all earlier ones: a run of a sweep.
    pub fn show_only(&self, name: &str) -> (Recorder, Shown) {
        self.board.replace(name)
    }

    /// Reports a load to the page of the job that it is a part of, where the configuration names
    /// one.
    ///
    /// # Errors
    /// The address of the page cannot be used.
    pub fn report(&mut self, shown: &Shown) -> Result<(), WatchError> {
        if let Some(job) = self.job.take() {
            let ending = Arc::new(Notify::new());
            let reporter = Reporter::new(Arc::clone(shown.load()), job, Arc::clone(&ending));
            self.writers.push((tokio::spawn(reporter.map_err(WatchError::Job)?.run()), ending));
        }
        Ok(())
    }

    /// Where segments of the index are shown beside the loads. `None` without a page.
    pub fn segments(&self) -> Option<SegmentsView> {
        self.server.as_ref().map(|_| SegmentsView(Arc::clone(&self.hub)))
    }

    /// Where the runs of a sweep are shown. `None` without a page.
    pub fn sweep(&self) -> Option<SweepView> {
        self.server.as_ref().map(|_| SweepView(Arc::clone(&self.board)))
    }

    /// Sends the last events to the viewers, writes the last metrics, and closes the page. It takes
    /// a second at most, and five if a collector does not answer.
    pub async fn end(self) {
        self.hub.end();
        // A task that panicked shows nothing more.
        let _ = self.publisher.await;
        // All of them end at the same time.
        self.writers.iter().for_each(|(_, ending)| ending.notify_one());
        for (writer, _) in self.writers {
            let _ = writer.await;
        }
        if let Some(server) = self.server {
            server.end().await;
        }
    }
}
