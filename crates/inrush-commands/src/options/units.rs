//! Sizes, durations and shares in the notation of people.

use std::fmt;
use std::time::Duration;

use inrush_load::config::exact_size;

use super::info::ValueInfo;
use super::slot::{Argument, Given, IntoOption, OptionValue, argument};

/// Units of a size. A unit that ends with another unit comes before it. Single letters are powers
/// of 1024, as in Java's `-Xmx1g`; `kB` and so on are powers of 1000, `KiB` and so on powers of
/// 1024 (IEC 80000-13). Case does not matter.
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

/// A number of bytes, at least 1: `64MiB`, `2MB`, `1g` or `1000000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(u64);

impl ByteSize {
    /// This number of bytes. `None` for 0.
    pub const fn new(bytes: u64) -> Option<Self> {
        if bytes == 0 { None } else { Some(ByteSize(bytes)) }
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The number of bytes, or the largest one that this machine can address.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// The syntax of the option, exactly: `96MiB`, `1000000`.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&exact_size(self.0))
    }
}

impl OptionValue for ByteSize {
    argument! { itself }

    const VALUE: ValueInfo = ValueInfo::TEXT
        .in_unit("bytes, or with a unit: KiB, MiB, GiB, kB, MB, GB, k, m, g")
        .within("at least 1")
        .in_python("str | int");

    fn parse(text: &str) -> Result<Self, String> {
        ByteSize::new(parse_bytes(text)?).ok_or_else(|| "must be at least 1 byte".to_owned())
    }
}

crate::setter_values! { ByteSize }

/// A number of bytes.
impl IntoOption<ByteSize> for u64 {
    fn into_option(self) -> Argument<ByteSize> {
        match ByteSize::new(self) {
            Some(size) => Argument::Value(size),
            None => Argument::Text("0".into()),
        }
    }
}

/// The Java heap of a server: whole MiB, at least 256, as in `1g` or `512m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapSize(u32);

impl HeapSize {
    /// MiB.
    pub const fn mib(self) -> u32 {
        self.0
    }
}

impl OptionValue for HeapSize {
    type Argument = ByteSize;

    fn from_argument(size: ByteSize) -> Result<Self, String> {
        HeapSize::parse(&size.bytes().to_string())
    }

    const VALUE: ValueInfo = ByteSize::VALUE.within("whole MiB, at least 256m");

    /// OpenSearch does not start with less. Its `-Xms` is in MiB.
    fn parse(text: &str) -> Result<Self, String> {
        let bytes = parse_bytes(text)?;
        u32::try_from(bytes >> 20)
            .ok()
            .filter(|mib| *mib >= 256 && bytes.is_multiple_of(1 << 20))
            .map(HeapSize)
            .ok_or_else(|| "the heap must be whole MiB, and 256m at least; give it like 1g or 512m".to_owned())
    }
}

/// Reads a size in bytes: a whole number and a unit, as in `64MiB`, `2MB`, `1g` or `1000000`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let expected = "expected a whole number and a unit, as in 64MiB, 2MB, 1g or 1000000";
    let (number, unit) = split_number(text, expected)?;
    let unit = unit.to_ascii_lowercase();
    let Some((_, factor)) = SIZE_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("unknown unit {unit:?}; {expected}"));
    };
    number.checked_mul(*factor).ok_or_else(|| format!("{text:?} is more bytes than a 64-bit number holds"))
}

/// A whole number and one of `ms`, `s`, `m`, `h`, `d`; only `0` may go without a unit.
impl OptionValue for Duration {
    argument! { itself }

    const VALUE: ValueInfo =
        ValueInfo::TEXT.in_unit("with a unit: ms, s, m, h, d").in_python("str | datetime.timedelta");

    fn parse(text: &str) -> Result<Self, String> {
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
}

/// A duration that is longer than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PositiveDuration(Duration);

impl PositiveDuration {
    /// The duration.
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl OptionValue for PositiveDuration {
    type Argument = Duration;

    const VALUE: ValueInfo = Duration::VALUE.within("longer than 0");

    fn from_argument(duration: Duration) -> Result<Self, String> {
        if duration.is_zero() { Err("must be longer than 0".to_owned()) } else { Ok(PositiveDuration(duration)) }
    }

    fn parse(text: &str) -> Result<Self, String> {
        PositiveDuration::from_argument(<Duration as OptionValue>::parse(text)?)
    }
}

/// A whole number within limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whole<const MIN: u32, const MAX: u32>(u32);

/// A whole number from 1 on.
pub type Count = Whole<1, { u32::MAX }>;

impl<const MIN: u32, const MAX: u32> Whole<MIN, MAX> {
    /// The number; `None` beyond the limits.
    pub const fn new(number: u32) -> Option<Self> {
        if MIN <= number && number <= MAX { Some(Whole(number)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    fn expected() -> String {
        match (MIN, MAX) {
            (0, u32::MAX) => "expected a whole number".to_owned(),
            (min, u32::MAX) => format!("expected a whole number from {min} on"),
            (min, max) => format!("expected a whole number from {min} to {max}"),
        }
    }
}

impl<const MIN: u32, const MAX: u32> OptionValue for Whole<MIN, MAX> {
    type Argument = u32;

    fn from_argument(number: u32) -> Result<Self, String> {
        Whole::new(number).ok_or_else(Self::expected)
    }

    const VALUE: ValueInfo = match (MIN, MAX) {
        (0, u32::MAX) => ValueInfo::NUMBER,
        (1, u32::MAX) => ValueInfo::NUMBER.within("at least 1"),
        (1, 64) => ValueInfo::NUMBER.within("1 to 64"),
        (1, 100_000) => ValueInfo::NUMBER.within("1 to 100000"),
        // New limits without words are a compile-time error.
        _ => panic!("these limits have no words yet"),
    };

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().ok().and_then(Whole::new).ok_or_else(Self::expected)
    }
}

/// By how many percent an index may shrink: `20%`, or `any` for 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shrink(f64);

impl Shrink {
    /// Percent.
    pub const fn percent(self) -> f64 {
        self.0
    }
}

impl OptionValue for Shrink {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::TEXT.in_unit("percent").within("0% to 100%, or any");

    fn parse(text: &str) -> Result<Self, String> {
        match count_or_percent(text) {
            Ok(Ok(percent)) => Ok(Shrink(percent)),
            _ if text == "any" => Ok(Shrink(100.0)),
            _ => Err("expected a percentage from 0% to 100%, as in 20%, or any".to_owned()),
        }
    }
}

/// The values of a count or a share of documents.
pub(super) const COUNT_OR_SHARE: ValueInfo =
    ValueInfo::TEXT.in_unit("documents, or percent with a %").within("0 and more, 0% to 100%").in_python("str | int");

/// `Ok` of a percentage, `Err` of a plain number.
pub(super) fn count_or_percent(text: &str) -> Result<Result<f64, u64>, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [
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
            assert_eq!(ByteSize::parse(text).map(ByteSize::bytes), Ok(bytes), "{text}");
        }
        for (text, problem) in [
            ("", "expected a whole number"),
            ("0", "at least 1 byte"),
            ("MiB", "expected a whole number"),
            ("-1", "expected a whole number"),
            ("1.5GiB", "expected a whole number"),
            ("1,000", "expected a whole number"),
            ("5 bananas", "unknown unit \"bananas\""),
            ("99999999999999999999", "64-bit"),
            ("99999999t", "64-bit"),
        ] {
            let error = ByteSize::parse(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
        let written = [96 << 20, 1_000_001].map(|bytes| ByteSize(bytes).to_string());
        assert_eq!(written, ["96MiB", "1000001"]);
    }

    #[test]
    fn heaps_are_whole_mebibytes() {
        assert_eq!(HeapSize::parse("1g").map(HeapSize::mib), Ok(1024));
        for bad in ["100m", "1000", "1073741825", "99999999g"] {
            assert!(HeapSize::parse(bad).unwrap_err().contains("256m at least"), "{bad}");
        }
    }

    #[test]
    fn durations_need_a_unit() {
        let parse = <Duration as OptionValue>::parse;
        for (text, ms) in
            [("500ms", 500), ("1s", 1_000), ("10m", 600_000), ("2h", 7_200_000), ("1d", 86_400_000), ("0", 0)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for (text, problem) in [
            ("10", "no unit"),
            ("1.5s", "expected a whole number"),
            ("1 year", "unknown unit"),
            ("s", "expected a whole number"),
            ("1S", "unknown unit"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
        assert!(PositiveDuration::parse("0s").is_err());
    }

    #[test]
    fn numbers_keep_their_limits() {
        assert_eq!(Whole::<1, 64>::parse("64").map(Whole::get), Ok(64));
        for bad in ["0", "65", "", "x", "1.5"] {
            assert_eq!(Whole::<1, 64>::parse(bad), Err("expected a whole number from 1 to 64".to_owned()));
        }
        assert!(Count::parse("0").unwrap_err().contains("from 1 on"));
    }

    #[test]
    fn shares_are_percentages() {
        assert_eq!(count_or_percent("0.5%"), Ok(Ok(0.5)));
        assert_eq!(count_or_percent("100"), Ok(Err(100)));
        assert_eq!((Shrink::parse("20%"), Shrink::parse("any")), (Ok(Shrink(20.0)), Ok(Shrink(100.0))));
        assert!(Shrink::parse("20").unwrap_err().contains("or any"));
        for bad in ["", "%", "101%", "-1%", "1.5", "many", "NaN%"] {
            assert!(count_or_percent(bad).is_err(), "{bad}");
        }
    }
}
