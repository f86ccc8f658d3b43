//! Recognises the number formats of a workbook that show dates, times or durations.

/// The meaning of a number by its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Number,
    Moment,
    Duration,
    /// A number with zeros before it, by the number of its format among those.
    Code(u16),
}

/// The built-in formats, which no workbook declares.
pub(super) fn built_in(number: u16) -> Shown {
    match number {
        14..=22 | 27..=36 | 45 | 47 | 50..=58 => Shown::Moment,
        46 => Shown::Duration,
        _ => Shown::Number,
    }
}

/// Parses a format such as `yyyy-mm-dd`, `[h]:mm` or `0.00 "days"`. The part for positive numbers
/// counts.
pub(super) fn custom(format: &str) -> Shown {
    let mut letters = format.chars();
    let mut shown = Shown::Number;
    while let Some(letter) = letters.next() {
        match letter {
            ';' => break,
            // The next character is shown literally, gives a width, or fills the cell.
            '\\' | '_' | '*' => {
                letters.next();
            }
            '"' => {
                letters.find(|letter| *letter == '"');
            }
            '[' => {
                let inner: String = letters.by_ref().take_while(|letter| *letter != ']').collect();
                let hours = inner.to_ascii_lowercase();
                // Other brackets are colours, conditions and currencies.
                if !hours.is_empty() && ['h', 'm', 's'].iter().any(|unit| hours.chars().all(|letter| letter == *unit)) {
                    return Shown::Duration;
                }
            }
            'd' | 'D' | 'm' | 'M' | 'y' | 'Y' | 'h' | 'H' | 's' | 'S' => shown = Shown::Moment,
            _ => {}
        }
    }
    // "General" has none of these letters.
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_dates_are_told_from_others() {
        for (format, shown) in [
            ("yyyy\\-mm\\-dd", Shown::Moment),
            ("DD/MM/YY", Shown::Moment),
            ("[$-409]h:mm\\ AM/PM;@", Shown::Moment),
            ("m\"M\"d\"D\";@", Shown::Moment),
            ("[h]:mm:ss", Shown::Duration),
            ("[ss].000", Shown::Duration),
            ("[Red]#,##0.00", Shown::Number),
            ("#,##0.0\" YMD\"", Shown::Number),
            ("0_ ;[Red]\\-0\\ ", Shown::Number),
            ("\"Y: \"0.00\"m\";yyyy", Shown::Number),
            ("General", Shown::Number),
            ("0.00E+00", Shown::Number),
            ("\\Y000", Shown::Number),
        ] {
            assert_eq!(custom(format), shown, "{format}");
        }
        assert_eq!((built_in(14), built_in(46), built_in(9)), (Shown::Moment, Shown::Duration, Shown::Number));
    }
}
