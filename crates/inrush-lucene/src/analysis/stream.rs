//! The tokens of a text on their way through the filters.
//!
//! Source: the documentation of `org.apache.lucene.analysis.TokenStream` and of its attributes.

use std::collections::HashSet;
use std::ops::Range;

/// Why only a server knows the terms of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// They are too many to be held at once.
    Many,
    /// A regular expression of Java may find something else in it than is found here.
    Pattern,
}

/// A token: a range of the pool with where it is in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    /// Where its term is in the pool.
    pub(super) from: u32,
    pub(super) to: u32,
    /// The place in the text behind the filters of characters, in bytes.
    pub(super) start: u32,
    pub(super) end: u32,
    /// Where the tokenizer was behind its word, of which it may be a part.
    pub(super) read: u32,
    /// How many positions further it is than the token before (`PositionIncrementAttribute`).
    pub(super) increment: u32,
    /// The positions that the filters before left out right before it, which Lucene counts again
    /// where the stream ends here.
    pub(super) skipped: u32,
    /// Whether stemmers leave it as it is (`KeywordAttribute`).
    pub(super) keyword: bool,
}

impl Token {
    fn at(place: Range<usize>) -> Self {
        let (from, to) = (place.start as u32, place.end as u32);
        Self { from, to, start: from, end: to, read: to, increment: 1, skipped: 0, keyword: false }
    }
}

/// All tokens of a text.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The text, and behind it the terms that filters have made.
    pool: String,
    text_len: usize,
    tokens: Vec<Token>,
    /// The memory of tokens for the next filter that makes others of them.
    spare: Vec<Token>,
    scratch: String,
    /// The positions behind the last token.
    pub(super) end_increment: u32,
    /// Where the text ends, in bytes.
    pub(super) end: u32,
    /// Whether [`Stream::HALVES`] in terms are halves of pairs of UTF-16.
    pub(super) halves: bool,
    /// Where the text was before the filters of characters, the last one first.
    corrections: Vec<Corrections>,
    /// Whether places are units of UTF-16 of the text before the filters of characters.
    in_units: bool,
    /// Whether only a server knows these tokens.
    pub(super) doubts: bool,
    /// Whether terms or tokens were left out because they would take more than [`POOL_MAX`].
    pub(super) overflow: bool,
}

/// The most bytes of the terms of one text, and of its tokens. n-grams and paths may be many times
/// as long as their text.
const POOL_MAX: usize = 128 << 20;

impl Stream {
    /// Characters of private use, which stand for first halves of pairs of UTF-16.
    pub(super) const HALVES: fn(char) -> bool = |c| ('\u{f400}'..='\u{f7ff}').contains(&c);

    /// What stands for a first half, by its ten bits.
    pub(super) fn half(bits: u32) -> char {
        char::from_u32(0xf400 + bits).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Begins a text as it is.
    #[cfg(test)]
    pub(super) fn start(&mut self, text: &str) {
        self.start_mapped(text, Vec::new());
    }

    /// Begins a text behind filters of characters.
    pub(super) fn start_mapped(&mut self, text: &str, corrections: Vec<Corrections>) {
        self.pool.clear();
        self.pool.push_str(text);
        self.text_len = text.len();
        self.tokens.clear();
        self.end_increment = 0;
        self.end = text.len() as u32;
        self.corrections = corrections;
        self.in_units = false;
        self.halves = false;
        self.doubts = false;
        self.overflow = false;
    }

    /// Makes all places units of UTF-16 of the text before the filters of characters.
    pub(super) fn place_in_units(&mut self) {
        if std::mem::replace(&mut self.in_units, true) {
            return;
        }
        let before = units_before(&self.pool[..self.text_len]);
        let corrections = &self.corrections;
        let place = |place: &mut u32| {
            let unit = before.get(*place as usize).copied().unwrap_or(*place);
            *place = corrections.iter().fold(unit, |unit, correction| correction.correct(unit));
        };
        for token in &mut self.tokens {
            place(&mut token.start);
            place(&mut token.end);
            place(&mut token.read);
        }
        place(&mut self.end);
    }

    /// Whether a term of that length has room.
    fn has_room(&mut self, len: usize) -> bool {
        let is_full =
            self.pool.len() + len > self.text_len + POOL_MAX || self.tokens.len() * size_of::<Token>() > POOL_MAX;
        self.overflow |= is_full;
        !is_full
    }

    /// Gives back the memory of a text that is much longer than most.
    pub(super) fn release(&mut self) {
        const KEPT: usize = 1 << 20;
        let tokens = self.tokens.capacity() + self.spare.capacity();
        if self.pool.capacity() + tokens * size_of::<Token>() > KEPT {
            *self = Self::default();
        }
    }

    /// Adds a token whose term is none of the text.
    pub(super) fn push_term(&mut self, term: &str, place: Range<usize>, increment: u32) {
        if !self.has_room(term.len()) {
            return;
        }
        let (from, to) = append(&mut self.pool, term);
        self.tokens.push(Token { from, to, increment, ..Token::at(place) });
    }

    pub(super) fn text(&self) -> &str {
        &self.pool[..self.text_len]
    }

    /// The terms of the tokens, with them.
    pub(super) fn terms(&self) -> impl Iterator<Item = (&Token, &str)> {
        self.tokens.iter().map(|token| (token, &self.pool[token.from as usize..token.to as usize]))
    }

    /// Calls `cut` with each place and the tokens of the text, which it adds to.
    pub(super) fn cut(&mut self, cut: impl FnOnce(&str, &mut dyn FnMut(Range<usize>))) {
        let Self { pool, text_len, tokens, .. } = self;
        cut(&pool[..*text_len], &mut |place| {
            tokens.push(Token::at(place));
        });
    }

    /// Gives tokens other terms: `change` writes them, and says whether it did.
    pub(super) fn map(&mut self, mut change: impl FnMut(&mut Token, &str, &mut String) -> bool) {
        let Self { pool, text_len, tokens, scratch, overflow, .. } = self;
        for token in tokens {
            scratch.clear();
            let term = token.from as usize..token.to as usize;
            if change(token, &pool[term], scratch) {
                if pool.len() + scratch.len() > *text_len + POOL_MAX {
                    *overflow = true;
                    return;
                }
                (token.from, token.to) = append(pool, scratch);
            }
        }
    }

    /// Cuts terms to a part of them.
    pub(super) fn shorten(&mut self, mut part: impl FnMut(&Token, &str) -> Range<usize>) {
        for token in &mut self.tokens {
            let part = part(token, &self.pool[token.from as usize..token.to as usize]);
            (token.from, token.to) = (token.from + part.start as u32, token.from + part.end as u32);
        }
    }

    /// Leaves out tokens, and leaves their positions empty (`FilteringTokenFilter`).
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&str) -> bool) {
        let mut left_out = 0;
        let pool = &self.pool;
        self.tokens.retain_mut(|token| {
            if !is_kept(&pool[token.from as usize..token.to as usize]) {
                left_out += token.increment;
                return false;
            }
            token.increment += left_out;
            token.skipped += left_out;
            left_out = 0;
            true
        });
        self.end_increment += left_out;
    }

    /// Ends the stream behind that many tokens; whether the rest of the text is read nevertheless.
    pub(super) fn limit(&mut self, most: usize, reads_rest: bool) {
        if let Some(last) = most.checked_sub(1).and_then(|last| self.tokens.get(last)) {
            if !reads_rest {
                self.end_increment = last.skipped;
                self.end = last.read;
            }
            self.tokens.truncate(most);
        }
    }

    /// Leaves out terms that were there before, with their positions.
    pub(super) fn unique(&mut self, at_one_position: bool) {
        let Self { pool, tokens, .. } = self;
        let mut before = HashSet::new();
        tokens.retain(|token| {
            let is_new = at_one_position && token.increment > 0;
            if is_new {
                before.clear();
            }
            before.insert(&pool[token.from as usize..token.to as usize]) || is_new
        });
    }

    /// Puts others in the place of the tokens, each with its term.
    pub(super) fn set(&mut self, tokens: Vec<(Token, String)>) {
        self.tokens.clear();
        for (token, term) in tokens {
            if !self.has_room(term.len()) {
                return;
            }
            let (from, to) = append(&mut self.pool, &term);
            self.tokens.push(Token { from, to, ..token });
        }
    }

    /// Has what each of several changes makes of a token, one after the other at its position. A
    /// change makes one token of one.
    pub(super) fn branch<F: FnOnce(&mut Self)>(&mut self, changes: impl Iterator<Item = F>) {
        let tokens = std::mem::take(&mut self.tokens);
        let mut branches = Vec::new();
        for change in changes {
            self.tokens.clone_from(&tokens);
            change(self);
            branches.push(std::mem::take(&mut self.tokens));
        }
        if tokens.len().saturating_mul(branches.len() * size_of::<Token>()) > POOL_MAX {
            self.overflow = true;
            return;
        }
        for at in 0..tokens.len() {
            let mut increment = tokens[at].increment;
            for branch in &branches {
                self.tokens.push(Token { increment: std::mem::take(&mut increment), ..branch[at] });
            }
        }
        if !tokens.is_empty() {
            self.end_increment = 0;
        }
    }

    /// Makes others of the tokens: `make` gets each with its term, and the tokens that are made.
    pub(super) fn replace(&mut self, mut make: impl FnMut(Token, &str, &mut Made)) {
        let Self { pool, text_len, tokens, spare, scratch, overflow, .. } = self;
        spare.clear();
        // What is made is parts of terms, and terms of its own, which are added to the pool later.
        for token in &*tokens {
            scratch.clear();
            let mut made = Made { tokens: spare, own: scratch };
            let first = made.tokens.len();
            make(*token, &pool[token.from as usize..token.to as usize], &mut made);
            let more = spare.len() * size_of::<Token>();
            if pool.len() + scratch.len() > *text_len + POOL_MAX || more > POOL_MAX {
                *overflow = true;
                spare.truncate(first);
                break;
            }
            let (from, _) = append(pool, scratch);
            for made in &mut spare[first..] {
                if made.from >= OWN {
                    (made.from, made.to) = (made.from - OWN + from, made.to - OWN + from);
                }
            }
        }
        std::mem::swap(tokens, spare);
    }
}

/// How many units of UTF-16 are before each byte of a text; nothing if it is ASCII.
fn units_before(text: &str) -> Vec<u32> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut units = Vec::with_capacity(text.len() + 1);
    let mut before = 0;
    for c in text.chars() {
        units.extend(std::iter::repeat_n(before, c.len_utf8()));
        before += c.len_utf16() as u32;
    }
    units.push(before);
    units
}

fn append(pool: &mut String, term: &str) -> (u32, u32) {
    let from = pool.len() as u32;
    pool.push_str(term);
    (from, pool.len() as u32)
}

/// Places from here on are in the text that a filter has made of one token. A pool is shorter: the
/// text of a document has at most 2 GiB.
const OWN: u32 = 1 << 31;

/// The tokens that a filter makes.
pub(super) struct Made<'a> {
    tokens: &'a mut Vec<Token>,
    own: &'a mut String,
}

impl Made<'_> {
    /// Adds a token as it is.
    pub(super) fn push(&mut self, token: Token) {
        self.tokens.push(token);
    }

    /// Adds a token whose term is a part of that of another one.
    pub(super) fn push_part(&mut self, token: Token, part: Range<usize>) {
        let (from, to) = (token.from + part.start as u32, token.from + part.end as u32);
        self.tokens.push(Token { from, to, ..token });
    }

    /// Adds a token with a term of its own.
    pub(super) fn push_own(&mut self, token: Token, write: impl FnOnce(&mut String)) {
        let from = OWN + self.own.len() as u32;
        write(self.own);
        self.tokens.push(Token { from, to: OWN + self.own.len() as u32, ..token });
    }
}

/// Places of the mapped text, and how much further what is behind each is in the text before, which
/// may be less than 0.
#[derive(Debug, Default)]
pub(super) struct Corrections(Vec<(u32, u32)>);

impl Corrections {
    pub(super) fn add(&mut self, place: u32, further: u32) {
        match self.0.last_mut() {
            Some(last) if last.0 == place => last.1 = further,
            _ => self.0.push((place, further)),
        }
    }

    pub(super) fn correct(&self, place: u32) -> u32 {
        let behind = self.0.partition_point(|(from, _)| *from <= place);
        // A place before the text is its beginning.
        behind.checked_sub(1).map_or(place, |at| place.saturating_add_signed(self.0[at].1.cast_signed()))
    }
}

/// Changes the tokens of a text.
pub(super) trait TokenFilter: Send + Sync {
    fn apply(&self, stream: &mut Stream);

    /// By how much it makes terms longer at most, beyond what characters become.
    fn grows(&self) -> usize {
        1
    }

    /// Whether it may make more terms of a text than the text is long.
    fn multiplies(&self) -> bool {
        false
    }

    /// Whether it leaves the rest of a text unread.
    fn ends_early(&self) -> bool {
        false
    }

    /// Whether it may make several tokens of one, all at its place in the text.
    fn overlaps(&self) -> bool {
        false
    }

    /// Whether it makes tokens with places of their own in the text.
    fn splits(&self) -> bool {
        false
    }

    /// Whether it reads the text further than the tokens that it makes.
    fn reads_ahead(&self) -> bool {
        false
    }

    /// Whether there are texts that only a server knows.
    fn may_doubt(&self) -> bool {
        false
    }

    /// Whether it puts in no characters that patterns behind it may not know.
    fn is_plain(&self) -> bool {
        true
    }
}
