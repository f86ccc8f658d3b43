//! Classes of characters as Java has them, and what digits mean.

use super::java_classes::{DIGITS, FORMATS, PUNCTUATION, SYMBOLS};
use super::{is_letter, is_white};

/// What `java.lang.Character` says of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Letter,
    Digit,
    White,
    Punctuation,
    Symbol,
}

pub(super) fn is_of(class: Class, c: char) -> bool {
    match class {
        Class::Letter => is_letter(c),
        Class::Digit => digit(c).is_some(),
        Class::White => is_white(c),
        Class::Punctuation => range_of(&PUNCTUATION, c).is_some(),
        Class::Symbol => range_of(&SYMBOLS, c).is_some(),
    }
}

/// A character that says how others are written.
pub(super) fn is_format(c: char) -> bool {
    range_of(&FORMATS, c).is_some()
}

/// The digit that a character stands for.
pub(super) fn digit(c: char) -> Option<char> {
    // All digits of a script follow each other, from zero on.
    let first = range_of(&DIGITS, c)?;
    char::from_digit((u32::from(c) - first) % 10, 10)
}

/// The first character of the range that has a character.
fn range_of(ranges: &[(u32, u32)], c: char) -> Option<u32> {
    let c = u32::from(c);
    let at = ranges.partition_point(|&(first, _)| first <= c).checked_sub(1)?;
    (c <= ranges[at].1).then_some(ranges[at].0)
}

#[cfg(test)]
mod tests {
    use super::{Class, digit, is_format, is_of};

    #[test]
    fn classes_are_those_of_java() {
        let digits: Vec<_> = "0٣७𝟗𝟎x²".chars().map(digit).collect();
        assert_eq!(digits, [Some('0'), Some('3'), Some('7'), Some('9'), Some('0'), None, None]);
        let is = |class, text: &str| text.chars().map(|c| is_of(class, c)).collect::<Vec<_>>();
        assert_eq!(is(Class::Punctuation, "-_«.$ a"), [true, true, true, true, false, false, false]);
        assert_eq!(is(Class::Symbol, "$+^©.a"), [true, true, true, true, false, false]);
        assert_eq!(is(Class::White, " \u{a0}"), [true, false]);
        assert!(is_of(Class::Letter, 'ß') && is_format('\u{200d}') && !is_format('a'));
    }
}
