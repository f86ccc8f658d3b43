//! Polygons that cross the line at which the longitudes end are cut there.
//!
//! Source: the class `GeoPolygonDecomposer` of OpenSearch.

use std::collections::{HashMap, HashSet};

use super::degrees::{DATELINE, FAR, normal_latitude, normal_longitude, side};
use super::geometry::{Line, Polygon};
use super::tessellator::Ring;
use crate::fields::geo::NoPoint;

type Result<T> = std::result::Result<T, NoPoint>;

/// Appends the parts of a polygon. `is_right`: its outer ring goes against the clock.
pub(super) fn cut(polygon: &Polygon, is_right: bool, parts: &mut Vec<Vec<Ring>>) -> Result<()> {
    let Some((outer, holes)) = polygon.split_first() else { return Ok(()) };
    if polygon.iter().flatten().any(|point| point.x.abs() > FAR) {
        return Err(NoPoint::Unsupported("a longitude beyond 1,000,000"));
    }
    for hole in holes {
        check_hole(outer, hole)?;
    }
    let mut edges = Edges { all: Vec::new(), points: vec![(f64::INFINITY, f64::INFINITY)] };
    let (mut order, mut starts, mut is_moved) = (Vec::new(), Vec::new(), false);
    for (component, ring) in polygon.iter().enumerate() {
        let start = edges.all.len();
        edges.ring(ring, component as i32, is_right, &mut is_moved)?;
        order.extend(start..edges.all.len());
        if component > 0 {
            starts.push(start);
        }
    }
    for line in [DATELINE, -DATELINE] {
        let count = edges.intersect(line, &mut order);
        edges.merge(&order, count, &mut starts)?;
    }
    edges.compose(&order, &starts, parts)
}

/// Checks that a hole has at most one point in common with the ring around it.
fn check_hole(outer: &Line, hole: &Line) -> Result<()> {
    let bits = |ring: &Line| ring.iter().map(|point| (point.x.to_bits(), point.y.to_bits())).collect::<HashSet<_>>();
    if bits(outer).intersection(&bits(hole)).count() > 1 { Err(NoPoint::Malformed) } else { Ok(()) }
}

/// The point that stands for none.
const NOWHERE: usize = 0;

/// Of each point at which an edge begins, the edge before it and itself.
type Seen = HashMap<(u64, u64), (usize, usize)>;

/// No edge yet.
const NONE: usize = usize::MAX;

#[derive(Clone, Copy)]
struct Edge {
    /// The number of the point at which it begins.
    point: usize,
    next: usize,
    /// The number of the point at which it crosses a line.
    crossing: usize,
    /// The number of its ring, and then, below 0, that of its part.
    component: i32,
}

/// Edges and their points. The same point may have several numbers.
struct Edges {
    all: Vec<Edge>,
    points: Vec<(f64, f64)>,
}

fn is_same(a: (f64, f64), b: (f64, f64)) -> bool {
    bits(a) == bits(b)
}

fn bits(point: (f64, f64)) -> (u64, u64) {
    (point.0.to_bits(), point.1.to_bits())
}

impl Edges {
    fn point(&self, at: usize) -> (f64, f64) {
        self.points[self.all[at].point]
    }

    fn next(&self, at: usize) -> usize {
        self.all[at].next
    }

    fn add_point(&mut self, point: (f64, f64)) -> usize {
        self.points.push(point);
        self.points.len() - 1
    }

    /// Adds an edge before another one, of whose ring it is.
    fn add(&mut self, point: usize, next: usize, crossing: usize) -> Result<usize> {
        let component = if next == NONE { -1 } else { self.all[next].component };
        self.all.push(Edge { point, next: NONE, crossing, component });
        let at = self.all.len() - 1;
        if next != NONE {
            self.link(at, next)?;
        }
        Ok(at)
    }

    fn link(&mut self, at: usize, next: usize) -> Result<()> {
        if is_same(self.point(at), self.point(next)) {
            return Err(NoPoint::Malformed);
        }
        self.all[at].next = next;
        Ok(())
    }

    /// Adds the edges of a ring. One that goes the wrong way around half the earth is taken to go
    /// around the other one: `is_moved`.
    fn ring(&mut self, ring: &Line, component: i32, is_right: bool, is_moved: &mut bool) -> Result<()> {
        let direction = (component == 0) != is_right;
        let mut points: Vec<(f64, f64)> = ring[..ring.len() - 1].iter().map(|point| (point.x, point.y)).collect();
        let mut goes_with_clock = goes_with_clock(&points)?;
        let (least, most) =
            points.iter().fold((points[0].0, points[0].0), |ends, point| (point.0.min(ends.0), point.0.max(ends.1)));
        let range = most - least;
        let is_wrong = component == 0 && is_right == goes_with_clock;
        if is_wrong && range > DATELINE && range != 2.0 * DATELINE || *is_moved && component != 0 {
            for point in points.iter_mut().filter(|point| point.0 < 0.0) {
                point.0 += 2.0 * DATELINE;
            }
            *is_moved |= component == 0;
            if component == 0 || is_right != goes_with_clock {
                goes_with_clock = !goes_with_clock;
            }
        }
        self.chain(&points, component, direction != goes_with_clock)
    }

    /// Links points to a ring, `backwards` from the last one on.
    fn chain(&mut self, points: &[(f64, f64)], component: i32, backwards: bool) -> Result<()> {
        let start = self.all.len();
        for &point in points {
            let point = self.add_point(point);
            self.all.push(Edge { point, next: NONE, crossing: NOWHERE, component });
        }
        let end = self.all.len() - 1;
        for at in start..end {
            if backwards { self.link(at + 1, at)? } else { self.link(at, at + 1)? }
        }
        if backwards { self.link(start, end) } else { self.link(end, start) }
    }

    /// Finds where edges cross a line, and sorts them by it. Returns how many do.
    fn intersect(&mut self, line: f64, order: &mut [usize]) -> usize {
        let mut count = 0;
        for &at in &*order {
            let (from, to) = (self.point(at), self.point(self.next(at)));
            self.all[at].crossing = NOWHERE;
            if let Some(share) = crossing(from.0, to.0, line) {
                count += 1;
                self.all[at].crossing = match share {
                    1.0 => self.all[self.next(at)].point,
                    _ => self.add_point((from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))),
                };
            }
        }
        order.sort_by(|&a, &b| self.crossing(a).1.total_cmp(&self.crossing(b).1));
        count
    }

    fn crossing(&self, at: usize) -> (f64, f64) {
        self.points[self.all[at].crossing]
    }

    /// Links the `count` edges that cross a line, of which each second one leaves the polygon.
    fn merge(&mut self, order: &[usize], count: usize, starts: &mut Vec<usize>) -> Result<()> {
        for at in (0..count).step_by(2) {
            // The server takes one that does not cross the line, and does not link it.
            let (enter, leave) = (order[at], *order.get(at + 1).ok_or(NoPoint::Malformed)?);
            let component = self.all[leave].component;
            if component > 0 {
                let last = starts.pop().ok_or(NoPoint::Malformed)?;
                let count = starts.len();
                match starts.get_mut(component as usize - 1) {
                    Some(start) => *start = last,
                    None if component as usize - 1 == count => {}
                    // The server takes the wrong hole away.
                    None => return Err(NoPoint::Unsupported("a polygon of which holes cross the last longitude")),
                }
            }
            let next = self.next(enter);
            let is_on_line = self.point(next).0.abs() == DATELINE && self.point(leave).0.abs() == DATELINE;
            let is_linked = is_on_line && is_same(self.point(self.next(next)), self.point(leave));
            if !is_linked && self.all[leave].crossing != NOWHERE {
                self.connect(enter, leave)?;
            }
        }
        Ok(())
    }

    fn connect(&mut self, enter: usize, leave: usize) -> Result<()> {
        let (from, to) = (self.all[enter], self.all[leave]);
        let ends_on_line = to.crossing == self.all[to.next].point;
        if from.crossing != self.all[from.next].point {
            let back = self.add(from.crossing, from.next, NOWHERE)?;
            let on = if ends_on_line { to.next } else { self.add(to.crossing, to.next, NOWHERE)? };
            self.all[enter].next = self.add(from.crossing, on, from.crossing)?;
            self.all[leave].next = self.add(to.crossing, back, to.crossing)?;
        } else if from.next != leave && from.point != to.crossing {
            let back = self.add(to.crossing, from.next, to.crossing)?;
            let on = if ends_on_line { to.next } else { self.add(to.crossing, to.next, NOWHERE)? };
            self.all[enter].next = self.add(from.crossing, on, from.crossing)?;
            self.all[leave].next = back;
        }
        Ok(())
    }

    /// Appends the polygons that the edges are.
    fn compose(&mut self, order: &[usize], starts: &[usize], parts: &mut Vec<Vec<Ring>>) -> Result<()> {
        let count = starts.len() as i32;
        let mut holes = Vec::new();
        for (at, &start) in starts.iter().enumerate() {
            let length = self.component(start, -(at as i32 + 1), None)?;
            holes.push(self.walk(start, length + 1)?);
        }
        let (mut main, mut own) = (Vec::new(), Vec::new());
        for &at in order {
            if self.all[at].component >= 0 {
                let length = self.component(at, -(own.len() as i32 + count + 1), Some(&mut main))?;
                own.push(vec![self.walk(at, length + 1)?]);
            }
        }
        for (&start, hole) in starts.iter().zip(holes) {
            let part = self.part_of(start, count, &mut main)?;
            own.get_mut(part).ok_or(NoPoint::Malformed)?.push(hole);
        }
        for mut rings in own {
            for (at, ring) in rings.iter_mut().enumerate() {
                for point in ring.iter_mut() {
                    let x = if at == 0 && point.0.abs() <= DATELINE { point.0 } else { normal_longitude(point.0) };
                    *point = (x, normal_latitude(point.1));
                }
            }
            let is_closed = |ring: &Ring| ring.len() >= 4 && ring.first() == ring.last();
            if !rings.iter().all(is_closed) {
                return Err(NoPoint::Malformed);
            }
            parts.push(rings);
        }
        Ok(())
    }

    /// The points of a ring from the second one on.
    fn walk(&self, start: usize, count: usize) -> Result<Ring> {
        let mut ring = Vec::with_capacity(count);
        let mut at = start;
        for _ in 0..count {
            at = self.next(at);
            ring.push(self.point(at));
        }
        if is_same(ring[0], ring[count - 1]) { Ok(ring) } else { Err(NoPoint::Malformed) }
    }

    /// Gives the edges of a ring a number, and moves them into the range of degrees. Returns how
    /// many they are. A ring that touches itself at a point is split there, if it is no hole.
    fn component(&mut self, start: usize, id: i32, mut main: Option<&mut Vec<usize>>) -> Result<usize> {
        let shift = self.shift_of(start)?;
        let (mut length, mut split, mut at, mut before) = (0, 1, start, start);
        let mut seen = Seen::new();
        loop {
            if shift != 0.0 {
                let (x, y) = self.point(at);
                self.all[at].point = self.add_point((-2.0 * shift + x, y));
            }
            self.all[at].component = id;
            length += 1;
            if let Some(main) = &mut main {
                main.push(at);
                if let Some(&(_, first)) = seen.get(&bits(self.point(at))) {
                    split += self.split(first, at, before, &seen)?;
                    break;
                }
                seen.insert(bits(self.point(at)), (before, at));
                before = at;
            }
            at = self.next(at);
            if at == start {
                break;
            }
            if length > self.all.len() {
                return Err(NoPoint::Unsupported("a polygon without an end"));
            }
        }
        if split == 1 { Ok(length) } else { length.checked_sub(split).ok_or(NoPoint::Malformed) }
    }

    /// Splits a ring where the edge `at` begins at the same point as the edge `first`. The edges
    /// between them are a ring of their own, marked as not yet seen. Returns their number.
    fn split(&mut self, first: usize, at: usize, mut before: usize, seen: &Seen) -> Result<usize> {
        let id = -self.all[at].component;
        (self.all[first].next, self.all[at].next) = (self.next(at), self.next(first));
        self.all[at].component = id;
        let mut count = 0;
        loop {
            self.all[before].component = id;
            before = seen.get(&bits(self.point(before))).ok_or(NoPoint::Malformed)?.0;
            count += 1;
            if is_same(self.point(before), self.point(at)) {
                return Ok(count);
            }
            if count > seen.len() {
                return Err(NoPoint::Unsupported("a polygon without an end"));
            }
        }
    }

    /// How far a ring is moved, which is on one side of the last longitude.
    fn shift_of(&self, start: usize) -> Result<f64> {
        let (mut any, mut steps) = (start, 0);
        while self.point(any).0.abs() == DATELINE {
            any = self.next(any);
            steps += 1;
            if any == start {
                break;
            }
            if steps > self.all.len() {
                return Err(NoPoint::Unsupported("a polygon without an end"));
            }
        }
        let x = self.point(any).0;
        Ok(if x.abs() > DATELINE { DATELINE.copysign(x) } else { 0.0 })
    }

    /// The number of the part in which a hole is: that whose edge is next to the south.
    fn part_of(&mut self, hole: usize, holes: i32, main: &mut [usize]) -> Result<usize> {
        let point = self.point(hole);
        let count = self.intersect(point.0, main);
        let crossed = &main[..count];
        if crossed.is_empty() {
            return Err(NoPoint::Malformed);
        }
        let order = |at: &usize| self.crossing(*at).1.total_cmp(&point.1);
        let below = crossed.partition_point(|at| order(at).is_lt());
        let level = &crossed[below..below + crossed[below..].partition_point(|at| order(at).is_eq())];
        let are_same = level.iter().filter(|at| is_same(self.crossing(**at), point)).count();
        let index = match (are_same, level.len()) {
            (0, 0) => below.saturating_sub(1),
            (0, _) => return Err(NoPoint::Malformed),
            (some, all) if some == all => 0,
            _ => return Err(NoPoint::Unsupported("a hole that touches its polygon")),
        };
        usize::try_from(-self.all[main[index]].component - holes - 1).map_err(|_| NoPoint::Malformed)
    }
}

/// The share of the way at which an edge crosses a line, without its beginning.
fn crossing(from: f64, to: f64, line: f64) -> Option<f64> {
    if from == to {
        return (from == line).then_some(1.0);
    }
    let share = (line - from) / (to - from);
    (share <= 1.0 && share > 0.0).then_some(share)
}

/// Whether the points of a ring go with the clock, by the one in the south-west.
fn goes_with_clock(points: &[(f64, f64)]) -> Result<bool> {
    let count = points.len();
    let mut low = 0;
    for at in 1..count {
        let (point, least) = (points[at], points[low]);
        if point.1 < least.1 || point.1 == least.1 && point.0 < least.0 {
            low = at;
        }
    }
    match side(points[(low + count - 1) % count], points[low], points[(low + 1) % count]) {
        0 => Err(NoPoint::Malformed),
        side => Ok(side < 0),
    }
}
