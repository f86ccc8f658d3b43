//! Decimal text of floating-point numbers as Java writes it. Servers print numbers that way.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::{LowerExp, Write};
use core::str::FromStr;

/// Whether the decimal `whole.places` x 10^`exponent` (ASCII digits) is the shortest decimal that
/// is read as `double`. Java writes other decimals for subnormal numbers, so these are never exact.
pub(crate) fn is_exact(whole: &[u8], places: &[u8], exponent: i64, double: f64) -> bool {
    let digits = || whole.iter().chain(places).copied();
    let leading = digits().take_while(|&digit| digit == b'0').count();
    let count = whole.len() + places.len();
    if leading == count {
        return double == 0.0;
    }
    if !double.is_normal() {
        return false;
    }
    let trailing = digits().rev().take_while(|&digit| digit == b'0').count();
    let shortest = Shortest::of(double.abs(), false);
    // Both decimals with one digit before the point.
    let power = exponent + whole.len() as i64 - 1 - leading as i64;
    power == i64::from(shortest.power) && digits().take(count - trailing).skip(leading).eq(shortest.digits())
}

/// Writes a double as Java's `Double.toString` does since Java 19. NaN and infinities are quoted.
pub(crate) fn write_double(value: f64, out: &mut Vec<u8>) {
    write(value, value.is_subnormal(), value, out);
}

/// Writes a float as Java's `Float.toString` does since Java 19. NaN and infinities are quoted.
pub(crate) fn write_float(value: f32, out: &mut Vec<u8>) {
    write(value, value.is_subnormal(), f64::from(value), out);
}

/// `wide` is the same value as a double, for the checks.
fn write<T: Float>(value: T, subnormal: bool, wide: f64, out: &mut Vec<u8>) {
    if wide.is_nan() {
        return out.extend_from_slice(b"\"NaN\"");
    }
    if wide.is_infinite() {
        return out.extend_from_slice(if wide > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
    }
    if wide.is_sign_negative() {
        out.push(b'-');
    }
    if wide == 0.0 {
        return out.extend_from_slice(b"0.0");
    }
    let shortest = Shortest::of(value, subnormal);
    let digits = &shortest.text[..shortest.len];
    let zeros = |out: &mut Vec<u8>, count: i32| out.extend((0..count).map(|_| b'0'));
    match shortest.power {
        power @ -3..0 => {
            out.extend_from_slice(b"0.");
            zeros(out, -power - 1);
            out.extend_from_slice(digits);
        }
        power @ 0..7 => {
            let whole = digits.len().min(power as usize + 1);
            out.extend_from_slice(&digits[..whole]);
            zeros(out, power + 1 - whole as i32);
            out.push(b'.');
            out.extend_from_slice(if whole < digits.len() { &digits[whole..] } else { b"0" });
        }
        power => {
            out.push(digits[0]);
            out.push(b'.');
            out.extend_from_slice(if digits.len() > 1 { &digits[1..] } else { b"0" });
            out.push(b'E');
            out.extend_from_slice(power.to_string().as_bytes());
        }
    }
}

/// A floating-point type that can be printed and parsed.
trait Float: LowerExp + FromStr + PartialEq + Copy {
    /// Any decimal with at most this many digits survives a round trip through the type, in the
    /// normal range.
    const SURE_DIGITS: usize;
}

impl Float for f64 {
    const SURE_DIGITS: usize = f64::DIGITS as usize;
}

impl Float for f32 {
    const SURE_DIGITS: usize = f32::DIGITS as usize;
}

/// The fewest digits that distinguish a number from its neighbours: `d.ddd` x 10^`power`, without a
/// sign.
struct Shortest {
    text: [u8; 24],
    len: usize,
    power: i32,
}

impl Shortest {
    fn of<T: Float>(value: T, subnormal: bool) -> Self {
        let mut shortest = Self::read(format_args!("{value:e}"));
        if subnormal && shortest.len == 1 {
            // Java takes the nearest of all decimals with two digits.
            shortest = Self::read(format_args!("{value:.1e}"));
            shortest.len -= usize::from(shortest.len == 2 && shortest.text[1] == b'0');
        } else if subnormal || shortest.len > T::SURE_DIGITS {
            // Java rounds a tie to the even digit; the standard library rounds it up when it looks
            // for the shortest decimal. Where the lower neighbour is nearer than the upper one, the
            // nearest decimal may not be read back as the number.
            let nearest = format!("{value:.*e}", shortest.len - 1);
            if nearest.parse().is_ok_and(|back: T| back == value) {
                shortest = Self::read(format_args!("{nearest}"));
            }
        }
        shortest
    }

    fn read(text: core::fmt::Arguments<'_>) -> Self {
        let mut shortest = Shortest { text: [0; 24], len: 0, power: 0 };
        let mut parts = Parts { shortest: &mut shortest, in_power: false, negative_power: false };
        // The text has at most 17 digits and fits into the buffer.
        let written = parts.write_fmt(text);
        debug_assert!(written.is_ok());
        if parts.negative_power {
            shortest.power = -shortest.power;
        }
        shortest
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        self.text[..self.len].iter().copied()
    }
}

/// Splits text such as `-1.25e-7` into digits and power.
struct Parts<'a> {
    shortest: &'a mut Shortest,
    in_power: bool,
    negative_power: bool,
}

impl Write for Parts<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            match byte {
                b'e' => self.in_power = true,
                b'-' => self.negative_power = self.in_power,
                b'0'..=b'9' if self.in_power => self.shortest.power = self.shortest.power * 10 + i32::from(byte - b'0'),
                b'0'..=b'9' => {
                    *self.shortest.text.get_mut(self.shortest.len).ok_or(core::fmt::Error)? = byte;
                    self.shortest.len += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(value: f64) -> String {
        let mut out = Vec::new();
        write_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_are_written_as_java_does() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (123.0, "123.0"),
            (100.0, "100.0"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (12_345_678.5, "1.23456785E7"),
            (0.001, "0.001"),
            (0.012, "0.012"),
            (0.000_999, "9.99E-4"),
            (1_234_567_890_123_456.0 + 0.25, "1.2345678901234562E15"),
            (9_007_199_254_740_993.0, "9.007199254740992E15"),
            (2e23, "2.0E23"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
            (5e-324, "4.9E-324"),
            (1e-323, "9.9E-324"),
            (2e-323, "2.0E-323"),
            (f64::INFINITY, "\"Infinity\""),
            (f64::NEG_INFINITY, "\"-Infinity\""),
            (f64::NAN, "\"NaN\""),
        ] {
            assert_eq!(double(value), text);
        }
        let mut out = Vec::new();
        write_float(0.1, &mut out);
        out.push(b' ');
        write_float(f32::from_bits(1), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "0.1 1.4E-45");
    }

    #[test]
    fn a_decimal_is_exact_if_it_is_the_shortest_of_its_double() {
        let exact = |whole: &str, places: &str, exponent, double| {
            is_exact(whole.as_bytes(), places.as_bytes(), exponent, double)
        };
        assert!(exact("0", "1", 0, 0.1));
        assert!(exact("000", "00100", 2, 0.1));
        assert!(exact("1", "", -1, 0.1));
        assert!(exact("1000", "", 0, -1000.0));
        assert!(exact("0", "00", 999, 0.0));
        assert!(!exact("0", "10000000000000001", 0, 0.1));
        assert!(!exact("0", "01", 0, 0.1));
        assert!(!exact("1", "0", 400, f64::INFINITY));
        assert!(!exact("5", "", -324, 5e-324));
    }
}
