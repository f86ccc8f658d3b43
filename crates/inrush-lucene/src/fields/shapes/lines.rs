//! Lines that cross the line at which the longitudes end are cut there.
//!
//! Source: the class `GeoLineDecomposer` of OpenSearch.

use std::cmp::Ordering;

use super::degrees::{DATELINE, FAR, centered, normal_point};
use super::geometry::Line;
use crate::fields::geo::NoPoint;

/// A line that is cut: its longitudes and latitudes.
pub(super) type Part = Vec<(f64, f64)>;

/// Appends the parts of a line.
pub(super) fn cut(line: &Line, parts: &mut Vec<Part>) -> Result<(), NoPoint> {
    if line.iter().any(|point| point.x.abs() > FAR) {
        return Err(NoPoint::Unsupported("a longitude beyond 1,000,000"));
    }
    let mut points: Part = line.iter().map(|point| normal_point((point.x, point.y), false)).collect();
    if points.is_empty() {
        return Ok(());
    }
    let (mut start, mut shift, mut at) = (0, 0.0, 1);
    while at < points.len() {
        // Where the line goes: to the west, straight on, or to the east.
        let way = points[at].0.total_cmp(&points[at - 1].0);
        let next = shift_of(points[at - 1].0, way == Ordering::Less);
        if at - start > 1 && next != shift {
            parts.push(shifted(&points[start..at], shift));
            shift = next;
            start = at - 1;
            continue;
        }
        shift = next;
        let Some(share) = crossing(points[at - 1].0 + shift, points[at].0 + shift) else {
            at += 1;
            continue;
        };
        let end = if way == Ordering::Greater { DATELINE } else { -DATELINE };
        let (before, behind) = (points[at - 1], points[at]);
        let cut = (end - shift, before.1 + (behind.1 - before.1) * share);
        let mut part = points[start..=at].to_vec();
        part[at - start] = cut;
        parts.push(shifted(&part, shift));
        points[at - 1] = cut;
        start = at - 1;
    }
    if start == 0 || start + 1 < points.len() {
        parts.push(shifted(&points[start..], shift));
    }
    Ok(())
}

fn shifted(points: &[(f64, f64)], shift: f64) -> Part {
    points.iter().map(|&(x, y)| (if shift == 0.0 { x } else { x + shift }, y)).collect()
}

/// How far to the east a longitude is moved to be in the range. Its east end is 180 only if
/// `has_end`.
fn shift_of(longitude: f64, has_end: bool) -> f64 {
    let normal = centered(longitude);
    let distance = normal - longitude;
    let floor = distance.floor();
    let shift = if distance - floor >= 0.5 { floor + 1.0 } else { floor };
    // There is no negative zero.
    let shift = shift + 0.0;
    if !has_end && normal == DATELINE { shift - 360.0 } else { shift }
}

/// The share of the way at which it leaves the range, if it does.
fn crossing(from: f64, to: f64) -> Option<f64> {
    if from == to {
        return None;
    }
    let share = ((if from < to { DATELINE } else { -DATELINE }) - from) / (to - from);
    (share < 1.0 && share > 0.0).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::shapes::geometry::Position;

    #[test]
    fn lines_are_cut_at_the_end_of_the_longitudes() {
        let of = |points: &[(f64, f64)]| {
            let line = points.iter().map(|&(x, y)| Position { x, y, z: None }).collect();
            let mut parts = Vec::new();
            cut(&line, &mut parts).ok().unwrap();
            parts
        };
        assert_eq!(of(&[(1.0, 2.0), (3.0, 4.0)]), [[(1.0, 2.0), (3.0, 4.0)]]);
        assert_eq!(of(&[(170.0, 0.0), (190.0, 10.0)]), [[(170.0, 0.0), (180.0, 5.0)], [(-180.0, 5.0), (-170.0, 10.0)]]);
        assert_eq!(of(&[(180.0, 0.0), (170.0, 10.0)]), [[(180.0, 0.0), (170.0, 10.0)]]);
        assert_eq!(of(&[(180.0, 0.0), (190.0, 10.0)]), [[(-180.0, 0.0), (-170.0, 10.0)]]);
    }
}
