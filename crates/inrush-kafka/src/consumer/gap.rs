//! An offset that a broker does not have.

use std::fmt;

use crate::client::{ClientError, TopicPartition};

/// An offset that a broker does not have.
pub(super) struct Gap<'a> {
    pub(super) at: &'a TopicPartition,
    /// The offset that the group is at.
    pub(super) offset: i64,
    /// The first offset that the broker has, and the one after the last.
    pub(super) first: i64,
    pub(super) last: i64,
}

/// What the user can do about a gap.
pub(super) const REMEDY: &str =
    "set option `on_offset_gap` to go on with the oldest record that is left, or with new ones";

impl Gap<'_> {
    pub(super) fn is_gap(&self) -> bool {
        !(self.first..=self.last).contains(&self.offset)
    }

    pub(super) fn error(&self, group: &str) -> ClientError {
        ClientError::lasting(format!("group {group}: {self}; {REMEDY}"))
    }
}

impl fmt::Display for Gap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gap { at, offset, first, last } = self;
        if offset < first {
            let deleted = first - offset;
            write!(
                f,
                "the next offset of {at} is {offset}, but the oldest one that the broker has is {first}: \
                 {deleted} offsets were deleted before they were read"
            )
        } else {
            write!(
                f,
                "the next offset of {at} is {offset}, but the broker's partition ends at {last}: \
                 the topic was created again, or records were lost"
            )
        }
    }
}
