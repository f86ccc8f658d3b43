//! Dates, as the formats of a mapping write them.
//!
//! Source: the documentation of the servers' `format` of dates; letters are those of Java's
//! `DateTimeFormatter`.

/// How the dates of a field may be written; the first format that fits is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Formats(Vec<Format>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Format {
    /// `yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSSXXX`, of which parts at the end may be absent.
    Optional,
    /// Milliseconds since 1970.
    Millis,
    /// Seconds since 1970.
    Seconds,
    Pattern(Vec<Piece>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Text(u8),
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millis,
}

const PIECES: [(&str, Piece); 8] = [
    ("yyyy", Piece::Year),
    ("uuuu", Piece::Year),
    ("MM", Piece::Month),
    ("dd", Piece::Day),
    ("HH", Piece::Hour),
    ("mm", Piece::Minute),
    ("ss", Piece::Second),
    ("SSS", Piece::Millis),
];

impl Formats {
    /// Reads formats with `||` between them. `None` if one is not known here.
    pub(crate) fn parse(formats: &str) -> Option<Self> {
        formats.split("||").map(Format::parse).collect::<Option<_>>().map(Self)
    }

    /// Milliseconds since 1970; the least or greatest number where they are beyond.
    pub(crate) fn millis(&self, text: &str) -> Option<i64> {
        if self.0.first() == Some(&Format::Optional) && beyond_years(text.as_bytes()) {
            return None;
        }
        self.0.iter().find_map(|format| format.millis(text))
    }
}

impl Default for Formats {
    /// `strict_date_optional_time||epoch_millis`.
    fn default() -> Self {
        Self(vec![Format::Optional, Format::Millis])
    }
}

impl Format {
    fn parse(format: &str) -> Option<Self> {
        match format {
            "strict_date_optional_time" => return Some(Self::Optional),
            "epoch_millis" => return Some(Self::Millis),
            "epoch_second" => return Some(Self::Seconds),
            _ => {}
        }
        let mut pieces = Vec::new();
        let mut rest = format;
        while let Some(first) = rest.bytes().next() {
            if let Some((letters, piece)) = PIECES.iter().find(|(letters, _)| rest.starts_with(letters)) {
                rest = &rest[letters.len()..];
                // One letter more is another format.
                if rest.bytes().next() == Some(first) {
                    return None;
                }
                pieces.push(*piece);
            } else if matches!(first, b'-' | b'/' | b'.' | b':' | b' ' | b',' | b'_') {
                pieces.push(Piece::Text(first));
                rest = &rest[1..];
            } else if rest.starts_with("'T'") || rest.starts_with("'Z'") {
                pieces.push(Piece::Text(rest.as_bytes()[1]));
                rest = &rest[3..];
            } else {
                return None;
            }
        }
        [Piece::Year, Piece::Month, Piece::Day]
            .iter()
            .all(|piece| pieces.contains(piece))
            .then_some(Self::Pattern(pieces))
    }

    fn millis(&self, text: &str) -> Option<i64> {
        match self {
            Self::Optional => optional(text.as_bytes()),
            Self::Millis => epoch(text, 1000),
            Self::Seconds => epoch(text, 1),
            Self::Pattern(pieces) => pattern(pieces, text.as_bytes()),
        }
    }
}

/// Milliseconds of a number of units since 1970, of which `per_second` are a second.
///
/// A fraction of up to nine digits (six behind milliseconds) may follow, or a dot only. Behind
/// negative seconds the servers add it, instead of subtracting it.
fn epoch(text: &str, per_second: i64) -> Option<i64> {
    let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fraction_max = if per_second == 1 { 9 } else { 6 };
    if unsigned.is_empty()
        || unsigned.len() > 19
        || !all_digits(unsigned)
        || fraction.len() > fraction_max
        || !all_digits(fraction)
    {
        return None;
    }
    let units: i64 = digits.parse().ok()?;
    if per_second == 1 {
        if units == 0 && digits.starts_with('-') {
            return None;
        }
        let millis =
            fraction.bytes().chain([b'0'; 3]).take(3).fold(0, |millis, digit| millis * 10 + i64::from(digit - b'0'));
        return units.checked_mul(1000)?.checked_add(millis);
    }
    let below = digits.starts_with('-') && fraction.bytes().any(|digit| digit != b'0');
    units.checked_sub(i64::from(below))
}

/// The number of the next `len` digits.
fn digits(text: &[u8], at: usize, len: usize) -> Option<i64> {
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

fn pattern(pieces: &[Piece], text: &[u8]) -> Option<i64> {
    let (mut year, mut month, mut day, mut time, mut at) = (0, 0, 0, [0; 4], 0);
    for piece in pieces {
        let (len, into) = match piece {
            Piece::Text(byte) => {
                if text.get(at) != Some(byte) {
                    return None;
                }
                at += 1;
                continue;
            }
            Piece::Year => (4, &mut year),
            Piece::Month => (2, &mut month),
            Piece::Day => (2, &mut day),
            Piece::Hour => (2, &mut time[0]),
            Piece::Minute => (2, &mut time[1]),
            Piece::Second => (2, &mut time[2]),
            Piece::Millis => (3, &mut time[3]),
        };
        *into = digits(text, at, len)?;
        at += len;
    }
    (at == text.len()).then_some(date_millis(year, month, day)? + time_millis(time)?)
}

fn date_millis(year: i64, month: i64, day: i64) -> Option<i64> {
    ((1..=12).contains(&month) && day >= 1 && day <= month_days(year, month))
        .then(|| days(year, month, day).saturating_mul(86_400_000))
}

fn time_millis([hour, minute, second, millis]: [i64; 4]) -> Option<i64> {
    (hour < 24 && minute < 60 && second < 60).then_some(((hour * 60 + minute) * 60 + second) * 1000 + millis)
}

fn optional(text: &[u8]) -> Option<i64> {
    let (year, date) = year(text)?;
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
        None => Some(date),
        // The time follows a whole date.
        Some(b'T') if at == days_at => {
            let (time, zone) = clock(text, at + 1)?;
            Some(date.saturating_add(time).saturating_sub(zone_millis(&text[zone..])?))
        }
        Some(_) => None,
    }
}

/// Four digits; with a sign, more. Returns where the year ends, too.
fn year(text: &[u8]) -> Option<(i64, usize)> {
    let (sign, least) = match text.first()? {
        b'-' => (-1, 4),
        b'+' => (1, 5),
        _ => return Some((digits(text, 0, 4)?, 4)),
    };
    let count = text[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    (least..=9).contains(&count).then_some(())?;
    Some((sign * digits(text, 1, count)?, 1 + count))
}

/// Whether a text has ten digits as its year, which no year has: the servers then try no other
/// format.
fn beyond_years(text: &[u8]) -> bool {
    let count = text.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
    matches!(text.first(), Some(b'-' | b'+')) && count == 10
}

/// The time of a day from `at` on in milliseconds, and where it ends.
fn clock(text: &[u8], mut at: usize) -> Option<(i64, usize)> {
    if at == text.len() {
        return Some((0, at));
    }
    let mut time = [digits(text, at, 2)?, 0, 0, 0];
    at += 2;
    let mut parts = 1;
    while parts < 3 && text.get(at) == Some(&b':') {
        time[parts] = digits(text, at + 1, 2)?;
        parts += 1;
        at += 3;
    }
    if parts == 3 && matches!(text.get(at), Some(b'.' | b',')) {
        let count = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&count) {
            return None;
        }
        for i in 0..3 {
            time[3] = time[3] * 10 + if i < count { i64::from(text[at + 1 + i] - b'0') } else { 0 };
        }
        at += 1 + count;
    }
    Some((time_millis(time)?, at))
}

/// The distance of a time zone from UTC in milliseconds: `Z`, `+HH:mm`, `+HHmm`, `+HH`, or nothing.
fn zone_millis(text: &[u8]) -> Option<i64> {
    let sign = match text {
        [] | [b'Z'] => return Some(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let minutes = match text.len() {
        3 => 0,
        5 => digits(text, 3, 2)?,
        6 if text[3] == b':' => digits(text, 4, 2)?,
        _ => return None,
    };
    let all = digits(text, 1, 2)? * 60 + minutes;
    (minutes < 60 && all <= 18 * 60).then_some(sign * all * 60_000)
}

fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
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

#[cfg(test)]
mod tests {
    use super::Formats;

    #[test]
    fn parts_at_the_end_may_be_absent() {
        let millis = |text| Formats::default().millis(text);
        assert_eq!(millis("2024-02-29T23:59:58.5Z"), Some(1_709_251_198_500));
        assert_eq!(millis("1969-12-31"), Some(-86_400_000));
        assert_eq!(millis("2024-01-01T00:00:00+01:00"), Some(1_704_063_600_000));
        assert_eq!(millis("1970"), Some(0));
        assert_eq!(millis("19700"), Some(19_700));
        assert_eq!(millis("-5"), Some(-5));
        assert_eq!(millis("-0001-01-01T00Z"), Some(-62_198_755_200_000));
        assert_eq!(millis("-1234567890"), None);
        assert_eq!(millis("2023-02-29"), None);
        assert_eq!(millis("2024-01-01 00:00"), None);
    }

    #[test]
    fn patterns_of_letters() {
        let millis = |formats, text| Formats::parse(formats).and_then(|formats| formats.millis(text));
        assert_eq!(millis("dd/MM/yyyy", "31/12/1969"), Some(-86_400_000));
        assert_eq!(millis("yyyy-MM-dd HH:mm:ss.SSS||epoch_second", "1970-01-01 00:01:02.003"), Some(62_003));
        assert_eq!(millis("yyyy-MM-dd HH:mm:ss.SSS||epoch_second", "12"), Some(12_000));
        assert_eq!(Formats::parse("EEE, dd MMM yyyy"), None);
        assert_eq!(Formats::parse("yyyyy-MM-dd"), None);
    }
}
