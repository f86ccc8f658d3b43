//! What fields make of numbers and addresses, as the servers do it.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::fields::json::Scalar;

fn number_text<'s>(value: &'s Scalar) -> Option<&'s str> {
    match value {
        Scalar::Number(text) => Some(text),
        Scalar::Text(text) => Some(text),
        Scalar::Null | Scalar::Bool(_) => None,
    }
}

/// Reads a whole number: a number, or with `coerce` a text with one; then decimals are cut off,
/// too.
pub(crate) fn whole(value: &Scalar, least: i64, most: i64, coerce: bool) -> Option<i64> {
    if !coerce && matches!(value, Scalar::Text(_)) {
        return None;
    }
    let text = number_text(value)?;
    let number = match digits(text) {
        Some(number) => number,
        None => {
            let number = decimal(text)?;
            if !coerce && number.fract() != 0.0 {
                return None;
            }
            // Larger ones lose digits; the server reads those exactly.
            (number.abs() < 9.0e15).then_some(number as i64)?
        }
    };
    (least..=most).contains(&number).then_some(number)
}

/// Reads a finite number.
fn decimal(text: &str) -> Option<f64> {
    // Java takes spaces around a number; no text such as `inf`.
    let text = text.trim();
    let number: f64 = if text.bytes().any(|byte| byte.is_ascii_digit()) { text.parse().ok()? } else { return None };
    number.is_finite().then_some(number)
}

/// Reads a number of 64 bits as the number that sorts like it.
pub(crate) fn double(value: &Scalar, coerce: bool) -> Option<i64> {
    let number = float_text(value, coerce).and_then(decimal)?;
    Some(sortable_double(number))
}

/// Reads a number of 32 bits as the number that sorts like it.
pub(crate) fn float(value: &Scalar, coerce: bool) -> Option<i64> {
    let text = float_text(value, coerce)?;
    decimal(text)?;
    let number: f32 = text.trim().parse().ok().filter(|number: &f32| number.is_finite())?;
    let bits = number.to_bits() as i32;
    Some(i64::from(bits ^ (bits >> 31 & i32::MAX)))
}

/// Reads a number, multiplied and rounded; the least or greatest of 64 bits where it is beyond.
pub(crate) fn scaled(value: &Scalar, factor: f64, coerce: bool) -> Option<i64> {
    let number = float_text(value, coerce).and_then(decimal)? * factor;
    let floor = number.floor();
    let rounded = if number - floor >= 0.5 { floor + 1.0 } else { floor };
    Some(rounded as i64)
}

fn float_text<'s>(value: &'s Scalar, coerce: bool) -> Option<&'s str> {
    match value {
        // A whole number has no negative zero.
        Scalar::Number("-0") => Some("0"),
        Scalar::Text(_) if !coerce => None,
        value => number_text(value),
    }
}

fn sortable_double(number: f64) -> i64 {
    let bits = number.to_bits() as i64;
    bits ^ (bits >> 63 & i64::MAX)
}

/// Up to 19 digits with a sign.
#[inline]
fn digits(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return text.parse().ok();
    }
    let mut number = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(if negative { -number } else { number })
}

/// Reads an address; one of 32 bits is mapped into those of 128 bits.
pub(crate) fn address(text: &str) -> Option<u128> {
    let address = match four_bytes(text.as_bytes()) {
        Some(bytes) => Ipv4Addr::from(bytes).to_ipv6_mapped(),
        None => text.parse::<Ipv6Addr>().ok()?,
    };
    Some(u128::from(address))
}

#[inline]
fn four_bytes(text: &[u8]) -> Option<u32> {
    let (mut address, mut part, mut digits, mut parts) = (0, 0, 0, 0);
    for byte in text {
        match byte {
            // A part of several digits does not begin with 0.
            b'0'..=b'9' if digits < 3 && (digits == 0 || part > 0) => {
                part = part * 10 + u32::from(byte - b'0');
                digits += 1;
            }
            b'.' if digits > 0 && part < 256 && parts < 3 => {
                address = address << 8 | part;
                (part, digits) = (0, 0);
                parts += 1;
            }
            _ => return None,
        }
    }
    (parts == 3 && digits > 0 && part < 256).then_some(address << 8 | part)
}

#[cfg(test)]
mod tests {
    use super::{address, double, float, scaled, whole};
    use crate::fields::json::Scalar;

    #[test]
    fn numbers() {
        let text = |text: &'static str| Scalar::Text(text.into());
        assert_eq!(whole(&text("-12.9"), i64::MIN, i64::MAX, true), Some(-12));
        assert_eq!(whole(&text("1"), i64::MIN, i64::MAX, false), None);
        assert_eq!(whole(&Scalar::Number("1.5"), i64::MIN, i64::MAX, false), None);
        assert_eq!(whole(&Scalar::Number("2147483648"), -2_147_483_648, 2_147_483_647, true), None);
        assert_eq!(double(&Scalar::Number("-0"), true), Some(0));
        assert_eq!(double(&Scalar::Number("-0.0"), true), Some(-1));
        assert_eq!(double(&text("inf"), true), None);
        assert_eq!(float(&Scalar::Number("1e39"), true), None);
        assert_eq!(scaled(&Scalar::Number("-1.005"), 100.0, true), Some(-100));
    }

    #[test]
    fn addresses() {
        assert_eq!(address("1.2.3.4"), Some(0xffff_0102_0304));
        assert_eq!(address("::1"), Some(1));
        assert_eq!(address("1.2.3.256"), None);
    }
}
