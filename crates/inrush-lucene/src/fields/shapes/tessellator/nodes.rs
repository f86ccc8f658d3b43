//! The points of rings as nodes, each of which knows its neighbours.

use super::{Edition, Ring, Triangle, area, is_on_line};
use crate::fields::geo::NoPoint;
use crate::fields::shapes::degrees::{encoded_latitude, encoded_longitude};

/// No node.
pub(super) const NONE: usize = usize::MAX;

#[derive(Clone, Copy)]
pub(super) struct Node {
    /// The place of its point in the rings.
    pub(super) place: usize,
    pub(super) point: (f64, f64),
    pub(super) encoded: (i32, i32),
    /// The bits of both numbers in turn.
    pub(super) mixed: u64,
    pub(super) before: usize,
    pub(super) next: usize,
    /// The neighbours in the order of the mixed bits.
    pub(super) before_sorted: usize,
    pub(super) next_sorted: usize,
    /// Whether the line to the next node is one of the polygon.
    pub(super) is_edge: bool,
}

pub(super) struct Nodes {
    pub(super) all: Vec<Node>,
    pub(super) edition: Edition,
    /// Whether the nodes are also in the order of their mixed bits.
    pub(super) is_sorted: bool,
    pub(super) triangles: Vec<Triangle>,
}

/// The bits of two numbers in turn. `x` has the lower ones.
pub(super) fn mixed((x, y): (i32, i32)) -> u64 {
    let spread = |number: i32| {
        let steps = [
            (16, 0x0000_ffff_0000_ffff),
            (8, 0x00ff_00ff_00ff_00ff),
            (4, 0x0f0f_0f0f_0f0f_0f0f),
            (2, 0x3333_3333_3333_3333),
            (1, 0x5555_5555_5555_5555),
        ];
        let start = u64::from(number as u32 ^ 1 << 31);
        steps.iter().fold(start, |bits, (shift, mask)| (bits | bits << shift) & mask)
    };
    spread(y) << 1 | spread(x)
}

impl Nodes {
    pub(super) fn new(edition: Edition) -> Self {
        Self { all: Vec::new(), edition, is_sorted: false, triangles: Vec::new() }
    }

    pub(super) fn next(&self, at: usize) -> usize {
        self.all[at].next
    }

    pub(super) fn before(&self, at: usize) -> usize {
        self.all[at].before
    }

    pub(super) fn point(&self, at: usize) -> (f64, f64) {
        self.all[at].point
    }

    pub(super) fn is_same(&self, a: usize, b: usize) -> bool {
        self.point(a) == self.point(b)
    }

    /// Twice the area between a node and its neighbours.
    pub(super) fn corner(&self, at: usize) -> f64 {
        area(self.point(self.before(at)), self.point(at), self.point(self.next(at)))
    }

    pub(super) fn is_on_line(&self, from: usize, to: usize, at: usize) -> bool {
        is_on_line(self.point(from), self.point(to), self.point(at))
    }

    /// Links the points of a ring, of which the first one has a place; `is_outer` ones go with the
    /// clock. Returns a node of it.
    pub(super) fn ring(&mut self, ring: &Ring, place: usize, is_outer: bool) -> Result<usize, NoPoint> {
        let is_with_clock = goes_with_clock(ring);
        let mut last = NONE;
        for at in 0..ring.len() {
            let point = if is_with_clock == is_outer { ring[at] } else { ring[ring.len() - 1 - at] };
            last = self.add(point, place + at, last)?;
        }
        if self.is_same(last, self.next(last)) {
            self.remove(last, true);
            last = self.next(last);
        }
        Ok(self.filter(last, last))
    }

    fn add(&mut self, point: (f64, f64), place: usize, last: usize) -> Result<usize, NoPoint> {
        let encoded = (encoded_longitude(point.0)?, encoded_latitude(point.1)?);
        let at = self.all.len();
        let next = if last == NONE { at } else { self.all[last].next };
        let before = if last == NONE { at } else { last };
        self.all.push(Node {
            place,
            point,
            encoded,
            mixed: mixed(encoded),
            before,
            next,
            before_sorted: before,
            next_sorted: next,
            is_edge: true,
        });
        if last != NONE {
            self.all[next].before = at;
            self.all[next].before_sorted = at;
            self.all[last].next = at;
            self.all[last].next_sorted = at;
        }
        Ok(at)
    }

    /// Takes a node out. `is_edge`: the line between its neighbours is one of the polygon.
    pub(super) fn remove(&mut self, at: usize, is_edge: bool) {
        let Node { before, next, before_sorted, next_sorted, .. } = self.all[at];
        self.all[next].before = before;
        self.all[before].next = next;
        self.all[before].is_edge = is_edge;
        if before_sorted != NONE {
            self.all[before_sorted].next_sorted = next_sorted;
        }
        if next_sorted != NONE {
            self.all[next_sorted].before_sorted = before_sorted;
        }
    }

    /// Takes out nodes that are needless: those of equal points, and those on a line.
    pub(super) fn filter(&mut self, start: usize, mut end: usize) -> usize {
        let mut at = start;
        loop {
            let (next, before) = (self.next(at), self.before(at));
            let same_edges = self.all[before].is_edge == self.all[at].is_edge;
            let is_needless = self.is_same(at, next)
                || self.is_same(before, next)
                || (same_edges || self.is_on_line(before, at, next)) && self.corner(at) == 0.0;
            if is_needless {
                self.remove(at, self.all[before].is_edge);
                at = before;
                end = before;
                if at == next {
                    return end;
                }
            } else {
                at = next;
                if at == end {
                    return end;
                }
            }
        }
    }

    /// Links two nodes, and copies of them the other way round. Returns the copy of the second one.
    pub(super) fn split(&mut self, a: usize, b: usize, is_edge: bool) -> usize {
        let (next, before) = (self.next(a), self.before(b));
        let a2 = self.all.len();
        let b2 = a2 + 1;
        self.all.push(Node { next, next_sorted: next, before: b2, before_sorted: b2, ..self.all[a] });
        self.all.push(Node { next: a2, next_sorted: a2, is_edge, ..self.all[b] });
        (self.all[a].next, self.all[a].next_sorted, self.all[a].is_edge) = (b, b, is_edge);
        (self.all[b].before, self.all[b].before_sorted) = (a, a);
        (self.all[next].before, self.all[next].before_sorted) = (a2, a2);
        (self.all[before].next, self.all[before].next_sorted) = (b2, b2);
        b2
    }

    /// Links the nodes of a ring in the order of their mixed bits. Before, the links are those of
    /// the ring.
    pub(super) fn sort(&mut self, start: usize) {
        let before = self.all[start].before_sorted;
        self.all[before].next_sorted = NONE;
        let mut chain = Vec::new();
        let mut at = start;
        while at != NONE {
            chain.push(at);
            at = self.all[at].next_sorted;
        }
        chain.sort_by_key(|at| self.all[*at].mixed);
        for (place, &at) in chain.iter().enumerate() {
            self.all[at].before_sorted = place.checked_sub(1).map_or(NONE, |before| chain[before]);
            self.all[at].next_sorted = chain.get(place + 1).copied().unwrap_or(NONE);
        }
    }

    /// As [`Self::sort`], of a ring with other links.
    pub(super) fn sort_again(&mut self, start: usize) {
        let mut at = start;
        loop {
            self.all[at].before_sorted = self.all[at].before;
            self.all[at].next_sorted = self.all[at].next;
            at = self.next(at);
            if at == start {
                break;
            }
        }
        self.sort(start);
    }
}

/// Whether Lucene takes the points of a ring to go with the clock.
fn goes_with_clock(ring: &Ring) -> bool {
    let count = ring.len() - 1;
    let last = ring[count];
    let mut sum = 0.0;
    let mut before = 0;
    for at in 1..count {
        let (a, b) = (ring[before], ring[at]);
        sum += (a.0 - last.0) * (b.1 - last.1) - (a.1 - last.1) * (b.0 - last.0);
        before = at;
    }
    sum >= 0.0
}
