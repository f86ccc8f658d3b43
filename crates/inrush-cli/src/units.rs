//! Sizes, durations and shares as people write them, and as they are written back.

use std::time::Duration;

use inrush::config::{MaxErrors, Tolerance};

/// Units of a size, longest first where one is the end of another. Single letters are powers of 1024, as in Java's
/// `-Xmx1g`; `kB` and its kin are powers of 1000, `KiB` and its kin powers of 1024 (IEC 80000-13). Case does not matter.
const SIZE_UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// Units of a duration in milliseconds.
const DURATION_UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a size in bytes: a whole number and a unit, as in `64MiB`, `2MB`, `1g` or `1000000`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let expected = "expected a whole number and a unit, as in 64MiB, 2MB, 1g or 1000000";
    let (number, unit) = split_number(text, expected)?;
    let unit = unit.to_ascii_lowercase();
    let Some((_, factor)) = SIZE_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("unknown unit {unit:?}; {expected}"));
    };
    number.checked_mul(*factor).ok_or_else(|| format!("{text:?} is more bytes than a 64-bit number holds"))
}

/// Reads a size that must not be zero.
pub(crate) fn parse_bytes_positive(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        0 => Err("must be at least 1 byte".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Reads a duration: a whole number and one of `ms`, `s`, `m`, `h`, `d`; only `0` may go without a unit.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = "expected a whole number and a unit (ms, s, m, h or d), as in 500ms, 1s, 10m or 2h";
    let (number, unit) = split_number(text, expected)?;
    if unit.is_empty() {
        return if number == 0 { Ok(Duration::ZERO) } else { Err(format!("{text:?} has no unit; {expected}")) };
    }
    let Some((_, factor)) = DURATION_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("unknown unit {unit:?}; {expected}"));
    };
    let millis = number.checked_mul(*factor).ok_or_else(|| format!("{text:?} is too long"))?;
    Ok(Duration::from_millis(millis))
}

/// Reads a duration that must not be zero.
pub(crate) fn parse_duration_positive(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("must be longer than 0".to_owned()),
        duration => Ok(duration),
    }
}

/// Reads a number of dead letters (`100`) or a share of the documents (`1%`, `0.5%`).
pub(crate) fn parse_max_errors(text: &str) -> Result<MaxErrors, String> {
    count_or_percent(text).map(|found| found.map_or_else(MaxErrors::Count, MaxErrors::Percent))
}

/// The same of documents that may be missing.
pub(crate) fn parse_tolerance(text: &str) -> Result<Tolerance, String> {
    count_or_percent(text).map(|found| found.map_or_else(Tolerance::Count, Tolerance::Percent))
}

/// Reads by how many percent an index may shrink; `any` is 100.
pub(crate) fn parse_shrink(text: &str) -> Result<f64, String> {
    match count_or_percent(text) {
        Ok(Ok(percent)) => Ok(percent),
        _ if text == "any" => Ok(100.0),
        _ => Err("expected a percentage from 0% to 100%, as in 20%, or any".to_owned()),
    }
}

/// `Ok` of a percentage, `Err` of a plain number.
fn count_or_percent(text: &str) -> Result<Result<f64, u64>, String> {
    let expected = "expected a whole number, as in 100, or a percentage from 0% to 100%, as in 1%";
    match text.strip_suffix('%') {
        Some(percent) => match percent.trim_end().parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Ok(percent)),
            _ => Err(expected.to_owned()),
        },
        None => text.parse().map(Err).map_err(|_| expected.to_owned()),
    }
}

/// The digits at the beginning, and what follows them.
fn split_number<'a>(text: &'a str, expected: &str) -> Result<(u64, &'a str), String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() || unit.starts_with(['.', ',']) {
        return Err(expected.to_owned());
    }
    let number = number.parse().map_err(|_| format!("{number} is more than a 64-bit number holds"))?;
    Ok((number, unit.trim_start()))
}

/// A size for people: `512 B`, `1.5 KiB`, `2.0 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const NAMES: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut name = 0;
    // 1023.95 would be printed as 1024.0.
    while value >= 1023.95 && name + 1 < NAMES.len() {
        value /= 1024.0;
        name += 1;
    }
    format!("{value:.1} {}", NAMES[name])
}

/// A size as it can be given to a flag, exactly: `96MiB`, `1000000`.
pub(crate) fn bytes_exact(bytes: u64) -> String {
    for (shift, name) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{name}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// A count with separators: `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 document`, `2 documents`.
pub(crate) fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A time span for people: `0.4 s`, `59.9 s`, `2 min 05 s`, `3 h 07 min`.
pub(crate) fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "?".to_owned();
    }
    if seconds < 59.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    if whole < 3600 {
        format!("{} min {:02} s", whole / 60, whole % 60)
    } else {
        format!("{} h {:02} min", whole / 3600, whole % 3600 / 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [
            ("0", 0),
            ("1000000", 1_000_000),
            ("512b", 512),
            ("64MiB", 64 << 20),
            ("64mib", 64 << 20),
            ("2MB", 2_000_000),
            ("2 MB", 2_000_000),
            ("1g", 1 << 30),
            ("1G", 1 << 30),
            ("3k", 3 << 10),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for (text, problem) in [
            ("", "expected a whole number"),
            ("MiB", "expected a whole number"),
            ("-1", "expected a whole number"),
            ("1.5GiB", "expected a whole number"),
            ("1,000", "expected a whole number"),
            ("5 bananas", "unknown unit \"bananas\""),
            ("99999999999999999999", "64-bit"),
            ("99999999t", "64-bit"),
        ] {
            let error = parse_bytes(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
        assert!(parse_bytes_positive("0").is_err());
    }

    #[test]
    fn durations_need_a_unit() {
        for (text, ms) in
            [("500ms", 500), ("1s", 1_000), ("10m", 600_000), ("2h", 7_200_000), ("1d", 86_400_000), ("0", 0)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for (text, problem) in [
            ("10", "no unit"),
            ("1.5s", "expected a whole number"),
            ("1 year", "unknown unit"),
            ("s", "expected a whole number"),
            ("1S", "unknown unit"),
        ] {
            let error = parse_duration(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
        assert!(parse_duration_positive("0s").is_err());
    }

    #[test]
    fn max_errors_is_a_count_or_a_share() {
        assert_eq!(parse_max_errors("0"), Ok(MaxErrors::Count(0)));
        assert_eq!(parse_max_errors("100"), Ok(MaxErrors::Count(100)));
        assert_eq!(parse_max_errors("0.5%"), Ok(MaxErrors::Percent(0.5)));
        assert_eq!(parse_tolerance("15"), Ok(Tolerance::Count(15)));
        assert_eq!(parse_tolerance("0.1%"), Ok(Tolerance::Percent(0.1)));
        assert_eq!((parse_shrink("20%"), parse_shrink("any")), (Ok(20.0), Ok(100.0)));
        assert!(parse_shrink("20").unwrap_err().contains("or any") && parse_tolerance("all").is_err());
        for bad in ["", "%", "101%", "-1%", "1.5", "many", "NaN%"] {
            assert!(parse_max_errors(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(
            [bytes(0), bytes(1023), bytes(1536), bytes(2 << 20), bytes((1 << 20) - 1)],
            ["0 B", "1023 B", "1.5 KiB", "2.0 MiB", "1.0 MiB"]
        );
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
        assert_eq!([bytes_exact(96 << 20), bytes_exact(1_000_001), bytes_exact(0)], ["96MiB", "1000001", "0"]);
        assert_eq!([count(0), count(999), count(1_000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "document"), counted(2, "document")], ["1 document", "2 documents"]);
        assert_eq!(
            [seconds(0.0), seconds(59.96), seconds(125.0), seconds(11_240.0), seconds(f64::INFINITY)],
            ["0.0 s", "1 min 00 s", "2 min 05 s", "3 h 07 min", "?"]
        );
    }
}
