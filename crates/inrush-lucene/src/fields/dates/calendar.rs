//! Days and the time of a day.

use super::Moment;

/// The number of digits of a fraction of which `len` make one whole.
pub(super) fn fraction(digits: &[u8], len: usize) -> u32 {
    (0..len).fold(0, |number, i| number * 10 + digits.get(i).map_or(0, |digit| u32::from(digit - b'0')))
}

/// The number of the next `len` digits.
pub(super) fn digits(text: &[u8], at: usize, len: usize) -> Option<i64> {
    let mut number = 0;
    for byte in text.get(at..at + len)? {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(number)
}

/// The time of a day.
#[derive(Clone, Copy, Default)]
pub(super) struct Clock {
    /// Hour, minute and second.
    pub(super) parts: [i64; 3],
    pub(super) nanos: u32,
    /// Whether the fraction is one of a minute, as there are no seconds.
    pub(super) nanos_of_minute: bool,
}

impl Clock {
    pub(super) fn is_of_a_day(self) -> bool {
        let [hour, minute, second] = self.parts;
        (0..24).contains(&hour) && minute < 60 && second < 60
    }

    /// The last time of the day that has these parts: none, the hour, the minute, the second, or
    /// all.
    pub(super) fn filled(mut self, parts: usize) -> Self {
        for (part, last) in self.parts.iter_mut().zip([23, 59, 59]).skip(parts) {
            *part = last;
        }
        if parts < 4 {
            self.nanos = 999_999_999;
        }
        self
    }

    /// The moment of this time on a day, in a zone so far from UTC. Beyond the range of
    /// milliseconds it is its end if it `clamps`, else none.
    pub(super) fn on(self, day: i64, zone: i64, clamps: bool) -> Option<Moment> {
        let [hour, minute, second] = self.parts;
        let of_day = ((hour * 60 + minute) * 60 + second) * 1000 + i64::from(self.nanos / 1_000_000);
        let millis = i128::from(day) * 86_400_000 + i128::from(of_day - zone);
        let millis = match i64::try_from(millis) {
            Ok(millis) => millis,
            Err(_) if clamps => {
                if millis < 0 {
                    i64::MIN
                } else {
                    i64::MAX
                }
            }
            Err(_) => return None,
        };
        Some(Moment { millis, nanos: self.nanos % 1_000_000 })
    }
}

/// What is made of numbers that are no date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolver {
    /// Nothing.
    Strict,
    /// Of a day that a month does not have, up to 31, its last day; of 24:00 the next day.
    Smart,
    /// Months and days are counted on.
    Lenient,
}

impl Resolver {
    pub(super) fn takes(self, clock: Clock) -> bool {
        clock.is_of_a_day() || self == Self::Smart && clock.parts == [24, 0, 0] && clock.nanos == 0
    }

    /// Days from 1970 to a day.
    pub(super) fn day(self, year: i64, month: i64, day: i64) -> Option<i64> {
        (-YEAR_MAX..=YEAR_MAX).contains(&year).then_some(())?;
        match self {
            Self::Lenient => {
                let months = year * 12 + month - 1;
                let year = months.div_euclid(12);
                (-YEAR_MAX..=YEAR_MAX).contains(&year).then_some(())?;
                let day = days(year, months.rem_euclid(12) + 1, 1) + day - 1;
                (days(-YEAR_MAX, 1, 1)..=last_day()).contains(&day).then_some(day)
            }
            Self::Smart if !(1..=31).contains(&day) => None,
            Self::Smart => Self::Strict.day(year, month, day.min(month_days(year, month))),
            Self::Strict => ((1..=12).contains(&month) && day >= 1 && day <= month_days(year, month))
                .then(|| days(year, month, day)),
        }
    }
}

/// Days from 1970 to a day of a year.
pub(super) fn day_of_year(year: i64, day: i64) -> Option<i64> {
    (1..=365 + i64::from(is_leap(year))).contains(&day).then_some(())?;
    Some(Resolver::Strict.day(year, 1, 1)? + day - 1)
}

/// The Monday of the first week of a year by ISO 8601, which has the fourth day of the year.
pub(super) fn first_week(year: i64) -> Option<i64> {
    let fourth = Resolver::Strict.day(year, 1, 4)?;
    Some(fourth - day_of_week(fourth) + 1)
}

/// How many weeks a year has by ISO 8601: 53 if its first or last day is a Thursday.
pub(super) fn weeks(year: i64) -> Option<i64> {
    let first = Resolver::Strict.day(year, 1, 1)?;
    let last = first + 364 + i64::from(is_leap(year));
    Some(if day_of_week(first) == 4 || day_of_week(last) == 4 { 53 } else { 52 })
}

/// The day of the week from 1 on, which is a Monday. 1970 began with a Thursday.
pub(super) fn day_of_week(day: i64) -> i64 {
    (day + 3).rem_euclid(7) + 1
}

/// The last year.
pub(super) const YEAR_MAX: i64 = 999_999_999;

/// The last day of the last year.
pub(super) fn last_day() -> i64 {
    days(YEAR_MAX, 12, 31)
}

/// How many digits a text begins with.
pub(super) fn digit_count(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The greatest distance of a time zone from UTC in milliseconds.
pub(super) const ZONE_MAX: i64 = 18 * 3_600_000;

/// The distance of a time zone from UTC in milliseconds: `Z`, `UTC`, `UT`, `GMT`, `+HH:mm:ss`,
/// `+HH:mm`, `+HHmm`, `+HH`, or nothing.
pub(super) fn zone_millis(text: &[u8]) -> Option<i64> {
    any_zone_millis(text).filter(|millis| millis.abs() <= ZONE_MAX)
}

/// The same of up to 23:59:59.
pub(super) fn any_zone_millis(text: &[u8]) -> Option<i64> {
    let sign = match text {
        [] | b"Z" | b"UTC" | b"UT" | b"GMT" => return Some(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let (minutes, seconds) = match text.len() {
        3 => (0, 0),
        5 => (digits(text, 3, 2)?, 0),
        6 if text[3] == b':' => (digits(text, 4, 2)?, 0),
        9 if text[3] == b':' && text[6] == b':' => (digits(text, 4, 2)?, digits(text, 7, 2)?),
        _ => return None,
    };
    let hours = digits(text, 1, 2)?;
    let all = (hours * 60 + minutes) * 60 + seconds;
    (hours < 24 && minutes < 60 && seconds < 60).then_some(sign * all * 1000)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970 to a day of the Gregorian calendar. Years are counted from March on here, so that
/// the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year.div_euclid(400) * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
