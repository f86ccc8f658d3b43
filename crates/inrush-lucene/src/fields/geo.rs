//! Points on the earth, as fields of type `geo_point` take them.
//!
//! Sources: the documentation of `geo_point` in OpenSearch and Elasticsearch, and of
//! `org.apache.lucene.geo.GeoEncodingUtils`; what the servers take beyond it was asked of them.

use crate::fields::json::{Reader, Scalar};
use crate::fields::target::KnownProduct;
use crate::fields::tree::java_double;
use crate::fields::values::{decimal, is_java_double};

/// Why a value is no point.
pub(crate) enum NoPoint {
    /// The servers do not take it.
    Malformed,
    /// A server takes it, or what it does is not known here.
    Unsupported(&'static str),
}

/// A latitude and a longitude in degrees.
type Degrees = (f64, f64);

/// What decides how a value is read.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'r> {
    /// Whether a third number is left out.
    pub(crate) ignore_height: bool,
    /// Whether malformed points are left out, and degrees beyond the range are brought into it.
    pub(crate) ignore_malformed: bool,
    /// The text of the point that stands for null.
    pub(crate) null_value: Option<&'r str>,
    pub(crate) product: KnownProduct,
}

/// A point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// The latitude in the upper 32 bits, the longitude in the lower ones.
    pub(crate) bits: i64,
    degrees: Degrees,
}

impl Point {
    /// What the servers store of it.
    pub(crate) fn text(&self) -> String {
        let (lat, lon) = self.degrees;
        format!("{}, {}", java_double(lat), java_double(lon))
    }
}

/// The points that one value adds to a field.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Points {
    pub(crate) points: Vec<Point>,
    /// Whether something malformed was left out.
    pub(crate) ignored: bool,
    /// Whether there is an array of no points.
    pub(crate) has_empty: bool,
    /// How many values around the one that is read.
    level: u8,
}

/// The most arrays in each other.
const DEEPEST: u8 = 20;

/// Reads a value: one point, or an array of points.
pub(crate) fn points(text: &str, rules: Rules) -> Result<Points, NoPoint> {
    let mut found = Points::default();
    found.read(text, rules)?;
    Ok(found)
}

impl Points {
    fn read(&mut self, text: &str, rules: Rules) -> Result<(), NoPoint> {
        // Each level reads those below it again.
        if self.level == DEEPEST {
            return Err(NoPoint::Unsupported("points in arrays of more than 20 levels"));
        }
        self.level += 1;
        match Reader::new(text).peek() {
            b'n' => self.null(rules)?,
            b'[' if begins_with_number(text) => self.coordinates(text, rules)?,
            b'[' => self.list(text, rules)?,
            _ => self.take(one(text, rules), rules)?,
        }
        self.level -= 1;
        Ok(())
    }

    fn take(&mut self, point: Result<Point, NoPoint>, rules: Rules) -> Result<(), NoPoint> {
        match point {
            Ok(point) => self.points.push(point),
            Err(NoPoint::Malformed) if rules.ignore_malformed => self.ignored = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn null(&mut self, rules: Rules) -> Result<(), NoPoint> {
        let Some(instead) = rules.null_value else { return Ok(()) };
        let instead = points(instead, Rules { ignore_malformed: false, null_value: None, ..rules });
        self.points.extend(instead.map_err(|_| NoPoint::Unsupported("a malformed point for null"))?.points);
        Ok(())
    }

    /// An array of points.
    ///
    /// Elasticsearch takes null in it. OpenSearch forgets the points before a malformed one, and
    /// takes each thing behind it as a value of its own.
    fn list(&mut self, text: &str, rules: Rules) -> Result<(), NoPoint> {
        let (before, was_ignored) = (self.points.len(), self.ignored);
        let mut elements = elements(text)?.into_iter();
        self.ignored = false;
        while let Some(element) = elements.next() {
            if rules.product == KnownProduct::Elasticsearch && Reader::new(element).peek() == b'n' {
                self.null(rules)?;
                continue;
            }
            self.take(one(element, rules), rules)?;
            if self.ignored && rules.product == KnownProduct::OpenSearch {
                self.points.truncate(before);
                return elements.try_for_each(|element| self.read(element, rules));
            }
        }
        self.has_empty |= self.points.len() == before && !self.ignored;
        self.ignored |= was_ignored;
        Ok(())
    }

    /// An array that is one point: longitude and latitude.
    ///
    /// Elasticsearch refuses a malformed one that is in no list of points, even if it is told to
    /// ignore it. Both servers take things behind the third number as values of their own.
    fn coordinates(&mut self, text: &str, rules: Rules) -> Result<(), NoPoint> {
        if let Ok(degrees) = array(&mut Reader::new(text), rules, false) {
            self.points.push(encode(degrees, rules)?);
            return Ok(());
        }
        let unsupported = match rules.ignore_malformed {
            true => NoPoint::Unsupported("a malformed array of coordinates"),
            false => NoPoint::Malformed,
        };
        let elements = elements(text)?;
        let number = |place: usize| match Reader::new(elements.get(place)?).scalar() {
            Ok(Scalar::Number(text)) => decimal(text),
            // Only the last number may be written as a text.
            Ok(Scalar::Text(text)) if place == 1 && elements.len() == 2 => decimal(&text),
            _ => None,
        };
        let is_number = |place: usize| elements.get(place).is_some_and(|text| begins_number(Reader::new(text).peek()));
        let is_word =
            |place: usize| elements.get(place).is_some_and(|text| matches!(text.as_bytes(), [b'n' | b't' | b'f', ..]));
        let (point, behind) = match (number(0), number(1), elements.len()) {
            (Some(lon), Some(lat), 2) => (encode((lat, lon), rules)?, 2),
            (Some(lon), Some(lat), _) if is_number(2) && number(2).is_some() => match rules.ignore_height {
                true => (encode((lat, lon), rules)?, 3),
                false => return self.no_coordinates(&elements[3..], rules),
            },
            // Nothing but a longitude, or null or a boolean as the last of two or three.
            (Some(_), None, 1) => return self.no_coordinates(&[], rules),
            (Some(_), None, 2) if is_word(1) => return self.no_coordinates(&[], rules),
            (Some(_), Some(_), 3) if is_word(2) => return self.no_coordinates(&[], rules),
            _ => return Err(unsupported),
        };
        self.points.push(point);
        elements[behind..].iter().try_for_each(|element| self.read(element, rules))
    }

    /// Coordinates that are no point, and what is behind them.
    fn no_coordinates(&mut self, behind: &[&str], rules: Rules) -> Result<(), NoPoint> {
        if !rules.ignore_malformed || rules.product == KnownProduct::Elasticsearch {
            return Err(NoPoint::Malformed);
        }
        self.ignored = true;
        behind.iter().try_for_each(|element| self.read(element, rules))
    }
}

/// The text of each thing in an array.
fn elements(text: &str) -> Result<Vec<&str>, NoPoint> {
    let mut reader = Reader::new(text);
    reader.open(b'[').map_err(malformed)?;
    let mut found = Vec::new();
    while reader.more(found.is_empty(), b']').map_err(malformed)? {
        found.push(reader.raw().map_err(malformed)?);
    }
    Ok(found)
}

/// A value that is one point at most.
fn one(text: &str, rules: Rules) -> Result<Point, NoPoint> {
    match point(&mut Reader::new(text), rules).and_then(|degrees| encode(degrees, rules)) {
        Err(NoPoint::Malformed) if is_odd_object(text, rules) => {
            Err(NoPoint::Unsupported("an object of several forms of points"))
        }
        point => point,
    }
}

/// Whether a malformed object has more than one form of points: Elasticsearch takes a latitude and
/// a longitude beside a type or a height `z`, and no other names.
fn is_odd_object(text: &str, rules: Rules) -> bool {
    let mut reader = Reader::new(text);
    if rules.product != KnownProduct::Elasticsearch || reader.peek() != b'{' || reader.open(b'{').is_err() {
        return false;
    }
    let (mut first, mut has_height, mut has_type, mut has_degrees) = (true, false, false, false);
    while let Ok(true) = reader.more(first, b'}') {
        first = false;
        match reader.name().as_deref() {
            Ok("z") => has_height = true,
            Ok("type") => has_type = true,
            Ok("lat" | "lon") => has_degrees = true,
            Ok("coordinates") => {}
            _ => return false,
        }
        if reader.skip().is_err() {
            return false;
        }
    }
    has_height || has_type && has_degrees
}

fn malformed<E>(_: E) -> NoPoint {
    NoPoint::Malformed
}

/// Whether an array is the coordinates of one point.
fn begins_with_number(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.open(b'[').is_ok() && begins_number(reader.peek())
}

fn begins_number(byte: u8) -> bool {
    matches!(byte, b'-' | b'0'..=b'9')
}

fn point(reader: &mut Reader, rules: Rules) -> Result<Degrees, NoPoint> {
    match reader.peek() {
        b'{' => object(reader, rules),
        b'[' => array(reader, rules, false),
        b'"' => match reader.scalar().map_err(malformed)? {
            Scalar::Text(text) => from_text(&text, rules),
            _ => Err(NoPoint::Malformed),
        },
        _ => Err(NoPoint::Malformed),
    }
}

/// Longitude and latitude, with `texts` also as texts.
fn array(reader: &mut Reader, rules: Rules, texts: bool) -> Result<Degrees, NoPoint> {
    reader.open(b'[').map_err(malformed)?;
    let (mut numbers, mut has_text) = (Vec::new(), false);
    while reader.more(numbers.is_empty(), b']').map_err(malformed)? {
        match reader.scalar().map_err(malformed)? {
            Scalar::Number(text) => numbers.push(decimal(text).ok_or(NoPoint::Malformed)?),
            Scalar::Text(text) if texts => {
                has_text = true;
                numbers.push(decimal(&text).ok_or(NoPoint::Malformed)?);
            }
            _ => return Err(NoPoint::Malformed),
        }
    }
    match numbers.as_slice() {
        [lon, lat] => Ok((*lat, *lon)),
        _ if has_text => Err(NoPoint::Unsupported("texts among coordinates")),
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
            "coordinates" if reader.peek() == b'[' => {
                let texts = rules.product == KnownProduct::Elasticsearch;
                coordinates = Some(array(reader, rules, texts)?);
            }
            "geohash" if rules.product == KnownProduct::OpenSearch => match reader.scalar().map_err(malformed)? {
                Scalar::Text(text) => hashed = Some(from_hash(&text).ok_or(NoPoint::Malformed)?),
                _ => return Err(NoPoint::Malformed),
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
        return well_known(text, rules);
    }
    if !text.contains(',') {
        return from_hash(text).ok_or(NoPoint::Malformed);
    }
    // The servers leave out commas at the end.
    let parts: Vec<&str> = text.trim_end_matches(',').split(',').collect();
    let number = |text: &str| decimal(text).ok_or(NoPoint::Malformed);
    match parts.as_slice() {
        [lat, lon] => Ok((number(lat)?, number(lon)?)),
        [lat, lon, height] if rules.ignore_height && is_java_double(height) => Ok((number(lat)?, number(lon)?)),
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

/// `POINT (longitude latitude)`. Degrees beyond the range are never brought into it.
fn well_known(text: &str, rules: Rules) -> Result<Degrees, NoPoint> {
    let text = text.trim();
    let inner = text.get(..5).filter(|name| name.eq_ignore_ascii_case("point")).map(|_| text[5..].trim());
    let inner = inner.and_then(|inner| inner.strip_prefix('(')?.strip_suffix(')'));
    let numbers: Option<Vec<f64>> = inner.and_then(|inner| inner.split_whitespace().map(decimal).collect());
    let is_inside = |lat: f64, lon: f64| lat.abs() <= 90.0 && lon.abs() <= 180.0;
    match numbers.unwrap_or_default().as_slice() {
        [] => Err(NoPoint::Unsupported("a point as well-known text")),
        [lon, lat] if is_inside(*lat, *lon) => Ok((*lat, *lon)),
        [lon, lat, _] if is_inside(*lat, *lon) && rules.ignore_height => Ok((*lat, *lon)),
        _ => Err(NoPoint::Malformed),
    }
}

/// Brings degrees into their range: those beyond a pole are on the other side of the earth.
///
/// Source: `GeoUtils.normalizePoint` as the servers document it.
fn normalized((mut lat, mut lon): Degrees) -> Degrees {
    let centered = |degrees: f64| {
        let rest = degrees % 360.0;
        let rest = if rest <= 0.0 { rest + 360.0 } else { rest };
        if rest > 180.0 { rest - 360.0 } else { rest }
    };
    let is_beyond_pole = lat.abs() > 90.0;
    if is_beyond_pole {
        lat = centered(lat);
        if lat.abs() > 90.0 {
            lat = 180.0_f64.copysign(lat) - lat;
            lon += 180.0;
        }
    }
    if is_beyond_pole || lon.abs() > 180.0 {
        lon = centered(lon);
    }
    (lat, lon)
}

/// The point with its bits: of each axis a part of the range of 32 bits with a sign.
fn encode(degrees: Degrees, rules: Rules) -> Result<Point, NoPoint> {
    let (lat, lon) = if rules.ignore_malformed { normalized(degrees) } else { degrees };
    let axis = |degrees: f64, most: f64| {
        let inside = if degrees == most { degrees.next_down() } else { degrees };
        let step = 2.0 * most / (1_u64 << 32) as f64;
        (degrees.abs() <= most).then(|| (inside / step).floor() as i32).ok_or(NoPoint::Malformed)
    };
    let bits = i64::from(axis(lat, 90.0)?) << 32 | i64::from(axis(lon, 180.0)? as u32);
    Ok(Point { bits, degrees: (lat, lon) })
}

#[cfg(test)]
mod tests {
    use super::{NoPoint, Point, Points, Rules, points};
    use crate::fields::target::KnownProduct;

    const RULES: Rules =
        Rules { ignore_height: true, ignore_malformed: false, null_value: None, product: KnownProduct::OpenSearch };

    fn degrees(text: &str) -> Option<Vec<(f64, f64)>> {
        match points(text, RULES) {
            Ok(found) => Some(decoded(&found)),
            Err(NoPoint::Malformed) => None,
            Err(NoPoint::Unsupported(_)) => Some(Vec::new()),
        }
    }

    #[test]
    fn the_degrees_of_a_point_are_stored() {
        let Ok(found) = points("[[1.5,-42],\"1e-7,180\"]", RULES) else { panic!("no points") };
        let texts: Vec<String> = found.points.iter().map(Point::text).collect();
        assert_eq!(texts, ["-42.0, 1.5", "1.0E-7, 180.0"]);
    }

    fn decoded(found: &Points) -> Vec<(f64, f64)> {
        let round = |number: f64| (number * 1000.0).round() / 1000.0;
        let decode = |point: &Point| {
            let (lat, lon) = ((point.bits >> 32) as f64, f64::from(point.bits as i32));
            (round(lat * 180.0 / 4_294_967_296.0), round(lon * 360.0 / 4_294_967_296.0))
        };
        found.points.iter().map(decode).collect()
    }

    /// The points of a value, and whether something was left out, where malformed points are.
    /// `None` if it is refused.
    fn kept(text: &str, product: KnownProduct, null_value: Option<&str>) -> Option<(Vec<(f64, f64)>, bool)> {
        match points(text, Rules { ignore_malformed: true, null_value, product, ..RULES }) {
            Ok(found) => Some((decoded(&found), found.ignored)),
            Err(NoPoint::Malformed) => None,
            Err(NoPoint::Unsupported(what)) => panic!("{text}: {what}"),
        }
    }

    #[test]
    fn arrays_of_many_levels_need_a_server() {
        let nested = |levels: usize| format!("{}[1,2]{}", "[1,2,3,".repeat(levels), "]".repeat(levels));
        assert_eq!(degrees(&nested(10)).unwrap().len(), 11);
        assert!(matches!(points(&nested(20), RULES), Err(NoPoint::Unsupported(_))));
    }

    #[test]
    fn objects_with_names_of_no_form_are_malformed() {
        let rules = Rules { product: KnownProduct::Elasticsearch, ..RULES };
        for (text, is_malformed) in
            [(r#"{"a":1,"z":2}"#, true), (r#"{"lat":1,"lon":2,"z":3,"type":"x"}"#, false), (r#"{"lat":1}"#, true)]
        {
            assert_eq!(matches!(points(text, rules), Err(NoPoint::Malformed)), is_malformed, "{text}");
        }
    }

    #[test]
    fn degrees_beyond_the_range_are_brought_into_it() {
        for (text, expected) in [
            ("\"91,0\"", (89.0, 180.0)),
            ("\"91,181\"", (89.0, 1.0)),
            ("[0,-91]", (-89.0, 180.0)),
            ("[-540,0]", (0.0, 180.0)),
            ("\"-450,-541\"", (-90.0, 179.0)),
            (r#"{"lat":1e308,"lon":1e308}"#, (-64.0, -64.0)),
            (r#"{"type":"Point","coordinates":[181,1]}"#, (1.0, -179.0)),
        ] {
            for product in [KnownProduct::OpenSearch, KnownProduct::Elasticsearch] {
                assert_eq!(kept(text, product, None), Some((vec![expected], false)), "{text}");
            }
        }
        assert_eq!(kept("\"POINT (1 91)\"", KnownProduct::OpenSearch, None), Some((vec![], true)));
    }

    #[test]
    fn malformed_points_are_left_out() {
        for text in [
            "true",
            "5",
            "{}",
            "\"\"",
            "\"1,x\"",
            "\"1,2,x\"",
            "\",\"",
            "\"NaN,1\"",
            "\"LINESTRING (1 2, 3 4)\"",
            r#"{"lat":1}"#,
            r#"{"lat":1,"lon":2,"x":{"y":1}}"#,
            r#"{"lat":null,"lon":1}"#,
            r#"{"geohash":5}"#,
            r#"{"type":"Point","coordinates":[1]}"#,
            "[[[1,2]]]",
            "[true]",
        ] {
            for product in [KnownProduct::OpenSearch, KnownProduct::Elasticsearch] {
                assert_eq!(kept(text, product, None), Some((vec![], true)), "{text}");
            }
        }
    }

    #[test]
    fn what_is_left_of_an_array_depends_on_the_server() {
        let (one, two) = ((2.0, 1.0), (4.0, 3.0));
        for (text, opensearch, elasticsearch) in [
            (r#"[[1,2],"x!",[3,4]]"#, Some((vec![two], true)), Some((vec![one, two], true))),
            (r#"["x!",[[1,2],[3,4]]]"#, Some((vec![one, two], true)), Some((vec![], true))),
            ("[[1,2],null]", Some((vec![], true)), Some((vec![one], false))),
            ("[1,2,5,4]", Some((vec![one], true)), Some((vec![one], true))),
            (r#"[1,2,5,"4,3"]"#, Some((vec![one, two], false)), Some((vec![one, two], false))),
            ("[1]", Some((vec![], true)), None),
            ("[1,null]", Some((vec![], true)), None),
            (r#"[1,"2"]"#, Some((vec![one], false)), Some((vec![one], false))),
        ] {
            assert_eq!(kept(text, KnownProduct::OpenSearch, None), opensearch, "{text}");
            assert_eq!(kept(text, KnownProduct::Elasticsearch, None), elasticsearch, "{text}");
        }
        let null = Some("[3,4]");
        assert_eq!(kept("[[1,2],null,null]", KnownProduct::OpenSearch, null), Some((vec![two], true)));
        assert_eq!(kept("[[1,2],null]", KnownProduct::Elasticsearch, null), Some((vec![one, two], false)));
    }

    #[test]
    fn objects_of_several_forms_are_left_to_a_server() {
        for ignore_malformed in [true, false] {
            let rules = Rules { ignore_malformed, product: KnownProduct::Elasticsearch, ..RULES };
            for text in [
                r#"{"lat":1,"lon":1,"type":"x"}"#,
                r#"[{"type":"Point","coordinates":[1,2],"lat":1}]"#,
                r#"{"z":1,"lat":1,"lon":1}"#,
            ] {
                assert!(matches!(points(text, rules), Err(NoPoint::Unsupported(_))), "{text}");
            }
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
