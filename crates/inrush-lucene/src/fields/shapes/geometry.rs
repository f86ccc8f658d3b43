//! Geometries on the earth, and what of them is no geometry.

use crate::fields::geo::NoPoint;

/// A longitude, a latitude and perhaps a height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Position {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) z: Option<f64>,
}

impl Position {
    /// Whether all bits are the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let bits = |position: &Self| (position.x.to_bits(), position.y.to_bits(), position.z.map(f64::to_bits));
        bits(self) == bits(other)
    }
}

pub(super) type Line = Vec<Position>;

/// The rings of a polygon, of which the first one has the others as holes; none of an empty one.
pub(super) type Polygon = Vec<Line>;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Geometry {
    Points(Vec<Position>),
    Lines(Vec<Line>),
    Polygons(Vec<Polygon>),
    /// The least and the greatest longitude and latitude.
    Envelope([f64; 2], [f64; 2]),
    Collection(Vec<Geometry>),
}

impl Geometry {
    /// Whether it has heights: those of the first part decide.
    pub(super) fn has_height(&self) -> bool {
        let is_high = |position: Option<&Position>| position.is_some_and(|position| position.z.is_some());
        match self {
            Self::Points(points) => is_high(points.first()),
            Self::Lines(lines) => is_high(lines.first().and_then(|line| line.first())),
            Self::Polygons(polygons) => is_high(polygons.first().and_then(|rings| rings.first()?.first())),
            Self::Envelope(..) => false,
            Self::Collection(parts) => parts.first().is_some_and(Self::has_height),
        }
    }
}

/// Checks the parts of a collection, which all or none have heights.
pub(super) fn check_parts(heights: impl IntoIterator<Item = bool>) -> Result<(), NoPoint> {
    let mut heights = heights.into_iter();
    let first = heights.next().ok_or(NoPoint::Malformed)?;
    if heights.all(|is| is == first) { Ok(()) } else { Err(NoPoint::Malformed) }
}

pub(super) fn line_has_height(line: &Line) -> bool {
    line.first().is_some_and(|position| position.z.is_some())
}

/// Checks the rings of a polygon: each has four points at least, ends where it begins, and has
/// heights if the first one has.
pub(super) fn check_rings(rings: &Polygon) -> Result<(), NoPoint> {
    let is_closed = |ring: &Line| ring.len() >= 4 && ring.first() == ring.last();
    match rings.is_empty() || !rings.iter().all(is_closed) {
        true => Err(NoPoint::Malformed),
        false => check_parts(rings.iter().map(line_has_height)),
    }
}
