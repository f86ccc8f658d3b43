//! Idle time: the source has no documents, and all earlier ones are settled. The cluster is not the
//! cause.

use std::time::Duration;

use inrush_core::Time;

/// Tracks whether the load is idle.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    /// Blocks that were read when the source last had no documents.
    blocks: Option<u64>,
    since: Option<Time>,
}

/// A change between idle and busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    Began,
    /// The idle time that ended.
    Ended(Duration),
}

impl Idle {
    /// The source has no documents for now, after `blocks` blocks.
    pub(crate) fn handle_idle(&mut self, blocks: u64) {
        self.blocks = Some(blocks);
    }

    /// Updates the state: `arrived` blocks have arrived. `rests` says that all their documents are
    /// settled and nothing else keeps the load from sending. Returns the change.
    pub(crate) fn update(&mut self, now: Time, arrived: u64, rests: bool) -> Change {
        let idle = rests && self.blocks == Some(arrived);
        match (self.since, idle) {
            (None, true) => {
                self.since = Some(now);
                Change::Began
            }
            (Some(since), false) => {
                self.since = None;
                Change::Ended(now.since(since))
            }
            (None, false) | (Some(_), true) => Change::None,
        }
    }

    /// Duration of the current idle time.
    pub(crate) fn lasts(&self, now: Time) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_start(Duration::from_secs(seconds))
    }

    #[test]
    fn only_time_without_anything_to_do_is_idle() {
        let mut idle = Idle::default();
        assert_eq!(idle.update(at(1), 0, true), Change::None, "the source was not heard of yet");
        idle.handle_idle(2);
        assert_eq!(idle.update(at(2), 1, true), Change::None, "a block is on its way");
        assert_eq!(idle.update(at(3), 2, false), Change::None, "documents are in flight");
        assert_eq!(idle.update(at(4), 2, true), Change::Began);
        assert_eq!((idle.update(at(5), 2, true), idle.lasts(at(6))), (Change::None, Duration::from_secs(2)));
        assert_eq!(idle.update(at(7), 3, true), Change::Ended(Duration::from_secs(3)), "the next block");
        assert_eq!((idle.update(at(8), 3, true), idle.lasts(at(8))), (Change::None, Duration::ZERO));
        idle.handle_idle(3);
        assert_eq!(idle.update(at(9), 3, true), Change::Began);
    }
}
