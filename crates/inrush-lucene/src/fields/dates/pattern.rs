//! Dates by a pattern of letters, which are those of Java's `DateTimeFormatter`.

use inrush_core::date_format::{PatternPart, pattern_parts};

use super::calendar::Resolver;
use super::found::{Found, Unit};
use super::piece::{self, Piece, Sign, Zone};
use super::{Fit, Moment};

/// The pieces of a date, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pieces: Vec<Piece>,
    resolver: Resolver,
    /// Whether small letters are as good as capitals.
    any_case: bool,
    /// Whether the Java of a node decides what week 53 of a year of 52 weeks is.
    java_weeks: bool,
}

const NUMBERS: [(char, Unit, usize); 9] = [
    ('M', Unit::Month, 2),
    ('d', Unit::Day, 2),
    ('D', Unit::DayOfYear, 3),
    ('H', Unit::Hour, 2),
    ('k', Unit::ClockHour, 2),
    ('K', Unit::HourOfHalf, 2),
    ('h', Unit::ClockHourOfHalf, 2),
    ('m', Unit::Minute, 2),
    ('s', Unit::Second, 2),
];

/// Longer names depend on the Java of a node.
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The most bytes of a pattern.
const LONGEST: usize = 1000;

/// The most `[` in each other.
const DEEPEST: usize = 100;

/// The most digits of a number.
const MOST: usize = 19;

/// The piece of some equal letters.
fn letters(letters: &str) -> Option<Piece> {
    let zone = |none, colon, minutes| Some(Piece::Zone(Zone { none, colon, minutes, minus_zero: true }));
    match letters {
        "MMM" => return Some(Piece::Name(Unit::Month, 1, &MONTHS)),
        "E" | "EE" | "EEE" => return Some(Piece::Name(Unit::DayName, 1, &DAYS)),
        "a" => return Some(Piece::Name(Unit::Half, 0, &["AM", "PM"])),
        "X" => return zone("Z", false, false),
        "XX" => return zone("Z", false, true),
        "XXX" => return zone("Z", true, true),
        "x" => return zone("+00", false, false),
        "xx" => return zone("+0000", false, true),
        "xxx" => return zone("+00:00", true, true),
        "Z" | "ZZ" | "ZZZ" => return zone("+0000", false, true),
        _ => {}
    }
    let (first, count) = (letters.chars().next()?, letters.len());
    let year = |unit| match count {
        2 => Some(Piece::ShortYear(unit)),
        1 | 3 => Some(Piece::number(unit, count, MOST, Sign::Minus)),
        4..=MOST => Some(Piece::number(unit, count, MOST, Sign::Plus)),
        _ => None,
    };
    match first {
        'u' => return year(Unit::Year),
        'y' => return year(Unit::YearOfEra),
        'S' => return (count <= 9).then_some(Piece::Fraction { least: count, most: count, behind: "" }),
        _ => {}
    }
    let (_, unit, len) = *NUMBERS.iter().find(|(letter, ..)| *letter == first)?;
    match count {
        1 => Some(Piece::number(unit, 1, MOST, Sign::Minus)),
        2 if len == 3 => Some(Piece::number(unit, 2, 3, Sign::Never)),
        _ => (count == len).then(|| Piece::fixed(unit, len)),
    }
}

impl Pattern {
    pub(super) fn new(mut pieces: Vec<Piece>, resolver: Resolver) -> Self {
        piece::count_digits_behind(&mut pieces);
        Self { pieces, resolver, any_case: false, java_weeks: false }
    }

    pub(super) fn in_any_case(self) -> Self {
        Self { any_case: true, ..self }
    }

    /// Reads a pattern of letters. `None` if a part of it is not known here.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        (pattern.len() <= LONGEST).then_some(())?;
        // The pieces of each `[` that is open, behind those outside of all.
        let mut open = vec![Vec::new()];
        for part in pattern_parts(pattern)? {
            match part {
                PatternPart::Letters(part) => open.last_mut()?.push(letters(part)?),
                PatternPart::Quoted(text) => open.last_mut()?.extend(text.chars().map(Piece::Text)),
                PatternPart::Text(text) => {
                    for c in text.chars() {
                        match c {
                            '[' if open.len() > DEEPEST => return None,
                            '[' => open.push(Vec::new()),
                            ']' => {
                                let inner = open.pop()?;
                                open.last_mut()?.push(Piece::Optional(inner));
                            }
                            '{' | '}' | '#' => return None,
                            c => open.last_mut()?.push(Piece::Text(c)),
                        }
                    }
                }
            }
        }
        // A `[` may stay open.
        while open.len() > 1 {
            let inner = open.pop()?;
            open.last_mut()?.push(Piece::Optional(inner));
        }
        Some(Self::new(open.pop()?, Resolver::Strict))
    }

    pub(super) fn with_weeks_of_java(self) -> Self {
        Self { java_weeks: true, ..self }
    }

    pub(super) fn is_in_any_case(&self) -> bool {
        self.any_case
    }

    /// Whether it ends with a time zone that may have a name.
    pub(super) fn has_any_zone(&self) -> bool {
        let is_zone = |piece: &Piece| matches!(piece, Piece::AnyZone { names: true });
        self.pieces.last().is_some_and(|last| match last {
            Piece::Optional(pieces) => pieces.iter().any(is_zone),
            piece => is_zone(piece),
        })
    }

    /// The numbers of a text, if it fits.
    fn read(&self, text: &str) -> Option<Found> {
        let capitals;
        let text = if self.any_case {
            capitals = text.to_ascii_uppercase();
            &capitals
        } else {
            text
        };
        let mut found = Found::default();
        let end = piece::read(&self.pieces, text, 0, &mut found)?;
        (end == text.len()).then_some(found)
    }

    /// The moment of a date whose time is filled up, if it is known here. Where months and days are
    /// counted on else, such a date has to have a month, and a day up to 31.
    pub(super) fn last_moment(&self, text: &str) -> Result<Option<Moment>, Fit> {
        let Some(filled) = self.read(text).and_then(|found| found.filled()) else { return Ok(None) };
        match self.resolver {
            Resolver::Lenient => filled.moment(Resolver::Smart, false).map(Some),
            resolver => Ok(filled.moment(resolver, false).ok()),
        }
    }

    pub(super) fn moment(&self, text: &str, clamps: bool) -> Result<Moment, Fit> {
        let found = self.read(text).ok_or(Fit::Not)?;
        match found.moment(self.resolver, clamps) {
            Err(Fit::Not) if self.java_weeks && found.has_one_week_more() => {
                Err(Fit::Unsure("week 53 of a year of 52 weeks"))
            }
            moment => moment,
        }
    }
}
