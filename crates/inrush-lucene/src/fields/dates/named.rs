//! The formats with names: what the servers take by each, as the comparison with them showed.
//!
//! Some are not as their names let expect. All were seen on OpenSearch 2.19 and 3.6 and on
//! Elasticsearch 8.19 and 9.1.

use super::Dialect;
use super::calendar::Resolver::{self, Lenient, Smart, Strict};
use super::found::Unit;
use super::pattern::Pattern;
use super::piece::{Piece, Sign, Zone};

/// A format: its name, what is made of numbers that are no date, and its pieces, with spaces
/// between them.
///
/// | piece | what it is |
/// |---|---|
/// | `H2` | a number of two digits, by the letter of Java's `DateTimeFormatter` |
/// | `H1-2` | a number of digits between these two |
/// | `u1-9-` | the same, and `-` may be before it |
/// | `u4-4=` | the same, and also before 0 |
/// | `u4-10+` | a number, and `+` is before one of more digits than the least |
/// | `T\|space` | one of both |
/// | `.9` | a dot and a fraction of one to nine digits |
/// | `,9` | the same with a dot or a comma |
/// | `+HH:mm` | a distance from UTC in this form, or `Z`, but not `-00:00` |
/// | `zone` | a distance from UTC in any form |
/// | `offset` | the same without seconds, and without other names than `Z` |
/// | `[ … ]` | pieces that are all there or not |
/// | `ANY_CASE` | small letters are as good as capitals |
/// | `JAVA_WEEKS` | the Java of a node decides what week 53 of a year of 52 weeks is |
/// | others in capitals | the pieces of [`PARTS`] and [`YEARS`] |
/// | others | text |
type Row = (&'static str, Resolver, &'static str);

const PARTS: [(&str, &str); 4] = [
    ("DATE", "YEAR [ - M1-2 [ - d1-2 ] ]"),
    ("TIME", "H1-2 : m1-2 : s1-2"),
    ("TIME_2", "H2 : m2 : s2"),
    ("TIME_6", "H2 m2 s2"),
];

/// The years of lenient and of strict formats: in OpenSearch, and in Elasticsearch.
const YEARS: [(&str, [&str; 2]); 4] = [
    ("YEAR", ["u1-5-", "u1-9-"]),
    ("YEAR_4", ["u4-10+", "u4-4-"]),
    ("YEAR_OF_4", ["u4-10+", "u4-4="]),
    ("WEEK_YEAR_4", ["x4", "x4-19-"]),
];

/// OpenSearch alone has this one.
const RFC_3339: &str = "rfc3339_lenient";

const FORMATS: [Row; 70] = [
    ("basic_date", Strict, "u4-4- M2 d1-2"),
    ("basic_date_time", Strict, "u4-4- M2 d2 T TIME_6 .9 zone"),
    ("basic_date_time_no_millis", Strict, "u4-4- M2 d2 T TIME_6 zone"),
    ("basic_ordinal_date", Strict, "u4-19+ D3"),
    ("basic_ordinal_date_time", Strict, "y4-19+ D3 T TIME_6 .9 zone"),
    ("basic_ordinal_date_time_no_millis", Strict, "u4-19+ D3 T TIME_6 zone"),
    ("basic_t_time", Smart, "T TIME_6 .9 zone"),
    ("basic_t_time_no_millis", Strict, "T TIME_6 zone"),
    ("basic_time", Strict, "TIME_6 .9 zone"),
    ("basic_time_no_millis", Strict, "TIME_6 zone"),
    ("basic_week_date", Strict, "x1-19- W w2 e1-19"),
    ("basic_week_date_time", Strict, "x1-19- W w2 e1-19 T TIME_6 .9 zone"),
    ("basic_week_date_time_no_millis", Strict, "x1-19- W w2 e1-19 T TIME_6 zone"),
    ("date", Strict, "DATE"),
    ("date_hour", Strict, "DATE T H1-2"),
    ("date_hour_minute", Strict, "DATE T H1-2 : m1-2"),
    ("date_hour_minute_second", Strict, "DATE T TIME"),
    ("date_hour_minute_second_fraction", Strict, "DATE T TIME .9"),
    ("date_hour_minute_second_millis", Strict, "DATE T TIME .3"),
    ("date_time", Strict, "DATE T H1-2 : m1-2 [ : s1-2 .9 ] offset"),
    ("date_time_no_millis", Strict, "DATE T H1-2 : m1-2 [ : s1-2 ] [ zone ]"),
    ("hour", Strict, "H1-2"),
    ("hour_minute", Strict, "H1-2 : m1-2"),
    ("hour_minute_second", Strict, "TIME"),
    ("hour_minute_second_fraction", Strict, "TIME .9"),
    ("hour_minute_second_millis", Strict, "TIME .3"),
    ("ordinal_date", Strict, "u4-10+ - D1-3"),
    ("ordinal_date_time", Strict, "u4-10+ - D1-3 T H1-2 : m1-2 [ : s1-2 .9 ] zone"),
    ("ordinal_date_time_no_millis", Strict, "u4-10+ - D1-3 T TIME zone"),
    (RFC_3339, Strict, "ANY_CASE u4 [ - M2 [ - d2 [ T|space H2 : m2 [ : s2 [ ,9 ] ] +HH:mm ] ] ]"),
    ("strict_basic_week_date", Strict, "x4 W w2 e1-19"),
    ("strict_basic_week_date_time", Strict, "x4 W w2 e1-19 T TIME_6 .9 zone"),
    ("strict_basic_week_date_time_no_millis", Strict, "WEEK_YEAR_4 W w2 e1-19 T TIME_6 zone"),
    ("strict_date", Lenient, "u4-10+ - M2 - d2"),
    ("strict_date_hour", Smart, "u4-19+ - M2 - d2 T H2"),
    ("strict_date_hour_minute", Smart, "u4-19+ - M2 - d2 T H2 : m2"),
    ("strict_date_hour_minute_second", Smart, "u4-19+ - M2 - d2 T TIME_2"),
    ("strict_hour", Smart, "H2"),
    ("strict_hour_minute", Smart, "H2 : m2"),
    ("strict_hour_minute_second", Strict, "TIME_2"),
    ("strict_hour_minute_second_fraction", Strict, "TIME_2 .9"),
    ("strict_hour_minute_second_millis", Strict, "TIME_2 .9"),
    ("strict_ordinal_date", Strict, "YEAR_4 - D3"),
    ("strict_ordinal_date_time", Strict, "YEAR_4 - D3 T H2 : m2 [ : s2 .9 ] zone"),
    ("strict_ordinal_date_time_no_millis", Strict, "YEAR_4 - D3 T TIME_2 zone"),
    ("strict_t_time", Strict, "T TIME_2 .9 zone"),
    ("strict_t_time_no_millis", Strict, "T TIME_2 zone"),
    ("strict_time", Strict, "TIME_2 .9 zone"),
    ("strict_time_no_millis", Strict, "TIME_2 zone"),
    ("strict_week_date", Strict, "ANY_CASE x4-10+ -W w2 - e1"),
    ("strict_week_date_time", Strict, "ANY_CASE x4-10+ -W w2 - e1 T TIME_2 .9 zone"),
    ("strict_week_date_time_no_millis", Strict, "ANY_CASE x4-10+ -W w2 - e1 T TIME_2 zone"),
    ("strict_weekyear", Strict, "x4-10+"),
    ("strict_weekyear_week", Strict, "x4-10+ -W w2"),
    ("strict_weekyear_week_day", Strict, "JAVA_WEEKS x4-10+ -W w2 - e1-19"),
    ("strict_year", Strict, "YEAR_OF_4"),
    ("strict_year_month", Strict, "YEAR_OF_4 - M2"),
    ("t_time", Strict, "T TIME .9 zone"),
    ("t_time_no_millis", Strict, "T TIME zone"),
    ("time", Strict, "TIME .9 zone"),
    ("time_no_millis", Strict, "TIME zone"),
    ("week_date", Strict, "x4-10+ -W w1-2 - e1"),
    ("week_date_time", Strict, "x4-10+ -W w1-2 - e1 T TIME .9 zone"),
    ("week_date_time_no_millis", Strict, "x4-10+ -W w1-2 - e1 T TIME zone"),
    ("weekyear", Strict, "x1-19-"),
    ("weekyear_week", Strict, "x1-19- -W w1-19"),
    ("weekyear_week_day", Strict, "JAVA_WEEKS x1-19- -W w1-19 - e1-19"),
    ("year", Strict, "u1-19-"),
    ("year_month", Strict, "u1-19- - M1-19"),
    ("year_month_day", Strict, "u1-19- - M1-19 - d1-19"),
];

/// The pieces of a format with a name.
pub(super) fn pattern(name: &str, dialect: Dialect) -> Option<Pattern> {
    let opensearch = dialect.is_opensearch();
    // OpenSearch has a second name for this one.
    let name = if opensearch && name == "week_year" { "weekyear" } else { name };
    if name == RFC_3339 && !opensearch {
        return None;
    }
    let (_, resolver, row) = FORMATS.iter().find(|(format, ..)| *format == name)?;
    let any_case = row.strip_prefix("ANY_CASE ");
    let java_weeks = row.strip_prefix("JAVA_WEEKS ");
    let mut open = vec![Vec::new()];
    add(any_case.or(java_weeks).unwrap_or(row), dialect, &mut open)?;
    let pattern = Pattern::new(open.pop()?, *resolver);
    Some(match (any_case, java_weeks) {
        (Some(_), _) => pattern.in_any_case(),
        (_, Some(_)) => pattern.with_weeks_of_java(),
        _ => pattern,
    })
}

/// Adds pieces to the innermost `[` that is open.
fn add(row: &str, dialect: Dialect, open: &mut Vec<Vec<Piece>>) -> Option<()> {
    for word in row.split(' ') {
        let piece = match word {
            "[" => {
                open.push(Vec::new());
                continue;
            }
            "]" => Piece::Optional(open.pop()?),
            "zone" => Piece::AnyZone { names: true },
            "+HH:mm" => Piece::Zone(Zone { none: "Z", colon: true, minutes: true, minus_zero: false }),
            "T|space" => Piece::OneOf("T "),
            "offset" => Piece::AnyZone { names: false },
            _ => {
                let years = YEARS.iter().find(|(name, _)| *name == word);
                let years = years.map(|(_, years)| years[usize::from(!dialect.is_opensearch())]);
                let parts = PARTS.iter().find(|(name, _)| *name == word).map(|(_, parts)| *parts);
                if let Some(parts) = years.or(parts) {
                    add(parts, dialect, open)?;
                    continue;
                }
                match number(word) {
                    Some(piece) => piece,
                    None => {
                        open.last_mut()?.extend(word.chars().map(Piece::Text));
                        continue;
                    }
                }
            }
        };
        open.last_mut()?.push(piece);
    }
    Some(())
}

/// A number or a fraction. `None` for text.
fn number(word: &str) -> Option<Piece> {
    let (letter, digits) = (word.chars().next()?, word.get(1..)?);
    if letter == '.' || letter == ',' {
        let behind = if letter == '.' { "." } else { ".," };
        return Some(Piece::Fraction { least: 1, most: digits.parse().ok()?, behind });
    }
    let unit = match letter {
        'u' => Unit::Year,
        'y' => Unit::YearOfEra,
        'M' => Unit::Month,
        'd' => Unit::Day,
        'D' => Unit::DayOfYear,
        'x' => Unit::WeekYear,
        'w' => Unit::Week,
        'e' => Unit::DayOfWeek,
        'H' => Unit::Hour,
        'm' => Unit::Minute,
        's' => Unit::Second,
        _ => return None,
    };
    let (digits, sign) = match digits.as_bytes().last()? {
        b'-' => (&digits[..digits.len() - 1], Sign::Minus),
        b'=' => (&digits[..digits.len() - 1], Sign::AnyMinus),
        b'+' => (&digits[..digits.len() - 1], Sign::Plus),
        _ => (digits, Sign::Never),
    };
    let (least, most) = digits.split_once('-').unwrap_or((digits, digits));
    Some(Piece::number(unit, least.parse().ok()?, most.parse().ok()?, sign))
}

#[cfg(test)]
mod tests {
    use super::{Dialect, FORMATS, pattern};
    use crate::fields::dates::Formats;

    #[test]
    fn all_formats_are_read() {
        assert!(FORMATS.iter().all(|(name, ..)| pattern(name, Dialect::OpenSearch).is_some()));
    }

    #[test]
    fn days_weeks_and_times() {
        const DAY: i64 = 86_400_000;
        let hour = Some(3_600_000);
        for (name, good, found, bad) in [
            ("basic_date_time", "19700102T000000.0Z", Some(DAY), "19700102T000000Z"),
            ("basic_date_time_no_millis", "19700101T010000UTC", hour, "19700101T01:00:00Z"),
            ("basic_ordinal_date", "1970002", Some(DAY), "197002"),
            ("basic_ordinal_date_time", "1970002T000000.0+0000", Some(DAY), "-1970002T000000.0Z"),
            ("basic_t_time", "T010000.000Z", hour, "010000.000Z"),
            ("basic_time_no_millis", "010000Z", hour, "10000Z"),
            ("basic_week_date", "1970W015", Some(DAY), "1970W15"),
            ("strict_basic_week_date", "1970W015", Some(DAY), "-1970W015"),
            ("week_date", "1970-W1-5", Some(DAY), "1970-W53-8"),
            ("strict_week_date", "1970-w01-5", Some(DAY), "1970-W1-5"),
            ("weekyear", "1970", Some(-3 * DAY), "1970-W01"),
            ("weekyear_week", "1970-W02", Some(4 * DAY), "1970-W54"),
            ("strict_weekyear_week_day", "1970-W01-5", Some(DAY), "1970-W01-8"),
            ("ordinal_date", "1970-2", Some(DAY), "1970-366"),
            ("strict_ordinal_date_time_no_millis", "1970-002T01:00:00+01", Some(DAY), "1970-2T01:00:00Z"),
            ("date_time", "1970-1-2T0:00Z", Some(DAY), "1970-1-2T00:00:00Z"),
            ("date_time_no_millis", "1970-1-1T1:00", hour, "1970-1-1T1:00:00.0Z"),
            ("date_hour_minute_second_millis", "1970-1-1T1:0:0.000", hour, "1970-1-1T1:0:0.0000"),
            ("hour", "1", hour, "24"),
            ("strict_hour", "24", Some(0), "1"),
            ("time", "1:0:0.0Z", hour, "1:0:0Z"),
            ("strict_t_time", "T01:00:00.0Z", hour, "T1:00:00.0Z"),
            ("year_month_day", "1970-001-02", Some(DAY), "1970-01"),
            ("rfc3339_lenient", "1970-01-01t01:00z", hour, "1970-01-01T01:00:00-00:00"),
            ("rfc3339_lenient", "1970-01-02 00:00Z", Some(DAY), "1970-01-02_00:00Z"),
            ("basic_ordinal_date_time", "1970002T000000.5Z", Some(DAY + 500), "1970001T240000.0Z"),
            ("dateTimeNoMillis", "1970-1-1T1:00", hour, "1970-1-1"),
        ] {
            let formats = Formats::parse(name, Dialect::OpenSearch).unwrap();
            assert_eq!((formats.millis(good), formats.millis(bad)), (found, None), "{name}");
        }
    }

    #[test]
    fn servers_do_not_agree_on_all() {
        let year_5 = |dialect| Formats::parse("date", dialect).unwrap().millis("100000-1-1").is_some();
        assert_eq!((year_5(Dialect::OpenSearch), year_5(Dialect::Elasticsearch8)), (false, true));
        for only in ["rfc3339_lenient", "week_year", "dateTime"] {
            assert_eq!(Formats::parse(only, Dialect::Elasticsearch9), None, "{only}");
        }
        // What week 53 of a year of 52 weeks is depends on the Java of a node.
        let weeks = Formats::parse("weekyear_week_day", Dialect::OpenSearch).unwrap();
        assert!(weeks.moment("2021-W53-1").is_none() && weeks.only_of_a_server("2021-W53-1").is_some());
        assert_eq!(weeks.only_of_a_server("2021-W54-1"), None);
    }
}
