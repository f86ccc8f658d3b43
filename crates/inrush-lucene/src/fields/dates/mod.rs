//! Dates, as the formats of a mapping write them.
//!
//! Source: the documentation of the servers' `format` of dates; letters are those of Java's
//! `DateTimeFormatter`.

mod calendar;
mod iso;
mod pattern;

use self::calendar::fraction;
use self::iso::{Iso, Part, beyond_years};
use self::pattern::Pattern;
use crate::fields::mapping::Product;

/// How the dates of a field may be written; the first format that fits is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Formats {
    formats: Vec<Format>,
    /// Whether years may have more than four digits behind a sign, as in OpenSearch.
    long_years: bool,
}

/// A moment: milliseconds since 1970, and the nanoseconds behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) millis: i64,
    nanos: u32,
}

impl Moment {
    /// Nanoseconds since 1970. `None` before that, and where they are more than 63 bits have.
    pub(crate) fn nanos(self) -> Option<i64> {
        if self.millis < 0 {
            return None;
        }
        self.millis.checked_mul(1_000_000)?.checked_add(i64::from(self.nanos))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Format {
    /// `yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSSXXX`, of which some parts may be absent.
    Iso(Iso),
    /// Milliseconds since 1970.
    Millis,
    /// Seconds since 1970. OpenSearch adds a fraction behind negative seconds, too.
    Seconds {
        adds: bool,
    },
    Pattern(Pattern),
}

const OPTIONAL: Format =
    Format::Iso(Iso { time: Part::Maybe, whole_time: false, fraction: Part::Maybe, zone: Part::Maybe, strict: true });

/// The formats with names, of which all parts are there; milliseconds may have one to nine digits.
const NAMED: [(&str, Format); 10] = [
    ("strict_date_optional_time", OPTIONAL),
    (
        "date_optional_time",
        Format::Iso(Iso {
            time: Part::Maybe,
            whole_time: false,
            fraction: Part::Maybe,
            zone: Part::Maybe,
            strict: false,
        }),
    ),
    (
        "strict_date_optional_time_nanos",
        Format::Iso(Iso {
            time: Part::Maybe,
            whole_time: true,
            fraction: Part::Maybe,
            zone: Part::Maybe,
            strict: true,
        }),
    ),
    ("strict_date_time", iso(Part::Maybe, Part::Always)),
    ("strict_date_time_no_millis", iso(Part::Never, Part::Always)),
    ("strict_date_hour_minute_second", iso(Part::Never, Part::Never)),
    ("strict_date_hour_minute_second_millis", iso(Part::Always, Part::Never)),
    ("strict_date_hour_minute_second_fraction", iso(Part::Always, Part::Never)),
    ("epoch_millis", Format::Millis),
    ("epoch_second", Format::Seconds { adds: true }),
];

/// The formats with names that are the same as a pattern.
const NAMED_PATTERNS: [(&str, &str); 7] = [
    ("strict_date_hour", "yyyy-MM-dd'T'HH"),
    ("strict_date_hour_minute", "yyyy-MM-dd'T'HH:mm"),
    ("basic_date", "yyyyMMdd"),
    ("strict_date", "yyyy-MM-dd"),
    ("strict_year_month_day", "yyyy-MM-dd"),
    ("strict_year_month", "yyyy-MM"),
    ("strict_year", "yyyy"),
];

const fn iso(fraction: Part, zone: Part) -> Format {
    Format::Iso(Iso { time: Part::Always, whole_time: true, fraction, zone, strict: true })
}

impl Formats {
    fn new(formats: Vec<Format>, product: Product) -> Self {
        Self { formats, long_years: product == Product::OpenSearch }
    }

    /// Reads formats with `||` between them, as a product does. `None` if one is not known here.
    pub(crate) fn parse(formats: &str, product: Product) -> Option<Self> {
        let formats: Option<Vec<Format>> = formats.split("||").map(|format| Format::parse(format, product)).collect();
        formats.map(|formats| Self::new(formats, product))
    }

    /// What a field of milliseconds has where its mapping names no format.
    pub(crate) fn millis_of(product: Product) -> Self {
        Self::new(vec![OPTIONAL, Format::Millis], product)
    }

    /// What a field of nanoseconds has where its mapping names no format.
    pub(crate) fn nanos_of(product: Product) -> Self {
        let whole = Iso { time: Part::Maybe, whole_time: true, fraction: Part::Maybe, zone: Part::Maybe, strict: true };
        let first = if product == Product::OpenSearch { OPTIONAL } else { Format::Iso(whole) };
        Self::new(vec![first, Format::Millis], product)
    }

    #[cfg(test)]
    fn millis(&self, text: &str) -> Option<i64> {
        self.moment(text).map(|moment| moment.millis)
    }

    /// The moment of a date, whose milliseconds are the least or greatest number where they are
    /// beyond.
    pub(crate) fn moment(&self, text: &str) -> Option<Moment> {
        if self.long_years && self.formats.first() == Some(&OPTIONAL) && beyond_years(text.as_bytes()) {
            return None;
        }
        self.formats.iter().find_map(|format| format.moment(text, self.long_years))
    }

    /// Whether a text that is no date here may be one for a server, as it names a time zone.
    pub(crate) fn has_zone_name(&self, text: &str) -> bool {
        self.formats.iter().any(|format| match format {
            Format::Iso(iso) => iso.has_zone_name(text, self.long_years),
            Format::Millis | Format::Seconds { .. } | Format::Pattern(_) => false,
        })
    }
}

impl Format {
    fn parse(format: &str, product: Product) -> Option<Self> {
        let format = format.trim();
        if format == "epoch_second" && product == Product::Elasticsearch {
            return Some(Self::Seconds { adds: false });
        }
        if let Some((_, named)) = NAMED.iter().find(|(name, _)| *name == format) {
            return Some(named.clone());
        }
        let pattern = NAMED_PATTERNS.iter().find(|(name, _)| *name == format).map_or(format, |(_, pattern)| pattern);
        Pattern::parse(pattern).map(Self::Pattern)
    }

    fn moment(&self, text: &str, long_years: bool) -> Option<Moment> {
        match self {
            Self::Iso(iso) => iso.moment(text.as_bytes(), long_years),
            Self::Millis => epoch(text, 1000, false),
            Self::Seconds { adds } => epoch(text, 1, *adds),
            Self::Pattern(pattern) => pattern.moment(text),
        }
    }
}

/// A number of units since 1970, of which `per_second` are a second.
///
/// A fraction of up to nine digits (six behind milliseconds) may follow, or a dot only. With `adds`
/// it is added to negative seconds.
fn epoch(text: &str, per_second: i64, adds: bool) -> Option<Moment> {
    let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (fraction_max, nanos_of_unit) = if per_second == 1 { (9, 1_000_000_000) } else { (6, 1_000_000) };
    if unsigned.is_empty()
        || unsigned.len() > 19
        || !all_digits(unsigned)
        || fraction.len() > fraction_max
        || !all_digits(fraction)
    {
        return None;
    }
    let units: i64 = unsigned.parse().ok()?;
    let below = i128::from(self::fraction(fraction.as_bytes(), fraction_max));
    let negative = digits.starts_with('-');
    if negative && units == 0 && per_second == 1 {
        return None;
    }
    let whole = i128::from(units) * nanos_of_unit;
    let nanos = match (negative, adds) {
        (false, _) => whole + below,
        (true, false) => -whole - below,
        (true, true) => below - whole,
    };
    let millis = i64::try_from(nanos.div_euclid(1_000_000)).ok()?;
    Some(Moment { millis, nanos: nanos.rem_euclid(1_000_000) as u32 })
}

#[cfg(test)]
mod tests {
    use super::{Formats, Moment};
    use crate::fields::mapping::Product;

    fn parse(formats: &str) -> Option<Formats> {
        Formats::parse(formats, Product::OpenSearch)
    }

    #[test]
    fn parts_at_the_end_may_be_absent() {
        let millis = |text| Formats::millis_of(Product::OpenSearch).millis(text);
        assert_eq!(millis("2024-02-29T23:59:58.5Z"), Some(1_709_251_198_500));
        assert_eq!(millis("1969-12-31"), Some(-86_400_000));
        assert_eq!(millis("2024-01-01T00:00:00+01:00"), Some(1_704_063_600_000));
        assert_eq!(millis("1970"), Some(0));
        assert_eq!(millis("19700"), Some(19_700));
        assert_eq!(millis("-5"), Some(-5));
        assert_eq!(millis("-0001-01-01T00Z"), Some(-62_198_755_200_000));
        assert_eq!(millis("-1234567890"), None);
        assert_eq!(millis("1970-01-01T01:00:30+01:00:30"), Some(0));
        assert_eq!(millis("1970-01-01T00:00:00UTC"), Some(0));
        assert_eq!(millis("2023-02-29"), None);
        assert_eq!(millis("2024-01-01 00:00"), None);
    }

    #[test]
    fn patterns_of_letters() {
        let millis = |formats, text| parse(formats).and_then(|formats| formats.millis(text));
        assert_eq!(millis("dd/MM/yyyy", "31/12/1969"), Some(-86_400_000));
        assert_eq!(millis("yyyy-MM-dd HH:mm:ss.SSS||epoch_second", "1970-01-01 00:01:02.003"), Some(62_003));
        assert_eq!(millis("yyyy-MM-dd HH:mm:ss.SSS||epoch_second", "12"), Some(12_000));
        assert_eq!(millis("d/M/yyyy", "1/12/1970"), Some(28_857_600_000));
        assert_eq!(millis("dd/MMM/yyyy:HH:mm:ss Z", "01/Jan/1970:01:00:01 +0100"), Some(1_000));
        assert_eq!(millis("yyyy-MM-dd'T'HH:mm:ssX", "1970-01-01T00:00:00-01"), Some(3_600_000));
        assert_eq!(millis("yyyy-MM-dd'T'HH:mm:ssX", "1970-01-01T00:00:00UTC"), None);
        assert_eq!(millis("yyyy-MM-dd'T'HH:mm:ssXXX", "1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(millis("yyyy-MM-dd'T'HH:mm:ssXXX", "1970-01-01T00:00:00+0100"), None);
        assert_eq!(millis("basic_date", "19700102"), Some(86_400_000));
        assert_eq!(millis("yyyy", "1971"), Some(31_536_000_000));
        assert_eq!(millis("EEE MMM dd HH:mm:ss Z yyyy", "Thu Jan 01 01:00:02 +0100 1970"), Some(2_000));
        assert_eq!(millis("EEE, dd MMM yyyy", "Fri, 01 Jan 1970"), None);
        assert_eq!(millis("h:mm a, MMMM d, yy", "12:01 PM, March 1, 00"), Some(951_912_060_000));
        assert_eq!(millis("date_optional_time", "1970-1-2T3"), Some(97_200_000));
        for unknown in [
            "h:mm d/M/yyyy",
            "H:mm a d/M/yyyy",
            "yyyyy-MM-dd",
            "dMyyyy",
            "yyyy-dd",
            "HH:mm",
            "yyyy HH",
            "yyyy-MM-dd'T",
            "yyyy-MM-dd[ HH]",
        ] {
            assert_eq!(parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn zones_with_names_are_seen() {
        let formats = Formats::millis_of(Product::Elasticsearch);
        for (text, named) in [
            ("2024-01-01T00:00:00Europe/Paris", true),
            ("2024-01-01T00:00:00.5UTC+1", true),
            ("2024-01-01T00:00:00z", false),
            ("2024-02-30T00:00:00CET", false),
            ("Tuesday", false),
        ] {
            assert_eq!((formats.millis(text), formats.has_zone_name(text)), (None, named), "{text}");
        }
        assert_eq!(formats.millis("1970-01-01T01:00:30+010030"), Some(0));
    }

    #[test]
    fn formats_with_names() {
        let fits = |format: &str, text: &str| parse(format).unwrap().millis(text).is_some();
        for (format, good, bad) in [
            ("strict_date_time", "2024-01-01T00:00:00.5+0100", "2024-01-01T00:00:00"),
            ("strict_date_time_no_millis", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.1Z"),
            ("strict_date_hour_minute_second", "2024-01-01T00:00:00", "2024-01-01T00:00"),
            ("strict_date_hour_minute_second_millis", "2024-01-01T00:00:00.123", "2024-01-01T00:00:00"),
            ("strict_date_optional_time_nanos", "2024-01-01T00:00:00.123456789", "2024-01-01T00"),
            ("strict_date", "2024-01-01", "2024-01-01T00:00:00"),
        ] {
            assert!(fits(format, good) && !fits(format, bad), "{format}");
        }
    }

    #[test]
    fn nanoseconds() {
        let nanos = |text| Formats::nanos_of(Product::Elasticsearch).moment(text).and_then(Moment::nanos);
        assert_eq!(nanos("1970-01-01T00:00:01.000000002Z"), Some(1_000_000_002));
        assert_eq!(nanos("12.000003"), Some(12_000_003));
        assert_eq!(nanos("1969-12-31"), None);
        let seconds = |product, text| Formats::parse("epoch_second", product).unwrap().millis(text);
        assert_eq!(seconds(Product::OpenSearch, "-3.75"), Some(-2250));
        assert_eq!(seconds(Product::Elasticsearch, "-3.75"), Some(-3750));
        let millis = |text| Formats::millis_of(Product::Elasticsearch).millis(text);
        assert_eq!((millis("-1234567890"), millis("-12345")), (Some(-1_234_567_890), Some(-12_345)));
        assert_eq!(nanos("2262-04-11T23:47:16.854775807Z"), Some(i64::MAX));
        assert_eq!(nanos("2262-04-11T23:47:16.854775808Z"), None);
    }
}
