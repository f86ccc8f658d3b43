//! Option `since`: the last value of a column, kept from one load to the next in a file of the
//! state folder.
//!
//! Each cluster, target, source and column has a file. The value moves on only where the load ends
//! complete. A later load begins anew where the indices that took the documents are gone.
//! Option `forget` removes the file before the first document.

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

/// UUIDs of indices, by name.
type Uuids = BTreeMap<String, String>;

/// What a file has.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    format: u32,
    /// The load, for people.
    load: String,
    last: SinceValue,
    /// The indices that took the documents. Empty where they are not known.
    indices: Uuids,
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
    /// The indices of the target when the load began, where they are known.
    indices: Option<Uuids>,
    forget: bool,
    report: SinceReport,
}

impl About {
    fn new(config: &LoadConfig, info: &SourceInfo, since: &Since) -> Self {
        About {
            since: since.clone(),
            load: format!("{} into {}", info.title(), config.index.as_str()),
            target: config.index.fixed().map(str::to_owned),
            indices: None,
            forget: matches!(config.learning, Learning::Anew),
            report: SinceReport::new(since.column.clone(), since.last.as_ref().map(|last| last.value.clone())),
        }
    }

    /// Lets the source read the rows since the kept value, or all rows.
    fn begin(&mut self, path: &Path, source: &mut dyn Source) -> Result<(), LoadError> {
        let kept = if self.forget { None } else { read(path)? };
        let Some(kept) = kept else {
            let why = if self.forget { "option `forget`" } else { "no earlier load has kept a value" };
            self.report.detail = why.to_owned();
            return Ok(());
        };
        match self.is_there(&kept.indices) {
            Ok(true) => {}
            Ok(false) => {
                let target = self.target.as_deref().unwrap_or_default();
                self.report.detail = format!("{target} is not the index of the last load");
                return Ok(());
            }
            Err(why) => {
                self.report.detail = format!("not checked whether the index is that of the last load: {why}");
            }
        }
        source.read_since(&kept.last)?;
        self.report.from = Some(kept.last.value);
        Ok(())
    }

    /// Whether one of the indices of the last load is there. The error says why that is not known.
    fn is_there(&self, last: &Uuids) -> Result<bool, &'static str> {
        if self.target.is_none() {
            return Err("option `index` has placeholders");
        }
        let Some(now) = &self.indices else {
            return Err("its UUID cannot be read, for want of a privilege, or through a managed endpoint");
        };
        if last.is_empty() {
            return Err("the last load could not read its UUID");
        }
        Ok(share(last, now))
    }

    /// The indices of the target now. `None`: they are not known.
    async fn indices(&self, transport: Option<&Transport>) -> Result<Option<Uuids>, ClusterError> {
        let (Some(target), Some(transport)) = (&self.target, transport) else { return Ok(None) };
        match index::uuids(transport, target).await {
            Ok(uuids) => Ok(Some(uuids)),
            Err(e) if e.status() == Some(403) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Whether an index is in both.
fn share(some: &Uuids, others: &Uuids) -> bool {
    some.iter().any(|(name, uuid)| others.get(name) == Some(uuid))
}

/// The indices that took the documents, by those when the load began and ended. An alias may have
/// been moved meanwhile: `None` where none of the first ones is there at the end.
fn took(begin: Option<Uuids>, end: Option<Uuids>) -> Option<Uuids> {
    match (begin.filter(|begin| !begin.is_empty()), end) {
        (Some(begin), Some(end)) => share(&begin, &end).then_some(begin),
        (begin, end) => Some(begin.or(end).unwrap_or_default()),
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
    about.indices = about.indices(transport).await?;
    about.begin(file.path(), source)?;
    let bytes = about.load.len() + about.report.to.as_ref().map_or(0, String::len);
    file.reserve(bytes + INDICES_BYTES).map_err(|error| {
        LoadError::State(format!("cannot write {}: {error}; free disk space, or {other_folder}", file.path().display()))
    })?;
    if about.forget {
        // A load that does not end complete leaves no value: the next one reads all rows as well.
        file.remove().map_err(|error| {
            LoadError::State(format!("cannot remove {}: {error}; {other_folder}", file.path().display()))
        })?;
    }
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
        let mut report = about.report.clone();
        let Some(last) = about.since.last.clone() else { return report };
        if status != Status::Complete {
            report.detail = "the load is not complete, so the next one reads these rows again".to_owned();
            return report;
        }
        let written = async {
            let now = about.indices(transport).await.map_err(|e| e.to_string())?;
            let indices = took(about.indices.clone(), now).ok_or_else(|| {
                let target = about.target.as_deref().unwrap_or_default();
                format!("{target} is not the index any more that it was when the load began")
            })?;
            let kept = Kept { format: FORMAT, load: about.load.clone(), last, indices };
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
    // A dry run goes on where the cluster does not answer, and tells that nothing was checked.
    about.indices = about.indices(transport).await.ok().flatten();
    about.begin(&path, source)?;
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
    let names: Vec<String> = info.names.iter().map(|name| whole(name)).collect();
    digest(&(target, names, &info.reading, &since.column))
}

/// The name of a source, with the whole path of a file of SQLite: a relative one stands for another
/// file in another folder.
fn whole(name: &str) -> String {
    let path = name.strip_prefix("sqlite://").and_then(|path| std::path::absolute(path).ok());
    path.map_or_else(|| name.to_owned(), |path| format!("sqlite://{}", path.display()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn uuids<const N: usize>(indices: [(&str, &str); N]) -> Uuids {
        indices.map(|(name, uuid)| (name.to_owned(), uuid.to_owned())).into()
    }

    #[test]
    fn a_relative_file_is_named_with_its_folder() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(whole("sqlite://a.db table t"), format!("sqlite://{}", here.join("a.db table t").display()));
        assert_eq!(whole("sqlite:///a/b.db query"), "sqlite:///a/b.db query");
        assert_eq!(whole("postgres://h/db table t"), "postgres://h/db table t");
    }

    #[test]
    fn the_indices_are_those_of_the_begin() {
        let (old, new) = (uuids([("a", "1")]), uuids([("b", "2")]));
        let both = uuids([("a", "1"), ("b", "2")]);
        assert_eq!(took(Some(old.clone()), Some(both)), Some(old.clone()));
        assert_eq!(took(Some(old.clone()), Some(new.clone())), None, "the alias was moved");
        assert_eq!(took(Some(old.clone()), Some(uuids([("a", "3")]))), None, "it is another index of this name");
        assert_eq!(took(Some(uuids([])), Some(new.clone())), Some(new.clone()), "the load made it");
        assert_eq!(took(Some(old.clone()), None), Some(old));
        assert_eq!(took(None, Some(new.clone())), Some(new));
        assert_eq!(took(None, None), Some(uuids([])));
    }

    #[test]
    fn what_is_not_known_of_the_index_is_told() {
        let since = Since { column: "at".to_owned(), last: None };
        let report = SinceReport::new("at".to_owned(), None);
        let (target, indices) = (Some("orders".to_owned()), Some(uuids([("orders", "1")])));
        let mut about = About { since, load: String::new(), target, indices, forget: false, report };
        assert_eq!(about.is_there(&uuids([("orders", "1")])), Ok(true));
        assert_eq!(about.is_there(&uuids([("orders", "2")])), Ok(false));
        assert!(about.is_there(&uuids([])).unwrap_err().contains("last load could not"));
        about.indices = None;
        assert!(about.is_there(&uuids([("orders", "1")])).unwrap_err().contains("managed"));
        about.target = None;
        assert!(about.is_there(&uuids([])).unwrap_err().contains("placeholders"));
    }
}
