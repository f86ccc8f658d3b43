//! The plain table: a line for each shard copy, for files, pipes and logs.

use std::fmt::Write as _;

use inrush_commands::segments::Totals;

use super::words::{summary, title};
use super::{View, worst_first};
use crate::plain::inline;
use crate::units::{bytes, count};

/// The heads of the columns. Names are aligned to the left, numbers to the right.
const HEADS: [&str; 9] = ["index", "shard", "copy", "node", "segments", "documents", "deleted", "size", "merging"];
const NAMES: [usize; 3] = [0, 2, 3];

/// A block of text: title, sums, a line for each copy, and what would change them. With `most`, it
/// has at most this number of copies, the worst first.
pub(crate) fn table(view: &View<'_>, most: Option<usize>) -> String {
    let mut out = format!("{}\n", title(view));
    for line in summary(view) {
        out.push_str(&line);
        out.push('\n');
    }
    let shards = &view.moment.shards;
    let (mut copies, mut left) = (Vec::new(), 0);
    match most {
        Some(most) if shards.len() > most => {
            copies.extend(worst_first(shards).into_iter().take(most));
            left = shards.len() - most;
        }
        _ => copies.extend(shards.iter().map(|shard| (shard, Totals::of([shard])))),
    }
    let mut rows = vec![HEADS.map(str::to_owned)];
    rows.extend(copies.iter().map(|(shard, totals)| {
        [
            inline(&shard.index).into_owned(),
            shard.shard.to_string(),
            if shard.primary { "primary" } else { "replica" }.to_owned(),
            inline(&shard.node).into_owned(),
            totals.segments.to_string(),
            (totals.stored - totals.deleted).to_string(),
            totals.deleted.to_string(),
            bytes(totals.bytes).replace(' ', ""),
            totals.merging.to_string(),
        ]
    }));
    out.push('\n');
    out.push_str(&aligned(&rows));
    if left > 0 {
        // Writing to a string does not fail.
        let _ = writeln!(out, "and {} more copies with fewer segments", count(left as u64));
    }
    if !view.advice.is_empty() {
        out.push('\n');
    }
    for advice in view.advice {
        let _ = writeln!(out, "- {}", inline(&advice.text));
    }
    out.push('\n');
    out
}

fn aligned(rows: &[[String; HEADS.len()]]) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match NAMES.contains(&at) {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}
