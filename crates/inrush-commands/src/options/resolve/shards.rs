//! Option `shards=auto`: a number of shards from the size of the sources.

use super::kinds::{Found, READ_ONCE};
use super::{Environment, panicked};
use crate::options::{LoadOptions, OptionError, OrAuto};
use crate::shards::Estimate;
use inrush_load::LoadError;
use inrush_load::config::LoadConfig;

/// Chooses the number, and returns a note with the reasons, from the size of the source and whether
/// its documents have ids. Files are read once more from their beginning.
pub(super) async fn of_load(
    options: &LoadOptions,
    (bytes_total, has_ids): (Option<u64>, bool),
    config: &mut LoadConfig,
    (found, environment): (&Found<'_>, &Environment),
) -> Result<Vec<String>, LoadError> {
    if options.target.shards != Some(OrAuto::Auto) {
        return Ok(Vec::new());
    }
    let estimate = match bytes_total {
        // A source index, whose documents were sampled already.
        Some(total) if has_ids => Some(Estimate::new(total, 1.0)),
        Some(_) if options.source.sources.iter().any(|source| source == "-") => {
            let message = format!("option `shards=auto` reads the sources twice, but {READ_ONCE}");
            return Err(OptionError::conflict(message).of("shards").hint("give a number of shards").into());
        }
        Some(_) => {
            let mut again = found.open_again(options, config, environment).await?;
            let reading = tokio::task::spawn_blocking(move || Estimate::of(again.as_mut()));
            reading.await.map_err(|_| panicked())??
        }
        None => None,
    };
    let Some(estimate) = estimate else {
        return Ok(vec![
            "option `shards=auto`: the size of the source is unknown, so the index gets the cluster's default; give a number"
                .to_owned(),
        ]);
    };
    let shards = estimate.shards();
    config.create.shards = Some(shards);
    Ok(vec![format!(
        "option `shards=auto`: {shards} {} for an index of about {} ({} of sources, {:.1} times that as JSON)",
        if shards == 1 { "shard" } else { "shards" },
        size(estimate.index_bytes),
        size(estimate.source_bytes),
        estimate.growth,
    )])
}

/// A size for people: `512 B`, `1.5 KiB`.
fn size(bytes: u64) -> String {
    let names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut name = 0;
    while value >= 1023.95 && name + 1 < names.len() {
        value /= 1024.0;
        name += 1;
    }
    if name == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", names[name]) }
}
