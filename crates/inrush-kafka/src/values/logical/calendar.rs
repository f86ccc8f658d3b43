//! Times of any length, and structs of the parts of dates and times.

use std::borrow::Cow;
use std::io::Write;

use inrush_formats::time::{TimeUnit, push_time};
use serde::Deserialize;

use super::quoted;

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;

/// `[-]HH:MM:SS[.fraction]`, also of negative times and those of more than a day, as MySQL has
/// them.
pub(super) fn push_clock(out: &mut Vec<u8>, nanos: i64) {
    let (hours, rest) = (nanos.unsigned_abs() / HOUR as u64, nanos.unsigned_abs() % HOUR as u64);
    let mut of_hour = Vec::with_capacity(18);
    // Below an hour.
    push_time(&mut of_hour, rest as i64, TimeUnit::Nanosecond);
    let sign = if nanos < 0 { "-" } else { "" };
    write(out, format_args!("{sign}{hours:02}"));
    out.extend_from_slice(&of_hour[2..]);
}

/// `PT26H3M4.500S`. As in Java, each part of a negative duration has its sign.
pub(super) fn push_duration(out: &mut Vec<u8>, nanos: i64) {
    let minutes = nanos / (60 * SECOND);
    let parts = Parts {
        hours: Some(minutes / 60),
        minutes: Some(minutes % 60),
        seconds: Some(nanos / SECOND % 60),
        nanos: Some(nanos % SECOND),
        ..Parts::default()
    };
    parts.push(out);
}

fn write(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Memory takes all of it.
    let _ = out.write_fmt(text);
}

/// The parts of a duration, none of which can be converted to another.
#[derive(Default, Deserialize)]
struct Parts {
    years: Option<i64>,
    months: Option<i64>,
    days: Option<i64>,
    hours: Option<i64>,
    minutes: Option<i64>,
    seconds: Option<i64>,
    nanos: Option<i64>,
}

impl Parts {
    fn push(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(b'P');
        for (part, letter) in [(self.years, 'Y'), (self.months, 'M'), (self.days, 'D')] {
            if let Some(part) = part.filter(|part| *part != 0) {
                write(out, format_args!("{part}{letter}"));
            }
        }
        let clock = out.len();
        out.push(b'T');
        for (part, letter) in [(self.hours, 'H'), (self.minutes, 'M')] {
            if let Some(part) = part.filter(|part| *part != 0) {
                write(out, format_args!("{part}{letter}"));
            }
        }
        let (seconds, nanos) = (self.seconds.unwrap_or(0), self.nanos.unwrap_or(0));
        if (seconds, nanos) != (0, 0) || out.len() == start + 2 {
            let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
            write(out, format_args!("{sign}{}", seconds.unsigned_abs()));
            if nanos != 0 {
                let fraction = format!("{:09}", nanos.unsigned_abs());
                write(out, format_args!(".{}", fraction.trim_end_matches('0')));
            }
            out.push(b'S');
        }
        if out.len() == clock + 1 {
            out.truncate(clock);
        }
    }
}

pub(super) fn push_parts(plain: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let parts: Parts = serde_json::from_slice(plain).ok()?;
    quoted(out, |out| parts.push(out))
}

/// The parts of a date, a time, or both. Debezium's `Structured…` and `google.type`.
#[derive(Deserialize)]
struct Calendar<'a> {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    #[serde(alias = "hours")]
    hour: Option<i64>,
    #[serde(alias = "minutes")]
    minute: Option<i64>,
    #[serde(alias = "seconds")]
    second: Option<i64>,
    nanos: Option<i64>,
    #[serde(rename = "offsetSeconds")]
    offset: Option<i64>,
    /// As in `3600s`.
    #[serde(borrow)]
    utc_offset: Option<Cow<'a, str>>,
    #[serde(rename = "zoneId", borrow)]
    zone: Option<Cow<'a, str>>,
    #[serde(borrow)]
    time_zone: Option<TimeZone<'a>>,
    /// Infinity.
    #[serde(rename = "specialValue", borrow)]
    special: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct TimeZone<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
}

/// Infinity and a date without any part become null.
pub(super) fn push(plain: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let parts: Calendar<'_> = serde_json::from_slice(plain).ok()?;
    let date = (parts.year.is_some() || parts.month.is_some() || parts.day.is_some())
        .then(|| [parts.year, parts.month, parts.day].map(Option::unwrap_or_default));
    let (has_time, is_unset) = (parts.hour.is_some(), date == Some([0, 0, 0]));
    if parts.special.is_some() || (is_unset && !has_time) || (date.is_none() && !has_time) {
        out.extend_from_slice(b"null");
        return Some(());
    }
    out.push(b'"');
    if let Some(date) = date {
        push_date(out, date);
        if has_time {
            out.push(b'T');
        }
    }
    if has_time {
        let [hours, minutes, seconds, nanos] =
            [parts.hour, parts.minute, parts.second, parts.nanos].map(Option::unwrap_or_default);
        let seconds = hours.checked_mul(3_600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?;
        push_clock(out, seconds.checked_mul(SECOND)?.checked_add(nanos)?);
        push_zone(&parts, out)?;
    }
    out.push(b'"');
    Some(())
}

/// A year alone, and a year and a month, are dates of ISO 8601. A month and a day without a year
/// were one until 2004, and no date field of an index takes it.
fn push_date(out: &mut Vec<u8>, [year, month, day]: [i64; 3]) {
    match year {
        0 => out.push(b'-'),
        1..=9999 => write(out, format_args!("{year:04}")),
        _ => write(out, format_args!("{year:+05}")),
    }
    if month != 0 || year == 0 {
        write(out, format_args!("-{month:02}"));
        if day != 0 {
            write(out, format_args!("-{day:02}"));
        }
    }
}

fn push_zone(parts: &Calendar<'_>, out: &mut Vec<u8>) -> Option<()> {
    let of_text = |text: &str| text.strip_suffix('s').and_then(|seconds| seconds.parse().ok());
    let offset: Option<i64> = match (&parts.offset, &parts.utc_offset) {
        (Some(offset), _) => Some(*offset),
        (None, Some(text)) => Some(of_text(text)?),
        (None, None) => None,
    };
    let name = parts.zone.as_deref().or_else(|| parts.time_zone.as_ref()?.id.as_deref());
    match (offset, name) {
        (Some(0), _) => out.push(b'Z'),
        (Some(offset), _) => {
            let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60);
            write(out, format_args!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
        }
        // No date field takes it: the moment depends on the rules of the zone.
        (None, Some(name)) => {
            out.push(b'[');
            inrush_formats::json_string::push_escaped(out, name.as_bytes());
            out.push(b']');
        }
        (None, None) => {}
    }
    Some(())
}
