//! Triangles as they are indexed: seven numbers, of which four are their bounds.
//!
//! Source: the documentation of `org.apache.lucene.document.ShapeField`.

use super::degrees::side;
use super::tessellator::Triangle;
use crate::fields::geo::NoPoint;

/// South, west, north and east, the two numbers that are left, and how they make the corners.
pub(crate) type Encoded = [i32; 7];

/// The three numbers of a point or a corner: which of the six others are the latitude and the
/// longitude of each corner, by the lowest bits of the seventh number.
const FORMS: [[(usize, usize); 3]; 8] = [
    [(0, 1), (2, 3), (4, 5)],
    [(0, 1), (4, 5), (2, 3)],
    [(2, 1), (4, 5), (0, 3)],
    [(2, 1), (0, 3), (4, 5)],
    [(4, 1), (0, 5), (2, 3)],
    [(4, 1), (0, 3), (2, 5)],
    [(2, 1), (0, 5), (4, 3)],
    [(0, 1), (4, 3), (2, 5)],
];

/// Its corners against the clock, with the westernmost one first.
fn ordered(Triangle { mut corners, mut edges }: Triangle) -> Triangle {
    let first = |[a, b, c]: [i32; 3]| match () {
        () if b >= a && c >= a => 0,
        () if b < c => 1,
        () => 2,
    };
    let xs = corners.map(|(x, _)| x);
    let is_vertical = xs[0] == xs[1] && xs[0] == xs[2];
    let turns = first(if is_vertical { corners.map(|(_, y)| y) } else { xs });
    corners.rotate_left(turns);
    edges.rotate_left(turns);
    let [a, b, c] = corners.map(|(x, y)| (f64::from(x), f64::from(y)));
    if side(a, b, c) < 0 {
        corners.swap(1, 2);
        // Lucene keeps the second edge, and has it as the first one, too.
        edges = [edges[1], edges[1], edges[0]];
    }
    Triangle { corners, edges }
}

/// The seven numbers of a triangle.
pub(super) fn encoded(triangle: Triangle) -> Result<Encoded, NoPoint> {
    let Triangle { corners, edges } = ordered(triangle);
    let [a, b, c] = corners;
    let ys = corners.map(|(_, y)| y);
    let south = ys[0].min(ys[1]).min(ys[2]);
    let north = ys[0].max(ys[1]).max(ys[2]);
    let (west, east) = (a.0, a.0.max(b.0).max(c.0));
    let (y, x, form) = if south == a.1 {
        match () {
            () if (east, north) == b => (c.1, c.0, 0),
            () if (east, north) == c => (b.1, b.0, 1),
            () => (b.1, c.0, 7),
        }
    } else if north == a.1 {
        match () {
            () if (east, south) == b => (c.1, c.0, 3),
            () if (east, south) == c => (b.1, b.0, 2),
            () => (c.1, b.0, 6),
        }
    } else if (east, south) == b {
        (a.1, c.0, 5)
    } else if (east, north) == c {
        (a.1, b.0, 4)
    } else {
        return Err(NoPoint::Malformed);
    };
    let bits = (0..3).fold(form, |bits, edge| bits | i32::from(edges[edge]) << (3 + edge));
    Ok([south, west, north, east, y, x, bits])
}

/// The triangle of seven numbers.
pub(super) fn decoded(numbers: &Encoded) -> Triangle {
    let bits = numbers[6];
    let corners = FORMS[bits as usize & 7].map(|(y, x)| (numbers[x], numbers[y]));
    Triangle { corners, edges: [3, 4, 5].map(|bit| bits >> bit & 1 == 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangles_are_the_same_when_they_are_decoded() {
        let corners = [(0, 0), (5, 1), (2, 7), (-3, 2), (-3, -9), (5, 7), (0, 2)];
        for a in corners {
            for b in corners {
                for c in corners {
                    let triangle = Triangle { corners: [a, b, c], edges: [true, false, a < b] };
                    let numbers = encoded(triangle).ok().unwrap();
                    assert_eq!(decoded(&numbers), ordered(triangle), "{a:?} {b:?} {c:?}");
                }
            }
        }
    }
}
