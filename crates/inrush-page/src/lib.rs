//! The live page of a load, its metrics and its health, over HTTP.
//!
//! It shows a run: it knows no source, and decides nothing.
//!
//! [`Watch::start`] begins to listen, [`Watch::show`] makes the observer of a load, and
//! [`Watch::end`] closes the page.

mod assets;
mod board;
mod config;
mod errors;
mod exposition;
mod history;
mod hub;
mod latency;
mod marks;
mod metrics;
mod nodes;
mod otlp;
mod parts;
mod points;
mod recording_page;
mod report_page;
mod reporter;
mod self_contained;
mod server;
pub mod snapshot;
mod sweep_page;
mod textfile;
mod watch;

pub use board::{Control, PartRecorder, Recorder, Shown};
pub use config::{JobPage, PageAddress, PageConfig, WatchConfig, WatchError};
pub use history::Comparison;
pub use otlp::{OtlpConfig, OtlpEndpoint};
pub use recording_page::recording_page;
pub use report_page::{Made, Run, read_reports, report_page};
pub use sweep_page::sweep_page;
pub use watch::{SegmentsView, SweepView, Watch};
