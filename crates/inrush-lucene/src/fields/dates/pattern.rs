//! Dates by a pattern of letters.

use inrush_core::date_format::{PatternPart, pattern_parts};

use super::calendar::{Clock, Resolver, digit_count, digits, fraction, last_day, zone_millis};
use super::iso::Part;
use super::{Fit, Moment};

/// The pieces of a date, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pieces: Vec<Piece>,
    resolver: Resolver,
    /// Whether the year is one of an era, of which the first is 1.
    era: bool,
    has_month: bool,
    has_day: bool,
}

/// How many digits a year has. It has more than four only behind a sign, and behind `+` always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum YearDigits {
    Four,
    UpTo {
        most: usize,
    },
    /// One to four.
    Few,
}

/// A number of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Year,
    Month,
    Day,
    Hour,
    /// From 1 to 12.
    HourOfHalf,
    Minute,
    Second,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Text(char),
    Year(YearDigits),
    /// That many digits of a number.
    Number(Unit, usize),
    /// A number of one or more digits, and how many at most.
    AnyNumber(Unit, usize),
    /// The two last digits of a year from 2000 on.
    ShortYear,
    /// A name of a month in three letters. Longer ones depend on the Java of a node.
    MonthName,
    /// A name of a day of the week in three letters.
    DayName,
    /// `AM` or `PM`.
    Half,
    /// That many digits of a second's fraction.
    Fraction(usize),
    Zone(Zone),
}

/// How a distance from UTC is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Zone {
    /// What stands for no distance.
    none: &'static str,
    colon: bool,
    minutes: Part,
}

const NUMBERS: [(char, Unit, usize); 6] = [
    ('M', Unit::Month, 2),
    ('d', Unit::Day, 2),
    ('H', Unit::Hour, 2),
    ('h', Unit::HourOfHalf, 2),
    ('m', Unit::Minute, 2),
    ('s', Unit::Second, 2),
];

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// From the first day of 1970 on.
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

impl Piece {
    /// The piece of some equal letters.
    fn of(letters: &str) -> Option<Self> {
        let zone = |none, colon, minutes| Some(Self::Zone(Zone { none, colon, minutes }));
        match letters {
            "yyyy" | "uuuu" => return Some(Self::Year(YearDigits::UpTo { most: 19 })),
            "yy" | "uu" => return Some(Self::ShortYear),
            "MMM" => return Some(Self::MonthName),
            "E" | "EE" | "EEE" => return Some(Self::DayName),
            "a" => return Some(Self::Half),
            "X" => return zone("Z", false, Part::Maybe),
            "XX" => return zone("Z", false, Part::Always),
            "XXX" => return zone("Z", true, Part::Always),
            "Z" | "ZZ" | "ZZZ" => return zone("+0000", false, Part::Always),
            _ => {}
        }
        let first = letters.chars().next()?;
        if first == 'S' {
            return (letters.len() <= 9).then_some(Self::Fraction(letters.len()));
        }
        let (_, unit, len) = NUMBERS.iter().find(|(letter, ..)| *letter == first)?;
        match letters.len() {
            1 => Some(Self::AnyNumber(*unit, 19)),
            count if count == *len => Some(Self::Number(*unit, *len)),
            _ => None,
        }
    }

    fn begins_with_digit(self) -> bool {
        matches!(self, Self::Year(_) | Self::Number(..) | Self::AnyNumber(..) | Self::ShortYear | Self::Fraction(_))
    }

    /// How many digits it always has.
    fn width(&self) -> Option<usize> {
        match *self {
            Self::Number(_, len) | Self::Fraction(len) => Some(len),
            Self::ShortYear => Some(2),
            _ => None,
        }
    }

    fn unit(self) -> Option<Unit> {
        match self {
            Self::Number(unit, _) | Self::AnyNumber(unit, _) => Some(unit),
            Self::Year(_) | Self::ShortYear => Some(Unit::Year),
            Self::MonthName => Some(Unit::Month),
            Self::Text(_) | Self::DayName | Self::Half | Self::Fraction(_) | Self::Zone(_) => None,
        }
    }
}

impl Pattern {
    /// Reads a pattern of letters. `None` if a part of it is not known here.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let mut pieces = Vec::new();
        // `y` counts from the beginning of an era, `u` does not.
        let mut era = false;
        for part in pattern_parts(pattern)? {
            match part {
                PatternPart::Letters(letters) => {
                    era |= letters.starts_with('y');
                    pieces.push(Piece::of(letters)?);
                }
                // Java gives these a meaning.
                PatternPart::Text(text) if text.contains(['[', ']', '{', '}', '#']) => return None,
                PatternPart::Text(text) => pieces.extend(text.chars().map(Piece::Text)),
            }
        }
        // A number of any length takes the digits of the next one.
        if pieces.windows(2).any(|pair| matches!(pair[0], Piece::AnyNumber(..)) && pair[1].begins_with_digit()) {
            return None;
        }
        let units: Vec<Unit> = pieces.iter().filter_map(|piece| piece.unit()).collect();
        let once = units.iter().enumerate().all(|(i, unit)| !units[..i].contains(unit));
        // Half a day says which hour of twelve it is.
        let halves = pieces.iter().filter(|piece| **piece == Piece::Half).count();
        let in_halves = units.contains(&Unit::HourOfHalf);
        if halves != usize::from(in_halves) || in_halves && units.contains(&Unit::Hour) {
            return None;
        }
        let has = |unit| units.contains(&unit) || unit == Unit::Hour && in_halves;
        let time = [Unit::Hour, Unit::Minute, Unit::Second];
        let date = has(Unit::Year)
            && (has(Unit::Month) || !has(Unit::Day))
            && (has(Unit::Day)
                || !time.iter().any(|&unit| has(unit))
                    && units.len() == pieces.iter().filter(|piece| !matches!(piece, Piece::Text(_))).count());
        // A time has all units above its least one.
        let seconds_without = pieces.iter().any(|piece| matches!(piece, Piece::Fraction(_))) && !has(Unit::Second);
        let whole = time.windows(2).all(|pair| has(pair[0]) || !has(pair[1])) && !seconds_without;
        let (has_month, has_day) = (has(Unit::Month), has(Unit::Day));
        (once && date && whole).then_some(Self { pieces, resolver: Resolver::Strict, era, has_month, has_day })
    }

    /// The same with years of this number of digits, and with another resolver.
    pub(super) fn with(mut self, years: YearDigits, resolver: Resolver) -> Self {
        for piece in &mut self.pieces {
            if matches!(piece, Piece::Year(_)) {
                *piece = Piece::Year(years);
            }
        }
        Self { resolver, ..self }
    }

    /// A year of one to four digits, a month and a day of one or two, with nothing between them.
    pub(super) fn basic_date() -> Self {
        let pieces =
            vec![Piece::Year(YearDigits::Few), Piece::AnyNumber(Unit::Month, 2), Piece::AnyNumber(Unit::Day, 2)];
        Self { pieces, resolver: Resolver::Strict, era: false, has_month: true, has_day: true }
    }

    pub(super) fn moment(&self, text: &str, clamps: bool) -> Result<Moment, Fit> {
        let found = self.read(text).ok_or(Fit::Not)?;
        if !self.resolver.takes(found.clock) || self.era && found.year < 1 {
            return Err(Fit::Not);
        }
        let Some(day) = self.resolver.day(found.year, found.month, found.day) else {
            // The servers look at the day only after they chose the format.
            return Err(match (self.has_month, self.has_day) {
                (false, _) => Fit::NoYear,
                (true, true) if !self.era => Fit::Not,
                (true, _) => Fit::Never,
            });
        };
        if found.clock.parts[0] == 24 && day == last_day() {
            return Err(Fit::Not);
        }
        // Of a year of an era, they do not look at the day of the week.
        if !self.era && found.day_name.is_some_and(|name| day.rem_euclid(7) != name) {
            return Err(Fit::Not);
        }
        found.clock.on(day, found.zone, clamps).ok_or(Fit::Never)
    }

    /// The numbers that a text has for the pieces.
    fn read(&self, text: &str) -> Option<Found> {
        let mut found = Found { month: 1, day: 1, hour_of_half: 12, ..Found::default() };
        let (bytes, mut at) = (text.as_bytes(), 0);
        for (place, piece) in self.pieces.iter().enumerate() {
            at += match *piece {
                Piece::Text(c) => text.get(at..)?.starts_with(c).then_some(c.len_utf8())?,
                Piece::Year(digits) => {
                    let behind = self.pieces[place + 1..].iter().map_while(|piece| piece.width()).sum();
                    let (year, len) = digits.read(&bytes[at..], behind)?;
                    found.year = year;
                    len
                }
                Piece::Number(unit, len) => found.set(unit, digits(bytes, at, len)?, len),
                Piece::AnyNumber(unit, most) => {
                    let len = digit_count(&bytes[at..]).min(most);
                    found.set(unit, text.get(at..at + len)?.parse().ok()?, len)
                }
                Piece::ShortYear => found.set(Unit::Year, 2000 + digits(bytes, at, 2)?, 2),
                Piece::MonthName => {
                    let (number, len) = name(text.get(at..)?, &MONTHS)?;
                    found.set(Unit::Month, 1 + number, len)
                }
                Piece::DayName => {
                    let (number, len) = name(text.get(at..)?, &DAYS)?;
                    found.day_name = Some(number);
                    len
                }
                Piece::Half => {
                    let (number, len) = name(text.get(at..)?, &["AM", "PM"])?;
                    found.half = Some(number);
                    len
                }
                Piece::Fraction(len) => {
                    digits(bytes, at, len)?;
                    found.clock.nanos = fraction(&bytes[at..at + len], 9);
                    len
                }
                Piece::Zone(form) => {
                    let (millis, len) = form.millis(&bytes[at..])?;
                    found.zone = millis;
                    len
                }
            };
        }
        if let Some(half) = found.half {
            (1..=12).contains(&found.hour_of_half).then_some(())?;
            found.clock.parts[0] = found.hour_of_half % 12 + 12 * half;
        }
        (at == bytes.len()).then_some(found)
    }
}

/// The numbers of a date as it is written.
#[derive(Default)]
struct Found {
    year: i64,
    month: i64,
    day: i64,
    clock: Clock,
    hour_of_half: i64,
    half: Option<i64>,
    day_name: Option<i64>,
    zone: i64,
}

impl Found {
    /// Sets a number of `len` digits.
    fn set(&mut self, unit: Unit, number: i64, len: usize) -> usize {
        *match unit {
            Unit::Year => &mut self.year,
            Unit::Month => &mut self.month,
            Unit::Day => &mut self.day,
            Unit::Hour => &mut self.clock.parts[0],
            Unit::HourOfHalf => &mut self.hour_of_half,
            Unit::Minute => &mut self.clock.parts[1],
            Unit::Second => &mut self.clock.parts[2],
        } = number;
        len
    }
}

impl YearDigits {
    /// The year at the beginning of a text, and how long it is. `behind` digits follow it at once.
    fn read(self, text: &[u8], behind: usize) -> Option<(i64, usize)> {
        let sign = text.first().copied().filter(|byte| matches!(byte, b'+' | b'-'));
        let start = usize::from(sign.is_some());
        let count = digit_count(&text[start..]);
        let len = match self {
            Self::Four => 4,
            Self::UpTo { most } => count.min(most + behind).saturating_sub(behind).max(4),
            Self::Few => count.min(4),
        };
        let digits = text.get(start..start + len).filter(|digits| digit_count(digits) == len)?;
        let year: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let fits = match sign {
            None => len <= 4,
            Some(b'-') => year > 0 || self == Self::Four,
            _ => len > 4,
        };
        fits.then(|| (if sign == Some(b'-') { -year } else { year }, start + len))
    }
}

/// Which name a text begins with, and how long it is.
fn name(text: &str, names: &[&str]) -> Option<(i64, usize)> {
    let (number, name) = (0..).zip(names).find(|(_, name)| text.starts_with(**name))?;
    Some((number, name.len()))
}

impl Zone {
    /// The distance from UTC in milliseconds, and how long its text is.
    fn millis(self, text: &[u8]) -> Option<(i64, usize)> {
        if text.starts_with(self.none.as_bytes()) {
            return Some((0, self.none.len()));
        }
        matches!(text.first(), Some(b'+' | b'-')).then_some(())?;
        let colon = usize::from(self.colon);
        let with_minutes = 5 + colon;
        let has_minutes = text.get(3) == Some(&b':') || text.get(3).is_some_and(u8::is_ascii_digit);
        let len = if self.minutes == Part::Always || has_minutes { with_minutes } else { 3 };
        if len == with_minutes && self.colon != (text.get(3) == Some(&b':')) {
            return None;
        }
        Some((zone_millis(text.get(..len)?)?, len))
    }
}
