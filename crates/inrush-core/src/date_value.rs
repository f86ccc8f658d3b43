//! The moment that a value of a document means, as the servers' fields of type `date` read it.

use time::format_description::well_known::Iso8601;
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

/// Why a value has no moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoMoment {
    /// It is no date.
    Other,
    /// A field of type `date` reads milliseconds since 1970, but the number is most likely this.
    Unlikely(&'static str),
}

/// Seconds since 1970, as numbers that are hardly milliseconds: from 1990 to 2100. As milliseconds
/// they are days of January and February 1970.
const SECONDS: std::ops::RangeInclusive<i64> = 631_152_000..=4_102_444_800;

/// The years of dates that are written as numbers.
const YEARS: std::ops::RangeInclusive<i64> = 1900..=2100;

/// The moment in UTC: a year of four digits, a month, a date or a time by ISO 8601 (one without an
/// offset is in UTC), or milliseconds since 1970.
pub(crate) fn moment(value: &str) -> Result<OffsetDateTime, NoMoment> {
    if let Some(time) = optional_time(value) {
        return Ok(time);
    }
    if let Some(millis) = millis(value) {
        if let Some(what) = unlikely(value, millis) {
            return Err(NoMoment::Unlikely(what));
        }
        return OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000).map_err(|_| NoMoment::Other);
    }
    let iso = &Iso8601::PARSING;
    if let Ok(time) = OffsetDateTime::parse(value, iso) {
        return Ok(time.to_offset(UtcOffset::UTC));
    }
    let time = PrimitiveDateTime::parse(value, iso).ok();
    let time = time.or_else(|| Some(Date::parse(value, iso).ok()?.midnight()));
    time.map(PrimitiveDateTime::assume_utc).ok_or(NoMoment::Other)
}

/// Nanoseconds since 1970 of a value of a field of type `date` with the servers' default format: a
/// number is milliseconds. The fraction of a second in a text is left out.
pub fn unix_nanos(value: &str) -> Option<i128> {
    match optional_time(value) {
        Some(time) => Some(time.unix_timestamp_nanos()),
        None => millis(value).map(|millis| i128::from(millis) * 1_000_000),
    }
}

/// What a number of milliseconds is rather than a time in 1970 or in centuries to come.
fn unlikely(value: &str, millis: i64) -> Option<&'static str> {
    let day = |day: i64| {
        let year = day / 10_000;
        YEARS.contains(&year) && date(year, day / 100 % 100, day % 100).is_some()
    };
    if YEARS.contains(&millis) {
        return Some("a year");
    }
    if SECONDS.contains(&millis) {
        return Some("seconds");
    }
    let is_whole = value.bytes().all(|byte| byte.is_ascii_digit());
    match value.len() {
        6 if is_whole && day(millis * 100 + 1) => Some("a year and a month"),
        8 if is_whole && day(millis) => Some("a day"),
        14 if is_whole && day(millis / 1_000_000) && clock(millis % 1_000_000) => Some("a day with a time"),
        _ => None,
    }
}

/// Whether six digits are hour, minute and second.
fn clock(digits: i64) -> bool {
    digits / 10_000 < 24 && digits / 100 % 100 < 60 && digits % 100 < 60
}

/// A number without its fraction, also with an exponent.
fn millis(value: &str) -> Option<i64> {
    if let Ok(millis) = value.parse::<i64>() {
        return Some(millis);
    }
    let is_number = value.starts_with(|first: char| first.is_ascii_digit() || first == '-')
        && value.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let number: f64 = value.parse().ok().filter(|_| is_number)?;
    // Beyond it a float has no milliseconds.
    (number.abs() < 9e15).then_some(number.floor() as i64)
}

/// `yyyy[-MM[-dd[T[HH[:mm[:ss[.fraction]]][zone]]]]]`, the servers' `strict_date_optional_time`.
fn optional_time(value: &str) -> Option<OffsetDateTime> {
    if !value.is_ascii() {
        return None;
    }
    let (day, time) = value.split_once('T').map_or((value, None), |(day, time)| (day, Some(time)));
    let number = |text: Option<&str>| two_digits(text.unwrap_or("01"));
    let mut parts = day.splitn(3, '-');
    let year = parts.next().filter(|year| year.len() == 4 && all_digits(year))?;
    let (month, of_month) = (parts.next(), parts.next());
    if time.is_some() && of_month.is_none() {
        return None;
    }
    let day = date(year.parse().ok()?, number(month)?, number(of_month)?)?;
    let time = time.unwrap_or_default();
    let zone = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (time, zone) = (clock_of(&time[..zone])?, offset(&time[zone..])?);
    let moment = PrimitiveDateTime::new(day, time).assume_offset(zone);
    // Beyond the years that are known there is no such date.
    moment.checked_to_offset(UtcOffset::UTC)
}

fn date(year: i64, month: i64, day: i64) -> Option<Date> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn two_digits(text: &str) -> Option<i64> {
    if text.len() == 2 && all_digits(text) { text.parse().ok() } else { None }
}

/// Nothing, or hours, minutes, seconds and a fraction, as many of them as there are.
fn clock_of(text: &str) -> Option<Time> {
    if text.is_empty() {
        return Some(Time::MIDNIGHT);
    }
    let mut numbers = [0u8; 3];
    let mut parts = text.split(':');
    for (at, number) in numbers.iter_mut().enumerate() {
        let Some(part) = parts.next() else { break };
        let (whole, fraction) = part.split_once(['.', ',']).map_or((part, None), |(w, f)| (w, Some(f)));
        if fraction.is_some_and(|fraction| at < 2 || fraction.len() > 9 || !all_digits(fraction)) {
            return None;
        }
        *number = u8::try_from(two_digits(whole)?).ok()?;
    }
    match parts.next() {
        None => Time::from_hms(numbers[0], numbers[1], numbers[2]).ok(),
        Some(_) => None,
    }
}

/// Nothing, `Z`, `+HH`, `+HHmm` or `+HH:mm`.
fn offset(text: &str) -> Option<UtcOffset> {
    let Some(sign) = text.chars().next().filter(|_| text != "Z") else { return Some(UtcOffset::UTC) };
    let digits = &text[1..];
    let (hours, minutes) = match digits.len() {
        2 => (digits, "00"),
        4 => digits.split_at(2),
        5 => digits.split_once(':')?,
        _ => return None,
    };
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    if hours > 18 || minutes > 59 {
        return None;
    }
    let seconds = i32::try_from((hours * 60 + minutes) * 60).ok()?;
    UtcOffset::from_whole_seconds(if sign == '-' { -seconds } else { seconds }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: &str) -> Result<String, NoMoment> {
        moment(value).map(|time| {
            let (hour, minute, second) = time.to_hms();
            format!("{}T{hour:02}:{minute:02}:{second:02}", time.date())
        })
    }

    #[test]
    fn dates_are_those_of_a_date_field() {
        for (value, expected) in [
            ("2024", "2024-01-01T00:00:00"),
            ("1066", "1066-01-01T00:00:00"),
            ("2024-01", "2024-01-01T00:00:00"),
            ("2024-12", "2024-12-01T00:00:00"),
            ("2024-02-29", "2024-02-29T00:00:00"),
            ("2024-01-31T", "2024-01-31T00:00:00"),
            ("2024-01-31T10", "2024-01-31T10:00:00"),
            ("2024-01-31T10:59", "2024-01-31T10:59:00"),
            ("2024-01-31T10Z", "2024-01-31T10:00:00"),
            ("2024-01-31T10+02", "2024-01-31T08:00:00"),
            ("2024-01-31T23:30-0130", "2024-02-01T01:00:00"),
            ("2024-01-31T10:59:58,123456789+01:00", "2024-01-31T09:59:58"),
            ("1e12", "2001-09-09T01:46:40"),
            ("1.7066592E12", "2024-01-31T00:00:00"),
            ("1706659200000", "2024-01-31T00:00:00"),
            ("1706659200000.0", "2024-01-31T00:00:00"),
            ("1706659200000.9", "2024-01-31T00:00:00"),
            ("0", "1970-01-01T00:00:00"),
            ("-1", "1969-12-31T23:59:59"),
            ("-86400000", "1969-12-31T00:00:00"),
            ("99999", "1970-01-01T00:01:39"),
            ("2026-W05-6", "2026-01-31T00:00:00"),
            ("20260131T100000Z", "2026-01-31T10:00:00"),
        ] {
            assert_eq!(shown(value).as_deref(), Ok(expected), "{value}");
        }
    }

    #[test]
    fn numbers_that_are_hardly_milliseconds_are_named() {
        for (value, what) in [
            ("1706659200", "seconds"),
            ("1706659200.25", "seconds"),
            ("1.7066592e9", "seconds"),
            ("631152000", "seconds"),
            ("20240131", "a day"),
            ("202401", "a year and a month"),
            ("20240131101500", "a day with a time"),
            ("2024.0", "a year"),
        ] {
            assert_eq!(shown(value), Err(NoMoment::Unlikely(what)), "{value}");
        }
        for value in ["20241301", "202413", "20240132", "5000000000", "600000000"] {
            assert!(shown(value).is_ok_and(|time| time.starts_with("1970-")), "{value}");
        }
    }

    #[test]
    fn other_values_are_no_dates() {
        for value in [
            "",
            "yesterday",
            "2026-13",
            "2026-02-30",
            "2026-1",
            "2026-01-31T24",
            "2026-01-31T10:60",
            "2026-01-31T1",
            "2026-01-31T10:00:00.",
            "2026-01-31T10+19",
            "2026-01-31 10:00",
            "31.01.2026",
            "9223372036854775807",
            "1706659200000000",
            "NaN",
            "inf",
            "1e400",
            "é2024",
        ] {
            assert_eq!(shown(value), Err(NoMoment::Other), "{value}");
        }
    }
}
