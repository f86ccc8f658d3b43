//! A machine that finds the longest beginning of a text that a pattern of classes describes.

use std::collections::HashMap;

/// A pattern of characters, by the bits of their classes.
#[derive(Clone)]
pub(super) enum Pattern {
    /// A character with one of these bits.
    One(u32),
    /// One after the other.
    Then(Vec<Pattern>),
    /// Any of them.
    Or(Vec<Pattern>),
    /// Any number of times.
    Any(Box<Pattern>),
}

impl Pattern {
    pub(super) fn any(self) -> Self {
        Self::Any(Box::new(self))
    }

    /// Once or more often.
    pub(super) fn some(self) -> Self {
        Self::Then(vec![self.clone(), self.any()])
    }

    pub(super) fn maybe(self) -> Self {
        Self::Or(vec![self, Self::Then(Vec::new())])
    }
}

/// What a step of the unfinished machine may do.
enum Step {
    /// Go on with a character that has one of these bits.
    Take(u32, usize),
    /// Go on without a character.
    Split(Vec<usize>),
    /// The pattern ends.
    Accept,
}

/// No state: the pattern cannot go on.
pub(super) const DEAD: u16 = 0;
/// The state before the first character.
pub(super) const START: u16 = 1;

/// For each state and class the next state.
pub(super) struct Machine {
    classes: usize,
    next: Vec<u16>,
    accepts: Vec<bool>,
}

impl Machine {
    /// `classes` has the bits of each class; class 0 has none.
    pub(super) fn new(pattern: &Pattern, classes: &[u32]) -> Self {
        let mut steps = vec![Step::Accept];
        let start = compile(pattern, 0, &mut steps);
        let mut states = vec![Vec::new(), reachable(&steps, [start])];
        let mut numbers = HashMap::from([(states[0].clone(), DEAD), (states[1].clone(), START)]);
        let mut next = vec![DEAD; classes.len()];
        let mut at = usize::from(START);
        while at < states.len() {
            for &bits in classes {
                let taken: Vec<usize> = states[at]
                    .iter()
                    .filter_map(|&step| match steps[step] {
                        Step::Take(wanted, then) if wanted & bits != 0 => Some(then),
                        _ => None,
                    })
                    .collect();
                let state = reachable(&steps, taken);
                // The patterns here have a few hundred states.
                let number = *numbers.entry(state.clone()).or_insert_with(|| {
                    states.push(state);
                    (states.len() - 1) as u16
                });
                next.push(number);
            }
            at += 1;
        }
        let accepts = states.iter().map(|state| state.contains(&0)).collect();
        Self { classes: classes.len(), next, accepts }
    }

    #[inline]
    pub(super) fn next(&self, state: u16, class: u8) -> u16 {
        self.next[usize::from(state) * self.classes + usize::from(class)]
    }

    #[inline]
    pub(super) fn accepts(&self, state: u16) -> bool {
        self.accepts[usize::from(state)]
    }
}

/// Adds the steps of a pattern that go on with the step `then`; returns the first.
fn compile(pattern: &Pattern, then: usize, steps: &mut Vec<Step>) -> usize {
    let step = match pattern {
        Pattern::One(bits) => Step::Take(*bits, then),
        Pattern::Then(parts) => return parts.iter().rev().fold(then, |then, part| compile(part, then, steps)),
        Pattern::Or(parts) => {
            let firsts = parts.iter().map(|part| compile(part, then, steps)).collect();
            Step::Split(firsts)
        }
        Pattern::Any(part) => {
            let at = steps.len();
            steps.push(Step::Split(Vec::new()));
            let first = compile(part, at, steps);
            steps[at] = Step::Split(vec![first, then]);
            return at;
        }
    };
    steps.push(step);
    steps.len() - 1
}

/// The steps that can be reached without a character, in ascending order.
fn reachable(steps: &[Step], from: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut seen = vec![false; steps.len()];
    let mut left: Vec<usize> = from.into_iter().collect();
    while let Some(step) = left.pop() {
        if !std::mem::replace(&mut seen[step], true)
            && let Step::Split(next) = &steps[step]
        {
            left.extend(next);
        }
    }
    (0..steps.len()).filter(|&step| seen[step] && !matches!(steps[step], Step::Split(_))).collect()
}
