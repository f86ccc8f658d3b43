//! `ngram` and `edge_ngram`.
//!
//! Source: the documentation of Lucene's `NGramTokenFilter` and `EdgeNGramTokenFilter`: parts of a
//! token are at its position, in the order of where they begin and how long they are, and count
//! code points. A token that is too short leaves a position for the next one.

use super::TokenFilter;
use crate::analysis::parameters::Parameters;
use crate::analysis::stream::{Made, Stream, Token};

/// The sizes of the parts.
struct Sizes {
    least: usize,
    most: usize,
    keeps: bool,
}

impl Sizes {
    fn new(p: &mut Parameters, most: usize) -> Result<Self, String> {
        let (least, most) = (p.number("min_gram", 1)?, p.number("max_gram", most)?);
        if least == 0 || least > most {
            return Err(p.refuse("min_gram"));
        }
        Ok(Self { least, most, keeps: p.flag("preserve_original", false)? })
    }

    fn apply(&self, stream: &mut Stream, only_first: bool) {
        // Positions of tokens that were too short.
        let mut waiting = 0;
        stream.replace(|token, term, made| {
            let mut next = Next { increment: waiting + token.increment, token };
            let length = term.chars().count();
            if self.keeps && length < self.least {
                next.push(0..term.len(), made);
            }
            for (start, _) in term.char_indices().take(if only_first { 1 } else { usize::MAX }) {
                let ends = term[start..].char_indices().map(|(at, c)| start + at + c.len_utf8());
                for end in ends.take(self.most).skip(self.least - 1) {
                    next.push(start..end, made);
                }
            }
            if self.keeps && length > self.most {
                next.push(0..term.len(), made);
            }
            waiting = next.increment;
        });
        // What filters before have left out there is forgotten.
        stream.end_increment = waiting;
    }
}

/// What the next part gets of the token.
struct Next {
    token: Token,
    increment: u32,
}

impl Next {
    fn push(&mut self, part: std::ops::Range<usize>, made: &mut Made) {
        let increment = std::mem::take(&mut self.increment);
        made.push_part(Token { increment, skipped: 0, ..self.token }, part);
    }
}

pub(super) struct Grams(Sizes);

impl Grams {
    pub(super) fn new(p: &mut Parameters, most: usize) -> Result<Self, String> {
        Sizes::new(p, most).map(Self)
    }
}

impl TokenFilter for Grams {
    fn multiplies(&self) -> bool {
        true
    }

    fn apply(&self, stream: &mut Stream) {
        self.0.apply(stream, false);
    }

    fn overlaps(&self) -> bool {
        true
    }
}

pub(super) struct EdgeGrams {
    sizes: Sizes,
    back: bool,
}

impl EdgeGrams {
    /// The first `most` parts that begin with the first character, and the whole token.
    pub(super) fn and_whole(most: usize) -> Self {
        Self { sizes: Sizes { least: 1, most, keeps: true }, back: false }
    }

    pub(super) fn new(p: &mut Parameters, most: usize) -> Result<Self, String> {
        let sizes = Sizes::new(p, most)?;
        let back = match p.text("side")? {
            None | Some("front") => false,
            Some("back") => true,
            Some(_) => return Err(p.refuse("side")),
        };
        Ok(Self { sizes, back })
    }
}

impl TokenFilter for EdgeGrams {
    fn multiplies(&self) -> bool {
        true
    }

    fn apply(&self, stream: &mut Stream) {
        if self.back {
            super::simple::Reverse.apply(stream);
        }
        self.sizes.apply(stream, true);
        if self.back {
            super::simple::Reverse.apply(stream);
        }
    }

    fn overlaps(&self) -> bool {
        true
    }
}
