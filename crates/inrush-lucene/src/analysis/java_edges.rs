//! Alternatives of regular expressions of Java that match nothing but a place: looks behind and
//! ahead, of some characters each, such as those between small letters and capitals.

use regex::Regex;

/// A place in a text, by all that is around it.
#[derive(Debug, Default)]
pub(super) struct Edge(pub(super) Vec<Look>);

impl Edge {
    pub(super) fn is_at(&self, text: &str, at: usize) -> bool {
        self.0.iter().all(|look| look.fits(text, at))
    }
}

/// A look at the characters before or behind a place.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) is_behind: bool,
    /// Whether the characters are not these.
    pub(super) is_not: bool,
    pub(super) sets: Vec<Set>,
}

impl Look {
    fn fits(&self, text: &str, at: usize) -> bool {
        let (before, behind) = text.split_at(at);
        let found = if self.is_behind {
            all_fit(before.chars().rev(), self.sets.iter().rev())
        } else {
            all_fit(behind.chars(), self.sets.iter())
        };
        found != self.is_not
    }
}

fn all_fit<'a>(mut chars: impl Iterator<Item = char>, mut sets: impl Iterator<Item = &'a Set>) -> bool {
    sets.all(|set| chars.next().is_some_and(|c| set.has(c)))
}

/// A set of characters.
#[derive(Debug)]
pub(super) struct Set {
    ascii: [bool; 128],
    regex: Regex,
}

impl Set {
    /// Reads one that is written for the crate `regex`. `None` if it is more than is built here.
    pub(super) fn new(written: &str) -> Option<Self> {
        let regex = Regex::new(written).ok()?;
        let mut ascii = [false; 128];
        for (byte, has) in (0..).zip(&mut ascii) {
            *has = has_char(&regex, char::from(byte));
        }
        Some(Self { ascii, regex })
    }

    fn has(&self, c: char) -> bool {
        self.ascii.get(c as usize).copied().unwrap_or_else(|| has_char(&self.regex, c))
    }
}

fn has_char(regex: &Regex, c: char) -> bool {
    regex.is_match(c.encode_utf8(&mut [0; 4]))
}
