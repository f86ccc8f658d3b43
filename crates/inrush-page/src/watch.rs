//! What shows the loads of a process, from its begin to its end.

use std::sync::Arc;

use inrush_load::Progress;
use inrush_load::run_id::run_id;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::board::{Board, Recorder, Shown};
use crate::config::{WatchConfig, WatchError};
use crate::hub::Hub;
use crate::otlp::Exporter;
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

impl Watch {
    /// Begins to listen, where there is a page, and to write metrics. Without both it keeps the
    /// history of the loads only. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// The address, the folder or the collector cannot be used, or the page would be open to other
    /// machines.
    pub async fn start(config: WatchConfig) -> Result<Self, WatchError> {
        let control = config.page.as_ref().is_some_and(|page| page.token.is_some());
        let board = Arc::new(Board::new(control));
        let hub = Arc::new(Hub::new(Arc::clone(&board)));
        let (of_file, of_export) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let textfile = config.textfile.map(|folder| Textfile::new(Arc::clone(&board), folder, Arc::clone(&of_file)));
        let textfile = textfile.transpose()?;
        let exporter = config.otlp.map(|otlp| Exporter::new(Arc::clone(&board), otlp, Arc::clone(&of_export)));
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
            writers.push((tokio::spawn(exporter.run()), of_export));
        }
        let publishing = Arc::clone(&hub);
        Ok(Watch { board, hub, server, publisher: tokio::spawn(async move { publishing.run().await }), writers })
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

    /// Whether viewers need a token.
    pub fn needs_token(&self) -> bool {
        self.board.has_control()
    }

    /// The observer of a load, and the load as it is shown. `name` is its index.
    pub fn show(&self, name: &str) -> (Recorder, Shown) {
        self.board.add(name)
    }

    /// Shows a progress that has no events of its own, such as that of a bake.
    pub fn follow(&self, name: &str, progress: watch::Receiver<Progress>) -> Shown {
        let (_, shown) = self.board.add(name);
        tokio::spawn(shown.clone().follow(progress));
        shown
    }

    /// Where segments of the index are shown beside the loads. `None` without a page.
    pub fn segments(&self) -> Option<SegmentsView> {
        self.server.as_ref().map(|_| SegmentsView(Arc::clone(&self.hub)))
    }

    /// Sends the last events to the viewers, writes the last metrics, and closes the page. It takes
    /// a second at most, and five if a collector does not answer.
    pub async fn end(self) {
        self.hub.end();
        // A task that panicked shows nothing more.
        let _ = self.publisher.await;
        for (writer, ending) in self.writers {
            ending.notify_one();
            let _ = writer.await;
        }
        if let Some(server) = self.server {
            server.end().await;
        }
    }
}
