//! Dates and times as people and programs write them, in ISO 8601.

use std::fmt::Write as _;

use time::{Date, Month, OffsetDateTime, Time, UtcOffset};

use crate::zone::Zone;

/// The order of day and month where both are numbers around slashes or dashes, as in `3/4/2026`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DayOrder {
    /// Not known: such a date is none.
    #[default]
    Unknown,
    /// Day, month, year.
    DayFirst,
    /// Month, day, year. A date with dots is none: its day comes first.
    MonthFirst,
}

/// A date with or without a time, as it stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    date: Date,
    time: Option<(Time, Option<UtcOffset>)>,
}

/// Whole seconds that count as seconds since 1970: from 1990 to 2100. The same times in
/// milliseconds, microseconds and nanoseconds are told apart by their size.
const SECONDS: std::ops::RangeInclusive<i64> = 631_152_000..=4_102_444_800;

/// The years of dates that are digits only.
const YEARS: std::ops::RangeInclusive<u32> = 1900..=2100;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

impl Moment {
    /// Reads a date or a time: by ISO 8601, also with a blank for the `T`, a comma for the dot,
    /// slashes, or nothing between the numbers (`20251128T135536Z`); `31.12.2026`; with the English
    /// name of a month, as in access logs, mails and `ctime`; and seconds, milliseconds,
    /// microseconds or nanoseconds since 1970. `order` is for `3/4/2026`.
    pub fn read(text: &str, order: DayOrder) -> Option<Self> {
        let text = text.trim_ascii();
        if !text.is_ascii() || text.len() > 64 {
            return None;
        }
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && text.split('.').count() <= 2 {
            return of_number(text);
        }
        let mut cursor = Cursor(text);
        let day_is_digits = cursor.digits() == 8;
        let moment = match date(&mut cursor, order)? {
            Found::Day(date) if cursor.0.is_empty() => Moment { date, time: None },
            Found::Day(date) => Moment { date, time: Some(clock(&mut cursor, day_is_digits)?) },
            // As `ctime` writes it: the year follows the time.
            Found::WithoutYear(month, day) => {
                let time = clock(&mut cursor, false)?;
                cursor.blanks();
                Moment { date: day_of(cursor.number(4, 4)?, month, day)?, time: Some(time) }
            }
        };
        cursor.0.is_empty().then_some(moment)
    }

    /// Whether there is no time, or midnight without a zone.
    pub fn is_day(&self) -> bool {
        self.time.is_none_or(|(time, zone)| time == Time::MIDNIGHT && zone.is_none())
    }

    /// Whether the text says the zone, or is a number since 1970.
    pub fn has_zone(&self) -> bool {
        self.time.is_some_and(|(_, zone)| zone.is_some())
    }

    /// The same with the offset of a zone, where the text names none. A day begins at its midnight.
    /// `None`: the zone has no such time, because its clocks are put forward then, or the time has
    /// no year of four digits in UTC.
    #[must_use]
    pub fn in_zone(self, zone: &Zone) -> Option<Self> {
        if self.has_zone() {
            return Some(self);
        }
        let time = self.time.map_or(Time::MIDNIGHT, |(time, _)| time);
        let offset = zone.offset_at(self.date, time)?;
        if offset.seconds_past_minute() == 0 {
            return Some(Moment { date: self.date, time: Some((time, Some(offset))) });
        }
        // As of cities before there were zones. ISO 8601 has no seconds of an offset.
        let utc = OffsetDateTime::new_in_offset(self.date, time, offset).checked_to_offset(UtcOffset::UTC)?;
        (0..=9999).contains(&utc.year()).then_some(())?;
        Some(Moment { date: utc.date(), time: Some((utc.time(), Some(UtcOffset::UTC))) })
    }

    /// The date alone, `YYYY-MM-DD`.
    pub fn day(&self) -> String {
        let (year, month, day) = self.date.to_calendar_date();
        format!("{year:04}-{:02}-{day:02}", u8::from(month))
    }

    /// The date, and the time with its zone if it has them: `YYYY-MM-DDTHH:MM:SS[.fraction][zone]`.
    pub fn iso(&self) -> String {
        let mut text = self.day();
        let Some((time, zone)) = self.time else { return text };
        let (hour, minute, second, nanos) = time.as_hms_nano();
        // Writing to memory does not fail.
        let _ = write!(text, "T{hour:02}:{minute:02}:{second:02}");
        if nanos > 0 {
            let digits = format!("{nanos:09}");
            let digits = digits.trim_end_matches('0');
            // Three, six or nine, as elsewhere.
            let _ = write!(text, ".{digits:0<width$}", width = digits.len().next_multiple_of(3));
        }
        match zone.map(UtcOffset::whole_minutes) {
            None => {}
            Some(0) => text.push('Z'),
            Some(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                let _ = write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            }
        }
        text
    }
}

/// Digits alone: a time since 1970, or a date without anything between its parts.
fn of_number(text: &str) -> Option<Moment> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.is_empty() && whole.len() < text.len() {
        return None;
    }
    let number: i64 = whole.parse().ok()?;
    let compact = || {
        let part = |range: std::ops::Range<usize>| text.get(range)?.parse::<u32>().ok();
        let date = day_of(part(0..4).filter(|year| YEARS.contains(year))?, part(4..6)?, part(6..8)?)?;
        let time = match text.len() {
            8 => None,
            14 => Some((time_of(part(8..10)?, part(10..12)?, part(12..14)?, 0)?, None)),
            _ => return None,
        };
        Some(Moment { date, time })
    };
    // Each unit has a thousand times the number, so their ranges do not overlap.
    let nanos = [1_000_000_000, 1_000_000, 1_000, 1].into_iter().find_map(|unit: i64| {
        let per_second = 1_000_000_000 / unit;
        SECONDS.contains(&(number / per_second)).then(|| i128::from(number) * i128::from(unit) + of(fraction, unit))
    });
    let Some(nanos) = nanos else { return if fraction.is_empty() { compact() } else { None } };
    let at = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok()?;
    Some(Moment { date: at.date(), time: Some((at.time(), Some(UtcOffset::UTC))) })
}

/// The nanoseconds of the digits behind a dot, of a unit with this number of nanoseconds.
fn of(fraction: &str, unit: i64) -> i128 {
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    digits.parse::<i128>().unwrap_or_default() * i128::from(unit) / 1_000_000_000
}

/// A date, of which the year may follow the time.
enum Found {
    Day(Date),
    WithoutYear(u32, u32),
}

fn date(cursor: &mut Cursor<'_>, order: DayOrder) -> Option<Found> {
    let found = |year, month, day| day_of(year, month, day).map(Found::Day);
    if cursor.0.starts_with(|first: char| first.is_ascii_alphabetic()) {
        if cursor.name(&WEEKDAYS).is_some() {
            cursor.one_of(",");
            cursor.blanks();
        }
        if let Some(month) = cursor.name(&MONTHS) {
            cursor.blanks();
            let day = cursor.number(1, 2)?;
            if cursor.one_of(",").is_none() && cursor.0.as_bytes().get(3) == Some(&b':') {
                return Some(Found::WithoutYear(month, day));
            }
            cursor.blanks();
            return found(cursor.number(4, 4)?, month, day);
        }
    }
    let digits = cursor.digits();
    if digits == 8 {
        let day = cursor.number(8, 8)?;
        return found(day / 10_000, day / 100 % 100, day % 100);
    }
    let first = cursor.number(1, 4)?;
    let separator = cursor.one_of("-/. ")?;
    if digits == 4 {
        if separator == ' ' {
            return None;
        }
        let month = cursor.number(1, 2)?;
        cursor.exactly(separator)?;
        return found(first, month, cursor.number(1, 2)?);
    }
    if let Some(month) = cursor.name(&MONTHS) {
        cursor.exactly(separator)?;
        return found(cursor.number(4, 4)?, month, first);
    }
    let second = cursor.number(1, 2)?;
    cursor.exactly(separator)?;
    let year = cursor.number(4, 4)?;
    match (separator, order) {
        ('.', DayOrder::Unknown | DayOrder::DayFirst) | ('/' | '-', DayOrder::DayFirst) => found(year, second, first),
        ('/' | '-', DayOrder::MonthFirst) => found(year, first, second),
        _ => None,
    }
}

/// What separates a date from its time, the time, and its zone.
fn clock(cursor: &mut Cursor<'_>, day_is_digits: bool) -> Option<(Time, Option<UtcOffset>)> {
    let separator = cursor.one_of("Tt:");
    if separator.is_none() {
        cursor.one_of(",");
        if !cursor.blanks() {
            return None;
        }
    }
    // Behind a blank it could be a year, or another number.
    let may_be_digits = day_is_digits || separator.is_some_and(|separator| separator != ':');
    let (mut hour, minute, second) = match cursor.digits() {
        4 if may_be_digits => {
            let clock = cursor.number(4, 4)?;
            (clock / 100, clock % 100, None)
        }
        6 if may_be_digits => {
            let clock = cursor.number(6, 6)?;
            (clock / 10_000, clock / 100 % 100, Some(clock % 100))
        }
        _ => {
            let hour = cursor.number(1, 2)?;
            cursor.exactly(':')?;
            let minute = cursor.number(2, 2)?;
            let has_second = cursor.one_of(":").is_some();
            (hour, minute, if has_second { Some(cursor.number(2, 2)?) } else { None })
        }
    };
    let mut nanos = 0;
    if second.is_some() && cursor.one_of(".,").is_some() {
        let digits = cursor.digits();
        if digits == 0 || digits > 9 {
            return None;
        }
        let (fraction, rest) = cursor.0.split_at(digits);
        cursor.0 = rest;
        nanos = u32::try_from(of(fraction, 1_000_000_000)).ok()?;
    }
    let second = second.unwrap_or_default();
    // A year, or a zone, may follow.
    let before = cursor.0;
    cursor.blanks();
    if let Some(half) = cursor.name(&["am", "pm"]) {
        if !(1..=12).contains(&hour) {
            return None;
        }
        hour = hour % 12 + 12 * (half - 1);
    } else {
        cursor.0 = before;
    }
    Some((time_of(hour, minute, second, nanos)?, zone(cursor)?))
}

/// The zone, if one is next: `Z`, `UTC`, `GMT`, `+HH`, `+HHMM` or `+HH:MM`. `None`: it is wrong.
fn zone(cursor: &mut Cursor<'_>) -> Option<Option<UtcOffset>> {
    let before = cursor.0;
    cursor.blanks();
    if cursor.name(&["z", "utc", "gmt"]).is_some() {
        return Some(Some(UtcOffset::UTC));
    }
    let Some(sign) = cursor.one_of("+-") else {
        cursor.0 = before;
        return Some(None);
    };
    let (hours, minutes) = match cursor.digits() {
        4 => {
            let both = cursor.number(4, 4)?;
            (both / 100, both % 100)
        }
        2 => {
            let hours = cursor.number(2, 2)?;
            (hours, if cursor.one_of(":").is_some() { cursor.number(2, 2)? } else { 0 })
        }
        _ => return None,
    };
    if hours > 18 || minutes > 59 {
        return None;
    }
    let seconds = i32::try_from((hours * 60 + minutes) * 60).ok()?;
    UtcOffset::from_whole_seconds(if sign == '-' { -seconds } else { seconds }).ok().map(Some)
}

fn day_of(year: u32, month: u32, day: u32) -> Option<Date> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()
}

fn time_of(hour: u32, minute: u32, second: u32, nanos: u32) -> Option<Time> {
    let small = |number: u32| u8::try_from(number).ok();
    Time::from_hms_nano(small(hour)?, small(minute)?, small(second)?, nanos).ok()
}

/// The rest of a text of ASCII.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    /// How many digits are next.
    fn digits(&self) -> usize {
        self.0.bytes().take_while(u8::is_ascii_digit).count()
    }

    /// A number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let digits = self.digits();
        if digits < least || digits > most {
            return None;
        }
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        number.parse().ok()
    }

    /// One of these characters.
    fn one_of(&mut self, characters: &str) -> Option<char> {
        let first = self.0.chars().next().filter(|first| characters.contains(*first))?;
        self.0 = &self.0[1..];
        Some(first)
    }

    fn exactly(&mut self, character: char) -> Option<()> {
        self.0 = self.0.strip_prefix(character)?;
        Some(())
    }

    /// Whether there were blanks.
    fn blanks(&mut self) -> bool {
        let rest = self.0.trim_start_matches(' ');
        let found = rest.len() < self.0.len();
        self.0 = rest;
        found
    }

    /// One of these names, in full or by its first three letters: its number, from 1.
    fn name(&mut self, names: &[&str]) -> Option<u32> {
        let len = self.0.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (word, rest) = self.0.split_at(len);
        let is =
            |name: &str| word.eq_ignore_ascii_case(name) || name.len() > 3 && word.eq_ignore_ascii_case(&name[..3]);
        let at = names.iter().position(|name| is(name))?;
        self.0 = rest;
        u32::try_from(at + 1).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn iso(text: &str) -> Option<String> {
        Moment::read(text, DayOrder::Unknown).map(|moment| moment.iso())
    }

    #[test]
    fn forms_of_logs_mails_tables_and_numbers_are_one_moment() {
        for text in [
            "2025-11-28T13:55:36+01:00",
            "2025-11-28 13:55:36 +0100",
            "2025/11/28 13:55:36+01",
            "28/Nov/2025:13:55:36 +0100",
            "28-Nov-2025 13:55:36 +01:00",
            "Fri, 28 Nov 2025 13:55:36 +0100",
            "Friday, 28 November 2025 1:55:36 PM +0100",
            "28.11.2025 13:55:36 +0100",
            " 2025-11-28T13:55:36+01:00 ",
        ] {
            assert_eq!(iso(text).as_deref(), Some("2025-11-28T13:55:36+01:00"), "{text}");
        }
        for text in [
            "1764334536",
            "1764334536000",
            "1764334536000000",
            "1764334536000000000",
            "2025-11-28T12:55:36Z",
            "Fri, 28 Nov 2025 12:55:36 GMT",
            "Nov 28, 2025 12:55:36 UTC",
        ] {
            assert_eq!(iso(text).as_deref(), Some("2025-11-28T12:55:36Z"), "{text}");
        }
    }

    #[test]
    fn a_time_of_a_zone_has_its_offset() {
        let at = |text: &str, zone: &str| {
            let moment = Moment::read(text, DayOrder::Unknown).unwrap();
            moment.in_zone(&zone.parse().unwrap()).map(|moment| moment.iso())
        };
        for (text, zone, expected) in [
            ("2025-07-01 12:00", "Europe/Paris", Some("2025-07-01T12:00:00+02:00")),
            ("2025-07-01 12:00", "America/New_York", Some("2025-07-01T12:00:00-04:00")),
            ("2025-07-01 12:00", "Asia/Kathmandu", Some("2025-07-01T12:00:00+05:45")),
            // Clocks are put back at three: the first of two hours, then only one.
            ("2025-10-26 02:30", "Europe/Paris", Some("2025-10-26T02:30:00+02:00")),
            ("2025-10-26 03:00", "Europe/Paris", Some("2025-10-26T03:00:00+01:00")),
            // Clocks are put forward at two.
            ("2025-03-30 01:59:59", "Europe/Paris", Some("2025-03-30T01:59:59+01:00")),
            ("2025-03-30 02:00", "Europe/Paris", None),
            ("2025-03-30 03:00", "Europe/Paris", Some("2025-03-30T03:00:00+02:00")),
            // Midnight is put forward.
            ("2018-11-04", "America/Sao_Paulo", None),
            ("2025-03-30 02:00", "+01:00", Some("2025-03-30T02:00:00+01:00")),
            // Paris was 9 minutes and 21 seconds ahead.
            ("1900-01-01 00:09:21", "Europe/Paris", Some("1900-01-01T00:00:00Z")),
            ("9999-12-31 23:59:59", "Europe/Paris", Some("9999-12-31T23:59:59+01:00")),
            // In UTC it would be in the year before 0.
            ("0000-01-01 00:00", "Europe/Paris", None),
        ] {
            assert_eq!(at(text, zone).as_deref(), expected, "{text} {zone}");
        }
    }

    #[test]
    fn fractions_days_and_times_without_a_zone_stay_what_they_are() {
        for (text, expected) in [
            ("2025-11-28 13:55:36,123", "2025-11-28T13:55:36.123"),
            ("2025-11-28T13:55:36.1Z", "2025-11-28T13:55:36.100Z"),
            ("2025-11-28T13:55:36.123456789Z", "2025-11-28T13:55:36.123456789Z"),
            ("2025-11-28 13:55", "2025-11-28T13:55:00"),
            ("1764334536.25", "2025-11-28T12:55:36.250Z"),
            ("1764334536123.456", "2025-11-28T12:55:36.123456Z"),
            ("Fri Nov 28 13:55:36 2025", "2025-11-28T13:55:36"),
            ("Fri Nov  7 03:05:06 UTC 2025", "2025-11-07T03:05:06Z"),
            ("31.12.2025", "2025-12-31"),
            ("1.2.2025 00:00", "2025-02-01T00:00:00"),
            ("2025-11-28", "2025-11-28"),
            ("20251128", "2025-11-28"),
            ("20251128135536", "2025-11-28T13:55:36"),
            ("20251128T135536", "2025-11-28T13:55:36"),
            ("20251128T135536Z", "2025-11-28T13:55:36Z"),
            ("20251128T135536.123+0100", "2025-11-28T13:55:36.123+01:00"),
            ("20251128T1355-05", "2025-11-28T13:55:00-05:00"),
            ("20251128 135536", "2025-11-28T13:55:36"),
            ("20251128 13:55:36,5", "2025-11-28T13:55:36.500"),
            ("2025-11-28T135536Z", "2025-11-28T13:55:36Z"),
            ("99991231T235959Z", "9999-12-31T23:59:59Z"),
            ("12/Jan/2025:00:00:00 -0330", "2025-01-12T00:00:00-03:30"),
            ("Jan 5 2025 12:01 AM", "2025-01-05T00:01:00"),
        ] {
            assert_eq!(iso(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_can_be_two_dates_is_none_until_its_order_is_given() {
        for text in ["3/4/2026", "13/04/2026 10:00", "03-04-2026"] {
            assert_eq!(iso(text), None, "{text}");
        }
        let read = |text: &str, order| Moment::read(text, order).map(|moment| moment.iso());
        assert_eq!(read("3/4/2026", DayOrder::DayFirst).as_deref(), Some("2026-04-03"));
        assert_eq!(read("3/4/2026 1:02 pm", DayOrder::MonthFirst).as_deref(), Some("2026-03-04T13:02:00"));
        assert_eq!(read("13/4/2026", DayOrder::MonthFirst), None);
        for text in ["03.04.2026", "13.04.2026", "3.4.2026 10:00"] {
            assert_eq!(read(text, DayOrder::MonthFirst), None, "{text}");
        }
        assert_eq!(read("03.04.2026", DayOrder::DayFirst).as_deref(), Some("2026-04-03"));
        assert_eq!(read("2026-04-03", DayOrder::MonthFirst).as_deref(), Some("2026-04-03"));
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "",
            " ",
            "yesterday",
            "13:55:36",
            "28/Nov",
            "Nov 28 13:55:36",
            "2025-13-01",
            "2025-02-29",
            "31.4.2025",
            "31.12.25",
            "2025",
            "17643345",
            "99999999",
            "20251399",
            "1764334536.",
            "17643345361",
            "2025-11-28T",
            "2025-11-28T25:00",
            "2025-11-28T10:60",
            "2025-11-28 1355",
            "28 Nov 2025 2026",
            "20251128T",
            "20251128T13",
            "20251128T246060",
            "20251328T135536Z",
            "2025112T135536Z",
            "2025-11-28T10:00:00.",
            "2025-11-28 10:00 Berlin",
            "2025-11-28 10:00 +25:00",
            "2025-11-28 13:00 pm",
            "2025-11/28",
            "1e9",
            "-5",
            "0.0.0",
            "28. 11. 2025",
            "Juli 5, 2025",
            "é8.11.2025",
            "1,5",
        ] {
            assert_eq!(iso(text), None, "{text}");
        }
    }

    #[test]
    fn a_day_has_no_time_but_midnight() {
        let is_day = |text: &str| Moment::read(text, DayOrder::Unknown).unwrap().is_day();
        assert!(is_day("31.12.2025") && is_day("31.12.2025 00:00:00"));
        assert!(!is_day("31.12.2025 00:01") && !is_day("2025-12-31T00:00Z"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic_and_its_form_is_stable(text in "[0-9A-Za-z+:,./ -]{0,30}") {
            for order in [DayOrder::Unknown, DayOrder::DayFirst, DayOrder::MonthFirst] {
                if let Some(moment) = Moment::read(&text, order) {
                    prop_assert_eq!(Moment::read(&moment.iso(), order), Some(moment), "{}", text);
                }
            }
        }

        #[test]
        fn each_second_is_read_from_its_number_and_from_its_text(seconds in 631_152_000_i64..4_102_444_800) {
            let number = iso(&seconds.to_string()).unwrap();
            prop_assert_eq!(&number, &iso(&format!("{seconds}000")).unwrap());
            prop_assert_eq!(&number, &iso(&format!("{seconds}000000")).unwrap());
            prop_assert_eq!(&number, &iso(&format!("{seconds}000000000")).unwrap());
            prop_assert_eq!(crate::date_value::moment(&number).unwrap().unix_timestamp(), seconds);
        }
    }
}
