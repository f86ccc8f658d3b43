//! `shingle`.
//!
//! Source: the documentation of Lucene's `ShingleFilter`: a window moves over the tokens, of
//! whichever positions, and fillers stand at positions without one.

use super::TokenFilter;
use crate::analysis::parameters::Parameters;
use crate::analysis::stream::{Stream, Token};

/// Joins tokens that follow each other.
pub(super) struct Shingles {
    least: usize,
    most: usize,
    unigrams: bool,
    separator: String,
    filler: String,
}

impl Shingles {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let (least, most) = (p.number("min_shingle_size", 2)?, p.number("max_shingle_size", 2)?);
        if least < 2 || least > most {
            return Err(p.refuse("min_shingle_size"));
        }
        let unigrams = p.flag("output_unigrams", true)?;
        if p.flag("output_unigrams_if_no_shingles", false)? && !unigrams {
            return Err(p.refuse("output_unigrams_if_no_shingles"));
        }
        let filler = p.text("filler_token")?.unwrap_or("_").to_owned();
        let separator = p.text("token_separator")?.unwrap_or(" ").to_owned();
        Ok(Self { least, most, unigrams, separator, filler })
    }
}

/// A token of a window, or what stands at a position without one.
struct Item {
    token: Token,
    term: String,
    is_filler: bool,
}

impl Shingles {
    /// The tokens, and fillers before and behind them; a shingle has a token in any case, so there
    /// are no more fillers than it has room for.
    fn items(&self, stream: &Stream) -> Vec<Item> {
        let mut items = Vec::new();
        let fill = |gaps: u32, token: Token, items: &mut Vec<Item>| {
            let filler = Token { end: token.start, ..token };
            let count = (gaps as usize).min(self.most - 1);
            items.extend((0..count).map(|_| Item { token: filler, term: self.filler.clone(), is_filler: true }));
        };
        let mut last = None;
        for (token, term) in stream.terms() {
            fill(token.increment.saturating_sub(1), *token, &mut items);
            items.push(Item { token: *token, term: term.to_owned(), is_filler: false });
            last = Some(*token);
        }
        if let Some(last) = last {
            let end = Token { start: stream.end, end: stream.end, ..last };
            fill(stream.end_increment, end, &mut items);
        }
        items
    }
}

impl TokenFilter for Shingles {
    fn apply(&self, stream: &mut Stream) {
        let items = self.items(stream);
        let mut made = Vec::new();
        for (at, first) in items.iter().enumerate() {
            let window = &items[at..items.len().min(at + self.most)];
            let mut increment = 1;
            let mut joined = String::new();
            let mut is_filler = true;
            for (size, item) in (1..).zip(window) {
                if size > 1 {
                    joined.push_str(&self.separator);
                }
                joined.push_str(&item.term);
                is_filler &= item.is_filler;
                if !is_filler && (size >= self.least || size == 1 && self.unigrams) {
                    let token = Token { increment, end: item.token.end, ..first.token };
                    increment = 0;
                    made.push((token, joined.clone()));
                }
            }
        }
        stream.set(made);
    }

    fn multiplies(&self) -> bool {
        true
    }

    fn grows(&self) -> usize {
        self.most * (1 + self.separator.len() + self.filler.len())
    }

    fn overlaps(&self) -> bool {
        true
    }

    fn reads_ahead(&self) -> bool {
        true
    }
}
