//! The segments of a shard copy as bars of one column each: the height is the size.

use inrush_commands::segments::Segment;

/// Heights, and the bytes below which a segment has them.
const HEIGHTS: [(char, u64); 7] = [
    ('▁', 64 << 10),
    ('▂', 512 << 10),
    ('▃', 4 << 20),
    ('▄', 16 << 20),
    ('▅', 64 << 20),
    ('▆', 256 << 20),
    ('▇', 1 << 30),
];
/// A segment of at least the last of these sizes.
const HIGHEST: char = '█';
/// A segment that searches do not see.
const UNSEEN: char = '·';
/// The share of deleted documents above which a segment is shown in their colour.
const DELETED_MUCH: f64 = 0.2;
/// The share of deleted documents that is shown at all.
const DELETED_LEAST: f64 = 0.01;

/// The meaning of the bars and marks, for below the picture.
pub(super) const LEGEND: [&str; 2] = [
    "old to new, by size: ▁ <64K ▂ <512K ▃ <4M ▄ <16M ▅ <64M ▆ <256M ▇ <1G █ more",
    "[merging into one]  · not searched  below a bar: share of deleted documents",
];

/// The colours of a terminal, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Colours,
}

/// The colour of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    None,
    Segment,
    Merging,
    Deleted,
    Faint,
}

impl Paint {
    fn of(self, colour: Colour) -> &'static str {
        match (self, colour) {
            (Paint::Plain, _) | (_, Colour::None) => "",
            (_, Colour::Segment) => "\x1b[36m",
            (_, Colour::Merging) => "\x1b[33m",
            (_, Colour::Deleted) => "\x1b[31m",
            (_, Colour::Faint) => "\x1b[2m",
        }
    }

    /// Text that is to be seen first.
    pub(super) fn alarm(self, text: &str) -> String {
        match self {
            Paint::Plain => text.to_owned(),
            Paint::Colours => format!("\x1b[31m{text}\x1b[0m"),
        }
    }
}

/// One column.
#[derive(Clone, Copy)]
struct Cell {
    glyph: char,
    colour: Colour,
    /// The share of deleted documents.
    deleted: f64,
}

impl Cell {
    fn mark(glyph: char, colour: Colour) -> Self {
        Cell { glyph, colour, deleted: 0.0 }
    }

    fn of(segment: &Segment) -> Self {
        if !segment.searchable {
            return Cell::mark(UNSEEN, Colour::Faint);
        }
        let deleted = segment.deleted_share();
        let colour = match segment.merge {
            Some(_) => Colour::Merging,
            None if deleted >= DELETED_MUCH => Colour::Deleted,
            None => Colour::Segment,
        };
        Cell { glyph: height(segment.bytes), colour, deleted }
    }
}

/// The bar of a size.
pub(super) fn height(bytes: u64) -> char {
    HEIGHTS.iter().find(|(_, below)| bytes < *below).map_or(HIGHEST, |(glyph, _)| *glyph)
}

/// The segments in at most `width` columns, and below them the shares of their deleted documents if
/// there are any. Where the columns do not suffice, the smallest segments are left out and counted.
pub(super) fn bars(segments: &[Segment], width: usize, paint: Paint) -> (String, Option<String>) {
    let cells = cells(segments, width);
    let below: String = cells.iter().map(|cell| share(cell.deleted)).collect();
    let below = below.trim_end();
    let below = (!below.is_empty()).then(|| match paint {
        Paint::Plain => below.to_owned(),
        Paint::Colours => format!("{}{below}\x1b[0m", paint.of(Colour::Deleted)),
    });
    (painted(&cells, paint), below)
}

fn share(deleted: f64) -> char {
    const SHARES: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    match deleted < DELETED_LEAST {
        true => ' ',
        false => SHARES[((deleted * 8.0) as usize).min(7)],
    }
}

fn painted(cells: &[Cell], paint: Paint) -> String {
    let mut text = String::new();
    let mut colour = Colour::None;
    for cell in cells {
        if cell.colour != colour && paint == Paint::Colours {
            text.push_str("\x1b[0m");
            text.push_str(paint.of(cell.colour));
        }
        colour = cell.colour;
        text.push(cell.glyph);
    }
    if colour != Colour::None && paint == Paint::Colours {
        text.push_str("\x1b[0m");
    }
    text
}

fn cells(segments: &[Segment], width: usize) -> Vec<Cell> {
    if width == 0 {
        return Vec::new();
    }
    let (mut single, groups) = grouped(segments);
    let of_groups: usize = groups.iter().map(|group| group.len() + 3).sum();
    let mut hidden = 0;
    let suffix = |hidden: usize| if hidden == 0 { String::new() } else { format!(" +{hidden}") };
    while single.len() - hidden + of_groups + suffix(hidden).len() > width && hidden < single.len() {
        hidden += 1;
    }
    let mut sizes: Vec<(u64, u64)> = single.iter().map(|segment| (segment.bytes, segment.generation)).collect();
    sizes.sort_unstable();
    sizes.truncate(hidden);
    single.retain(|segment| sizes.binary_search(&(segment.bytes, segment.generation)).is_err());
    let mut cells: Vec<Cell> = single.into_iter().map(Cell::of).collect();
    cells.extend(suffix(hidden).chars().map(|c| Cell::mark(c, Colour::None)));
    for group in groups {
        if !cells.is_empty() {
            cells.push(Cell::mark(' ', Colour::None));
        }
        cells.push(Cell::mark('[', Colour::Merging));
        cells.extend(group.into_iter().map(Cell::of));
        cells.push(Cell::mark(']', Colour::Merging));
    }
    if cells.len() > width {
        cells.truncate(width.saturating_sub(1));
        cells.push(Cell::mark('…', Colour::None));
    }
    cells
}

/// The segments that no merge reads, and those of each merge.
fn grouped(segments: &[Segment]) -> (Vec<&Segment>, Vec<Vec<&Segment>>) {
    let (mut single, mut groups): (Vec<&Segment>, Vec<(&str, Vec<&Segment>)>) = (Vec::new(), Vec::new());
    for segment in segments {
        match segment.merge.as_deref() {
            None => single.push(segment),
            Some(merge) => match groups.iter_mut().find(|(id, _)| *id == merge) {
                Some((_, group)) => group.push(segment),
                None => groups.push((merge, vec![segment])),
            },
        }
    }
    (single, groups.into_iter().map(|(_, group)| group).collect())
}

/// The number of segments of each size, for many shards in one line: `▁120 ▂60 ▆8 [12]`.
pub(super) fn histogram<'a>(segments: impl Iterator<Item = &'a Segment>) -> String {
    let glyphs: Vec<char> = HEIGHTS.iter().map(|(glyph, _)| *glyph).chain([HIGHEST]).collect();
    let mut counts = vec![0_u64; glyphs.len()];
    let mut merging = 0;
    for segment in segments.filter(|segment| segment.searchable) {
        let glyph = height(segment.bytes);
        if let Some(at) = glyphs.iter().position(|one| *one == glyph) {
            counts[at] += 1;
        }
        merging += u64::from(segment.merge.is_some());
    }
    let shown = glyphs.iter().zip(counts).rev().filter(|(_, count)| *count > 0);
    let mut parts: Vec<String> = shown.map(|(glyph, count)| format!("{glyph}{count}")).collect();
    if merging > 0 {
        parts.push(format!("[{merging}]"));
    }
    parts.join(" ")
}
