//! Dates by a pattern of letters.

use inrush_core::date_format::{PatternPart, pattern_parts};

use super::Moment;
use super::calendar::{Clock, date_millis, digits, fraction, zone_millis};
use super::iso::Part;

/// The pieces of a date, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Piece>);

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
    /// That many digits of a number.
    Number(Unit, usize),
    /// A number of one or more digits.
    AnyNumber(Unit),
    /// The two last digits of a year from 2000 on.
    ShortYear,
    /// A name of a month: `Jan` or `January`.
    MonthName(&'static [&'static str; 12]),
    /// A name of a day of the week: `Mon` or `Monday`.
    DayName(&'static [&'static str; 7]),
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

const NUMBERS: [(char, Unit, usize); 8] = [
    ('y', Unit::Year, 4),
    ('u', Unit::Year, 4),
    ('M', Unit::Month, 2),
    ('d', Unit::Day, 2),
    ('H', Unit::Hour, 2),
    ('h', Unit::HourOfHalf, 2),
    ('m', Unit::Minute, 2),
    ('s', Unit::Second, 2),
];

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
#[rustfmt::skip]
const WHOLE_MONTHS: [&str; 12] = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
];
/// From the first day of 1970 on.
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const WHOLE_DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

impl Piece {
    /// The piece of some equal letters.
    fn of(letters: &str) -> Option<Self> {
        let zone = |none, colon, minutes| Some(Self::Zone(Zone { none, colon, minutes }));
        match letters {
            "yy" | "uu" => return Some(Self::ShortYear),
            "MMM" => return Some(Self::MonthName(&MONTHS)),
            "MMMM" => return Some(Self::MonthName(&WHOLE_MONTHS)),
            "E" | "EE" | "EEE" => return Some(Self::DayName(&DAYS)),
            "EEEE" => return Some(Self::DayName(&WHOLE_DAYS)),
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
            1 if *unit != Unit::Year => Some(Self::AnyNumber(*unit)),
            count if count == *len => Some(Self::Number(*unit, *len)),
            _ => None,
        }
    }

    fn begins_with_digit(self) -> bool {
        matches!(self, Self::Number(..) | Self::AnyNumber(_) | Self::ShortYear | Self::Fraction(_))
    }

    fn unit(self) -> Option<Unit> {
        match self {
            Self::Number(unit, _) | Self::AnyNumber(unit) => Some(unit),
            Self::ShortYear => Some(Unit::Year),
            Self::MonthName(_) => Some(Unit::Month),
            Self::Text(_) | Self::DayName(_) | Self::Half | Self::Fraction(_) | Self::Zone(_) => None,
        }
    }
}

impl Pattern {
    /// Reads a pattern of letters. `None` if a part of it is not known here.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let mut pieces = Vec::new();
        for part in pattern_parts(pattern)? {
            match part {
                PatternPart::Letters(letters) => pieces.push(Piece::of(letters)?),
                // Java gives these a meaning.
                PatternPart::Text(text) if text.contains(['[', ']', '{', '}', '#']) => return None,
                PatternPart::Text(text) => pieces.extend(text.chars().map(Piece::Text)),
            }
        }
        // A number of any length takes the digits of the next one.
        if pieces.windows(2).any(|pair| matches!(pair[0], Piece::AnyNumber(_)) && pair[1].begins_with_digit()) {
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
        (once && date && whole).then_some(Self(pieces))
    }

    pub(super) fn moment(&self, text: &str) -> Option<Moment> {
        let bytes = text.as_bytes();
        let (mut year, mut month, mut day, mut clock, mut zone, mut at) = (0, 1, 1, Clock::default(), 0, 0);
        let (mut hour_of_half, mut half, mut day_name) = (12, 0, None);
        for piece in &self.0 {
            let mut set = |unit: Unit, number| match unit {
                Unit::Year => year = number,
                Unit::Month => month = number,
                Unit::Day => day = number,
                Unit::Hour => clock.parts[0] = number,
                Unit::HourOfHalf => hour_of_half = number,
                Unit::Minute => clock.parts[1] = number,
                Unit::Second => clock.parts[2] = number,
            };
            at += match *piece {
                Piece::Text(c) => text.get(at..)?.starts_with(c).then_some(c.len_utf8())?,
                Piece::Number(unit, len) => {
                    set(unit, digits(bytes, at, len)?);
                    len
                }
                Piece::AnyNumber(unit) => {
                    let len = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                    (1..=18).contains(&len).then_some(())?;
                    set(unit, digits(bytes, at, len)?);
                    len
                }
                Piece::ShortYear => {
                    set(Unit::Year, 2000 + digits(bytes, at, 2)?);
                    2
                }
                Piece::MonthName(names) => {
                    let (number, len) = name(text.get(at..)?, names)?;
                    set(Unit::Month, 1 + number);
                    len
                }
                Piece::DayName(names) => {
                    let (number, len) = name(text.get(at..)?, names)?;
                    day_name = Some(number);
                    len
                }
                Piece::Half => {
                    let (number, len) = name(text.get(at..)?, &["AM", "PM"])?;
                    half = number;
                    len
                }
                Piece::Fraction(len) => {
                    digits(bytes, at, len)?;
                    clock.nanos = fraction(&bytes[at..at + len], 9);
                    len
                }
                Piece::Zone(form) => {
                    let (millis, len) = form.millis(&bytes[at..])?;
                    zone = millis;
                    len
                }
            };
        }
        if at != bytes.len() {
            return None;
        }
        if self.0.contains(&Piece::Half) {
            (1..=12).contains(&hour_of_half).then_some(())?;
            clock.parts[0] = hour_of_half % 12 + 12 * half;
        }
        let date = date_millis(year, month, day)?;
        let is_day = |name: i64| date.div_euclid(86_400_000).rem_euclid(7) == name;
        day_name.is_none_or(is_day).then_some(())?;
        clock.on(date, zone)
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
