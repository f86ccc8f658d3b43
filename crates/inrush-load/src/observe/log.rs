//! The log of a load.

use std::time::Duration;

use inrush_core::body_format::BodyFormatChange;
use inrush_core::tune::Decision;

use super::{LoadEvent, Observer};

/// Writes events to the log.
pub(crate) struct Log;

impl Observer for Log {
    fn on_event(&mut self, _: Duration, event: &LoadEvent<'_>) {
        match event {
            LoadEvent::Paused(pause) => tracing::warn!("paused: {}", pause.why),
            LoadEvent::Resumed { by_stop: false } => tracing::warn!("resumed"),
            LoadEvent::BodyLimited(bytes) => {
                tracing::warn!(
                    "the server refused a request as too large; batches have at most {bytes} bytes from now on"
                );
            }
            LoadEvent::RequestLost(why) => tracing::warn!("a request got no answer and will be sent again: {why}"),
            LoadEvent::PlanChanged(Decision { from, to, why, .. }) => tracing::info!(
                "plan: {} requests of {} bytes instead of {} of {}: {why}",
                to.in_flight,
                to.batch_bytes,
                from.in_flight,
                from.batch_bytes
            ),
            LoadEvent::BodyFormatChanged(BodyFormatChange { from, to, why, forced: true }) => {
                tracing::warn!("requests are sent as {to} instead of {from} from now on: {why}");
            }
            LoadEvent::BodyFormatChanged(BodyFormatChange { from, to, why, forced: false }) => {
                tracing::info!("requests are sent as {to} instead of {from}: {why}");
            }
            LoadEvent::DocsResent(docs) => {
                tracing::warn!(
                    "a shard restarted, or another copy became its primary: {docs} documents that were not flushed are sent again"
                );
            }
            LoadEvent::RequestRetried(why) => tracing::info!("a request will be sent again: {why}"),
            _ => {}
        }
    }
}
