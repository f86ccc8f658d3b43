//! Which node a loader's next request goes to: the healthy one with the fewest requests under way, in turn; one that failed is left
//! alone for 1 s, doubling to 30 s. As the loader's own pool does it, in virtual time.

use super::agenda::Nanos;

const PAUSE_MIN: Nanos = 1_000_000_000;
const PAUSE_MAX: Nanos = 30_000_000_000;

#[derive(Clone, Debug, Default)]
struct Known {
    in_flight: u32,
    aside_until: Nanos,
    pause: Nanos,
    /// One request finds out whether it is back.
    trying: bool,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    nodes: Vec<Known>,
    next: usize,
}

impl Pool {
    pub(super) fn new(nodes: usize) -> Self {
        Pool { nodes: vec![Known::default(); nodes], next: 0 }
    }

    pub(super) fn pick(&mut self, now: Nanos) -> usize {
        let len = self.nodes.len();
        let due = self.nodes.iter().position(|node| node.pause > 0 && !node.trying && node.aside_until <= now);
        let in_turn = (0..len).map(|offset| (self.next + offset) % len);
        let healthy =
            in_turn.filter(|&node| self.nodes[node].pause == 0).min_by_key(|&node| self.nodes[node].in_flight);
        let soonest = || (0..len).min_by_key(|&node| self.nodes[node].aside_until).unwrap_or_default();
        let node = due.or(healthy).unwrap_or_else(soonest);
        self.next = (node + 1) % len;
        let known = &mut self.nodes[node];
        known.trying = known.pause > 0;
        known.in_flight += 1;
        node
    }

    pub(super) fn finished(&mut self, now: Nanos, node: usize, works: bool) {
        let known = &mut self.nodes[node];
        known.in_flight -= 1;
        if works {
            (known.pause, known.trying) = (0, false);
        } else if known.pause == 0 || known.trying {
            known.pause = (known.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
            known.aside_until = now + known.pause;
            known.trying = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_busy_in_turn() {
        let mut pool = Pool::new(3);
        assert_eq!([pool.pick(0), pool.pick(0), pool.pick(0), pool.pick(0)], [0, 1, 2, 0]);
        pool.finished(1, 2, true);
        assert_eq!(pool.pick(1), 2);
    }

    #[test]
    fn a_node_that_failed_is_tried_again_with_one_request() {
        let mut pool = Pool::new(2);
        assert_eq!([pool.pick(0), pool.pick(0)], [0, 1]);
        pool.finished(0, 0, false);
        assert_eq!(pool.pick(PAUSE_MIN - 1), 1);
        assert_eq!([pool.pick(PAUSE_MIN), pool.pick(PAUSE_MIN)], [0, 1]);
        pool.finished(PAUSE_MIN, 0, true);
        assert_eq!(pool.pick(PAUSE_MIN), 0);
    }
}
