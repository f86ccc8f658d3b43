//! `synonym` and `synonym_graph`, with lists in the settings.
//!
//! Source: the documentation of the servers' filters, and of Lucene's `SolrSynonymParser`,
//! `SynonymFilter` and `SynonymGraphFilter`: of all rules that begin at a token the longest counts,
//! and the next one begins behind it. `synonym` puts the words of a rule at the positions of the
//! tokens from there on, `synonym_graph` gives each text of a rule positions of its own.

use std::collections::{HashMap, VecDeque};

use super::TokenFilter;
use crate::analysis::parameters::Parameters;
use crate::analysis::patterns::is_plain;
use crate::analysis::stream::{Stream, Token};

/// The rules that go on with each word.
#[derive(Default)]
struct Rules {
    next: HashMap<String, Rules>,
    ends: Option<Rule>,
}

/// What is put in the place of some words.
#[derive(Default)]
struct Rule {
    /// Texts, each word by word.
    texts: Vec<Vec<String>>,
    /// Whether the words stay.
    keeps: bool,
}

impl Rules {
    fn add(&mut self, words: &[String], text: &[String], keeps: bool) {
        let rules = words.iter().fold(self, |rules, word| rules.next.entry(word.clone()).or_default());
        let rule = rules.ends.get_or_insert_default();
        rule.keeps |= keeps;
        if !rule.texts.iter().any(|known| known == text) {
            rule.texts.push(text.to_vec());
        }
    }

    /// The longest rule for the first of some tokens, and for how many it is.
    fn longest(&self, tokens: &[(Token, &str)]) -> Option<(usize, &Rule)> {
        let (mut rules, mut found) = (self, None);
        for (count, (_, term)) in (1..).zip(tokens) {
            // The zero is what Lucene has between the words of a rule.
            for word in term.split('\0') {
                match rules.next.get(word) {
                    Some(next) => rules = next,
                    None => return found,
                }
            }
            found = rules.ends.as_ref().map(|rule| (count, rule)).or(found);
        }
        found
    }
}

pub(in crate::analysis) struct Synonyms {
    rules: Rules,
    is_graph: bool,
    grows: usize,
    is_plain: bool,
}

impl Synonyms {
    /// `words` are those of a text of a rule, as the parts before the filter make them; nothing if
    /// a server refuses them, or if only a server knows them.
    pub(in crate::analysis) fn new(
        p: &mut Parameters,
        is_graph: bool,
        words: impl Fn(&str) -> Option<Vec<String>>,
    ) -> Result<Self, String> {
        let expand = p.flag("expand", true)?;
        // Rules that a server leaves out because of it are refused here.
        p.flag("lenient", false)?;
        p.flag("ignore_case", false)?;
        if p.flag("updateable", false)? {
            return Err(p.refuse("updateable"));
        }
        if !matches!(p.text("format")?, None | Some("" | "solr")) {
            return Err(p.refuse("format"));
        }
        let mut made = Self { rules: Rules::default(), is_graph, grows: 1, is_plain: true };
        for rule in p.list("synonyms")?.ok_or_else(|| p.refuse("synonyms"))? {
            made.read(rule, expand, &words).ok_or_else(|| format!("{}: the rule {rule:?}", p.what))?;
        }
        Ok(made)
    }

    fn read(&mut self, rule: &str, expand: bool, words: &impl Fn(&str) -> Option<Vec<String>>) -> Option<()> {
        if rule.contains(['\n', '\r', '\0']) {
            return None;
        }
        if rule.is_empty() || rule.starts_with('#') {
            return Some(());
        }
        let all_words = |texts: &str| -> Option<Vec<Vec<String>>> {
            split(texts, ",").into_iter().map(|text| words(unescaped(text).trim_matches(|c| c <= ' '))).collect()
        };
        match split(rule, "=>").as_slice() {
            [from, to] => {
                let to = all_words(to)?;
                for from in all_words(from)? {
                    to.iter().for_each(|text| self.add(&from, text, false));
                }
            }
            [] | [_] => {
                let all = all_words(rule)?;
                for (place, from) in all.iter().enumerate() {
                    if expand {
                        let others = all.iter().enumerate().filter(|(other, _)| *other != place);
                        others.for_each(|(_, text)| self.add(from, text, true));
                    } else {
                        self.add(from, &all[0], false);
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn add(&mut self, words: &[String], text: &[String], keeps: bool) {
        let len: usize = words.iter().map(String::len).sum();
        let longest = text.iter().map(String::len).max().unwrap_or(0);
        self.grows = self.grows.max(longest / len.max(1) + 1);
        self.is_plain &= text.iter().all(|word| is_plain(word));
        self.rules.add(words, text, keeps);
    }

    /// What the rules make of tokens: their words stand one at each token from the first on.
    fn flat(&self, tokens: &[(Token, &str)]) -> Vec<(Token, String)> {
        let mut made = Vec::new();
        // The words for the tokens from here on, with the end of those that stand for several.
        let mut words: VecDeque<Vec<(&str, Option<u32>)>> = VecDeque::new();
        let mut at = 0;
        while at < tokens.len() {
            let found = self.rules.longest(&tokens[at..]);
            let count = found.map_or(1, |(count, _)| count);
            let end = tokens[at + count - 1].0.end;
            for text in found.iter().flat_map(|(_, rule)| &rule.texts) {
                words.resize_with(words.len().max(text.len()), Vec::new);
                for (word, place) in text.iter().zip(&mut words) {
                    place.push((word, (text.len() == 1).then_some(end)));
                }
            }
            for (token, term) in &tokens[at..at + count] {
                let mut increment = 1;
                if found.is_none_or(|(_, rule)| rule.keeps) {
                    made.push((*token, (*term).to_owned()));
                    increment = 0;
                }
                for (word, end) in words.pop_front().unwrap_or_default() {
                    let token = Token { increment, end: end.unwrap_or(token.end), ..plain(*token) };
                    made.push((token, word.to_owned()));
                    increment = 0;
                }
            }
            at += count;
        }
        if let Some((last, _)) = tokens.last() {
            for words in &words {
                for (place, (word, _)) in words.iter().enumerate() {
                    made.push((Token { increment: u32::from(place == 0), ..plain(*last) }, (*word).to_owned()));
                }
            }
        }
        made
    }

    /// What the rules make of tokens: each text has positions of its own.
    fn graph(&self, tokens: &[(Token, &str)]) -> Vec<(Token, String)> {
        let mut made = Vec::new();
        // The position before the last token, and the one behind it.
        let (mut last, mut next) = (0, 1);
        let mut at = 0;
        while at < tokens.len() {
            let (token, term) = tokens[at];
            let Some((count, rule)) = self.rules.longest(&tokens[at..]) else {
                made.push((token, term.to_owned()));
                last += token.increment;
                next = last + 1;
                at += 1;
                continue;
            };
            let end = tokens[at + count - 1].0.end;
            let word = Token { end, ..plain(token) };
            let mut paths: Vec<Vec<(Token, &str)>> =
                rule.texts.iter().map(|text| text.iter().map(|term| (word, term.as_str())).collect()).collect();
            if rule.keeps {
                paths.push(tokens[at..at + count].to_vec());
            }
            // All paths begin at one position; the rest of each has further ones.
            let mut place = |(token, term): (Token, &str), position: u32| {
                made.push((Token { increment: position - last, ..token }, term.to_owned()));
                last = position;
            };
            paths.iter().for_each(|path| place(path[0], next));
            for word in paths.iter().flat_map(|path| &path[1..]) {
                next += 1;
                place(*word, next);
            }
            next += 1;
            at += count;
        }
        made
    }
}

/// The place of a token for a word of a rule.
fn plain(token: Token) -> Token {
    Token { keyword: false, skipped: 0, ..token }
}

/// The parts of a text that are not empty; a character behind a backslash separates nothing.
fn split<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    let width = |at: usize| text[at..].chars().next().map_or(0, char::len_utf8);
    while at < text.len() {
        if text[at..].starts_with(separator) {
            parts.push(&text[start..at]);
            at += separator.len();
            start = at;
            continue;
        }
        let is_escape = text[at..].starts_with('\\');
        at += width(at);
        if is_escape {
            at += width(at);
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

fn unescaped(text: &str) -> String {
    let mut chars = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        plain.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    plain
}

impl TokenFilter for Synonyms {
    fn apply(&self, stream: &mut Stream) {
        let begins = |term: &str| self.rules.next.contains_key(term.split('\0').next().unwrap_or_default());
        if !stream.terms().any(|(_, term)| begins(term)) {
            return;
        }
        let tokens: Vec<(Token, &str)> = stream.terms().map(|(token, term)| (*token, term)).collect();
        let made = if self.is_graph { self.graph(&tokens) } else { self.flat(&tokens) };
        stream.set(made);
    }

    fn grows(&self) -> usize {
        self.grows
    }

    fn multiplies(&self) -> bool {
        true
    }

    fn overlaps(&self) -> bool {
        true
    }

    fn reads_ahead(&self) -> bool {
        true
    }

    fn is_plain(&self) -> bool {
        self.is_plain
    }
}
