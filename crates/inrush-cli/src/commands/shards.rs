//! What `load --shards auto` does before an index is made.

use anyhow::{Context, Result};
use inrush::config::LoadConfig;
use inrush::shards::Estimate;

use crate::args::{IndexArgs, Shards, SourceArgs};
use crate::logging::Stderr;
use crate::units::{bytes, counted};
use std::io::Write as _;

/// Chooses, and says what and why. `bytes_total` and `has_ids` are those of what will be loaded; files are read once
/// more from their beginning.
pub(crate) async fn of_load(
    args: &SourceArgs,
    to: &IndexArgs,
    bytes_total: Option<u64>,
    has_ids: bool,
    config: &mut LoadConfig,
    quiet: bool,
    stderr: &Stderr,
) -> Result<()> {
    if to.shards != Some(Shards::Auto) {
        return Ok(());
    }
    let bytes_max = config.limits.document_bytes_max;
    let estimate = match bytes_total {
        // Documents as they come: an index, whose documents were looked at already.
        Some(total) if has_ids => Some(Estimate::new(total, 1.0)),
        Some(_) => {
            let mut again = super::source::open_rows(args, None, bytes_max).await?;
            tokio::task::spawn_blocking(move || Estimate::of(again.as_mut())).await.context("reading panicked")??
        }
        None => None,
    };
    let say = |text: String| {
        if !quiet {
            // Nobody reads stderr if this fails.
            let _ = writeln!(stderr.clone(), "{text}");
        }
    };
    let Some(estimate) = estimate else {
        say("--shards auto: the size of the source is not known, so the index gets the cluster's default; give a number".to_owned());
        return Ok(());
    };
    let shards = estimate.shards();
    config.create.shards = Some(shards);
    say(format!(
        "--shards auto: {} for an index of about {} ({} of sources, {:.1} times that as JSON)",
        counted(shards.into(), "shard"),
        bytes(estimate.index_bytes),
        bytes(estimate.source_bytes),
        estimate.growth,
    ));
    Ok(())
}
