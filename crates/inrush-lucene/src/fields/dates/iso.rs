//! Dates by ISO 8601, of which some parts may be absent.

use super::Moment;
use super::calendar::{Clock, date_millis, digits, fraction, zone_millis};

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
    /// Whether parts have all their digits.
    pub(super) strict: bool,
}

impl Iso {
    pub(super) fn moment(self, text: &[u8], long_years: bool) -> Option<Moment> {
        let (year, mut at) = if self.strict { year(text, long_years)? } else { lenient_year(text)? };
        let mut parts = [1, 1];
        let mut count = 0;
        while count < 2 && text.get(at) == Some(&b'-') {
            let len;
            (parts[count], len) = self.part(text, at + 1)?;
            at += 1 + len;
            count += 1;
        }
        let date = date_millis(year, parts[0], parts[1])?;
        match text.get(at) {
            None => (self.time != Part::Always).then_some(Moment { millis: date, nanos: 0 }),
            // The time follows a whole date.
            Some(b'T') if count == 2 && self.time != Part::Never => {
                let (clock, parts, end) = self.clock(text, at + 1)?;
                let fraction = parts == 4;
                let zone = &text[end..];
                let fits = self.fraction.allows(fraction) && self.zone.allows(!zone.is_empty());
                (fits && (parts >= 3 || !self.whole_time)).then_some(())?;
                clock.on(date, self.zone_millis(zone, long_years)?)
            }
            Some(_) => None,
        }
    }

    /// Elasticsearch, which has no long years, takes seconds also without colons.
    fn zone_millis(self, text: &[u8], long_years: bool) -> Option<i64> {
        if self.strict && !long_years && text.len() == 7 {
            let [sign, h0, h1, m0, m1, s0, s1] = text.try_into().ok()?;
            return zone_millis(&[sign, h0, h1, b':', m0, m1, b':', s0, s1]);
        }
        zone_millis(text)
    }

    /// Whether a text is a date with the name of a time zone, which is not known here.
    pub(super) fn has_zone_name(self, text: &str, long_years: bool) -> bool {
        let Some(time) = text.find('T') else { return false };
        let Some(zone) = text[time + 1..].find(|c: char| c.is_ascii_uppercase()) else { return false };
        let (known, zone) = text.split_at(time + 1 + zone);
        let of_name = |c: char| c.is_ascii_alphanumeric() || "/_+-:.~".contains(c);
        zone.chars().all(of_name) && self.moment(format!("{known}Z").as_bytes(), long_years).is_some()
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
        if at == text.len() {
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
        if parts == 3 && matches!(text.get(at), Some(b'.' | b',')) {
            let count = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            // Where all parts have to be there, only a dot is before a fraction.
            if !(1..=9).contains(&count) || text[at] == b',' && self.time == Part::Always {
                return None;
            }
            clock.nanos = fraction(&text[at + 1..at + 1 + count], 9);
            at += 1 + count;
            parts = 4;
        }
        clock.millis()?;
        Some((clock, parts, at))
    }
}

/// One to five digits, with a sign if they are negative. Returns where the year ends, too.
fn lenient_year(text: &[u8]) -> Option<(i64, usize)> {
    let (sign, start) = if text.first() == Some(&b'-') { (-1, 1) } else { (1, 0) };
    let count = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=5).contains(&count).then_some(())?;
    Some((sign * digits(text, start, count)?, start + count))
}

/// Four digits; with a sign also more, if years may be long. Returns where the year ends, too.
fn year(text: &[u8], long_years: bool) -> Option<(i64, usize)> {
    let (sign, least) = match text.first()? {
        b'-' => (-1, 4),
        b'+' => (1, 5),
        _ => return Some((digits(text, 0, 4)?, 4)),
    };
    let count = text[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    (least..=if long_years { 9 } else { 4 }).contains(&count).then_some(())?;
    Some((sign * digits(text, 1, count)?, 1 + count))
}

/// Whether a text has ten digits as its year, which no year has: the servers then try no other
/// format.
pub(super) fn beyond_years(text: &[u8]) -> bool {
    let count = text.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
    matches!(text.first(), Some(b'-' | b'+')) && count == 10 && matches!(text.get(11), None | Some(b'-' | b'T'))
}
