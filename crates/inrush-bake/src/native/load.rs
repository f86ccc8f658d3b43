//! The load into the files of the shards: the same as into a cluster.

use std::fs;
use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use inrush_cluster::transport::Transport;
use inrush_core::{Action, Compression, Encoding, OnConflict};
use inrush_load::config::{BulkRouting, DeadLetters, FinishConfig, LoadConfig, Replies};
use inrush_load::loader::{ConfiguredLoad, RunningLoad};
use inrush_load::{LoadError, Report, Status, Verified, VerifiedState};
use inrush_lucene::Committed;
use inrush_node::KnownProduct;

use super::blueprint::Blueprint;
use super::build_plan::{ShardPlan, Stopped};
use super::folders::Folders;
use super::local_server::LocalIndex;
use super::names::{native, random, refuse};
use super::writers::Writers;
use crate::config::BakeError;
use crate::context::{Context, aside, follow};
use crate::files::{self, sync};
use crate::record::{Build, Saved, forget_letters};

/// The address of the server in this process, for messages.
const ADDRESS: &str = "http://localhost";
/// Bytes of a bulk request where the options do not say how many.
const BATCH_BYTES: usize = 1 << 20;
/// Requests that wait while each thread works on one.
const WAITING: u32 = 2;

/// Loads the documents into the files of the shards.
pub(super) async fn load(context: &Context, memory: usize) -> Result<String, BakeError> {
    let letters = letters(context)?;
    let saved = context.saved().clone();
    let writers = Arc::new(begin(context, &saved, memory)?);
    let mut report = match begin_load(context, &saved, &writers, &letters).await {
        Ok(running) => follow(context, running, pending::<()>()).await.0,
        Err(error) => {
            // The threads hold nothing that is needed.
            end(&writers, false).await?;
            return Err(error);
        }
    };
    plan_words(&mut report);
    let is_whole = matches!(report.status, Status::Complete | Status::Incomplete);
    if is_whole {
        context.show("ending the segments");
    }
    let ended = ended(&writers, is_whole, context.stopped()).await;
    let Folders { build, .. } = Folders::of(context, &saved);
    let committed = ended.map_err(|error| {
        forget_letters(&letters);
        // On a full disk the target could not delete its snapshot either.
        forget_files(context, &saved);
        match error {
            BakeError::Files { source, .. } => cannot_write_to(&build)(source),
            error => error,
        }
    })?;
    if is_whole && committed.is_none() {
        report.status = Status::Interrupted;
    }
    let Some(committed) = committed else {
        // The next run begins with the first document again.
        forget_files(context, &saved);
        report.checkpoint = Some(context.keep.path());
        in_no_index(&mut report);
        return Err(BakeError::NotLoaded(Box::new(report)));
    };
    let LoadConfig { action, on_conflict, .. } = context.load;
    let docs = account(&mut report, &committed, (action, on_conflict), &saved.index)
        .inspect_err(|_| forget_letters(&letters))?;
    let cannot_write = cannot_write_to(&build);
    let synced = tokio::task::spawn_blocking(move || sync(&build)).await;
    let synced = synced.unwrap_or_else(|error| Err(io::Error::other(error)));
    synced.map_err(cannot_write)?;
    let from_columns = committed.iter().map(|shard| shard.from_columns).sum();
    let read = read_words(report.counts.docs_read, from_columns);
    let detail = format!("{read}, {docs} in the index, by {}", writers.words());
    context.write(|saved| {
        saved.loaded = Some((Box::new(report), docs));
        if let Build::Native(native) = &mut saved.build {
            native.new_fields = writers.new_fields();
        }
    })?;
    Ok(detail)
}

/// How many documents were read, and how many of them were indexed from columns, as text.
pub(super) fn read_words(docs_read: u64, from_columns: u64) -> String {
    match from_columns {
        0 => format!("{docs_read} read"),
        some => format!("{docs_read} read, {some} of them from columns"),
    }
}

/// Says of the plan of the requests that they go to this process.
pub(super) fn plan_words(report: &mut Report) {
    let why = "this process takes the documents, and sends none to a cluster";
    (report.plan.why, report.plan.wire_why) = (why.to_owned(), why.to_owned());
}

/// Takes the documents back that the load counts as indexed: their files are deleted.
fn in_no_index(report: &mut Report) {
    let counts = &mut report.counts;
    counts.docs_given_back += counts.docs_indexed;
    counts.docs_read = counts.docs_read.saturating_sub(counts.docs_indexed);
    (counts.docs_indexed, counts.docs_created, counts.docs_updated) = (0, 0, 0);
    report.indices.clear();
    report.sources.iter_mut().for_each(|source| source.docs_settled = 0);
    let detail = "the documents are in no index; the next bake reads them again".to_owned();
    report.verified = Verified::new(VerifiedState::NotProvable, detail);
}

/// Deletes the files of shards that no later run needs.
fn forget_files(context: &Context, saved: &Saved) {
    let Folders { build, .. } = Folders::of(context, saved);
    if let Err(error) = files::remove(&build) {
        tracing::warn!("{} is deleted by the next run only: {error}", build.display());
    }
}

/// Starts the threads that write the shards.
fn begin(context: &Context, saved: &Saved, memory: usize) -> Result<Writers, BakeError> {
    let blueprint = Blueprint::read(context, saved)?;
    let Folders { build, .. } = Folders::of(context, saved);
    let cannot_write = cannot_write_to(&build);
    files::remove(&build).map_err(&cannot_write)?;
    let seed = format!("ids {}", inrush_cluster::run_id::seed());
    let shard = |shard: usize| {
        let folder = build.join(shard.to_string());
        fs::create_dir_all(&folder).map_err(&cannot_write)?;
        blueprint.shard(shard, folder, random(&saved.id, &seed, shard))
    };
    let shards = (0..blueprint.shards() as usize).map(shard).collect::<Result<Vec<ShardPlan>, _>>()?;
    let plan = blueprint.plan(shards, None, (memory, context.load.limits.workers))?;
    Writers::start(plan).map_err(cannot_write)
}

pub(super) fn cannot_write(source: io::Error) -> BakeError {
    BakeError::Files { what: "the index cannot be written".to_owned(), source }
}

/// The same with the folder.
fn cannot_write_to(folder: &Path) -> impl Fn(io::Error) -> BakeError + use<> {
    let what = format!("the index cannot be written to {}", folder.display());
    move |source| BakeError::Files { what: what.clone(), source }
}

/// The file for dead letters. One of an earlier try of this bake is deleted, because its documents
/// are read again.
fn letters(context: &Context) -> Result<PathBuf, BakeError> {
    let recorded = context.saved().native().and_then(|native| native.letters.clone());
    if let Some(path) = recorded {
        forget_letters(&path);
        return Ok(path);
    }
    let name = format!("inrush-dead-letters-{}.ndjson", context.saved().id);
    let path = match &context.load.dead_letters {
        DeadLetters::DefaultFile => PathBuf::from(name),
        DeadLetters::Folder(folder) => folder.join(name),
        DeadLetters::File(path) => path.clone(),
    };
    // The load refuses a file with something in it, which is not of this bake.
    if path.metadata().is_ok_and(|found| found.len() > 0) {
        return Ok(path);
    }
    let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
    context.write_native(|native| native.letters = Some(absolute))?;
    Ok(path)
}

async fn begin_load(
    context: &Context,
    saved: &Saved,
    writers: &Arc<Writers>,
    letters: &Path,
) -> Result<RunningLoad, BakeError> {
    let native = native(saved)?;
    let transport = transport(native.product, &native.version, &saved.index, writers)?;
    let mut config = load_config(&context.load, &saved.index)?;
    config.dead_letters = DeadLetters::File(letters.to_owned());
    let loader = ConfiguredLoad::new(config)?;
    let loader = loader.through(transport).with_observers((context.documents.observers)());
    Ok(loader.start((context.documents.open)()?).await?)
}

/// The way to the server in this process.
pub(super) fn transport(
    product: KnownProduct,
    version: &str,
    index: &str,
    writers: &Arc<Writers>,
) -> Result<Arc<Transport>, BakeError> {
    let server = LocalIndex::new(product, version, index, Arc::clone(writers));
    Ok(Arc::new(Transport::to_local(ADDRESS, Arc::new(server)).map_err(LoadError::Setup)?))
}

/// The load into the server in this process.
pub(super) fn load_config(load: &LoadConfig, index: &str) -> Result<LoadConfig, BakeError> {
    let mut config = aside(load, index, vec![ADDRESS.to_owned()])?;
    config.finish = FinishConfig::default();
    // What is in memory is lost with the process, so there is nothing to resume.
    (config.state, config.resume) = (None, false);
    // The documents are counted when the segments are written.
    config.verify = false;
    config.replies = Replies::Items;
    config.bulk_routing = BulkRouting::Spread;
    // What the source has in columns is indexed without reading its JSON.
    config.columns = true;
    (config.encoding, config.compression) = (Some(Encoding::Json), Some(Compression::None));
    let limits = &mut config.limits;
    limits.gentle = None;
    let in_flight = *limits.in_flight.get_or_insert(limits.workers as u32 + WAITING);
    let share = limits.memory / in_flight.max(1) as usize;
    limits.batch_bytes.get_or_insert(BATCH_BYTES.min(share).max(1));
    Ok(config)
}

/// Ends the segments. `None` if the documents are not needed, or not any more.
async fn ended(
    writers: &Writers,
    is_needed: bool,
    stopped: impl Future<Output = ()>,
) -> Result<Option<Vec<Committed>>, BakeError> {
    let mut ending = pin!(end(writers, is_needed));
    tokio::select! {
        committed = &mut ending => committed.map(|committed| is_needed.then_some(committed)),
        () = stopped, if is_needed => {
            writers.abandon();
            // No file is written any more when this returns.
            ending.await.map(|_| None)
        }
    }
}

pub(super) async fn end(writers: &Writers, is_needed: bool) -> Result<Vec<Committed>, BakeError> {
    if !is_needed {
        writers.abandon();
    }
    writers.end().await.map_err(|stopped| match stopped {
        Stopped::Unsupported(why) => BakeError::NotNative(why),
        Stopped::Failed(why) => refuse(format!("the index cannot be written: {why}")),
        Stopped::Files(kind, why) => cannot_write(io::Error::new(kind, why)),
    })
}

/// Sets right what the load could not know: which documents have the id of another one. Returns the
/// number of documents in the index.
pub(super) fn account(
    report: &mut Report,
    committed: &[Committed],
    (action, on_conflict): (Action, OnConflict),
    index: &str,
) -> Result<u64, BakeError> {
    let duplicates: u64 = committed.iter().map(|shard| shard.duplicates).sum();
    let docs: u64 = committed.iter().map(|shard| shard.docs).sum();
    let counts = &mut report.counts;
    if duplicates > 0 && action == Action::Create {
        if on_conflict != OnConflict::Skip {
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
        of_index.updated += if action == Action::Create { 0 } else { duplicates };
    }
    verify(report, docs, index)?;
    Ok(docs)
}

/// Checks that the files of the index have as many documents as were taken.
pub(super) fn verify(report: &mut Report, docs: u64, index: &str) -> Result<(), BakeError> {
    let expected = report.counts.docs_created;
    if expected != docs {
        return Err(refuse(format!(
            "{index} was written with {docs} documents, and {expected} were taken; this is a defect of option `engine=native`"
        )));
    }
    let detail = format!("{index} holds {docs} documents = 0 before + {expected} created - 0 deleted, as built");
    report.verified = Verified::new(VerifiedState::Yes, detail);
    Ok(())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use inrush_core::report::Counts;
    use inrush_core::routing::Routing;
    use inrush_load::{SettingsReport, SettingsRestored};
    use inrush_lucene::{Keep, LiveMapping, Mapping, ServerVersion};
    use serde_json::json;

    use super::*;
    use crate::native::build_plan::BuildPlan;

    /// Threads that have a document which is in no file yet.
    async fn writers(folder: &Path) -> Writers {
        let target =
            ServerVersion { product: inrush_lucene::KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };
        let mapping = Mapping::parse(&json!({"properties": {"n": {"type": "long"}}}), target).unwrap();
        let folder = folder.to_owned();
        let shard = ShardPlan { folder, random: [7; 32], generation: 3, user_data: Vec::new() };
        let plan = BuildPlan {
            index: "x".to_owned(),
            product: target.product,
            mapping: Arc::new(LiveMapping::new(mapping)),
            routing: Routing::new(1, None, 1).unwrap(),
            shards: vec![shard],
            only: None,
            keep: Keep::Last,
            memory: 32 << 20,
            threads: 2,
        };
        let writers = Writers::start(plan).unwrap();
        writers.take(vec![Bytes::from_static(b"{\"index\":{}}\n{\"n\":1}\n")], Arc::new([])).await.unwrap();
        writers
    }

    #[test]
    fn documents_whose_files_are_deleted_are_given_back() {
        let plan = json!({"batch_bytes": 1, "in_flight": 1, "why": "fixed values", "encoding": "json",
            "compression": "none", "wire_why": "json as given"});
        let mut report = Report::new(
            String::new(),
            Status::Interrupted,
            serde_json::from_value(plan).unwrap(),
            Verified::new(VerifiedState::Off, String::new()),
            SettingsReport::new(SettingsRestored::Unchanged, String::new()),
        );
        report.counts = Counts::build(|counts| {
            (counts.docs_read, counts.docs_indexed, counts.docs_created) = (8, 7, 7);
            (counts.docs_dead_lettered, counts.docs_given_back) = (1, 2);
        });
        plan_words(&mut report);
        in_no_index(&mut report);
        let expected = Counts::build(|counts| {
            (counts.docs_read, counts.docs_dead_lettered, counts.docs_given_back) = (1, 1, 9);
        });
        assert_eq!((report.counts, report.verified.state), (expected, VerifiedState::NotProvable));
        assert!(report.plan.why.contains("this process") && report.plan.wire_why.contains("this process"));
    }

    #[tokio::test]
    async fn a_stop_ends_segments_that_are_being_ended() {
        let commit = |folder: &Path| folder.join("segments_3").exists();
        let folder = tempfile::tempdir().unwrap();
        let committed = ended(&writers(folder.path()).await, true, std::future::pending()).await.unwrap();
        assert_eq!(committed, Some(vec![Committed { docs: 1, duplicates: 0, from_columns: 0 }]));
        assert!(commit(folder.path()));
        let folder = tempfile::tempdir().unwrap();
        let committed = ended(&writers(folder.path()).await, true, std::future::ready(())).await.unwrap();
        assert_eq!(committed, None);
        let folder = tempfile::tempdir().unwrap();
        let committed = ended(&writers(folder.path()).await, false, std::future::pending()).await.unwrap();
        assert_eq!(committed, None);
        assert!(!commit(folder.path()), "nothing is written that is not needed");
    }
}
