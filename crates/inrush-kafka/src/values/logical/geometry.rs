//! Shapes in well-known binary become well-known text, which fields of shapes and points take.
//!
//! "Well-known Binary Representation for Geometry" in OGC's Simple Feature Access, with the flags
//! and the SRID of PostGIS' EWKB.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::quoted;

/// The most collections inside each other.
const LEVELS_MAX: u32 = 32;

const EMPTY: &[u8] = b" EMPTY";

/// The kinds from 1 on.
const NAMES: [&str; 7] =
    ["POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"];

/// A struct of `io.debezium.data.geometry`.
#[derive(Deserialize)]
struct Geometry {
    wkb: Option<String>,
    x: Option<f64>,
    y: Option<f64>,
}

pub(super) fn push(plain: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let Geometry { wkb, x, y } = serde_json::from_slice(plain).ok()?;
    let Some(wkb) = wkb else {
        let (x, y) = (x?, y?);
        return push_point(x, y, out);
    };
    let bytes = STANDARD.decode(wkb).ok()?;
    let mut reading = Reading { rest: &bytes };
    out.push(b'"');
    reading.shape(out, 0)?;
    out.push(b'"');
    reading.rest.is_empty().then_some(())
}

#[derive(Deserialize)]
struct LatLng {
    latitude: f64,
    longitude: f64,
}

pub(super) fn push_lat_lng(plain: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let LatLng { latitude, longitude } = serde_json::from_slice(plain).ok()?;
    push_point(longitude, latitude, out)
}

fn push_point(x: f64, y: f64, out: &mut Vec<u8>) -> Option<()> {
    quoted(out, |out| {
        out.extend_from_slice(b"POINT (");
        push_number(x, out);
        out.push(b' ');
        push_number(y, out);
        out.push(b')');
    })
}

fn push_number(number: f64, out: &mut Vec<u8>) {
    // Memory takes all of it.
    let _ = write!(out, "{number}");
}

struct Reading<'a> {
    rest: &'a [u8],
}

/// The head of a shape.
#[derive(Clone, Copy)]
struct Head {
    is_little: bool,
    /// From 1, a point, to 7, a collection.
    kind: u32,
    has_z: bool,
    has_m: bool,
}

impl Reading<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    fn count(&mut self, is_little: bool) -> Option<u32> {
        let bytes = self.take()?;
        Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn number(&mut self, head: Head) -> Option<f64> {
        let bytes = self.take()?;
        Some(if head.is_little { f64::from_le_bytes(bytes) } else { f64::from_be_bytes(bytes) })
    }

    fn head(&mut self) -> Option<Head> {
        let [order] = self.take()?;
        let is_little = order == 1;
        let code = self.count(is_little)?;
        if code & 0x2000_0000 != 0 {
            self.count(is_little)?;
        }
        let (thousands, kind) = ((code & 0xFFFF) / 1_000, (code & 0xFFFF) % 1_000);
        let has_z = code & 0x8000_0000 != 0 || matches!(thousands, 1 | 3);
        let has_m = code & 0x4000_0000 != 0 || matches!(thousands, 2 | 3);
        Some(Head { is_little, kind, has_z, has_m })
    }

    /// Appends a shape with its name.
    fn shape(&mut self, out: &mut Vec<u8>, level: u32) -> Option<()> {
        let head = self.head()?;
        let name = NAMES.get((head.kind as usize).checked_sub(1)?)?;
        out.extend_from_slice(name.as_bytes());
        let before = out.len();
        out.push(b' ');
        self.body(head, out, level)?;
        if &out[before..] == b" ()" {
            out.truncate(before);
            out.extend_from_slice(EMPTY);
        }
        Some(())
    }

    /// Appends what is behind the name, in brackets.
    fn body(&mut self, head: Head, out: &mut Vec<u8>, level: u32) -> Option<()> {
        out.push(b'(');
        if head.kind == 1 {
            self.point(head, out)?;
        } else {
            let count = self.count(head.is_little)?;
            for at in 0..count {
                if at > 0 {
                    out.extend_from_slice(b", ");
                }
                match head.kind {
                    2 => self.point(head, out)?,
                    // A ring has no head.
                    3 => self.body(Head { kind: 2, ..head }, out, level)?,
                    7 if level < LEVELS_MAX => self.shape(out, level + 1)?,
                    4..=6 => {
                        let part = self.head().filter(|part| part.kind == head.kind - 3)?;
                        self.body(part, out, level)?;
                    }
                    _ => return None,
                }
            }
        }
        out.push(b')');
        Some(())
    }

    /// Appends the coordinates of a point, without M, which no index has. Those of an empty point
    /// are NaN.
    fn point(&mut self, head: Head, out: &mut Vec<u8>) -> Option<()> {
        let (x, y) = (self.number(head)?, self.number(head)?);
        let z = if head.has_z { Some(self.number(head)?) } else { None };
        if head.has_m {
            self.number(head)?;
        }
        if x.is_nan() && y.is_nan() && head.kind == 1 {
            return Some(());
        }
        for (at, number) in [Some(x), Some(y), z].into_iter().flatten().enumerate() {
            if !number.is_finite() {
                return None;
            }
            if at > 0 {
                out.push(b' ');
            }
            push_number(number, out);
        }
        Some(())
    }
}
