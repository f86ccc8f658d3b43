//! The segments of the index beside a load, on its live page.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inrush_cluster::transport::Transport;
use inrush_commands::segments::SegmentsReader;
use inrush_load::config::LoadConfig;
use inrush_load::loader::http_options;
use inrush_page::SegmentsView;
use tokio::time::Instant;

/// The shortest time between two moments.
const EVERY: Duration = Duration::from_secs(2);
/// The time between two moments for each shard copy: a page of hundreds of shards gets fewer.
const EVERY_COPY: Duration = Duration::from_millis(20);
/// The pause between two moments is at least this often the time that the cluster took to answer.
const PAUSE_TIMES: u32 = 4;

/// Asks for the segments of indices while the page has a viewer, until all loads have ended. Where
/// they cannot be read, the page shows none. `config` has the cluster.
pub(crate) fn ask<'a>(view: SegmentsView, config: &LoadConfig, indices: impl IntoIterator<Item = &'a str>) {
    let Ok(transport) = Transport::new(&config.to, config.credentials.clone(), &http_options(config)) else { return };
    let mut reader =
        SegmentsReader::new(Arc::new(transport), Some(indices.into_iter().map(pattern).collect::<Vec<_>>().join(",")));
    tokio::spawn(async move {
        while !view.has_ended() {
            let mut pause = EVERY;
            if view.is_watched() {
                let asked = Instant::now();
                if let Ok(moment) = reader.read(now()).await {
                    pause = pause.max(asked.elapsed() * PAUSE_TIMES);
                    pause = pause.max(EVERY_COPY * u32::try_from(moment.shards.len()).unwrap_or(u32::MAX));
                    if let Ok(moment) = serde_json::to_value(moment) {
                        view.show(moment);
                    }
                }
            }
            tokio::time::sleep(pause).await;
        }
    });
}

/// The time, ms since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// All indices of a template: `logs-*` for `logs-{tenant}`.
pub(crate) fn pattern(template: &str) -> String {
    let mut parts = template.split('{');
    let first = parts.next().unwrap_or_default();
    parts.fold(first.to_owned(), |name, part| name + "*" + part.split_once('}').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_template_are_any() {
        assert_eq!(pattern("logs"), "logs");
        assert_eq!(pattern("logs-{tenant}-{@timestamp:yyyy.MM}"), "logs-*-*");
    }
}
