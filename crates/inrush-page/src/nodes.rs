//! What requests show about each node. Pure.

use std::collections::VecDeque;

use inrush_load::observe::{Sample, SampleOutcome};
use serde::{Deserialize, Serialize};

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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct OneNode {
    pub(crate) name: String,
    pub(crate) healthy: bool,
    pub(crate) answered: u64,
    pub(crate) refused: u64,
    pub(crate) too_large: u64,
    pub(crate) lost: u64,
    pub(crate) docs: u64,
    pub(crate) rejected: u64,
    /// All answers with a time of the server.
    times: Answers,
    /// The same of each of the last seconds, the newest last.
    #[serde(skip)]
    recent: VecDeque<Answers>,
}

/// Answers, and the sums of their times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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

    /// Adds the nodes of a part of the load. Returns their places here.
    pub(crate) fn join(&mut self, names: &[String]) -> Vec<u16> {
        names.iter().map(|name| self.place(name)).collect()
    }

    /// The place of a node, which is added if it is new. One that finds no room counts as the last.
    fn place(&mut self, name: &str) -> u16 {
        let known = self.0.iter().position(|node| node.name == name);
        let place = known.unwrap_or_else(|| {
            if self.0.len() < NODES_MAX {
                self.0.push(OneNode { name: name.to_owned(), healthy: true, ..OneNode::default() });
            }
            self.0.len() - 1
        });
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    /// Adds what a part of the load saw of a node since it told of it the last time.
    pub(crate) fn add(&mut self, now: &OneNode, before: Option<&OneNode>) {
        let place = usize::from(self.place(&now.name));
        let (default, node) = (OneNode::default(), &mut self.0[place]);
        let before = before.unwrap_or(&default);
        node.healthy = now.healthy;
        node.answered += now.answered.saturating_sub(before.answered);
        node.refused += now.refused.saturating_sub(before.refused);
        node.too_large += now.too_large.saturating_sub(before.too_large);
        node.lost += now.lost.saturating_sub(before.lost);
        node.docs += now.docs.saturating_sub(before.docs);
        node.rejected += now.rejected.saturating_sub(before.rejected);
        node.answer(Answers {
            number: now.times.number.saturating_sub(before.times.number),
            wall: (now.times.wall - before.times.wall).max(0.0),
            took: (now.times.took - before.times.took).max(0.0),
        });
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
            SampleOutcome::Answered => node.answered += 1,
            SampleOutcome::Refused => node.refused += 1,
            SampleOutcome::TooLarge => node.too_large += 1,
            SampleOutcome::Lost => node.lost += 1,
        }
        if let (SampleOutcome::Answered, Some(took)) = (sample.outcome, sample.took) {
            let (wall, took) = (sample.wall.as_secs_f64(), took.min(sample.wall).as_secs_f64());
            node.answer(Answers { number: 1, wall, took });
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

impl Answers {
    fn plus(self, other: Answers) -> Answers {
        Answers { number: self.number + other.number, wall: self.wall + other.wall, took: self.took + other.took }
    }
}

impl OneNode {
    fn answer(&mut self, answers: Answers) {
        self.times = self.times.plus(answers);
        match self.recent.back_mut() {
            Some(now) => *now = now.plus(answers),
            None => self.recent.push_back(answers),
        }
    }

    fn shown(&self) -> Node {
        let recent = self.recent.iter().fold(Answers::default(), |all, one| all.plus(*one));
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

    fn sample(node: u16, outcome: SampleOutcome, wall: u64) -> Sample {
        let ms = Duration::from_millis;
        Sample {
            sent: Time::START,
            wall: ms(wall),
            took: (outcome == SampleOutcome::Answered).then(|| ms(wall / 2)),
            bytes: 100,
            docs: 10,
            accepted: if outcome == SampleOutcome::Answered { 9 } else { 0 },
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
        nodes.answered(&sample(1, SampleOutcome::Answered, 100));
        nodes.answered(&sample(1, SampleOutcome::Answered, 300));
        nodes.answered(&sample(1, SampleOutcome::Lost, 9_000));
        // An unknown node is no reason to fail.
        nodes.answered(&sample(7, SampleOutcome::Answered, 1));
        let shown = nodes.shown();
        assert_eq!((shown[0].requests, shown[0].mean), (0, None));
        assert_eq!((shown[1].requests, shown[1].docs, shown[1].rejected, shown[1].lost), (3, 18, 3, 1));
        assert_eq!((shown[1].mean, shown[1].took), (Some(0.2), Some(0.1)));
        (0..MEAN_SECONDS).for_each(|_| nodes.tick());
        assert_eq!(nodes.shown()[1].mean, None);
        nodes.set_healthy(1, false);
        assert!(!nodes.shown()[1].healthy);
    }

    #[test]
    fn nodes_of_parts_are_added_up_by_their_names() {
        let name = |name: &str| name.to_owned();
        let mut all = Nodes::default();
        assert_eq!(all.join(&[name("a"), name("b")]), [0, 1]);
        assert_eq!(all.join(&[name("b"), name("c")]), [1, 2]);
        let mut part = Nodes::new(&[name("b")]);
        part.answered(&sample(0, SampleOutcome::Answered, 100));
        all.add(&part.0[0], None);
        let before = part.0[0].clone();
        part.answered(&sample(0, SampleOutcome::Answered, 300));
        part.answered(&sample(0, SampleOutcome::Lost, 1));
        all.add(&part.0[0], Some(&before));
        let shown = &all.shown()[1];
        assert_eq!((shown.requests, shown.docs, shown.lost, shown.mean), (3, 18, 1, Some(0.2)));
        (0..200).for_each(|n| drop(all.join(&[format!("more {n}")])));
        assert_eq!(all.shown().len(), NODES_MAX);
    }
}
