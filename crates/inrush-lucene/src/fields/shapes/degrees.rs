//! Degrees in their range, and as the numbers of 32 bits that are indexed.
//!
//! Sources: the documentation of `org.apache.lucene.geo.GeoEncodingUtils` and of `GeoUtils` in
//! Lucene and in OpenSearch.

use crate::fields::geo::NoPoint;

/// The line at which the longitudes end.
pub(super) const DATELINE: f64 = 180.0;

/// The most degrees that are read: far more of them would be brought into the range in many steps.
pub(super) const FAR: f64 = 1e6;

const STEPS: f64 = (1_u64 << 32) as f64;

/// How many degrees a step is, where `range` degrees are all steps.
fn step(range: f64) -> f64 {
    1.0 / (STEPS / range)
}

fn encoded(degrees: f64, most: f64) -> Result<i32, NoPoint> {
    let inside = if degrees == most { degrees.next_down() } else { degrees };
    let is_valid = degrees.abs() <= most;
    is_valid.then(|| (inside / step(2.0 * most)).floor() as i32).ok_or(NoPoint::Malformed)
}

pub(super) fn encoded_longitude(degrees: f64) -> Result<i32, NoPoint> {
    encoded(degrees, 180.0)
}

pub(super) fn encoded_latitude(degrees: f64) -> Result<i32, NoPoint> {
    encoded(degrees, 90.0)
}

pub(super) fn decoded_longitude(encoded: i32) -> f64 {
    f64::from(encoded) * step(360.0)
}

pub(super) fn decoded_latitude(encoded: i32) -> f64 {
    f64::from(encoded) * step(180.0)
}

/// Degrees on the circle, above -180.
pub(super) fn centered(degrees: f64) -> f64 {
    let rest = degrees % 360.0;
    let rest = if rest <= 0.0 { rest + 360.0 } else { rest };
    if rest > 180.0 { rest - 360.0 } else { rest }
}

/// A longitude above -180.
pub(super) fn normal_longitude(degrees: f64) -> f64 {
    let inside = if degrees > 180.0 || degrees <= -180.0 { centered(degrees) } else { degrees };
    // There is no negative zero.
    inside + 0.0
}

/// A latitude; of one beyond a pole that on the other side of the earth.
pub(super) fn normal_latitude(degrees: f64) -> f64 {
    if degrees.abs() <= 90.0 {
        return degrees + 0.0;
    }
    let degrees = centered(degrees);
    if degrees.abs() > 90.0 { DATELINE.copysign(degrees) - degrees } else { degrees + 0.0 }
}

/// A point in the range. `x_too`: not only the latitude, if that is not in the range.
pub(super) fn normal_point((mut x, mut y): (f64, f64), x_too: bool) -> (f64, f64) {
    let is_beyond_pole = y.abs() > 90.0;
    let x_too = x_too && (x.abs() > 180.0 || is_beyond_pole);
    if is_beyond_pole {
        y = centered(y);
        if y.abs() > 90.0 {
            y = DATELINE.copysign(y) - y;
            x += if !x_too && normal_longitude(x) > 0.0 { -180.0 } else { 180.0 };
        }
    }
    (if x_too { centered(x) } else { x }, y)
}

/// The side of a line from `a` to `b` on which `c` is: 1 is the left one.
pub(super) fn side(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> i32 {
    let left = (b.0 - a.0) * (c.1 - a.1);
    let right = (c.0 - a.0) * (b.1 - a.1);
    i32::from(left > right) - i32::from(left < right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_nearest_number() {
        assert_eq!(step(360.0), 360.0 / STEPS);
        assert_eq!(step(180.0), 180.0 / STEPS);
        assert_eq!(encoded_longitude(180.0).ok(), Some(i32::MAX));
        assert_eq!(encoded_latitude(-90.0).ok(), Some(i32::MIN));
        assert!(encoded_latitude(90.1).is_err() && encoded_longitude(f64::NAN).is_err());
    }

    #[test]
    fn points_are_brought_into_the_range() {
        assert_eq!(normal_point((10.0, 91.0), true), (-170.0, 89.0));
        assert_eq!(normal_point((10.0, 91.0), false), (-170.0, 89.0));
        assert_eq!(normal_point((-370.0, 5.0), true), (-10.0, 5.0));
        assert_eq!(normal_point((-370.0, 5.0), false), (-370.0, 5.0));
        assert_eq!((normal_longitude(-180.0), normal_latitude(-100.0)), (180.0, -80.0));
    }
}
