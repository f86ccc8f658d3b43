//! Ears are cut off a ring; where there is none, the ring is cured or split.

use super::nodes::{NONE, Nodes, mixed};
use super::{DEEPEST, Edition, Triangle, area, do_cross, is_in_ear};
use crate::fields::geo::NoPoint;

/// What was done when there was no ear.
enum State {
    New,
    Filtered,
    Cured,
}

impl Nodes {
    /// Cuts a ring into triangles.
    pub(super) fn cut(&mut self, start: usize, level: u32) -> Result<(), NoPoint> {
        if level > DEEPEST {
            return Err(NoPoint::Unsupported("a polygon of many parts"));
        }
        let mut state = State::New;
        let (mut ear, mut stop) = (start, start);
        while self.before(ear) != self.next(ear) {
            let (before, next) = (self.before(ear), self.next(ear));
            if self.corner(ear) < 0.0 && self.is_ear(ear) {
                let edges = [self.all[before].is_edge, self.all[ear].is_edge, self.is_edge(before, next)];
                self.push([before, ear, next], edges);
                self.remove(ear, edges[2]);
                ear = self.next(next);
                stop = ear;
                continue;
            }
            ear = next;
            if ear != stop {
                continue;
            }
            match state {
                State::New => {
                    ear = self.filter(ear, ear);
                    state = State::Filtered;
                }
                State::Filtered => {
                    ear = self.cure(ear);
                    state = State::Cured;
                }
                State::Cured => return self.split_ring(ear, level),
            }
            stop = ear;
        }
        Ok(())
    }

    fn push(&mut self, corners: [usize; 3], edges: [bool; 3]) {
        self.triangles.push(Triangle { corners: corners.map(|at| self.all[at].encoded), edges });
    }

    fn is_ear(&self, ear: usize) -> bool {
        let (before, next) = (self.before(ear), self.next(ear));
        let [a, b, c] = [before, ear, next].map(|at| self.point(at));
        let is_inside = |at: usize| is_in_ear(self.point(at), a, b, c) && self.corner(at) >= 0.0;
        if self.is_sorted {
            let places = (self.all[before].place, self.all[next].place);
            let is_other = |at: usize| self.all[at].place != places.0 && self.all[at].place != places.1;
            let (start, corners) = ((self.all[ear].before_sorted, self.all[ear].next_sorted), [before, ear, next]);
            return self.near(start, &corners, |at| (is_other(at) && is_inside(at)).then_some(())).is_none();
        }
        let mut at = self.next(next);
        while at != before {
            if is_inside(at) {
                return false;
            }
            at = self.next(at);
        }
        true
    }

    /// Looks at the nodes in the order of their mixed bits from two of them on, in both directions
    /// in turn, as far as they may be within the bounds of some corners.
    fn near<T>(
        &self,
        (mut low, mut high): (usize, usize),
        corners: &[usize],
        look: impl Fn(usize) -> Option<T>,
    ) -> Option<T> {
        let first = self.all[corners[0]].encoded;
        let encoded = corners.iter().map(|at| self.all[*at].encoded);
        let least = mixed(encoded.clone().fold(first, |a, b| (a.0.min(b.0), a.1.min(b.1))));
        let most = mixed(encoded.fold(first, |a, b| (a.0.max(b.0), a.1.max(b.1))));
        let has_low = |at: usize| at != NONE && self.all[at].mixed >= least;
        let has_high = |at: usize| at != NONE && self.all[at].mixed <= most;
        while has_low(low) && has_high(high) {
            for at in [low, high] {
                if let Some(found) = look(at) {
                    return Some(found);
                }
            }
            low = self.all[low].before_sorted;
            high = self.all[high].next_sorted;
        }
        while has_low(low) {
            if let Some(found) = look(low) {
                return Some(found);
            }
            low = self.all[low].before_sorted;
        }
        while has_high(high) {
            if let Some(found) = look(high) {
                return Some(found);
            }
            high = self.all[high].next_sorted;
        }
        None
    }

    /// Whether the line between two nodes is on an edge of the polygon.
    fn is_edge(&self, a: usize, b: usize) -> bool {
        let look = |at: usize| {
            let (next, before) = (self.next(at), self.before(at));
            let is_on = |to: usize| self.is_on_line(at, to, a) && self.is_on_line(at, to, b);
            if is_on(next) {
                return Some(self.all[at].is_edge);
            }
            is_on(before).then(|| self.all[before].is_edge)
        };
        if self.is_sorted {
            let start = (self.all[a].before_sorted, self.all[a].next_sorted);
            return self.near(start, &[a, b], look).unwrap_or(false);
        }
        let mut at = a;
        loop {
            if let Some(found) = look(at) {
                return found;
            }
            at = self.next(at);
            if at == a {
                return false;
            }
        }
    }

    /// Takes out where lines cross those after next.
    fn cure(&mut self, mut start: usize) -> usize {
        let mut at = start;
        loop {
            let next = self.next(at);
            let (a, b) = (self.before(at), self.next(next));
            if !self.is_same(a, b)
                && do_cross([self.point(a), self.point(at)], [self.point(next), self.point(b)])
                && self.is_locally_inside(a, b)
                && self.is_locally_inside(b, a)
                && !self.crosses_ring(a, b)
            {
                let edge = |from: usize, to: usize, of: usize, c: usize, d: usize| {
                    if self.next(from) == to { self.all[of].is_edge } else { self.is_edge(c, d) }
                };
                let edges = [edge(a, at, a, a, at), edge(at, b, at, at, b), edge(b, a, b, a, b)];
                // Lucene has it twice.
                self.push([a, at, b], edges);
                self.push([a, at, b], edges);
                self.remove(at, edges[2]);
                self.remove(self.next(at), edges[2]);
                at = b;
                start = b;
            }
            at = self.next(at);
            if at == start {
                return at;
            }
        }
    }

    /// Splits a ring at the first line through it, and cuts both parts.
    fn split_ring(&mut self, start: usize, level: u32) -> Result<(), NoPoint> {
        let mut at = start;
        loop {
            let mut other = self.next(self.next(at));
            while other != self.before(at) {
                if self.all[at].place != self.all[other].place && self.is_diagonal(at, other) {
                    let is_edge = self.is_edge(at, other);
                    let second = self.split(at, other, is_edge);
                    let first = self.filter(at, self.next(at));
                    let second = self.filter(second, self.next(second));
                    if self.is_sorted {
                        self.sort_again(first);
                        self.sort_again(second);
                    }
                    self.cut(first, level + 1)?;
                    return self.cut(second, level + 1);
                }
                other = self.next(other);
            }
            at = self.next(at);
            if at == start {
                break;
            }
        }
        if self.area_between(start, start) == 0.0 { Ok(()) } else { Err(NoPoint::Malformed) }
    }

    fn is_diagonal(&self, a: usize, b: usize) -> bool {
        let place = |at: usize| self.all[at].place;
        if place(self.next(a)) == place(b)
            || place(self.before(a)) == place(b)
            || !self.is_locally_inside(self.before(a), b)
            || !self.is_locally_inside(self.next(b), a)
            || self.area_between(a, b) >= 0.0
            || self.area_between(b, a) >= 0.0
        {
            return false;
        }
        if self.is_same(a, b) {
            return true;
        }
        let of = |a: usize, b: usize, c: usize| area(self.point(a), self.point(b), self.point(c));
        self.is_locally_inside(a, b)
            && self.is_locally_inside(b, a)
            && self.has_middle(a, b)
            && of(self.before(a), a, b) != 0.0
            && of(a, b, self.next(b)) != 0.0
            && of(self.next(a), a, b) != 0.0
            && of(a, b, self.before(b)) != 0.0
            && !self.crosses_ring(a, b)
    }

    /// Twice the area of the part of a ring between two nodes.
    fn area_between(&self, start: usize, end: usize) -> f64 {
        let mut at = start;
        let mut sum = 0.0;
        loop {
            let next = self.next(at);
            sum += area(self.point(at), self.point(next), self.point(end));
            at = next;
            if self.next(at) == end {
                return sum;
            }
        }
    }

    /// Whether a line from a node to another one begins in the ring.
    pub(super) fn is_locally_inside(&self, a: usize, b: usize) -> bool {
        let [own, other, before, next] = [a, b, self.before(a), self.next(a)].map(|at| self.point(at));
        let corner = area(before, own, next);
        if corner == 0.0 {
            return false;
        }
        if corner < 0.0 {
            return area(own, other, next) >= 0.0 && area(own, before, other) >= 0.0;
        }
        let is_less = |area: f64| area < 0.0 || area == 0.0 && self.edition == Edition::Third;
        is_less(area(own, other, before)) || is_less(area(own, next, other))
    }

    /// Whether the middle between two nodes is in the ring.
    fn has_middle(&self, a: usize, b: usize) -> bool {
        let (from, to) = (self.point(a), self.point(b));
        let (x, y) = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        let mut is_inside = false;
        let mut at = a;
        loop {
            let (own, next) = (self.point(at), self.point(self.next(at)));
            if (own.1 > y) != (next.1 > y) && x < (next.0 - own.0) * (y - own.1) / (next.1 - own.1) + own.0 {
                is_inside = !is_inside;
            }
            at = self.next(at);
            if at == a {
                return is_inside;
            }
        }
    }

    /// Whether the line between two nodes crosses one of the ring.
    fn crosses_ring(&self, a: usize, b: usize) -> bool {
        let line = [self.point(a), self.point(b)];
        let mut at = a;
        loop {
            let next = self.next(at);
            if !self.is_same(at, a) && !self.is_same(at, b) && do_cross([self.point(at), self.point(next)], line) {
                return true;
            }
            at = next;
            if at == a {
                return false;
            }
        }
    }
}
