//! What would change the segments, in words: a force-merge, a longer refresh interval, fewer
//! writers, a flush.

use serde::Serialize;

use super::{Segment, SegmentsMoment, ShardSegments, Since, Totals};
use crate::doctor::size;

// The servers' defaults are those that OpenSearch 2.19 and 3.6 and Elasticsearch 8.19 report
// (`GET INDEX/_settings?include_defaults`). Figures without a source are a choice of this file.

/// The least part of deleted documents that is worth a word: only segments with more of them are
/// rewritten by `only_expunge_deletes` (default of `index.merge.policy.expunge_deletes_allowed`).
const DELETED_PART: f64 = 0.1;
/// Segments made in a copy each second, above which the refresh interval and the writers matter: a
/// fifth of what the default `index.refresh_interval` of 1 s makes with one writer.
const MADE_PER_SECOND: f64 = 0.2;
/// Segments of one refresh in a copy, above which the number of writers matters.
const WRITERS: f64 = 2.0;
/// The refresh interval that is compared with, seconds: the example of Elastic's page "Tune for
/// indexing speed".
const LONG_REFRESH_S: f64 = 30.0;
/// Segments below this size are small: merges treat them as equal. Default of
/// `index.merge.policy.floor_segment`: 2 MiB, in OpenSearch 3.6 16 MiB. The lower one is small for
/// all.
const SMALL: u64 = 2 << 20;
/// Small segments in a copy, on average, that are worth a word: as many as merges leave alone
/// (default of `index.merge.policy.segments_per_tier`).
const SMALL_PER_COPY: u64 = 10;
/// The part of merging time that is held back, above which it matters; as in `inrush doctor`.
const THROTTLED_PART: f64 = 0.2;
/// Merging time below which its parts say little, ms.
const MERGE_MS_MIN: u64 = 1_000;
/// The part of the disk that segments without a use may take.
const LEFT_PART: f64 = 0.1;
/// The servers do not merge segments above this size by themselves (default of
/// `index.merge.policy.max_merged_segment`). Elasticsearch 8.19 merges those of indices of data
/// streams up to 100 GiB.
const NEVER_MERGED: u64 = 5 << 30;

/// One thing that would change the segments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// A short name for programs, stable over versions.
    pub id: &'static str,
    /// What was seen, and what would change it.
    pub text: String,
}

/// Says what would change the segments of a moment. `since` has what happened before it, where
/// moments before it are known.
pub fn advise(now: &SegmentsMoment, since: Option<&Since>) -> Vec<Advice> {
    let totals = Totals::of(&now.shards);
    let mut advice = Vec::new();
    let mut add = |id: &'static str, text: Option<String>| advice.extend(text.map(|text| Advice { id, text }));
    add("absent", absent(now));
    add("indexing_throttled", indexing_throttled(now));
    add("merges_throttled", merges_throttled(now, since));
    match since {
        Some(since) => {
            add("refresh_interval", refresh_interval(now, since));
            add("writers", writers(since));
        }
        None => add("small_segments", small_segments(now, &totals)),
    }
    add("deleted", deleted(now, &totals));
    add("left", left(now, &totals));
    add("merge_cost", merge_cost(now, &totals));
    add("force_merge", force_merge(now, since));
    advice
}

fn absent(now: &SegmentsMoment) -> Option<String> {
    (now.absent > 0).then(|| {
        let all = now.absent + now.shards.len() as u64;
        format!("{} of {all} shard copies have no node or did not answer, and are missing here.", now.absent)
    })
}

fn indexing_throttled(now: &SegmentsMoment) -> Option<String> {
    now.activity?.throttled.then(|| {
        "A shard indexes with one thread only, because its merges cannot follow. A longer refresh interval, fewer \
         requests in flight or faster disks give merges less to do or more room."
            .to_owned()
    })
}

fn merges_throttled(now: &SegmentsMoment, since: Option<&Since>) -> Option<String> {
    let (held, all, when) = match since {
        Some(since) => (since.merge_throttled_ms, since.merge_ms, format!("in the last {:.0} s", since.seconds)),
        None => {
            let activity = now.activity?;
            (activity.merge_throttled_ms, activity.merge_ms, "since the shards were started".to_owned())
        }
    };
    let part = held as f64 / all.max(1) as f64;
    (all >= MERGE_MS_MIN && part > THROTTLED_PART).then(|| {
        format!(
            "The server's limit of the merge rate held merges back for {} of their time {when}. Where the disk has \
             room, index.merge.scheduler.auto_throttle=false lifts the limit.",
            percent(part)
        )
    })
}

fn refresh_interval(now: &SegmentsMoment, since: &Since) -> Option<String> {
    let flushed = often(since)?;
    let (shortest, text) = shortest_interval(now)?;
    let fewer = since.copies as f64 * since.seconds / LONG_REFRESH_S;
    let part = fewer / since.refreshes.max(1) as f64;
    (shortest < LONG_REFRESH_S && part < 0.7).then(|| {
        format!(
            "About {} segments were made in the last {:.0} s, by {} refreshes ({text}). With 30s they would be about \
             {}, each larger, and merges would have less to do: {}",
            count(flushed),
            since.seconds,
            count(since.refreshes),
            count((flushed as f64 * part).ceil() as u64),
            setting(now, "\"refresh_interval\":\"30s\"")
        )
    })
}

fn writers(since: &Since) -> Option<String> {
    let flushed = often(since)?;
    let each = flushed as f64 / since.refreshes.max(1) as f64;
    (since.refreshes > 0 && each >= WRITERS).then(|| {
        format!(
            "A refresh made about {each:.1} segments in a shard, because as many threads wrote into it since the \
             refresh before. Half as many requests in flight (option `in_flight` of a load) would make about {} \
             segments in the same time, each twice as large.",
            count(flushed / 2)
        )
    })
}

/// The segments that refreshes and full buffers made, if they were many.
fn often(since: &Since) -> Option<u64> {
    let per_copy = since.flushed() as f64 / since.copies.max(1) as f64;
    (since.seconds > 0.0 && per_copy / since.seconds > MADE_PER_SECOND).then(|| since.flushed())
}

fn small_segments(now: &SegmentsMoment, totals: &Totals) -> Option<String> {
    let small = seen(&now.shards).filter(|segment| segment.bytes < SMALL).count() as u64;
    let (_, text) = shortest_interval(now)?;
    (small >= SMALL_PER_COPY * totals.copies.max(1)).then(|| {
        format!(
            "{} of {} segments have less than 2 MiB ({text}). A refresh makes a segment for each thread that wrote \
             into the shard since the refresh before: a longer interval or fewer requests in flight make fewer and \
             larger ones.",
            count(small),
            count(totals.segments)
        )
    })
}

fn deleted(now: &SegmentsMoment, totals: &Totals) -> Option<String> {
    let part = totals.deleted_share();
    (part >= DELETED_PART).then(|| {
        let bytes: f64 = seen(&now.shards).map(|segment| segment.bytes as f64 * segment.deleted_share()).sum();
        format!(
            "{} of the stored documents ({}) are deleted or were replaced, and take about {}. Merges remove them \
             little by little; POST {}/_forcemerge?only_expunge_deletes=true removes most of them now.",
            percent(part),
            count(totals.deleted),
            size(bytes),
            name(now)
        )
    })
}

fn left(now: &SegmentsMoment, totals: &Totals) -> Option<String> {
    (totals.left_bytes as f64 > totals.bytes as f64 * LEFT_PART).then(|| {
        format!(
            "{} on disk belong to segments that were merged into others and are still in the last commit. The next \
             flush deletes them, as POST {}/_flush does.",
            size(totals.left_bytes as f64),
            name(now)
        )
    })
}

fn merge_cost(now: &SegmentsMoment, totals: &Totals) -> Option<String> {
    let activity = now.activity?;
    let times = activity.merged_bytes as f64 / totals.bytes.max(1) as f64;
    (activity.merged > 0 && times >= 1.0).then(|| {
        format!(
            "Since the shards were started, {} merges wrote {} again in {:.0} s, {times:.1} times what is stored now.",
            count(activity.merged),
            size(activity.merged_bytes as f64),
            activity.merge_ms as f64 / 1000.0
        )
    })
}

fn force_merge(now: &SegmentsMoment, since: Option<&Since>) -> Option<String> {
    let (mut segments, mut copies, mut read, mut left, mut largest) = (0, 0, 0, 0.0, 0);
    for shard in &now.shards {
        let own: Vec<&Segment> = seen([shard]).collect();
        if own.len() < 2 && own.iter().all(|segment| segment.deleted == 0) {
            continue;
        }
        let bytes: u64 = own.iter().map(|segment| segment.bytes).sum();
        (segments, copies, read) = (segments + own.len(), copies + 1, read + bytes);
        left += own.iter().map(|segment| segment.bytes as f64 * (1.0 - segment.deleted_share())).sum::<f64>();
        largest = largest.max(bytes);
    }
    if copies == 0 {
        return None;
    }
    let mut text = String::new();
    if since.is_some_and(|since| since.indexed > 0) {
        text.push_str("Documents still come in; after the last one: ");
    }
    let deleted = match Totals::of(&now.shards).deleted {
        0 => String::new(),
        deleted => format!(", and up to {} deleted documents go", count(deleted)),
    };
    text.push_str(&format!(
        "POST {}/_forcemerge?max_num_segments=1 would read {} and write about {}; {} segments become {}{deleted}. It \
         needs up to {} of free disk for the largest copy.",
        name(now),
        size(read as f64),
        size(left),
        count(segments as u64),
        count(copies),
        size(largest as f64)
    ));
    if largest > NEVER_MERGED {
        text.push_str(
            " A segment above 5 GiB is not merged again before more of it is deleted than \
             index.merge.policy.deletes_pct_allowed says (20 % by default): only for an index that gets no more \
             documents.",
        );
    }
    Some(text)
}

/// The segments that searches see.
fn seen<'a>(shards: impl IntoIterator<Item = &'a ShardSegments>) -> impl Iterator<Item = &'a Segment> {
    shards.into_iter().flat_map(|shard| &shard.segments).filter(|segment| segment.searchable)
}

/// The shortest refresh interval of the indices, in seconds and in words. `None` where no index
/// refreshes by itself.
fn shortest_interval(now: &SegmentsMoment) -> Option<(f64, String)> {
    let mut shortest: Option<(f64, &str)> = None;
    for shard in &now.shards {
        // The servers' default.
        let text = now.refresh.get(&shard.index).map_or("1s", String::as_str);
        let Some(seconds) = seconds(text) else { continue };
        if shortest.is_none_or(|(least, _)| seconds < least) {
            shortest = Some((seconds, text));
        }
    }
    shortest.map(|(seconds, text)| (seconds, format!("index.refresh_interval is {text}")))
}

/// A time of the servers, such as `500ms`, `1s` and `-1`, which is `None`.
fn seconds(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 5] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0)];
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(at);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<f64>().ok().filter(|number| *number >= 0.0).map(|number| number * factor)
}

/// A request that changes a setting of the indices.
fn setting(now: &SegmentsMoment, setting: &str) -> String {
    format!("PUT {}/_settings {{\"index\":{{{setting}}}}}", name(now))
}

/// The index, or a word for several.
fn name(now: &SegmentsMoment) -> &str {
    let mut names = now.shards.iter().map(|shard| shard.index.as_str());
    let first = names.next().unwrap_or("INDEX");
    if names.all(|name| name == first) { first } else { "INDEX" }
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// A count with separators: `1,234,567`.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}
