//! Option `since`: the last value of a column, kept from one load to the next in a file of the
//! state folder.
//!
//! Each cluster, target, source and column has a file. The value moves on only where the load ends
//! complete. A later load begins anew where the indices that took the documents are gone.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use inrush_cluster::api::{ClusterError, index};
use inrush_cluster::transport::Transport;
use inrush_sources::{Since, SinceValue, Source, SourceInfo};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{CheckpointFile, StateError, cluster_names, digest};
use crate::config::{Learning, LoadConfig};
use crate::error::LoadError;
use crate::report::{SinceReport, Status};

/// The folder in the state folder.
const FOLDER: &str = "since";
/// Room for the names and UUIDs of the indices, and the rest of the file, bytes.
const INDICES_BYTES: usize = 4 << 10;
/// Format of the file.
const FORMAT: u32 = 1;

/// What a file has.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    format: u32,
    /// The load, for people.
    load: String,
    last: SinceValue,
    /// UUIDs of the indices that took the documents, by name. Empty where they are not known.
    indices: BTreeMap<String, String>,
}

/// The value of a load, locked for this process.
pub(crate) struct KeptSince {
    file: CheckpointFile,
    about: About,
}

/// What the load has read and keeps.
struct About {
    since: Since,
    load: String,
    /// The target, if it is one that can be asked for its indices.
    target: Option<String>,
    forget: bool,
    report: SinceReport,
}

impl About {
    fn new(config: &LoadConfig, info: &SourceInfo, since: &Since) -> Self {
        About {
            since: since.clone(),
            load: format!("{} into {}", info.title(), config.index.as_str()),
            target: config.index.fixed().map(str::to_owned),
            forget: matches!(config.learning, Learning::Anew),
            report: SinceReport::new(since.column.clone(), since.last.as_ref().map(|last| last.value.clone())),
        }
    }

    /// Lets the source read the rows since the kept value, or all rows.
    async fn begin(
        &mut self,
        path: &Path,
        source: &mut dyn Source,
        transport: Option<&Transport>,
    ) -> Result<(), LoadError> {
        let kept = if self.forget { None } else { read(path)? };
        let anew = match &kept {
            _ if self.forget => Some("option `forget`".to_owned()),
            None => Some("no earlier load has kept a value".to_owned()),
            Some(kept) => self.gone(kept, transport).await?,
        };
        match (anew, kept) {
            (None, Some(kept)) => {
                source.read_since(&kept.last)?;
                self.report.from = Some(kept.last.value);
            }
            (anew, _) => self.report.detail = anew.unwrap_or_default(),
        }
        Ok(())
    }

    /// Why the documents of earlier loads are not there any more.
    async fn gone(&self, kept: &Kept, transport: Option<&Transport>) -> Result<Option<String>, LoadError> {
        let (Some(target), Some(transport), false) = (&self.target, transport, kept.indices.is_empty()) else {
            return Ok(None);
        };
        let Some(now) = uuids(transport, target).await? else { return Ok(None) };
        let stays = kept.indices.iter().any(|(name, uuid)| now.get(name) == Some(uuid));
        Ok((!stays).then(|| format!("{target} is not the index of the last load")))
    }
}

/// Locks the value, and lets the source read the rows since it, or all rows where there is none.
/// Takes the room of the next value on the disk. `None`: the source has no such column.
/// `transport`: none for a target that tells nothing of its indices.
///
/// # Errors
/// There is no state folder, or it cannot be used. A value that the column cannot have.
/// [`LoadError::Busy`] where another process runs the same load.
pub(crate) async fn begin(
    config: &LoadConfig,
    info: &SourceInfo,
    source: &mut dyn Source,
    transport: Option<&Transport>,
) -> Result<Option<KeptSince>, LoadError> {
    let Some(since) = &info.since else { return Ok(None) };
    let Some(folder) = &config.state else { return Err(no_folder()) };
    let file = CheckpointFile::open(&folder.path.join(FOLDER), &key(config, info, since));
    let other_folder = "name another folder with option `state`";
    let file = file.map_err(|error| match error {
        StateError::Locked { .. } => LoadError::Busy(error.to_string()),
        StateError::Io { .. } | StateError::Owned { .. } => LoadError::State(format!("{error}; {other_folder}")),
    })?;
    let mut about = About::new(config, info, since);
    about.begin(file.path(), source, transport).await?;
    let bytes = about.load.len() + about.report.to.as_ref().map_or(0, String::len);
    file.reserve(bytes + INDICES_BYTES).map_err(|error| {
        LoadError::State(format!("cannot write {}: {error}; free disk space, or {other_folder}", file.path().display()))
    })?;
    Ok(Some(KeptSince { file, about }))
}

impl KeptSince {
    /// Whether only a part of the rows is read, which may be none.
    pub(crate) fn is_part(&self) -> bool {
        self.about.report.from.is_some()
    }

    /// Keeps the highest value of the rows, if the load is complete.
    pub(crate) async fn end(self, status: Status, transport: Option<&Transport>) -> SinceReport {
        let KeptSince { file, about } = self;
        let About { since, load, target, mut report, .. } = about;
        let Some(last) = since.last else { return report };
        if status != Status::Complete {
            report.detail = "the load is not complete, so the next one reads these rows again".to_owned();
            return report;
        }
        let written = async {
            let indices = match (&target, transport) {
                (Some(target), Some(transport)) => uuids(transport, target).await.map_err(|e| e.to_string())?,
                _ => None,
            };
            let kept = Kept { format: FORMAT, load, last, indices: indices.unwrap_or_default() };
            let text = serde_json::to_vec(&kept).map_err(|e| e.to_string())?;
            file.replace(&text).map_err(|e| format!("{}: {e}", file.path().display()))
        };
        match written.await {
            Ok(()) => report.kept = true,
            Err(why) => report.detail = format!("{why}; the next load reads these rows again"),
        }
        report
    }
}

/// What a load would read, for a dry run. Nothing is written.
///
/// # Errors
/// As [`begin`].
pub(crate) async fn look(
    config: &LoadConfig,
    info: &SourceInfo,
    source: &mut dyn Source,
    transport: Option<&Transport>,
) -> Result<Option<SinceReport>, LoadError> {
    let Some(since) = &info.since else { return Ok(None) };
    let Some(folder) = &config.state else { return Err(no_folder()) };
    let mut about = About::new(config, info, since);
    let path = folder.path.join(FOLDER).join(format!("{}.json", key(config, info, since)));
    about.begin(&path, source, transport).await?;
    Ok(Some(about.report))
}

fn no_folder() -> LoadError {
    LoadError::State(
        "option `since` keeps the last value in a state folder, and there is none; name one with option `state`"
            .to_owned(),
    )
}

/// Name of the file. It is the same for every start of the same load.
fn key(config: &LoadConfig, info: &SourceInfo, since: &Since) -> String {
    let id = config.id.as_ref().map(ToString::to_string);
    let target = (cluster_names(config), config.index.as_str(), config.action, id);
    digest(&(target, &info.names, &info.reading, &since.column))
}

fn read(path: &Path) -> Result<Option<Kept>, LoadError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(unusable(path, &e.to_string())),
    };
    let kept: Kept = serde_json::from_slice(&text).map_err(|e| unusable(path, &e.to_string()))?;
    if kept.format != FORMAT {
        let why = format!("another version of inrush wrote it (format {}, expected format {FORMAT})", kept.format);
        return Err(unusable(path, &why));
    }
    Ok(Some(kept))
}

fn unusable(path: &Path, why: &str) -> LoadError {
    LoadError::State(format!(
        "the last value of option `since` in {} cannot be read: {why}; begin anew with option `forget`",
        path.display()
    ))
}

/// The UUIDs of the indices of the target. `None` where the user may not read them.
async fn uuids(transport: &Transport, target: &str) -> Result<Option<BTreeMap<String, String>>, ClusterError> {
    match index::uuids(transport, target).await {
        Ok(uuids) => Ok(Some(uuids)),
        Err(e) if e.status() == Some(403) => Ok(None),
        Err(e) => Err(e),
    }
}
