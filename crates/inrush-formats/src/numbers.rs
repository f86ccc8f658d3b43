//! The common properties of the numbers in a column, by their text, and the type that holds each of
//! them exactly.

/// The most digits of a decimal.
const DIGITS_MAX: u32 = 76;

/// Digits that every double preserves: a decimal with this many digits is the shortest text of the
/// nearest double.
const DOUBLE_DIGITS: usize = 15;

/// The numbers seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The most digits before the decimal point, and the most after it.
    whole: u32,
    fraction: u32,
    /// Whether a number is not written as a whole number.
    fractions: bool,
    /// Whether a whole number exceeds 64 bits with a sign.
    wide: bool,
    /// Whether a number has more digits than a double.
    inexact: bool,
    /// Whether a number is larger than any double.
    endless: bool,
    /// Whether a number is written with a power of ten.
    powers: bool,
}

/// The type that holds all numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Whole numbers of 64 bits.
    Integer,
    /// Doubles. Each number is the shortest text of its double.
    Double,
    /// Decimals with this many digits, of which this many are after the decimal point.
    Decimal(u8, u8),
    /// No type holds them exactly. Doubles are the nearest.
    Rounded,
    /// No type holds them, not even doubles.
    Nothing,
}

impl Numbers {
    /// Adds a number in the form of JSON.
    pub fn see(&mut self, text: &str) {
        if let Some(digits) = small(text) {
            self.whole = self.whole.max(digits);
            return;
        }
        let parts = Parts::new(text);
        self.powers |= text.contains(['e', 'E']);
        self.whole = self.whole.max(parts.whole());
        self.fraction = self.fraction.max(parts.fraction());
        if parts.is_written_whole {
            self.wide |= text.parse::<i64>().is_err();
        } else {
            self.fractions = true;
        }
        if parts.is_plain() && parts.significant() <= DOUBLE_DIGITS {
            return;
        }
        let value = text.parse().unwrap_or(f64::INFINITY);
        self.endless |= !value.is_finite();
        self.inexact |= !parts.is(value);
    }

    /// The properties of one number.
    pub fn of(text: &str) -> Self {
        let mut numbers = Numbers::default();
        numbers.see(text);
        numbers
    }

    /// The properties of the numbers of both.
    pub fn join(self, other: Numbers) -> Numbers {
        Numbers {
            whole: self.whole.max(other.whole),
            fraction: self.fraction.max(other.fraction),
            fractions: self.fractions || other.fractions,
            wide: self.wide || other.wide,
            inexact: self.inexact || other.inexact,
            endless: self.endless || other.endless,
            powers: self.powers || other.powers,
        }
    }

    /// The digits after the decimal point if decimals hold the numbers and one is written with a
    /// power of ten, which readers of decimals misread.
    #[cfg(feature = "sql")]
    pub fn scale_of_powers(self) -> Option<u8> {
        match self.holder() {
            Holder::Decimal(_, scale) if self.powers => Some(scale),
            _ => None,
        }
    }

    /// Whether doubles hold all of them.
    pub fn are_doubles(self) -> bool {
        !self.inexact && !self.endless
    }

    /// The type that holds all of them.
    pub fn holder(self) -> Holder {
        let digits = self.whole + self.fraction;
        match () {
            () if !self.fractions && !self.wide => Holder::Integer,
            () if self.fractions && self.are_doubles() => Holder::Double,
            // All types of 64 bits are treated alike.
            () if !self.fractions && self.whole <= 20 => Holder::Decimal(20, 0),
            () if digits <= DIGITS_MAX => Holder::Decimal(digits.max(1) as u8, self.fraction as u8),
            () if self.endless => Holder::Nothing,
            () => Holder::Rounded,
        }
    }
}

/// The number of digits, if the text is a whole number that fits both 64 bits and a double.
fn small(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    (digits.len() <= DOUBLE_DIGITS && digits.bytes().all(|b| b.is_ascii_digit())).then_some(digits.len() as u32)
}

/// The parts of a number.
struct Parts<'a> {
    is_negative: bool,
    /// The digits before the decimal point, without leading zeros.
    before: &'a str,
    /// The digits after the decimal point, without trailing zeros.
    behind: &'a str,
    exponent: i64,
    is_written_whole: bool,
}

impl<'a> Parts<'a> {
    fn new(text: &'a str) -> Self {
        let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, ""));
        let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
        let limit = if exponent.starts_with('-') { least } else { most };
        let exponent = if exponent.is_empty() { 0 } else { exponent.parse().unwrap_or(limit) };
        Parts {
            is_negative,
            before: before.trim_start_matches('0'),
            behind: behind.trim_end_matches('0'),
            // A value beyond 32 bits is too long anyway, and the sum of such a value and any number
            // of digits fits 64 bits.
            exponent: exponent.clamp(least, most),
            is_written_whole: mantissa.len() == digits.len() && !mantissa.contains('.'),
        }
    }

    fn is_plain(&self) -> bool {
        self.exponent == 0
    }

    fn is_zero(&self) -> bool {
        self.before.is_empty() && self.behind.bytes().all(|b| b == b'0')
    }

    /// Number of significant digits, or more.
    fn significant(&self) -> usize {
        self.before.len() + self.behind.len()
    }

    /// Digits before the decimal point, or more.
    fn whole(&self) -> u32 {
        if self.is_zero() { 0 } else { length(self.before.len() as i64 + self.exponent) }
    }

    /// Digits after the decimal point, or more.
    fn fraction(&self) -> u32 {
        if self.is_zero() { 0 } else { length(self.behind.len() as i64 - self.exponent) }
    }

    /// Whether the shortest text of `value`, the nearest double, has the same digits.
    fn is(&self, value: f64) -> bool {
        let shortest = format!("{value:e}");
        let shortest = Parts::new(&shortest);
        let digits = |parts: &Parts<'_>| {
            let all = format!("{}{}", parts.before, parts.behind);
            all.trim_start_matches('0').trim_end_matches('0').to_owned()
        };
        value.is_finite() && digits(self) == digits(&shortest)
    }
}

/// A length. More digits than any type has are cut to a maximum.
fn length(digits: i64) -> u32 {
    digits.clamp(0, i64::from(DIGITS_MAX) * 2) as u32
}

/// `text`, a number in the form of JSON, as a whole number of units of `10^-scale`. It must not
/// have more digits than that.
pub fn scaled(text: &str, scale: u8) -> String {
    let parts = Parts::new(text);
    if parts.is_zero() {
        return "0".to_owned();
    }
    let mut digits = format!("{}{}", parts.before, parts.behind);
    let zeros = i64::from(scale) - parts.behind.len() as i64 + parts.exponent;
    match usize::try_from(zeros) {
        Ok(zeros) => digits.push_str(&"0".repeat(zeros)),
        // The removed digits are zeros, because there are no others after the scale.
        Err(_) => digits.truncate(digits.len().saturating_sub(usize::try_from(-zeros).unwrap_or(usize::MAX))),
    }
    let digits = digits.trim_start_matches('0');
    let sign = if parts.is_negative { "-" } else { "" };
    if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}") }
}

/// The number with `scale` digits after its decimal point and no power of ten.
#[cfg(feature = "sql")]
pub fn plain(text: &str, scale: u8) -> String {
    let digits = scaled(text, scale);
    let (sign, digits) = digits.strip_prefix('-').map_or(("", &digits[..]), |digits| ("-", digits));
    let digits = format!("{digits:0>width$}", width = usize::from(scale) + 1);
    let (before, behind) = digits.split_at(digits.len() - usize::from(scale));
    if behind.is_empty() { format!("{sign}{before}") } else { format!("{sign}{before}.{behind}") }
}

/// Appends `digits`, a whole number, divided by `10^scale`, with all its digits.
pub fn push_decimal(out: &mut Vec<u8>, digits: &str, scale: i32) {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    out.extend_from_slice(sign.as_bytes());
    if scale <= 0 {
        out.extend_from_slice(digits.as_bytes());
        if digits != "0" {
            out.resize(out.len() + scale.unsigned_abs() as usize, b'0');
        }
        return;
    }
    let scale = scale.unsigned_abs() as usize;
    let whole = digits.len().saturating_sub(scale);
    out.extend_from_slice(if whole == 0 { b"0" } else { &digits.as_bytes()[..whole] });
    out.push(b'.');
    out.resize(out.len() + scale - (digits.len() - whole), b'0');
    out.extend_from_slice(&digits.as_bytes()[whole..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(texts: &[&str]) -> Holder {
        let mut all = Numbers::default();
        texts.iter().for_each(|text| all.see(text));
        let joined = texts.iter().fold(Numbers::default(), |sum, text| sum.join(Numbers::of(text)));
        assert_eq!(all, joined, "{texts:?}");
        all.holder()
    }

    #[test]
    fn the_narrowest_type_holds_all_numbers_exactly() {
        use Holder::{Decimal, Double, Integer, Nothing, Rounded};
        for (texts, expected) in [
            (&["1", "-2", "0"][..], Integer),
            (&["9223372036854775807", "-9223372036854775808"], Integer),
            (&["9223372036854775808"], Decimal(20, 0)),
            (&["18446744073709551615", "1"], Decimal(20, 0)),
            (&["123456789012345678901234"], Decimal(24, 0)),
            (&["1", "2866.0"], Double),
            (&["0.1", "-2.5e-7", "1e300"], Double),
            (&["9007199254740993"], Integer),
            (&["9007199254740993", "0.5"], Decimal(17, 1)),
            (&["1234567890123456.78", "-0.005"], Decimal(19, 3)),
            (&["3.14159265358979323846"], Decimal(21, 20)),
            (&["1e-3", "12345678901234567890.5"], Decimal(23, 3)),
            (&["1.000000000000000056e-01"], Decimal(19, 19)),
            (&["1e300", "0.12345678901234567"], Rounded),
            (&["1e400"], Nothing),
            (&["1e-400"], Rounded),
            (&["0e99999999999999999999", "0.0"], Double),
            // The longest powers of ten that 64 bits hold, and longer ones.
            (&["1e9223372036854775807"], Nothing),
            (&["12.5e9223372036854775807", "1"], Nothing),
            (&["1e-9223372036854775808"], Rounded),
            (&["-0.25e-9223372036854775808", "1"], Rounded),
            (&["1e99999999999999999999"], Nothing),
            (&["1e-99999999999999999999"], Rounded),
        ] {
            assert_eq!(holder(texts), expected, "{texts:?}");
        }
    }

    #[cfg(feature = "sql")]
    #[test]
    fn powers_of_ten_are_written_out() {
        for (text, scale, expected) in
            [("0e30", 2, "0.00"), ("-1e-3", 3, "-0.001"), ("12.5e3", 0, "12500"), ("-2e2", 1, "-200.0")]
        {
            assert_eq!(plain(text, scale), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_scaled_without_a_change() {
        for (text, scale, expected) in [
            ("1", 2, "100"),
            ("-0.05", 3, "-50"),
            ("1.500", 1, "15"),
            ("12.5e1", 0, "125"),
            ("1200e-2", 0, "12"),
            ("1e-3", 3, "1"),
            ("-0.0", 2, "0"),
            ("0.001e2", 1, "1"),
        ] {
            assert_eq!(scaled(text, scale), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_double_is_held_by_doubles_and_no_other_number_is(value: f64, digits in "[1-9][0-9]{0,25}", places in 0..30_usize) {
            if value.is_finite() {
                let text = format!("{value:?}");
                proptest::prop_assert_eq!(holder(&[&text]), Holder::Double, "{}", text);
            }
            let text = format!("0.{}{digits}", "0".repeat(places));
            let same = format!("{}", text.parse::<f64>().unwrap()).trim_end_matches('0') == text.trim_end_matches('0');
            proptest::prop_assert_eq!(holder(&[&text]) == Holder::Double, same, "{}", text);
        }
    }
}
