//! Points on the earth, as fields of type `geo_point` take them.
//!
//! Sources: the documentation of `geo_point` in OpenSearch and Elasticsearch, and of
//! `org.apache.lucene.geo.GeoEncodingUtils`.

use crate::fields::json::{Reader, Scalar};
use crate::fields::mapping::Product;
use crate::fields::values::decimal;

/// Why a value is no point.
pub(crate) enum NoPoint {
    /// The servers do not take it.
    Malformed,
    /// A server takes it.
    Unsupported(&'static str),
}

/// A latitude and a longitude in degrees.
type Degrees = (f64, f64);

/// What decides how a point is read.
#[derive(Clone, Copy)]
struct Rules {
    /// Whether a third number is left out.
    ignore_height: bool,
    product: Product,
}

/// Reads a value: one point, or an array of points. A third number is left out with
/// `ignore_height`, and refused without.
///
/// Elasticsearch takes null in an array, OpenSearch does not.
pub(crate) fn points(text: &str, ignore_height: bool, product: Product) -> Result<Vec<i64>, NoPoint> {
    let rules = Rules { ignore_height, product };
    let mut reader = Reader::new(text);
    let points = match reader.peek() {
        b'n' => Vec::new(),
        b'[' if begins_with_number(text) => vec![array(&mut reader, rules)?],
        b'[' => {
            let mut points = Vec::new();
            reader.open(b'[').map_err(malformed)?;
            let mut first = true;
            while reader.more(first, b']').map_err(malformed)? {
                first = false;
                if reader.peek() == b'n' && product == Product::Elasticsearch {
                    reader.skip().map_err(malformed)?;
                    continue;
                }
                points.push(point(&mut reader, rules)?);
            }
            points
        }
        _ => vec![point(&mut reader, rules)?],
    };
    points.into_iter().map(encode).collect()
}

/// Whether a value is a text that is no numbers, such as an empty one.
pub(crate) fn is_text_of_letters(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.peek() == b'"' && matches!(reader.scalar(), Ok(Scalar::Text(text)) if !text.contains(','))
}

fn malformed<E>(_: E) -> NoPoint {
    NoPoint::Malformed
}

/// Whether an array is the coordinates of one point.
fn begins_with_number(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.open(b'[').is_ok() && matches!(reader.peek(), b'-' | b'0'..=b'9')
}

fn point(reader: &mut Reader, rules: Rules) -> Result<Degrees, NoPoint> {
    match reader.peek() {
        b'{' => object(reader, rules),
        b'[' => array(reader, rules),
        b'"' => match reader.scalar().map_err(malformed)? {
            Scalar::Text(text) => from_text(&text, rules),
            _ => Err(NoPoint::Malformed),
        },
        _ => Err(NoPoint::Malformed),
    }
}

/// Longitude and latitude.
fn array(reader: &mut Reader, rules: Rules) -> Result<Degrees, NoPoint> {
    reader.open(b'[').map_err(malformed)?;
    let mut numbers = Vec::new();
    while reader.more(numbers.is_empty(), b']').map_err(malformed)? {
        match reader.scalar().map_err(malformed)? {
            Scalar::Number(text) => numbers.push(decimal(text).ok_or(NoPoint::Malformed)?),
            _ => return Err(NoPoint::Malformed),
        }
    }
    match numbers.as_slice() {
        [lon, lat] => Ok((*lat, *lon)),
        [lon, lat, _] if rules.ignore_height => Ok((*lat, *lon)),
        _ => Err(NoPoint::Malformed),
    }
}

/// `lat` and `lon`, or a point of GeoJSON.
fn object(reader: &mut Reader, rules: Rules) -> Result<Degrees, NoPoint> {
    reader.open(b'{').map_err(malformed)?;
    let (mut lat, mut lon, mut is_point, mut coordinates, mut hashed) = (None, None, false, None, None);
    let mut count = 0;
    while reader.more(count == 0, b'}').map_err(malformed)? {
        count += 1;
        let name = reader.name().map_err(malformed)?;
        match &*name {
            "lat" | "lon" => {
                let number = match reader.scalar().map_err(malformed)? {
                    Scalar::Number(text) => decimal(text),
                    Scalar::Text(text) => decimal(&text),
                    _ => None,
                };
                let number = Some(number.ok_or(NoPoint::Malformed)?);
                if name == "lat" { lat = number } else { lon = number }
            }
            "type" => match reader.scalar().map_err(malformed)? {
                Scalar::Text(text) if text.eq_ignore_ascii_case("point") => is_point = true,
                _ => return Err(NoPoint::Malformed),
            },
            "coordinates" if reader.peek() == b'[' => coordinates = Some(array(reader, rules)?),
            "geohash" if rules.product == Product::OpenSearch => match reader.scalar().map_err(malformed)? {
                Scalar::Text(text) => hashed = Some(from_hash(&text).ok_or(NoPoint::Malformed)?),
                _ => return Err(NoPoint::Unsupported("a geohash that is no text")),
            },
            _ => return Err(NoPoint::Malformed),
        }
    }
    if count == 1 && hashed.is_some() {
        return hashed.ok_or(NoPoint::Malformed);
    }
    match (lat, lon, is_point, coordinates) {
        (Some(lat), Some(lon), false, None) if count == 2 => Ok((lat, lon)),
        (None, None, true, Some(degrees)) if count == 2 => Ok(degrees),
        _ => Err(NoPoint::Malformed),
    }
}

/// `latitude,longitude`.
fn from_text(text: &str, rules: Rules) -> Result<Degrees, NoPoint> {
    if text.to_lowercase().contains("point") {
        return well_known(text, rules).ok_or(NoPoint::Unsupported("a point as well-known text"));
    }
    if !text.contains(',') {
        return from_hash(text).ok_or(NoPoint::Malformed);
    }
    // The servers leave out commas at the end.
    let parts: Vec<&str> = text.trim_end_matches(',').split(',').collect();
    let number = |text: &str| decimal(text).ok_or(NoPoint::Malformed);
    match parts.as_slice() {
        [lat, lon] => Ok((number(lat)?, number(lon)?)),
        [lat, lon, height] if rules.ignore_height => {
            number(height)?;
            Ok((number(lat)?, number(lon)?))
        }
        _ => Err(NoPoint::Malformed),
    }
}

/// The corner in the south-west of the area that a geohash stands for.
fn from_hash(hash: &str) -> Option<Degrees> {
    const DIGITS: &[u8] = b"0123456789bcdefghjkmnpqrstuvwxyz";
    if hash.is_empty() {
        return None;
    }
    let (mut lat, mut lon) = (0_u64, 0_u64);
    let mut longitude_is_next = true;
    // The servers read twelve digits, each of five bits.
    for byte in hash.bytes().take(12) {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        for bit in (0..5).rev() {
            let axis = if longitude_is_next { &mut lon } else { &mut lat };
            *axis = *axis << 1 | (digit >> bit & 1) as u64;
            longitude_is_next = !longitude_is_next;
        }
    }
    // Each axis is a part of 31 bits.
    let bits = 5 * hash.len().min(12);
    let part = |axis: u64, bits: usize| (axis << (31 - bits)) as f64;
    let scale = (1_u64 << 31) as f64;
    let lat = part(lat, bits / 2) / (scale / 180.0) - 90.0;
    let lon = part(lon, bits.div_ceil(2)) / (scale / 360.0) - 180.0;
    Some((lat, lon))
}

/// `POINT (longitude latitude)`.
fn well_known(text: &str, rules: Rules) -> Option<Degrees> {
    let text = text.trim();
    let inner = text.get(..5).filter(|name| name.eq_ignore_ascii_case("point")).map(|_| text[5..].trim())?;
    let numbers: Option<Vec<f64>> =
        inner.strip_prefix('(')?.strip_suffix(')')?.split_whitespace().map(decimal).collect();
    match numbers?.as_slice() {
        [lon, lat] => Some((*lat, *lon)),
        [lon, lat, _] if rules.ignore_height => Some((*lat, *lon)),
        _ => None,
    }
}

/// The latitude in the upper 32 bits, the longitude in the lower ones: each a part of the range of
/// 32 bits with a sign.
fn encode((lat, lon): Degrees) -> Result<i64, NoPoint> {
    let axis = |degrees: f64, most: f64| {
        let inside = if degrees == most { degrees.next_down() } else { degrees };
        let step = 2.0 * most / (1_u64 << 32) as f64;
        (degrees.abs() <= most).then(|| (inside / step).floor() as i32).ok_or(NoPoint::Malformed)
    };
    Ok(i64::from(axis(lat, 90.0)?) << 32 | i64::from(axis(lon, 180.0)? as u32))
}

#[cfg(test)]
mod tests {
    use super::{NoPoint, points};
    use crate::fields::mapping::Product;

    fn degrees(text: &str) -> Option<Vec<(f64, f64)>> {
        let round = |number: f64| (number * 1000.0).round() / 1000.0;
        let decode = |value: i64| {
            let (lat, lon) = ((value >> 32) as f64, f64::from(value as i32));
            (round(lat * 180.0 / 4_294_967_296.0), round(lon * 360.0 / 4_294_967_296.0))
        };
        match points(text, true, Product::OpenSearch) {
            Ok(points) => Some(points.into_iter().map(decode).collect()),
            Err(NoPoint::Malformed) => None,
            Err(NoPoint::Unsupported(_)) => Some(Vec::new()),
        }
    }

    #[test]
    fn all_forms_of_points() {
        for text in [
            r#"{"lat":48.5,"lon":-2.25}"#,
            r#"{"lon":"-2.25","lat":"48.5"}"#,
            r#"{"type":"Point","coordinates":[-2.25,48.5,7]}"#,
            r#""48.5, -2.25""#,
            r#""48.5,-2.25,100""#,
            r#""POINT (-2.25 48.5)""#,
            "[-2.25, 48.5]",
            "[[-2.25,48.5]]",
        ] {
            assert_eq!(degrees(text), Some(vec![(48.5, -2.25)]), "{text}");
        }
        assert_eq!(degrees(r#"["1,2",[4,3],{"lat":5,"lon":6}]"#), Some(vec![(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]));
        assert_eq!(degrees("null"), Some(Vec::new()));
        assert_eq!(degrees("[90,-90]"), Some(vec![(-90.0, 90.0)]));
    }

    #[test]
    fn what_is_no_point() {
        for text in [
            "1",
            "\"\"",
            "\"1,x\"",
            "\"91,0\"",
            "[181,0]",
            "[1]",
            "[1,2,3,4]",
            "{}",
            r#"{"lat":1}"#,
            "\"A!\"",
            "[null]",
        ] {
            assert_eq!(degrees(text), None, "{text}");
        }
    }

    #[test]
    fn geohashes() {
        assert_eq!(degrees("\"u09tv\""), Some(vec![(48.823, 2.329)]));
        assert_eq!(degrees(r#"{"geohash":"ezs42"}"#), degrees("\"ezs42\""));
        assert_eq!(degrees("\"u09tvw0f\""), Some(vec![(48.857, 2.352)]));
    }
}
