//! Whose entry is whose, where the order of a reply does not tell.
//!
//! What reached a shard has its entry at its own place in the reply. What an ingest pipeline dropped or refused has not:
//! OpenSearch and older Elasticsearch collect those entries in the order in which they happened, drops at once and
//! failures later, and only then put the others between them at their places. Entries of which all say the same are in
//! order whatever they are; others are told apart by their ids.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::batch::Batch;
use crate::reply::{BulkReply, ItemAction, ItemReply, ItemResult};

/// Neighbouring items with the same entry; `None` where it is not known which one is theirs.
pub(super) type Run<'a> = (u32, Option<&'a ItemReply>);

/// Whose entry each is, in the order of the items. `None` where the reply's own order tells.
pub(super) fn by_id<'a>(batch: &Batch, reply: &'a BulkReply) -> Option<Vec<Run<'a>>> {
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
    // What is left says the same, so that it does not matter whose it is.
    if let [(_, first), rest @ ..] = &loose[..]
        && rest.iter().all(|(_, entry)| entry == first)
    {
        entries.iter_mut().for_each(|entry| *entry = entry.or(Some(*first)));
    }
    let mut runs: Vec<Run<'a>> = Vec::new();
    for entry in entries {
        match runs.last_mut() {
            Some((count, same)) if *same == entry => *count += 1,
            _ => runs.push((1, entry)),
        }
    }
    Some(runs)
}

/// Whether the entry may stand at the place of another one: it may be a pipeline's word, not a shard's.
fn is_loose(entry: &ItemReply) -> bool {
    if entry.action == ItemAction::Delete {
        return false;
    }
    match &entry.error {
        Some(error) => !is_of_a_shard(&error.kind, &error.reason),
        None => entry.result == Some(ItemResult::Noop),
    }
}

/// Errors that only the index itself has. Where none is known for sure, the entry counts as a pipeline's.
fn is_of_a_shard(kind: &str, reason: &str) -> bool {
    match kind {
        "mapper_parsing_exception"
        | "document_parsing_exception"
        | "strict_dynamic_mapping_exception"
        | "version_conflict_engine_exception"
        | "document_missing_exception"
        | "unavailable_shards_exception"
        | "cluster_block_exception" => true,
        // Processors that ask others have queues, too, whose refusals read otherwise.
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
