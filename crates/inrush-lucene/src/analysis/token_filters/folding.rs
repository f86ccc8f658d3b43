//! `asciifolding` that keeps what it folds.
//!
//! Source: the documentation of Lucene's `ASCIIFoldingFilter` with `preserveOriginal`: the token as
//! it was follows at the same position, if it is another one.

use super::TokenFilter;
use crate::analysis::filters::Filter;
use crate::analysis::stream::{Stream, Token};

pub(super) struct FoldAndKeep;

impl TokenFilter for FoldAndKeep {
    fn apply(&self, stream: &mut Stream) {
        let mut folded = String::new();
        stream.replace(|token, term, made| {
            folded.clear();
            if Filter::Fold.change(term, &mut folded) {
                made.push_own(token, |own| own.push_str(&folded));
                made.push(Token { increment: 0, ..token });
            } else {
                made.push(token);
            }
        });
    }

    fn grows(&self) -> usize {
        2
    }

    fn overlaps(&self) -> bool {
        true
    }
}
