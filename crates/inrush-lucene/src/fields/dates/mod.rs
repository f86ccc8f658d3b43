//! Dates, as the formats of a mapping write them.
//!
//! Source: the documentation of the servers' `format` of dates; letters are those of Java's
//! `DateTimeFormatter`.

mod calendar;
mod found;
mod iso;
mod named;
mod pattern;
mod piece;

use self::calendar::fraction;
use self::iso::{Iso, Part};
use self::pattern::Pattern;
use crate::fields::target::{KnownProduct, ServerVersion};

/// The second format of dates that the servers know in texts by default.
pub(crate) const SLASHES: &str = "yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis";

/// How the dates of a field may be written. The first format that fits is taken; one that fits a
/// day that is none may end the search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Formats {
    formats: Vec<Format>,
    dialect: Dialect,
    /// They are those of a field whose mapping names none.
    are_default: bool,
}

/// The servers that read dates alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Java reads all dates. Years may have more than four digits behind a sign.
    OpenSearch,
    /// The same, and dates beyond the range of milliseconds are malformed. 2.18 is so, 2.19 is not.
    OpenSearch218,
    /// Its own reader takes dates with a time, and Java those that this one does not take.
    Elasticsearch8,
    /// The same without Java behind it.
    Elasticsearch9,
}

impl Dialect {
    pub(crate) fn of(target: ServerVersion) -> Self {
        match target.product {
            KnownProduct::OpenSearch if target.version < [2, 19, 0] => Self::OpenSearch218,
            KnownProduct::OpenSearch => Self::OpenSearch,
            KnownProduct::Elasticsearch if target.version < [9, 0, 0] => Self::Elasticsearch8,
            KnownProduct::Elasticsearch => Self::Elasticsearch9,
        }
    }

    fn is_opensearch(self) -> bool {
        matches!(self, Self::OpenSearch | Self::OpenSearch218)
    }
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
    /// Seconds since 1970.
    Seconds,
    Pattern(Pattern),
}

/// How far a text that is no date fits a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Another format may fit.
    Not,
    /// The format fits, but there is no such date, and no other format is tried.
    Never,
    /// The same for a year alone that no date has. It makes no new field a date.
    NoYear,
    /// Only a server knows whether there is such a date, because of this.
    Unsure(&'static str),
}

const FIRST: &str = "strict_date_optional_time";
const FIRST_NANOS: &str = "strict_date_optional_time_nanos";
const MILLIS: &str = "epoch_millis";

/// The most bytes of a text that may be a date with the name of a time zone.
const LONGEST: usize = 256;

/// The formats with names that are no pieces of a pattern.
const NAMED: [(&str, Format); 11] = [
    ("iso8601", optional(false, true, true)),
    (FIRST, optional(false, true, false)),
    ("date_optional_time", optional(false, false, false)),
    (FIRST_NANOS, optional(true, true, false)),
    ("strict_date_time", iso(Part::Maybe, Part::Always)),
    ("strict_date_time_no_millis", iso(Part::Never, Part::Always)),
    ("strict_year_month_day", DAY),
    ("strict_date_hour_minute_second_millis", iso(Part::Always, Part::Never)),
    ("strict_date_hour_minute_second_fraction", iso(Part::Always, Part::Never)),
    (MILLIS, Format::Millis),
    ("epoch_second", Format::Seconds),
];

/// A date, of which the month and the day may be absent.
const DAY: Format = Format::Iso(Iso {
    time: Part::Never,
    whole_time: false,
    fraction: Part::Never,
    zone: Part::Never,
    zone_alone: false,
    strict: true,
    own: false,
});

/// A pattern for which Elasticsearch has its own reader, too.
const SECONDS_FORMAT: &str = "strict_date_hour_minute_second";

/// What that reader takes for it.
const WITH_SECONDS: Format = Format::Iso(Iso {
    time: Part::Always,
    whole_time: true,
    fraction: Part::Never,
    zone: Part::Never,
    zone_alone: false,
    strict: true,
    own: true,
});

const fn optional(whole_time: bool, strict: bool, zone_alone: bool) -> Format {
    let maybe = Part::Maybe;
    Format::Iso(Iso { time: maybe, whole_time, fraction: maybe, zone: maybe, zone_alone, strict, own: false })
}

const fn iso(fraction: Part, zone: Part) -> Format {
    Format::Iso(Iso {
        time: Part::Always,
        whole_time: true,
        fraction,
        zone,
        zone_alone: false,
        strict: true,
        own: false,
    })
}

impl Formats {
    /// Reads formats with `||` between them. `None` if one is not known here.
    ///
    /// An `8` before them, of the time when the servers changed to Java 8, says nothing.
    pub(crate) fn parse(formats: &str, dialect: Dialect) -> Option<Self> {
        let formats = formats.strip_prefix('8').unwrap_or(formats);
        let are_default = formats
            .rsplit_once("||")
            .is_some_and(|(first, last)| [FIRST, FIRST_NANOS].contains(&first.trim()) && last.trim() == MILLIS);
        let formats: Option<Vec<_>> = formats.split("||").map(|format| Format::parse(format.trim(), dialect)).collect();
        Some(Self { formats: formats?.concat(), dialect, are_default })
    }

    /// The formats of some names that are known here.
    fn known(names: [&str; 2], dialect: Dialect) -> Self {
        let formats = names.iter().filter_map(|name| Format::parse(name, dialect)).flatten().collect();
        Self { formats, dialect, are_default: true }
    }

    /// What a field of milliseconds has where its mapping names no format.
    pub(crate) fn millis_of(dialect: Dialect) -> Self {
        Self::known([FIRST, MILLIS], dialect)
    }

    /// What a field of nanoseconds has where its mapping names no format.
    pub(crate) fn nanos_of(dialect: Dialect) -> Self {
        Self::known([if dialect.is_opensearch() { FIRST } else { FIRST_NANOS }, MILLIS], dialect)
    }

    /// Whether they are those of a field whose mapping names none.
    pub(crate) fn are_default(&self) -> bool {
        self.are_default
    }

    #[cfg(test)]
    fn millis(&self, text: &str) -> Option<i64> {
        self.moment(text).map(|moment| moment.millis)
    }

    /// The moment of a date, whose milliseconds are the least or greatest number where they are
    /// beyond.
    pub(crate) fn moment(&self, text: &str) -> Option<Moment> {
        for format in &self.formats {
            match format.moment(text, self.dialect) {
                Ok(moment) => return Some(moment),
                Err(Fit::Never | Fit::NoYear | Fit::Unsure(_)) => return None,
                Err(Fit::Not) => {}
            }
        }
        None
    }

    /// The moment of a date that is the end of a range, as Elasticsearch fills up its time: by the
    /// last hour, minute, second and nanosecond.
    ///
    /// # Errors
    ///
    /// What of the text only a server knows.
    pub(crate) fn last_moment(&self, text: &str) -> Result<Option<Moment>, &'static str> {
        let mut found = self.formats.iter().map(|format| format.last_moment(text, self.dialect));
        match found.find(|found| *found != Err(Fit::Not)) {
            Some(Ok(moment)) => Ok(Some(moment)),
            Some(Err(Fit::Unsure(what))) => Err(what),
            _ => Ok(None),
        }
    }

    /// Whether the first format takes all dates by ISO 8601, with or without a time, a fraction and
    /// a zone.
    pub(crate) fn takes_iso(&self) -> bool {
        matches!(
            self.formats.first(),
            Some(Format::Iso(Iso { time: Part::Maybe, fraction: Part::Maybe, zone: Part::Maybe, .. }))
        )
    }

    /// Whether a format fits a text, but there is no such date.
    pub(crate) fn fits_no_date(&self, text: &str) -> bool {
        let mut found = self.formats.iter().map(|format| format.moment(text, self.dialect));
        found.find(|found| *found != Err(Fit::Not)) == Some(Err(Fit::Never))
    }

    /// What of a text that is no date here may make one of it for a server.
    pub(crate) fn only_of_a_server(&self, text: &str) -> Option<&'static str> {
        let mut found = self.formats.iter().map(|format| format.moment(text, self.dialect));
        match found.find(|found| *found != Err(Fit::Not)) {
            Some(Err(Fit::Unsure(what))) => Some(what),
            _ => None,
        }
    }
}

impl Format {
    /// What reads a format, one after the other.
    fn parse(format: &str, dialect: Dialect) -> Option<Vec<Self>> {
        let java = Self::of_java(format, dialect)?;
        let own = match &java {
            Self::Iso(iso) if iso.strict && iso.time != Part::Never => Some(Self::Iso(Iso { own: true, ..*iso })),
            _ if format == SECONDS_FORMAT => Some(WITH_SECONDS),
            _ => None,
        };
        Some(match (dialect, own) {
            (Dialect::OpenSearch | Dialect::OpenSearch218, _) | (_, None) => vec![java],
            (Dialect::Elasticsearch8, Some(own)) => vec![own, java],
            (Dialect::Elasticsearch9, Some(own)) => vec![own],
        })
    }

    fn of_java(format: &str, dialect: Dialect) -> Option<Self> {
        (!format.is_empty()).then_some(())?;
        if let Some(named) = Self::named(format, dialect) {
            return Some(named);
        }
        // OpenSearch has a second name for most formats: `dateTime` is `date_time`.
        if dialect.is_opensearch() && format.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            let words = in_words(format);
            let known = !["epoch_second", MILLIS, "week_year"].contains(&words.as_str());
            if let Some(named) = Self::named(&words, dialect).filter(|_| known) {
                return Some(named);
            }
        }
        Pattern::parse(format).map(Self::Pattern)
    }

    fn named(format: &str, dialect: Dialect) -> Option<Self> {
        if let Some((_, named)) = NAMED.iter().find(|(name, _)| *name == format) {
            return Some(named.clone());
        }
        named::pattern(format, dialect).map(Self::Pattern)
    }

    /// Whether its dates may have a time zone with a name, and whether small letters are as good in
    /// it.
    fn names_zones(&self, dialect: Dialect) -> Option<bool> {
        match self {
            // Java reads them behind the server's own reader.
            Self::Iso(iso) if iso.own && dialect == Dialect::Elasticsearch8 => None,
            Self::Iso(iso) => (iso.zone != Part::Never).then_some(false),
            Self::Pattern(pattern) => pattern.has_any_zone().then(|| pattern.is_in_any_case()),
            Self::Millis | Self::Seconds => None,
        }
    }

    /// Whether a text is a date with the name of a time zone, which is not known here.
    fn has_zone_name(&self, text: &str, dialect: Dialect) -> bool {
        let Some(any_case) = self.names_zones(dialect) else { return false };
        let bytes = text.as_bytes();
        if bytes.len() > LONGEST || !bytes.is_ascii() {
            return false;
        }
        let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"/_+-:.~".contains(byte);
        let first = bytes.len() - bytes.iter().rev().take_while(|byte| of_name(byte)).count();
        let begins = |at: usize| {
            let is_letter = bytes[at].is_ascii_uppercase() || any_case && bytes[at].is_ascii_lowercase();
            is_letter && bytes.get(at + 1).is_none_or(|next| !next.is_ascii_digit())
        };
        let mut places = (first.max(1)..bytes.len()).filter(|at| begins(*at));
        places.any(|at| self.known_moment(&format!("{}Z", &text[..at]), dialect).is_ok())
    }

    fn moment(&self, text: &str, dialect: Dialect) -> Result<Moment, Fit> {
        match self.known_moment(text, dialect) {
            Ok(Moment { millis: i64::MIN | i64::MAX, .. })
                if dialect == Dialect::OpenSearch218 && !matches!(self, Self::Millis) =>
            {
                Err(Fit::Never)
            }
            Err(Fit::Not) if self.has_zone_name(text, dialect) => Err(Fit::Unsure("the name of a time zone")),
            found => found,
        }
    }

    /// The same with a time that is filled up. Of dates without a year, of weeks and the like, only
    /// a server knows it.
    fn last_moment(&self, text: &str, dialect: Dialect) -> Result<Moment, Fit> {
        let moment = self.moment(text, dialect)?;
        let is_whole = text.bytes().all(|byte| byte.is_ascii_digit());
        let last = match self {
            Self::Iso(iso) => iso.last_moment(text.as_bytes(), dialect),
            Self::Millis => is_whole.then_some(moment),
            Self::Seconds => is_whole.then_some(Moment { millis: moment.millis.saturating_add(999), ..moment }),
            Self::Pattern(pattern) => pattern.last_moment(text)?,
        };
        last.ok_or(Fit::Unsure("the end of a range"))
    }

    /// The moment of a date whose time zone has no name.
    fn known_moment(&self, text: &str, dialect: Dialect) -> Result<Moment, Fit> {
        let opensearch = dialect.is_opensearch();
        match self {
            Self::Iso(iso) => iso.moment(text.as_bytes(), dialect),
            Self::Millis => {
                // OpenSearch takes one more dot behind a fraction.
                let more = text.strip_suffix('.').filter(|before| opensearch && before.contains('.'));
                epoch(more.unwrap_or(text), 6, false)
            }
            Self::Seconds if opensearch => epoch(text, 9, true),
            Self::Seconds => {
                let is_zero = |fraction: &str| !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0');
                match text.split_once('.') {
                    Some((seconds, fraction)) if seconds.starts_with('-') && is_zero(fraction) => Err(Fit::Not),
                    _ => epoch(text, 9, false),
                }
            }
            Self::Pattern(pattern) => pattern.moment(text, opensearch),
        }
    }
}

/// A name in small letters, with `_` before what were capitals.
fn in_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            words.push('_');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

/// The seconds since 1970 of the years that Java's `LocalDate` has.
const SECONDS: std::ops::RangeInclusive<i128> = -31_557_014_135_596_800..=31_556_889_832_780_799;

/// A number of units since 1970, of which a nanosecond is a number of decimals.
///
/// A fraction of at most this number of digits may follow, or a dot only. With `adds` it is added
/// to negative numbers, of which zero is none.
fn epoch(text: &str, decimals: usize, adds: bool) -> Result<Moment, Fit> {
    let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if unsigned.is_empty()
        || unsigned.len() > 19
        || !all_digits(unsigned)
        || fraction.len() > decimals
        || !all_digits(fraction)
    {
        return Err(Fit::Not);
    }
    let units: i64 = unsigned.parse().map_err(|_| Fit::Not)?;
    let below = i128::from(self::fraction(fraction.as_bytes(), decimals));
    let negative = digits.starts_with('-');
    if negative && units == 0 && adds {
        return Err(Fit::Not);
    }
    let whole = i128::from(units) * 10_i128.pow(decimals as u32);
    let nanos = match (negative, adds) {
        (false, _) => whole + below,
        (true, false) => -whole - below,
        (true, true) => below - whole,
    };
    let seconds = nanos.div_euclid(1_000_000_000);
    let millis = match i64::try_from(nanos.div_euclid(1_000_000)) {
        Ok(millis) => millis,
        // OpenSearch takes the end of the range, up to the last second that Java has.
        Err(_) if adds && SECONDS.contains(&seconds) => {
            if negative {
                i64::MIN
            } else {
                i64::MAX
            }
        }
        Err(_) => return Err(Fit::Never),
    };
    Ok(Moment { millis, nanos: nanos.rem_euclid(1_000_000) as u32 })
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Fit, Formats, MILLIS, Moment};

    /// The last millisecond.
    const LAST: &str = "9223372036854775807";

    fn parse(formats: &str) -> Option<Formats> {
        Formats::parse(formats, Dialect::OpenSearch)
    }

    #[test]
    fn parts_at_the_end_may_be_absent() {
        let millis = |text| Formats::millis_of(Dialect::OpenSearch).millis(text);
        assert_eq!(millis("2024-02-29T23:59:58.5Z"), Some(1_709_251_198_500));
        assert_eq!(millis("1969-12-31"), Some(-86_400_000));
        assert_eq!(millis("2024-01-01T00:00:00+01:00"), Some(1_704_063_600_000));
        assert_eq!(millis("1970"), Some(0));
        assert_eq!(millis("19700"), Some(19_700));
        assert_eq!(millis("-5"), Some(-5));
        assert_eq!(millis("-0001-01-01T00Z"), Some(-62_198_755_200_000));
        assert_eq!(millis("-1234567890"), None);
        assert_eq!(millis("+0999999999-12"), Some(i64::MAX));
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
        assert_eq!(millis("EEE, dd MMM uuuu", "Fri, 01 Jan 1970"), None);
        assert_eq!(millis("EEE, dd MMM yyyy", "Fri, 01 Jan 1970"), Some(0));
        assert_eq!(millis("h:mm a, MMM d, yy", "12:01 PM, Mar 1, 00"), Some(951_912_060_000));
        assert_eq!(millis("date_optional_time", "1970-1-2T3"), Some(97_200_000));
        for unknown in [
            "yyyy-MM-dd'T",
            "MMMM d, yyyy",
            "EEEE, d MMM yyyy",
            "YYYY-MM-dd",
            "yyyy-MM-dd HH:mm VV",
            "yyyy-MM-dd]",
            "yyyy{MM}",
            "MMd ddd",
            "SSSSSSSSSS",
        ] {
            assert_eq!(parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn patterns_with_parts_that_are_absent() {
        let millis = |formats, text| parse(formats).and_then(|formats| formats.millis(text));
        for (format, text, found) in [
            ("yyyy-MM-dd[ HH:mm[:ss]]", "1970-01-02", Some(86_400_000)),
            ("yyyy-MM-dd[ HH:mm[:ss]]", "1970-01-02 00:01", Some(86_460_000)),
            ("yyyy-MM-dd[ HH:mm[:ss]]", "1970-01-02 00:01:02", Some(86_462_000)),
            ("yyyy-MM-dd[ HH:mm[:ss]]", "1970-01-02 00", None),
            ("yyyy-MM-dd'['HH']'", "1970-01-01[01]", Some(3_600_000)),
            // A time without a day is one of the first day.
            ("HH:mm", "01:00", Some(3_600_000)),
            ("kk:mm", "24:00", Some(0)),
            ("KK:mm a", "01:00 PM", Some(46_800_000)),
            ("MM/dd", "01/02", Some(86_400_000)),
            ("yyyy HH", "1999 01", Some(3_600_000)),
            ("dd", "02", None),
            // Of a time without minutes nothing is left.
            ("uuuu-MM-dd HH:ss", "1970-01-02 01:60", Some(86_400_000)),
            ("h:mm d/M/yyyy", "1:00 2/1/1970", Some(86_400_000)),
            // Two numbers have to be the same.
            ("H:mm a d/M/yyyy", "13:00 PM 1/1/1970", Some(46_800_000)),
            ("H:mm a d/M/yyyy", "13:00 AM 1/1/1970", None),
            ("H HH", "1 01", Some(3_600_000)),
            ("H HH", "1 02", None),
            ("uuuu-DDD", "1970-002", Some(86_400_000)),
            ("uuuu-DDD", "1970-366", None),
            ("yyyy-D", "1970-2", Some(86_400_000)),
            // A number leaves digits to the next ones, but not before one of any length.
            ("dMMuuuu", "2011970", None),
            ("uMMdd", "19700102", Some(86_400_000)),
        ] {
            assert_eq!(millis(format, text), found, "{format} {text}");
        }
    }

    #[test]
    fn years_have_a_sign_where_they_are_long() {
        for (format, good, bad) in [
            (
                "uuuu-MM-dd",
                &["-0001-01-01", "+12023-01-01", "-12023-01-01"][..],
                &["+2023-01-01", "12023-01-01", "-0000-01-01", "-+977-01-01"][..],
            ),
            ("yyyy-MM-dd", &["0001-01-01", "+12023-01-01"], &["0000-01-01", "-0001-01-01"]),
            ("uuuuMMdd", &["-20230101", "+120230101"], &["120230101", "2023101"]),
            ("basic_date", &["20230101", "2023115", "-20230101"], &["202311", "+20230101", "-00000101"]),
            ("strict_year", &["-2023", "+12023", "0000"], &["12023", "+2023"]),
            ("date_optional_time", &["1-2-3", "-12345"], &["-0", "123456"]),
        ] {
            let formats = parse(format).unwrap();
            assert!(good.iter().all(|text| formats.moment(text).is_some()), "{format}");
            assert!(bad.iter().all(|text| formats.moment(text).is_none()), "{format}");
        }
        let year = Formats::parse("strict_year", Dialect::Elasticsearch8).unwrap();
        assert_eq!((year.millis("-0000"), year.millis("+12023")), (Some(-62_167_219_200_000), None));
    }

    #[test]
    fn some_formats_make_dates_of_days_that_are_none() {
        let millis = |formats, text| parse(formats).and_then(|formats| formats.millis(text));
        assert_eq!(millis("strict_date", "2023-13-45"), Some(1_707_868_800_000));
        for none in ["+999999999-12-32", "+999999999-13-00"] {
            assert_eq!(millis("strict_date", none), None);
        }
        assert_eq!(millis("strict_date_hour", "+999999999-12-31T24"), None);
        assert_eq!(millis("strict_date", "2016-00-01"), millis("strict_date", "2015-12-01"));
        assert_eq!(millis("strict_date_hour_minute", "2023-02-31T24:00"), Some(1_677_628_800_000));
        assert_eq!(millis("strict_date_hour_minute", "2023-02-32T00:00"), None);
        assert_eq!(millis("strict_year_month_day", "2023-02-29"), None);
    }

    /// As Elasticsearch 8.19 and 9.5 have taken and refused them.
    #[test]
    fn the_end_of_a_range_is_a_day_up_to_31() {
        for dialect in [Dialect::Elasticsearch8, Dialect::Elasticsearch9] {
            let formats = Formats::parse("strict_date||strict_year", dialect).unwrap();
            let last = |text| formats.last_moment(text).unwrap().map(|moment| moment.millis);
            let end_of_june = last("1976-06-30");
            assert_eq!(end_of_june, formats.millis("1976-07-01").map(|millis| millis - 1));
            assert_eq!(last("1976-06-31"), end_of_june);
            for none in ["2009-00-01", "1976-06-32", "1976-13-01", "1976-06-00"] {
                assert_eq!((last(none), formats.millis(none).is_some()), (None, true), "{none}");
            }
        }
    }

    #[test]
    fn parts_that_are_absent_before_others() {
        let millis = |format: &str, text| parse(format).and_then(|formats| formats.millis(text));
        for (format, text, found) in [
            ("strict_date_optional_time", "2024-01T00:00:00.5Z", Some(1_704_067_200_500)),
            ("strict_date_optional_time", "2024T10:00:00", Some(36_000_000)),
            ("strict_date_optional_time", "2024T", Some(1_704_067_200_000)),
            ("strict_date_time", "-2024T10:00:00Z", Some(36_000_000)),
            ("date_optional_time", "2024-01-01T10:30.5+01:00", Some(1_704_063_600_000)),
            ("date_optional_time", "2024-01T25:60.5", Some(1_704_067_200_000)),
            ("date_optional_time", "2024T10:30,5", Some(1_704_067_200_000)),
            ("date_optional_time", "2024-01-01T10Z", None),
            ("strict_date_optional_time", "2024-01-01T10:30:00+01:00+0200", Some(1_704_101_400_000)),
            ("strict_date_optional_time", "2024-01-01T10:30:00ZZ", Some(1_704_105_000_000)),
            ("strict_date_optional_time", "2024-01-01T10:30:00+01+0200", None),
            ("strict_date_optional_time", "2024-01-01T10:30:00.5,50Z", Some(1_704_105_000_500)),
            ("strict_date_optional_time", "2024-01-01T10:30:00.5,6Z", None),
            ("strict_date_optional_time", "2024-01-01T10:30:00,5.5Z", None),
            ("strict_date_time", "2024-01-01T10:30:00.5,5Z", None),
            ("date_optional_time", "2024-01-01T7:30:00.00,0", Some(1_704_094_200_000)),
            ("strict_date_time", "2024-01-01T10:30:00ZZ", None),
        ] {
            assert_eq!(millis(format, text), found, "{format} {text}");
        }
    }

    #[test]
    fn a_date_that_is_none_may_end_the_search_for_a_format() {
        let millis = |formats, text| parse(formats).and_then(|formats| formats.millis(text));
        assert_eq!(millis("uuuu-MM-dd||strict_date", "2023-02-30"), Some(1_677_715_200_000));
        assert_eq!(millis("yyyy-MM-dd||strict_date", "2023-02-30"), None);
        assert_eq!(millis("yyyyMMdd||epoch_millis", "20230230"), None);
        assert_eq!(millis("uuuuMMdd||epoch_millis", "20230230"), Some(20_230_230));
        assert_eq!(millis("uuuu||epoch_millis", "-1234567890"), None);
        let of_elasticsearch =
            |formats, text| Formats::parse(formats, Dialect::Elasticsearch8).and_then(|formats| formats.millis(text));
        for (formats, text, found) in [
            ("strict_date_optional_time||strict_date", "2023-02-29", None),
            ("strict_date_optional_time||strict_date", "2023-00-10", None),
            ("strict_date_optional_time||strict_date", "2023-02-32", Some(1_677_888_000_000)),
            ("strict_year_month_day||strict_date", "2023-02-29", Some(1_677_628_800_000)),
            ("strict_date_hour_minute_second", "2023-02-29T23:59:59", None),
            ("strict_date_hour_minute_second", "2023-02-29T24:00:00", Some(1_677_628_800_000)),
            ("strict_date_hour_minute_second", "2023-02T23:00:00", None),
            ("strict_date_optional_time", "-0000T", None),
            ("strict_date_optional_time", "-0000-01-01T", Some(-62_167_219_200_000)),
            ("strict_date_optional_time||strict_date", "2023-02-30T10:00:00ZZ", None),
            ("strict_date_hour_minute_second", "-0000-01-01T00:00:00", Some(-62_167_219_200_000)),
            ("strict_date_hour_minute_second", "+12345-01-01T00:00:00", Some(327_403_382_400_000)),
        ] {
            assert_eq!(of_elasticsearch(formats, text), found, "{formats} {text}");
        }
        assert_eq!(millis("strict_date_optional_time||strict_date", "2023-02-29"), Some(1_677_628_800_000));
        for (format, text, found, of_a_new_field) in [
            ("strict_date_optional_time_nanos", "-2934296733", Fit::NoYear, false),
            ("strict_year_month_day", "-2934296733", Fit::NoYear, false),
            ("strict_year", "-2934296733", Fit::NoYear, false),
            ("strict_date_optional_time", "-2934296733-01", Fit::Never, true),
            ("strict_year_month", "-2934296733-01", Fit::Never, true),
            ("strict_date_time", "-2934296733T10:00:00Z", Fit::Never, true),
            ("strict_date_optional_time", "-2934296733-01-01", Fit::Not, false),
            ("date_optional_time", "-2934296733", Fit::Not, false),
            ("strict_date_optional_time", "1234-56", Fit::Never, true),
            ("date_optional_time", "1234-00T10", Fit::Never, true),
            ("strict_date_optional_time", "2023-02-30", Fit::Not, false),
        ] {
            let formats = parse(format).unwrap();
            assert_eq!(formats.formats[0].moment(text, Dialect::OpenSearch), Err(found), "{format} {text}");
            assert_eq!(formats.fits_no_date(text), of_a_new_field, "{format} {text}");
        }
    }

    #[test]
    fn zones_with_names_are_seen() {
        let formats = Formats::millis_of(Dialect::Elasticsearch8);
        for (text, named) in [
            ("2024-01-01T00:00:00Europe/Paris", true),
            ("2024-01-01T00:00:00.5UTC+1", true),
            ("2024-01-01T00:00:00z", false),
            ("2024-02-30T00:00:00CET", false),
            ("Tuesday", false),
        ] {
            assert_eq!((formats.millis(text), formats.only_of_a_server(text).is_some()), (None, named), "{text}");
        }
        assert_eq!(formats.millis("1970-01-01T01:00:30+010030"), Some(0));
        assert_eq!(formats.millis("1970-01-01T00:00:00-00:00Z"), Some(0));
    }

    #[test]
    fn a_name_of_a_zone_ends_the_search_for_a_format() {
        let seen = |formats, text| parse(formats).unwrap().only_of_a_server(text).is_some();
        for (formats, text, found) in [
            ("strict_time||HH:mm:ss.S'CET'", "10:00:00.5CET", true),
            ("HH:mm:ss.S'CET'||strict_time", "10:00:00.5CET", false),
            ("date_time", "2024-1-1T10:20UTC", false),
            ("basic_time_no_millis", "002024T102030Z", false),
            ("strict_week_date_time", "2024-W09-1T10:20:30.5europe/berlin", true),
            ("strict_week_date_time", "2024-W09-1T10:20:30.5utc+01:00", true),
        ] {
            assert_eq!(seen(formats, text), found, "{formats} {text}");
        }
        // In no time, also of a long text.
        assert!(!seen("strict_date_optional_time", &"A".repeat(1_000_000)));
    }

    #[test]
    fn numbers_beyond_their_range() {
        let millis = |formats, text| parse(formats).unwrap().millis(text);
        for (formats, text, found) in [
            ("year||epoch_millis", "1700000000000", None),
            ("y||epoch_millis", "1700000000000", Some(1_700_000_000_000)),
            ("weekyear||epoch_millis", "-2596663747", Some(-2_596_663_747)),
            ("uHH||epoch_millis", "1700000000001", None),
            ("year", "-0000000000000002024", Some(-126_038_505_600_000)),
            ("uuuu-D", "1969--9223372036854775443", None),
            ("uuuuX||uuuu'+19'", "2024+19", None),
            ("uuuuX||uuuu'+24'", "2024+24", Some(1_704_067_200_000)),
        ] {
            assert_eq!(millis(formats, text), found, "{formats} {text}");
        }
    }

    #[test]
    fn what_is_around_a_format() {
        assert_eq!(parse("8uuuu||epoch_millis").unwrap().millis("2024"), Some(1_704_067_200_000));
        assert_eq!(parse("h 'o''clock' a").unwrap().millis("3 o'clock AM"), Some(10_800_000));
        assert_eq!(parse("uuuu''''").unwrap().millis("1970'"), Some(0));
        for none in ["", "yyyy||", "||yyyy", &"[".repeat(50_000)] {
            assert_eq!(parse(none), None);
        }
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
    fn elasticsearch_9_needs_a_day_before_a_time() {
        for (format, text, older, newer) in [
            ("strict_date_optional_time", "2024-05T12", true, false),
            ("strict_date_optional_time", "2024T", true, false),
            ("strict_date_optional_time", "2024-05", true, true),
            ("strict_date_optional_time", "2024-05-06T12", true, true),
            ("strict_date_time", "0001-01T23:59:00.000-0030", true, false),
            ("date_optional_time", "2024T12", true, true),
            ("strict_date_optional_time", "2004-11-12T23:33:27,5ZZ", true, false),
            ("strict_date_optional_time", "2004-11-12T23:33:27,5Z", true, true),
            ("strict_date_optional_time", "2004-11-12T23:33:27.5,5", true, false),
            ("date_optional_time", "2004-11-12T23:33:27.5,5", true, true),
            ("strict_date_hour_minute_second", "2004-11-12T24:00:00", true, false),
            ("strict_date_hour_minute_second", "-0001-11-12T23:00:00", true, true),
        ] {
            for (dialect, fits) in [(Dialect::Elasticsearch8, older), (Dialect::Elasticsearch9, newer)] {
                let formats = Formats::parse(format, dialect).unwrap();
                assert_eq!(formats.moment(text).is_some(), fits, "{format} {text} {dialect:?}");
            }
        }
    }

    #[test]
    fn nanoseconds() {
        let nanos = |text| Formats::nanos_of(Dialect::Elasticsearch8).moment(text).and_then(Moment::nanos);
        assert_eq!(nanos("1970-01-01T00:00:01.000000002Z"), Some(1_000_000_002));
        assert_eq!(nanos("12.000003"), Some(12_000_003));
        assert_eq!(nanos("1969-12-31"), None);
        let seconds = |dialect, text| Formats::parse("epoch_second", dialect).unwrap().millis(text);
        assert_eq!(seconds(Dialect::OpenSearch, "-3.75"), Some(-2250));
        assert_eq!(seconds(Dialect::Elasticsearch8, "-3.75"), Some(-3750));
        for (text, of_opensearch, of_elasticsearch) in [
            ("-0", None, Some(0)),
            ("-0.5", None, Some(-500)),
            ("-1.0", Some(-1000), None),
            ("-1.", Some(-1000), Some(-1000)),
        ] {
            let found = [Dialect::OpenSearch, Dialect::Elasticsearch8].map(|dialect| seconds(dialect, text));
            assert_eq!(found, [of_opensearch, of_elasticsearch], "{text}");
        }
        for (text, of_opensearch, of_elasticsearch) in
            [("31556889832780799", Some(i64::MAX), None), ("31556889832780800", None, None)]
        {
            let found = [Dialect::OpenSearch, Dialect::Elasticsearch8].map(|dialect| seconds(dialect, text));
            assert_eq!(found, [of_opensearch, of_elasticsearch], "{text}");
        }
        for (format, text) in [("epoch_second", "31556889832780799"), ("strict_year", "+999999999"), (MILLIS, LAST)] {
            let found = [Dialect::OpenSearch, Dialect::OpenSearch218]
                .map(|dialect| Formats::parse(format, dialect).unwrap().millis(text));
            assert_eq!(found, [Some(i64::MAX), (text == LAST).then_some(i64::MAX)], "{text}");
        }
        for seconds in ["31556889864403200", LAST, "-31557014167219201"] {
            for dialect in [Dialect::OpenSearch, Dialect::Elasticsearch8] {
                let formats = Formats::parse("epoch_second||epoch_millis", dialect).unwrap();
                assert_eq!(formats.millis(seconds), None, "{seconds}");
            }
        }
        for (text, of_opensearch) in [("1.5.", Some(1)), ("1..", Some(1)), ("1...", None)] {
            let found = [Dialect::OpenSearch, Dialect::Elasticsearch8]
                .map(|dialect| Formats::parse("epoch_millis", dialect).unwrap().millis(text));
            assert_eq!(found, [of_opensearch, None], "{text}");
        }
        let millis = |text| Formats::millis_of(Dialect::Elasticsearch8).millis(text);
        assert_eq!((millis("-1234567890"), millis("-12345")), (Some(-1_234_567_890), Some(-12_345)));
        assert_eq!(nanos("2262-04-11T23:47:16.854775807Z"), Some(i64::MAX));
        assert_eq!(nanos("2262-04-11T23:47:16.854775808Z"), None);
    }
}
