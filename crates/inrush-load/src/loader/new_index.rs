//! Where the mapping and the settings of a new index come from: the user, the index that it
//! replaces behind an alias, an index template, or the cluster.

use inrush_cluster::api::like::{self, Taken};
use inrush_cluster::api::{ClusterError, Target, TargetKind, index};
use inrush_cluster::transport::Transport;

use crate::config::LoadConfig;
use crate::cutover::{self, Noted, Swapping};
use crate::error::LoadError;
use crate::report::NewIndexReport;

/// Begins a swap. Its new index becomes that of the load, and gets the mapping and settings of the
/// one that it replaces, as far as the user and index templates give none.
///
/// # Errors
/// As [`cutover::begin`].
pub(crate) async fn begin_swap(
    transport: &Transport,
    config: &mut LoadConfig,
    noted: Option<Noted>,
) -> Result<Option<Swapping>, LoadError> {
    let swapping = cutover::begin(transport, config, noted).await?;
    let Some(swapping) = swapping else { return Ok(None) };
    config.index = swapping.noted.index().parse().map_err(LoadError::usage)?;
    let new = swapping.noted.index();
    if let Some(old) = swapping.replaces().filter(|_| !config.create.anew)
        && (!swapping.may_go_on() || !index::exists(transport, new).await?)
    {
        take(transport, config, old, new).await?;
    }
    config.create.mark = Some(swapping.mark());
    Ok(Some(swapping))
}

async fn take(transport: &Transport, config: &mut LoadConfig, old: &str, new: &str) -> Result<(), ClusterError> {
    let how = config.create.given_for(new);
    let like = match like::of(transport, old, new, &how).await {
        Ok(like) => like,
        Err(error) if error.cannot_be_asked() => {
            let warning = format!(
                "the mapping and settings of {old} cannot be read, so the new index {new} is made without them: {error}"
            );
            tracing::warn!("{warning}");
            config.create.notes.push(warning);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let create = &mut config.create;
    let from = |taken| match taken {
        Taken::Index => Some(format!("of {old}")),
        Taken::Template => Some("of an index template".to_owned()),
        Taken::Default => None,
    };
    if how.mappings.is_none() {
        (create.mapping_of, create.mapping) = (from(like.mapping.0), like.mapping.1);
    }
    if how.settings.is_none() {
        (create.settings_of, create.settings) = (from(like.settings.0), like.settings.1);
    }
    if !like.lost.is_empty() {
        let warning = format!(
            "the new index {new} will not have of {old}: {}; give it with option `mapping` and option `settings`, or by the index template",
            like.lost.join("; ")
        );
        tracing::warn!("{warning}");
        create.notes.push(warning);
    }
    Ok(())
}

/// Where the mapping and the settings of the index come from that the load makes for an alias, or
/// as a copy of another index.
pub(super) fn report(config: &LoadConfig, target: Option<&Target>) -> Option<NewIndexReport> {
    let create = &config.create;
    let is_new = |target: &Target| matches!(target.kind, TargetKind::Missing { .. }) || create.recreate;
    let is_told = config.finish.swap.is_some() || create.mapping_of.is_some() || create.settings_of.is_some();
    let name = config.index.fixed().filter(|_| is_told && target.is_some_and(is_new))?;
    let how = create.given_for(name);
    let given = |is: bool, otherwise: &str| if is { "given".to_owned() } else { otherwise.to_owned() };
    let has_settings = how.settings.is_some() || how.shards.is_some() || how.replicas.is_some();
    Some(NewIndexReport {
        name: name.to_owned(),
        mapping: create.mapping_of.clone().unwrap_or_else(|| given(how.mappings.is_some(), "dynamic")),
        settings: create.settings_of.clone().unwrap_or_else(|| given(has_settings, "defaults")),
    })
}
