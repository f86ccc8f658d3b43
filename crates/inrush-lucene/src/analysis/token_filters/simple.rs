//! Filters that count, cut and turn.
//!
//! Source: the documentation of Lucene's `LengthFilter`, `TruncateTokenFilter`,
//! `LimitTokenCountFilter`, `RemoveDuplicatesTokenFilter`, `ReverseStringFilter`,
//! `ApostropheFilter` and `KeywordRepeatFilter`, and of the servers' filter `unique`.

use super::TokenFilter;
use crate::analysis::parameters::Parameters;
use crate::analysis::stream::{Stream, Token};

/// Leaves out tokens by their length in units of UTF-16.
pub(super) struct Length {
    least: usize,
    most: usize,
}

impl Length {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let (least, most) = (p.number("min", 0)?, p.number("max", i32::MAX as usize)?);
        if least > most {
            return Err(p.refuse("min"));
        }
        Ok(Self { least, most })
    }
}

impl TokenFilter for Length {
    fn apply(&self, stream: &mut Stream) {
        stream.retain(|term| (self.least..=self.most).contains(&units(term)));
    }
}

fn units(term: &str) -> usize {
    if term.is_ascii() { term.len() } else { term.encode_utf16().count() }
}

/// Cuts terms at a length in units of UTF-16.
pub(super) struct Truncate(usize);

impl Truncate {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        // The filter that the servers have by themselves cuts at ten; another one says where.
        let most = p.number("length", if p.is_defined() { 0 } else { 10 })?;
        if most == 0 { Err(p.refuse("length")) } else { Ok(Self(most)) }
    }
}

impl TokenFilter for Truncate {
    fn apply(&self, stream: &mut Stream) {
        // Halves that are not the same are different terms, as long as nothing else is written so.
        let tells_halves = stream.halves || !stream.text().contains(Stream::HALVES);
        let mut cuts_pairs = false;
        stream.map(|token, term, out| {
            if token.keyword || units(term) <= self.0 {
                return false;
            }
            let mut left = self.0;
            for c in term.chars() {
                match left.checked_sub(c.len_utf16()) {
                    Some(rest) => left = rest,
                    None if left > 0 => {
                        let high = (u32::from(c) - 0x10000) >> 10;
                        cuts_pairs = true;
                        out.push(if tells_halves { Stream::half(high) } else { '\u{fffd}' });
                        break;
                    }
                    None => break,
                }
                out.push(c);
            }
            true
        });
        stream.halves |= cuts_pairs && tells_halves;
    }
}

/// Ends a text behind a number of tokens.
pub(super) struct Limit {
    most: usize,
    consumes: bool,
}

impl Limit {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let (most, consumes) = (p.number("max_token_count", 1)?, p.flag("consume_all_tokens", false)?);
        if most == 0 { Err(p.refuse("max_token_count")) } else { Ok(Self { most, consumes }) }
    }
}

impl TokenFilter for Limit {
    fn apply(&self, stream: &mut Stream) {
        stream.limit(self.most, self.consumes);
    }

    fn ends_early(&self) -> bool {
        !self.consumes
    }
}

/// Leaves out terms that were there before, with their positions.
pub(super) struct Unique {
    pub(super) at_one_position: bool,
}

impl TokenFilter for Unique {
    fn apply(&self, stream: &mut Stream) {
        stream.unique(self.at_one_position);
    }
}

/// Turns terms round, character by character.
pub(super) struct Reverse;

impl TokenFilter for Reverse {
    fn apply(&self, stream: &mut Stream) {
        stream.map(|_, term, out| {
            out.extend(term.chars().rev());
            true
        });
    }
}

/// Cuts terms at the first apostrophe.
pub(super) struct Apostrophe;

impl TokenFilter for Apostrophe {
    fn apply(&self, stream: &mut Stream) {
        stream.shorten(|_, term| 0..term.find(['\'', '’']).unwrap_or(term.len()));
    }
}

/// Has each token twice: the first one is left as it is by stemmers.
pub(super) struct KeywordRepeat;

impl TokenFilter for KeywordRepeat {
    fn apply(&self, stream: &mut Stream) {
        stream.replace(|token, _, made| {
            made.push(Token { keyword: true, ..token });
            made.push(Token { keyword: false, increment: 0, ..token });
        });
    }

    fn overlaps(&self) -> bool {
        true
    }
}
