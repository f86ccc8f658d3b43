//! `word_delimiter` and `word_delimiter_graph`.
//!
//! Source: the documentation of Lucene's `WordDelimiterFilter`, `WordDelimiterGraphFilter` and
//! `WordDelimiterIterator`. They count units of UTF-16; between the halves of a pair is no break.

mod types;

use std::collections::HashSet;
use std::ops::Range;

use super::TokenFilter;
use crate::analysis::parameters::Parameters;
use crate::analysis::stream::{Made, Stream, Token};
use types::{ALPHA, DELIMITER, DIGIT, Types, UPPER};

/// What both filters have.
struct Options {
    types: Types,
    word_parts: bool,
    number_parts: bool,
    catenate_words: bool,
    catenate_numbers: bool,
    catenate_all: bool,
    keeps: bool,
    splits_case: bool,
    splits_numbers: bool,
    stems: bool,
    protected: HashSet<String>,
}

impl Options {
    fn new(p: &mut Parameters) -> Result<Self, String> {
        Ok(Self {
            types: Types::new(p)?,
            word_parts: p.flag("generate_word_parts", true)?,
            number_parts: p.flag("generate_number_parts", true)?,
            catenate_words: p.flag("catenate_words", false)?,
            catenate_numbers: p.flag("catenate_numbers", false)?,
            catenate_all: p.flag("catenate_all", false)?,
            keeps: p.flag("preserve_original", false)?,
            splits_case: p.flag("split_on_case_change", true)?,
            splits_numbers: p.flag("split_on_numerics", true)?,
            stems: p.flag("stem_english_possessive", true)?,
            protected: p.list("protected_words")?.unwrap_or_default().into_iter().map(str::to_owned).collect(),
        })
    }

    fn makes_part(&self, kind: u8) -> bool {
        self.word_parts && kind & ALPHA != 0 || self.number_parts && kind & DIGIT != 0
    }

    fn catenates(&self, kind: u8) -> bool {
        self.catenate_words && kind & ALPHA != 0 || self.catenate_numbers && kind & DIGIT != 0
    }

    /// The parts of a term. `None` if it is left as it is.
    fn parts<'a>(&'a self, term: &'a str) -> Option<Parts<'a>> {
        let parts = Parts::new(self, term);
        let is_whole = parts.current == Some(0..parts.units.len());
        (!is_whole && !self.protected.contains(term)).then_some(parts)
    }
}

/// Goes through the parts of a term.
struct Parts<'a> {
    options: &'a Options,
    units: Vec<u16>,
    /// The term without delimiters at its ends.
    bounds: Range<usize>,
    /// Nothing behind the last part.
    current: Option<Range<usize>>,
    ends_with_possessive: bool,
    skips_possessive: bool,
}

impl<'a> Parts<'a> {
    fn new(options: &'a Options, term: &str) -> Self {
        let units: Vec<u16> = term.encode_utf16().collect();
        let is_delimiter = |unit: &u16| options.types.of(*unit) & DELIMITER != 0;
        let start = units.iter().take_while(|unit| is_delimiter(unit)).count();
        let end = units.len() - units[start..].iter().rev().take_while(|unit| is_delimiter(unit)).count();
        let mut parts = Self {
            options,
            units,
            bounds: start..end,
            current: None,
            ends_with_possessive: false,
            skips_possessive: false,
        };
        parts.ends_with_possessive = parts.is_possessive(end);
        parts.find(start);
        parts
    }

    fn kind_at(&self, at: usize) -> u8 {
        self.options.types.of(self.units[at])
    }

    /// The kind of the part, by its first character.
    fn kind(&self) -> u8 {
        let kind = self.current.as_ref().map_or(0, |part| self.kind_at(part.start));
        // Small and capital letters are letters.
        if kind & ALPHA == kind && kind != 0 { ALPHA } else { kind }
    }

    /// Whether the term is this part with delimiters around it.
    fn is_single(&self) -> bool {
        let end = self.bounds.end - if self.ends_with_possessive { 2 } else { 0 };
        self.current == Some(self.bounds.start..end)
    }

    fn next(&mut self) {
        if let Some(part) = self.current.take() {
            let skipped = if std::mem::take(&mut self.skips_possessive) { 2 } else { 0 };
            self.find(part.end + skipped);
        }
    }

    fn find(&mut self, from: usize) {
        let mut start = from;
        while start < self.bounds.end && self.kind_at(start) & DELIMITER != 0 {
            start += 1;
        }
        if start >= self.bounds.end {
            return;
        }
        let mut before = self.kind_at(start);
        let mut end = start + 1;
        while end < self.bounds.end {
            let kind = self.kind_at(end);
            if self.breaks(before, kind) {
                break;
            }
            before = kind;
            end += 1;
        }
        self.skips_possessive = end + 1 < self.bounds.end && self.is_possessive(end + 2);
        self.current = Some(start..end);
    }

    fn breaks(&self, before: u8, kind: u8) -> bool {
        let is = |kind: u8, of: u8| kind & of != 0;
        if is(kind, before) || !self.options.splits_case && is(before, ALPHA) && is(kind, ALPHA) {
            return false;
        }
        if is(before, UPPER) && is(kind, ALPHA) {
            return false;
        }
        let is_number = is(before, ALPHA) && is(kind, DIGIT) || is(before, DIGIT) && is(kind, ALPHA);
        self.options.splits_numbers || !is_number
    }

    /// Whether `'s` ends there, behind a letter and before a delimiter.
    fn is_possessive(&self, end: usize) -> bool {
        self.options.stems
            && end > 2
            && self.units[end - 2] == u16::from(b'\'')
            && matches!(self.units[end - 1], 0x73 | 0x53)
            && self.kind_at(end - 3) & ALPHA != 0
            && (end == self.bounds.end || self.kind_at(end) & DELIMITER != 0)
    }
}

/// Parts that are joined.
#[derive(Clone, Default)]
struct Joined {
    units: Vec<u16>,
    place: Range<usize>,
    kind: u8,
    count: usize,
    /// The position of its first part.
    position: u32,
}

impl Joined {
    fn add(&mut self, parts: &Parts, part: &Range<usize>) {
        if self.count == 0 {
            self.place.start = part.start;
        }
        self.units.extend_from_slice(&parts.units[part.clone()]);
        self.place.end = part.end;
        self.count += 1;
    }

    fn text(&self) -> String {
        String::from_utf16_lossy(&self.units)
    }
}

/// A token that is made: its place in the term, its text, and a position or an increment.
struct Piece {
    place: Range<usize>,
    text: String,
    position: u32,
}

/// The text of a part.
fn text_of(parts: &Parts, part: &Range<usize>) -> String {
    String::from_utf16_lossy(&parts.units[part.clone()])
}

/// Whether places in a term are places in the text.
fn has_own_places(token: &Token, parts: &Parts) -> bool {
    (token.end.wrapping_sub(token.start)) as usize == parts.units.len()
}

/// `word_delimiter_graph`.
pub(super) struct Graph {
    options: Options,
    leaves_keywords: bool,
    adjusts_offsets: bool,
}

impl Graph {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        Ok(Self {
            options: Options::new(p)?,
            leaves_keywords: p.flag("ignore_keywords", false)?,
            adjusts_offsets: p.flag("adjust_offsets", true)?,
        })
    }

    /// What is made of a term, in order; each with its position.
    fn pieces(&self, mut parts: Parts) -> Vec<Piece> {
        let options = &self.options;
        let mut pieces = Vec::new();
        let mut position = 0;
        if parts.is_single()
            && let Some(part) = &parts.current
        {
            pieces.push(Piece { place: part.clone(), text: text_of(&parts, part), position });
        } else {
            let (mut joined, mut all, mut last_count) = (Joined::default(), Joined::default(), 0);
            let flush = |joined: &mut Joined, position: &mut u32, last_count: &mut usize, pieces: &mut Vec<Piece>| {
                let done = std::mem::take(joined);
                *position += u32::from(*position == done.position);
                *last_count = done.count;
                if done.count != 1 || !options.makes_part(done.kind) {
                    pieces.push(Piece { place: done.place.clone(), text: done.text(), position: done.position });
                }
            };
            while let Some(part) = parts.current.clone() {
                let kind = parts.kind();
                if joined.count > 0 && joined.kind & kind == 0 {
                    flush(&mut joined, &mut position, &mut last_count, &mut pieces);
                }
                if options.catenates(kind) {
                    if joined.count == 0 {
                        (joined.kind, joined.position) = (kind, position);
                    }
                    joined.add(&parts, &part);
                }
                if options.catenate_all {
                    if all.count == 0 {
                        (all.kind, all.position) = (kind, position);
                    }
                    all.add(&parts, &part);
                }
                if options.makes_part(kind) {
                    pieces.push(Piece { place: part.clone(), text: text_of(&parts, &part), position });
                    position += 1;
                }
                parts.next();
            }
            if joined.count > 0 {
                flush(&mut joined, &mut position, &mut last_count, &mut pieces);
            }
            if all.count > last_count {
                pieces.push(Piece { place: all.place.clone(), text: all.text(), position: all.position });
            }
        }
        pieces.sort_by_key(|piece| (piece.place.start, std::cmp::Reverse(piece.place.end)));
        if options.keeps {
            let whole = 0..parts.units.len();
            pieces.insert(0, Piece { text: text_of(&parts, &whole), place: whole, position: 0 });
        }
        pieces
    }
}

impl TokenFilter for Graph {
    fn apply(&self, stream: &mut Stream) {
        stream.doubts |= stream.halves;
        stream.place_in_units();
        let (mut waiting, mut last_start) = (0, 0);
        stream.replace(|token, term, made| {
            if self.leaves_keywords && token.keyword {
                return made.push(token);
            }
            waiting += token.increment;
            let Some(parts) = self.options.parts(term) else {
                return made.push(Token { increment: std::mem::take(&mut waiting), ..token });
            };
            if parts.current.is_none() {
                if self.options.keeps {
                    waiting = 0;
                    made.push(token);
                }
                return;
            }
            let adjusts = self.adjusts_offsets && has_own_places(&token, &parts);
            let mut position = 0;
            for piece in self.pieces(parts) {
                let (start, end) = if adjusts {
                    (token.start + piece.place.start as u32, token.start + piece.place.end as u32)
                } else {
                    (token.start, token.end)
                };
                let (start, end) = (start.max(last_start), end.max(last_start));
                last_start = start;
                let increment = (std::mem::take(&mut waiting) + piece.position).wrapping_sub(position);
                position = piece.position;
                made.push_own(Token { start, end, increment, ..token }, |own| own.push_str(&piece.text));
            }
        });
    }

    fn overlaps(&self) -> bool {
        true
    }

    fn splits(&self) -> bool {
        true
    }

    /// Halves of pairs are not told from other characters here.
    fn may_doubt(&self) -> bool {
        true
    }
}

/// `word_delimiter`.
pub(super) struct Delimiter {
    options: Options,
}

impl Delimiter {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        Ok(Self { options: Options::new(p)? })
    }
}

/// What `word_delimiter` knows from one token to the next.
struct State {
    waiting: u32,
    /// Whether it has made no token yet.
    is_first: bool,
    /// Whether it has made one of this run of parts of a kind.
    has_token: bool,
    /// Whether one follows the original.
    follows: bool,
}

impl State {
    fn increment(&mut self, is_joined: bool) -> u32 {
        let waiting = self.waiting;
        if self.has_token {
            self.waiting = 0;
            return if is_joined { 0 } else { waiting.max(1) };
        }
        self.has_token = true;
        if !self.follows {
            self.follows = true;
            return 0;
        }
        self.waiting = 0;
        waiting.max(1)
    }
}

impl Delimiter {
    fn split(&self, token: Token, term: &str, state: &mut State, made: &mut Made) {
        let options = &self.options;
        state.waiting += token.increment;
        let Some(mut parts) = options.parts(term) else {
            state.is_first = false;
            return made.push(Token { increment: std::mem::take(&mut state.waiting), ..token });
        };
        if parts.current.is_none() && !options.keeps {
            if token.increment == 1 && !state.is_first {
                state.waiting -= 1;
            }
            return;
        }
        (state.has_token, state.follows) = (false, !options.keeps);
        if options.keeps {
            made.push(Token { increment: std::mem::take(&mut state.waiting), ..token });
            state.is_first = false;
        }
        let own_places = has_own_places(&token, &parts);
        // What is made is no keyword, even of one.
        let token = Token { keyword: false, ..token };
        let places = |part: &Range<usize>| {
            let (start, end) = (token.start + part.start as u32, token.start + part.end as u32);
            if own_places { (start, end) } else { (token.start, token.end) }
        };
        if parts.is_single()
            && let Some(part) = parts.current.clone()
        {
            let (mut start, end) = places(&part);
            let further = token.start + part.start as u32;
            if !own_places && further <= token.end {
                start = further;
            }
            let increment = state.increment(false);
            state.is_first = false;
            return made
                .push_own(Token { start, end, increment, ..token }, |own| own.push_str(&text_of(&parts, &part)));
        }
        let mut pieces = self.pieces(&mut parts, state);
        pieces.sort_by_key(|piece| (places(&piece.place).0, std::cmp::Reverse(piece.position)));
        for piece in pieces {
            let (start, end) = places(&piece.place);
            let increment = if state.is_first { piece.position.max(1) } else { piece.position };
            state.is_first = false;
            made.push_own(Token { start, end, increment, ..token }, |own| own.push_str(&piece.text));
        }
    }

    /// What is made of the parts of a term, each with its increment.
    fn pieces(&self, parts: &mut Parts, state: &mut State) -> Vec<Piece> {
        let options = &self.options;
        let mut pieces = Vec::new();
        let (mut joined, mut all, mut last_count) = (Joined::default(), Joined::default(), 0);
        let flush = |joined: &mut Joined, state: &mut State, pieces: &mut Vec<Piece>| {
            let done = std::mem::take(joined);
            if done.count != 1 || !options.makes_part(done.kind) {
                let position = state.increment(true);
                state.waiting = 0;
                pieces.push(Piece { place: done.place.clone(), text: done.text(), position });
            }
            done.count
        };
        while let Some(part) = parts.current.clone() {
            let kind = parts.kind();
            if joined.count > 0 && joined.kind & kind == 0 {
                last_count = flush(&mut joined, state, &mut pieces);
                state.has_token = false;
            }
            if options.catenates(kind) {
                if joined.count == 0 {
                    joined.kind = kind;
                }
                joined.add(parts, &part);
            }
            if options.catenate_all {
                all.add(parts, &part);
            }
            if options.makes_part(kind) {
                let position = state.increment(false);
                pieces.push(Piece { place: part.clone(), text: text_of(parts, &part), position });
            }
            parts.next();
        }
        if joined.count > 0 {
            last_count = flush(&mut joined, state, &mut pieces);
        }
        if all.count > last_count {
            let position = state.increment(true);
            state.waiting = 0;
            pieces.push(Piece { place: all.place.clone(), text: all.text(), position });
        }
        pieces
    }
}

impl TokenFilter for Delimiter {
    fn apply(&self, stream: &mut Stream) {
        stream.doubts |= stream.halves;
        stream.place_in_units();
        let mut state = State { waiting: 0, is_first: true, has_token: false, follows: true };
        stream.replace(|token, term, made| self.split(token, term, &mut state, made));
    }

    fn overlaps(&self) -> bool {
        true
    }

    fn splits(&self) -> bool {
        true
    }

    /// Halves of pairs are not told from other characters here.
    fn may_doubt(&self) -> bool {
        true
    }
}
