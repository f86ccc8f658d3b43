//! The filters of characters, and `mapping` among them.
//!
//! Source: the documentation of the character filter `mapping`, and of Lucene's
//! `MappingCharFilter` and `BaseCharFilter`: the longest text of the list is replaced, and offsets
//! are those of the text before.

use std::collections::HashMap;

use super::html::HtmlStrip;
use super::parameters::Parameters;
use super::patterns::{ReplaceCharacters, is_plain};
use super::stream::{Corrections, Unread};

/// Changes a text before it is cut into tokens.
#[derive(Debug)]
pub(super) enum CharacterFilter {
    Html(HtmlStrip),
    Mapping(Mapping),
    Pattern(ReplaceCharacters),
}

impl CharacterFilter {
    /// By how much a text can grow at most.
    pub(super) fn grows(&self) -> usize {
        match self {
            Self::Html(_) => 1,
            Self::Mapping(mapping) => mapping.grows,
            Self::Pattern(pattern) => pattern.grows(),
        }
    }

    /// The text, and where it was before; and why only a server knows it.
    pub(super) fn map(&self, text: &str) -> (String, Corrections, Option<Unread>) {
        match self {
            Self::Html(html) => {
                let (text, corrections, is_long) = html.map(text);
                (text, corrections, is_long.then_some(Unread::Many))
            }
            Self::Mapping(mapping) => {
                let (text, corrections) = mapping.map(text);
                (text, corrections, None)
            }
            Self::Pattern(pattern) => {
                let doubts = pattern.doubts(text);
                let (text, corrections) = pattern.map(text);
                (text, corrections, doubts.then_some(Unread::Pattern))
            }
        }
    }

    pub(super) fn may_doubt(&self) -> bool {
        matches!(self, Self::Pattern(_))
    }

    /// Whether it looks at the kinds of characters.
    pub(super) fn tells_halves(&self) -> bool {
        matches!(self, Self::Html(_))
    }

    /// Whether a normalizer may have it.
    pub(super) fn normalizes(&self) -> bool {
        !matches!(self, Self::Html(_))
    }

    /// Whether it puts in no characters that patterns behind it may not know.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Self::Html(_) => false,
            Self::Mapping(mapping) => mapping.by_first.values().flatten().all(|(_, to)| is_plain(to)),
            Self::Pattern(pattern) => pattern.is_plain(),
        }
    }
}

/// The filter: texts by their first character, the longest first.
#[derive(Debug)]
pub(super) struct Mapping {
    by_first: HashMap<char, Vec<(String, String)>>,
    grows: usize,
}

impl Mapping {
    pub(super) fn new(mut parameters: Parameters) -> Result<Self, String> {
        let rules = parameters.list("mappings")?.unwrap_or_default();
        let mut by_first: HashMap<char, Vec<(String, String)>> = HashMap::new();
        let mut grows = 1;
        for rule in &rules {
            let refuse = || format!("{}: the rule {rule:?}", parameters.what);
            let (from, to) = parsed(rule).ok_or_else(refuse)?;
            grows = grows.max(to.len() / from.len() + 1);
            let same_first = by_first.entry(from.chars().next().ok_or_else(refuse)?).or_default();
            if same_first.iter().any(|(known, _)| *known == from) {
                return Err(refuse());
            }
            same_first.push((from, to));
        }
        if rules.is_empty() {
            return Err(parameters.refuse("mappings"));
        }
        for same_first in by_first.values_mut() {
            same_first.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        }
        parameters.finish()?;
        Ok(Self { by_first, grows })
    }

    fn map(&self, text: &str) -> (String, Corrections) {
        let mut mapped = String::with_capacity(text.len());
        let mut corrections = Corrections::default();
        // Units of UTF-16 that were read, and that were written.
        let (mut read, mut written) = (0, 0);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let found = self.by_first.get(&c).and_then(|all| all.iter().find(|(from, _)| rest.starts_with(from)));
            let Some((from, to)) = found else {
                mapped.push(c);
                rest = &rest[c.len_utf8()..];
                (read, written) = (read + c.len_utf16() as u32, written + c.len_utf16() as u32);
                continue;
            };
            let (len, new) = (units(from), units(to));
            read += len;
            // What was written, and what was read besides: the characters that are left out are
            // before the next one, and those that are added are at the end of what was replaced.
            if len > new {
                corrections.add(written + new, read.wrapping_sub(written + new));
            } else {
                for extra in 0..new - len {
                    corrections.add(written + len + extra, read.wrapping_sub(written + len + extra + 1));
                }
            }
            written += new;
            mapped.push_str(to);
            rest = &rest[from.len()..];
        }
        (mapped, corrections)
    }
}

fn units(text: &str) -> u32 {
    text.encode_utf16().count() as u32
}

/// A rule `from => to`. `None` if it is one that only a server reads.
fn parsed(rule: &str) -> Option<(String, String)> {
    let is_break = |c| matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    if rule.starts_with('#') || rule.contains(is_break) {
        return None;
    }
    let (from, to) = rule.rsplit_once("=>")?;
    let (from, to) = (unescaped(trimmed(from))?, unescaped(trimmed(to))?);
    (!from.is_empty()).then_some((from, to))
}

/// Without what Java's `String.trim` cuts.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

/// A text with escapes as Java has them. `None` if one is not whole, or is half a character.
fn unescaped(text: &str) -> Option<String> {
    let mut units = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let c = match c {
            '\\' => match rest.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => {
                    let digits = rest.as_str().get(..4)?;
                    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
                    units.push(u16::from_str_radix(digits, 16).ok()?);
                    rest = rest.as_str()[4..].chars();
                    continue;
                }
                c => c,
            },
            c => c,
        };
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::parameters::Parameters;
    use super::Mapping;

    fn mapping(rules: Value) -> Result<Mapping, String> {
        let definition = json!({ "type": "mapping", "mappings": rules });
        Mapping::new(Parameters::of("character filter", "own", definition.as_object()))
    }

    #[test]
    fn the_longest_text_is_replaced_and_offsets_are_those_before() {
        let own = mapping(json!(["a => ", "aa => xyz", "\\u00e4 => ae", "ph=>f", "=>=>="])).unwrap();
        let (mapped, corrections) = own.map("aaab\u{e4}phone=>");
        assert_eq!(mapped, "xyzbaefone=");
        let offsets: Vec<u32> = (0..=mapped.len() as u32).map(|place| corrections.correct(place)).collect();
        assert_eq!(offsets, [0, 1, 1, 3, 4, 4, 5, 7, 8, 9, 10, 12]);
        assert_eq!(own.map("").0, "");
    }

    #[test]
    fn rules_that_are_none_are_refused() {
        for rules in
            [json!(["a"]), json!([" => b"]), json!(["# => b"]), json!(["a => b", "a=>c"]), json!([]), json!([1])]
        {
            assert!(mapping(rules).is_err());
        }
        assert_eq!(mapping(json!(["x\\"])).err().unwrap(), "character filter \"own\": the rule \"x\\\\\"");
    }
}
