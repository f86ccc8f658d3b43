//! When the records of a partition were written that are not settled.

use std::collections::VecDeque;

/// Of each block of records that is not settled, when its first record was written.
#[derive(Debug, Default)]
pub(crate) struct Written(VecDeque<(i64, i64)>);

impl Written {
    /// The first record of a block was written at `millis` since 1970. `end`: the offset after its
    /// last record.
    pub(crate) fn push(&mut self, end: i64, millis: i64) {
        self.0.push_back((end, millis));
    }

    /// Everything below `up_to` is settled.
    pub(crate) fn settle(&mut self, up_to: i64) {
        while self.0.front().is_some_and(|(end, _)| *end <= up_to) {
            self.0.pop_front();
        }
    }

    /// When the first record was written of the first block that is not settled.
    pub(crate) fn first(&self) -> Option<i64> {
        self.0.front().map(|(_, millis)| *millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_that_is_not_settled_counts() {
        let mut written = Written::default();
        assert_eq!(written.first(), None);
        written.push(10, 100);
        written.push(20, 50);
        for (up_to, first) in [(9, Some(100)), (10, Some(50)), (19, Some(50)), (25, None)] {
            written.settle(up_to);
            assert_eq!(written.first(), first, "{up_to}");
        }
    }
}
