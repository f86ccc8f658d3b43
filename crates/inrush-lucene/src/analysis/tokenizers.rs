//! The tokenizers.
//!
//! Source: the documentation of the servers' tokenizers, and of Lucene's `CharTokenizer`,
//! `NGramTokenizer`, `EdgeNGramTokenizer` and `PathHierarchyTokenizer`.

use super::classes_of_java::{Class, is_of};
use super::parameters::Parameters;
use super::patterns::Cut;
use super::stream::Stream;
use super::{Tokenizer, WORD_MAX, icu_words, runs};

/// What cuts a text into tokens.
#[derive(Debug)]
pub(super) enum TokenizerPart {
    Plain(Tokenizer),
    /// Runs of characters, cut at a length in units of UTF-16.
    Runs {
        ends: Characters,
        most: usize,
    },
    /// Parts of a number of characters.
    Grams {
        least: usize,
        most: usize,
        of: Option<Characters>,
        only_first: bool,
    },
    Path(Path),
    Pattern(Cut),
    Icu {
        /// Whether a colon may be within a word.
        colon: bool,
    },
}

impl TokenizerPart {
    /// Whether it may make more terms of a text than the text is long.
    pub(super) fn multiplies(&self) -> bool {
        matches!(self, Self::Grams { .. } | Self::Path(_))
    }
}

/// Some characters.
#[derive(Debug, Default)]
pub(super) struct Characters {
    classes: Vec<Class>,
    others: Vec<char>,
}

impl Characters {
    fn has(&self, c: char) -> bool {
        self.classes.iter().any(|class| is_of(*class, c)) || self.others.contains(&c)
    }

    /// Takes the name of a class.
    fn add(&mut self, name: &str) -> Option<()> {
        self.classes.push(match name {
            "letter" => Class::Letter,
            "digit" => Class::Digit,
            "whitespace" => Class::White,
            "punctuation" => Class::Punctuation,
            "symbol" => Class::Symbol,
            _ => return None,
        });
        Some(())
    }
}

/// The parts of a path, from its beginning or to its end.
#[derive(Debug)]
pub(super) struct Path {
    delimiter: char,
    replacement: char,
    skip: usize,
    reverse: bool,
    /// How many positions a part is further than the one before.
    increment: u32,
}

impl TokenizerPart {
    /// The tokenizer of a type. Lucene before 10 has all parts of a path at one position.
    pub(super) fn new(kind: &str, mut parameters: Parameters, lucene: u32) -> Result<Self, String> {
        let of_plain = |plain| Ok(Self::Plain(plain));
        let made = match kind {
            "standard" => plain_length(&mut parameters).and(of_plain(Tokenizer::Standard)),
            "letter" => of_plain(Tokenizer::Letter),
            "whitespace" => plain_length(&mut parameters).and(of_plain(Tokenizer::Whitespace)),
            // It is read in pieces of this many units.
            "keyword" => parameters.number("buffer_size", 256).and(of_plain(Tokenizer::Keyword)),
            "char_group" => char_group(&mut parameters),
            "ngram" => grams(&mut parameters, false),
            "edge_ngram" => grams(&mut parameters, true),
            "path_hierarchy" => path(&mut parameters, lucene),
            "pattern" => Cut::new(&mut parameters).map(Self::Pattern),
            "icu_tokenizer" => Ok(Self::Icu { colon: lucene >= 10 }),
            _ => return Err(format!("{}: the type {kind:?}", parameters.what)),
        }?;
        parameters.finish()?;
        Ok(made)
    }

    /// Whether it takes U+FFFD, which is a symbol, for another character than half a pair of
    /// UTF-16, which is of no kind.
    pub(super) fn tells_halves(&self) -> bool {
        match self {
            Self::Runs { ends: of, .. } | Self::Grams { of: Some(of), .. } => of.has('\u{fffd}'),
            _ => false,
        }
    }

    pub(super) fn cut(&self, stream: &mut Stream) {
        match self {
            Self::Plain(plain) => stream.cut(|text, push| plain.each(text, push)),
            Self::Runs { ends, most } => stream.cut(|text, push| runs(text, *most, |c| !ends.has(c), push)),
            Self::Grams { least, most, of, only_first } => stream.cut(|text, push| match of {
                None => cut_grams(text, 0, (*least, *most), *only_first, push),
                Some(of) => {
                    let mut rest = 0;
                    for part in text.split(|c| !of.has(c)) {
                        cut_grams(part, rest, (*least, *most), *only_first, push);
                        let end = rest + part.len();
                        rest = end + text[end..].chars().next().map_or(0, char::len_utf8);
                    }
                }
            }),
            Self::Path(path) => path.cut(stream),
            Self::Pattern(pattern) => pattern.cut(stream),
            Self::Icu { colon } => {
                let mut is_known = true;
                stream.cut(|text, push| is_known = icu_words::each(text, *colon, push));
                stream.doubts |= !is_known;
            }
        }
    }

    /// Whether there are texts that only a server cuts.
    pub(super) fn may_doubt(&self) -> bool {
        matches!(self, Self::Pattern(_) | Self::Icu { .. })
    }

    /// Whether characters tell that the text is not one of those.
    pub(super) fn knows(&self, text: &str) -> bool {
        !matches!(self, Self::Icu { .. }) || text.is_ascii()
    }

    /// Whether several tokens may be at one place of the text.
    pub(super) fn overlaps(&self) -> bool {
        matches!(self, Self::Grams { .. } | Self::Path(_))
    }

    /// Whether the end of a text of which Lucene leaves the rest unread is another one than that of
    /// the last token.
    pub(super) fn reads_ahead(&self) -> bool {
        !matches!(self, Self::Plain(_) | Self::Runs { .. })
    }
}

/// Other lengths than the default are left to a server.
fn plain_length(parameters: &mut Parameters) -> Result<(), String> {
    if parameters.number("max_token_length", WORD_MAX)? == WORD_MAX {
        Ok(())
    } else {
        Err(parameters.refuse("max_token_length"))
    }
}

fn char_group(parameters: &mut Parameters) -> Result<TokenizerPart, String> {
    let mut ends = Characters::default();
    for name in parameters.list("tokenize_on_chars")?.unwrap_or_default() {
        let mut chars = name.chars();
        let escaped = |c| match c {
            '\\' => Some('\\'),
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            _ => None,
        };
        let found = match (chars.next(), chars.next(), chars.next()) {
            (Some(c), None, None) if c.len_utf16() == 1 => Some(c),
            (Some('\\'), Some(c), None) => escaped(c),
            (Some('\\'), Some('u'), Some(_)) if name.len() == 6 => {
                u32::from_str_radix(&name[2..], 16).ok().and_then(char::from_u32)
            }
            _ => {
                ends.add(name).ok_or_else(|| parameters.refuse("tokenize_on_chars"))?;
                continue;
            }
        };
        ends.others.push(found.ok_or_else(|| parameters.refuse("tokenize_on_chars"))?);
    }
    let most = parameters.number("max_token_length", WORD_MAX)?;
    // A character may have two units.
    if most < 2 {
        return Err(parameters.refuse("max_token_length"));
    }
    Ok(TokenizerPart::Runs { ends, most })
}

fn grams(parameters: &mut Parameters, only_first: bool) -> Result<TokenizerPart, String> {
    let least = parameters.number("min_gram", 1)?;
    let most = parameters.number("max_gram", 2)?;
    if least == 0 || least > most {
        return Err(parameters.refuse("min_gram"));
    }
    let custom = parameters.text("custom_token_chars")?;
    let mut of = Characters::default();
    let names = parameters.list("token_chars")?.unwrap_or_default();
    for name in &names {
        if *name == "custom" {
            let custom = custom.ok_or_else(|| parameters.refuse("custom_token_chars"))?;
            // A character of two units is none of them.
            of.others.extend(custom.chars().filter(|c| c.len_utf16() == 1));
        } else {
            of.add(name).ok_or_else(|| parameters.refuse("token_chars"))?;
        }
    }
    let of = (!names.is_empty()).then_some(of);
    Ok(TokenizerPart::Grams { least, most, of, only_first })
}

fn path(parameters: &mut Parameters, lucene: u32) -> Result<TokenizerPart, String> {
    let one = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| chars.as_str().is_empty() && c.len_utf16() == 1)
    };
    let delimiter = match parameters.text("delimiter")? {
        None => '/',
        Some(text) => one(text).ok_or_else(|| parameters.refuse("delimiter"))?,
    };
    let replacement = match parameters.text("replacement")? {
        None => delimiter,
        Some(text) => one(text).ok_or_else(|| parameters.refuse("replacement"))?,
    };
    let skip = parameters.number("skip", 0)?;
    parameters.number("buffer_size", 1024)?;
    let reverse = parameters.flag("reverse", false)?;
    Ok(TokenizerPart::Path(Path { delimiter, replacement, skip, reverse, increment: u32::from(lucene >= 10) }))
}

/// All parts of a text with `least` to `most` characters, or those at its beginning. The text is at
/// `offset`.
fn cut_grams(
    text: &str,
    offset: usize,
    (least, most): (usize, usize),
    only_first: bool,
    push: &mut dyn FnMut(std::ops::Range<usize>),
) {
    for (start, _) in text.char_indices().take(if only_first { 1 } else { usize::MAX }) {
        let ends = text[start..].char_indices().map(|(at, c)| start + at + c.len_utf8());
        for end in ends.take(most).skip(least - 1) {
            push(offset + start..offset + end);
        }
    }
}

impl Path {
    fn cut(&self, stream: &mut Stream) {
        let text = stream.text().to_owned();
        let replaced = if self.delimiter == self.replacement {
            text.clone()
        } else {
            text.replace(self.delimiter, self.replacement.encode_utf8(&mut [0; 4]))
        };
        // The same place in both texts.
        let grown = self.replacement.len_utf8() as isize - self.delimiter.len_utf8() as isize;
        let delimiters: Vec<usize> = text.match_indices(self.delimiter).map(|(at, _)| at).collect();
        let new = |place: usize| {
            let before = delimiters.partition_point(|at| *at < place);
            place.saturating_add_signed(grown * before as isize)
        };
        let mut first = true;
        for part in if self.reverse { self.ends(&text, &delimiters) } else { self.beginnings(&text, &delimiters) } {
            let increment = if first { 1 } else { self.increment };
            first = false;
            stream.push_term(&replaced[new(part.start)..new(part.end)], part, increment);
        }
    }

    /// From the beginning to each delimiter; a delimiter at the beginning is a part of the first.
    fn beginnings(&self, text: &str, delimiters: &[usize]) -> Vec<std::ops::Range<usize>> {
        if text.is_empty() {
            return Vec::new();
        }
        let first = usize::from(delimiters.first() == Some(&0));
        let mut ends: Vec<usize> = delimiters[first..].to_vec();
        ends.push(text.len());
        // Of a text that ends with a delimiter the last part has it.
        let start = if self.skip == 0 { 0 } else { *ends.get(self.skip - 1).unwrap_or(&text.len()) };
        ends.into_iter().skip(self.skip).map(|end| start..end).collect()
    }

    /// From each delimiter to the end.
    fn ends(&self, text: &str, delimiters: &[usize]) -> Vec<std::ops::Range<usize>> {
        let width = self.delimiter.len_utf8();
        let mut starts = vec![0];
        starts.extend(delimiters.iter().map(|at| at + width));
        if starts.last().is_some_and(|last| *last < text.len()) {
            starts.push(text.len());
        }
        let Some(last) = (starts.len() - 1).checked_sub(self.skip) else { return Vec::new() };
        let end = starts[last];
        starts.into_iter().take(last).map(|start| start..end).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::parameters::Parameters;
    use super::super::stream::Stream;
    use super::TokenizerPart;

    fn made(definition: &Value, lucene: u32) -> Result<TokenizerPart, String> {
        let kind = definition["type"].as_str().unwrap();
        TokenizerPart::new(kind, Parameters::of("tokenizer", "own", definition.as_object()), lucene)
    }

    fn cut(definition: Value, text: &str) -> Vec<String> {
        let mut stream = Stream::default();
        stream.start(text);
        made(&definition, 10).unwrap().cut(&mut stream);
        stream.terms().map(|(token, term)| format!("{term} {}-{}", token.start, token.end)).collect()
    }

    #[test]
    fn parts_of_a_path() {
        let path = |more: Value, text: &str| {
            let mut definition = json!({"type": "path_hierarchy"});
            definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            cut(definition, text)
        };
        assert_eq!(path(json!({}), "/a/b/"), ["/a 0-2", "/a/b 0-4", "/a/b/ 0-5"]);
        assert_eq!(path(json!({"skip": 1, "replacement": "ß"}), "a//b"), ["ß 1-2", "ßßb 1-4"]);
        assert_eq!(path(json!({"reverse": true}), "/a/b/"), ["/a/b/ 0-5", "a/b/ 1-5", "b/ 3-5"]);
        let domain = json!({"reverse": true, "delimiter": ".", "skip": "1"});
        assert_eq!(path(domain, "www.site.com"), ["www.site. 0-9", "site. 4-9"]);
        assert!(path(json!({"skip": 2}), "a/b").is_empty() && path(json!({}), "").is_empty());
        let mut stream = Stream::default();
        stream.start("a/b");
        made(&json!({"type": "path_hierarchy"}), 9).unwrap().cut(&mut stream);
        assert_eq!(stream.terms().map(|(token, _)| token.increment).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn parts_of_texts() {
        assert_eq!(cut(json!({"type": "ngram"}), "aé b")[..4], ["a 0-1", "aé 0-3", "é 1-3", "é  1-4"]);
        let letters = json!({"type": "ngram", "min_gram": 2, "max_gram": "3", "token_chars": ["letter", "digit"]});
        assert_eq!(cut(letters, "ab1 c 𝒳d"), ["ab 0-2", "ab1 0-3", "b1 1-3", "𝒳d 6-11"]);
        let custom = json!({"type": "edge_ngram", "token_chars": "custom,letter", "custom_token_chars": "-"});
        assert_eq!(cut(custom, "a-b+ cd"), ["a 0-1", "a- 0-2", "c 5-6", "cd 5-7"]);
        let group = json!({"type": "char_group", "tokenize_on_chars": ["whitespace", "-", "\\u0062", "\\n"], "max_token_length": 2});
        assert_eq!(cut(group, "acd-e bfé"), ["ac 0-2", "d 2-3", "e 4-5", "fé 7-10"]);
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (definition, expected) in [
            (
                json!({"type": "standard", "max_token_length": 5}),
                "tokenizer \"own\": the parameter \"max_token_length\" with 5",
            ),
            (json!({"type": "thai"}), "tokenizer \"own\": the type \"thai\""),
            (
                json!({"type": "icu_tokenizer", "rule_files": "Latn:x.rbbi"}),
                "tokenizer \"own\": the parameter \"rule_files\"",
            ),
            (
                json!({"type": "ngram", "token_chars": ["uppercase_letter"]}),
                "tokenizer \"own\": the parameter \"token_chars\" with [\"uppercase_letter\"]",
            ),
            (json!({"type": "char_group", "x": 1}), "tokenizer \"own\": the parameter \"x\""),
            (
                json!({"type": "path_hierarchy", "delimiter": "::"}),
                "tokenizer \"own\": the parameter \"delimiter\" with \"::\"",
            ),
        ] {
            assert_eq!(made(&definition, 10).unwrap_err(), expected);
        }
    }
}
