//! Makes one index from shards that were built separately. An empty index with the same number of
//! shards and the merged mapping of all parts gives the repository its form. [`super::stitch`] puts
//! the shards in.

use http::Method;
use inrush_cluster::api::{ClusterError, snapshots};
use inrush_cluster::transport::{Transport, path_segment};
use serde_json::Value;

use super::build::{PartRun, SNAPSHOT, create};
use super::config::BakeError;
use super::context::Context;
use super::plan::union;
use super::stitch::{Shard, stitch};

/// Creates the empty index on the first builder, and checks that it routes documents in the same
/// way as they were divided.
pub(super) async fn make_whole(context: &Context, builder: &Transport) -> Result<(), BakeError> {
    let (index, plan, made, title, (repository, _)) = {
        let saved = context.saved();
        let made = saved.whole.as_ref().and_then(|whole| whole.made.clone());
        let title = saved.parts[0].nodes[0].title();
        (saved.index.clone(), saved.plan.clone(), made, title, saved.repository_of_whole())
    };
    if made.is_some() && snapshots::identity(builder, &index).await? == made {
        return Ok(());
    }
    create(builder, &repository, &index, &plan, &title).await?;
    let routing = plan.routing().map_err(BakeError::Refused)?;
    let found = routing_shards(builder, &index).await?;
    if found != u64::from(routing.routing_shards()) {
        return Err(BakeError::Refused(format!(
            "{title} routes documents over {found} slots, but {} were expected: this version is unknown here; give another value of option `layout`",
            routing.routing_shards()
        )));
    }
    let made = snapshots::identity(builder, &index).await?;
    context.write(|saved| {
        if let Some(whole) = &mut saved.whole {
            (whole.made, whole.snapshot, whole.stitched) = (made, false, false);
        }
    })
}

/// Moves the shards of all parts, which are in their repositories, into the repository of the
/// index.
pub(super) async fn assemble(context: &Context, first: &mut PartRun) -> Result<String, BakeError> {
    let saved = context.saved().clone();
    let Some(whole) = &saved.whole else { return Ok("not asked for".to_owned()) };
    let (repository, place) = saved.repository_of_whole();
    if !whole.snapshot {
        let found: Vec<Value> = saved.parts.iter().map(|part| part.mapping.clone()).collect();
        let mapping = union(&found).map_err(BakeError::Refused)?;
        if mapping.as_object().is_some_and(|mapping| !mapping.is_empty()) {
            let builder = first.builder()?;
            let path = format!("/{}/_mapping", path_segment(&saved.index));
            builder.demand("setting the mapping of the parts on the index", Method::PUT, &path, Some(&mapping)).await?;
        }
        first.take(&repository, SNAPSHOT, &saved.index).await?;
        context.write(|saved| saved.whole.iter_mut().for_each(|whole| whole.snapshot = true))?;
    }
    let (Some(into), Some(base)) = (place.folder, saved.shared.folder.clone()) else {
        return Err(BakeError::Refused("the repository is not a folder".to_owned()));
    };
    let folders: Vec<_> = (0..saved.parts.len()).filter_map(|part| saved.repository_of(part).1.folder).collect();
    let (index, part) = (saved.index.clone(), saved.parts[0].index.clone());
    let count = folders.len();
    let work = tokio::task::spawn_blocking(move || {
        let shards: Vec<Shard<'_>> =
            folders.iter().enumerate().map(|(n, repository)| Shard { repository, number: n as u32 }).collect();
        stitch(&into, &index, &part, &shards, &base.join("replaced"))
    });
    // It is cancelled only with the whole runtime.
    let stitched = work.await.unwrap_or_else(|e| Err(std::io::Error::other(e)));
    stitched.map_err(|error| BakeError::Refused(format!("the shards cannot be put together: {error}")))?;
    saved.shared.open();
    context.write(|saved| saved.whole.iter_mut().for_each(|whole| whole.stitched = true))?;
    Ok(format!("{count} shards are one index"))
}

/// The mapping of a part.
pub(super) async fn mapping(builder: &Transport, index: &str) -> Result<Value, ClusterError> {
    let path = format!("/{}/_mapping", path_segment(index));
    let body = builder.demand("reading the mapping of a part", Method::GET, &path, None).await?;
    Ok(body.get(index).and_then(|index| index.get("mappings")).cloned().unwrap_or_default())
}

/// The number of slots that the index spreads documents over. Each shard has the same number of
/// them.
pub(super) async fn routing_shards(builder: &Transport, index: &str) -> Result<u64, ClusterError> {
    let what = "reading how the index routes documents";
    let path =
        format!("/_cluster/state/metadata/{}?filter_path=metadata.indices.*.routing_num_shards", path_segment(index));
    let body = builder.demand(what, Method::GET, &path, None).await?;
    let found =
        body.get("metadata").and_then(|all| all.get("indices")?.get(index)?.get("routing_num_shards")?.as_u64());
    found.ok_or_else(|| ClusterError::Reply {
        what: what.to_owned(),
        problem: format!("no routing_num_shards in {body}"),
    })
}
