//! Holes are joined with the ring around them, from the left to the right.

use super::nodes::{NONE, Nodes};
use super::{Edition, Ring, area, is_in_ear};
use crate::fields::geo::NoPoint;

/// A hole: its leftmost node, and the least and the greatest coordinates of its ring.
struct Hole {
    leftmost: usize,
    least: (f64, f64),
    most: (f64, f64),
}

impl Nodes {
    /// Joins holes with the ring of the node `outer`, which has `place` points.
    pub(super) fn join(&mut self, rings: &[Ring], mut place: usize, mut outer: usize) -> Result<usize, NoPoint> {
        let mut holes = Vec::new();
        for ring in rings {
            let start = self.ring(ring, place, false)?;
            if start == self.next(start) {
                return Err(NoPoint::Malformed);
            }
            place += ring.len();
            let least = ring.iter().fold(ring[0], |least, point| (least.0.min(point.0), least.1.min(point.1)));
            let most = ring.iter().fold(ring[0], |most, point| (most.0.max(point.0), most.1.max(point.1)));
            holes.push(Hole { leftmost: self.leftmost(start), least, most });
        }
        let key = |hole: &Hole| {
            let of = |at: usize| self.point(at).1;
            let (x, y) = self.point(hole.leftmost);
            (x, y, of(self.before(hole.leftmost)).min(of(self.next(hole.leftmost))))
        };
        holes.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal));
        for hole in holes {
            match self.join_one(&hole, outer)? {
                Some(joined) => outer = self.filter(joined, self.next(joined)),
                None if self.edition == Edition::First => outer = self.filter(outer, self.next(outer)),
                None => return Err(NoPoint::Malformed),
            }
        }
        Ok(self.filter(outer, outer))
    }

    fn leftmost(&self, start: usize) -> usize {
        let (mut found, mut at) = (start, start);
        loop {
            if self.point(at) < self.point(found) {
                found = at;
            }
            at = self.next(at);
            if at == start {
                return found;
            }
        }
    }

    /// Joins a hole with the ring; returns a node of that. None if there is no way to it.
    fn join_one(&mut self, hole: &Hole, outer: usize) -> Result<Option<usize>, NoPoint> {
        if let Some(joined) = self.join_at_point(hole, outer)? {
            return Ok(Some(joined));
        }
        let at = hole.leftmost;
        let Some(bridge) = self.bridge(at, outer) else { return Ok(None) };
        let is_third = self.edition == Edition::Third;
        let is_edge = self.is_on_line(bridge, self.next(bridge), at)
            || is_third && self.is_on_line(bridge, self.before(bridge), at)
            || self.is_on_line(at, self.next(at), bridge)
            || is_third && self.is_on_line(at, self.before(at), bridge);
        self.split(bridge, at, is_edge);
        Ok(Some(outer))
    }

    /// Joins a hole at a point that it has in common with the ring.
    fn join_at_point(&mut self, hole: &Hole, outer: usize) -> Result<Option<usize>, NoPoint> {
        // A node of the hole and one of the ring, and the first one of the ring at the leftmost.
        let (mut shared, mut first): (Option<(usize, usize)>, _) = (None, None);
        let mut at = outer;
        loop {
            let (x, y) = self.point(at);
            let is_inside = x >= hole.least.0 && x <= hole.most.0 && y >= hole.least.1 && y <= hole.most.1;
            if let Some(own) = is_inside.then(|| self.same_of(hole.leftmost, at)).flatten() {
                if self.is_same(own, hole.leftmost) && first.is_none() {
                    first = Some(at);
                }
                match shared {
                    None => shared = Some((own, at)),
                    Some((before, other)) if before == own => {
                        shared = Some((own, self.inner(own, other, at)?));
                    }
                    Some(_) => {}
                }
            }
            at = self.next(at);
            if at == outer {
                break;
            }
        }
        let Some((own, of_ring)) = shared else { return Ok(None) };
        if let Some(first) = first.filter(|_| self.edition != Edition::First)
            && self.all[first].place >= self.all[of_ring].place
        {
            self.split(first, hole.leftmost, true);
            return Ok(Some(if first == of_ring { outer } else { first }));
        }
        self.split(of_ring, own, true);
        Ok(Some(outer))
    }

    /// The node of the ring of `start` that has the same point as another one.
    fn same_of(&self, start: usize, other: usize) -> Option<usize> {
        let mut at = start;
        loop {
            if self.is_same(at, other) {
                return Some(at);
            }
            at = self.next(at);
            if at == start {
                return None;
            }
        }
    }

    /// Which of two nodes of the ring has the smaller angle with a hole.
    fn inner(&self, hole: usize, a: usize, b: usize) -> Result<usize, NoPoint> {
        let next = self.point(self.next(hole));
        let [one, other] = [a, b].map(|at| area(self.point(self.before(at)), self.point(hole), next));
        if (one < 0.0) != (other < 0.0) {
            return Ok(if one < other { a } else { b });
        }
        let cosines = [a, b].map(|at| cosine(self.point(self.before(at)), self.point(at), next));
        let [one, other] = cosines.map(f64::acos);
        // Java's arc cosine is not known to the last bit.
        if cosines[0] != cosines[1] && (one - other).abs() < 1e-12 {
            return Err(NoPoint::Unsupported("a hole with two angles that are nearly the same"));
        }
        Ok(if one < other { a } else { b })
    }

    /// The node of the ring to which the leftmost node of a hole is linked.
    fn bridge(&self, hole: usize, outer: usize) -> Option<usize> {
        let (x, y) = self.point(hole);
        let mut crossed = f64::NEG_INFINITY;
        let mut found = NONE;
        let mut at = outer;
        loop {
            let (own, next) = (self.point(at), self.point(self.next(at)));
            if y <= own.1 && y >= next.1 && next.1 != own.1 {
                let on_line = own.0 + (y - own.1) * (next.0 - own.0) / (next.1 - own.1);
                if on_line <= x && on_line > crossed {
                    crossed = on_line;
                    if on_line == x && y == own.1 {
                        return Some(at);
                    }
                    if on_line == x && y == next.1 {
                        return Some(self.next(at));
                    }
                    found = if own.0 < next.0 { at } else { self.next(at) };
                }
            }
            at = self.next(at);
            if at == outer {
                break;
            }
        }
        match found {
            NONE => None,
            found if x == crossed => Some(self.before(found)),
            found => Some(self.nearest(hole, found, crossed)),
        }
    }

    /// The node between a hole and the node `found` that has the least angle; that one, if there is
    /// none between.
    fn nearest(&self, hole: usize, mut found: usize, crossed: f64) -> usize {
        let (x, y) = self.point(hole);
        let stop = found;
        let (far_x, far_y) = self.point(found);
        let ends = if y < far_y { (x, crossed) } else { (crossed, x) };
        let mut least = f64::INFINITY;
        let mut at = found;
        loop {
            let point = self.point(at);
            let is_between = x >= point.0
                && point.0 >= far_x
                && x != point.0
                && is_in_ear(point, (ends.0, y), (far_x, far_y), (ends.1, y));
            if is_between {
                let tangent = (y - point.1).abs() / (x - point.0);
                let is_nearer = tangent < least || tangent == least && point.0 > self.point(found).0;
                if is_nearer && self.is_locally_inside(at, hole) {
                    found = at;
                    least = tangent;
                }
            }
            at = self.next(at);
            if at == stop {
                return found;
            }
        }
    }
}

/// The cosine of the angle at `b`.
fn cosine(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> f64 {
    let (ax, ay, cx, cy) = (a.0 - b.0, a.1 - b.1, c.0 - b.0, c.1 - b.1);
    let product = ax * cx + ay * cy;
    let (a, c) = ((ax * ax + ay * ay).sqrt(), (cx * cx + cy * cy).sqrt());
    product / (a * c)
}
