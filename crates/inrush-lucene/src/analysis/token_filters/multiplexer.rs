//! `multiplexer`.
//!
//! Source: the documentation of the servers' filter `multiplexer`, and of Lucene's
//! `ConditionalTokenFilter`: what filters before have left out at the end of a text is forgotten.

use super::TokenFilter;
use crate::analysis::stream::Stream;

/// Has what each of several chains of filters makes of a token, at its position.
pub(in crate::analysis) struct Multiplexer {
    pub(in crate::analysis) chains: Vec<Vec<Box<dyn TokenFilter>>>,
    pub(in crate::analysis) keeps: bool,
}

/// The filters of a chain: each makes one token of one, without looking at others.
pub(in crate::analysis) const CHANGING: [&str; 9] = [
    "apostrophe",
    "keyword_marker",
    "kstem",
    "pattern_replace",
    "porter_stem",
    "reverse",
    "snowball",
    "stemmer",
    "stemmer_override",
];

impl TokenFilter for Multiplexer {
    fn apply(&self, stream: &mut Stream) {
        let none: &[Box<dyn TokenFilter>] = &[];
        let chains = self.keeps.then_some(none).into_iter().chain(self.chains.iter().map(Vec::as_slice));
        stream.branch(
            chains.map(|chain| move |stream: &mut Stream| chain.iter().for_each(|filter| filter.apply(stream))),
        );
        stream.unique(true);
    }

    fn grows(&self) -> usize {
        let of_chain = |chain: &Vec<Box<dyn TokenFilter>>| chain.iter().map(|filter| filter.grows()).product();
        self.chains.iter().map(of_chain).fold(1, usize::max)
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

    fn may_doubt(&self) -> bool {
        self.chains.iter().flatten().any(|filter| filter.may_doubt())
    }

    fn is_plain(&self) -> bool {
        self.chains.iter().flatten().all(|filter| filter.is_plain())
    }
}
