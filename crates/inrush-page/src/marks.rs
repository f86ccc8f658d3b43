//! Lists of marks on the time axis, of which the newest are kept. Pure.

use std::collections::VecDeque;

/// A list with the newest marks, and those that are new since the last update.
#[derive(Clone, Debug)]
pub(crate) struct Marks<M> {
    kept: VecDeque<M>,
    max: usize,
    /// The newest marks that no update had. Also a mark that was changed counts as new.
    fresh: usize,
    /// All marks so far.
    total: u64,
}

impl<M: Clone> Marks<M> {
    pub(crate) fn new(max: usize) -> Self {
        Marks { kept: VecDeque::new(), max, fresh: 0, total: 0 }
    }

    pub(crate) fn push(&mut self, mark: M) {
        if self.kept.len() == self.max {
            self.kept.pop_front();
        }
        self.kept.push_back(mark);
        self.total += 1;
        self.fresh = (self.fresh + 1).min(self.kept.len());
    }

    /// The newest mark, for a change, which the next update has.
    pub(crate) fn change_last(&mut self) -> Option<&mut M> {
        if !self.kept.is_empty() {
            self.fresh = self.fresh.max(1);
        }
        self.kept.back_mut()
    }

    pub(crate) fn last(&self) -> Option<&M> {
        self.kept.back()
    }

    /// All kept marks, the oldest first.
    pub(crate) fn all(&self) -> Vec<M> {
        self.kept.iter().cloned().collect()
    }

    /// The number of all marks so far, also of those that are not kept.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The marks that are new or changed since the last call.
    pub(crate) fn take_fresh(&mut self) -> Vec<M> {
        let fresh = std::mem::take(&mut self.fresh);
        self.kept.iter().skip(self.kept.len() - fresh).cloned().collect()
    }
}

/// At most `max` bytes of a text. A text that is cut ends with an ellipsis.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max.saturating_sub('…'.len_utf8()))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_an_update_has_what_is_new() {
        let mut marks = Marks::new(3);
        marks.push(1);
        marks.push(2);
        assert_eq!(marks.take_fresh(), [1, 2]);
        assert_eq!(marks.take_fresh(), [0; 0]);
        *marks.change_last().unwrap() = 5;
        assert_eq!((marks.take_fresh(), marks.all()), (vec![5], vec![1, 5]));
        (10..20).for_each(|mark| marks.push(mark));
        *marks.change_last().unwrap() += 1;
        assert_eq!((marks.take_fresh(), marks.all(), marks.total()), (vec![17, 18, 20], vec![17, 18, 20], 12));
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("äöüß", 7), "äö…");
        assert!(cut(&"ä".repeat(300), 301).len() <= 301);
    }
}
