//! Shards that other machines build: what they need to know, and what becomes of what they have
//! built.
//!
//! Each attempt to build a shard has a folder of its own in the folder `tasks` of the bake, so one
//! that is lost, repeated or doubled disturbs no other. The one that counts of each shard takes the
//! place that a shard has which is built here (`load.rs`); what is left goes with the folder. In an
//! object store the files of all attempts are beside each other, under names of their own, and the
//! lists of files of the attempt that counts are written here.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use inrush_load::Report;
use inrush_lucene::{Shard, ShardOptions};
use inrush_sources::{Reopen, Repeats, Source, SourceError, SourceInfo, Step};

use super::blueprint::Blueprint;
use super::fill::upload;
use super::folders::Folders;
use super::load::{cannot_write, read_words, verify};
use super::names::{random, refuse};
use super::order::{BuiltShard, Place, ShardBuilders, ShardOrder};
use super::remote::Remote;
use super::snapshot::shard_folders;
use crate::config::BakeError;
use crate::context::Context;
use crate::files;

/// Has the shards built, and puts them where those are that are built here, or into the object
/// store.
pub(super) async fn build(
    context: &Context,
    tasks: &ShardBuilders,
    remote: Option<&Remote>,
    memory: usize,
) -> Result<String, BakeError> {
    let saved = context.saved().clone();
    let blueprint = Blueprint::read(context, &saved)?;
    if !blueprint.has_fields() {
        let why = "the mapping names no field, and documents that several machines index add none; name them with option `mapping`";
        return Err(BakeError::NotNative(why.to_owned()));
    }
    let folders = Folders::of(context, &saved);
    let place = match remote {
        Some(_) => Place::Store { shared: Box::new(saved.shared.clone()), shards: paths(&folders.form, &saved.index)? },
        None => {
            for folder in [&folders.build, &folders.tasks] {
                files::remove(folder).map_err(cannot_write)?;
                fs::create_dir_all(folder).map_err(cannot_write)?;
            }
            Place::Folder(folders.tasks.clone())
        }
    };
    let order = ShardOrder { blueprint: blueprint.clone(), id: saved.id.clone(), place: place.clone(), memory };
    context.write_native(|native| native.elsewhere = true)?;
    let built = context.until_stopped(async { tasks(order).await.map_err(refuse) }).await;
    let built = built.inspect_err(|_| {
        if remote.is_none() {
            close(&folders);
        }
    })?;
    let parts = by_shard(built, blueprint.shards())?;
    let docs = parts.values().map(|built| built.docs).sum();
    let reports: Vec<Report> = parts.values().map(|built| built.report.clone()).collect();
    let report = merged(reports, docs, &saved.index)?;
    let read = read_words(report.counts.docs_read, parts.values().map(|built| built.from_columns).sum());
    let detail = format!("{read}, {docs} in the index of {} tasks", parts.len());
    let whole = folders.whole.clone();
    let work = move || match place {
        Place::Folder(_) => place_folders(&saved.id, &blueprint, &parts, &folders),
        Place::Store { shards, .. } => place_lists(&parts, &shards, &folders),
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(refuse(error.to_string())))?;
    if let Some(remote) = remote {
        context.until_stopped(upload(context, remote, &whole)).await?;
    }
    context.write(|saved| {
        saved.loaded = Some((Box::new(report), docs));
        // The files of shards in an object store are in their places.
        saved.is_built = remote.is_some();
    })?;
    Ok(detail)
}

/// The folders of the shards below a repository.
fn paths(repository: &Path, index: &str) -> Result<Vec<String>, BakeError> {
    let cannot = |error: io::Error| refuse(format!("the snapshot without documents cannot be read: {error}"));
    let folders = shard_folders(repository, index).map_err(cannot)?;
    let below = |folder: PathBuf| folder.strip_prefix(repository).map(|path| path.to_string_lossy().into_owned());
    folders.into_iter().map(|folder| below(folder).map_err(|error| refuse(error.to_string()))).collect()
}

/// The shards by their numbers.
fn by_shard(built: Vec<BuiltShard>, shards: u32) -> Result<BTreeMap<u32, BuiltShard>, BakeError> {
    let mut parts = BTreeMap::new();
    for part in built {
        let number = part.shard;
        // It comes from another machine.
        let names = part.lists.keys().chain([&part.attempt]);
        if let Some(name) = names.into_iter().find(|name| !is_name(name)) {
            return Err(refuse(format!("{name:?} is no name of a file or folder of shard {number}")));
        }
        if number >= shards || parts.insert(number, part).is_some() {
            return Err(refuse(format!("shard {number} of {shards} was built twice, or is none of the index")));
        }
    }
    Ok(parts)
}

/// Whether a text is the name of something in a folder, and leads nowhere else.
fn is_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(name)), None) if name == text)
}

/// One report of all shards.
fn merged(reports: Vec<Report>, docs: u64, index: &str) -> Result<Report, BakeError> {
    let mut report = Report::merged(reports)
        .ok_or_else(|| refuse("there was nothing to bake: no shard has documents".to_owned()))?;
    verify(&mut report, docs, index)?;
    Ok(report)
}

/// Gives the folders of the attempts that count their places. A shard without documents gets its
/// commit here.
fn place_folders(
    id: &str,
    blueprint: &Blueprint,
    parts: &BTreeMap<u32, BuiltShard>,
    folders: &Folders,
) -> Result<(), BakeError> {
    let Folders { build, tasks, .. } = folders;
    let mapping = blueprint.mapping(true)?;
    for number in 0..blueprint.shards() {
        let folder = build.join(number.to_string());
        let Some(part) = parts.get(&number) else {
            fs::create_dir_all(&folder).map_err(cannot_write)?;
            let shard = blueprint.shard(number as usize, folder, random(id, "empty", number as usize))?;
            let options = ShardOptions {
                folder: shard.folder,
                primary_term: 1,
                segment_memory: 0,
                random: shard.random,
                keep: blueprint.keep(),
            };
            Shard::new(options, &mapping).commit(shard.generation, &shard.user_data).map_err(cannot_write)?;
            continue;
        };
        fs::rename(tasks.join(&part.attempt), &folder)
            .map_err(|error| refuse(format!("the files of shard {number} are not in {}: {error}", tasks.display())))?;
    }
    close(folders);
    files::sync(build).map_err(cannot_write)
}

/// Deletes the folder of the attempts. One that is not needed any more, and still writes, finds it
/// gone, because it gets another name first.
fn close(Folders { tasks, .. }: &Folders) {
    let ended = tasks.with_extension("ended");
    if let Err(error) = fs::rename(tasks, &ended).and_then(|()| files::remove(&ended)) {
        tracing::debug!("{} is deleted at the end only: {error}", tasks.display());
    }
}

/// Puts the lists of the attempts that count into a copy of the empty repository. A shard without
/// documents keeps its empty one.
fn place_lists(parts: &BTreeMap<u32, BuiltShard>, shards: &[String], folders: &Folders) -> Result<(), BakeError> {
    let Folders { form, whole, .. } = folders;
    files::copy_over(form, whole).map_err(cannot_write)?;
    for (number, part) in parts {
        let folder = whole.join(&shards[*number as usize]);
        for (name, contents) in &part.lists {
            if !folder.join(name).is_file() {
                return Err(refuse(format!("{name} is no list of shard {number}")));
            }
            fs::write(folder.join(name), contents).map_err(cannot_write)?;
        }
    }
    Ok(())
}

/// The documents that other machines have. This one reads none of them.
pub(crate) fn no_documents(name: &str) -> Reopen {
    let name = name.to_owned();
    Arc::new(move || Ok(Box::new(NoDocuments { name: name.clone() })))
}

struct NoDocuments {
    name: String,
}

impl Source for NoDocuments {
    fn describe(&self) -> SourceInfo {
        let mut info = SourceInfo::new([self.name.clone()]);
        info.repeats = Repeats::Always;
        info
    }

    fn next(&mut self, _want_bytes: usize) -> Result<Step, SourceError> {
        Ok(Step::End)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        assert!(is_name("0-1f") && is_name("snap-x.dat") && is_name("..x"));
        for other in ["", ".", "..", "../x", "a/b", "a/", "/a"] {
            assert!(!is_name(other), "{other}");
        }
    }
}
