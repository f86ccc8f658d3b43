//! Shapes on the earth, as fields of type `geo_shape` take them in OpenSearch: points, lines,
//! polygons and envelopes, all of which become triangles.
//!
//! Sources: the documentation of `geo_shape` in OpenSearch, its classes `GeoShapeIndexer` and
//! `GeometryParser`, and the documentation of `org.apache.lucene.document.LatLonShape`.

mod degrees;
mod geo_json;
mod geometry;
mod lines;
mod polygons;
mod select;
mod tessellator;
mod tree;
mod triangles;
mod well_known;

pub(crate) use self::geo_json::is_right;
pub(crate) use self::tessellator::Edition;
pub(crate) use self::triangles::Encoded;

use self::degrees::{DATELINE, encoded_latitude, encoded_longitude, normal_point};
use self::geometry::Geometry;
use self::tessellator::{Ring, Triangle};
use crate::fields::geo::NoPoint;
use crate::fields::json::{Reader, Scalar};

/// How shapes are read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ShapeOptions {
    /// Whether rings that are open are closed.
    pub(crate) coerce: bool,
    /// Whether the outer rings of polygons go against the clock.
    pub(crate) is_right: bool,
    /// Whether a third number is left out.
    pub(crate) ignore_height: bool,
    pub(crate) edition: Edition,
}

/// What is indexed of a shape.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) triangles: Vec<Encoded>,
    pub(crate) doc_values: Option<Vec<u8>>,
}

/// Reads a value that is no array; nothing comes of null.
pub(crate) fn shape(text: &str, options: ShapeOptions, doc_values: bool) -> Result<Option<Shape>, NoPoint> {
    let mut reader = Reader::new(text);
    let geometry = match reader.peek() {
        b'n' => return Ok(None),
        b'{' => geo_json::read(text, options.coerce, 0)?,
        b'"' => match reader.scalar() {
            Ok(Scalar::Text(text)) => well_known::read(&text, options.coerce)?,
            _ => return Err(NoPoint::Malformed),
        },
        _ => return Err(NoPoint::Malformed),
    };
    if !options.ignore_height && has_heights(&geometry) {
        return Err(NoPoint::Malformed);
    }
    let mut found = Vec::new();
    add(&geometry, options, &mut found)?;
    let triangles = found.into_iter().map(triangles::encoded).collect::<Result<Vec<_>, _>>()?;
    let doc_values = if doc_values { Some(tree::doc_values(&triangles)?) } else { None };
    Ok(Some(Shape { triangles, doc_values }))
}

/// Whether any point has a height.
fn has_heights(geometry: &Geometry) -> bool {
    match geometry {
        Geometry::Points(points) => points.iter().any(|point| point.z.is_some()),
        Geometry::Lines(lines) => lines.iter().flatten().any(|point| point.z.is_some()),
        Geometry::Polygons(polygons) => polygons.iter().flatten().flatten().any(|point| point.z.is_some()),
        Geometry::Envelope(..) => false,
        Geometry::Collection(parts) => parts.iter().any(has_heights),
    }
}

/// Appends the triangles of a geometry.
fn add(geometry: &Geometry, options: ShapeOptions, found: &mut Vec<Triangle>) -> Result<(), NoPoint> {
    match geometry {
        Geometry::Points(points) => {
            for point in points {
                let point = normal_point((point.x, point.y), true);
                add_line(&[point, point], found)?;
            }
        }
        Geometry::Lines(lines) => {
            let mut parts = Vec::new();
            lines.iter().try_for_each(|line| lines::cut(line, &mut parts))?;
            parts.iter().try_for_each(|part| add_line(part, found))?;
        }
        Geometry::Polygons(polygons) => {
            let mut parts = Vec::new();
            polygons.iter().try_for_each(|polygon| polygons::cut(polygon, options.is_right, &mut parts))?;
            for rings in parts {
                found.extend(tessellator::triangles(&rings, options.edition)?);
            }
        }
        Geometry::Envelope([west, east], ys) => {
            let parts = match west > east {
                true => vec![(*west, DATELINE), (-DATELINE, *east)],
                false => vec![(*west, *east)],
            };
            for xs in parts {
                found.extend(tessellator::triangles(&[envelope(xs, *ys)], options.edition)?);
            }
        }
        Geometry::Collection(parts) => parts.iter().try_for_each(|part| add(part, options, found))?,
    }
    Ok(())
}

fn envelope((west, east): (f64, f64), [south, north]: [f64; 2]) -> Ring {
    vec![(west, south), (east, south), (east, north), (west, north), (west, south)]
}

/// Appends the triangles of a line, each of which goes there and back.
fn add_line(line: &[(f64, f64)], found: &mut Vec<Triangle>) -> Result<(), NoPoint> {
    let encoded = |(x, y): &(f64, f64)| Ok((encoded_longitude(*x)?, encoded_latitude(*y)?));
    let points = line.iter().map(encoded).collect::<Result<Vec<_>, _>>()?;
    if points.len() < 2 {
        return Err(NoPoint::Malformed);
    }
    found.extend(points.windows(2).map(|ends| Triangle { corners: [ends[0], ends[1], ends[0]], edges: [true; 3] }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Edition, Shape, ShapeOptions, shape};
    use crate::fields::geo::NoPoint;

    const OPTIONS: ShapeOptions =
        ShapeOptions { coerce: false, is_right: true, ignore_height: true, edition: Edition::Second };

    fn with(text: &str, options: ShapeOptions) -> Option<Shape> {
        match shape(text, options, true) {
            Ok(found) => found,
            Err(NoPoint::Malformed) => None,
            Err(NoPoint::Unsupported(what)) => panic!("{text}: {what}"),
        }
    }

    /// How many triangles a shape has.
    fn count(text: &str) -> Option<usize> {
        with(text, OPTIONS).map(|shape| shape.triangles.len())
    }

    #[test]
    fn a_point_is_a_triangle_without_an_area() {
        let shape = with(r#"{"type":"Point","coordinates":[1.5,-2]}"#, OPTIONS).unwrap();
        let (x, y) = ((1.5 * 4_294_967_296.0 / 360.0) as i32, (-2.0_f64 * 4_294_967_296.0 / 180.0).floor() as i32);
        assert_eq!(shape.triangles, [[y, x, y, x, y, x, 0b11_1000]]);
        assert_eq!(with("\"POINT (1.5 -2)\"", OPTIONS), Some(shape));
    }

    #[test]
    fn shapes_have_triangles() {
        for (text, triangles) in [
            (r#""LINESTRING (1 2, 3 4, 5 5)""#, 2),
            (r#""LINESTRING (170 0, 190 0)""#, 2),
            (r#""BBOX (1, 2, 4, 3)""#, 2),
            (r#""BBOX (170, -170, 4, 3)""#, 4),
            (r#""POINT EMPTY""#, 1),
            (r#""POINT (1 2) and more""#, 1),
            (r#""POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (2 2, 2 3, 3 3, 3 2, 2 2))""#, 8),
            (r#""MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((3 3, 4 3, 4 4, 3 3)))""#, 2),
            (r#""GEOMETRYCOLLECTION (POINT (1 2), GEOMETRYCOLLECTION (LINESTRING (1 2, 3 4)))""#, 2),
            (r#""POLYGON ((0 0, 4 0, 2 2, 4 4, 0 4, 2 2, 0 0))""#, 2),
            (r#"{"coordinates":[[1,4],[3,2]],"crs":{"x":[1]},"type":"bbox"}"#, 2),
            (r#"{"type":"GeometryCollection","geometries":{"type":"Point","coordinates":[1,2]}}"#, 1),
            (r#"{"type":"Polygon","coordinates":[[[170,0],[190,0],[190,9],[170,9],[170,0]]]}"#, 4),
            (r#"{"type":"MULTIPOINT","coordinates":[[1,2,3],[4,5,6]]}"#, 2),
        ] {
            assert_eq!(count(text), Some(triangles), "{text}");
        }
    }

    #[test]
    fn what_is_no_shape() {
        for text in [
            "5",
            "\"\"",
            "{}",
            r#""CIRCLE (1 2 3)""#,
            r#""MULTIPOINT ((1 2), (3 4))""#,
            r#""MULTIPOINT EMPTY""#,
            r#""POLYGON ((0 0, 1 0, 1 1))""#,
            r#""POLYGON ((0 0, 1 1, 2 2, 0 0))""#,
            r#""POLYGON ((0 0, 9 0, 9 9, 0 0), (20 20, 21 20, 21 21, 20 20))""#,
            r#"{"type":"Point","coordinates":[1]}"#,
            r#"{"type":"Point","coordinates":[1,2,3,4]}"#,
            r#"{"type":"Point","coordinates":["1",2]}"#,
            r#"{"type":"Point","coordinates":[1,2],"orientation":"left"}"#,
            r#"{"type":"circle","coordinates":[1,2],"radius":"5m"}"#,
            r#"{"type":"envelope","coordinates":[[1,2],[3,4]]}"#,
            r#"{"type":"LineString","coordinates":[[1,2],[3,4,5]]}"#,
            r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1]]]}"#,
        ] {
            assert_eq!(count(text), None, "{text}");
        }
        assert!(matches!(shape("null", OPTIONS, true), Ok(None)));
        // Without doc values an empty shape is one.
        let empty = shape(r#""MULTIPOINT EMPTY""#, OPTIONS, false);
        assert!(matches!(empty, Ok(Some(Shape { triangles, .. })) if triangles.is_empty()));
    }

    #[test]
    fn options_say_how_shapes_are_read() {
        let high = r#"{"type":"Point","coordinates":[1,2,3]}"#;
        assert!(with(high, ShapeOptions { ignore_height: false, ..OPTIONS }).is_none());
        let open = r#"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4]]]}"#;
        assert_eq!(with(open, OPTIONS), None);
        assert!(with(open, ShapeOptions { coerce: true, ..OPTIONS }).is_some());
        // A wide ring that goes the wrong way round is the rest of the earth.
        let wide = r#""POLYGON ((-100 0, 100 0, 100 9, -100 9, -100 0))""#;
        let [right, left] = [true, false].map(|is_right| with(wide, ShapeOptions { is_right, ..OPTIONS }).unwrap());
        assert_eq!((right.triangles.len(), left.triangles.len()), (2, 4));
    }

    #[test]
    fn holes_without_a_way_are_left_out_by_the_first_edition() {
        let text = r#""POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (2 -3, 3 -3, 3 -2, 2 -3))""#;
        assert_eq!(with(text, OPTIONS), None);
        let first = with(text, ShapeOptions { edition: Edition::First, ..OPTIONS });
        assert_eq!(first.map(|shape| shape.triangles.len()), Some(2));
    }

    #[test]
    fn what_only_a_server_builds() {
        for text in [r#""POINT (NaN 1)""#, r#"{"type":"MultiPoint","coordinates":[[1,2],3]}"#] {
            assert!(matches!(shape(text, OPTIONS, true), Err(NoPoint::Unsupported(_))), "{text}");
        }
    }
}
