//! The zone of times that name none.

use std::fmt;
use std::str::FromStr;

use chrono::{LocalResult, NaiveDate, Offset, TimeZone};
use chrono_tz::Tz;
use serde::{Serialize, Serializer};
use time::{Date, Time, UtcOffset};

/// A zone, as in `Europe/Paris`, `UTC` or `+02:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fixed(UtcOffset),
    /// Its offset changes, as the tables of IANA say.
    Named(Tz),
}

impl Zone {
    /// The offset at a time of this zone. Of a time that comes twice when clocks are put back it is
    /// that of the first one. `None`: clocks that are put forward leave the time out.
    pub(crate) fn offset_at(&self, date: Date, time: Time) -> Option<UtcOffset> {
        let tz = match &self.0 {
            Kind::Fixed(offset) => return Some(*offset),
            Kind::Named(tz) => tz,
        };
        let day = NaiveDate::from_ymd_opt(date.year(), u8::from(date.month()).into(), date.day().into())?;
        let local = day.and_hms_opt(time.hour().into(), time.minute().into(), time.second().into())?;
        let offset = match tz.offset_from_local_datetime(&local) {
            LocalResult::Single(offset) | LocalResult::Ambiguous(offset, _) => offset,
            LocalResult::None => return None,
        };
        UtcOffset::from_whole_seconds(offset.fix().local_minus_utc()).ok()
    }
}

impl FromStr for Zone {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a zone such as Europe/Paris, UTC or +02:00, not {text:?}");
        if text == "Z" {
            return Ok(Zone(Kind::Fixed(UtcOffset::UTC)));
        }
        let Some(sign) = text.chars().next().filter(|sign| ['+', '-'].contains(sign)) else {
            return text.parse::<Tz>().map(|tz| Zone(Kind::Named(tz))).map_err(|_| wrong());
        };
        if !text.is_ascii() {
            return Err(wrong());
        }
        let (hours, minutes) = match &text.as_bytes()[1..] {
            [_, _] => (&text[1..3], "00"),
            [_, _, b':', _, _] => (&text[1..3], &text[4..6]),
            [_, _, _, _] => (&text[1..3], &text[3..5]),
            _ => return Err(wrong()),
        };
        let number = |digits: &str| -> Option<i8> {
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
        };
        let (hours, minutes) = number(hours).zip(number(minutes).filter(|minutes| *minutes < 60)).ok_or_else(wrong)?;
        let sign = if sign == '-' { -1 } else { 1 };
        // Servers read offsets up to 18 hours.
        let fixed = if hours > 18 { None } else { UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok() };
        fixed.map(|offset| Zone(Kind::Fixed(offset))).ok_or_else(wrong)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Named(tz) => f.write_str(tz.name()),
            Kind::Fixed(offset) if offset.is_utc() => f.write_str("UTC"),
            Kind::Fixed(offset) => {
                let minutes = offset.whole_minutes();
                let sign = if minutes < 0 { '-' } else { '+' };
                write!(f, "{sign}{:02}:{:02}", minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60)
            }
        }
    }
}

#[doc(hidden)]
impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_a_name_or_an_offset() {
        for (text, shown) in [
            ("Europe/Paris", "Europe/Paris"),
            ("America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
            ("UTC", "UTC"),
            ("CET", "CET"),
            ("Z", "UTC"),
            ("+00:00", "UTC"),
            ("+02:00", "+02:00"),
            ("-0530", "-05:30"),
            ("+01", "+01:00"),
            ("-00:30", "-00:30"),
        ] {
            assert_eq!(text.parse::<Zone>().map(|zone| zone.to_string()).as_deref(), Ok(shown), "{text}");
        }
        for text in
            ["", "Europe/Pari", "+", "+1", "+19:00", "+02:60", "+0a:00", "2", "+02:00:00", "+é:00", "+aéb", "+-1"]
        {
            let told = text.parse::<Zone>().unwrap_err();
            assert!(told.contains("Europe/Paris"), "{text}: {told}");
        }
    }
}
