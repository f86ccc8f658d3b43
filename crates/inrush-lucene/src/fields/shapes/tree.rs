//! The doc values of a shape: its bounds, its middle, and its parts as a tree.
//!
//! Source: the documentation of `org.apache.lucene.document.ShapeDocValues`, and of
//! `org.apache.lucene.util.IntroSelector`, by which the tree is sorted.

use super::degrees::{decoded_latitude, decoded_longitude, encoded_latitude, encoded_longitude};
use super::select::select;
use super::tessellator::Triangle;
use super::triangles::{Encoded, decoded};
use crate::fields::geo::NoPoint;
use crate::formats::output::Put;

/// What a part is, as its number in the doc values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Point = 0,
    Line = 1,
    Triangle = 2,
}

/// The bounds of a part: west, south, east and north.
#[derive(Clone, Copy)]
struct Bounds {
    west: i32,
    south: i32,
    east: i32,
    north: i32,
}

impl Bounds {
    fn with(self, other: Self) -> Self {
        Self {
            west: self.west.min(other.west),
            south: self.south.min(other.south),
            east: self.east.max(other.east),
            north: self.north.max(other.north),
        }
    }
}

/// A part, and the tree below it.
#[derive(Clone)]
struct Node {
    kind: Kind,
    triangle: Triangle,
    bounds: Bounds,
    below: [Option<Box<Node>>; 2],
}

/// The size of a part, and its middle times that.
#[derive(Clone, Copy, Default)]
struct Weight {
    size: f64,
    x: f64,
    y: f64,
}

/// The doc values of some triangles.
pub(super) fn doc_values(triangles: &[Encoded]) -> Result<Vec<u8>, NoPoint> {
    let mut nodes: Vec<Node> = triangles.iter().map(Node::new).collect();
    let highest = nodes.iter().map(|node| node.kind).max().ok_or(NoPoint::Malformed)?;
    let mut middle = Weight::default();
    for node in nodes.iter().filter(|node| node.kind == highest) {
        let weight = node.weight();
        middle = Weight { size: middle.size + weight.size, x: middle.x + weight.x, y: middle.y + weight.y };
    }
    if highest == Kind::Point {
        middle.size = nodes.len() as f64;
    }
    if middle.size != 0.0 {
        middle.x /= middle.size;
        middle.y /= middle.size;
    }
    let count = nodes.len();
    let root = tree(&mut nodes, false)?.ok_or(NoPoint::Malformed)?;
    let no_middle = |_| NoPoint::Unsupported("a shape of which the middle is out of range");
    let x = encoded_longitude(middle.x).map_err(no_middle)?;
    let y = encoded_latitude(middle.y).map_err(no_middle)?;
    let mut out = vec![0];
    out.put_vint(count as u32);
    let Bounds { west, south, east, north } = root.bounds;
    for number in [west, east, south, north, x, y] {
        out.put_vlong((i64::from(number) - i64::from(i32::MIN)) as u64);
    }
    out.put_vint(highest as u32);
    root.put_part(&mut out, root.bounds);
    root.put_below(&mut out);
    Ok(out)
}

/// Makes a tree, which is sorted by latitudes and longitudes in turn.
fn tree(nodes: &mut [Node], by_x: bool) -> Result<Option<Box<Node>>, NoPoint> {
    if nodes.is_empty() {
        return Ok(None);
    }
    let middle = (nodes.len() - 1) / 2;
    if nodes.len() > 1 {
        let key = |node: &Node| match by_x {
            true => (node.bounds.west, node.bounds.east),
            false => (node.bounds.south, node.bounds.north),
        };
        select(nodes, middle, |a, b| key(a).cmp(&key(b)))?;
    }
    let mut node = nodes[middle].clone();
    let (low, high) = nodes.split_at_mut(middle);
    node.below = [tree(low, !by_x)?, tree(&mut high[1..], !by_x)?];
    for below in node.below.iter().flatten() {
        node.bounds = node.bounds.with(below.bounds);
    }
    Ok(Some(Box::new(node)))
}

impl Node {
    fn new(numbers: &Encoded) -> Self {
        let Triangle { corners: [a, b, c], edges: [ab, bc, ca] } = decoded(numbers);
        let (kind, corners, ab) = match () {
            () if a == b && a == c => (Kind::Point, [a, b, c], ab),
            () if a == b => (Kind::Line, [a, c, a], bc | ca),
            () if a == c => (Kind::Line, [a, b, c], ab | bc),
            () if b == c => (Kind::Line, [a, b, a], ab | ca),
            () => (Kind::Triangle, [a, b, c], ab),
        };
        let of = |(x, y): (i32, i32)| Bounds { west: x, south: y, east: x, north: y };
        let bounds = of(corners[0]).with(of(corners[1])).with(of(corners[2]));
        Self { kind, triangle: Triangle { corners, edges: [ab, bc, ca] }, bounds, below: [None, None] }
    }

    fn weight(&self) -> Weight {
        let [(ax, ay), (bx, by), (cx, cy)] =
            self.triangle.corners.map(|(x, y)| (decoded_longitude(x), decoded_latitude(y)));
        match self.kind {
            Kind::Point => Weight { size: 0.0, x: ax, y: ay },
            Kind::Line => {
                let size = length(ax - bx, ay - by);
                Weight { size, x: (0.5 * (ax + bx)) * size, y: (0.5 * (ay + by)) * size }
            }
            Kind::Triangle => {
                let size = (0.5 * ((bx - ax) * (cy - ay) - (cx - ax) * (by - ay))).abs();
                Weight { size, x: ((ax + bx + cx) / 3.0) * size, y: ((ay + by + cy) / 3.0) * size }
            }
        }
    }

    /// Writes the part without the tree below it, as distances from the bounds above it.
    fn put_part(&self, out: &mut Vec<u8>, above: Bounds) {
        let [left, right] = &self.below;
        let kind = match self.kind {
            Kind::Point => 4,
            Kind::Line => 8,
            Kind::Triangle => 0,
        };
        let below = u8::from(right.is_some()) | u8::from(left.is_some()) << 1;
        let edges = (0..3).fold(0, |bits, edge| bits | u8::from(self.triangle.edges[edge]) << (4 + edge));
        out.push(below | kind | edges);
        for &(x, y) in &self.triangle.corners[..=self.kind as usize] {
            put_distance(out, above.east, x);
            put_distance(out, above.north, y);
        }
    }

    fn put_below(&self, out: &mut Vec<u8>) {
        for node in self.below.iter().flatten() {
            let mut own = Vec::new();
            let (above, bounds) = (self.bounds, node.bounds);
            put_distance(&mut own, above.east, bounds.west);
            put_distance(&mut own, above.north, bounds.south);
            put_distance(&mut own, above.east, bounds.east);
            put_distance(&mut own, above.north, bounds.north);
            node.put_part(&mut own, above);
            node.put_below(&mut own);
            out.put_vint(own.len() as u32);
            out.extend_from_slice(&own);
        }
    }
}

/// A number as its distance from a greater one.
fn put_distance(out: &mut Vec<u8>, from: i32, to: i32) {
    out.put_vlong((i64::from(from) - i64::from(to)) as u64);
}

/// The length of a line as Java's `Math.hypot` computes it, to the last bit.
///
/// Source: the documentation of `e_hypot.c` in the library `fdlibm`. Numbers here are neither huge
/// nor tiny.
fn length(x: f64, y: f64) -> f64 {
    let (x, y) = (x.abs(), y.abs());
    let (a, b) = if y > x { (y, x) } else { (x, y) };
    let high = |number: f64| f64::from_bits(number.to_bits() >> 32 << 32);
    if b == 0.0 || (a.to_bits() >> 32) - (b.to_bits() >> 32) > 0x3c0_0000 {
        return a + b;
    }
    let less = a - b;
    if less > b {
        let first = high(a);
        let rest = a - first;
        (first * first - (b * -b - rest * (a + first))).sqrt()
    } else {
        let double = a + a;
        let (of_b, first) = (high(b), high(double));
        let (rest_of_b, rest) = (b - of_b, double - first);
        (first * of_b - (less * -less - (first * rest_of_b + rest * b))).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_lines() {
        assert_eq!(length(3.0, -4.0), 5.0);
        assert_eq!(length(0.0, 0.0), 0.0);
        assert_eq!(length(5.0, 12.0), 13.0);
        assert!((length(1.0, 1.0) - 2_f64.sqrt()).abs() < 1e-15);
    }
}
