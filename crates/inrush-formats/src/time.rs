//! Dates, times and durations in ISO 8601, as documents have them.

const DAY_SECONDS: i64 = 86_400;

/// The unit of a number that counts time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Second,
    /// 1/1,000 s.
    Millisecond,
    /// 1/1,000,000 s.
    Microsecond,
    /// 1/1,000,000,000 s.
    Nanosecond,
}

#[cfg(feature = "columns")]
impl From<arrow_schema::TimeUnit> for TimeUnit {
    fn from(unit: arrow_schema::TimeUnit) -> Self {
        match unit {
            arrow_schema::TimeUnit::Second => TimeUnit::Second,
            arrow_schema::TimeUnit::Millisecond => TimeUnit::Millisecond,
            arrow_schema::TimeUnit::Microsecond => TimeUnit::Microsecond,
            arrow_schema::TimeUnit::Nanosecond => TimeUnit::Nanosecond,
        }
    }
}

/// The time zone of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// None: a local time, written without a zone.
    None,
    /// Seconds east of UTC. Named zones are written in UTC, which is the same moment.
    Offset(i64),
}

impl Zone {
    /// Reads Arrow's text for a zone: `UTC`, `+02:00`, `Europe/Paris`.
    pub fn new(zone: Option<&str>) -> Zone {
        let Some(zone) = zone else { return Zone::None };
        let digit = |b: u8| b.is_ascii_digit().then(|| i64::from(b - b'0'));
        let seconds = match zone.as_bytes() {
            [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] | [sign @ (b'+' | b'-'), h1, h2, m1, m2] => {
                let number = |a: u8, b: u8| Some(digit(a)? * 10 + digit(b)?);
                let seconds = number(*h1, *h2).zip(number(*m1, *m2)).map(|(h, m)| h * 3600 + m * 60);
                seconds.map(|seconds| if *sign == b'-' { -seconds } else { seconds })
            }
            _ => None,
        };
        Zone::Offset(seconds.unwrap_or(0))
    }
}

/// How many of a unit make a second.
fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Whole seconds, rounded down, and the remaining nanoseconds.
fn split(value: i64, unit: TimeUnit) -> (i64, u32) {
    let per_second = per_second(unit);
    let nanos = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
    // Below 10^9.
    (value.div_euclid(per_second), nanos as u32)
}

/// Milliseconds since 1970, if the value is a whole number of them that fits.
pub fn epoch_millis(value: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => value.checked_mul(1_000),
        TimeUnit::Millisecond => Some(value),
        TimeUnit::Microsecond | TimeUnit::Nanosecond => {
            let per_millisecond = per_second(unit) / 1_000;
            (value % per_millisecond == 0).then(|| value / per_millisecond)
        }
    }
}

/// `YYYY-MM-DD`. Years outside 0 to 9999 have a sign, as ISO 8601 requires.
pub fn push_date(out: &mut Vec<u8>, days: i64) {
    // Howard Hinnant's `civil_from_days`: years begin in March, so that the leap day is the last
    // one.
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    if (0..=9999).contains(&year) {
        push_two(out, year / 100);
        push_two(out, year % 100);
    } else {
        out.push(if year < 0 { b'-' } else { b'+' });
        let digits = year.unsigned_abs();
        for limit in [1_000, 100, 10] {
            if digits < limit {
                out.push(b'0');
            }
        }
        out.extend_from_slice(itoa::Buffer::new().format(digits).as_bytes());
    }
    out.push(b'-');
    push_two(out, month);
    out.push(b'-');
    push_two(out, day);
}

/// `YYYY-MM-DDTHH:MM:SS[.fraction][zone]` of a moment counted from 1970 in UTC.
pub fn push_timestamp(out: &mut Vec<u8>, value: i64, unit: TimeUnit, zone: Zone) {
    let (seconds, nanos) = split(value, unit);
    let local = match zone {
        Zone::None => seconds,
        Zone::Offset(offset) => seconds.saturating_add(offset),
    };
    push_date(out, local.div_euclid(DAY_SECONDS));
    out.push(b'T');
    push_clock(out, local.rem_euclid(DAY_SECONDS), nanos);
    match zone {
        Zone::None => {}
        Zone::Offset(0) => out.push(b'Z'),
        Zone::Offset(offset) => {
            out.push(if offset < 0 { b'-' } else { b'+' });
            let minutes = offset.abs() / 60;
            push_two(out, minutes / 60);
            out.push(b':');
            push_two(out, minutes % 60);
        }
    }
}

/// `HH:MM:SS[.fraction]`.
pub fn push_time(out: &mut Vec<u8>, value: i64, unit: TimeUnit) {
    let (seconds, nanos) = split(value, unit);
    push_clock(out, seconds.rem_euclid(DAY_SECONDS), nanos);
}

/// `PT…S`, in seconds for any length: a day may have 23 hours, so days are not used.
pub fn push_duration(out: &mut Vec<u8>, value: i64, unit: TimeUnit) {
    out.extend_from_slice(b"PT");
    push_seconds(out, i128::from(value) * i128::from(1_000_000_000 / per_second(unit)));
}

/// `P[nM][nD][TnS]` of a calendar's months, days and nanoseconds. None of them can be converted to
/// another.
pub fn push_interval(out: &mut Vec<u8>, months: i32, days: i32, nanos: i64) {
    out.push(b'P');
    for (count, letter) in [(months, b'M'), (days, b'D')] {
        if count != 0 {
            out.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
            out.push(letter);
        }
    }
    if nanos != 0 || (months, days) == (0, 0) {
        out.push(b'T');
        push_seconds(out, i128::from(nanos));
    }
}

/// `[-]n[.fraction]S`
fn push_seconds(out: &mut Vec<u8>, nanos: i128) {
    if nanos < 0 {
        out.push(b'-');
    }
    let nanos = nanos.unsigned_abs();
    out.extend_from_slice(itoa::Buffer::new().format(nanos / 1_000_000_000).as_bytes());
    // Below 10^9.
    push_fraction(out, (nanos % 1_000_000_000) as u32);
    out.push(b'S');
}

fn push_clock(out: &mut Vec<u8>, seconds: i64, nanos: u32) {
    push_two(out, seconds / 3600);
    out.push(b':');
    push_two(out, seconds / 60 % 60);
    out.push(b':');
    push_two(out, seconds % 60);
    push_fraction(out, nanos);
}

/// Nothing, or a dot and three, six or nine digits, as many as needed.
fn push_fraction(out: &mut Vec<u8>, nanos: u32) {
    if nanos == 0 {
        return;
    }
    out.push(b'.');
    let (mut rest, digits) = match nanos {
        n if n % 1_000_000 == 0 => (n / 1_000_000, 3),
        n if n % 1_000 == 0 => (n / 1_000, 6),
        n => (n, 9),
    };
    let start = out.len();
    out.resize(start + digits, b'0');
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// A number below 100 with two digits.
#[inline]
fn push_two(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&[b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn timestamp(value: i64, unit: TimeUnit, zone: Option<&str>) -> String {
        text(|out| push_timestamp(out, value, unit, Zone::new(zone)))
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (-25_509, "1900-02-28"),
            (-25_508, "1900-03-01"),
            (19_782, "2024-02-29"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+10000-01-01"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
        ] {
            assert_eq!(text(|out| push_date(out, days)), expected);
        }
    }

    #[test]
    fn every_day_is_followed_by_the_next() {
        let mut before = text(|out| push_date(out, -800_000));
        for days in -799_999..800_000 {
            let day = text(|out| push_date(out, days));
            let months_end = day.ends_with("-01");
            let number = |text: &str| text[text.len() - 2..].parse::<u32>().unwrap();
            assert!(if months_end { number(&before) >= 28 } else { number(&day) == number(&before) + 1 }, "{day}");
            before = day;
        }
    }

    #[test]
    fn timestamps_have_the_zone_they_were_given() {
        assert_eq!(timestamp(0, TimeUnit::Second, None), "1970-01-01T00:00:00");
        assert_eq!(timestamp(-1, TimeUnit::Millisecond, Some("UTC")), "1969-12-31T23:59:59.999Z");
        assert_eq!(timestamp(1_500_000, TimeUnit::Microsecond, Some("+02:00")), "1970-01-01T02:00:01.500+02:00");
        assert_eq!(timestamp(0, TimeUnit::Second, Some("-0330")), "1969-12-31T20:30:00-03:30");
        assert_eq!(timestamp(0, TimeUnit::Second, Some("Europe/Paris")), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(1, TimeUnit::Nanosecond, Some("Z")), "1970-01-01T00:00:00.000000001Z");
        assert_eq!(timestamp(1_000, TimeUnit::Nanosecond, None), "1970-01-01T00:00:00.000001");
        for extreme in [i64::MIN, i64::MAX] {
            assert!(timestamp(extreme, TimeUnit::Second, Some("+02:00")).len() > 20);
        }
    }

    #[test]
    fn times_durations_and_intervals_are_iso_8601() {
        assert_eq!(text(|out| push_time(out, 86_399_001, TimeUnit::Millisecond)), "23:59:59.001");
        assert_eq!(text(|out| push_duration(out, -1_500, TimeUnit::Millisecond)), "PT-1.500S");
        assert_eq!(text(|out| push_duration(out, i64::MAX, TimeUnit::Second)), "PT9223372036854775807S");
        assert_eq!(text(|out| push_interval(out, 14, -3, 1_000_000)), "P14M-3DT0.001S");
        assert_eq!(text(|out| push_interval(out, 0, 0, 0)), "PT0S");
    }
}
