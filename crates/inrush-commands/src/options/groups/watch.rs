//! Options of the live page and of metrics.

use std::path::PathBuf;

use inrush_page::{OtlpEndpoint, PageAddress};

use crate::options::{Folder, LoaderBuilder, Outputs};

options! {
    /// What shows a load while it runs.
    pub struct WatchOptions in LoaderBuilder.watch, "Output", outputs(Outputs::All) {
        /// Show the run on a live page, with metrics for Prometheus at /metrics and the health of
        /// the process at /healthz. Its address is printed at the start. Without a value a free
        /// port of this machine, which only this machine reaches; other machines need option
        /// `page_token_file`. See docs/page.md
        page: Option<PageAddress> = "ADDR", bare("auto");
        /// File with a token of at least 16 characters. With option `page`: viewers need the token,
        /// may be on other machines, and may pause, resume and stop the load
        page_token_file: Option<PathBuf> = "FILE";
        /// Folder of the textfile collector of node_exporter: the metrics are written to
        /// inrush-INDEX.prom in it every 15 s and at the end
        textfile: Option<Folder> = "DIR";
        /// Send the metrics to a collector of OpenTelemetry, by OTLP over HTTP. Without a value the
        /// environment variables OTEL_EXPORTER_OTLP_ENDPOINT and the like say where, by default
        /// http://localhost:4318
        otlp: Option<OtlpEndpoint> = "URL", bare("auto");
    }
}
