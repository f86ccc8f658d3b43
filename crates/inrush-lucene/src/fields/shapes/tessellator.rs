//! Triangles that are a polygon: ears are cut off its ring, with which its holes are joined.
//!
//! Source: the documentation of `org.apache.lucene.geo.Tessellator`, and what that makes of
//! polygons in Lucene 9.12, 10.4 and 10.5.

mod cutting;
mod holes;
mod nodes;

use crate::fields::geo::NoPoint;
use crate::fields::target::{KnownProduct, ServerVersion};

/// The versions of the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(crate) enum Edition {
    /// As in Lucene 9.12: a hole without a way to the ring is left out.
    First,
    /// As in Lucene 10.4: such a hole is an error, and holes that touch are joined at their
    /// leftmost point.
    Second,
    /// As in Lucene 10.5.
    Third,
}

impl Edition {
    /// That of a server, or none if its shapes are not built. OpenSearch 2.19, 3.6 and 3.8 were
    /// tried. The shapes of Elasticsearch are others.
    pub(crate) fn of(target: ServerVersion) -> Option<Self> {
        match (target.product, target.version) {
            (KnownProduct::OpenSearch, [2, 19, _]) => Some(Self::First),
            (KnownProduct::OpenSearch, [3, 6, _]) => Some(Self::Second),
            (KnownProduct::OpenSearch, [3, 8, _]) => Some(Self::Third),
            _ => None,
        }
    }
}

/// The points of a ring, of which the last one is the first one again.
pub(super) type Ring = Vec<(f64, f64)>;

/// A triangle: its corners, and which of its edges are the polygon's. The first one is between the
/// first two corners.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Triangle {
    pub(super) corners: [(i32, i32); 3],
    pub(super) edges: [bool; 3],
}

/// With more points a ring is sorted, too.
const POINTS_MAX: usize = 80;
/// The most parts of parts of a ring that are cut.
const DEEPEST: u32 = 200;

/// The triangles of a polygon with its outer ring first.
pub(super) fn triangles(rings: &[Ring], edition: Edition) -> Result<Vec<Triangle>, NoPoint> {
    let mut nodes = nodes::Nodes::new(edition);
    let outer = nodes.ring(&rings[0], 0, true)?;
    if outer == nodes.next(outer) || outer == nodes.next(nodes.next(outer)) {
        return Err(NoPoint::Malformed);
    }
    let outer = if rings.len() > 1 { nodes.join(&rings[1..], rings[0].len(), outer)? } else { outer };
    if rings.iter().map(Vec::len).sum::<usize>() > POINTS_MAX {
        nodes.is_sorted = true;
        nodes.sort(outer);
    }
    nodes.cut(outer, 0)?;
    match nodes.triangles.is_empty() {
        true => Err(NoPoint::Malformed),
        false => Ok(nodes.triangles),
    }
}

/// Twice the area of a triangle, which is negative if its corners go with the clock.
fn area(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> f64 {
    (b.1 - a.1) * (c.0 - b.0) - (b.0 - a.0) * (c.1 - b.1)
}

/// Whether a point is in an ear.
fn is_in_ear((x, y): (f64, f64), a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> bool {
    (c.0 - x) * (a.1 - y) - (a.0 - x) * (c.1 - y) >= 0.0
        && (a.0 - x) * (b.1 - y) - (b.0 - x) * (a.1 - y) >= 0.0
        && (b.0 - x) * (c.1 - y) - (c.0 - x) * (b.1 - y) >= 0.0
}

/// Whether a point is on the line between two others.
fn is_on_line(a: (f64, f64), b: (f64, f64), point: (f64, f64)) -> bool {
    let (to_x, to_y) = (point.0 - a.0, point.1 - a.1);
    let (x, y) = (b.0 - a.0, b.1 - a.1);
    let between = |from: f64, at: f64, to: f64, forward: bool| {
        if forward { from <= at && at <= to } else { to <= at && at <= from }
    };
    to_x * y - to_y * x == 0.0
        && if x.abs() >= y.abs() { between(a.0, point.0, b.0, x > 0.0) } else { between(a.1, point.1, b.1, y > 0.0) }
}

/// Whether two lines cross.
fn do_cross(a: [(f64, f64); 2], b: [(f64, f64); 2]) -> bool {
    let parts = |line: [(f64, f64); 2], other: [(f64, f64); 2]| {
        (area(line[0], line[1], other[0]) > 0.0) != (area(line[0], line[1], other[1]) > 0.0)
    };
    parts(a, b) && parts(b, a)
}
