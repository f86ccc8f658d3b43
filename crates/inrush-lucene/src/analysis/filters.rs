//! What is made of the words of a text, one filter after the other.
//!
//! Source: the documentation of the servers' token filters.

use super::folded::FOLDED;
use super::is_white;

/// Changes a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    /// To lower case, character by character.
    Lower,
    /// To upper case, character by character.
    Upper,
    /// To ASCII where a character has an equivalent.
    Fold,
    /// Without white space at its ends.
    Trim,
}

impl Filter {
    /// Writes what it makes of a word, unless that is the word as it is.
    pub(super) fn change(self, word: &str, out: &mut String) -> bool {
        match self {
            Self::Lower if word.is_ascii() => {
                out.push_str(word);
                out.make_ascii_lowercase();
            }
            Self::Lower => out.extend(word.chars().map(lower)),
            Self::Upper => out.extend(word.chars().map(upper)),
            Self::Fold if word.is_ascii() => return false,
            Self::Fold => out.push_str(&fold(word)),
            Self::Trim => out.push_str(word.trim_matches(is_white)),
        }
        out != word
    }

    fn apply(self, word: &str) -> String {
        match self {
            Self::Lower => word.chars().map(lower).collect(),
            Self::Upper => word.chars().map(upper).collect(),
            Self::Fold => fold(word),
            Self::Trim => word.trim_matches(is_white).to_owned(),
        }
    }
}

/// Some filters in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filters([Option<Filter>; 4]);

impl Filters {
    pub(crate) const NONE: Self = Self([None; 4]);
    pub(crate) const LOWER: Self = Self([Some(Filter::Lower), None, None, None]);

    /// The filters in their order.
    pub(super) fn each(self) -> impl Iterator<Item = Filter> {
        self.0.into_iter().flatten()
    }

    /// `None` if there are too many.
    pub(super) fn new(filters: &[Filter]) -> Option<Self> {
        let mut found = Self::NONE;
        for (place, filter) in found.0.iter_mut().zip(filters) {
            *place = Some(*filter);
        }
        (filters.len() <= found.0.len()).then_some(found)
    }

    /// Appends what the filters make of a word.
    #[inline]
    pub(super) fn put(self, word: &str, out: &mut Vec<u8>) {
        if self == Self::LOWER {
            put_lower(word, out);
        } else {
            out.extend_from_slice(self.text(word).as_bytes());
        }
    }

    /// What the filters make of a word.
    pub(crate) fn text(self, word: &str) -> String {
        let mut filters = self.0.iter().flatten();
        let first = filters.next().map_or_else(|| word.to_owned(), |first| first.apply(word));
        filters.fold(first, |word, filter| filter.apply(&word))
    }
}

/// The servers map each character to one.
pub(super) fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// A character of which the upper case is several stays as it is, but for Greek letters with an
/// iota below them, which have one with an iota beside it.
fn upper(c: char) -> char {
    let mut all = c.to_uppercase();
    match (all.next(), all.next()) {
        (Some(upper), None) => upper,
        _ => match c {
            '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
                char::from_u32(u32::from(c) + 8).unwrap_or(c)
            }
            '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => char::from_u32(u32::from(c) + 9).unwrap_or(c),
            _ => c,
        },
    }
}

fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    for c in word.chars() {
        match FOLDED.binary_search_by_key(&u32::from(c), |(from, _)| *from) {
            Ok(at) => folded.push_str(FOLDED[at].1),
            Err(_) => folded.push(c),
        }
    }
    folded
}

/// Appends a text in lower case, character by character.
fn put_lower(text: &str, out: &mut Vec<u8>) {
    if text.is_ascii() {
        out.extend(text.bytes().map(|byte| byte.to_ascii_lowercase()));
        return;
    }
    for c in text.chars() {
        out.extend_from_slice(lower(c).encode_utf8(&mut [0; 4]).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{Filter, Filters};

    #[test]
    fn filters_follow_each_other() {
        let text = |filters: &[Filter], text| Filters::new(filters).unwrap().text(text);
        assert_eq!(text(&[Filter::Lower, Filter::Fold], "ÉTÉ Œuvre"), "ete oeuvre");
        assert_eq!(text(&[Filter::Trim, Filter::Upper], " straße ŉᾳ\u{1f}"), "STRAßE ŉᾼ");
        assert_eq!(text(&[Filter::Fold, Filter::Lower], "Æ İ 東"), "ae i 東");
        assert_eq!(Filters::new(&[Filter::Lower; 5]), None);
    }
}
