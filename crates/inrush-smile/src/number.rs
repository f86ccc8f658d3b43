//! Numbers: JSON text to the shortest exact form.

use alloc::vec::Vec;

use crate::decimal;
use crate::output::Output;
use crate::{Decimals, EncodeError, big, token};

/// Digits of the longest whole number that is written. Servers refuse longer ones in either format.
const DIGITS_MAX: usize = 1000;

/// Powers of ten that a double represents exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Writes the number at `at`. Returns the offset after it.
#[inline]
pub(crate) fn transcode(json: &[u8], at: usize, decimals: Decimals, out: &mut Output) -> Result<usize, EncodeError> {
    let negative = json[at] == b'-';
    let first = at + usize::from(negative);
    let mut value = 0;
    let after = digits(json, first, &mut value);
    let count = after - first;
    if count == 0 || (count > 1 && json[first] == b'0') {
        return Err(EncodeError::invalid(at, "not a JSON number"));
    }
    if let Some(b'.' | b'e' | b'E') = json.get(after) {
        return fraction(json, at, after, value, decimals, out);
    }
    if negative && value == 0 && count == 1 {
        return Err(EncodeError::Inexact { at });
    }
    // Any 18 digits are less than 2^63.
    if count <= 18 {
        out.integer(if negative { -(value as i64) } else { value as i64 });
        return Ok(after);
    }
    let text = &json[at..after];
    match core::str::from_utf8(text).ok().and_then(|text| text.parse().ok()) {
        Some(value) => out.integer(value),
        None if count <= DIGITS_MAX => {
            out.push(token::BIG_INTEGER);
            out.binary(&big::to_bytes(negative, &json[first..after]));
        }
        None => return Err(EncodeError::Inexact { at }),
    }
    Ok(after)
}

/// Writes a number with a point or an exponent. `value` holds the digits up to `point`.
fn fraction(
    json: &[u8],
    at: usize,
    point: usize,
    mut value: u64,
    decimals: Decimals,
    out: &mut Output,
) -> Result<usize, EncodeError> {
    let first = at + usize::from(json[at] == b'-');
    let mut after = point;
    let mut places = 0;
    if json[point] == b'.' {
        after = digits(json, point + 1, &mut value);
        places = after - point - 1;
        if places == 0 {
            return Err(EncodeError::invalid(at, "a number without digits after its point"));
        }
    }
    let mantissa = after;
    let mut exponent = 0_i64;
    if let Some(b'e' | b'E') = json.get(after) {
        let sign = usize::from(matches!(json.get(after + 1), Some(b'+' | b'-')));
        let begin = after + 1 + sign;
        let mut size = 0;
        after = digits(json, begin, &mut size);
        if after == begin {
            return Err(EncodeError::invalid(at, "a number without digits in its exponent"));
        }
        // Longer exponents are out of range in any case.
        exponent = if after - begin > 9 { 1 << 40 } else { size as i64 };
        if json[begin - 1] == b'-' {
            exponent = -exponent;
        }
    }
    let power = exponent - places as i64;
    let count = point - first + places;
    let quick = count <= 19 && value < 1_000_000_000_000_000 && (-22..=22).contains(&power);
    let double = if quick {
        // Both operands are exact, so the single rounding is correct; 15 digits always survive a
        // round trip through a double (Clinger 1990).
        let magnitude = match power {
            0.. => value as f64 * TENS[power as usize],
            _ => value as f64 / TENS[-power as usize],
        };
        Some(if json[at] == b'-' { -magnitude } else { magnitude })
    } else {
        // The grammar was checked above; the library's is wider.
        let text = core::str::from_utf8(&json[at..after]).ok();
        let (whole, places) = (&json[first..point], &json[mantissa - places..mantissa]);
        let double = text.and_then(|text| text.parse().ok());
        double.filter(|&double| decimal::is_exact(whole, places, exponent, double))
    };
    let as_java = |double: f64| match quick && after == mantissa {
        true => plain(json, first, point, after),
        false => is_java(&json[at..after], double),
    };
    match (decimals, double) {
        (Decimals::ByValue, Some(double)) => out.double(double),
        (Decimals::ByText, Some(double)) if as_java(double) => out.double(double),
        (Decimals::ByText, _) if after == mantissa => return big_decimal(json, at, point, after, out),
        _ => return Err(EncodeError::Inexact { at }),
    }
    Ok(after)
}

/// Whether Java prints the double as the document spells it.
fn is_java(text: &[u8], double: f64) -> bool {
    let mut written = Vec::new();
    decimal::write_double(double, &mut written);
    written == text
}

/// Writes a number without an exponent as a BigDecimal, which prints the same digits unless the
/// number has many leading zeros.
fn big_decimal(json: &[u8], at: usize, point: usize, after: usize, out: &mut Output) -> Result<usize, EncodeError> {
    let negative = json[at] == b'-';
    let places = after - point - 1;
    let mut digits = json[at + usize::from(negative)..point].to_vec();
    digits.extend_from_slice(&json[point + 1..after]);
    let zeros = digits.iter().take(digits.len() - 1).take_while(|&&digit| digit == b'0').count();
    let digits = &digits[zeros..];
    // Java prints values below a millionth with an exponent, and BigDecimal has no -0.
    if digits.len() + 6 <= places || digits.len() > DIGITS_MAX || (negative && digits == b"0") {
        return Err(EncodeError::Inexact { at });
    }
    out.push(token::BIG_DECIMAL);
    // The scale in zigzag form, which is twice a positive number.
    out.variable(2 * places as u64);
    out.binary(&big::to_bytes(negative, digits));
    Ok(after)
}

/// Whether Java prints the double of `first..after` (at most 15 digits, no exponent) as the
/// document spells it. Java prints 0.001 to 9,999,999 without superfluous zeros, and all others
/// with an exponent.
fn plain(json: &[u8], first: usize, point: usize, after: usize) -> bool {
    let places = &json[point + 1..after];
    let at_least_a_thousandth = json[first] != b'0' || places.iter().take(3).any(|&digit| digit != b'0');
    point - first <= 7 && (places.len() == 1 || (at_least_a_thousandth && !places.ends_with(b"0")))
}

/// Reads digits into `value`, which wraps after the 19th. Returns the offset after them.
#[inline]
fn digits(json: &[u8], mut at: usize, value: &mut u64) -> usize {
    while let Some(digit) = json.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        *value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::SmileDecoder;

    fn transcoded(text: &str, decimals: Decimals) -> Result<Vec<u8>, String> {
        let mut out = Output::default();
        match transcode(text.as_bytes(), 0, decimals, &mut out) {
            Ok(after) if after == text.len() => Ok(out.written().to_vec()),
            Ok(after) => Err(format!("only {after} bytes")),
            Err(EncodeError::Inexact { .. }) => Err("inexact".into()),
            Err(e) => Err(e.to_string()),
        }
    }

    fn double(text: &str, decimals: Decimals) -> Option<f64> {
        let bytes = transcoded(text, decimals).ok()?;
        assert_eq!((bytes[0], bytes.len()), (token::FLOAT_64, 11), "{text}");
        Some(f64::from_bits(bytes[1..].iter().fold(0, |bits, &byte| bits << 7 | u64::from(byte))))
    }

    #[test]
    fn decimals_that_a_double_says() {
        for text in [
            "0.0",
            "-0.0",
            "1.5",
            "0.1",
            "1.10",
            "1e2",
            "1E+2",
            "100.000",
            "48.858370099999995",
            "1.7976931348623157e308",
        ] {
            assert_eq!(
                double(text, Decimals::ByValue).map(f64::to_bits),
                Some(text.parse::<f64>().unwrap().to_bits()),
                "{text}"
            );
        }
        for text in [
            "0.10000000000000001",
            "3.14159265358979323846",
            "1e400",
            "-1e400",
            "1e-400",
            "9007199254740993.0",
            "5e-324",
        ] {
            assert_eq!(transcoded(text, Decimals::ByValue), Err("inexact".into()), "{text}");
        }
        assert_eq!(double("0e400", Decimals::ByValue), Some(0.0));
        assert_eq!(double("0.0000000000000000000000e-99999999999999", Decimals::ByValue), Some(0.0));
        assert_eq!(double("1.000000000000000000000000", Decimals::ByValue), Some(1.0));
    }

    #[test]
    fn decimals_that_come_back_as_they_are_spelled() {
        for text in [
            "0.0",
            "-0.0",
            "1.5",
            "0.1",
            "0.001",
            "0.01",
            "0.105",
            "1.0",
            "9999999.5",
            "48.858370099999995",
            "1.0E10",
            "1.0E-5",
        ] {
            assert!(transcoded(text, Decimals::ByText).is_ok(), "{text}");
        }
        // 1.10 is 110 with two places.
        assert_eq!(transcoded("1.10", Decimals::ByText).unwrap(), [token::BIG_DECIMAL, 0x84, 0x81, 0x37, 0]);
        let spelled = [
            "-1.10",
            "0.00",
            "1.00",
            "10000000.5",
            "0.0005",
            "0.0000010",
            "100.000",
            "3.14159265358979323846264338327950288",
        ];
        for text in spelled {
            let smile = [&b":)\n\x01"[..], &transcoded(text, Decimals::ByText).unwrap()].concat();
            let mut json = Vec::new();
            SmileDecoder::default().decode(&smile, &mut json).unwrap();
            assert_eq!((smile[4], String::from_utf8(json).unwrap()), (token::BIG_DECIMAL, text.to_owned()));
        }
        for text in ["1e2", "1e10", "1.0e10", "1.10e1", "1e400", "-0.00", "0.0000001", "0.0000000", "1e-7"] {
            assert_eq!(transcoded(text, Decimals::ByText), Err("inexact".into()), "{text}");
        }
    }

    #[test]
    fn whole_numbers_of_every_length() {
        assert_eq!(transcoded("-9223372036854775808", Decimals::ByText).unwrap()[0], token::INT_64);
        assert_eq!(
            transcoded("9223372036854775808", Decimals::ByText).unwrap(),
            [0x26, 0x89, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(transcoded("-0", Decimals::ByValue), Err("inexact".into()));
        assert!(transcoded(&"9".repeat(1000), Decimals::ByValue).is_ok());
        assert_eq!(transcoded(&"9".repeat(1001), Decimals::ByValue), Err("inexact".into()));
        for text in ["-", "01", "-01", "1.", "1.e1", "1e", "1e+", "-.5"] {
            assert!(transcoded(text, Decimals::ByValue).unwrap_err().contains("number"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn doubles_are_those_of_the_standard_library(whole in "0|[1-9][0-9]{0,20}", places in "[0-9]{1,20}", exponent in -330..330_i32) {
            let text = format!("{whole}.{places}e{exponent}");
            if let Some(double) = double(&text, Decimals::ByValue) {
                prop_assert_eq!(double, text.parse::<f64>().unwrap());
            }
        }

        #[test]
        fn every_double_that_java_writes_is_exact(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_normal());
            let mut text = Vec::new();
            decimal::write_double(value, &mut text);
            prop_assert_eq!(double(std::str::from_utf8(&text).unwrap(), Decimals::ByText), Some(value));
        }

        #[test]
        fn the_quick_check_agrees_with_java(whole in "0|[1-9][0-9]{0,8}", places in "0{0,4}[0-9]{1,3}") {
            let text = format!("{whole}.{places}");
            let looked = is_java(text.as_bytes(), text.parse().unwrap());
            prop_assert_eq!(plain(text.as_bytes(), 0, whole.len(), text.len()), looked);
        }

        #[test]
        fn up_to_15_digits_are_exact(digits in 1..1_000_000_000_000_000_u64, places in 0..20_i64) {
            let found = double(&format!("{digits}e-{places}"), Decimals::ByValue).unwrap();
            prop_assert!(decimal::is_exact(digits.to_string().as_bytes(), b"", -places, found));
        }
    }
}
