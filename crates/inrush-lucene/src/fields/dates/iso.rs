//! Dates by ISO 8601, of which some parts may be absent.

use super::calendar::{Clock, Resolver, digit_count, digits, fraction, zone_millis};
use super::{Dialect, Fit, Moment};

/// Whether a part of a date has to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Never,
    Maybe,
    Always,
}

impl Part {
    fn allows(self, is_there: bool) -> bool {
        match self {
            Self::Never => !is_there,
            Self::Maybe => true,
            Self::Always => is_there,
        }
    }
}

/// The parts of a date with a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Iso {
    pub(super) time: Part,
    /// Whether a time has its minutes and seconds.
    pub(super) whole_time: bool,
    pub(super) fraction: Part,
    pub(super) zone: Part,
    /// Whether a zone may be behind a `T` without a time.
    pub(super) zone_alone: bool,
    /// Whether parts have all their digits.
    pub(super) strict: bool,
    /// Whether Elasticsearch's own reader takes it, and not Java's. That one needs a day before a
    /// time, and not only a month or a year, and has one zone and one fraction at most.
    pub(super) own: bool,
}

impl Iso {
    /// The moment of a date. OpenSearch clamps what is beyond the range of milliseconds.
    pub(super) fn moment(self, text: &[u8], dialect: Dialect) -> Result<Moment, Fit> {
        let (day, clock, _, zone) = self.read(text, dialect).ok_or(Fit::Not)?;
        clock.on(day?, zone, dialect.is_opensearch()).ok_or(Fit::Never)
    }

    /// The moment of a date whose time is filled up, if it is known here.
    pub(super) fn last_moment(self, text: &[u8], dialect: Dialect) -> Option<Moment> {
        let (day, clock, parts, zone) = self.read(text, dialect)?;
        (self.own || parts == 0 && self.time == Part::Never).then(|| clock.filled(parts).on(day.ok()?, zone, false))?
    }

    /// The day, or why there is no such day, its time, how many parts that has, and the distance of
    /// the zone.
    fn read(self, text: &[u8], dialect: Dialect) -> Option<(Result<i64, Fit>, Clock, usize, i64)> {
        let opensearch = dialect.is_opensearch();
        let (year, mut at) = if self.strict {
            year(text, if opensearch { 10 } else { 4 }, self.own)?
        } else {
            lenient_year(text, if opensearch { 5 } else { 9 })?
        };
        let mut parts = [1, 1];
        let mut count = 0;
        while count < 2 && text.get(at) == Some(&b'-') {
            let len;
            (parts[count], len) = self.part(text, at + 1)?;
            at += 1 + len;
            count += 1;
        }
        let mut day = Resolver::Strict.day(year, parts[0], parts[1]).ok_or(Fit::Never);
        if day.is_err() {
            // Java looks at a month last that has no day, the other reader at each day.
            let is_seen_last = if self.own { parts[0] <= 12 && parts[1] <= 31 } else { count < 2 };
            is_seen_last.then_some(())?;
        }
        match text.get(at) {
            None if count == 0 && !self.own => {
                (self.time != Part::Always).then_some((day.map_err(|_| Fit::NoYear), Clock::default(), 0, 0))
            }
            None => (self.time != Part::Always).then_some((day, Clock::default(), 0, 0)),
            Some(b'T') if self.time != Part::Never && (count == 2 || !self.own) => {
                let (mut clock, parts, end) = self.clock(text, at + 1)?;
                let fraction = parts == 4;
                let zone = &text[end..];
                let fits = self.fraction.allows(fraction) && self.zone.allows(!zone.is_empty());
                (fits && (parts >= 3 || !self.whole_time)).then_some(())?;
                if clock.nanos_of_minute {
                    // Without seconds the servers know no time.
                    clock = Clock::default();
                } else if count == 0 && parts > 0 {
                    // Of a year with a time they take only the time.
                    day = day.map(|_| 0);
                }
                Some((day, clock, parts, self.zone_millis(zone)?))
            }
            Some(_) => None,
        }
    }

    /// The distance of a zone in milliseconds. Elasticsearch's reader takes seconds also without
    /// colons.
    fn zone_millis(self, text: &[u8]) -> Option<i64> {
        if self.own && text.len() == 7 && digit_count(&text[1..]) == 6 {
            return zone_millis(&[&text[..3], &text[3..5], &text[5..]].join(&b':'));
        }
        zone_millis(text).or_else(|| if self.takes_twice() { first_of_two_zones(text) } else { None })
    }

    /// Whether a zone may come twice, and a fraction: with a dot, and the same with a comma.
    fn takes_twice(self) -> bool {
        self.time == Part::Maybe && !self.own
    }

    /// A part of two digits, or of one where that is enough, and how many it has.
    fn part(self, text: &[u8], at: usize) -> Option<(i64, usize)> {
        match digits(text, at, 2) {
            Some(number) => Some((number, 2)),
            None if self.strict => None,
            None => Some((digits(text, at, 1)?, 1)),
        }
    }

    /// The time of a day from `at` on, how many parts it has (the fraction is the fourth), and
    /// where it ends.
    fn clock(self, text: &[u8], mut at: usize) -> Option<(Clock, usize, usize)> {
        let mut clock = Clock::default();
        if at == text.len() || self.zone_alone && !self.own && !text[at].is_ascii_digit() {
            return Some((clock, 0, at));
        }
        let len;
        (clock.parts[0], len) = self.part(text, at)?;
        at += len;
        let mut parts = 1;
        while parts < 3 && text.get(at) == Some(&b':') {
            let len;
            (clock.parts[parts], len) = self.part(text, at + 1)?;
            parts += 1;
            at += 1 + len;
        }
        if (parts == 3 || parts == 2 && !self.strict) && matches!(text.get(at), Some(b'.' | b',')) {
            let count = digit_count(&text[at + 1..]);
            // Where all parts have to be there, only a dot is before a fraction.
            if !(1..=9).contains(&count) || text[at] == b',' && self.time == Part::Always {
                return None;
            }
            clock.nanos = fraction(&text[at + 1..at + 1 + count], 9);
            clock.nanos_of_minute = parts == 2;
            let is_with_dot = text[at] == b'.';
            at += 1 + count;
            if is_with_dot && self.takes_twice() && text.get(at) == Some(&b',') {
                let count = digit_count(&text[at + 1..]);
                let again = &text[at + 1..at + 1 + count];
                ((1..=9).contains(&count) && fraction(again, 9) == clock.nanos).then_some(())?;
                at += 1 + count;
            }
            parts = 4;
        }
        // The lenient format has a zone only behind minutes.
        if parts < 2 && !self.strict && at < text.len() {
            return None;
        }
        (clock.nanos_of_minute || clock.is_of_a_day()).then_some((clock, parts, at))
    }
}

/// The first of two distances from UTC in a row, which is the one that counts: one with a colon, or
/// `Z`, and behind it one without.
fn first_of_two_zones(text: &[u8]) -> Option<i64> {
    let len = match text {
        [b'Z', ..] => 1,
        [b'U', b'T', b'C', b'Z'] | [b'G', b'M', b'T', b'Z'] => 3,
        [b'U', b'T', b'Z'] => 2,
        [b'+' | b'-', _, _, b':', _, _, b':', ..] => 9,
        [b'+' | b'-', _, _, b':', ..] => 6,
        _ => return None,
    };
    let (first, second) = text.split_at_checked(len)?;
    (second == b"Z" || !second.contains(&b':') && second.first().is_some_and(|byte| b"+-".contains(byte)))
        .then_some(())?;
    zone_millis(second)?;
    zone_millis(first)
}

/// Up to `most` digits, with a sign if they are negative. Returns where the year ends, too.
fn lenient_year(text: &[u8], most: usize) -> Option<(i64, usize)> {
    let (sign, start) = if text.first() == Some(&b'-') { (-1, 1) } else { (1, 0) };
    let count = digit_count(&text[start..]);
    (1..=most).contains(&count).then_some(())?;
    let year = digits(text, start, count)?;
    (sign > 0 || year > 0).then_some((sign * year, start + count))
}

/// Four digits; behind a sign up to `most`. `minus_zero`: whether there is a year -0. Returns where
/// the year ends, too.
fn year(text: &[u8], most: usize, minus_zero: bool) -> Option<(i64, usize)> {
    let (sign, least) = match text.first()? {
        b'-' => (-1, 4),
        b'+' => (1, 5),
        _ => return Some((digits(text, 0, 4)?, 4)),
    };
    let count = digit_count(&text[1..]);
    (least..=most).contains(&count).then_some(())?;
    let year = digits(text, 1, count)?;
    (sign > 0 || year > 0 || minus_zero).then_some((sign * year, 1 + count))
}
