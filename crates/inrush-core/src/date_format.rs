//! Dates in the names of indices.

use std::fmt::{self, Write};
use std::str::FromStr;

use crate::date_value::{NoMoment, moment};

/// A part of a pattern for dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternPart<'a> {
    /// One letter, once or several times: `yyyy`.
    Letters(&'a str),
    /// Other characters.
    Text(&'a str),
    /// Text between two `'`, which stands for itself.
    Quoted(&'a str),
}

/// Cuts a pattern with the letters of Java's `DateTimeFormatter` into its parts. `None` if a `'`
/// has no second one.
///
/// Two `'` in a row are one that stands for itself, also between two others.
pub fn pattern_parts(pattern: &str) -> Option<Vec<PatternPart<'_>>> {
    let (mut parts, mut rest) = (Vec::new(), pattern);
    while let Some(first) = rest.chars().next() {
        let (part, len) = if first == '\'' {
            let quoted = &rest[1..];
            let mut end = quoted.find('\'')?;
            let mut from = 0;
            // Each pair is one of the text.
            while quoted[end + 1..].starts_with('\'') {
                parts.push(PatternPart::Quoted(&quoted[from..=end]));
                from = end + 2;
                end = from + quoted[from..].find('\'')?;
            }
            let text = if end == 0 { &rest[..1] } else { &quoted[from..end] };
            (PatternPart::Quoted(text), end + 2)
        } else {
            let same = rest.len() - rest.trim_start_matches(first).len();
            let part = if first.is_ascii_alphabetic() { PatternPart::Letters } else { PatternPart::Text };
            (part(&rest[..same]), same)
        };
        parts.push(part);
        rest = &rest[len..];
    }
    Some(parts)
}

/// How a date becomes part of a name, with the letters of Java's `DateTimeFormatter`, as the
/// servers' date math has them: `yyyy` or `uuuu` (year), `MM` (month), `dd` (day), `HH` (hour), and
/// `xxxx` or `YYYY` (year of the week) with `ww` (week by ISO 8601). Other letters are refused, the
/// rest is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateFormat(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(char),
    Year,
    Month,
    Day,
    Hour,
    WeekYear,
    Week,
}

const PIECES: [(&str, Piece); 8] = [
    ("yyyy", Piece::Year),
    ("uuuu", Piece::Year),
    ("MM", Piece::Month),
    ("dd", Piece::Day),
    ("HH", Piece::Hour),
    ("xxxx", Piece::WeekYear),
    ("YYYY", Piece::WeekYear),
    ("ww", Piece::Week),
];

impl FromStr for DateFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        for part in pattern_parts(text).ok_or_else(|| format!("{text:?} has a `'` without a second one"))? {
            match part {
                PatternPart::Text(text) | PatternPart::Quoted(text) => pieces.extend(text.chars().map(Piece::Text)),
                PatternPart::Letters(word) => match PIECES.iter().find(|(name, _)| *name == word) {
                    Some((_, piece)) => pieces.push(piece.clone()),
                    None => {
                        return Err(format!(
                            "`{word}` is no part of a date in {text:?}; expected yyyy, MM, dd, HH, xxxx and ww, as in \
                             yyyy.MM.dd or xxxx-ww"
                        ));
                    }
                },
            }
        }
        if pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
            return Err(format!("{text:?} has no part of a date; expected letters as in yyyy.MM.dd"));
        }
        Ok(DateFormat(pieces))
    }
}

impl DateFormat {
    /// Appends the date, in UTC, that a field has, as fields of type `date` take it.
    pub(crate) fn push(&self, value: &str, name: &mut String) -> Result<(), NoMoment> {
        let time = moment(value)?;
        let (week_year, week, _) = time.to_iso_week_date();
        for piece in &self.0 {
            // Writing to a text does not fail.
            let _ = match piece {
                Piece::Text(letter) => name.write_char(*letter),
                Piece::Year => write!(name, "{:04}", time.year()),
                Piece::Month => write!(name, "{:02}", u8::from(time.month())),
                Piece::Day => write!(name, "{:02}", time.day()),
                Piece::Hour => write!(name, "{:02}", time.hour()),
                Piece::WeekYear => write!(name, "{week_year:04}"),
                Piece::Week => write!(name, "{week:02}"),
            };
        }
        Ok(())
    }
}

impl fmt::Display for DateFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Text('\'') => f.write_str("''")?,
                Piece::Text(letter) if letter.is_ascii_alphabetic() => write!(f, "'{letter}'")?,
                Piece::Text(letter) => f.write_char(*letter)?,
                _ => f.write_str(PIECES.iter().find(|(_, one)| one == piece).map_or("", |(name, _)| name))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(format: &str, value: &str) -> Option<String> {
        let mut name = String::new();
        format.parse::<DateFormat>().unwrap().push(value, &mut name).ok().map(|()| name)
    }

    #[test]
    fn dates_are_in_utc() {
        for (format, value, expected) in [
            ("yyyy.MM.dd", "2026-01-31T23:59:59.999Z", "2026.01.31"),
            ("yyyy.MM.dd", "2026-01-31T23:30:00-01:00", "2026.02.01"),
            ("uuuu-MM-dd-HH", "2026-01-31T05:00:00+0100", "2026-01-31-04"),
            ("yyyyMMdd", "2026-01-31", "20260131"),
            ("yyyy.MM", "2026-01-31T10:00:00", "2026.01"),
            ("xxxx-ww", "2027-01-01", "2026-53"),
            ("yyyy", "1769903999123", "2026"),
            ("yyyy", "-1", "1969"),
            ("yyyy.MM", "2024", "2024.01"),
            ("yyyy.MM", "2024-03", "2024.03"),
            ("xxxx-ww", "2024-01-31T10", "2024-05"),
            ("yyyy'w'ww", "2026-01-31", "2026w05"),
            ("yyyy'o''clock'", "2026-01-31", "2026o'clock"),
            ("''yyyy''", "2026-01-31", "'2026'"),
        ] {
            assert_eq!(name(format, value).as_deref(), Some(expected), "{format} of {value}");
        }
        for value in ["", "yesterday", "2026-13-01", "31.01.2026", "9223372036854775807"] {
            assert_eq!(name("yyyy", value), None, "{value}");
        }
    }

    #[test]
    fn formats_of_other_letters_are_refused() {
        for (format, problem) in [("yyyy.QQ", "`QQ`"), ("y", "`y`"), ("mm", "`mm`"), ("", "no part"), ("..", "no part")]
        {
            let error = format.parse::<DateFormat>().unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        assert!("yyyy'w".parse::<DateFormat>().unwrap_err().contains("second one"));
        assert_eq!("uuuu.MM".parse::<DateFormat>().unwrap().to_string(), "yyyy.MM");
        assert_eq!("yyyy'w'ww".parse::<DateFormat>().unwrap().to_string(), "yyyy'w'ww");
    }
}
