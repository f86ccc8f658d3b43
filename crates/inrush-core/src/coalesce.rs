//! Coalescing: of several operations with one id that wait to be sent, only the last is sent.

mod replace;
mod windows;

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

pub(crate) use windows::{End, Windows};

/// How long an operation waits for later ones with the same id.
///
/// The window of an id begins with the first operation that waits. It ends after the time, or after
/// the number of documents, whichever comes first, and the last operation is sent. A window that
/// does not fit into memory ends earlier.
///
/// Only operations that leave nothing of an earlier one replace it: `index`, which has the whole
/// document, and `delete`. A later `create`, `update` or `upsert` ends the window of its id. So
/// does another routing value. An operation with an external version is replaced only by one with a
/// higher version, or with the same one where the type is `external_gte`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalesce {
    time: Duration,
    docs: Option<NonZeroU64>,
}

/// The time of a window that is given in documents only. Without it, the last documents of a slow
/// source would never be sent.
const TIME: Duration = Duration::from_secs(5);

/// Units of a time in milliseconds.
const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Coalesce {
    /// A window of this time and number of documents. `time`: 0 replaces only what waits because
    /// the cluster is busy. `docs`: documents that are read after the first one of the id.
    pub const fn new(time: Duration, docs: Option<NonZeroU64>) -> Self {
        Coalesce { time, docs }
    }

    /// The longest time of a window.
    pub const fn time(self) -> Duration {
        self.time
    }

    /// The largest number of documents that are read in a window. Default: no limit but memory.
    pub const fn docs(self) -> Option<NonZeroU64> {
        self.docs
    }
}

/// The syntax of the option: `5s`, `5s,10000docs`.
impl fmt::Display for Coalesce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.time.as_millis();
        match ms % 1_000 {
            0 => write!(f, "{}s", ms / 1_000)?,
            _ => write!(f, "{ms}ms")?,
        }
        self.docs.map_or(Ok(()), |docs| write!(f, ",{docs}docs"))
    }
}

/// A time, a number of documents, or both: `5s`, `10000docs`, `5s,10000docs`. A number of documents
/// alone has a time of 5 s.
impl FromStr for Coalesce {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut time, mut docs) = (None, None);
        for part in text.split(',') {
            let is_twice = match part.strip_suffix("docs") {
                Some(number) => docs.replace(parse_docs(part, number)?).is_some(),
                None => time.replace(parse_time(part)?).is_some(),
            };
            if is_twice {
                return Err(format!("{text:?} has two times or two numbers of documents; {EXPECTED}"));
            }
        }
        Ok(Coalesce { time: time.unwrap_or(TIME), docs })
    }
}

const EXPECTED: &str = "expected a time (ms, s, m, h or d), a number of documents, or both, as in 5s, 10000docs or \
                        5s,10000docs";

fn parse_docs(part: &str, number: &str) -> Result<NonZeroU64, String> {
    number.parse().map_err(|_| format!("{part:?} is no number of documents from 1 on; {EXPECTED}"))
}

fn parse_time(part: &str) -> Result<Duration, String> {
    let digits = part.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = part.split_at(digits);
    let number: u64 = number.parse().map_err(|_| format!("{part:?} is no time; {EXPECTED}"))?;
    let (_, factor) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| format!("{part:?} has the unknown unit {unit:?}; {EXPECTED}"))?;
    let ms = number.checked_mul(*factor).ok_or_else(|| format!("{part:?} is too long; {EXPECTED}"))?;
    Ok(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_a_time_a_number_of_documents_or_both() {
        let window = |seconds, docs| Coalesce::new(Duration::from_secs(seconds), NonZeroU64::new(docs));
        for (text, expected, shown) in [
            ("5s", window(5, 0), "5s"),
            ("0s", window(0, 0), "0s"),
            ("2m", window(120, 0), "120s"),
            ("10000docs", window(5, 10_000), "5s,10000docs"),
            ("5s,10000docs", window(5, 10_000), "5s,10000docs"),
            ("10000docs,1h", window(3600, 10_000), "3600s,10000docs"),
            ("250ms", Coalesce::new(Duration::from_millis(250), None), "250ms"),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
            assert_eq!((expected.to_string().as_str(), shown.parse()), (shown, Ok(expected)), "{text}");
        }
    }

    #[test]
    fn another_text_is_refused_with_what_was_expected() {
        for (text, problem) in [
            ("", "no time"),
            ("s", "no time"),
            ("5", "unknown unit \"\""),
            ("5 s", "unknown unit \" s\""),
            ("1.5s", "unknown unit"),
            ("-1s", "no time"),
            ("0docs", "no number of documents"),
            ("docs", "no number of documents"),
            ("1s,2s", "two times"),
            ("1docs,2docs", "two numbers"),
            ("1s,", "no time"),
            ("18446744073709551615d", "too long"),
        ] {
            let error = text.parse::<Coalesce>().unwrap_err();
            assert!(error.contains(problem) && error.contains("as in 5s, 10000docs"), "{text}: {error}");
        }
    }
}
