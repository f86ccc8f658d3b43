//! `icu_folding` and `icu_normalizer`, which the plugin `analysis-icu` brings.
//!
//! Source: the documentation of Lucene's `ICUFoldingFilter` and `ICUNormalizer2Filter`: characters
//! become those of a table, and then are composed as Unicode Standard Annex 15 says.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::TokenFilter;
use crate::analysis::parameters::Parameters;
use crate::analysis::stream::Stream;

/// What becomes of a range of characters.
#[derive(Clone, Copy)]
enum Mapped {
    /// They become others in the same order, from this one on.
    From(u32),
    /// Each becomes these: places in [`Table::others`].
    To(u32, u32),
    /// They stay, with a combining class.
    Class(u8),
    /// It depends on the version.
    Differs,
}

struct Table {
    /// First and last characters, in ascending order.
    ranges: Vec<(u32, u32, Mapped)>,
    others: Vec<char>,
    pairs: HashMap<(char, char), char>,
}

static FOLDING: LazyLock<Table> = LazyLock::new(|| table(include_str!("icu_folding.txt")));
static NORMALIZER: LazyLock<Table> = LazyLock::new(|| table(include_str!("icu_normalizer.txt")));

fn table(source: &str) -> Table {
    // A test reads both.
    Table::read(source).unwrap_or_else(|| unreachable!("a table of characters is wrong"))
}

impl Table {
    fn read(source: &str) -> Option<Self> {
        let number = |hex: &str| u32::from_str_radix(hex, 16).ok();
        let one = |hex: &str| number(hex).and_then(char::from_u32);
        let mut table = Self { ranges: Vec::new(), others: Vec::new(), pairs: HashMap::new() };
        for item in source.lines().filter(|line| !line.starts_with('#')).flat_map(|line| line.split(' ')) {
            if let Some((first, rest)) = item.split_once('+') {
                let (second, both) = rest.split_once('=')?;
                table.pairs.insert((one(first)?, one(second)?), one(both)?);
                continue;
            }
            let (range, rest) = item.split_at(item.find(['>', '=', ':', '!']).unwrap_or(item.len()));
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let mapped = match rest.split_at_checked(1) {
                None => Mapped::To(0, 0),
                Some((">", from)) => Mapped::From(number(from)?),
                Some((":", class)) => Mapped::Class(class.parse().ok()?),
                Some(("!", _)) => Mapped::Differs,
                Some((_, to)) => {
                    let start = table.others.len() as u32;
                    for hex in to.split(',') {
                        table.others.push(one(hex)?);
                    }
                    Mapped::To(start, table.others.len() as u32)
                }
            };
            table.ranges.push((number(first)?, number(last)?, mapped));
        }
        Some(table)
    }

    fn of(&self, c: char) -> Option<(u32, Mapped)> {
        let at = self.ranges.partition_point(|&(first, ..)| first <= u32::from(c)).checked_sub(1)?;
        let (first, last, mapped) = self.ranges[at];
        (u32::from(c) <= last).then_some((first, mapped))
    }

    fn class(&self, c: char) -> u8 {
        if let Some((_, Mapped::Class(class))) = self.of(c) { class } else { 0 }
    }

    /// Appends what becomes of a term; whether that is known here.
    fn map(&self, term: &str, out: &mut String) -> bool {
        let mut is_known = true;
        let mut mapped: Vec<(char, u8)> = Vec::with_capacity(term.len());
        for c in term.chars() {
            match self.of(c) {
                None => push_parts(c, &mut mapped),
                Some((first, Mapped::From(from))) => {
                    let to = char::from_u32(u32::from(c) - first + from).unwrap_or(c);
                    mapped.push((to, self.class(to)));
                }
                Some((_, Mapped::To(start, end))) => {
                    let to = &self.others[start as usize..end as usize];
                    mapped.extend(to.iter().map(|c| (*c, self.class(*c))));
                }
                Some((_, Mapped::Class(class))) => mapped.push((c, class)),
                Some((_, Mapped::Differs)) => {
                    is_known = false;
                    mapped.push((c, 0));
                }
            }
        }
        // Those between two of the class 0 are in the order of their classes.
        for run in mapped.chunk_by_mut(|a, b| (a.1 == 0) == (b.1 == 0)) {
            if run[0].1 != 0 {
                run.sort_by_key(|(_, class)| *class);
            }
        }
        self.compose(&mut mapped);
        out.extend(mapped.iter().map(|(c, _)| c));
        is_known
    }

    /// Makes one of two characters that are one.
    fn compose(&self, chars: &mut Vec<(char, u8)>) {
        let mut starter = None;
        let mut kept: usize = 0;
        for at in 0..chars.len() {
            let (c, class) = chars[at];
            // Between the two is nothing, or only smaller classes.
            let last = kept.checked_sub(1).filter(|last| starter != Some(*last)).map_or(0, |last| chars[last].1);
            if let Some(first) = starter
                && (first + 1 == kept || last != 0 && last < class)
                && let Some(both) = self.both(chars[first].0, c)
            {
                chars[first].0 = both;
                continue;
            }
            if class == 0 {
                starter = Some(kept);
            }
            chars[kept] = (c, class);
            kept += 1;
        }
        chars.truncate(kept);
    }

    fn both(&self, first: char, second: char) -> Option<char> {
        let (a, b) = (u32::from(first), u32::from(second));
        match (a, b) {
            (0x1100..=0x1112, 0x1161..=0x1175) => char::from_u32(0xac00 + ((a - 0x1100) * 21 + b - 0x1161) * 28),
            (0xac00..=0xd7a3, 0x11a8..=0x11c2) if (a - 0xac00) % 28 == 0 => char::from_u32(a + b - 0x11a7),
            _ => self.pairs.get(&(first, second)).copied(),
        }
    }
}

/// Adds a character of Hangul as its parts, and others as they are.
fn push_parts(c: char, out: &mut Vec<(char, u8)>) {
    let Some(number) = u32::from(c).checked_sub(0xac00).filter(|number| *number < 11172) else {
        return out.push((c, 0));
    };
    let parts = [0x1100 + number / 588, 0x1161 + number % 588 / 28, 0x11a7 + number % 28];
    let count = if number % 28 == 0 { 2 } else { 3 };
    out.extend(parts[..count].iter().filter_map(|part| char::from_u32(*part)).map(|part| (part, 0)));
}

pub(super) struct Icu(&'static LazyLock<Table>);

impl Icu {
    pub(super) const FOLDING: Self = Self(&FOLDING);

    /// The servers have others, too.
    pub(super) fn normalizer(p: &mut Parameters) -> Result<Self, String> {
        if p.text("name")?.is_some_and(|name| name != "nfkc_cf") {
            Err(p.refuse("name"))
        } else {
            Ok(Self(&NORMALIZER))
        }
    }
}

impl TokenFilter for Icu {
    fn apply(&self, stream: &mut Stream) {
        let mut is_known = !stream.halves;
        stream.map(|_, term, out| {
            let is_same = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            if term.bytes().all(is_same) {
                return false;
            }
            is_known &= self.0.map(term, out);
            true
        });
        stream.doubts |= !is_known;
    }

    /// A character becomes 18 at most.
    fn grows(&self) -> usize {
        18
    }

    fn may_doubt(&self) -> bool {
        true
    }

    /// Each text is looked at: what versions know in different ways may come from anywhere.
    fn is_plain(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{FOLDING, Mapped, NORMALIZER, Table};

    fn mapped(table: &Table, term: &str) -> String {
        let mut out = String::new();
        assert!(table.map(term, &mut out));
        out
    }

    #[test]
    fn characters_become_simple_ones() {
        let fold = |term: &str| mapped(&FOLDING, term);
        assert_eq!(fold("\u{c9}T\u{c9} Stra\u{df}e \u{fb01} ^ \u{bd} \u{391}\u{301}"), "ete strasse fi  1/2 \u{3b1}");
        assert_eq!(fold("\u{d55c}\u{ae00} \u{ff76}\u{ff9e} \u{665}"), "\u{d55c}\u{ae00} \u{30ab} 5");
        assert_eq!(fold("\u{9c7}\u{9be} \u{1112}\u{1161}\u{11ab}"), "\u{9cb} \u{d55c}");
        assert!(!FOLDING.map("\u{e3a}", &mut String::new()));
    }

    #[test]
    fn characters_are_composed() {
        let normalize = |term: &str| mapped(&NORMALIZER, term);
        assert_eq!(normalize("E\u{301} \u{c9} \u{df} \u{ff76}\u{ff9e} \u{ad}a"), "\u{e9} \u{e9} ss \u{30ac} a");
        // The mark below comes before the one above, and composes first.
        assert_eq!(normalize("a\u{302}\u{323} a\u{315}\u{300}"), "\u{1ead} \u{e0}\u{315}");
        assert_eq!(normalize("q\u{307}\u{323}"), "q\u{323}\u{307}");
        assert_eq!(normalize("q\u{340}\u{323}"), "q\u{323}\u{300}");
    }

    #[test]
    fn the_tables_are_in_order() {
        for table in [&FOLDING, &NORMALIZER] {
            assert!(table.ranges.is_sorted_by(|a, b| a.1 < b.0) && table.ranges.iter().all(|range| range.0 <= range.1));
            let longest = table.ranges.iter().map(|range| if let Mapped::To(a, b) = range.2 { b - a } else { 0 }).max();
            assert_eq!(longest, Some(18));
        }
    }
}
