//! Shapes of strings: the type that a string looks like.

use std::net::IpAddr;

/// The shape of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    Empty,
    /// `true` or `false`, which servers accept as booleans.
    Boolean,
    /// A whole number as in JSON, within 64 bits. Leading zeros do not count: a postal code is not
    /// a number.
    Integer,
    /// A decimal number as in JSON.
    Decimal,
    /// `2024-01-31`, with or without a time, as `strict_date_optional_time` accepts it.
    Date,
    /// `2024-01-31 10:00:00`.
    DateSpaceTime,
    /// `2024-01-31 10:00:00.123`.
    DateSpaceMillis,
    /// `2024-01-31 10:00:00.123456`.
    DateSpaceMicros,
    /// `2024-01-31 10:00:00,123`, as Python's logging and Log4j write it.
    DateSpaceCommaMillis,
    /// `2024-01-31 10:00:00,123456`.
    DateSpaceCommaMicros,
    /// `2024/01/31`.
    DateSlashes,
    /// `31/01/2024`: the first number exceeds 12.
    DayMonthYear,
    /// `01/31/2024`: the second number exceeds 12.
    MonthDayYear,
    /// `01/02/2024`: ambiguous.
    DayOrMonth,
    /// `31.01.2024`, also with `10:00` or `10:00:00`.
    DateDots,
    /// `1,5` or `1.234,56`: a number with a decimal comma.
    DecimalComma,
    /// `1,234`: a number with a decimal comma, or a whole number with a comma between thousands.
    CommaOrThousands,
    /// An IPv4 or IPv6 address.
    Ip,
    /// `48.85,2.35`: latitude and longitude.
    LatLon,
    Other,
}

/// The shape of `text`. Text with surrounding white space is `Other`: servers do not trim it.
pub(super) fn shape(text: &str) -> Shape {
    let bytes = text.as_bytes();
    let Some(first) = bytes.first() else { return Shape::Empty };
    if matches!(text, "true" | "false") {
        return Shape::Boolean;
    }
    if first.is_ascii_digit() || *first == b'-' {
        if let Some(number) = number(text) {
            return number;
        }
        if let Some(date) = date(text) {
            return date;
        }
        if lat_lon(text) {
            return Shape::LatLon;
        }
        if let Some(number) = decimal_comma(text) {
            return number;
        }
    }
    let may_be_ip = first.is_ascii_hexdigit() || *first == b':';
    if may_be_ip && bytes.len() <= 45 && text.contains(['.', ':']) && text.parse::<IpAddr>().is_ok() {
        return Shape::Ip;
    }
    Shape::Other
}

/// A number as in JSON.
fn number(text: &str) -> Option<Shape> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.") {
        return None;
    }
    if !digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse::<i64>().is_ok().then_some(Shape::Integer);
    }
    let ends = digits.starts_with(|c: char| c.is_ascii_digit()) && digits.ends_with(|c: char| c.is_ascii_digit());
    (ends && text.parse::<f64>().is_ok_and(f64::is_finite)).then_some(Shape::Decimal)
}

fn lat_lon(text: &str) -> bool {
    let Some((lat, lon)) = text.split_once(',') else { return false };
    let degrees = |text: &str, most: f64| {
        let text = text.strip_prefix(' ').unwrap_or(text);
        number(text).is_some() && text.contains('.') && text.parse::<f64>().is_ok_and(|value| value.abs() <= most)
    };
    degrees(lat, 90.0) && degrees(lon, 180.0)
}

/// `-?digits,digits`, also with dots between groups of three digits before the comma.
fn decimal_comma(text: &str) -> Option<Shape> {
    let (whole, fraction) = text.strip_prefix('-').unwrap_or(text).split_once(',')?;
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split('.');
    let first = groups.next().is_some_and(|first| all_digits(first) && (first.len() <= 3 || !whole.contains('.')));
    let is_number = first && groups.all(|group| group.len() == 3 && all_digits(group)) && all_digits(fraction);
    let may_be_thousands = fraction.len() == 3 && whole.len() <= 3 && !whole.starts_with('0');
    is_number.then_some(if may_be_thousands { Shape::CommaOrThousands } else { Shape::DecimalComma })
}

/// The first `count` digits as a number, and the rest of the text.
fn digits(text: &str, count: usize) -> Option<(u32, &str)> {
    let head = text.get(..count)?;
    if !head.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((head.parse().ok()?, &text[count..]))
}

fn is_day(year: u32, month: u32, day: u32) -> bool {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn date(text: &str) -> Option<Shape> {
    year_first(text).or_else(|| year_last(text))
}

fn year_first(text: &str) -> Option<Shape> {
    let (year, rest) = digits(text, 4)?;
    let separator = rest.chars().next().filter(|c| matches!(c, '-' | '/'))?;
    let (month, rest) = digits(&rest[1..], 2)?;
    let (day, rest) = digits(rest.strip_prefix(separator)?, 2)?;
    if !is_day(year, month, day) {
        return None;
    }
    match (separator, rest.chars().next()) {
        ('-', None) => Some(Shape::Date),
        ('-', Some('T')) => {
            let rest = time(&rest[1..])?;
            (rest.is_empty() || zone(rest)).then_some(Shape::Date)
        }
        ('-', Some(' ')) => {
            let rest = &rest[1..];
            // The servers' patterns require every digit.
            let shape = match (rest.len(), rest.as_bytes().get(8)) {
                (8, None) => Shape::DateSpaceTime,
                (12, Some(b'.')) => Shape::DateSpaceMillis,
                (15, Some(b'.')) => Shape::DateSpaceMicros,
                (12, Some(b',')) => Shape::DateSpaceCommaMillis,
                (15, Some(b',')) => Shape::DateSpaceCommaMicros,
                _ => return None,
            };
            time(rest)?.is_empty().then_some(shape)
        }
        ('/', None) => Some(Shape::DateSlashes),
        _ => None,
    }
}

/// Parses `HH:mm`, `HH:mm:ss`, or the latter with a fraction of up to nine digits. Returns the
/// rest.
fn time(text: &str) -> Option<&str> {
    let (hour, rest) = digits(text, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
    if hour > 23 || minute > 59 {
        return None;
    }
    let Some(rest) = rest.strip_prefix(':') else { return Some(rest) };
    let (second, rest) = digits(rest, 2)?;
    if second > 59 {
        return None;
    }
    let Some(fraction) = rest.strip_prefix(['.', ',']) else { return Some(rest) };
    let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
    (1..=9).contains(&length).then(|| &fraction[length..])
}

fn zone(text: &str) -> bool {
    if text == "Z" {
        return true;
    }
    let Some(rest) = text.strip_prefix(['+', '-']) else { return false };
    let Some((hours, rest)) = digits(rest, 2) else { return false };
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" => Some((0, "")),
        rest => digits(rest, 2),
    };
    hours <= 18 && minutes.is_some_and(|(minutes, rest)| minutes < 60 && rest.is_empty())
}

fn year_last(text: &str) -> Option<Shape> {
    let (first, rest) = digits(text, 2)?;
    if let Some(rest) = rest.strip_prefix('.') {
        return dots(first, rest);
    }
    let (second, rest) = digits(rest.strip_prefix('/')?, 2)?;
    let (year, rest) = digits(rest.strip_prefix('/')?, 4)?;
    if !rest.is_empty() {
        return None;
    }
    match (is_day(year, second, first), is_day(year, first, second)) {
        (true, true) => Some(Shape::DayOrMonth),
        (true, false) => Some(Shape::DayMonthYear),
        (false, true) => Some(Shape::MonthDayYear),
        (false, false) => None,
    }
}

/// What follows the day of a date with dots.
fn dots(day: u32, text: &str) -> Option<Shape> {
    let (month, rest) = digits(text, 2)?;
    let (year, rest) = digits(rest.strip_prefix('.')?, 4)?;
    // The servers' patterns have no fraction.
    let is_clock = |clock: &str| matches!(clock.len(), 5 | 8) && time(clock) == Some("");
    let fits = rest.is_empty() || rest.strip_prefix(' ').is_some_and(is_clock);
    (is_day(year, month, day) && fits).then_some(Shape::DateDots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_strings_match_what_servers_accept() {
        for (text, expected) in [
            ("", Shape::Empty),
            ("true", Shape::Boolean),
            ("True", Shape::Other),
            ("0", Shape::Integer),
            ("-17", Shape::Integer),
            ("007", Shape::Other),
            ("9223372036854775808", Shape::Other),
            ("1.50", Shape::Decimal),
            ("-1e5", Shape::Decimal),
            ("1.", Shape::Other),
            ("1,5", Shape::DecimalComma),
            ("-1.234.567,50", Shape::DecimalComma),
            ("1234,5", Shape::DecimalComma),
            ("1,234", Shape::CommaOrThousands),
            ("-12,500", Shape::CommaOrThousands),
            ("0,125", Shape::DecimalComma),
            ("1.234,567", Shape::DecimalComma),
            ("1234.567,5", Shape::Other),
            ("1,2,3", Shape::Other),
            ("1,", Shape::Other),
            ("31.01.2024", Shape::DateDots),
            ("31.01.2024 10:00", Shape::DateDots),
            ("31.01.2024 10:00:59", Shape::DateDots),
            ("31.01.2024 10:00:59,5", Shape::Other),
            ("31.02.2024", Shape::Other),
            ("1.2.2024", Shape::Other),
            ("2024-01-31", Shape::Date),
            ("2024-02-30", Shape::Other),
            ("2024-02-29T10:00", Shape::Date),
            ("2023-02-29", Shape::Other),
            ("2024-01-31T10:00:00.123456Z", Shape::Date),
            ("2024-01-31T10:00:00+02:00", Shape::Date),
            ("2024-01-31T25:00:00Z", Shape::Other),
            ("2024-01-31T10:00:00 Z", Shape::Other),
            ("2024-01-31 10:00:00", Shape::DateSpaceTime),
            ("2024-01-31 10:00:00.123", Shape::DateSpaceMillis),
            ("2024-01-31 10:00:00.123456", Shape::DateSpaceMicros),
            ("2024-01-31 10:00:00.12", Shape::Other),
            ("2015-06-01 15:56:39,213", Shape::DateSpaceCommaMillis),
            ("2015-06-01 15:56:39,213456", Shape::DateSpaceCommaMicros),
            ("2015-06-01T15:56:39,213Z", Shape::Date),
            ("2015-06-01 15:56:39,21", Shape::Other),
            ("2015-06-01 15:56:69,213", Shape::Other),
            ("2024-01-31 10:00", Shape::Other),
            ("2024/01/31", Shape::DateSlashes),
            ("31/01/2024", Shape::DayMonthYear),
            ("01/31/2024", Shape::MonthDayYear),
            ("01/02/2024", Shape::DayOrMonth),
            ("10.0.0.1", Shape::Ip),
            ("::1", Shape::Ip),
            ("fe80::1", Shape::Ip),
            ("1.2.3", Shape::Other),
            ("48.85,2.35", Shape::LatLon),
            ("48.85, 2.35", Shape::LatLon),
            ("98.85,2.35", Shape::Other),
            ("1,2", Shape::DecimalComma),
            (" 1", Shape::Other),
            ("añb", Shape::Other),
            ("2024é01-31", Shape::Other),
        ] {
            assert_eq!(shape(text), expected, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".*", digits in "[-0-9/:T. ,eE+Z]{0,30}") {
            shape(&text);
            shape(&digits);
        }
    }
}
