//! The sentences above the shards, and the folding of text.

use inrush_commands::segments::Totals;

use super::View;
use crate::in_place::cut;
use crate::plain::inline;
use crate::units::{bytes, count, counted};

/// The cluster, the time and the address, in one line.
pub(super) fn title(view: &View<'_>) -> String {
    let header = view.header;
    format!("{}  {}  {}", inline(&header.cluster), clock(view.moment.time), inline(&header.target))
}

/// The sums, the merges, and what happened lately: a line each.
pub(super) fn summary(view: &View<'_>) -> Vec<String> {
    let totals = Totals::of(&view.moment.shards);
    let mut lines = Vec::new();
    if let Some(trouble) = &view.moment.trouble {
        lines.push(format!("no answer, the picture is an older one: {}", inline(trouble)));
    }
    let indices = if totals.indices == 1 { String::new() } else { format!("{} indices, ", count(totals.indices)) };
    lines.push(format!(
        "{indices}{} in {}: {}, {}, {}, {:.1}% deleted",
        counted(totals.primaries, "shard"),
        if totals.copies == 1 { "1 copy".to_owned() } else { format!("{} copies", count(totals.copies)) },
        counted(totals.segments, "segment"),
        bytes(totals.bytes),
        counted(totals.docs, "document"),
        totals.deleted_share() * 100.0
    ));
    if totals.unseen > 0 || totals.left_bytes > 0 {
        let unseen = counted(totals.unseen, "segment");
        lines.push(format!(
            "not searched: {unseen} newer than the last refresh, {} merged away",
            bytes(totals.left_bytes)
        ));
    }
    lines.extend(merging(view, &totals));
    lines.extend(lately(view));
    lines
}

fn merging(view: &View<'_>, totals: &Totals) -> Option<String> {
    let activity = view.moment.activity.as_ref();
    let merges = activity.map_or(0, |activity| activity.merges);
    let throttled = if activity.is_some_and(|activity| activity.throttled) { "; indexing is throttled" } else { "" };
    (merges > 0 || totals.merging > 0 || !throttled.is_empty()).then(|| {
        let (segments, bytes) = (counted(totals.merging, "segment"), bytes(totals.merging_bytes));
        format!("merging now: {}, of {segments} with {bytes}{throttled}", counted(merges, "merge"))
    })
}

fn lately(view: &View<'_>) -> Option<String> {
    let since = view.since.filter(|since| since.seconds > 0.0)?;
    let rate = |number: u64| number as f64 / since.seconds;
    (since.indexed + since.made + since.merged > 0).then(|| {
        format!(
            "last {:.0} s: {} docs/s, {:.1} refreshes/s, {:.1} new segments/s, {}/s merged",
            since.seconds,
            count(rate(since.indexed) as u64),
            rate(since.refreshes),
            rate(since.made),
            bytes(rate(since.merged_bytes) as u64)
        )
    })
}

/// The time of day of `ms` since 1970.
fn clock(ms: u64) -> String {
    let seconds = ms / 1_000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Breaks a text at its blanks into lines of at most `width` columns. Lines after the first are
/// indented. A longer word is cut.
pub(super) fn fold(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let is_empty = lines[last].trim().is_empty();
        if !is_empty && columns(&lines[last]) + 1 + columns(word) > width {
            lines.push(" ".repeat(indent) + word);
        } else {
            let blank = if is_empty { "" } else { " " };
            lines[last].push_str(blank);
            lines[last].push_str(word);
        }
    }
    lines.iter().map(|line| cut(line, width)).collect()
}

/// The text, or its end with `…`: names of indices and shards differ at their ends.
pub(super) fn cut_front(text: &str, width: usize) -> String {
    let all = columns(text);
    if all <= width {
        return text.to_owned();
    }
    ['…'].into_iter().chain(text.chars().skip(all + 1 - width.max(1))).collect()
}

/// Columns of a text on a terminal. A letter that takes two counts as one; the terminal cuts such a
/// line.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}
