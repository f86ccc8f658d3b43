//! The wall clock, in the forms that servers show.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn millis_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Microseconds since 1970.
pub(crate) fn micros_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// Today in UTC as `yyyy.MM.dd`, the form in names of backing indices.
pub(crate) fn date_now() -> String {
    date_of(millis_now() / 86_400_000)
}

/// The date that is `days` days after 1970-01-01, by `civil_from_days` of Howard Hinnant's
/// "chrono-Compatible Low-Level Date Algorithms".
fn date_of(days: u64) -> String {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}.{month:02}.{day:02}")
}

/// The milliseconds since 1970 of a time such as `2024-05-01T00:00:00.5Z`, by `days_from_civil` of
/// the same algorithms. `None` for another form.
pub(crate) fn millis_of(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T').unwrap_or((text, "00:00:00Z"));
    let numbers = |text: &str, by: char| -> Option<Vec<i64>> { text.split(by).map(|part| part.parse().ok()).collect() };
    let &[year, month, day] = &numbers(date, '-')?[..] else { return None };
    let (time, offset) = match time.rfind(['+', '-', 'Z']) {
        Some(at) if &time[at..] == "Z" => (&time[..at], 0),
        Some(at) => {
            let &[hours, minutes] = &numbers(&time[at + 1..], ':')?[..] else { return None };
            let minutes = hours * 60 + minutes;
            (&time[..at], if time[at..].starts_with('-') { -minutes } else { minutes })
        }
        None => (time, 0),
    };
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let &[hours, minutes, seconds] = &numbers(whole, ':')?[..] else { return None };
    let thousandths: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    Some((((days * 24 + hours) * 60 + minutes - offset) * 60 + seconds) * 1000 + thousandths)
}

/// The form in which Elasticsearch shows a date, such as `2024-05-01T00:00:00.000Z`.
pub(crate) fn time_of(millis: i64) -> String {
    let days = u64::try_from(millis.div_euclid(86_400_000)).unwrap_or(0);
    let (date, rest) = (date_of(days).replace('.', "-"), millis.rem_euclid(86_400_000));
    let (hours, minutes, seconds) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{date}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z", rest % 1000)
}

#[cfg(test)]
mod tests {
    use super::{date_of, millis_of, time_of};

    #[test]
    fn times_are_read_and_shown() {
        for (text, millis, shown) in [
            ("1970-01-01", 0, "1970-01-01T00:00:00.000Z"),
            ("2024-02-29T12:30:01.5Z", 1_709_209_801_500, "2024-02-29T12:30:01.500Z"),
            ("2024-05-01T02:00:01+02:00", 1_714_521_601_000, "2024-05-01T00:00:01.000Z"),
        ] {
            assert_eq!((millis_of(text), time_of(millis).as_str()), (Some(millis), shown));
        }
        assert_eq!(millis_of("yesterday"), None);
    }

    #[test]
    fn days_become_dates() {
        for (days, date) in [
            (0, "1970.01.01"),
            (59, "1970.03.01"),
            (11_016, "2000.02.29"),
            (11_017, "2000.03.01"),
            (20_453, "2025.12.31"),
        ] {
            assert_eq!(date_of(days), date);
        }
    }
}
