//! The filters of fields of the type `search_as_you_type`, which have no names in settings.
//!
//! Source: the documentation of Lucene's `FixedShingleFilter`, and the terms that OpenSearch makes:
//! a shingle begins at each token and has a number of positions, of which those without a token
//! are empty.

use super::TokenFilter;
use super::grams::EdgeGrams;
use crate::analysis::stream::{Stream, Token};

/// The most characters of a prefix. The whole shingle is one, too.
const LONGEST_PREFIX: usize = 20;

/// Joins as many tokens as it has positions; tokens that share a position are not known here.
struct FixedShingles {
    size: usize,
    /// Whether there are shingles of the last tokens, which have empty positions at their end.
    to_end: bool,
}

/// The filters for shingles of a size, and for their prefixes.
pub(in crate::analysis) fn as_you_type(size: usize, prefixes: bool) -> Vec<Box<dyn TokenFilter>> {
    let mut filters: Vec<Box<dyn TokenFilter>> = vec![Box::new(FixedShingles { size, to_end: prefixes })];
    if prefixes {
        filters.push(Box::new(EdgeGrams::and_whole(LONGEST_PREFIX)));
    }
    filters
}

impl FixedShingles {
    /// The shingle that begins with the first token; none if there are too few.
    fn shingle(&self, tokens: &[(Token, String)], behind: u32) -> Option<(Token, String)> {
        let (first, rest) = tokens.split_first()?;
        let (mut token, mut term) = first.clone();
        let mut positions = 1;
        let mut rest = rest.iter();
        while positions < self.size {
            let left = self.size - positions;
            let Some((next, next_term)) = rest.next() else {
                if (behind as usize) < left {
                    return None;
                }
                term.push_str(&" ".repeat(left));
                break;
            };
            let increment = next.increment as usize;
            if increment > left {
                term.push_str(&" ".repeat(left));
                break;
            }
            term.push_str(&" ".repeat(increment));
            term.push_str(next_term);
            token.end = next.end;
            positions += increment;
        }
        Some((token, term))
    }
}

impl TokenFilter for FixedShingles {
    fn apply(&self, stream: &mut Stream) {
        if self.to_end {
            stream.end_increment = self.size as u32 - 1;
        }
        let tokens: Vec<(Token, String)> = stream.terms().map(|(token, term)| (*token, term.to_owned())).collect();
        let shingles = (0..tokens.len()).filter_map(|at| self.shingle(&tokens[at..], stream.end_increment)).collect();
        stream.set(shingles);
    }

    fn multiplies(&self) -> bool {
        true
    }

    fn grows(&self) -> usize {
        2 * self.size
    }

    fn reads_ahead(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::as_you_type;
    use crate::analysis::Analysis;
    use crate::analysis::stream::Stream;

    fn made(text: &str, size: usize, prefixes: bool) -> Vec<String> {
        let mut stream = Stream::default();
        stream.start(text);
        stream.cut(|text, push| {
            let mut at = 0;
            for word in text.split_inclusive(' ') {
                push(at..at + word.trim_end().len());
                at += word.len();
            }
        });
        stream.retain(|term| term != "of");
        as_you_type(size, prefixes).iter().for_each(|filter| filter.apply(&mut stream));
        let shown = |(token, term): (&crate::analysis::stream::Token, &str)| {
            format!("{}{term}", "+".repeat(token.increment as usize))
        };
        stream.terms().map(shown).collect()
    }

    #[test]
    fn a_shingle_has_its_positions() {
        assert_eq!(made("a b c", 2, false), ["+a b", "+b c"]);
        assert_eq!(made("a b", 3, false), [""; 0]);
        assert_eq!(made("a of b c", 2, false), ["+a ", "++b c"]);
        assert_eq!(made("a of b c", 3, false), ["+a  b"]);
        assert_eq!(made("a of", 2, false), ["+a "]);
        assert_eq!(made("ab c", 2, true), ["+a", "ab", "ab ", "ab c", "+c", "c "]);
        assert_eq!(made("é", 3, true), ["+é", "é ", "é  "]);
        let long = "x".repeat(25);
        assert_eq!(made(&long, 2, true).len(), 21);
    }

    #[test]
    fn tokens_at_one_position_are_not_known() {
        let settings = serde_json::json!({"index.analysis.analyzer.own.tokenizer": "standard",
            "index.analysis.analyzer.own.filter": ["keyword_repeat"]});
        let analysis = Analysis::of_settings(settings.as_object().unwrap(), [10, 4, 0]);
        assert!(analysis.as_you_type("own", 2, false).is_err());
        assert!(analysis.as_you_type("english", 2, false).is_ok());
        assert_ne!(analysis.as_you_type("simple", 2, false), analysis.as_you_type("simple", 2, true));
    }
}
