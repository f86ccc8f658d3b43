//! What requests show about each node. Pure.

use std::collections::VecDeque;

use inrush_load::observe::{Outcome, Sample};

use crate::points::rounded;
use crate::snapshot::Node;

/// Nodes that viewers get.
const NODES_MAX: usize = 100;
/// The seconds of a node's mean.
const MEAN_SECONDS: usize = 60;

/// All nodes of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes(Vec<OneNode>);

/// The sums of one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneNode {
    pub(crate) name: String,
    pub(crate) healthy: bool,
    pub(crate) answered: u64,
    pub(crate) refused: u64,
    pub(crate) too_large: u64,
    pub(crate) lost: u64,
    pub(crate) docs: u64,
    pub(crate) rejected: u64,
    /// Answers of each of the last seconds, the newest last.
    recent: VecDeque<Answers>,
}

/// Answers, and the sums of their times.
#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    number: u64,
    wall: f64,
    took: f64,
}

impl Nodes {
    pub(crate) fn new(names: &[String]) -> Self {
        let node = |name: &String| OneNode { name: name.clone(), healthy: true, ..OneNode::default() };
        Nodes(names.iter().take(NODES_MAX).map(node).collect())
    }

    pub(crate) fn set_healthy(&mut self, node: usize, healthy: bool) {
        if let Some(node) = self.0.get_mut(node) {
            node.healthy = healthy;
        }
    }

    pub(crate) fn answered(&mut self, sample: &Sample) {
        let Some(node) = self.0.get_mut(usize::from(sample.node)) else { return };
        node.docs += u64::from(sample.accepted);
        node.rejected += u64::from(sample.rejected);
        match sample.outcome {
            Outcome::Answered => node.answered += 1,
            Outcome::Refused => node.refused += 1,
            Outcome::TooLarge => node.too_large += 1,
            Outcome::Lost => node.lost += 1,
        }
        if let (Outcome::Answered, Some(took)) = (sample.outcome, sample.took) {
            if node.recent.is_empty() {
                node.recent.push_back(Answers::default());
            }
            if let Some(now) = node.recent.back_mut() {
                now.number += 1;
                now.wall += sample.wall.as_secs_f64();
                now.took += took.min(sample.wall).as_secs_f64();
            }
        }
    }

    /// A second has passed.
    pub(crate) fn tick(&mut self) {
        for node in &mut self.0 {
            node.recent.push_back(Answers::default());
            if node.recent.len() > MEAN_SECONDS {
                node.recent.pop_front();
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &OneNode> {
        self.0.iter()
    }

    /// The name of a node.
    pub(crate) fn name(&self, node: usize) -> &str {
        self.0.get(node).map_or("a node", |node| node.name.as_str())
    }

    /// The nodes as viewers get them.
    pub(crate) fn shown(&self) -> Vec<Node> {
        self.0.iter().map(OneNode::shown).collect()
    }
}

impl OneNode {
    fn shown(&self) -> Node {
        let sum = |all: Answers, one: &Answers| Answers {
            number: all.number + one.number,
            wall: all.wall + one.wall,
            took: all.took + one.took,
        };
        let recent = self.recent.iter().fold(Answers::default(), sum);
        let mean = |sum: f64| (recent.number > 0).then(|| rounded(sum / recent.number as f64));
        Node {
            name: self.name.clone(),
            healthy: self.healthy,
            requests: self.answered + self.refused + self.too_large + self.lost,
            docs: self.docs,
            rejected: self.rejected,
            lost: self.lost,
            mean: mean(recent.wall),
            took: mean(recent.took),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use inrush_core::Time;

    use super::*;

    fn sample(node: u16, outcome: Outcome, wall: u64) -> Sample {
        let ms = Duration::from_millis;
        Sample {
            sent: Time::START,
            wall: ms(wall),
            took: (outcome == Outcome::Answered).then(|| ms(wall / 2)),
            bytes: 100,
            docs: 10,
            accepted: if outcome == Outcome::Answered { 9 } else { 0 },
            rejected: 1,
            outcome,
            in_flight: 1,
            source_limited: false,
            remainder: false,
            node,
        }
    }

    #[test]
    fn a_mean_is_that_of_the_last_minute() {
        let mut nodes = Nodes::new(&["a".to_owned(), "b".to_owned()]);
        nodes.answered(&sample(1, Outcome::Answered, 100));
        nodes.answered(&sample(1, Outcome::Answered, 300));
        nodes.answered(&sample(1, Outcome::Lost, 9_000));
        // An unknown node is no reason to fail.
        nodes.answered(&sample(7, Outcome::Answered, 1));
        let shown = nodes.shown();
        assert_eq!((shown[0].requests, shown[0].mean), (0, None));
        assert_eq!((shown[1].requests, shown[1].docs, shown[1].rejected, shown[1].lost), (3, 18, 3, 1));
        assert_eq!((shown[1].mean, shown[1].took), (Some(0.2), Some(0.1)));
        (0..MEAN_SECONDS).for_each(|_| nodes.tick());
        assert_eq!(nodes.shown()[1].mean, None);
        nodes.set_healthy(1, false);
        assert!(!nodes.shown()[1].healthy);
    }
}
