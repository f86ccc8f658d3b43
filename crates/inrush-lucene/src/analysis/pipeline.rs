//! An analyser that is made of parts: filters of characters, a tokenizer, and filters of tokens.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use super::characters::CharacterFilter;
use super::java_pattern::LONG;
use super::patterns::is_plain;
use super::stream::{Stream, TokenFilter, Unread};
use super::tokenizers::TokenizerPart;

/// The parts in their order.
pub(crate) struct Pipeline {
    pub(super) characters: Vec<CharacterFilter>,
    pub(super) tokenizer: TokenizerPart,
    pub(super) filters: Vec<Box<dyn TokenFilter>>,
    /// Its name: two of the same index and the same name are the same.
    pub(super) source: String,
}

/// A term, with where it is.
pub(crate) struct Term<'a> {
    pub(crate) term: &'a [u8],
    /// How many positions further it is than the one before.
    pub(crate) increment: u32,
    /// Where its word starts and ends in the text, in units of UTF-16. 0 if they are not wanted.
    pub(crate) offsets: (u32, u32),
}

/// The end of a text.
pub(crate) struct End {
    /// The positions behind the last term.
    pub(crate) increment: u32,
    /// The length in units of UTF-16. 0 if offsets are not wanted.
    pub(crate) offset: u32,
    pub(crate) unread: Option<Unread>,
}

/// The longest text, in bytes, whose n-grams can always be held at once.
const FEW: usize = 400;

thread_local! {
    /// The memory of the last text.
    static STREAM: RefCell<Stream> = RefCell::default();
}

impl Pipeline {
    /// Calls `visit` with each term of a text, in order.
    pub(crate) fn each(&self, text: &str, with_offsets: bool, mut visit: impl FnMut(&Term)) -> End {
        // No part of a pipeline runs another one, so the memory is free.
        STREAM.with_borrow_mut(|stream| {
            self.run(text, stream);
            if with_offsets {
                stream.place_in_units();
            }
            for (token, term) in stream.terms() {
                let offsets = if with_offsets { (token.start, token.end) } else { (0, 0) };
                // Lucene writes half a pair so.
                let whole = stream.halves.then(|| term.replace(Stream::HALVES, "\u{fffd}"));
                let term = whole.as_deref().unwrap_or(term).as_bytes();
                visit(&Term { term, increment: token.increment, offsets });
            }
            let offset = if with_offsets { stream.end } else { 0 };
            let unread = match (stream.overflow, stream.doubts) {
                (true, _) => Some(Unread::Many),
                (false, true) => Some(Unread::Pattern),
                (false, false) => None,
            };
            let end = End { increment: stream.end_increment, offset, unread };
            stream.release();
            end
        })
    }

    fn run(&self, text: &str, stream: &mut Stream) {
        begin(&self.characters, &self.tokenizer, text, stream);
        for filter in &self.filters {
            filter.apply(stream);
        }
    }

    /// The only term that is made of a text.
    pub(crate) fn whole(&self, text: &str) -> Result<String, Unread> {
        let mut whole = String::new();
        let end = self.each(text, false, |term| whole.push_str(&String::from_utf8_lossy(term.term)));
        end.unread.map_or(Ok(whole), Err)
    }

    /// How long texts can be that have no term of more than `most` bytes, and few enough terms.
    pub(crate) fn harmless(&self, most: usize) -> usize {
        let grows = self.characters.iter().map(CharacterFilter::grows).fold(4, usize::saturating_mul);
        let grows = self.filters.iter().map(|filter| filter.grows()).fold(grows, usize::saturating_mul);
        let multiplies = self.tokenizer.multiplies() || self.filters.iter().any(|filter| filter.multiplies());
        if multiplies { (most / grows).min(FEW) } else { most / grows }
    }

    /// Whether a text may be one that only a server reads, however short it is.
    pub(crate) fn doubts(&self, text: &str) -> bool {
        self.may_doubt()
            && !(is_plain(text)
                && text.len() <= self.harmless(LONG)
                && self.tokenizer.knows(text)
                && self.characters.iter().all(CharacterFilter::is_plain)
                && self.filters.iter().all(|filter| filter.is_plain()))
    }

    fn may_doubt(&self) -> bool {
        self.characters.iter().any(CharacterFilter::may_doubt)
            || self.tokenizer.may_doubt()
            || self.filters.iter().any(|filter| filter.may_doubt())
    }

    /// Whether it may look at the kinds of characters, of which half a pair of UTF-16 has another
    /// one than U+FFFD, which stands for it here.
    pub(crate) fn tells_halves(&self) -> bool {
        self.may_doubt()
            || self.characters.iter().any(CharacterFilter::tells_halves)
            || self.tokenizer.tells_halves()
            || self.filters.iter().any(|filter| filter.splits())
    }

    /// The most bytes of a term of a text.
    pub(crate) fn longest(&self, text: &str) -> Result<usize, Unread> {
        let mut longest = 0;
        let end = self.each(text, false, |term| longest = longest.max(term.term.len()));
        end.unread.map_or(Ok(longest), Err)
    }
}

/// Makes the tokens of a text, before the filters of tokens.
pub(super) fn begin(characters: &[CharacterFilter], tokenizer: &TokenizerPart, text: &str, stream: &mut Stream) {
    let mut corrections = Vec::new();
    let mut mapped = Cow::Borrowed(text);
    let mut unread = Vec::new();
    for filter in characters {
        let (next, correction, why) = filter.map(&mapped);
        corrections.insert(0, correction);
        mapped = Cow::Owned(next);
        unread.extend(why);
    }
    stream.start_mapped(&mapped, corrections);
    stream.overflow = unread.contains(&Unread::Many);
    stream.doubts = unread.contains(&Unread::Pattern);
    tokenizer.cut(stream);
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl PartialEq for Pipeline {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// What is made of the text of a keyword.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Normalizer {
    Plain(super::Filters),
    Pipeline(Arc<Pipeline>),
}

impl Normalizer {
    pub(crate) const NONE: Self = Self::Plain(super::Filters::NONE);

    pub(crate) fn text(&self, text: &str) -> Result<String, Unread> {
        match self {
            Self::Plain(filters) => Ok(filters.text(text)),
            Self::Pipeline(pipeline) => pipeline.whole(text),
        }
    }
}
