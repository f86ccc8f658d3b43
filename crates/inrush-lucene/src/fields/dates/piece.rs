//! The pieces of a date, as Java's `DateTimeFormatter` reads them.

use super::calendar::{any_zone_millis, digit_count, digits, fraction, zone_millis};
use super::found::{Found, Unit};

/// A piece of a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(char),
    /// One of some characters of ASCII.
    OneOf(&'static str),
    /// A number of `least` to `most` digits. [`count_digits_behind`] sets how many it leaves to the
    /// next pieces.
    Number {
        unit: Unit,
        least: usize,
        most: usize,
        sign: Sign,
        behind: usize,
    },
    /// The two last digits of a year from 2000 on.
    ShortYear(Unit),
    /// One of some names, of which the first stands for this number.
    Name(Unit, i64, &'static [&'static str]),
    /// The digits of a second's fraction, behind one of the characters, if there are any.
    Fraction {
        least: usize,
        most: usize,
        behind: &'static str,
    },
    /// A distance from UTC.
    Zone(Zone),
    /// A distance from UTC in one of the forms that [`zone_millis`] knows, as the rest of a text:
    /// also one with seconds and `UTC`, `UT` and `GMT`, or without these.
    AnyZone {
        names: bool,
    },
    /// Pieces that are all there or not.
    Optional(Vec<Piece>),
}

/// The sign of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Never,
    /// `-` before a number that is not 0.
    Minus,
    /// `-` also before 0.
    AnyMinus,
    /// As `Minus`, and `+` before a number of more digits than the least, where it has to be.
    Plus,
}

/// How a distance from UTC is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Zone {
    /// What stands for no distance.
    pub(super) none: &'static str,
    pub(super) colon: bool,
    /// Whether minutes have to be there.
    pub(super) minutes: bool,
    /// Whether `-` may be before zeros.
    pub(super) minus_zero: bool,
}

impl Piece {
    pub(super) fn number(unit: Unit, least: usize, most: usize, sign: Sign) -> Self {
        Self::Number { unit, least, most, sign, behind: 0 }
    }

    /// A number of exactly `len` digits.
    pub(super) fn fixed(unit: Unit, len: usize) -> Self {
        Self::number(unit, len, len, Sign::Never)
    }

    /// How many digits it always has.
    fn width(&self) -> Option<usize> {
        match *self {
            Self::Number { least, most, sign: Sign::Never, .. } if least == most => Some(least),
            Self::Fraction { least, most, behind: "" } if least == most => Some(least),
            Self::ShortYear(_) => Some(2),
            _ => None,
        }
    }

    /// Reads the piece at a place of a text, and returns where it ends.
    fn read(&self, text: &str, at: usize, found: &mut Found) -> Option<usize> {
        let bytes = text.as_bytes();
        let len = match *self {
            Self::Text(c) => text.get(at..)?.starts_with(c).then_some(c.len_utf8())?,
            Self::OneOf(chars) => bytes.get(at).is_some_and(|byte| chars.contains(char::from(*byte))).then_some(1)?,
            Self::Number { unit, least, most, sign: Sign::Never, .. } if least == most => {
                found.set(unit, digits(bytes, at, least)?)?;
                least
            }
            Self::Number { unit, least, most, sign, behind } => {
                let (number, len) = number(&bytes[at..], least, most, sign, behind)?;
                found.set(unit, number)?;
                len
            }
            Self::ShortYear(unit) => {
                found.set(unit, 2000 + digits(bytes, at, 2)?)?;
                2
            }
            Self::Name(unit, first, names) => {
                let rest = text.get(at..)?;
                let (number, name) = (first..).zip(names).find(|(_, name)| rest.starts_with(**name))?;
                found.set(unit, number)?;
                name.len()
            }
            Self::Fraction { least, most, behind } => {
                let dot = usize::from(!behind.is_empty());
                let is_behind = bytes.get(at).is_some_and(|byte| behind.contains(char::from(*byte)));
                (dot == 0 || is_behind).then_some(())?;
                let digits = &bytes[at + dot..];
                let count = digit_count(digits).min(most);
                (count >= least).then_some(())?;
                found.set(Unit::Nano, i64::from(fraction(&digits[..count], 9)))?;
                dot + count
            }
            Self::Zone(form) => {
                let (millis, len) = form.millis(&bytes[at..])?;
                found.set(Unit::Zone, millis)?;
                len
            }
            Self::AnyZone { names } => {
                let rest = &bytes[at..];
                let is_short = rest == b"Z" || matches!(rest, [b'+' | b'-', ..]) && rest.len() <= 6;
                (!rest.is_empty() && (names || is_short)).then_some(())?;
                found.set(Unit::Zone, zone_millis(rest)?)?;
                rest.len()
            }
            Self::Optional(ref pieces) => {
                let before = *found;
                match read(pieces, text, at, found) {
                    Some(end) => end - at,
                    None => {
                        *found = before;
                        0
                    }
                }
            }
        };
        Some(at + len)
    }
}

/// Reads pieces from a place of a text on, and returns where they end.
pub(super) fn read(pieces: &[Piece], text: &str, mut at: usize, found: &mut Found) -> Option<usize> {
    for piece in pieces {
        at = piece.read(text, at, found)?;
    }
    Some(at)
}

/// Counts the digits that numbers leave to those of a fixed width that follow at once, unless one
/// of another width follows these.
pub(super) fn count_digits_behind(pieces: &mut [Piece]) {
    for place in 0..pieces.len() {
        let (piece, next) = pieces[place..].split_at_mut(1);
        match &mut piece[0] {
            Piece::Number { behind, .. } => {
                let count = next.iter().take_while(|next| next.width().is_some()).count();
                *behind = match next.get(count) {
                    Some(Piece::Number { .. }) => 0,
                    _ => next[..count].iter().filter_map(Piece::width).sum(),
                };
            }
            Piece::Optional(inner) => count_digits_behind(inner),
            _ => {}
        }
    }
}

/// The number at the beginning of a text, and how long it is.
fn number(text: &[u8], least: usize, most: usize, sign: Sign, behind: usize) -> Option<(i64, usize)> {
    let found = text.first().copied().filter(|byte| matches!(byte, b'+' | b'-'));
    let start = usize::from(found.is_some());
    let count = digit_count(&text[start..]);
    let len = count.min(most + behind).saturating_sub(behind).max(least);
    let digits = text.get(start..start + len).filter(|digits| digit_count(digits) == len)?;
    let number: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let fits = match (found, sign) {
        (None, Sign::Plus) => len <= least,
        (None, _) | (Some(b'-'), Sign::AnyMinus) => true,
        (Some(b'-'), _) => sign != Sign::Never && number > 0,
        (Some(_), _) => sign == Sign::Plus && len > least,
    };
    fits.then(|| (if found == Some(b'-') { -number } else { number }, start + len))
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
        let len = if self.minutes || has_minutes { with_minutes } else { 3 };
        if len == with_minutes && self.colon != (text.get(3) == Some(&b':')) {
            return None;
        }
        let millis = any_zone_millis(text.get(..len)?)?;
        (millis != 0 || text[0] == b'+' || self.minus_zero).then_some((millis, len))
    }
}
