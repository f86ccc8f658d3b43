//! The picture for a terminal: each shard copy a line of bars, or the worst ones where there are
//! more than lines.

use std::collections::BTreeMap;

use inrush_commands::segments::{ShardSegments, Totals};

use super::bars::{LEGEND, Paint, bars, histogram};
use super::words::{columns, cut_front, fold, summary, title};
use super::{Screen, View, badness, worst_first};
use crate::in_place::cut;
use crate::plain::inline;
use crate::units::{bytes, count, counted};

/// The lines for shards in a picture that is drawn once.
const ROWS_ONCE: usize = 60;
/// The fewest lines for shards.
const ROWS_MIN: usize = 3;
/// The fewest lines of which some are for whole indices.
const ROWS_WITH_INDICES: usize = 8;
/// The widths from which on sizes and nodes are shown.
const WIDTH_WITH_SIZE: usize = 60;
const WIDTH_WITH_NODE: usize = 100;
/// The columns of nodes: enough for `10 copies`, and for most names.
const NODE_MIN: usize = 10;
const NODE_MAX: usize = 20;

/// Draws a moment.
pub(crate) fn picture(view: &View<'_>, screen: Screen) -> String {
    let width = screen.width.max(20);
    let paint = if screen.colours { Paint::Colours } else { Paint::Plain };
    let mut lines = vec![cut(&title(view), width)];
    let is_old = view.moment.trouble.is_some();
    for (at, text) in summary(view).iter().enumerate() {
        let folded = fold(text, width, 2);
        lines.extend(folded.iter().map(|line| if is_old && at == 0 { paint.alarm(line) } else { line.clone() }));
    }
    lines.push(String::new());
    let mut below = vec![String::new()];
    below.extend(LEGEND.iter().flat_map(|line| fold(line, width, 2)));
    let advice = advice(view, width);
    let rows = match screen.height {
        None => {
            below.extend(advice);
            ROWS_ONCE
        }
        // A low terminal has lines for shards only.
        Some(height) if height < lines.len() + below.len() + 1 + ROWS_MIN => {
            below.clear();
            height.saturating_sub(lines.len() + 1)
        }
        Some(height) => {
            let free = height.saturating_sub(lines.len() + below.len() + 1);
            let for_advice = advice.len().min(free.saturating_sub(ROWS_MIN)).min(height / 3);
            below.extend(whole(advice, for_advice));
            height.saturating_sub(lines.len() + below.len() + 1)
        }
    };
    let table = Layout::new(&view.moment.shards, width);
    lines.push(table.header());
    lines.extend(rows_of(&view.moment.shards, &table, rows.max(ROWS_MIN), paint));
    lines.extend(below);
    if let Some(height) = screen.height {
        lines.truncate(height);
    }
    lines.join("\n") + "\n"
}

/// The advice, each after an empty line.
fn advice(view: &View<'_>, width: usize) -> Vec<String> {
    let folded = |text: &str| fold(&format!("- {}", inline(text)), width, 2);
    view.advice.iter().flat_map(|advice| folded(&advice.text)).collect()
}

/// The first lines, of advice that is complete.
fn whole(mut lines: Vec<String>, most: usize) -> Vec<String> {
    while lines.len() > most {
        // A line that begins advice goes with the lines after it.
        let begin = lines.iter().rposition(|line| line.starts_with("- ")).unwrap_or(0);
        lines.truncate(begin);
    }
    lines
}

/// The lines of the shards, at most `most`.
fn rows_of(shards: &[ShardSegments], layout: &Layout, most: usize, paint: Paint) -> Vec<String> {
    let rows: Vec<Vec<String>> = match shards.len() <= most {
        true => shards.iter().map(|shard| layout.rows(shard, &Totals::of([shard]), paint)).collect(),
        false => return worst(shards, layout, most, paint),
    };
    match rows.iter().map(Vec::len).sum::<usize>() <= most {
        true => rows.concat(),
        // Without the shares of deleted documents.
        false => rows.into_iter().filter_map(|lines| lines.into_iter().next()).collect(),
    }
}

/// The worst indices and the worst shard copies, and the sums of the others.
fn worst(shards: &[ShardSegments], layout: &Layout, most: usize, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    let indices = indices(shards);
    if indices.len() > 1 && most >= ROWS_WITH_INDICES {
        let shown = (most / 2).clamp(1, indices.len());
        lines.extend(indices.iter().take(shown).map(|(index, shards)| layout.index(index, shards)));
        if shown < indices.len() {
            let rest = format!("… and {} with fewer segments", more(indices.len() - shown, "index", "indices"));
            lines.push(cut(&rest, layout.width));
        }
        lines.push(String::new());
    }
    let sorted = worst_first(shards);
    let shown = most.saturating_sub(lines.len() + 1).clamp(1, sorted.len());
    let first = |(shard, totals): &(&ShardSegments, Totals)| layout.rows(shard, totals, paint).into_iter().next();
    lines.extend(sorted.iter().take(shown).filter_map(first));
    if shown < sorted.len() {
        let rest = Totals::of(sorted[shown..].iter().map(|(shard, _)| *shard));
        lines.push(cut(
            &format!(
                "… and {} with at most {} each: {}, {}",
                more(sorted.len() - shown, "copy", "copies"),
                counted(rest.most, "segment"),
                counted(rest.segments, "segment"),
                bytes(rest.bytes)
            ),
            layout.width,
        ));
    }
    lines
}

fn more(number: usize, one: &str, several: &str) -> String {
    format!("{} more {}", count(number as u64), if number == 1 { one } else { several })
}

/// The indices with their copies, the worst first.
fn indices(shards: &[ShardSegments]) -> Vec<(&str, Vec<&ShardSegments>)> {
    let mut by_index: BTreeMap<&str, Vec<&ShardSegments>> = BTreeMap::new();
    for shard in shards {
        by_index.entry(&shard.index).or_default().push(shard);
    }
    let mut all: Vec<(&str, Vec<&ShardSegments>)> = by_index.into_iter().collect();
    all.sort_by_cached_key(|(_, shards)| std::cmp::Reverse(badness(&Totals::of(shards.iter().copied()))));
    all
}

/// The columns of the lines.
struct Layout {
    width: usize,
    name: usize,
    /// Columns for nodes, 0 where they are not shown.
    node: usize,
    has_size: bool,
}

impl Layout {
    fn new(shards: &[ShardSegments], width: usize) -> Self {
        let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let name = longest(&mut shards.iter().map(|shard| columns(&name(shard))));
        let node = longest(&mut shards.iter().map(|shard| columns(&inline(&shard.node))));
        let node = if width >= WIDTH_WITH_NODE { node.clamp(NODE_MIN, NODE_MAX) } else { 0 };
        let name = name.clamp(8, (width / 3).max(10));
        Layout { width, name, node, has_size: width >= WIDTH_WITH_SIZE }
    }

    fn header(&self) -> String {
        cut(self.line("shard", "node", "segs", "size", "del").trim_end(), self.width)
    }

    /// The text before the bars.
    fn line(&self, name: &str, node: &str, segments: &str, size: &str, deleted: &str) -> String {
        let name = cut_front(name, self.name);
        let mut line = format!("{name:<0$} ", self.name);
        if self.node > 0 {
            line.push_str(&format!("{:<1$} ", cut(node, self.node), self.node));
        }
        line.push_str(&format!("{segments:>5} "));
        if self.has_size {
            line.push_str(&format!("{size:>10} "));
        }
        line.push_str(&format!("{deleted:>4}  "));
        line
    }

    /// A copy: its bars, and a second line with the shares of its deleted documents if there are
    /// any.
    fn rows(&self, shard: &ShardSegments, totals: &Totals, paint: Paint) -> Vec<String> {
        let before = self.numbers(&name(shard), &inline(&shard.node), totals);
        let (bars, below) = bars(&shard.segments, self.width.saturating_sub(columns(&before)), paint);
        let second = below.map(|below| " ".repeat(columns(&before)) + &below);
        [before + &bars].into_iter().chain(second).collect()
    }

    /// All copies of an index in one line.
    fn index(&self, index: &str, shards: &[&ShardSegments]) -> String {
        let totals = Totals::of(shards.iter().copied());
        let copies = format!("{} copies", shards.len());
        let before = self.numbers(&inline(index), &copies, &totals);
        cut(&(before + &histogram(shards.iter().flat_map(|shard| &shard.segments))), self.width)
    }

    fn numbers(&self, name: &str, node: &str, totals: &Totals) -> String {
        let deleted = format!("{:.0}%", totals.deleted_share() * 100.0);
        cut(&self.line(name, node, &totals.segments.to_string(), &bytes(totals.bytes), &deleted), self.width)
    }
}

/// The name of a copy: `logs/0 p` for a primary, `logs/0 r` for a replica.
fn name(shard: &ShardSegments) -> String {
    format!("{}/{} {}", inline(&shard.index), shard.shard, if shard.primary { 'p' } else { 'r' })
}
