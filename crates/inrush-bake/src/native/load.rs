//! The load into the files of the shards: the same as into a cluster.

use std::fs;
use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_cluster::transport::Transport;
use inrush_core::{Action, Compression, Encoding, OnConflict};
use inrush_load::config::{BulkRouting, DeadLetters, FinishConfig, LoadConfig, Replies};
use inrush_load::loader::{Loader, RunningLoad};
use inrush_load::{LoadError, Report, Status, Verified, VerifiedState};
use inrush_lucene::{Committed, Keep, Mapping, ShardSnapshot, Target};

use super::super::config::BakeError;
use super::super::context::Context;
use super::super::load::{aside, follow};
use super::super::state::Saved;
use super::folders::{self, Folders, sync};
use super::server::Server;
use super::writers::{BuildPlan, ShardPlan, Stopped, Writers};
use super::{check, native, random, refuse, snapshots};

/// The address of the server in this process, for messages.
const ADDRESS: &str = "http://localhost";
/// Bytes of a bulk request where the options do not say how many.
const BATCH_BYTES: usize = 1 << 20;
/// Requests that wait while each thread works on one.
const WAITING: u32 = 2;

/// Loads the documents into the files of the shards.
pub(super) async fn load(context: &Context) -> Result<String, BakeError> {
    let letters = letters(context)?;
    let saved = context.saved().clone();
    let writers = Arc::new(begin(context, &saved)?);
    let mut report = match begin_load(context, &saved, &writers, &letters).await {
        Ok(running) => follow(context, 0, running, pending::<()>()).await.0,
        Err(error) => {
            // The threads hold nothing that is needed.
            end(&writers, false).await?;
            return Err(error);
        }
    };
    let is_whole = matches!(report.status, Status::Complete | Status::Incomplete);
    if is_whole {
        context.show("ending the segments");
    }
    let committed = end(&writers, is_whole).await.inspect_err(|_| forget_letters(&letters))?;
    if !is_whole {
        // The next run begins with the first document again.
        report.checkpoint = Some(context.keep.path());
        let detail = "the documents are in no index; a resumed bake reads them again".to_owned();
        report.verified = Verified::new(VerifiedState::NotProvable, detail);
        return Err(BakeError::NotLoaded(Box::new(report)));
    }
    let docs = account(&mut report, &committed, &context.config.load, &saved.index)
        .inspect_err(|_| forget_letters(&letters))?;
    let Folders { build, .. } = Folders::of(context, &saved);
    let synced = tokio::task::spawn_blocking(move || sync(&build)).await;
    let synced = synced.unwrap_or_else(|error| Err(io::Error::other(error)));
    synced.map_err(|error| refuse(format!("the index cannot be written: {error}")))?;
    let detail = format!("{} read, {docs} in the index", report.counts.docs_read);
    context.write_part(0, |part| part.loaded = Some((Box::new(report), docs)))?;
    Ok(detail)
}

/// Starts the threads that write the shards.
fn begin(context: &Context, saved: &Saved) -> Result<Writers, BakeError> {
    let native = native(saved)?;
    let Folders { form, build, .. } = Folders::of(context, saved);
    let snapshots = snapshots(&form, &saved.index)?;
    let cannot = |error: io::Error| refuse(format!("the index cannot be written: {error}"));
    folders::remove(&build).map_err(cannot)?;
    let shards: Vec<ShardPlan> = snapshots
        .iter()
        .enumerate()
        .map(|(shard, snapshot)| {
            let folder = build.join(shard.to_string());
            fs::create_dir_all(&folder)?;
            let seed = format!("ids {}", inrush_cluster::run_id::seed());
            Ok(ShardPlan {
                folder,
                random: random(saved, &seed, shard),
                generation: snapshot.generation(),
                user_data: snapshot.user_data().to_vec(),
            })
        })
        .collect::<io::Result<_>>()
        .map_err(cannot)?;
    let lucene = snapshots.first().map(ShardSnapshot::lucene).unwrap_or_default();
    let version = native.version.parse::<inrush_cluster::api::Version>().map_err(refuse)?;
    let target = Target {
        product: check::product(native.product),
        version: [version.major, version.minor, version.patch],
        lucene,
    };
    let mapping = Mapping::with_settings(&saved.parts[0].mapping, &saved.plan.building, target)
        .map_err(|unsupported| BakeError::NotNative(unsupported.to_string()))?;
    let config = &context.config;
    let keep = if config.load.action == Action::Create { Keep::First } else { Keep::Last };
    let plan = BuildPlan {
        index: saved.index.clone(),
        product: target.product,
        mapping,
        routing: saved.plan.routing().map_err(BakeError::Refused)?,
        shards,
        keep,
        memory: config.build_memory,
        threads: config.load.limits.workers,
    };
    Writers::start(plan).map_err(cannot)
}

/// The file for dead letters. One of an earlier try of this bake is deleted, because its documents
/// are read again.
fn letters(context: &Context) -> Result<PathBuf, BakeError> {
    let recorded = context.saved().native.as_ref().and_then(|native| native.letters.clone());
    if let Some(path) = recorded {
        forget_letters(&path);
        return Ok(path);
    }
    let name = format!("inrush-dead-letters-{}.ndjson", context.saved().id);
    let path = match &context.config.load.dead_letters {
        DeadLetters::DefaultFile => PathBuf::from(name),
        DeadLetters::Folder(folder) => folder.join(name),
        DeadLetters::File(path) => path.clone(),
    };
    // The load refuses a file with something in it, which is not of this bake.
    if path.metadata().is_ok_and(|found| found.len() > 0) {
        return Ok(path);
    }
    let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
    context.write(|saved| saved.native.iter_mut().for_each(|native| native.letters = Some(absolute.clone())))?;
    Ok(path)
}

/// Deletes the dead letters of a try whose documents are read again.
pub(in super::super) fn forget_letters(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!("{} stays, with documents that are read again: {error}", path.display());
    }
}

async fn begin_load(
    context: &Context,
    saved: &Saved,
    writers: &Arc<Writers>,
    letters: &Path,
) -> Result<RunningLoad, BakeError> {
    let native = native(saved)?;
    let server = Server::new(native.product, &native.version, &saved.index, Arc::clone(writers));
    let transport = Transport::to_local(ADDRESS, Arc::new(server)).map_err(LoadError::Setup)?;
    let mut config = load_config(&context.config.load, &saved.index)?;
    config.dead_letters = DeadLetters::File(letters.to_owned());
    let loader = Loader::new(config)?;
    let loader = loader.through(Arc::new(transport)).with_observers(context.observers(0));
    Ok(loader.start((context.open)()?).await?)
}

/// The load into the server in this process.
fn load_config(load: &LoadConfig, index: &str) -> Result<LoadConfig, BakeError> {
    let mut config = aside(load, index, vec![ADDRESS.to_owned()])?;
    config.finish = FinishConfig::default();
    // What is in memory is lost with the process, so there is nothing to resume.
    (config.state, config.resume) = (None, false);
    // The documents are counted when the segments are written.
    config.verify = false;
    config.replies = Replies::Items;
    config.bulk_routing = BulkRouting::Spread;
    (config.encoding, config.compression) = (Some(Encoding::Json), Some(Compression::None));
    let limits = &mut config.limits;
    limits.gentle = None;
    let in_flight = *limits.in_flight.get_or_insert(limits.workers as u32 + WAITING);
    let share = limits.memory / in_flight.max(1) as usize;
    limits.batch_bytes.get_or_insert(BATCH_BYTES.min(share).max(1));
    Ok(config)
}

async fn end(writers: &Writers, is_needed: bool) -> Result<Vec<Committed>, BakeError> {
    writers.end(is_needed).await.map_err(|stopped| match stopped {
        Stopped::Unsupported(why) => BakeError::NotNative(why),
        Stopped::Failed(why) => refuse(format!("the index cannot be written: {why}")),
    })
}

/// Sets right what the load could not know: which documents have the id of another one. Returns the
/// number of documents in the index.
fn account(report: &mut Report, committed: &[Committed], load: &LoadConfig, index: &str) -> Result<u64, BakeError> {
    let duplicates: u64 = committed.iter().map(|shard| shard.duplicates).sum();
    let docs: u64 = committed.iter().map(|shard| shard.docs).sum();
    let counts = &mut report.counts;
    if duplicates > 0 && load.action == Action::Create {
        if load.on_conflict != OnConflict::Skip {
            return Err(BakeError::NotNative(format!(
                "{duplicates} documents have the id of an earlier one, and the action create makes dead letters of them; give option `on_conflict=skip` to count them only"
            )));
        }
        counts.docs_conflicting += duplicates;
    } else {
        counts.docs_updated += duplicates;
    }
    let created = counts.docs_created;
    counts.docs_created = created.saturating_sub(duplicates);
    if let Some(of_index) = report.indices.get_mut(index) {
        of_index.created = of_index.created.saturating_sub(duplicates);
        of_index.updated += if load.action == Action::Create { 0 } else { duplicates };
    }
    let expected = counts.docs_created;
    if expected != docs {
        return Err(refuse(format!(
            "{index} was written with {docs} documents, and {expected} were taken; this is a defect of option `engine=native`"
        )));
    }
    let detail = format!("{index} holds {docs} documents = 0 before + {expected} created - 0 deleted");
    report.verified = Verified::new(VerifiedState::Yes, detail);
    Ok(docs)
}
