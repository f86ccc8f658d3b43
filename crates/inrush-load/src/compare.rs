//! What wrote a document that an item met under its id (409): the same operation, which the cluster
//! repeated, or another one. And the comparison of `on_conflict=compare`: whether the index holds
//! the same document.

use std::collections::BTreeMap;
use std::time::Duration;

use inrush_cluster::Wait;
use inrush_cluster::api::documents::{DocumentKey, Stored, mget};
use inrush_cluster::api::source_kept::{SourceKept, pipeline};
use inrush_cluster::api::{ClusterError, sequence_numbers};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_core::flow::{Comparison, Item};
use inrush_core::{Action, OnConflict, made_id};
use serde::Deserialize;
use serde_json::Value;

use crate::beginnings::{Beginnings, Change};
use crate::config::LoadConfig;
use crate::error::LoadError;

/// How long documents are asked for: a primary may just have failed.
const READING_MAX: Duration = Duration::from_mins(1);

/// Refuses what the documents of the index cannot give: updates where it keeps no sequence numbers,
/// and `on_conflict=compare` where it does not return documents as they were sent. An index that
/// does not exist yet has no documents.
pub(crate) async fn check(transport: &Transport, config: &LoadConfig) -> Result<(), LoadError> {
    if let (Action::Update | Action::Upsert, Some(index)) = (config.action, config.index.fixed())
        && !config.create.recreate
        && let Some(why) = sequence_numbers::missing_in(transport, index).await?
    {
        return Err(LoadError::usage(format!(
            "option `action` is update or upsert, but {why}, and refuses each update; give index or create instead"
        )));
    }
    let (OnConflict::Compare, Some(index)) = (config.on_conflict, config.index.fixed()) else { return Ok(()) };
    match unlike(transport, index).await? {
        Some(why) if !config.create.recreate => Err(LoadError::usage(format!(
            "option `on_conflict` is compare, but {why}, so an equal document would count as another one; give skip \
             or fail instead"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Why documents of an index, alias or data stream cannot be compared with those that were sent.
/// `None` too if it does not exist, or the user may not ask.
async fn unlike(transport: &Transport, index: &str) -> Result<Option<String>, ClusterError> {
    why_not_as_sent(transport, index, |body| SourceKept::of(body).why_unlike().map(str::to_owned)).await
}

/// As [`unlike`], and where a pipeline of the index may have changed the documents.
async fn may_be_unlike(transport: &Transport, index: &str) -> Result<Option<String>, ClusterError> {
    let judge = |body: &Value| SourceKept::of(body).why_unlike().map(str::to_owned).or_else(|| pipeline(body));
    why_not_as_sent(transport, index, judge).await
}

async fn why_not_as_sent(
    transport: &Transport,
    index: &str,
    judge: impl Fn(&Value) -> Option<String>,
) -> Result<Option<String>, ClusterError> {
    let paths = format!("{},*.settings.index.*_pipeline", SourceKept::PATHS);
    let path = format!("/{}?include_defaults=true&filter_path={paths}", path_segment(index));
    let (status, body) = transport.get_json(&path).await?;
    let indices = body.as_object().filter(|_| status == 200).into_iter().flatten();
    Ok(indices.into_iter().find_map(|(name, body)| judge(body).map(|why| format!("the index {name} {why}"))))
}

/// What the comparisons of a load need to know.
#[derive(Clone, Copy)]
pub(crate) struct Comparer<'a> {
    pub(crate) transport: &'a Transport,
    /// The index of all items that name none.
    pub(crate) index: Option<&'a str>,
    pub(crate) on_conflict: OnConflict,
    /// All requests name a pipeline.
    pub(crate) has_pipeline: bool,
    pub(crate) beginnings: &'a Beginnings,
}

/// An item whose document has to be read.
struct Asked<'a> {
    /// The place of the item.
    at: usize,
    item: &'a Item,
    key: DocumentKey,
    line: Line,
}

impl Comparer<'_> {
    /// Finds out what wrote the document that each item met, in the order of `items`. Documents are
    /// read only where that can tell something: where another primary took over, where an earlier
    /// attempt may have written them, or for `on_conflict=compare`.
    pub(crate) async fn compare(&self, items: &[Item]) -> Vec<Comparison> {
        let mut results = vec![Comparison::Other; items.len()];
        let mut changes: BTreeMap<String, Option<Change>> = BTreeMap::new();
        let mut asked = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let Some(line) = Line::of(&item.action) else {
                results[at] = Comparison::Failed("the action line cannot be read".to_owned());
                continue;
            };
            let made = line.meta.id.is_none().then(|| made_id::in_conflict(&item.reason)).flatten();
            if item.is_in {
                results[at] = Comparison::IsIn;
            } else if made.is_some_and(|id| self.beginnings.is_made_since(id)) {
                results[at] = Comparison::Written;
            } else if let Some(key) = self.key(item, &line, made) {
                if !changes.contains_key(&key.index) {
                    let change = self.beginnings.change(self.transport, &key.index).await;
                    changes.insert(key.index.clone(), change);
                }
                let has_changed = changes.get(&key.index).is_some_and(Option::is_some);
                let is_asked = self.on_conflict == OnConflict::Compare || item.is_repeated;
                if has_changed || (is_asked && !line.is_delete) {
                    asked.push(Asked { at, item, key, line });
                }
            } else {
                results[at] = Comparison::Failed("the answer names no id".to_owned());
            }
        }
        self.read(&asked, &changes, &mut results).await;
        results
    }

    /// Reads documents and compares them.
    async fn read(&self, asked: &[Asked<'_>], changes: &BTreeMap<String, Option<Change>>, results: &mut [Comparison]) {
        let keys: Vec<DocumentKey> = asked.iter().map(|one| one.key.clone()).collect();
        let found = match patiently(self.transport, &keys).await {
            Ok(found) => found,
            Err(e) => return asked.iter().for_each(|one| results[one.at] = Comparison::Failed(e.to_string())),
        };
        let mut unlikes = BTreeMap::new();
        for (one, stored) in asked.iter().zip(found) {
            let change = changes.get(&one.key.index).and_then(Option::as_ref);
            results[one.at] = match one.judge(change, stored.as_ref()) {
                Comparison::Different if self.has_pipeline || one.line.meta.pipeline.is_some() => {
                    Comparison::Failed("a pipeline may have changed the document".to_owned())
                }
                Comparison::Different if self.on_conflict == OnConflict::Compare || one.item.is_repeated => {
                    different(self.transport, &one.key, &mut unlikes).await
                }
                result => result,
            };
            let is_known = matches!(results[one.at], Comparison::Equal | Comparison::Failed(_));
            if is_known && one.item.is_repeated && self.on_conflict != OnConflict::Compare {
                let (id, routing) = (one.key.id.as_str(), one.key.routing.as_deref());
                let is_older = |stored: &Stored| {
                    self.beginnings.had(&one.key.index, (id, routing), stored.seq_no, stored.primary_term)
                };
                if stored.as_ref().is_some_and(is_older) {
                    results[one.at] = Comparison::Older;
                }
            }
        }
    }

    /// The key of the document that an item met. `made` is its id where the item has none.
    fn key(&self, item: &Item, line: &Line, made: Option<&str>) -> Option<DocumentKey> {
        let Meta { index, id, routing, .. } = &line.meta;
        let index = item.index.as_deref().or(index.as_deref()).or(self.index)?.to_owned();
        let id = id.as_deref().or(made)?.to_owned();
        Some(DocumentKey { index, id, routing: routing.clone() })
    }
}

impl Asked<'_> {
    /// Compares the item with the document of its id. Documents are compared as values: the order
    /// of keys does not matter, `1.50` equals `1.5`, and `1.0` differs from `1`.
    fn judge(&self, change: Option<&Change>, stored: Option<&Stored>) -> Comparison {
        let (id, routing) = (self.key.id.as_str(), self.key.routing.as_deref());
        if self.line.is_delete {
            // A deleted document has its version for a while.
            let version = self.line.meta.version.map(|version| format!("current version [{version}]"));
            let is_ours = stored.is_none() && version.is_some_and(|version| self.item.reason.contains(&version));
            return match change {
                Some(change) if is_ours && change.has_moved(id, routing) => Comparison::Repeated,
                _ => Comparison::Other,
            };
        }
        let Some(stored) = stored else { return Comparison::Different };
        let Some(source) = &stored.source else {
            return Comparison::Failed("a document without _source; is it disabled in the mapping?".to_owned());
        };
        let ours = serde_json::from_slice::<Value>(&self.item.document);
        let theirs = serde_json::from_str::<Value>(source.get());
        let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return Comparison::Different };
        if ours != theirs {
            return Comparison::Different;
        }
        let is_version = self.line.meta.version.is_none_or(|version| version == stored.version);
        let wrote = |change: &Change| change.wrote(id, routing, stored.seq_no, stored.primary_term);
        if is_version && change.is_some_and(wrote) { Comparison::Repeated } else { Comparison::Equal }
    }
}

/// Reads documents. A shard without an active copy is waited for.
pub(crate) async fn patiently(
    transport: &Transport,
    keys: &[DocumentKey],
) -> Result<Vec<Option<Stored>>, ClusterError> {
    let mut wait = Wait::new(READING_MAX);
    loop {
        match mget(transport, keys).await {
            Err(error) if error.may_pass() && wait.pause(&error).await.is_ok() => {}
            result => return result,
        }
    }
}

/// The result for a document that differs, which is no proof where the index rebuilds documents: a
/// template may have made it so during the load. `asked`: what is known of indices.
async fn different(
    transport: &Transport,
    key: &DocumentKey,
    asked: &mut BTreeMap<String, Option<String>>,
) -> Comparison {
    if !asked.contains_key(&key.index) {
        let why = may_be_unlike(transport, &key.index).await.unwrap_or_else(|error| Some(error.to_string()));
        asked.insert(key.index.clone(), why);
    }
    match asked.get(&key.index).cloned().flatten() {
        Some(why) => Comparison::Failed(why),
        None => Comparison::Different,
    }
}

/// The key of an action line's document. `index`: where the line names none.
pub(crate) fn key(action: &[u8], index: Option<&str>) -> Option<DocumentKey> {
    let Meta { index: named, id, routing, .. } = Line::of(action)?.meta;
    Some(DocumentKey { index: named.or_else(|| index.map(str::to_owned))?, id: id?, routing })
}

/// Whether the index has `ours` under the key. `asked`: what is known of indices.
pub(crate) async fn equal(
    transport: &Transport,
    key: &DocumentKey,
    (ours, theirs): (&[u8], &Stored),
    asked: &mut BTreeMap<String, Option<String>>,
) -> Comparison {
    let ours = serde_json::from_slice::<Value>(ours).ok();
    let theirs = theirs.source.as_ref().and_then(|source| serde_json::from_str::<Value>(source.get()).ok());
    match ours.is_some() && ours == theirs {
        true => Comparison::Equal,
        false => different(transport, key, asked).await,
    }
}

/// The action line of an item.
struct Line {
    is_delete: bool,
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "_index")]
    index: Option<String>,
    #[serde(rename = "_id")]
    id: Option<String>,
    routing: Option<String>,
    version: Option<u64>,
    pipeline: Option<String>,
}

impl Line {
    fn of(action: &[u8]) -> Option<Line> {
        let line: BTreeMap<String, Meta> = serde_json::from_slice(action).ok()?;
        let (action, meta) = line.into_iter().next()?;
        Some(Line { is_delete: action == "delete", meta })
    }
}
