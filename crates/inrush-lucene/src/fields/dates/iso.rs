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
}

impl Iso {
    pub(super) fn moment(self, text: &[u8], long_years: bool) -> Option<Moment> {
        let (year, date) = year(text, long_years)?;
        let (mut month, mut day) = (1, 1);
        let mut at = date;
        if text.get(at) == Some(&b'-') {
            month = digits(text, at + 1, 2)?;
            at += 3;
            if text.get(at) == Some(&b'-') {
                day = digits(text, at + 1, 2)?;
                at += 3;
            }
        }
        let days_at = date + 6;
        let date = date_millis(year, month, day)?;
        match text.get(at) {
            None => (self.time != Part::Always).then_some(Moment { millis: date, nanos: 0 }),
            // The time follows a whole date.
            Some(b'T') if at == days_at && self.time != Part::Never => {
                let (clock, parts, end) = clock(text, at + 1)?;
                let fraction = parts == 4;
                let zone = &text[end..];
                let fits = self.fraction.allows(fraction) && self.zone.allows(!zone.is_empty());
                (fits && (parts >= 3 || !self.whole_time)).then_some(())?;
                clock.on(date, zone_millis(zone)?)
            }
            Some(_) => None,
        }
    }
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

/// The time of a day from `at` on, how many parts it has (the fraction is the fourth), and where it
/// ends.
fn clock(text: &[u8], mut at: usize) -> Option<(Clock, usize, usize)> {
    let mut clock = Clock::default();
    if at == text.len() {
        return Some((clock, 0, at));
    }
    clock.parts[0] = digits(text, at, 2)?;
    at += 2;
    let mut parts = 1;
    while parts < 3 && text.get(at) == Some(&b':') {
        clock.parts[parts] = digits(text, at + 1, 2)?;
        parts += 1;
        at += 3;
    }
    if parts == 3 && matches!(text.get(at), Some(b'.' | b',')) {
        let count = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&count) {
            return None;
        }
        clock.nanos = fraction(&text[at + 1..at + 1 + count], 9);
        at += 1 + count;
        parts = 4;
    }
    clock.millis()?;
    Some((clock, parts, at))
}
