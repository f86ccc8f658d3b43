//! Building the index in this process, without a server beside the target.
//!
//! The target makes the index without documents and writes its snapshot (`empty.rs`). A load with
//! all its checks sends the documents to a server in this process (`server.rs`), which puts them
//! into the files of the shards (`items.rs`, `writers.rs`). These take the place of the empty ones
//! in a copy of the snapshot, which the target restores as that of a builder.

mod check;
mod empty;
mod items;
mod server;
mod writers;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use check::check;
pub(super) use empty::{WRITE_BLOCK, forget};
use inrush_cluster::transport::Transport;
use inrush_core::{Action, Compression, Encoding, OnConflict};
use inrush_load::config::{BulkRouting, DeadLetters, FinishConfig, LoadConfig, Replies};
use inrush_load::loader::{Loader, RunningLoad};
use inrush_load::{LoadError, Phase, Report, Status, Verified, VerifiedState};
use inrush_lucene::{Committed, Keep, Mapping, ShardSnapshot, Target as LuceneTarget};
use sha2::{Digest, Sha256};

use super::config::{BakeError, Engine};
use super::context::Context;
use super::hand_over::Target;
use super::load::aside;
use super::report::BakeStepName as Step;
use super::state::{Native, Saved};
use super::stitch::shard_folders;
use server::Server;
use writers::{BuildPlan, ShardPlan, Stopped, Writers};

/// The address of the server in this process, for messages.
const ADDRESS: &str = "http://localhost";
/// Bytes of a bulk request where the options do not say how many.
const BATCH_BYTES: usize = 1 << 20;
/// The folder of the repository for the index without documents.
const EMPTY: &str = "empty";
/// Requests that wait while each thread works on one.
const WAITING: u32 = 2;

/// The engine for messages.
pub(super) fn title() -> String {
    format!("inrush {} (engine native)", env!("CARGO_PKG_VERSION"))
}

/// Builds the index, or the rest of it after an earlier run.
pub(super) async fn build(context: &Arc<Context>) -> Result<(), BakeError> {
    let target = Target::new(Arc::clone(context));
    let copied = context.saved().native.as_ref().is_some_and(|native| native.copied);
    if !copied {
        // What an earlier run has left of the index without documents.
        forget_empty(context, &target).await?;
        context.saved().shared.remove().map_err(BakeError::Refused)?;
        let made = async {
            context.step(Step::Repository, None, empty::share(context, &target)).await?;
            context.step(Step::Create, None, empty::make(context, &target)).await
        };
        made.await.map_err(|error| or_not_native(error, context.config.engine))?;
    }
    let is_loaded = context.saved().parts[0].loaded.is_some();
    let load = async {
        match is_loaded {
            true => Ok(()),
            false => context.step(Step::Load, Some(0), load(context)).await,
        }
    };
    // The target deletes what is left of the index without documents meanwhile.
    let (loaded, forgotten) = tokio::join!(load, forget_empty(context, &target));
    loaded.and(forgotten)?;
    context.step(Step::Snapshot, Some(0), fill(context)).await
}

/// What the target does not allow here, it may allow with a builder.
fn or_not_native(error: BakeError, engine: Engine) -> BakeError {
    let is_refused = match &error {
        BakeError::Refused(_) => true,
        BakeError::Load(LoadError::Cluster(cause)) => cause.status().is_some_and(|status| status < 500),
        _ => false,
    };
    match engine {
        Engine::Auto if is_refused => BakeError::NotNative(error.to_string()),
        _ => error,
    }
}

/// Deletes the index without documents, its snapshot and its repository from the target.
async fn forget_empty(context: &Context, target: &Target) -> Result<(), BakeError> {
    let saved = context.saved().clone();
    let forgotten = target
        .ask(|| {
            let mut saved = saved.clone();
            async move { forget(&context.target, &mut saved).await.map(|()| saved.native) }
        })
        .await?;
    context.write(|saved| saved.native = forgotten)
}

fn refuse(why: String) -> BakeError {
    BakeError::Refused(why)
}

/// The folders of a bake, below the one that both sides reach.
struct Folders {
    /// The repository to which the target writes the index without documents.
    empty: PathBuf,
    /// A copy of it. The next two are made of this one, however often.
    form: PathBuf,
    /// Where the files of the shards grow.
    build: PathBuf,
    /// The repository that the target restores.
    whole: PathBuf,
}

impl Folders {
    fn of(saved: &Saved) -> Result<Folders, BakeError> {
        let (_, whole) = saved.repository_of_whole();
        let (Some(folder), Some(whole)) = (&saved.shared.folder, whole.folder) else {
            return Err(refuse("the repository is not a folder".to_owned()));
        };
        Ok(Folders { empty: folder.join(EMPTY), form: folder.join("form"), build: folder.join("build"), whole })
    }
}

fn native(saved: &Saved) -> Result<&Native, BakeError> {
    saved.native.as_ref().ok_or_else(|| refuse("this bake has a builder".to_owned()))
}

/// The snapshots of the shards in a repository, in their order.
fn snapshots(repository: &Path, index: &str) -> Result<Vec<ShardSnapshot>, BakeError> {
    let cannot = |error: io::Error| refuse(format!("the snapshot without documents cannot be read: {error}"));
    let folders = shard_folders(repository, index).map_err(cannot)?;
    folders.iter().map(|folder| ShardSnapshot::open(folder).map_err(cannot)).collect()
}

/// Bytes that differ between bakes and shards.
fn random(saved: &Saved, what: &str, shard: usize) -> [u8; 32] {
    Sha256::digest(format!("{} {what} {shard}", saved.id)).into()
}

/// Loads the documents into the files of the shards.
async fn load(context: &Arc<Context>) -> Result<String, BakeError> {
    let letters = letters(context)?;
    let saved = context.saved().clone();
    let writers = Arc::new(begin(context, &saved)?);
    let mut report = match begin_load(context, &saved, &writers, &letters).await {
        Ok(running) => watch(context, running).await,
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
    let Folders { build, .. } = Folders::of(&saved)?;
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
    let Folders { form, build, .. } = Folders::of(saved)?;
    let snapshots = snapshots(&form, &saved.index)?;
    let cannot = |error: io::Error| refuse(format!("the index cannot be written: {error}"));
    match fs::remove_dir_all(&build) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot(error)),
        _ => {}
    }
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
    let target = LuceneTarget {
        product: check::product(native.product),
        version: [version.major, version.minor, version.patch],
        lucene,
    };
    let mapping = Mapping::parse(&saved.parts[0].mapping, target)
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
pub(super) fn forget_letters(path: &Path) {
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

/// Waits for the load, and passes its progress on.
async fn watch(context: &Context, running: RunningLoad) -> Report {
    let (mut loading, stop) = (running.progress(), running.stop_handle());
    let finish = running.finish();
    tokio::pin!(finish);
    let (mut stopping, mut watched) = (false, true);
    loop {
        tokio::select! {
            report = &mut finish => return report,
            changed = loading.changed(), if watched => {
                watched = changed.is_ok();
                let now = loading.borrow_and_update().clone();
                if now.phase != Phase::Done {
                    context.show_loading(0, now);
                }
            }
            () = context.aborted(), if !stopping => {
                stopping = true;
                stop.stop();
            }
        }
    }
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

/// Puts the files of the shards into the snapshot.
async fn fill(context: &Arc<Context>) -> Result<String, BakeError> {
    let saved = context.saved().clone();
    if saved.parts[0].snapshot {
        return Ok("it exists already".to_owned());
    }
    let Folders { build, .. } = Folders::of(&saved)?;
    let work = tokio::task::spawn_blocking(move || fill_shards(&saved));
    let bytes = work.await.unwrap_or_else(|error| Err(refuse(error.to_string())))?;
    context.write_part(0, |part| part.snapshot = true)?;
    if let Err(error) = fs::remove_dir_all(&build) {
        tracing::warn!("{} is deleted at the end only: {error}", build.display());
    }
    Ok(format!("{bytes} bytes"))
}

fn fill_shards(saved: &Saved) -> Result<u64, BakeError> {
    let cannot = |error: io::Error| refuse(format!("the files cannot be put into the snapshot: {error}"));
    let Folders { form, build, whole, .. } = Folders::of(saved)?;
    copy_over(&form, &whole).map_err(cannot)?;
    let mut bytes = 0;
    for (shard, snapshot) in snapshots(&whole, &saved.index)?.into_iter().enumerate() {
        let folder = build.join(shard.to_string());
        let mut names = [0; 16];
        names.copy_from_slice(&random(saved, "names", shard)[..16]);
        readable(&folder).map_err(cannot)?;
        bytes += snapshot.fill(&folder, names).map_err(cannot)?;
    }
    readable(&whole).map_err(cannot)?;
    // What is recorded as done has to survive a crash, too.
    sync(&whole).map_err(cannot)?;
    Ok(bytes)
}

/// Writes a folder with everything in it to disk.
fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => sync(&entry.path())?,
            false => fs::File::open(entry.path())?.sync_all()?,
        }
    }
    fs::File::open(folder)?.sync_all()
}

/// Copies a folder in place of another one.
fn copy_over(from: &Path, into: &Path) -> io::Result<()> {
    match fs::remove_dir_all(into) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => copy(from, into),
    }
}

fn copy(from: &Path, into: &Path) -> io::Result<()> {
    fs::create_dir_all(into)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, copied) = (entry.path(), into.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&path, &copied)?;
        } else if kind.is_file() {
            fs::copy(path, copied)?;
        } else {
            // A server writes files only; a link may lead anywhere.
            return Err(io::Error::other(format!("{} is no file", path.display())));
        }
    }
    Ok(())
}

/// Lets the target's user read a folder, however strict the process is with new files.
fn readable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => readable(&entry.path())?,
            false => fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o644))?,
        }
    }
    Ok(())
}
