//! Whose entry is whose, where the order of a reply does not tell.
//!
//! What reached a shard has its entry at its own place in the reply. What an ingest pipeline
//! dropped or refused has not: OpenSearch, and Elasticsearch before 8.13, collect those entries in
//! the order in which they happened, and put the others between them at their places. They are told
//! apart by their ids. Where that is not possible, entries with the same verdict are taken in their
//! order: each item meets the same end then.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::batch::Batch;
use crate::outcome::Verdict;
use crate::reply::{BulkReply, ItemAction, ItemReply, ItemResult};

/// How the entries of replies are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// By their places: the server keeps the order of the items, whatever a pipeline does.
    Places,
    /// By their places, until a reply looks as if a pipeline was in force: then by ids.
    PlacesAtFirst,
    /// By ids, because a pipeline is in force.
    Ids,
}

/// Neighbouring items with the same entry; `None` where it is not known which one is theirs.
pub(super) type Run<'a> = (u32, Option<&'a ItemReply>);

/// A reply whose order does not tell whose entries are whose.
#[derive(Default)]
pub(super) struct Paired<'a> {
    /// In the order of the items.
    pub(super) runs: Vec<Run<'a>>,
    /// The entries whose items are not known.
    pub(super) unowned: Vec<&'a ItemReply>,
}

/// Whose entry each is. `None` where the reply's own order tells.
pub(super) fn by_id<'a>(
    batch: &Batch,
    reply: &'a BulkReply,
    verdict: impl Fn(&ItemReply) -> Verdict,
) -> Option<Paired<'a>> {
    let first = reply.runs.iter().map(|run| &run.item).find(|item| is_loose(item))?;
    if reply.runs.iter().all(|run| run.item == *first || !is_loose(&run.item)) {
        return None;
    }
    let (mut entries, mut loose) = (Vec::new(), Vec::new());
    for run in &reply.runs {
        let places = entries.len()..entries.len() + run.count as usize;
        match is_loose(&run.item) {
            true => {
                loose.extend(places.clone().map(|place| (place, &run.item)));
                entries.extend(places.map(|_| None));
            }
            false => entries.extend(places.map(|_| Some(&run.item))),
        }
    }
    if !reply.ids.is_empty() {
        let mut owners = owners(batch, &loose);
        loose.retain(|(place, entry)| {
            let id = reply.ids.get(*place).and_then(Option::as_deref);
            match id.and_then(|id| owners.remove(id)).flatten() {
                Some(owner) => {
                    entries[owner] = Some(*entry);
                    false
                }
                None => true,
            }
        });
    }
    let mut unowned: Vec<&ItemReply> = loose.into_iter().map(|(_, entry)| entry).collect();
    let mut verdicts = unowned.iter().map(|entry| verdict(entry));
    if verdicts.next().is_some_and(|first| verdicts.all(|other| other == first)) {
        let open = entries.iter_mut().filter(|entry| entry.is_none());
        open.zip(unowned.drain(..)).for_each(|(place, entry)| *place = Some(entry));
    }
    let mut runs: Vec<Run<'a>> = Vec::new();
    for entry in entries {
        match runs.last_mut() {
            Some((count, same)) if *same == entry => *count += 1,
            _ => runs.push((1, entry)),
        }
    }
    Some(Paired { runs, unowned })
}

/// Whether the entry may stand at the place of another one: it may be a pipeline's word, not a
/// shard's.
fn is_loose(entry: &ItemReply) -> bool {
    if entry.action == ItemAction::Delete {
        return false;
    }
    match &entry.error {
        Some(error) => !is_of_a_shard(&error.kind, &error.reason),
        None => entry.result == Some(ItemResult::Noop),
    }
}

/// Errors that only the index itself has. Where that is not known for sure, the entry counts as a
/// pipeline's.
fn is_of_a_shard(kind: &str, reason: &str) -> bool {
    match kind {
        "mapper_parsing_exception"
        | "document_parsing_exception"
        | "strict_dynamic_mapping_exception"
        | "version_conflict_engine_exception"
        | "document_missing_exception"
        | "unavailable_shards_exception"
        | "cluster_block_exception" => true,
        // Processors that ask others meet queues and breakers, too, whose refusals read otherwise.
        "circuit_breaking_exception" => reason.contains("[indices:data/write/bulk"),
        "es_rejected_execution_exception" | "rejected_execution_exception" => {
            reason.starts_with("rejected execution of")
        }
        _ => false,
    }
}

/// The places of the items at loose entries by their ids; of ids that occur twice none.
fn owners(batch: &Batch, loose: &[(usize, &ItemReply)]) -> BTreeMap<String, Option<usize>> {
    let mut owners = BTreeMap::new();
    let (mut loose, mut place) = (loose.iter().map(|(place, _)| *place).peekable(), 0);
    for segment in &batch.segments {
        for item in segment.first..segment.end {
            if loose.next_if_eq(&place).is_some()
                && let Some(id) = id_of(&segment.block.items.action_and_document(item).0)
            {
                owners.entry(id).and_modify(|twice| *twice = None).or_insert(Some(place));
            }
            place += 1;
        }
    }
    owners
}

/// The id that an action line names.
fn id_of(action: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Options<'a> {
        #[serde(rename = "_id", borrow, default)]
        id: Option<Cow<'a, str>>,
    }
    let line: BTreeMap<Cow<'_, str>, Options<'_>> = serde_json::from_slice(action).ok()?;
    line.into_values().next()?.id.map(Cow::into_owned)
}
