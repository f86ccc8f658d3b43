//! Geometries as well-known text.
//!
//! Sources: the documentation of `geo_shape` in OpenSearch, its class `WellKnownText`, and the
//! documentation of `java.io.StreamTokenizer`.

use super::geometry::{Geometry, Line, Polygon, Position, check_parts, check_rings, line_has_height};
use crate::fields::geo::NoPoint;
use crate::fields::values::{decimal, is_java_double};

/// The most collections in each other that are read.
const DEEPEST: u32 = 20;

type Result<T> = std::result::Result<T, NoPoint>;

/// Reads a text. `coerce`: rings that are open are closed. What is behind the geometry is not
/// looked at.
pub(super) fn read(text: &str, coerce: bool) -> Result<Geometry> {
    Tokens { rest: text, coerce }.geometry(0)
}

/// A word, a bracket, a comma, or a character that is none of them.
enum Token<'a> {
    Word(&'a str),
    Sign(char),
    End,
}

struct Tokens<'a> {
    rest: &'a str,
    coerce: bool,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '\u{a0}'..)
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Token<'a> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
            // The rest of the line is a comment.
            let Some(comment) = self.rest.strip_prefix('#') else { break };
            self.rest = &comment[comment.find(['\r', '\n']).unwrap_or(comment.len())..];
        }
        let Some(first) = self.rest.chars().next() else { return Token::End };
        if !is_word(first) {
            self.rest = &self.rest[first.len_utf8()..];
            return Token::Sign(first);
        }
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Token::Word(word)
    }

    fn has_number(&mut self) -> bool {
        let before = self.rest;
        let is_word = matches!(self.next(), Token::Word(_));
        self.rest = before;
        is_word
    }

    fn number(&mut self) -> Result<f64> {
        let Token::Word(word) = self.next() else { return Err(NoPoint::Malformed) };
        match decimal(word) {
            Some(number) => Ok(number),
            None if word.eq_ignore_ascii_case("NaN") || is_java_double(word) => {
                Err(NoPoint::Unsupported("a coordinate beyond numbers of 64 bits"))
            }
            None => Err(NoPoint::Malformed),
        }
    }

    fn sign(&mut self, expected: char) -> Result<()> {
        match self.next() {
            Token::Sign(sign) if sign == expected => Ok(()),
            _ => Err(NoPoint::Malformed),
        }
    }

    /// Whether a list begins, and not the word for an empty one.
    fn opens(&mut self) -> Result<bool> {
        match self.next() {
            Token::Sign('(') => Ok(true),
            Token::Word(word) if word.eq_ignore_ascii_case("EMPTY") => Ok(false),
            _ => Err(NoPoint::Malformed),
        }
    }

    /// Whether something follows in a list, and not its end.
    fn more(&mut self) -> Result<bool> {
        match self.next() {
            Token::Sign(',') => Ok(true),
            Token::Sign(')') => Ok(false),
            _ => Err(NoPoint::Malformed),
        }
    }

    /// The things of a list, which is open.
    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut found = vec![read(self)?];
        while self.more()? {
            found.push(read(self)?);
        }
        Ok(found)
    }

    /// The things of a list, which begins here or is empty.
    fn whole<T>(&mut self, read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        if self.opens()? { self.list(read) } else { Ok(Vec::new()) }
    }

    fn geometry(&mut self, level: u32) -> Result<Geometry> {
        if level > DEEPEST {
            return Err(NoPoint::Unsupported("collections in each other of more than 20 levels"));
        }
        let Token::Word(name) = self.next() else { return Err(NoPoint::Malformed) };
        match name.to_lowercase().as_str() {
            "geometrycollection" => {
                let parts = self.whole(|tokens| tokens.geometry(level + 1))?;
                check(parts.iter().map(Geometry::has_height))?;
                Ok(Geometry::Collection(parts))
            }
            "point" => Ok(Geometry::Points(vec![self.point()?])),
            "multipoint" => {
                let points = self.whole(Self::position)?;
                check(points.iter().map(|point| point.z.is_some()))?;
                Ok(Geometry::Points(points))
            }
            "linestring" => Ok(Geometry::Lines(vec![self.line()?])),
            "multilinestring" => {
                let lines = self.whole(Self::line)?;
                check(lines.iter().map(line_has_height))?;
                Ok(Geometry::Lines(lines))
            }
            "polygon" => Ok(Geometry::Polygons(vec![self.polygon()?])),
            "multipolygon" => {
                let polygons = self.whole(Self::polygon)?;
                check(polygons.iter().map(|rings| rings.first().is_some_and(line_has_height)))?;
                Ok(Geometry::Polygons(polygons))
            }
            "bbox" => self.envelope(),
            // Circles are not indexed.
            _ => Err(NoPoint::Malformed),
        }
    }

    fn position(&mut self) -> Result<Position> {
        let (x, y) = (self.number()?, self.number()?);
        let z = if self.has_number() { Some(self.number()?) } else { None };
        Ok(Position { x, y, z })
    }

    /// An empty one is at 0.
    fn point(&mut self) -> Result<Position> {
        if !self.opens()? {
            return Ok(Position { x: 0.0, y: 0.0, z: None });
        }
        let position = self.position()?;
        self.sign(')')?;
        Ok(position)
    }

    fn line(&mut self) -> Result<Line> {
        let line = self.whole(Self::position)?;
        match line.len() {
            0 => Ok(line),
            1 => Err(NoPoint::Malformed),
            _ => check_parts(line.iter().map(|position| position.z.is_some())).map(|()| line),
        }
    }

    fn ring(&mut self) -> Result<Line> {
        self.sign('(')?;
        let mut ring = self.list(Self::position)?;
        check_parts(ring.iter().map(|position| position.z.is_some()))?;
        if self.coerce && !ring[0].is_same(&ring[ring.len() - 1]) {
            ring.push(ring[0]);
        }
        Ok(ring)
    }

    fn polygon(&mut self) -> Result<Polygon> {
        let rings = self.whole(Self::ring)?;
        if !rings.is_empty() {
            check_rings(&rings)?;
        }
        Ok(rings)
    }

    /// West, east, north and south.
    fn envelope(&mut self) -> Result<Geometry> {
        if !self.opens()? {
            return Err(NoPoint::Malformed);
        }
        let mut ends = [0.0; 4];
        for (at, end) in ends.iter_mut().enumerate() {
            if at > 0 {
                self.sign(',')?;
            }
            *end = self.number()?;
        }
        self.sign(')')?;
        let [west, east, north, south] = ends;
        if north < south { Err(NoPoint::Malformed) } else { Ok(Geometry::Envelope([west, east], [south, north])) }
    }
}

/// As [`check_parts`], but there may be none.
fn check(heights: impl ExactSizeIterator<Item = bool>) -> Result<()> {
    if heights.len() == 0 { Ok(()) } else { check_parts(heights) }
}
