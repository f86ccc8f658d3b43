//! Matching the entries of a reply to items, where the order does not match.
//!
//! The entry of an item that reached a shard is at the item's position. Items that an ingest
//! pipeline dropped or refused are different: OpenSearch, and Elasticsearch before 8.13, collect
//! their entries in the order of events, and insert the other entries at their positions. The
//! entries of pipelines are matched by id. Where that is impossible, entries with the same verdict
//! are taken in order: each item then has the same end.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::batch::Batch;
use crate::outcome::{About, Verdict, about};
use crate::reply::{BulkReply, ItemAction, ItemReply, ItemResult, WriteMark};

/// How entries of replies are matched to items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// By position: the server keeps the order of items, also with a pipeline.
    Places,
    /// By position, until a reply looks as if a pipeline is active; then by id.
    PlacesAtFirst,
    /// By id, because a pipeline is active.
    Ids,
}

/// Adjacent items with the same entry; `None` if their entry is unknown.
pub(super) type Run<'a> = (u32, Option<&'a ItemReply>);

/// The matched entries of a reply whose order does not match.
#[derive(Default)]
pub(super) struct Paired<'a> {
    /// In the order of the items.
    pub(super) runs: Vec<Run<'a>>,
    /// Entries whose items are unknown.
    pub(super) unowned: Vec<&'a ItemReply>,
    /// The marks of the items' writes, or nothing.
    pub(super) marks: Cow<'a, [Option<WriteMark>]>,
}

/// Matches entries to items. `None` if the reply's own order is right.
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
    let mut marks = reply.marks.clone();
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
        let (mut owners, mut moved) = (owners(batch, &loose), Vec::new());
        loose.retain(|(place, entry)| {
            let id = reply.ids.get(*place).and_then(Option::as_deref);
            // Its place is another item's, unless that is this one, too.
            if let Some(mark) = marks.get_mut(*place) {
                *mark = None;
            }
            match id.and_then(|id| owners.remove(id)).flatten() {
                Some(owner) => {
                    entries[owner] = Some(*entry);
                    moved.push((owner, *place));
                    false
                }
                None => true,
            }
        });
        for (owner, place) in moved {
            if let (Some(mark), Some(from)) = (marks.get_mut(owner), reply.marks.get(place)) {
                *mark = *from;
            }
        }
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
    Some(Paired { runs, unowned, marks: marks.into() })
}

/// Whether the entry may stand at another item's position: a pipeline, not a shard, may have
/// produced it.
fn is_loose(entry: &ItemReply) -> bool {
    if entry.action == ItemAction::Delete {
        return false;
    }
    match &entry.error {
        Some(error) => !is_of_a_shard(entry.status, &error.kind, &error.reason),
        None => entry.result == Some(ItemResult::Noop),
    }
}

/// Errors that only a shard produces. Where that is uncertain, the entry counts as a pipeline's.
fn is_of_a_shard(status: u16, kind: &str, reason: &str) -> bool {
    match kind {
        "mapper_parsing_exception"
        | "document_parsing_exception"
        | "strict_dynamic_mapping_exception"
        | "version_conflict_engine_exception"
        | "document_missing_exception"
        | "cluster_block_exception" => true,
        // Processors that send requests meet full queues and breakers as well; their messages
        // differ.
        "circuit_breaking_exception" => reason.contains("[indices:data/write/bulk"),
        "es_rejected_execution_exception" | "rejected_execution_exception" => {
            reason.starts_with("rejected execution of")
        }
        _ => about(status, kind, reason) == About::Shard,
    }
}

/// The positions of items at loose entries, by id; none for ids that occur twice.
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

/// The id in an action line.
fn id_of(action: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Options<'a> {
        #[serde(rename = "_id", borrow, default)]
        id: Option<Cow<'a, str>>,
    }
    let line: BTreeMap<Cow<'_, str>, Options<'_>> = serde_json::from_slice(action).ok()?;
    line.into_values().next()?.id.map(Cow::into_owned)
}
