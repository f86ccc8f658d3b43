//! The index without documents: the target makes it as it makes any other, and writes a snapshot of
//! it, which gives the repository its form. Then it deletes the index again.
//!
//! The index exists for about a second under the name that it will have. It takes no documents
//! meanwhile, and a mark, an alias that no other index has, says that it is this bake's.

use std::fs;
use std::io;
use std::time::Duration;

use http::Method;
use inrush_cluster::Wait;
use inrush_cluster::api::shards::shards;
use inrush_cluster::api::snapshots::{self, SnapshotState};
use inrush_cluster::api::{ClusterError, aliases, index};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_load::cutover::is_passing;
use inrush_node::KnownProduct;
use serde_json::{Map, Value, json};

use super::fill::upload;
use super::folders::{EMPTY, Folders};
use super::names::refuse;
use super::remote::Remote;
use crate::config::BakeError;
use crate::context::{Context, NoNode, after, none_begins};
use crate::files::{copy_over, set_mode};
use crate::record::{Build, Plan, SNAPSHOT, Saved, WRITE_BLOCK, of_shards};

const POLL: Duration = Duration::from_millis(50);
/// How often the snapshot is begun if it does not complete.
const SNAPSHOTS_MAX: u32 = 5;
/// How long to wait for a request that makes an index. A server gives it up then.
const BEGINS_MAX: Duration = Duration::from_secs(30);

/// What does not work between this machine and the target: with a builder it may.
fn not_here(why: String) -> BakeError {
    BakeError::NotNative(why)
}

/// The name of the repository for the index without documents, which is also its mark.
fn mark(saved: &Saved) -> String {
    format!("inrush-bake-{}-empty", saved.id)
}

/// Registers a repository to which the target may write.
pub(super) async fn share(context: &Context) -> Result<String, BakeError> {
    let saved = context.saved().clone();
    let place = saved.shared.within(EMPTY);
    if let Some(folder) = &place.folder {
        saved.shared.make()?;
        // The target's nodes may run as another user, who deletes there what it has written, and
        // with the sticky bit (inode(7)) no other user does.
        let open = fs::create_dir_all(folder).and_then(|()| set_mode(folder, 0o1777));
        open.map_err(|error| not_here(format!("cannot open {} for the target: {error}", folder.display())))?;
    }
    let mut repository = place.for_target();
    // What the target writes has to be read here.
    repository.settings.insert("compress".to_owned(), json!(false));
    if saved.native().is_some_and(|native| native.product == KnownProduct::OpenSearch) {
        // Else it writes the shards to places of a bucket that are outside of the repository, or
        // leaves folders in folders, which another user cannot delete.
        repository.settings.insert("shard_path_type".to_owned(), json!("FIXED"));
    }
    context.write_native(|native| native.registered = true)?;
    let name = mark(&saved);
    let registered = context.ask(|| snapshots::register(&context.target, &name, &repository)).await;
    registered.map_err(|error| {
        if !error.is_refusal_of_target() {
            return error;
        }
        let needed = match &place.folder {
            Some(_) => format!(
                "each of its nodes has to see {} at this path (option `repository_path_on_target` names another one), its user has to be able to pass through the folders above, and path.repo in its configuration has to name it or a folder around it",
                saved.shared.around_on_target()
            ),
            None => "each of its nodes has to write below the base_path of the repository".to_owned(),
        };
        let why = format!("the target cannot use the repository: {error}; {needed}; see docs/bake/repository.md");
        if is_of_another_folder(&error) { refuse(why) } else { not_here(why) }
    })?;
    Ok("the target writes to it".to_owned())
}

/// Whether the target may not use the folder at all. It refuses that of a builder, too.
fn is_of_another_folder(error: &BakeError) -> bool {
    error.to_string().contains("specified by path.repo")
}

/// Makes the index, writes its snapshot, deletes it, and copies the snapshot. [`forget`] deletes
/// the snapshot.
pub(super) async fn make(context: &Context, remote: Option<&Remote>) -> Result<String, BakeError> {
    let saved = context.saved().clone();
    let (name, mark) = (&saved.index, mark(&saved));
    context.write_native(|native| native.making = true)?;
    context.ask(|| create(&context.target, name, &mark, &saved.plan)).await?;
    wait_for_primaries(context, name).await?;
    let made = context.ask(|| snapshots::identity(&context.target, name)).await?;
    let made = made.ok_or_else(|| refuse(format!("{name} is gone from the target")))?;
    let routing = saved.plan.routing().map_err(BakeError::Refused)?;
    let found = context.ask(|| shards(&context.target, name)).await?.routing;
    if found.shards() != routing.shards() || found.is_partitioned() {
        return Err(BakeError::NotNative(format!(
            "the target made an index of {} shards, each routing value in {} of them, but {} shards were expected",
            found.shards(),
            found.partition_size(),
            routing.shards()
        )));
    }
    let mapping = context.ask(|| mapping_of(&context.target, name)).await?;
    context.write(|saved| {
        saved.made = Some(made);
        if let Build::Native(native) = &mut saved.build {
            (native.mapping, native.slots) = (mapping, Some(found.routing_shards()));
        }
    })?;
    take(context, &mark, name).await?;
    let now = context.saved().clone();
    context.ask(|| remove_index(&context.target, &now)).await?;
    context.write_native(|native| native.making = false)?;
    let folders = Folders::of(context, &saved);
    let copied = match remote {
        None => copy_form(folders).await,
        Some(remote) => {
            let copied = async {
                remote.download(EMPTY, &folders.form, |_| true).await?;
                // That this machine may write there, too, shows before the documents are read.
                upload(context, remote, &folders.form).await
            };
            context.until_stopped(copied).await
        }
    };
    copied.map_err(|error| match error {
        BakeError::Refused(why) => not_here(why),
        error => error,
    })?;
    context.write_native(|native| native.copied = true)?;
    Ok(format!("{name} without documents, {}", of_shards(u64::from(routing.shards()))))
}

/// Copies the snapshot that the target wrote into a folder.
async fn copy_form(Folders { empty, form, .. }: Folders) -> Result<(), BakeError> {
    let from = empty.display().to_string();
    let copied = tokio::task::spawn_blocking(move || copy_over(&empty, &form)).await;
    let copied = copied.unwrap_or_else(|error| Err(io::Error::other(error)));
    copied.map_err(|source| match source.kind() {
        io::ErrorKind::PermissionDenied => not_here(format!(
            "cannot read what the target's server has written to {from}: {source}; give the server the file mode mask 0022, or its user and this one a common group and the folder of the repository this group and the set-group-ID bit"
        )),
        _ => BakeError::Files { what: format!("cannot copy the snapshot without documents from {from}"), source },
    })
}

/// Creates the index, without what would make it more than a form. One that an earlier request has
/// made is as good.
async fn create(target: &Transport, name: &str, mark: &str, plan: &Plan) -> Result<(), ClusterError> {
    let mut settings = plan.building.clone();
    // A null removes a setting of a template. The restored index gets these.
    let kept_back = plan.restored.keys().filter(|name| !plan.building.contains_key(*name));
    settings.extend(kept_back.map(|name| (name.clone(), Value::Null)).collect::<Map<_, _>>());
    settings.insert(WRITE_BLOCK.to_owned(), json!(true));
    let body = json!({"settings": settings, "mappings": plan.mappings, "aliases": {mark: {}}});
    let answer = target.ask(Method::PUT, &format!("/{}", path_segment(name)), Some(&body)).await?;
    if (200..300).contains(&answer.status()) || is_marked(target, name, mark).await? {
        return Ok(());
    }
    if index::exists(target, name).await? {
        let problem = "another program has created it on the target meanwhile; it was not changed".to_owned();
        return Err(ClusterError::Target { name: name.to_owned(), problem });
    }
    let what = format!("creating {name} without documents on the target");
    Err(ClusterError::from_status(&what, answer.status(), &answer.json(&what)?))
}

/// Whether the index is the one of this bake.
async fn is_marked(target: &Transport, name: &str, mark: &str) -> Result<bool, ClusterError> {
    Ok(aliases::behind(target, name).await?.get(name).is_some_and(|found| found.aliases.contains_key(mark)))
}

async fn wait_for_primaries(context: &Context, name: &str) -> Result<(), BakeError> {
    let wait = Wait::new(context.times.wait_timeout);
    let mut no_node = NoNode::new(context);
    loop {
        let found = context.ask(|| snapshots::primaries(&context.target, name)).await?;
        if found.total > 0 && found.started == found.total {
            return Ok(());
        }
        if let Some(why) = no_node.check(context, name, &found).await? {
            context.show(&format!("{name} without documents: {why}"));
        }
        if wait.is_over() {
            return Err(refuse(format!(
                "{} of {} primary shards of {name} are active on the target, still after the time of option `wait_timeout`",
                found.started, found.total
            )));
        }
        context.until_stopped(after(POLL)).await?;
    }
}

/// Writes the snapshot.
async fn take(context: &Context, repository: &str, name: &str) -> Result<(), BakeError> {
    let wait = Wait::new(context.times.wait_timeout);
    let (mut begun, mut tries) = (false, 1);
    loop {
        match context.ask(|| snapshots::state(&context.target, repository, SNAPSHOT)).await? {
            SnapshotState::Success => return Ok(()),
            SnapshotState::Missing if !begun => {
                match snapshots::begin(&context.target, repository, SNAPSHOT, name).await {
                    Ok(()) => begun = true,
                    // The reply to the first request was lost.
                    Err(error) if error.status() == Some(400) && error.to_string().contains("already") => {
                        begun = true;
                    }
                    Err(error) if !is_passing(&error) || wait.is_over() => return Err(error.into()),
                    Err(error) => tracing::warn!("{error}"),
                }
            }
            SnapshotState::InProgress | SnapshotState::Missing if !wait.is_over() => {}
            // The target may have restarted meanwhile.
            SnapshotState::Failed(why) if tries < SNAPSHOTS_MAX => {
                tracing::warn!("the target's snapshot did not complete: {why}; it is taken again");
                context.ask(|| snapshots::delete(&context.target, repository, SNAPSHOT)).await?;
                wait_for_primaries(context, name).await?;
                (begun, tries) = (false, tries + 1);
            }
            SnapshotState::Failed(why) => return Err(refuse(format!("the target's snapshot did not complete: {why}"))),
            SnapshotState::InProgress | SnapshotState::Missing => {
                return Err(refuse("the target's snapshot did not end in time (option `wait_timeout`)"));
            }
        }
        context.until_stopped(after(POLL)).await?;
    }
}

/// The mapping of the index.
async fn mapping_of(target: &Transport, index: &str) -> Result<Value, ClusterError> {
    let path = format!("/{}/_mapping", path_segment(index));
    let body = target.demand("reading the mapping of the index without documents", Method::GET, &path, None).await?;
    Ok(body.get(index).and_then(|index| index.get("mappings")).cloned().unwrap_or_default())
}

/// Deletes the index if it is the one of this bake: by its mark, and by its UUID once that is
/// known.
async fn remove_index(target: &Transport, saved: &Saved) -> Result<(), ClusterError> {
    let found = aliases::behind(target, &saved.index).await?.remove(&saved.index);
    let made = saved.made.as_ref();
    match found.filter(|found| found.aliases.contains_key(&mark(saved))) {
        Some(found) if made.is_none_or(|made| made.uuid == found.uuid) => {
            index::delete(target, &saved.index).await.map(drop)
        }
        _ => Ok(()),
    }
}

/// Deletes the index without documents if it is this bake's, and its snapshot and repository. What
/// is done is removed from `saved`.
///
/// # Errors
/// [`ClusterError`] if a request fails.
pub(super) async fn forget(target: &Transport, saved: &mut Saved) -> Result<(), ClusterError> {
    let (mark, before) = (mark(saved), saved.clone());
    let Build::Native(native) = &mut saved.build else { return Ok(()) };
    if native.registered {
        // One that is being written is aborted. Until then the index cannot be deleted.
        snapshots::delete(target, &mark, SNAPSHOT).await?;
    }
    if native.making {
        // A run that was killed may have sent the request that makes it a moment ago.
        let ask = || none_begins(target, "asking for indices that are being created", "indices:admin/create*");
        // It is deleted even if that is not known.
        let _ = Wait::new(BEGINS_MAX).every(POLL).ask_until(ask, |_| true).await;
        remove_index(target, &before).await?;
        native.making = false;
    }
    if native.registered {
        snapshots::unregister(target, &mark).await?;
        native.registered = false;
    }
    Ok(())
}

/// Deletes the index without documents, its snapshot and its repository from the target.
pub(super) async fn forget_empty(context: &Context) -> Result<(), BakeError> {
    let saved = context.saved().clone();
    let forgotten = context
        .ask(|| {
            let mut saved = saved.clone();
            async move { forget(&context.target, &mut saved).await.map(|()| saved.build) }
        })
        .await?;
    if let Some(empty) = saved.shared.within(EMPTY).folder
        && let Err(error) = set_mode(&empty, 0o755)
    {
        tracing::debug!("{} stays open: {error}", empty.display());
    }
    // The documents are loaded meanwhile.
    context.write_native(|native| {
        if let Build::Native(done) = forgotten {
            (native.making, native.registered) = (done.making, done.registered);
        }
    })
}

#[cfg(test)]
mod tests {
    use inrush_cluster::transport::{Credentials, HttpOptions};
    use inrush_fake::{FakeCluster, FakeConfig};

    use super::*;

    #[test]
    fn a_folder_outside_of_path_repo_needs_no_server() {
        for (reason, expected) in [
            (
                "location [/a/b] doesn't match any of the locations specified by path.repo because this setting is empty",
                true,
            ),
            ("[r] path is not accessible on master node", false),
        ] {
            let body = json!({"error": {"type": "repository_exception", "reason": reason}});
            let error = BakeError::from(ClusterError::from_status("registering it", 500, &body));
            assert_eq!(is_of_another_folder(&error), expected, "{error}");
        }
    }

    #[tokio::test]
    async fn an_index_of_another_program_stays_and_needs_no_server() {
        let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
        let target = Transport::new(&[fake.url()], Credentials::None, &HttpOptions::default()).unwrap();
        let plan = Plan { mappings: json!({}), ..Plan::default() };
        let made = async |mark: &str| create(&target, "x", mark, &plan).await;
        made("this-bake").await.unwrap();
        // That of an earlier request is as good.
        made("this-bake").await.unwrap();
        let error = BakeError::from(made("another-bake").await.unwrap_err());
        assert!(error.to_string().contains("another program"), "{error}");
        assert!(!error.is_refusal_of_target());
    }
}
