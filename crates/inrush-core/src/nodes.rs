//! Node selection: the next request goes to the least busy healthy node, round robin among equals.
//!
//! A node that fails is set aside for 1 s. The pause doubles to 30 s with every failure in a row.
//! After the pause the node gets one request as a probe, and is healthy again once that one is
//! answered. If every node is set aside, the one whose pause ends first is used: the caller's
//! back-off spaces the attempts.
//!
//! A node that refuses whole requests because of load (429) answers fast. It would always be the
//! least busy one and attract most requests. So a refusal gives the node a bound: half of its
//! requests in flight. The bound grows by one for every `bound` requests that the node answers, and
//! is dropped when it reaches twice the load that was refused.

use std::time::Duration;

use crate::time::Time;

/// The pause of a node after its first failure.
pub const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest pause of a node, however often it failed.
pub const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The index of a node in the list that the pool was created with.
pub type NodeIndex = usize;

/// What the end of a request says about its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeSignal {
    /// The node answered, with any status.
    Answered,
    /// The node refused the request because of load.
    Overloaded,
    /// The node could not be reached, did not answer in time, or answered that it cannot work (502,
    /// 503).
    Failed,
    /// The end says nothing about the node: the connection broke after the request was sent, the
    /// request could not be built, or the caller stopped waiting.
    Unclear,
}

/// A chosen node, to be passed back to [`NodePool::finished`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The node.
    pub node: NodeIndex,
    /// The state of the node when it was chosen. An answer to an earlier request must not count as
    /// the answer to the probe.
    epoch: u64,
}

/// The nodes and their state.
#[derive(Debug)]
pub struct NodePool {
    nodes: Vec<Node>,
    next: NodeIndex,
}

#[derive(Debug)]
struct Node {
    in_flight: usize,
    health: Health,
    epoch: u64,
    bound: Option<Bound>,
}

/// The load limit of a node that refused a request.
#[derive(Clone, Copy, Debug)]
struct Bound {
    /// Requests in flight, at least 1.
    now: f64,
    /// The bound is dropped when it reaches this value.
    forgotten_at: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Healthy,
    SetAside { until: Time, pause: Duration },
    Probing { pause: Duration },
}

impl NodePool {
    /// A pool of `len` nodes, all taken as healthy; at least one.
    pub fn new(len: usize) -> Self {
        let node = || Node { in_flight: 0, health: Health::Healthy, epoch: 0, bound: None };
        NodePool { nodes: (0..len.max(1)).map(|_| node()).collect(), next: 0 }
    }

    /// Chooses the node of the next request and counts the request as in flight there.
    pub fn pick(&mut self, now: Time) -> Pick {
        self.pick_preferring(now, None)
    }

    /// As [`NodePool::pick`], with a preferred node: it is chosen if it is healthy and below its
    /// bound.
    pub fn pick_preferring(&mut self, now: Time, preferred: Option<NodeIndex>) -> Pick {
        let takes_more = |&index: &NodeIndex| {
            self.nodes.get(index).is_some_and(|node| node.health == Health::Healthy && !node.is_full())
        };
        let preferred = preferred.filter(takes_more);
        let index = self.due(now).or(preferred).or_else(|| self.least_busy_healthy()).unwrap_or_else(|| self.soonest());
        self.next = (index + 1) % self.nodes.len();
        let node = &mut self.nodes[index];
        if let Health::SetAside { pause, .. } = node.health {
            node.health = Health::Probing { pause };
            node.epoch += 1;
        }
        node.in_flight += 1;
        Pick { node: index, epoch: node.epoch }
    }

    /// Records the end of a request.
    pub fn finished(&mut self, pick: Pick, signal: NodeSignal, now: Time) {
        let node = &mut self.nodes[pick.node];
        node.learn_bound(signal);
        node.in_flight = node.in_flight.saturating_sub(1);
        if pick.epoch != node.epoch {
            return;
        }
        let health = match (node.health, signal) {
            (_, NodeSignal::Answered | NodeSignal::Overloaded) => Health::Healthy,
            (Health::Healthy, NodeSignal::Failed) => Health::SetAside { until: now + PAUSE_MIN, pause: PAUSE_MIN },
            (Health::Probing { pause }, NodeSignal::Failed) => {
                let pause = (pause * 2).min(PAUSE_MAX);
                Health::SetAside { until: now + pause, pause }
            }
            // The probe is repeated at once.
            (Health::Probing { pause }, NodeSignal::Unclear) => Health::SetAside { until: now, pause },
            (health @ Health::Healthy, NodeSignal::Unclear) | (health @ Health::SetAside { .. }, _) => health,
        };
        if matches!(health, Health::SetAside { .. }) {
            node.epoch += 1;
        }
        node.health = health;
    }

    /// Whether this node is healthy.
    pub fn is_healthy(&self, node: NodeIndex) -> bool {
        self.nodes.get(node).is_some_and(|node| node.health == Health::Healthy)
    }

    /// The number of healthy nodes.
    pub fn healthy(&self) -> usize {
        self.nodes.iter().filter(|node| node.health == Health::Healthy).count()
    }

    /// Requests in flight to a node.
    pub fn in_flight(&self, node: NodeIndex) -> usize {
        self.nodes.get(node).map_or(0, |node| node.in_flight)
    }

    /// The node whose pause ended first, among those whose pause is over.
    fn due(&self, now: Time) -> Option<NodeIndex> {
        self.aside().filter(|&(_, until)| until <= now).min_by_key(|&(_, until)| until).map(|(index, _)| index)
    }

    fn least_busy_healthy(&self) -> Option<NodeIndex> {
        self.in_turn()
            .filter(|&index| self.nodes[index].health == Health::Healthy)
            .min_by_key(|&index| (self.nodes[index].is_full(), self.nodes[index].in_flight))
    }

    /// Without a healthy node: the node whose pause ends first. With all nodes being probed: the
    /// least busy one.
    fn soonest(&self) -> NodeIndex {
        let aside = self.aside().min_by_key(|&(_, until)| until).map(|(index, _)| index);
        aside.or_else(|| self.in_turn().min_by_key(|&index| self.nodes[index].in_flight)).unwrap_or_default()
    }

    fn aside(&self) -> impl Iterator<Item = (NodeIndex, Time)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| match node.health {
            Health::SetAside { until, .. } => Some((index, until)),
            Health::Healthy | Health::Probing { .. } => None,
        })
    }

    fn in_turn(&self) -> impl Iterator<Item = NodeIndex> {
        let len = self.nodes.len();
        (0..len).map(move |offset| (self.next + offset) % len)
    }
}

impl Node {
    fn is_full(&self) -> bool {
        self.bound.is_some_and(|bound| self.in_flight as f64 >= bound.now)
    }

    fn learn_bound(&mut self, signal: NodeSignal) {
        let load = self.in_flight as f64;
        self.bound = match (signal, self.bound) {
            (NodeSignal::Overloaded, None) => Some(Bound { now: (load / 2.0).max(1.0), forgotten_at: load * 2.0 }),
            // Requests that were in flight together are refused together: that is one refusal.
            (NodeSignal::Overloaded, Some(bound)) if load > bound.now => Some(bound),
            (NodeSignal::Overloaded, Some(bound)) => Some(Bound { now: (bound.now / 2.0).max(1.0), ..bound }),
            (NodeSignal::Answered, Some(bound)) => {
                let now = bound.now + 1.0 / bound.now;
                (now < bound.forgotten_at).then_some(Bound { now, ..bound })
            }
            (NodeSignal::Answered, None) | (NodeSignal::Failed | NodeSignal::Unclear, _) => self.bound,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_goes_to_the_preferred_node_if_it_is_healthy() {
        let (mut pool, clock) = start(3);
        for _ in 0..5 {
            assert_eq!(pool.pick_preferring(clock.after(0.0), Some(2)).node, 2);
        }
        assert_ne!(pool.pick_preferring(clock.after(0.0), None).node, 2);
        assert!(pool.pick_preferring(clock.after(0.0), Some(7)).node < 3);
        let pick = pool.pick_preferring(clock.after(0.0), Some(2));
        pool.finished(pick, NodeSignal::Failed, clock.after(0.0));
        assert_ne!(pool.pick_preferring(clock.after(0.1), Some(2)).node, 2);
    }

    struct Clock;

    impl Clock {
        fn after(&self, seconds: f64) -> Time {
            Time::from_start(Duration::from_secs_f64(seconds))
        }
    }

    fn start(len: usize) -> (NodePool, Clock) {
        (NodePool::new(len), Clock)
    }

    #[test]
    fn requests_go_round_and_prefer_the_least_busy() {
        let (mut pool, clock) = start(3);
        let now = clock.after(0.0);
        let picks: Vec<Pick> = (0..6).map(|_| pool.pick(now)).collect();
        assert_eq!(picks.iter().map(|p| p.node).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
        pool.finished(picks[1], NodeSignal::Answered, now);
        assert_eq!(pool.pick(now).node, 1);
        assert_eq!((0..3).map(|n| pool.in_flight(n)).collect::<Vec<_>>(), [2, 2, 2]);
    }

    #[test]
    fn idle_nodes_are_used_in_turn() {
        let (mut pool, clock) = start(3);
        let now = clock.after(0.0);
        let mut nodes = Vec::new();
        for _ in 0..6 {
            let pick = pool.pick(now);
            nodes.push(pick.node);
            pool.finished(pick, NodeSignal::Answered, now);
        }
        assert_eq!(nodes, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_failed_node_is_set_aside_and_probed_with_one_request() {
        let (mut pool, clock) = start(2);
        let first = pool.pick(clock.after(0.0));
        pool.finished(first, NodeSignal::Failed, clock.after(0.0));
        assert_eq!(pool.healthy(), 1);
        let others: Vec<Pick> = (0..3).map(|_| pool.pick(clock.after(0.9))).collect();
        assert!(others.iter().all(|pick| pick.node == 1));

        let probe = pool.pick(clock.after(1.0));
        assert_eq!(probe.node, 0);
        assert_eq!(pool.pick(clock.after(1.1)).node, 1, "only one request tries it out");
        pool.finished(probe, NodeSignal::Answered, clock.after(1.2));
        assert_eq!(pool.healthy(), 2);
        assert_eq!(pool.pick(clock.after(1.3)).node, 0);
    }

    #[test]
    fn the_pause_doubles_up_to_its_limit_and_starts_over_after_a_success() {
        let (mut pool, clock) = start(2);
        let pick = pool.pick(clock.after(0.0));
        pool.finished(pick, NodeSignal::Failed, clock.after(0.0));
        let mut now = 0.0;
        for pause in [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0] {
            let early = pool.pick(clock.after(now + pause - 0.01));
            assert_eq!(early.node, 1, "pause {pause}");
            pool.finished(early, NodeSignal::Answered, clock.after(now));
            now += pause;
            let probe = pool.pick(clock.after(now));
            assert_eq!(probe.node, 0, "pause {pause}");
            pool.finished(probe, NodeSignal::Failed, clock.after(now));
        }
        now += 30.0;
        let probe = pool.pick(clock.after(now));
        pool.finished(probe, NodeSignal::Answered, clock.after(now));
        let pick = pool.pick(clock.after(now));
        let pick = if pick.node == 0 { pick } else { pool.pick(clock.after(now)) };
        pool.finished(pick, NodeSignal::Failed, clock.after(now));
        assert_eq!(pool.pick(clock.after(now + 1.0)).node, 0);
    }

    #[test]
    fn requests_that_fail_together_count_once() {
        let (mut pool, clock) = start(2);
        let picks: Vec<Pick> = (0..8).map(|_| pool.pick(clock.after(0.0))).collect();
        for pick in picks.into_iter().filter(|pick| pick.node == 0) {
            pool.finished(pick, NodeSignal::Failed, clock.after(0.0));
        }
        assert_eq!(pool.pick(clock.after(1.0)).node, 0, "set aside for 1 s, not for 8");
    }

    #[test]
    fn an_earlier_answer_does_not_end_the_probe() {
        let (mut pool, clock) = start(1);
        let old = pool.pick(clock.after(0.0));
        let failing = pool.pick(clock.after(0.0));
        pool.finished(failing, NodeSignal::Failed, clock.after(0.0));
        let probe = pool.pick(clock.after(1.0));
        pool.finished(old, NodeSignal::Answered, clock.after(1.1));
        assert_eq!(pool.healthy(), 0);
        pool.finished(probe, NodeSignal::Answered, clock.after(1.2));
        assert_eq!(pool.healthy(), 1);
    }

    #[test]
    fn with_all_nodes_aside_the_one_due_soonest_is_used() {
        let (mut pool, clock) = start(2);
        let (a, b) = (pool.pick(clock.after(0.0)), pool.pick(clock.after(0.0)));
        pool.finished(b, NodeSignal::Failed, clock.after(0.0));
        pool.finished(a, NodeSignal::Failed, clock.after(0.5));
        assert_eq!(pool.pick(clock.after(0.6)).node, b.node);
        assert_eq!(pool.pick(clock.after(0.6)).node, a.node);
        let third = pool.pick(clock.after(0.6));
        assert_eq!(pool.in_flight(third.node), 2);
    }

    #[test]
    fn an_unclear_probe_is_repeated() {
        let (mut pool, clock) = start(2);
        let first = pool.pick(clock.after(0.0));
        pool.finished(first, NodeSignal::Failed, clock.after(0.0));
        let probe = pool.pick(clock.after(1.0));
        pool.finished(probe, NodeSignal::Unclear, clock.after(1.0));
        assert_eq!(pool.pick(clock.after(1.0)).node, probe.node);
    }

    #[test]
    fn a_node_that_refuses_does_not_draw_all_requests() {
        let (mut pool, clock) = start(2);
        let now = clock.after(0.0);
        let mut in_flight: Vec<Pick> = (0..8).map(|_| pool.pick(now)).collect();
        let mut refused = 0;
        for round in 0..100 {
            // Node 0 takes two at a time and refuses the others at once; node 1 takes all.
            let (on_0, on_1): (Vec<Pick>, Vec<Pick>) = in_flight.drain(..).partition(|pick| pick.node == 0);
            for (at, pick) in on_0.into_iter().enumerate() {
                let signal = if at < 2 { NodeSignal::Answered } else { NodeSignal::Overloaded };
                refused += u32::from(signal == NodeSignal::Overloaded && round >= 10);
                pool.finished(pick, signal, now);
            }
            on_1.into_iter().for_each(|pick| pool.finished(pick, NodeSignal::Answered, now));
            in_flight = (0..8).map(|_| pool.pick(now)).collect();
        }
        assert!(refused < 60, "{refused} of 720");
    }

    #[test]
    fn a_bound_is_forgotten_when_the_node_carries_more() {
        let (mut pool, clock) = start(1);
        let now = clock.after(0.0);
        let picks: Vec<Pick> = (0..4).map(|_| pool.pick(now)).collect();
        pool.finished(picks[0], NodeSignal::Overloaded, now);
        assert!(pool.nodes[0].bound.is_some() && pool.nodes[0].is_full());
        for _ in 0..100 {
            let pick = pool.pick(now);
            pool.finished(pick, NodeSignal::Answered, now);
        }
        assert!(pool.nodes[0].bound.is_none());
    }
}
