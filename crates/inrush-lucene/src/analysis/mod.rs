//! The analysers: `standard` is words of a text, in lower case; others are a [`Pipeline`] of parts.
//!
//! Source: the documentation of the servers' built-in analysers; for `standard` Unicode Standard
//! Annex 29 (word boundaries) and Unicode Technical Standard 51 (emoji sequences), as the
//! documentation of `org.apache.lucene.analysis.standard.StandardTokenizer` and the rules in its
//! grammar choose among them: ideographs and hiragana are words of one character, what is written
//! without spaces in South East Asia stays together, and emoji are words.

mod characters;
mod classes;
mod classes_of_java;
mod filters;
mod folded;
mod html;
mod html_names;
mod icu_words;
mod java_classes;
mod java_edges;
mod java_pattern;
mod java_sets;
mod letters;
mod machine;
mod parameters;
mod patterns;
mod pipeline;
mod settings;
mod stop_words;
mod stream;
mod token_filters;
mod tokenizers;

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use classes::{RANGES, bit};
pub(crate) use filters::Filters;
use machine::{DEAD, Machine, Pattern, START};
pub(crate) use pipeline::{Normalizer, Pipeline};
pub(crate) use settings::Analysis;
pub(crate) use stream::Unread;

/// The longest word in units of UTF-16; longer ones are cut.
const WORD_MAX: usize = 255;

/// What cuts a text into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tokenizer {
    /// Words.
    Standard,
    /// Runs of letters.
    Letter,
    /// What is between white space.
    Whitespace,
    /// The whole text.
    Keyword,
}

/// What makes terms of a text. Those of few parts have a way of their own, which is faster.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Analyzer {
    Plain(Plain),
    Pipeline(Arc<Pipeline>),
}

impl Analyzer {
    pub(crate) const STANDARD: Self = Self::Plain(Plain { tokenizer: Tokenizer::Standard, filters: Filters::LOWER });

    /// How long texts can be that have no term of more than `most` bytes.
    pub(crate) fn harmless(&self, most: usize) -> usize {
        match self {
            // A filter makes up to four bytes of each.
            Self::Plain(Plain { tokenizer: Tokenizer::Keyword, .. }) => most / 4,
            // A text of more words has no immense one.
            Self::Plain(_) => usize::MAX,
            Self::Pipeline(pipeline) => pipeline.harmless(most),
        }
    }

    /// Whether a text may be one that only a server reads, however short it is.
    pub(crate) fn doubts(&self, text: &str) -> bool {
        matches!(self, Self::Pipeline(pipeline) if pipeline.doubts(text))
    }

    /// The most bytes of a term of a text that is not harmless, or that is in doubt.
    pub(crate) fn longest(&self, text: &str) -> Result<usize, Unread> {
        match self {
            Self::Plain(plain) => Ok(plain.filters.text(text).len()),
            Self::Pipeline(pipeline) => pipeline.longest(text),
        }
    }

    /// How many terms a text has; with `gaps` how many positions.
    pub(crate) fn count(&self, text: &str, gaps: bool) -> Result<u32, Unread> {
        let mut count = 0;
        match self {
            Self::Plain(plain) => plain.each(text, |_| count += 1),
            Self::Pipeline(pipeline) => {
                let end = pipeline.each(text, false, |term| {
                    count += if gaps { term.increment } else { term.increment.min(1) };
                });
                if let Some(unread) = end.unread {
                    return Err(unread);
                }
                count += if gaps { end.increment } else { 0 };
            }
        }
        Ok(count)
    }

    /// Whether it is not known here what becomes of a text that ends with half a pair of UTF-16, of
    /// which Lucene's tokenizer `standard` loses words: some of those at its end, in a short one
    /// all.
    pub(crate) fn loses_cut_text(&self) -> bool {
        !matches!(self, Self::Plain(plain) if plain.tokenizer != Tokenizer::Standard)
    }

    /// Whether it is not known here what becomes of a text with half a pair of UTF-16 anywhere.
    pub(crate) fn tells_halves(&self) -> bool {
        matches!(self, Self::Pipeline(pipeline) if pipeline.tells_halves())
    }
}

/// A tokenizer and up to four filters that change each term by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plain {
    pub(crate) tokenizer: Tokenizer,
    pub(crate) filters: Filters,
}

impl Plain {
    /// The built-in analyser of that name. `None` if it is none of these.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (tokenizer, filters) = match name {
            "standard" => (Tokenizer::Standard, Filters::LOWER),
            "simple" => (Tokenizer::Letter, Filters::LOWER),
            "whitespace" => (Tokenizer::Whitespace, Filters::NONE),
            "keyword" => (Tokenizer::Keyword, Filters::NONE),
            _ => return None,
        };
        Some(Self { tokenizer, filters })
    }

    /// Calls `visit` with each term of a text, in order.
    #[inline]
    pub(crate) fn each(self, text: &str, mut visit: impl FnMut(&[u8])) {
        self.each_at(text, |_, term| visit(term));
    }

    /// Calls `visit` with the place of each word in a text, and with the term that is made of it.
    pub(crate) fn each_at(self, text: &str, mut visit: impl FnMut(Range<usize>, &[u8])) {
        if self.filters == Filters::NONE {
            return self.tokenizer.each(text, |place| visit(place.clone(), text[place].as_bytes()));
        }
        // A character of a word becomes at most 4 bytes.
        let mut term = Vec::with_capacity(4 * WORD_MAX);
        self.tokenizer.each(text, |place| {
            term.clear();
            self.filters.put(&text[place.clone()], &mut term);
            visit(place, &term);
        });
    }
}

impl Tokenizer {
    /// Calls `visit` with the place of each word of a text.
    #[inline]
    fn each(self, text: &str, visit: impl FnMut(Range<usize>)) {
        match self {
            Self::Standard => WORDS.each(text, visit),
            Self::Letter => runs(text, WORD_MAX, is_letter, visit),
            Self::Whitespace => runs(text, WORD_MAX, |c| !is_white(c), visit),
            // An empty text has an empty term.
            Self::Keyword => std::iter::once(0..text.len()).for_each(visit),
        }
    }
}

/// Visits the runs of characters that `is_part` takes, cut where they reach the greatest length.
fn runs(text: &str, most: usize, is_part: impl Fn(char) -> bool, mut visit: impl FnMut(Range<usize>)) {
    let (mut start, mut units) = (0, 0);
    for (at, c) in text.char_indices() {
        if is_part(c) {
            if units == 0 {
                start = at;
            }
            units += c.len_utf16();
            if units < most {
                continue;
            }
            visit(start..at + c.len_utf8());
        } else if units > 0 {
            visit(start..at);
        }
        units = 0;
    }
    if units > 0 {
        visit(start..text.len());
    }
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    let c = u32::from(c);
    let at = letters::LETTERS.partition_point(|&(first, _)| first <= c);
    at.checked_sub(1).is_some_and(|at| c <= letters::LETTERS[at].1)
}

/// Spaces that may break a line, and controls that separate.
pub(crate) fn is_white(c: char) -> bool {
    match c {
        '\t'..='\r' | '\u{1c}'..='\u{20}' => true,
        '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}' => false,
        c => c.is_whitespace(),
    }
}

/// Finds words.
struct Words {
    machine: Machine,
    /// The classes of ASCII.
    ascii: [u8; 128],
    /// For each 256 characters, where the page with their classes begins.
    pages: Vec<u32>,
    classes: Vec<u8>,
}

/// The one for all texts.
static WORDS: LazyLock<Words> = LazyLock::new(Words::new);

impl Words {
    fn new() -> Self {
        // Characters with the same bits are in one class.
        let mut kinds = vec![0];
        let mut class_of = |bits: u32| match kinds.iter().position(|&kind| kind == bits) {
            Some(class) => class as u8,
            None => {
                kinds.push(bits);
                (kinds.len() - 1) as u8
            }
        };
        let mut pages = Vec::new();
        let mut classes = vec![0; 256];
        let mut ranges = RANGES.iter().peekable();
        for first in (0..=u32::from(char::MAX)).step_by(256) {
            let mut page = [0; 256];
            while let Some(&&(start, end, bits)) = ranges.peek()
                && start < first + 256
            {
                let class = class_of(bits);
                for c in start.max(first)..=end.min(first + 255) {
                    page[(c - first) as usize] = class;
                }
                if end >= first + 256 {
                    break;
                }
                ranges.next();
            }
            if page == [0; 256] {
                pages.push(0);
            } else {
                pages.push(classes.len() as u32);
                classes.extend_from_slice(&page);
            }
        }
        let mut ascii = [0; 128];
        ascii.copy_from_slice(&classes[pages[0] as usize..][..128]);
        Self { machine: Machine::new(&pattern(), &kinds), ascii, pages, classes }
    }

    #[inline]
    fn class(&self, c: char) -> u8 {
        let c = c as usize;
        self.classes[self.pages[c >> 8] as usize + (c & 0xff)]
    }

    /// Calls `visit` with the place of each word of a text.
    #[inline]
    fn each(&self, text: &str, mut visit: impl FnMut(Range<usize>)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if byte < 0x80 && self.machine.next(START, self.ascii[usize::from(byte)]) == DEAD {
                at += 1;
                continue;
            }
            match self.longest(text, at) {
                Some(end) => {
                    visit(at..end);
                    at = end;
                }
                None => at += text[at..].chars().next().map_or(1, char::len_utf8),
            }
        }
    }

    /// Where the longest word ends that begins at `start`.
    #[inline]
    fn longest(&self, text: &str, start: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut state = START;
        let mut end = None;
        let mut at = start;
        let mut units = 0;
        while let Some(&byte) = bytes.get(at) {
            let (class, len) = if byte < 0x80 {
                (self.ascii[usize::from(byte)], 1)
            } else {
                let c = text[at..].chars().next()?;
                units += c.len_utf16() - 1;
                (self.class(c), c.len_utf8())
            };
            units += 1;
            if units > WORD_MAX {
                break;
            }
            state = self.machine.next(state, class);
            if state == DEAD {
                break;
            }
            at += len;
            if self.machine.accepts(state) {
                end = Some(at);
            }
        }
        end
    }
}

/// What a word is. A character takes with it the ones that combine with it (rule WB4 of the annex).
fn pattern() -> Pattern {
    use Pattern::{One, Or, Then};
    let ex = |bits: u32| Then(vec![One(bits), One(bit::IGNORED).any()]);
    let joiners = || ex(bit::JOINER).any();
    // Items with joiners or one character of `mid` between them.
    let linked = |item: u32, mid: u32| {
        let between = if mid == 0 { joiners() } else { Or(vec![joiners(), ex(mid)]) };
        Then(vec![ex(item), Then(vec![between, ex(item)]).any()])
    };
    let hebrew = Then(vec![
        ex(bit::HEBREW),
        Or(vec![ex(bit::SINGLE_QUOTE), Then(vec![ex(bit::DOUBLE_QUOTE), ex(bit::HEBREW)])]),
    ]);
    let part = Or(vec![
        linked(bit::KATAKANA, 0),
        Or(vec![hebrew, linked(bit::DIGIT, bit::MID_DIGIT), linked(bit::LETTER, bit::MID_LETTER)]).some(),
    ]);
    let word = Then(vec![joiners(), part.clone(), Then(vec![ex(bit::JOINER).some(), part]).any(), joiners()]);
    Or(vec![emoji(), word, ex(bit::COMPLEX).some(), ex(bit::HAN), ex(bit::HIRAGANA)])
}

/// A sequence of emoji that is shown as one.
fn emoji() -> Pattern {
    use Pattern::{One, Or, Then};
    let plain = |bits: u32| Then(vec![One(bits), One(bit::PLAIN_IGNORED).any()]);
    let shown = Then(vec![One(bit::ZWJ).any(), plain(bit::EMOJI), One(bit::AS_EMOJI).maybe()]);
    let modified = Then(vec![Then(vec![One(bit::ZWJ).any(), plain(bit::MODIFIER_BASE)]).maybe(), plain(bit::MODIFIER)]);
    let one = Or(vec![shown, modified]);
    let joined = Then(vec![One(bit::ZWJ), one.clone()]).any();
    let tagged = Then(vec![One(bit::TAG).some(), One(bit::TAG_END)]);
    let key = Then(vec![plain(bit::KEY_BASE), One(bit::AS_EMOJI).maybe(), plain(bit::KEY_CAP)]);
    let flag = Then(vec![One(bit::FLAG), One(bit::IGNORED).any()]);
    Or(vec![Then(vec![one, Or(vec![joined, tagged])]), key, Then(vec![flag.clone(), flag])])
}

#[cfg(test)]
mod tests {
    use super::{Plain, Tokenizer};

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        Plain::named("standard").unwrap().each(text, |word| words.push(String::from_utf8_lossy(word).into_owned()));
        words
    }

    #[test]
    fn ascii() {
        assert_eq!(words("GET /images/logo.png HTTP/1.1"), ["get", "images", "logo.png", "http", "1.1"]);
        assert_eq!(
            words("can't 3.14 1,000;5 a:b 1:2 a,b _ __a_1__ x. .y"),
            ["can't", "3.14", "1,000;5", "a:b", "1", "2", "a", "b", "__a_1__", "x", "y"]
        );
    }

    #[test]
    fn other_scripts() {
        assert_eq!(words("Ünïcödé l’été ΣΊΣΥΦΟΣ"), ["ünïcödé", "l’été", "σίσυφοσ"]);
        assert_eq!(words("東京ひらカタカナ 한국어 ภาษาไทย"), ["東", "京", "ひ", "ら", "カタカナ", "한국어", "ภาษาไทย"]);
        assert_eq!(words("👩‍👩‍👧 🇫🇷🇪🇸 1\u{fe0f}\u{20e3}"), ["👩‍👩‍👧", "🇫🇷", "🇪🇸", "1\u{fe0f}\u{20e3}"]);
    }

    #[test]
    fn other_analyzers() {
        let terms = |name: &str, text: &str| {
            let mut terms = Vec::new();
            Plain::named(name).unwrap().each(text, |term| terms.push(String::from_utf8_lossy(term).into_owned()));
            terms
        };
        assert_eq!(terms("simple", "Don't É2x ǅ東"), ["don", "t", "é", "x", "ǆ東"]);
        assert_eq!(terms("whitespace", " A,b\u{a0}c\u{2003}D\t"), ["A,b\u{a0}c", "D"]);
        assert_eq!(terms("keyword", " A b "), [" A b "]);
        assert_eq!(terms("keyword", ""), [""]);
        assert_eq!(terms("simple", &"a".repeat(300)).iter().map(String::len).collect::<Vec<_>>(), [255, 45]);
        assert_eq!(Plain::named("english"), None);
        assert_eq!(Plain::named("keyword").unwrap().tokenizer, Tokenizer::Keyword);
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(words(&"a".repeat(600)).iter().map(String::len).collect::<Vec<_>>(), [255, 255, 90]);
    }
}
