//! Filters with a list of words.
//!
//! Source: the documentation of Lucene's `StopFilter`, `KeepWordFilter`, `ElisionFilter`,
//! `SetKeywordMarkerFilter` and `StemmerOverrideFilter`.

use std::collections::{HashMap, HashSet};

use super::TokenFilter;
use crate::analysis::filters::lower;
use crate::analysis::parameters::Parameters;
use crate::analysis::patterns::is_plain;
use crate::analysis::stop_words::STOP_WORDS;
use crate::analysis::stream::Stream;

/// Some words, perhaps in any case (`CharArraySet`).
pub(super) struct Words {
    words: HashSet<String>,
    ignore_case: bool,
}

impl Words {
    fn new<'a>(words: impl IntoIterator<Item = &'a str>, ignore_case: bool) -> Self {
        let fold = |word: &str| if ignore_case { word.chars().map(lower).collect() } else { word.to_owned() };
        Self { words: words.into_iter().map(fold).collect(), ignore_case }
    }

    fn has(&self, word: &str) -> bool {
        if !self.ignore_case || word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
            return self.words.contains(word);
        }
        self.words.contains(&word.chars().map(lower).collect::<String>())
    }
}

/// The words of a language, such as `_english_`.
fn language(name: &str) -> Option<std::str::Split<'static, char>> {
    let name = name.strip_prefix('_')?.strip_suffix('_')?;
    STOP_WORDS.iter().find(|(known, _)| *known == name).map(|(_, words)| words.split(','))
}

/// The words of a list, or of English. A name of a language that is not known is refused.
fn stop_words<'a>(p: &mut Parameters<'a>, default: &'static str) -> Result<Vec<&'a str>, String> {
    let all = p.list("stopwords")?.unwrap_or_else(|| vec![default]);
    if all == ["_none_"] {
        return Ok(Vec::new());
    }
    let mut words = Vec::new();
    for word in all {
        match language(word) {
            Some(of_language) => of_language.for_each(|word| words.push(word)),
            None if word.starts_with('_') && word.ends_with('_') => return Err(p.refuse("stopwords")),
            None => words.push(word),
        }
    }
    Ok(words)
}

/// Leaves out words of a list.
pub(super) struct Stop(Words);

impl Stop {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let ignore_case = p.flag("ignore_case", false)?;
        if !p.flag("remove_trailing", true)? {
            return Err(p.refuse("remove_trailing"));
        }
        // The words that the filter has by itself are in lower case; `ignore_case` is not for them.
        let has_own = p.list("stopwords")?.is_some();
        Ok(Self(Words::new(stop_words(p, "_english_")?, ignore_case && has_own)))
    }

    /// The words of an analyser, if it has some.
    pub(super) fn of_analyzer(p: &mut Parameters, default: &'static str) -> Result<Option<Self>, String> {
        let words = stop_words(p, default)?;
        Ok((!words.is_empty()).then(|| Self(Words::new(words, false))))
    }
}

impl TokenFilter for Stop {
    fn apply(&self, stream: &mut Stream) {
        stream.retain(|term| !self.0.has(term));
    }
}

/// Leaves out all but the words of a list.
pub(super) struct Keep(Words);

impl Keep {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let ignore_case = p.flag("keep_words_case", false)?;
        let words = p.list("keep_words")?.ok_or_else(|| p.refuse("keep_words"))?;
        Ok(Self(Words::new(words, ignore_case)))
    }
}

impl TokenFilter for Keep {
    fn apply(&self, stream: &mut Stream) {
        stream.retain(|term| self.0.has(term));
    }
}

/// What French has before an apostrophe.
pub(super) const FRENCH: [&str; 13] =
    ["l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu"];

/// What Italian has before an apostrophe.
#[rustfmt::skip]
pub(super) const ITALIAN: [&str; 21] = [
    "c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl", "degl", "negl", "sugl", "un",
    "m", "t", "s", "v", "d",
];

/// Cuts an article and the apostrophe behind it.
pub(super) struct Elision(Words);

impl Elision {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let ignore_case = p.flag("articles_case", false)?;
        match p.list("articles")? {
            Some(articles) => Ok(Self(Words::new(articles, ignore_case))),
            None if !p.is_defined() => Ok(Self::of(&FRENCH)),
            None => Err(p.refuse("articles")),
        }
    }
}

impl Elision {
    /// Articles in any case.
    pub(super) fn of(articles: &[&str]) -> Self {
        Self(Words::new(articles.iter().copied(), true))
    }
}

impl TokenFilter for Elision {
    fn apply(&self, stream: &mut Stream) {
        stream.shorten(|_, term| match term.char_indices().find(|(_, c)| matches!(c, '\'' | '’')) {
            Some((at, c)) if self.0.has(&term[..at]) => at + c.len_utf8()..term.len(),
            _ => 0..term.len(),
        });
    }
}

/// Marks words that stemmers leave as they are.
pub(super) struct KeywordMarker(Words);

impl KeywordMarker {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let ignore_case = p.flag("ignore_case", false)?;
        let words = p.list("keywords")?.filter(|words| !words.is_empty()).ok_or_else(|| p.refuse("keywords"))?;
        Ok(Self(Words::new(words, ignore_case)))
    }

    /// Words of a list that is perhaps empty.
    pub(super) fn of(words: &[&str]) -> Self {
        Self(Words::new(words.iter().copied(), false))
    }
}

impl TokenFilter for KeywordMarker {
    fn apply(&self, stream: &mut Stream) {
        stream.map(|token, term, _| {
            token.keyword |= self.0.has(term);
            false
        });
    }
}

/// The longest stem of a rule in bytes.
const STEM_MAX: usize = 1000;

/// Has stems of its own for some words.
pub(super) struct StemmerOverride(HashMap<String, String>);

impl StemmerOverride {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let rules = p.list("rules")?.filter(|rules| !rules.is_empty()).ok_or_else(|| p.refuse("rules"))?;
        let mut stems = HashMap::new();
        for rule in rules {
            let mut parts = rule.split("=>").map(str::trim);
            let (Some(words), Some(stem), None) = (parts.next(), parts.next(), parts.next()) else {
                return Err(p.refuse("rules"));
            };
            let words: Vec<&str> = words.split(',').map(str::trim).collect();
            let is_one = |word: &&str| !word.is_empty() && !word.contains('\\');
            if rule.starts_with('#')
                || !words.iter().all(is_one)
                || !is_one(&stem)
                || stem.len() > STEM_MAX
                || stem.contains(',')
            {
                return Err(p.refuse("rules"));
            }
            for word in words {
                // The first rule of a word counts.
                stems.entry(word.to_owned()).or_insert_with(|| stem.to_owned());
            }
        }
        Ok(Self(stems))
    }
}

impl TokenFilter for StemmerOverride {
    fn apply(&self, stream: &mut Stream) {
        stream.map(|token, term, out| {
            let Some(stem) = self.0.get(term).filter(|_| !token.keyword) else { return false };
            token.keyword = true;
            out.push_str(stem);
            true
        });
    }

    fn is_plain(&self) -> bool {
        self.0.values().all(|stem| is_plain(stem))
    }
}
