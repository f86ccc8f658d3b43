//! Number formats that show whole numbers with leading zeros, as postal codes have them. A sheet
//! keeps the number 1234 and shows 01234.

use std::sync::Arc;

use super::cell::{Cell, EXACT_MAX};

/// The most zeros of a format. Excel shows no more digits.
const DIGITS_MAX: usize = 255;

/// A format of two zeros or more: `00000`, `000-00-0000`, `+00 0000`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Zeros(Vec<Part>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Digit,
    Literal(char),
}

impl Zeros {
    /// Parses a format. `None` for all others. The part for positive numbers counts.
    pub(super) fn parse(format: &str) -> Option<Zeros> {
        let mut parts = Vec::new();
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            match letter {
                ';' => break,
                '0' => parts.push(Part::Digit),
                '\\' => parts.push(Part::Literal(letters.next()?)),
                // A blank of the width of the next character.
                '_' => drop(letters.next()),
                '"' => parts.extend(letters.by_ref().take_while(|letter| *letter != '"').map(Part::Literal)),
                '[' => {
                    // Colours and languages show nothing. Conditions choose between formats.
                    let inside: String = letters.by_ref().take_while(|letter| *letter != ']').collect();
                    if inside.starts_with(['<', '>', '=']) || !inside.starts_with('$') && inside.len() < 3 {
                        return None;
                    }
                }
                ' ' | '-' | '+' | '/' | '(' | ')' | ':' | '\u{A0}' => parts.push(Part::Literal(letter)),
                _ => return None,
            }
        }
        let digits = parts.iter().filter(|part| **part == Part::Digit).count();
        (2..=DIGITS_MAX).contains(&digits).then_some(Zeros(parts))
    }

    /// The number as the sheet shows it. `None` if it is not whole, or not exact.
    pub(super) fn cell(&self, number: f64) -> Option<Cell> {
        if number.fract() != 0.0 || number.abs() > EXACT_MAX {
            return None;
        }
        let sign = if number < 0.0 { "-" } else { "" };
        let digits = (number.abs() as u64).to_string();
        let places = self.0.iter().filter(|part| **part == Part::Digit).count();
        let digits = format!("{digits:0>places$}");
        // Digits beyond the zeros come at the first one.
        let mut first = digits.len() - places + 1;
        let mut rest = digits.as_str();
        let mut shown = sign.to_owned();
        for part in &self.0 {
            match part {
                Part::Literal(letter) => shown.push(*letter),
                Part::Digit => {
                    let (here, after) = rest.split_at(first);
                    shown.push_str(here);
                    (rest, first) = (after, 1);
                }
            }
        }
        Some(Cell::Code(Arc::from(shown.trim())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_shown_with_their_zeros() {
        for (format, number, expected) in [
            ("00000", 1234.0, "01234"),
            ("00000", 123_456.0, "123456"),
            ("00000;[Red]-00000", 7.0, "00007"),
            ("00", 0.0, "00"),
            ("000\\-00\\-0000", 12_345_678.0, "012-34-5678"),
            ("000-00-0000", 12_345_678.0, "012-34-5678"),
            ("+00 0000", 491_234.0, "+49 1234"),
            ("\"ID-\"0000", 42.0, "ID-0042"),
            ("[$-407]00000", 1067.0, "01067"),
            ("[Blue]00000_)", 1067.0, "01067"),
            ("00000", -5.0, "-00005"),
            ("(00) 00000-0000", 11_987_654_321.0, "(11) 98765-4321"),
        ] {
            let cell = Zeros::parse(format).and_then(|zeros| zeros.cell(number));
            assert_eq!(cell, Some(Cell::Code(Arc::from(expected))), "{format} {number}");
        }
    }

    #[test]
    fn other_formats_and_numbers_are_numbers() {
        for format in [
            "0",
            "General",
            "0.00",
            "00.0",
            "#,##0",
            "0000%",
            "yyyy-mm-dd",
            "00E+00",
            "@",
            "[<=99]00;000",
            "[h]:00",
            "",
            "[ss]00",
        ] {
            assert_eq!(Zeros::parse(format), None, "{format}");
        }
        let zeros = Zeros::parse("00000").unwrap();
        assert!([1.5, 1e17, f64::NAN, f64::INFINITY].iter().all(|number| zeros.cell(*number).is_none()));
    }
}
