//! Option `keep`: deletes older indices of an alias.

use std::sync::Arc;

use inrush_cluster::api::{ClusterError, aliases, index};
use inrush_cluster::transport::Transport;

use super::group::{self, Silent};
use crate::config::GuardConfig;
use crate::cutover::{EarlierIndex, indices_of};

/// The indices that were deleted, in words.
pub(super) struct Trimmed {
    pub(super) deleted: Vec<String>,
    pub(super) detail: String,
}

/// Deletes the complete indices that loads have made for the alias, except `new`, which the alias
/// stands for, the last `keep` ones that it stood for, newer ones than these, those that have other
/// aliases, and those that a load writes to. A newer one is there after a rollback. An index that
/// is not complete may be that of a load that runs: it is named only.
///
/// # Errors
/// A request failed, in words.
pub(super) async fn trim(
    transport: &Arc<Transport>,
    (alias, new): (&str, &str),
    keep: u32,
    guard: &GuardConfig,
) -> Result<Trimmed, String> {
    let text = |error: ClusterError| error.to_string();
    let known = indices_of(transport, alias).await.map_err(text)?;
    if known.now.as_deref() != Some(new) {
        let now = known.now.unwrap_or_else(|| "no index".to_owned());
        return Err(format!("the alias {alias} stands for {now} by now, so no old index was deleted"));
    }
    let mut deleted = Vec::new();
    // An index without a mark was not made by a load for this alias.
    let ours: Vec<_> = known.earlier.iter().filter(|old| old.complete.is_some() && old.is_own).collect();
    let (kept, others) = ours.split_at(ours.len().min(keep as usize));
    let oldest = kept.iter().filter_map(|old| old.complete.as_deref()).min();
    let is_older = |old: &EarlierIndex| oldest.is_none_or(|oldest| old.complete.as_deref() < Some(oldest));
    for old in others.iter().filter(|old| old.aliases.is_empty() && is_older(old)) {
        let gone = async {
            let target = index::resolve(transport, &old.index).await.map_err(text)?;
            match group::writing(transport, &target, guard, Silent::default()).await {
                Ok(_) => delete(transport, old).await,
                Err(load) => {
                    tracing::info!("{} is kept: a load writes to it ({load})", old.index);
                    Ok(false)
                }
            }
        };
        match gone.await {
            Ok(true) => deleted.push(old.index.clone()),
            Ok(false) => {}
            Err(why) if deleted.is_empty() => return Err(why),
            Err(why) => return Err(format!("{why}; deleted before: {}", deleted.join(", "))),
        }
    }
    let kept: Vec<&str> = known.earlier.iter().map(|old| old.index.as_str()).collect();
    let kept: Vec<&str> = kept.into_iter().filter(|name| !deleted.iter().any(|gone| gone == name)).collect();
    let list = |what: &str, names: String| if names.is_empty() { String::new() } else { format!("{what} {names}") };
    let unfinished: Vec<&str> = known.unfinished.iter().map(|other| other.index.as_str()).collect();
    let left = "left by a load that failed or runs, to be deleted by hand if none writes there:";
    let parts = [list("deleted", deleted.join(", ")), list("kept", kept.join(", ")), list(left, unfinished.join(", "))];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let detail = if parts.is_empty() { "there is no old index".to_owned() } else { parts.join("; ") };
    Ok(Trimmed { deleted, detail })
}

/// Deletes the index, unless it has got an alias meanwhile: it may be in use again. It may get one
/// while the request is repeated, so that is done for some seconds only.
async fn delete(transport: &Transport, old: &EarlierIndex) -> Result<bool, String> {
    let transport = &transport.brief();
    let found = aliases::behind(transport, &old.index).await.map_err(|error| error.to_string())?;
    if found
        .get(&old.index)
        .is_none_or(|now| now.uuid != old.uuid || !now.aliases.is_empty() || now.data_stream.is_some())
    {
        return Ok(false);
    }
    index::delete_this(transport, &old.index, &old.uuid)
        .await
        .map_err(|error| format!("{} could not be deleted: {error}", old.index))
}
