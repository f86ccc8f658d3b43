//! Geometries as GeoJSON.
//!
//! Sources: the documentation of `geo_shape` in OpenSearch, and its class `GeoJson`.

use super::geometry::{Geometry, Line, Polygon, Position, check_parts, check_rings, line_has_height};
use crate::fields::geo::NoPoint;
use crate::fields::json::{Reader, Scalar};
use crate::fields::values::decimal;

/// The most collections in each other that are read.
const DEEPEST: u32 = 20;

type Result<T> = std::result::Result<T, NoPoint>;

fn malformed<E>(_: E) -> NoPoint {
    NoPoint::Malformed
}

/// What an object has.
#[derive(Default)]
struct Members<'a> {
    kind: Option<String>,
    coordinates: Option<Node>,
    geometries: Option<Vec<&'a str>>,
    /// Whether the outer ring goes against the clock.
    is_right: Option<bool>,
}

/// A point, or a list of points or lists.
enum Node {
    Point(Position),
    List(Vec<Node>),
}

/// Reads an object. `coerce`: rings that are open are closed. A server in which `level` objects
/// are above it.
pub(super) fn read(text: &str, coerce: bool, level: u32) -> Result<Geometry> {
    if level > DEEPEST {
        return Err(NoPoint::Unsupported("collections in each other of more than 20 levels"));
    }
    let Members { kind, coordinates, geometries, is_right } = members(text)?;
    let kind = kind.ok_or(NoPoint::Malformed)?;
    let name = if kind.eq_ignore_ascii_case("bbox") { "ENVELOPE".to_owned() } else { kind.to_uppercase() };
    if name == "GEOMETRYCOLLECTION" {
        let (Some(geometries), None, None) = (geometries, coordinates, is_right) else {
            return Err(NoPoint::Malformed);
        };
        let parts = geometries.into_iter().map(|text| read(text, coerce, level + 1)).collect::<Result<Vec<_>>>()?;
        check_parts(parts.iter().map(Geometry::has_height))?;
        return Ok(Geometry::Collection(parts));
    }
    let coordinates = coordinates.ok_or(NoPoint::Malformed)?;
    let is_polygon = name == "POLYGON" || name == "MULTIPOLYGON";
    if geometries.is_some() || is_right.is_some() && !is_polygon {
        return Err(NoPoint::Malformed);
    }
    let ring = Ring { forward: is_right.unwrap_or(true), coerce };
    Ok(match name.as_str() {
        "POINT" => Geometry::Points(vec![coordinates.point()?]),
        "MULTIPOINT" => {
            let points = coordinates.each(Node::point)?;
            check_parts(points.iter().map(|point| point.z.is_some()))?;
            Geometry::Points(points)
        }
        "LINESTRING" => Geometry::Lines(vec![coordinates.line(None)?]),
        "MULTILINESTRING" => {
            let lines = coordinates.each(|node| node.line(None))?;
            check_parts(lines.iter().map(line_has_height))?;
            Geometry::Lines(lines)
        }
        "POLYGON" => Geometry::Polygons(vec![coordinates.polygon(ring)?]),
        "MULTIPOLYGON" => {
            let polygons = coordinates.each(|node| node.polygon(ring))?;
            check_parts(polygons.iter().map(|rings| line_has_height(&rings[0])))?;
            Geometry::Polygons(polygons)
        }
        "ENVELOPE" => coordinates.envelope()?,
        _ => return Err(NoPoint::Malformed),
    })
}

fn members(text: &str) -> Result<Members<'_>> {
    let mut reader = Reader::new(text);
    reader.open(b'{').map_err(malformed)?;
    let mut found = Members::default();
    let mut first = true;
    while reader.more(first, b'}').map_err(malformed)? {
        first = false;
        match &*reader.name().map_err(malformed)? {
            "type" => found.kind = Some(string(&mut reader)?),
            "orientation" => found.is_right = Some(is_right(&string(&mut reader)?).ok_or(NoPoint::Malformed)?),
            "coordinates" if reader.peek() == b'[' => {
                found.coordinates = Some(Node::read(reader.raw().map_err(malformed)?)?);
            }
            "geometries" => found.geometries = Some(geometries(&mut reader)?),
            // Circles are not indexed, and nothing else has a radius.
            "coordinates" | "radius" => return Err(NoPoint::Malformed),
            _ => reader.skip().map_err(malformed)?,
        }
    }
    Ok(found)
}

fn string(reader: &mut Reader) -> Result<String> {
    match reader.peek() {
        b'"' => match reader.scalar().map_err(malformed)? {
            Scalar::Text(text) => Ok(text.into_owned()),
            _ => Err(NoPoint::Malformed),
        },
        _ => Err(NoPoint::Malformed),
    }
}

/// Whether an orientation is against the clock; none if it is no orientation.
pub(crate) fn is_right(name: &str) -> Option<bool> {
    match name.to_lowercase().as_str() {
        "right" | "counterclockwise" | "ccw" => Some(true),
        "left" | "clockwise" | "cw" => Some(false),
        _ => None,
    }
}

/// The objects of a collection: an array, or one object.
fn geometries<'a>(reader: &mut Reader<'a>) -> Result<Vec<&'a str>> {
    match reader.peek() {
        b'{' => return Ok(vec![reader.raw().map_err(malformed)?]),
        b'[' => {}
        _ => return Err(NoPoint::Malformed),
    }
    let found = elements(reader.raw().map_err(malformed)?)?;
    match found.iter().all(|text| text.starts_with('{')) {
        true => Ok(found),
        false => Err(NoPoint::Unsupported("a geometry that is no object")),
    }
}

/// The text of each thing in an array.
fn elements(text: &str) -> Result<Vec<&str>> {
    let mut reader = Reader::new(text);
    reader.open(b'[').map_err(malformed)?;
    let mut found = Vec::new();
    while reader.more(found.is_empty(), b']').map_err(malformed)? {
        found.push(reader.raw().map_err(malformed)?);
    }
    Ok(found)
}

/// How a ring is read.
#[derive(Clone, Copy)]
struct Ring {
    /// Whether its points are in their order, and not from the last one on.
    forward: bool,
    coerce: bool,
}

impl Node {
    fn read(text: &str) -> Result<Self> {
        let found = elements(text)?;
        let is_list = |text: &&str| text.starts_with('[');
        match found.first() {
            None => Ok(Self::List(Vec::new())),
            Some(first) if !is_list(first) => Ok(Self::Point(position(&found)?)),
            Some(_) if !found.iter().all(is_list) => Err(NoPoint::Unsupported("coordinates of points and lists")),
            Some(_) => {
                let nodes = found.into_iter().map(Self::read).collect::<Result<Vec<_>>>()?;
                if nodes.len() > 1 {
                    check_parts(nodes.iter().map(Self::is_high).collect::<Result<Vec<_>>>()?)?;
                }
                Ok(Self::List(nodes))
            }
        }
    }

    /// Whether its first point has a height.
    fn is_high(&self) -> Result<bool> {
        match self {
            Self::Point(position) => Ok(position.z.is_some()),
            Self::List(nodes) => nodes.first().ok_or(NoPoint::Malformed)?.is_high(),
        }
    }

    fn point(&self) -> Result<Position> {
        match self {
            Self::Point(position) => Ok(*position),
            Self::List(_) => Err(NoPoint::Malformed),
        }
    }

    fn list(&self) -> Result<&[Self]> {
        match self {
            Self::Point(_) => Err(NoPoint::Malformed),
            Self::List(nodes) => Ok(nodes),
        }
    }

    fn each<T>(&self, read: impl Fn(&Self) -> Result<T>) -> Result<Vec<T>> {
        self.list()?.iter().map(read).collect()
    }

    /// A line, or a ring.
    ///
    /// The server closes a ring from the last point on with a point at 0, which also stands where
    /// the last one was.
    fn line(&self, ring: Option<Ring>) -> Result<Line> {
        let mut points = self.each(Self::point)?;
        let [first, .., last] = points.as_slice() else { return Err(NoPoint::Malformed) };
        let is_closed = first.is_same(last);
        let Some(Ring { forward, coerce }) = ring else { return Ok(points) };
        let is_short = coerce && !is_closed;
        if !forward {
            if is_short {
                points.push(Position { x: 0.0, y: 0.0, z: first.z.map(|_| 0.0) });
            }
            points.reverse();
        }
        if is_short {
            let first = points[0];
            if forward {
                points.push(first);
            } else {
                let end = points.len() - 1;
                points[end] = first;
            }
        }
        Ok(points)
    }

    fn polygon(&self, ring: Ring) -> Result<Polygon> {
        let rings = self.each(|node| node.line(Some(ring)))?;
        check_rings(&rings)?;
        Ok(rings)
    }

    fn envelope(&self) -> Result<Geometry> {
        let [upper, lower] = self.list()? else { return Err(NoPoint::Malformed) };
        let (upper, lower) = (upper.point()?, lower.point()?);
        if upper.y < lower.y {
            return Err(NoPoint::Malformed);
        }
        Ok(Geometry::Envelope([upper.x, lower.x], [lower.y, upper.y]))
    }
}

/// A longitude, a latitude, and perhaps a height.
fn position(texts: &[&str]) -> Result<Position> {
    let number = |text: &str| match Reader::new(text).scalar() {
        // A whole number has no negative zero.
        Ok(Scalar::Number("-0")) => Ok(0.0),
        Ok(Scalar::Number(text)) => decimal(text).ok_or(NoPoint::Unsupported("a coordinate beyond numbers of 64 bits")),
        _ => Err(NoPoint::Malformed),
    };
    let (Some(x), Some(y)) = (texts.first(), texts.get(1)) else { return Err(NoPoint::Malformed) };
    let (x, y) = (number(x)?, number(y)?);
    match texts[2..] {
        [] => Ok(Position { x, y, z: None }),
        [z] => match number(z) {
            Err(NoPoint::Malformed) => Err(NoPoint::Unsupported("a coordinate that is no number")),
            z => Ok(Position { x, y, z: Some(z?) }),
        },
        [z, more, ..] => match (number(z), number(more)) {
            (Ok(_), Ok(_)) => Err(NoPoint::Malformed),
            _ => Err(NoPoint::Unsupported("a coordinate that is no number")),
        },
    }
}
