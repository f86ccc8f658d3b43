//! Beginnings and ends of a load, from text.

use std::str::FromStr;

use time::format_description::well_known::{Iso8601, Rfc3339};
use time::{Date, OffsetDateTime, Time};

use crate::{PartitionOffset, Start, Until};

impl FromStr for Start {
    type Err = String;

    /// `earliest`, `latest`, a time, or offsets.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "earliest" => Ok(Start::Earliest),
            "latest" => Ok(Start::Latest),
            text if text.contains('=') => text.split(',').map(offset).collect::<Result<_, _>>().map(Start::Offsets),
            text => match millis(text) {
                Some(millis) => Ok(Start::Time(millis)),
                None => {
                    Err("expected earliest, latest, a time as in 2026-01-31T10:00:00Z, or offsets as in 0=1200,1=1180"
                        .to_owned())
                }
            },
        }
    }
}

impl FromStr for Until {
    type Err = String;

    /// `latest` or a time.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "latest" => Ok(Until::Latest),
            text => match millis(text) {
                Some(millis) => Ok(Until::Time(millis)),
                None => Err("expected latest, or a time as in 2026-01-31T10:00:00Z".to_owned()),
            },
        }
    }
}

/// Milliseconds since 1970 of an RFC 3339 time or of a day in UTC.
fn millis(text: &str) -> Option<i64> {
    let moment = OffsetDateTime::parse(text, &Rfc3339);
    let moment =
        moment.or_else(|_| Date::parse(text, &Iso8601::DATE).map(|day| day.with_time(Time::MIDNIGHT).assume_utc()));
    i64::try_from(moment.ok()?.unix_timestamp_nanos() / 1_000_000).ok()
}

fn offset(text: &str) -> Result<PartitionOffset, String> {
    let wrong = || format!("{text:?} is no offset of a partition; expected PARTITION=OFFSET or TOPIC/PARTITION=OFFSET");
    let (at, offset) = text.split_once('=').ok_or_else(wrong)?;
    let (topic, partition) = match at.rsplit_once('/') {
        Some((topic, partition)) if !topic.is_empty() => (Some(topic.to_owned()), partition),
        Some(_) => return Err(wrong()),
        None => (None, at),
    };
    let partition: u32 = partition.parse().map_err(|_| wrong())?;
    let offset: u64 = offset.parse().map_err(|_| wrong())?;
    let (Ok(partition), Ok(offset)) = (i32::try_from(partition), i64::try_from(offset)) else { return Err(wrong()) };
    Ok(PartitionOffset { topic, partition, offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_words_times_or_offsets() {
        assert_eq!("earliest".parse(), Ok(Start::Earliest));
        assert_eq!("latest".parse(), Ok(Start::Latest));
        assert_eq!("1970-01-02".parse(), Ok(Start::Time(86_400_000)));
        assert_eq!("1970-01-01T01:00:00.5+01:00".parse(), Ok(Start::Time(500)));
        let of = |topic: Option<&str>, partition, offset| PartitionOffset {
            topic: topic.map(str::to_owned),
            partition,
            offset,
        };
        assert_eq!("0=12,a/b/3=4".parse(), Ok(Start::Offsets(vec![of(None, 0, 12), of(Some("a/b"), 3, 4)])));
        for text in ["", "now", "0=-1", "-1=3", "0=x", "=3", "/1=3", "1=1,", "2026-13-01", "99999999999=1"] {
            assert!(text.parse::<Start>().is_err(), "{text}");
        }
    }

    #[test]
    fn ends_are_the_latest_record_or_a_time() {
        assert_eq!("latest".parse(), Ok(Until::Latest));
        assert_eq!("1969-12-31T23:59:59Z".parse(), Ok(Until::Time(-1000)));
        assert!("earliest".parse::<Until>().unwrap_err().contains("expected latest, or a time"));
    }
}
