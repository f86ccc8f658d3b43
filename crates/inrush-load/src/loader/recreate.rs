//! Checks before the load changes anything in the cluster, and those before an index is deleted to
//! be created again.

use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::trial::RefusedAliases;
use inrush_cluster::api::{ClusterError, Target, TargetKind, aliases, index, lost, trial};
use inrush_cluster::clock;
use inrush_cluster::transport::Transport;
use inrush_core::Code;
use inrush_core::encode::Encoder;
use inrush_core::index_name::IndexPart;
use inrush_sources::{Begun, Source};
use serde_json::{Map, Value};

use super::group::{self, Silent};
use super::kept_aliases::{self, KeptAliases};
use super::prepare::read_primary_terms;
use super::stream_time::{self, DOCS_MAX, Stream};
use crate::config::{Durability, LoadConfig};
use crate::error::LoadError;
use crate::option_error::OptionError;

/// How long a load waits for the first document of an idle source before it goes on without one. A
/// program that feeds a source may wait for the load to begin.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most files that a load opens before it begins. Each costs a look at up to 4 MiB.
const FILES_MAX: usize = 32;

/// Reads the source up to its first document, so that the cluster is unchanged where it cannot be
/// read. A source that a program feeds has no document yet, and a source that never ends may have
/// none for a long time, so neither is read.
///
/// # Errors
/// The source cannot be read. With option `recreate`: it has no document.
pub async fn begin_reading(source: Box<dyn Source>, config: &LoadConfig) -> Result<Box<dyn Source>, LoadError> {
    begin_reading_for(source, config, None).await
}

/// As [`begin_reading`], for documents that may go to a data stream.
///
/// # Errors
/// Also documents without the time that those of the stream need.
pub(super) async fn begin_reading_for(
    mut source: Box<dyn Source>,
    config: &LoadConfig,
    stream: Option<Stream<'_>>,
) -> Result<Box<dyn Source>, LoadError> {
    let info = source.describe();
    if info.is_fed || info.is_endless {
        return Ok(source);
    }
    source.keep_texts(&Encoder::new(config.operations(config.action)).fields());
    let bytes = config.limits.chunk_bytes();
    let patience = if config.create.recreate { Duration::MAX } else { PATIENCE };
    let check_all = config.create.recreate || (2..=FILES_MAX).contains(&info.names.len());
    let reading = tokio::task::spawn_blocking(move || {
        // The first file is read in any case.
        if check_all {
            source.check_all()?;
        }
        Begun::new(source, bytes, patience)
    });
    let begun = reading.await.map_err(|e| LoadError::usage(format!("the reading thread panicked: {e}")))??;
    if config.create.recreate && !begun.has_documents() && !config.allow_empty {
        let message = format!(
            "index {} was not deleted: the source has no readable document, and option `recreate` would leave the index empty; give option `allow_empty` to allow an empty index",
            config.index.as_str()
        );
        return Err(OptionError::conflict(message).coded(Code::EmptySource).into());
    }
    check_fields(&begun, config)?;
    if let Some(stream) = stream {
        let first = stream_time::untimed(&begun, config);
        stream_time::check(&stream, first).await?;
    }
    Ok(Box::new(begun))
}

/// Refuses a field of the id, or of another part of a document's address, that no document has,
/// where the documents have one of almost the same name.
fn check_fields(begun: &Begun, config: &LoadConfig) -> Result<(), LoadError> {
    let of_index = config.index.parts().iter().filter_map(|part| match part {
        IndexPart::Field(path) | IndexPart::Date(path, _) => Some(("index", path)),
        IndexPart::Text(_) => None,
    });
    let of_document = [("id", &config.id), ("routing", &config.routing), ("version", &config.version)];
    let of_document = of_document.into_iter().filter_map(|(option, path)| Some((option, path.as_ref()?)));
    for (option, path) in of_document.chain(of_index) {
        let path = config.shaping.in_source(path);
        let [name] = path.names() else { continue };
        let Some(near) = near(begun, name) else { continue };
        let message = format!("none of the first documents has the field {name}");
        let hint = match option {
            _ if near.trim() != near => {
                format!("they have {near:?}, with blanks in its name; of CSV option `trim` leaves them out")
            }
            "index" => format!("did you mean {{{near}}}?"),
            option => format!("did you mean option `{option}={near}`?"),
        };
        return Err(OptionError::value(option, message).hint(hint).into());
    }
    Ok(())
}

/// The field of the first documents that is written almost like this one, if none has this one.
fn near(begun: &Begun, name: &str) -> Option<String> {
    let plain =
        |name: &str| -> String { name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    let wanted = plain(name);
    let mut near = None;
    for document in begun.first_documents().take(DOCS_MAX) {
        let Ok(Value::Object(document)) = serde_json::from_slice(document) else { return None };
        if document.contains_key(name) {
            return None;
        }
        near = near.or_else(|| document.keys().find(|key| plain(key) == wanted).cloned());
    }
    near
}

/// Checks that the load can create its index again. Returns a warning about aliases that the new
/// index will not have.
///
/// # Errors
/// An error that stops the load. The index is unchanged.
pub(super) async fn check(
    transport: &Arc<Transport>,
    config: &LoadConfig,
    target: Option<&Target>,
    run_id: &str,
) -> Result<(Silent, Option<String>), LoadError> {
    let Some(target) = target.filter(|target| config.create.recreate && is_there(target)) else {
        return Ok((Silent::default(), None));
    };
    let silent = check_no_writers(transport, config, target, Silent::default()).await?;
    let refused = check_creation(transport, config, &target.name, run_id).await?;
    let warning = |RefusedAliases { aliases, why }: RefusedAliases| {
        let (name, names) = (&target.name, kept_aliases::names(&aliases));
        let warning = format!(
            "the index {name} is deleted (option `recreate`), and the new one will not have its aliases {names}, because the cluster refuses them: {why}; when its mapping has their fields, put them back with {}",
            kept_aliases::request(name, &aliases)
        );
        tracing::warn!("{warning}");
        warning
    };
    Ok((silent, refused.map(warning)))
}

/// Deletes the index of another name that a check has left which was stopped.
pub(super) async fn clean_up(transport: &Transport, config: &LoadConfig, run_id: &str) {
    if let Some(name) = config.index.fixed().filter(|_| config.create.recreate) {
        let brief = transport.brief();
        let cleaning = trial::clean_up(&brief, name, run_id);
        if !matches!(clock::timeout(config.limits.grace, cleaning).await, Ok(Ok(()))) {
            tracing::warn!(
                "an index with -trial-{run_id} in its name may be left: it was created for a check, delete it"
            );
        }
    }
}

/// The name of an index that was deleted.
pub(super) struct Deleted {
    /// What the name stands for now.
    pub(super) target: Target,
    /// Whether there was an index.
    pub(super) was_there: bool,
    /// Its aliases.
    pub(super) aliases: Map<String, Value>,
}

/// Deletes the index, which was checked, when its aliases are on disk.
///
/// # Errors
/// An error that stops the load. The index is unchanged.
pub(super) async fn delete(
    transport: &Arc<Transport>,
    config: &LoadConfig,
    name: &str,
    silent: Silent,
) -> Result<Deleted, LoadError> {
    // Other loads may have begun since the check, and the index may be another one.
    let target = index::resolve(transport, name).await?;
    if !is_there(&target) {
        return Ok(Deleted { target, was_there: false, aliases: Map::new() });
    }
    check_no_writers(transport, config, &target, silent).await?;
    let kept = KeptAliases::of(config, name);
    let aliases = match target.kind {
        TargetKind::Index(_) | TargetKind::Hidden => kept.note(transport).await?,
        _ => Map::new(),
    };
    let deleted = match target.write_index() {
        Some(index) => index::delete_this(transport, name, &index.uuid).await,
        None => index::delete(transport, name).await,
    };
    match deleted {
        Ok(true) => Ok(Deleted { target: index::resolve(transport, name).await?, was_there: true, aliases }),
        // Another client has deleted it, with its aliases.
        Ok(false) => {
            kept.forget();
            Ok(Deleted { target: index::resolve(transport, name).await?, was_there: false, aliases: Map::new() })
        }
        Err(error) => {
            // After a lost answer the index may be gone.
            if !error.may_be_done() {
                kept.forget();
            }
            Err(error.into())
        }
    }
}

fn is_there(target: &Target) -> bool {
    !matches!(target.kind, TargetKind::Missing { .. })
}

/// Refuses an index that another load writes to, before it is deleted.
async fn check_no_writers(
    transport: &Arc<Transport>,
    config: &LoadConfig,
    target: &Target,
    silent: Silent,
) -> Result<Silent, LoadError> {
    match group::writing(transport, target, &config.guard, silent).await {
        Ok(silent) => Ok(silent),
        Err(load) => Err(LoadError::usage(format!(
            "index {} was not deleted: another load is writing to it ({load}); wait for the end of that load, or stop it, before you load with option `recreate`",
            target.name
        ))),
    }
}

/// Refuses an index that the load could not create again, before it is deleted.
async fn check_creation(
    transport: &Transport,
    config: &LoadConfig,
    name: &str,
    run_id: &str,
) -> Result<Option<RefusedAliases>, LoadError> {
    if let Some(template) = index::template_for(transport, name).await?.filter(|template| template.data_stream) {
        let problem = format!(
            "it was not deleted: the index template {} now creates data streams for this name, so the index could not be created again",
            template.name
        );
        return Err(ClusterError::Target { name: name.to_owned(), problem }.into());
    }
    if config.durability == Durability::Async {
        read_primary_terms(transport, name).await?;
    }
    let mut how = config.create.for_index(name);
    // A filter of an alias may need a field of the mapping.
    match aliases::behind(transport, name).await {
        Ok(mut behind) => how.aliases = behind.remove(name).map(|index| index.aliases).unwrap_or_default(),
        Err(error) => tracing::debug!("{error}"),
    }
    Ok(trial::make(transport, name, &how, run_id).await?)
}

/// What the new index will not have of the one that is deleted, as warnings.
pub(super) async fn lost(transport: &Transport, config: &LoadConfig, target: Option<&Target>) -> Vec<String> {
    let is_index = |target: &&Target| matches!(target.kind, TargetKind::Index(_));
    let Some(target) = target.filter(|_| config.create.recreate).filter(is_index) else { return Vec::new() };
    let name = &target.name;
    match lost::parts(transport, name, &config.create.for_index(name)).await {
        Ok(parts) if parts.is_empty() => Vec::new(),
        Ok(parts) => {
            let warning = format!(
                "the index {name} is deleted (option `recreate`), and the new one will not have: {}; give them with option `settings` and option `mapping`",
                parts.join("; ")
            );
            tracing::warn!("{warning}");
            vec![warning]
        }
        Err(error) => {
            tracing::debug!("{error}");
            Vec::new()
        }
    }
}
