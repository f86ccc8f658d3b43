//! Which node gets the next request: the least busy of the healthy ones, in turn. A pure state machine; the time is
//! handed in.
//!
//! A node that fails is set aside for 1 s, doubling to 30 s with every failure in a row. When its pause is over it
//! gets one request, and is back once that one is answered. If every node is set aside, the one whose pause ends
//! first is used anyway: someone has to be asked, and the caller's own back-off spaces the attempts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::HttpErrorKind;

/// How long a node is set aside after its first failure.
pub const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest a node is set aside, however often it failed.
pub const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The place of a node in the list the pool was made with.
pub type NodeIndex = usize;

/// What a request says about the node it went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeSays {
    /// It answered: whatever the status, the node works.
    Works,
    /// It could not be reached, did not answer in time, or said itself (502, 503) that it cannot work.
    Fails,
    /// Nothing either way: the connection broke after the request went out, the request could not be made on our
    /// side, or nobody waited for the answer.
    Nothing,
}

impl NodeSays {
    /// What a reply's status says. 429 is load, not a failure: another node would only shift it.
    pub fn by_status(status: u16) -> Self {
        match status {
            502 | 503 => NodeSays::Fails,
            _ => NodeSays::Works,
        }
    }

    /// What a missing reply says.
    pub fn by_error(kind: HttpErrorKind) -> Self {
        match kind {
            HttpErrorKind::NotSent | HttpErrorKind::TimedOut => NodeSays::Fails,
            HttpErrorKind::Lost | HttpErrorKind::Local => NodeSays::Nothing,
        }
    }
}

/// A node that was chosen, to be handed back to [`NodePool::finished`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The node.
    pub node: NodeIndex,
    /// What the node's state was at the time, so that an answer to a request from before it was set aside is not
    /// taken for the answer to the request that tries it out.
    epoch: u64,
}

/// The nodes and what is known about each.
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Healthy,
    Aside { until: Instant, pause: Duration },
    TriedOut { pause: Duration },
}

impl NodePool {
    /// A pool of `len` nodes, all taken for healthy; at least one.
    pub fn new(len: usize) -> Self {
        let node = || Node { in_flight: 0, health: Health::Healthy, epoch: 0 };
        NodePool { nodes: (0..len.max(1)).map(|_| node()).collect(), next: 0 }
    }

    /// Chooses the node of the next request and counts it as in flight there.
    pub fn pick(&mut self, now: Instant) -> Pick {
        let index = self.due(now).or_else(|| self.least_busy_healthy()).unwrap_or_else(|| self.soonest());
        self.next = (index + 1) % self.nodes.len();
        let node = &mut self.nodes[index];
        if let Health::Aside { pause, .. } = node.health {
            node.health = Health::TriedOut { pause };
            node.epoch += 1;
        }
        node.in_flight += 1;
        Pick { node: index, epoch: node.epoch }
    }

    /// Takes a request back, answered or not.
    pub fn finished(&mut self, pick: Pick, says: NodeSays, now: Instant) {
        let node = &mut self.nodes[pick.node];
        node.in_flight = node.in_flight.saturating_sub(1);
        if pick.epoch != node.epoch {
            return;
        }
        let health = match (node.health, says) {
            (_, NodeSays::Works) => Health::Healthy,
            (Health::Healthy, NodeSays::Fails) => Health::Aside { until: now + PAUSE_MIN, pause: PAUSE_MIN },
            (Health::TriedOut { pause }, NodeSays::Fails) => {
                let pause = (pause * 2).min(PAUSE_MAX);
                Health::Aside { until: now + pause, pause }
            }
            // Still to be tried out, at once.
            (Health::TriedOut { pause }, NodeSays::Nothing) => Health::Aside { until: now, pause },
            (health @ Health::Healthy, NodeSays::Nothing) | (health @ Health::Aside { .. }, _) => health,
        };
        if matches!(health, Health::Aside { .. }) {
            node.epoch += 1;
        }
        node.health = health;
    }

    /// How many nodes are not set aside.
    pub fn healthy(&self) -> usize {
        self.nodes.iter().filter(|node| node.health == Health::Healthy).count()
    }

    /// Requests under way to a node.
    pub fn in_flight(&self, node: NodeIndex) -> usize {
        self.nodes.get(node).map_or(0, |node| node.in_flight)
    }

    /// The node whose pause is over for the longest time.
    fn due(&self, now: Instant) -> Option<NodeIndex> {
        self.aside().filter(|&(_, until)| until <= now).min_by_key(|&(_, until)| until).map(|(index, _)| index)
    }

    fn least_busy_healthy(&self) -> Option<NodeIndex> {
        self.in_turn()
            .filter(|&index| self.nodes[index].health == Health::Healthy)
            .min_by_key(|&index| self.nodes[index].in_flight)
    }

    /// With no healthy node: the one whose pause ends first, or, with all of them being tried out, the least busy.
    fn soonest(&self) -> NodeIndex {
        let aside = self.aside().min_by_key(|&(_, until)| until).map(|(index, _)| index);
        aside.or_else(|| self.in_turn().min_by_key(|&index| self.nodes[index].in_flight)).unwrap_or_default()
    }

    fn aside(&self) -> impl Iterator<Item = (NodeIndex, Instant)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| match node.health {
            Health::Aside { until, .. } => Some((index, until)),
            Health::Healthy | Health::TriedOut { .. } => None,
        })
    }

    fn in_turn(&self) -> impl Iterator<Item = NodeIndex> {
        let len = self.nodes.len();
        (0..len).map(move |offset| (self.next + offset) % len)
    }
}

/// A pool that several tasks share. The lock is held for the choice only.
#[derive(Debug)]
pub(crate) struct SharedPool(Mutex<NodePool>);

impl SharedPool {
    pub(crate) fn new(len: usize) -> Self {
        SharedPool(Mutex::new(NodePool::new(len)))
    }

    pub(crate) fn pick(&self) -> PickGuard<'_> {
        PickGuard { pool: self, pick: self.lock().pick(Instant::now()), says: NodeSays::Nothing }
    }

    pub(crate) fn healthy(&self) -> usize {
        self.lock().healthy()
    }

    /// Nothing in the pool panics half way through a change, so a poisoned lock still guards a whole state.
    fn lock(&self) -> MutexGuard<'_, NodePool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands its pick back when it goes, also where the request's future is dropped half way.
pub(crate) struct PickGuard<'a> {
    pool: &'a SharedPool,
    pick: Pick,
    pub(crate) says: NodeSays,
}

impl PickGuard<'_> {
    pub(crate) fn node(&self) -> NodeIndex {
        self.pick.node
    }
}

impl Drop for PickGuard<'_> {
    fn drop(&mut self) {
        self.pool.lock().finished(self.pick, self.says, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Clock(Instant);

    impl Clock {
        fn after(&self, seconds: f64) -> Instant {
            self.0 + Duration::from_secs_f64(seconds)
        }
    }

    fn start(len: usize) -> (NodePool, Clock) {
        (NodePool::new(len), Clock(Instant::now()))
    }

    #[test]
    fn requests_go_round_and_prefer_the_least_busy() {
        let (mut pool, clock) = start(3);
        let now = clock.after(0.0);
        let picks: Vec<Pick> = (0..6).map(|_| pool.pick(now)).collect();
        assert_eq!(picks.iter().map(|p| p.node).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
        pool.finished(picks[1], NodeSays::Works, now);
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
            pool.finished(pick, NodeSays::Works, now);
        }
        assert_eq!(nodes, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_failed_node_is_set_aside_and_tried_with_one_request() {
        let (mut pool, clock) = start(2);
        let first = pool.pick(clock.after(0.0));
        pool.finished(first, NodeSays::Fails, clock.after(0.0));
        assert_eq!(pool.healthy(), 1);
        let others: Vec<Pick> = (0..3).map(|_| pool.pick(clock.after(0.9))).collect();
        assert!(others.iter().all(|pick| pick.node == 1));

        let trial = pool.pick(clock.after(1.0));
        assert_eq!(trial.node, 0);
        assert_eq!(pool.pick(clock.after(1.1)).node, 1, "only one request tries it out");
        pool.finished(trial, NodeSays::Works, clock.after(1.2));
        assert_eq!(pool.healthy(), 2);
        assert_eq!(pool.pick(clock.after(1.3)).node, 0);
    }

    #[test]
    fn the_pause_doubles_up_to_its_limit_and_starts_over_after_a_success() {
        let (mut pool, clock) = start(2);
        let pick = pool.pick(clock.after(0.0));
        pool.finished(pick, NodeSays::Fails, clock.after(0.0));
        let mut now = 0.0;
        for pause in [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0] {
            let early = pool.pick(clock.after(now + pause - 0.01));
            assert_eq!(early.node, 1, "pause {pause}");
            pool.finished(early, NodeSays::Works, clock.after(now));
            now += pause;
            let trial = pool.pick(clock.after(now));
            assert_eq!(trial.node, 0, "pause {pause}");
            pool.finished(trial, NodeSays::Fails, clock.after(now));
        }
        now += 30.0;
        let trial = pool.pick(clock.after(now));
        pool.finished(trial, NodeSays::Works, clock.after(now));
        let pick = pool.pick(clock.after(now));
        let pick = if pick.node == 0 { pick } else { pool.pick(clock.after(now)) };
        pool.finished(pick, NodeSays::Fails, clock.after(now));
        assert_eq!(pool.pick(clock.after(now + 1.0)).node, 0);
    }

    #[test]
    fn requests_that_fail_together_count_once() {
        let (mut pool, clock) = start(2);
        let picks: Vec<Pick> = (0..8).map(|_| pool.pick(clock.after(0.0))).collect();
        for pick in picks.into_iter().filter(|pick| pick.node == 0) {
            pool.finished(pick, NodeSays::Fails, clock.after(0.0));
        }
        assert_eq!(pool.pick(clock.after(1.0)).node, 0, "set aside for 1 s, not for 8");
    }

    #[test]
    fn an_answer_from_before_does_not_end_the_trial() {
        let (mut pool, clock) = start(1);
        let old = pool.pick(clock.after(0.0));
        let failing = pool.pick(clock.after(0.0));
        pool.finished(failing, NodeSays::Fails, clock.after(0.0));
        let trial = pool.pick(clock.after(1.0));
        pool.finished(old, NodeSays::Works, clock.after(1.1));
        assert_eq!(pool.healthy(), 0);
        pool.finished(trial, NodeSays::Works, clock.after(1.2));
        assert_eq!(pool.healthy(), 1);
    }

    #[test]
    fn with_all_nodes_aside_the_one_due_soonest_is_used() {
        let (mut pool, clock) = start(2);
        let (a, b) = (pool.pick(clock.after(0.0)), pool.pick(clock.after(0.0)));
        pool.finished(b, NodeSays::Fails, clock.after(0.0));
        pool.finished(a, NodeSays::Fails, clock.after(0.5));
        assert_eq!(pool.pick(clock.after(0.6)).node, b.node);
        assert_eq!(pool.pick(clock.after(0.6)).node, a.node);
        let third = pool.pick(clock.after(0.6));
        assert_eq!(pool.in_flight(third.node), 2);
    }

    #[test]
    fn a_trial_that_says_nothing_is_repeated() {
        let (mut pool, clock) = start(2);
        let first = pool.pick(clock.after(0.0));
        pool.finished(first, NodeSays::Fails, clock.after(0.0));
        let trial = pool.pick(clock.after(1.0));
        pool.finished(trial, NodeSays::Nothing, clock.after(1.0));
        assert_eq!(pool.pick(clock.after(1.0)).node, trial.node);
    }

    #[test]
    fn a_dropped_request_is_not_in_flight_for_ever() {
        let pool = SharedPool::new(1);
        drop(pool.pick());
        assert_eq!(pool.lock().in_flight(0), 0);
        assert_eq!(pool.healthy(), 1);
    }
}
