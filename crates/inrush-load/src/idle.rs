//! How long the source had nothing while everything before was settled: time that no cluster is to
//! blame for.

use std::time::Duration;

use inrush_core::Time;

/// Adds up idle time.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    /// Blocks that were read when the source said last that it has nothing.
    blocks: Option<u64>,
    since: Option<Time>,
    total: Duration,
}

impl Idle {
    /// The source has nothing for now, after `blocks` blocks.
    pub(crate) fn handle_idle(&mut self, blocks: u64) {
        self.blocks = Some(blocks);
    }

    /// Takes what is so now: `arrived` blocks have come, and with `rests` everything of them is
    /// settled and nothing else keeps the load from sending. Returns whether idle time has just ended.
    pub(crate) fn update(&mut self, now: Time, arrived: u64, rests: bool) -> bool {
        let idle = rests && self.blocks == Some(arrived);
        match self.since {
            None if idle => self.since = Some(now),
            Some(since) if !idle => {
                self.since = None;
                self.total += now.since(since);
                return true;
            }
            None | Some(_) => {}
        }
        false
    }

    /// How long it has been idle without a break.
    pub(crate) fn lasts(&self, now: Time) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// All idle time so far.
    pub(crate) fn total(&self, now: Time) -> Duration {
        self.total + self.lasts(now)
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
        assert!(!idle.update(at(1), 0, true), "the source was not heard of yet");
        idle.handle_idle(2);
        assert!(!idle.update(at(2), 1, true), "a block is on its way");
        assert!(!idle.update(at(3), 2, false), "documents are in flight");
        assert!(!idle.update(at(4), 2, true));
        assert_eq!((idle.lasts(at(6)), idle.total(at(6))), (Duration::from_secs(2), Duration::from_secs(2)));
        assert!(idle.update(at(7), 3, true), "the next block");
        assert!(!idle.update(at(8), 3, true));
        idle.handle_idle(3);
        assert!(!idle.update(at(9), 3, true));
        assert_eq!((idle.lasts(at(10)), idle.total(at(10))), (Duration::from_secs(1), Duration::from_secs(4)));
    }
}
