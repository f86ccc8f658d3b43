//! What fields make of numbers and addresses, as the servers do it.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::fields::json::Scalar;
use crate::fields::target::KnownProduct;

fn number_text<'s>(value: &'s Scalar) -> Option<&'s str> {
    match value {
        Scalar::Number(text) => Some(text),
        Scalar::Text(text) => Some(text),
        Scalar::Null | Scalar::Bool(_) => None,
    }
}

/// Whether a value is a number with a dot or an exponent.
fn is_decimal(value: &Scalar) -> bool {
    matches!(value, Scalar::Number(text) if text.contains(['.', 'e', 'E']))
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
        // The servers read a number with a dot or an exponent as one of 53 bits, and a text as a
        // whole number of 64 bits, or as a decimal of fewer bits.
        None if most == i64::MAX && is_decimal(value) => {
            let number = decimal(text)?;
            let whole = number as i64;
            let in_bounds = number.abs() <= i64::MAX as f64;
            (in_bounds && (coerce || whole as f64 == number)).then_some(whole)?
        }
        None if most == i64::MAX => {
            let (number, is_whole) = exact(text)?;
            if !coerce && !is_whole {
                return None;
            }
            i64::try_from(number).ok()?
        }
        None => {
            let number = match text.trim_matches(|c| c <= ' ') {
                // Java makes 0 of it.
                "NaN" | "+NaN" | "-NaN" if coerce => 0.0,
                _ => decimal(text)?,
            };
            // The decimals of an `integer`, and of a text for a `short`, are within its bounds,
            // too.
            let cut_later = most == i64::from(i32::MAX) || most == i64::from(i16::MAX) && !is_decimal(value);
            if cut_later && !(least as f64..=most as f64).contains(&number) || !coerce && number.fract() != 0.0 {
                return None;
            }
            number as i64
        }
    };
    (least..=most).contains(&number).then_some(number)
}

/// Reads a whole number without a sign, as the servers keep it: OpenSearch its bits, Elasticsearch
/// with the highest one changed.
pub(crate) fn unsigned(value: &Scalar, coerce: bool, product: KnownProduct) -> Option<i64> {
    let opensearch = product == KnownProduct::OpenSearch;
    if opensearch && !coerce && matches!(value, Scalar::Text(_)) {
        return None;
    }
    let text = number_text(value)?;
    let number: u64 = match text.parse() {
        Ok(number) => number,
        Err(_) => {
            let (number, is_whole) = exact(text)?;
            (is_whole || opensearch && coerce).then(|| u64::try_from(number).ok())??
        }
    };
    Some(if opensearch { number as i64 } else { (number ^ 1 << 63) as i64 })
}

/// Reads a decimal as `BigDecimal` of Java does: what is before its dot, and whether nothing is
/// behind it. `None` also where it has more than 38 digits.
fn exact(text: &str) -> Option<(i128, bool)> {
    let text = with_ascii_digits(text);
    decimals(&text)?;
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut digits = [whole, fraction].concat();
    if digits.bytes().all(|byte| byte == b'0') {
        return Some((0, true));
    }
    let dot = usize::try_from(whole.len() as i64 + exponent).unwrap_or(0);
    if dot > digits.len() + 38 {
        return None;
    }
    while digits.len() < dot {
        digits.push('0');
    }
    let (before, behind) = digits.split_at(dot);
    let is_whole = behind.bytes().all(|byte| byte == b'0');
    let before = before.trim_start_matches('0');
    let number_before: i128 = if before.is_empty() { 0 } else { before.parse().ok()? };
    Some((if number.starts_with('-') { -number_before } else { number_before }, is_whole))
}

/// How many decimals of a text Java's `BigDecimal` keeps: those behind the dot, less the exponent.
fn decimals(text: &str) -> Option<i64> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut digits = whole.bytes().chain(fraction.bytes());
    let is_number = !(whole.is_empty() && fraction.is_empty()) && digits.all(|byte| byte.is_ascii_digit());
    let decimals = fraction.len() as i64 - exponent;
    (is_number && i32::try_from(exponent).is_ok() && i32::try_from(decimals).is_ok()).then_some(decimals)
}

/// Whether nothing but zeros is behind the dot of a number.
pub(crate) fn is_whole(text: &str) -> bool {
    let number = text.split(['e', 'E']).next().unwrap_or(text);
    let zeros = number.bytes().rev().filter(u8::is_ascii_digit).take_while(|digit| *digit == b'0').count() as i64;
    let is_zero = number.bytes().all(|byte| !matches!(byte, b'1'..=b'9'));
    is_zero || decimals(text).is_some_and(|decimals| decimals <= zeros)
}

/// What a `long` of Elasticsearch makes of a text with more decimals, or of a zero with more digits
/// before them, than it looks at: zero, or nothing.
pub(crate) fn beyond_decimals(value: &Scalar) -> Option<Option<i64>> {
    let Scalar::Text(text) = value else { return None };
    let is_zero = || text.split(['e', 'E']).next().is_some_and(|number| !number.contains(|c| ('1'..='9').contains(&c)));
    match decimals(text)? {
        20.. => Some(Some(0)),
        ..-19 if is_zero() => Some(None),
        _ => None,
    }
}

/// The zeros of other scripts, each of which nine more digits follow.
#[rustfmt::skip]
const ZEROS: [u32; 36] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
    0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
    0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
];

/// Java reads the digits of all scripts in whole numbers.
fn with_ascii_digits(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let ascii = |c: char| {
        let value = ZEROS.iter().find_map(|zero| u32::from(c).checked_sub(*zero).filter(|value| *value < 10));
        value.and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
    };
    Cow::Owned(text.chars().map(ascii).collect())
}

/// Reads a finite number.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    // Java takes spaces and controls around a number, and its type behind it; no text such as
    // `inf`.
    let text = text.trim_matches(|c| c <= ' ');
    if let Some(number) = hexadecimal(text) {
        return Some(number).filter(|number| number.is_finite());
    }
    let text = without_type(text);
    let number: f64 = if text.bytes().any(|byte| byte.is_ascii_digit()) { text.parse().ok()? } else { return None };
    number.is_finite().then_some(number)
}

/// Whether Java's `Long.parseLong` takes a text.
pub(crate) fn is_java_long(text: &str) -> bool {
    with_ascii_digits(text).parse::<i64>().is_ok()
}

/// Whether Java's `Double.parseDouble` takes a text, also one beyond the range of numbers.
pub(crate) fn is_java_double(text: &str) -> bool {
    let text = text.trim_matches(|c| c <= ' ');
    if matches!(text.strip_prefix(['-', '+']).unwrap_or(text), "NaN" | "Infinity") || hexadecimal(text).is_some() {
        return true;
    }
    let text = without_type(text);
    text.bytes().any(|byte| byte.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

/// Reads a number such as `-0x1.8p3`, with an exponent of two. Digits beyond 52 bits are not read.
fn hexadecimal(text: &str) -> Option<f64> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let rest = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"))?;
    let (digits, exponent) = rest.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.trim_end_matches(['d', 'D', 'f', 'F']).parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = [whole, fraction].concat();
    (1..=13).contains(&digits.len()).then_some(())?;
    let number = u64::from_str_radix(&digits, 16).ok()? as f64;
    let scaled = number * 2_f64.powi(exponent.saturating_sub(4 * fraction.len() as i32));
    Some(if negative { -scaled } else { scaled })
}

/// Reads a number of 64 bits as the number that sorts like it.
pub(crate) fn double(value: &Scalar, coerce: bool) -> Option<i64> {
    let number = float_text(value, coerce).and_then(decimal)?;
    Some(sortable_double(number))
}

/// Reads a number of 32 bits as the number that sorts like it.
pub(crate) fn float(value: &Scalar, coerce: bool) -> Option<i64> {
    let text = float_text(value, coerce)?;
    let bits = float_value(text)?.to_bits() as i32;
    Some(i64::from(bits ^ (bits >> 31 & i32::MAX)))
}

/// A number without the letter of its type, which Java takes behind it.
fn without_type(text: &str) -> &str {
    match text.strip_suffix(['d', 'D', 'f', 'F']) {
        Some(number) if number.ends_with(|c: char| c.is_ascii_digit() || c == '.') => number,
        _ => text,
    }
}

fn float_value(text: &str) -> Option<f32> {
    let wide = decimal(text)?;
    // Rounded once, from the digits. Hexadecimal numbers, which only Java reads, have few of them.
    let narrow = without_type(text.trim_matches(|c| c <= ' ')).parse().unwrap_or(wide as f32);
    Some(narrow).filter(|number| number.is_finite())
}

/// Reads a number of 16 bits as the number that sorts like it.
pub(crate) fn half_float(value: &Scalar, coerce: bool) -> Option<i64> {
    let bits = half_bits(float_value(float_text(value, coerce)?)?) as i16;
    // All bits of the exponent are infinity.
    (bits & 0x7c00 != 0x7c00).then(|| i64::from(bits ^ (bits >> 15 & i16::MAX)))
}

/// The nearest number of 16 bits; of two that are as near, the even one.
fn half_bits(number: f32) -> u16 {
    let bits = number.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let exponent = (bits >> 23 & 0xff) as i32 - 127 + 15;
    let fraction = bits & 0x7f_ffff;
    let round = |value: u32, shift: u32| {
        let value = value + (1 << (shift - 1));
        (value - (value >> shift & 1)) >> shift
    };
    let half = match exponent {
        // Too small even for a number without its highest bit.
        ..=-18 => 0,
        -17..=0 => round(fraction | 0x80_0000, (14 - exponent) as u32),
        1..=30 => round((exponent as u32) << 23 | fraction, 13),
        _ => 0x7c00,
    };
    sign | half as u16
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

/// The number that [`float`] made another one of.
pub(crate) fn float_of(sortable: i64) -> f32 {
    let bits = sortable as i32;
    f32::from_bits((bits ^ (bits >> 31 & i32::MAX)) as u32)
}

/// The number that [`double`] made another one of.
pub(crate) fn double_of(sortable: i64) -> f64 {
    f64::from_bits((sortable ^ (sortable >> 63 & i64::MAX)) as u64)
}

/// The number of which [`double_of`] makes this one.
pub(crate) fn sortable_double(number: f64) -> i64 {
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
/// `any_interface`: the name of an interface may also stand behind four bytes.
pub(crate) fn address(text: &str, any_interface: bool) -> Option<u128> {
    let text = match text.split_once('%') {
        Some((address, interface)) if any_interface => (!interface.is_empty()).then_some(address)?,
        _ => without_interface(text)?,
    };
    let address = match four_bytes(text.as_bytes()) {
        Some(bytes) => Ipv4Addr::from(bytes).to_ipv6_mapped(),
        None => text.parse::<Ipv6Addr>().ok().or_else(|| without_zeros(text)?.parse().ok())?,
    };
    Some(u128::from(address))
}

/// The name of an interface behind an address does not count. There is none behind four bytes.
fn without_interface(text: &str) -> Option<&str> {
    match text.split_once('%') {
        Some((address, interface)) if address.contains(':') => {
            (!interface.is_empty() && !address.contains('.')).then_some(address)
        }
        _ => Some(text),
    }
}

/// An address without the zeros at the beginning of its parts, of which the servers take any
/// number.
fn without_zeros(text: &str) -> Option<String> {
    let short = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest if !part.contains('.') => rest.to_owned(),
        _ => part.to_owned(),
    };
    (text.starts_with('0') || text.contains(":0")).then(|| text.split(':').map(short).collect::<Vec<_>>().join(":"))
}

/// Whether Elasticsearch may take a text that is no address: it reads the four numbers with bytes
/// that overflow, so 1280 is 0, and the last one may be absent.
pub(crate) fn is_nearly_address(text: &str) -> bool {
    let Some(text) = without_interface(text) else { return false };
    let last = text.rsplit(':').next().unwrap_or(text);
    let parts: Vec<&str> = last.split('.').collect();
    parts.len() == 4
        && parts.iter().enumerate().all(|(at, part)| at == 3 && part.is_empty() || is_overflowing_byte(part))
}

/// The same of Elasticsearch 9.4 and 9.5: they read parts of more than four digits, of which the
/// last ones may count.
pub(crate) fn is_nearly_address_in_9_4(text: &str) -> bool {
    let address = text.split('%').next().unwrap_or(text);
    let is_part = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'.');
    address.contains(':') && address.split(':').all(is_part) && address.split(':').any(|part| part.len() > 4)
}

fn is_overflowing_byte(part: &str) -> bool {
    let mut byte = 0_i8;
    !part.is_empty()
        && part.bytes().enumerate().all(|(at, digit)| {
            let number = i32::from(byte) * 10 + i32::from(digit) - i32::from(b'0');
            let fits = digit.is_ascii_digit() && number < 256 && (at == 0 || byte != 0);
            byte = number as i8;
            fits
        })
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
    use super::{
        address, beyond_decimals, double, float, float_value, half_float, is_nearly_address, is_nearly_address_in_9_4,
        is_whole, scaled, unsigned, whole,
    };
    use crate::fields::json::Scalar;
    use crate::fields::target::KnownProduct;

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
        assert_eq!(double(&text("1.5d"), true), double(&text(" 1.5"), true));
        // Rounded to a double first, it would be the middle of two floats.
        let near_the_middle = "26002678.9999999999999999999";
        assert_eq!(near_the_middle.parse(), Ok(26_002_678.0_f32));
        assert_eq!(float_value(&format!("{near_the_middle}d")), Some(26_002_678.0));
        assert_eq!(float_value(" 1.5f "), Some(1.5));
        assert_eq!(double(&text("-0x1.8p1"), true), double(&text("-3"), true));
        for (most, text, of_text, of_number) in [
            (i64::from(i32::MAX), "2147483647.5", None, None),
            (i64::from(i16::MAX), "32767.2", None, Some(32767)),
            (i64::from(i8::MAX), "127.5", Some(127), Some(127)),
        ] {
            let found =
                [Scalar::Text(text.into()), Scalar::Number(text)].map(|value| whole(&value, -most - 1, most, true));
            assert_eq!(found, [of_text, of_number], "{text}");
        }
        let long = |text: &'static str| whole(&Scalar::Number(text), i64::MIN, i64::MAX, true);
        assert_eq!((long("9223372036854775807.9"), long("1e18")), (Some(i64::MAX), Some(1_000_000_000_000_000_000)));
        assert_eq!((long("-9223372036854775809"), long("-0.5e1"), long("25e-1")), (None, Some(-5), Some(2)));
        let text_of_long = |number: &'static str| whole(&text(number), i64::MIN, i64::MAX, true);
        assert_eq!(
            (text_of_long("０１٣"), text_of_long("0e99999"), text_of_long("-5e-99999")),
            (Some(13), Some(0), Some(0))
        );
        assert_eq!((text_of_long("1e99999"), text_of_long("1e2147483648"), text_of_long("𝟏")), (None, None, None));
        assert_eq!(
            (long("3865150216249023460E+0"), text_of_long("3865150216249023460E+0")),
            (Some(3_865_150_216_249_023_488), Some(3_865_150_216_249_023_460))
        );
        assert_eq!(whole(&text("５"), -128, 127, true), None);
        assert_eq!(whole(&text(" 7 "), i64::MIN, i64::MAX, true), None);
        assert_eq!(whole(&text(" 7d "), -128, 127, true), Some(7));
        assert_eq!(scaled(&Scalar::Number("-1.005"), 100.0, true), Some(-100));
        let half = |text: &'static str| half_float(&Scalar::Number(text), true);
        assert_eq!((half("1"), half("-1"), half("65504")), (Some(0x3c00), Some(-0x3c01), Some(0x7bff)));
        assert_eq!((half("65520"), half("5.9604645E-8"), half("1e-9")), (None, Some(1), Some(0)));
        assert_eq!((half("2049"), half("2051")), (half("2048"), half("2052")));
    }

    #[test]
    fn whole_numbers_may_have_a_dot() {
        let found = ["3e38", "-9223372036854776.0", "120", "0e-5", "12.50e1", "12.5", "125e-1", "1e-400"].map(is_whole);
        assert_eq!(found, [true, true, true, true, true, false, false, false]);
    }

    #[test]
    fn texts_with_many_decimals() {
        let beyond = |text: &'static str| beyond_decimals(&Scalar::Text(text.into()));
        let none = [
            beyond("0e19"),
            beyond("0.00e21"),
            beyond("1e30"),
            beyond("9.9999999999999999999"),
            beyond("x.00000000000000000000001"),
        ];
        assert_eq!(none, [None; 5]);
        assert_eq!([beyond("-0e20"), beyond("0.00e22")], [Some(None); 2]);
        assert_eq!([beyond("12.99999999999999999999"), beyond("2436094405718213743469535e-20")], [Some(Some(0)); 2]);
    }

    #[test]
    fn numbers_without_a_sign() {
        let most = Scalar::Number("18446744073709551615");
        assert_eq!(unsigned(&most, true, KnownProduct::OpenSearch), Some(-1));
        assert_eq!(unsigned(&most, true, KnownProduct::Elasticsearch), Some(i64::MAX));
        // Unlike a number of a field with a sign, it is exact.
        let exact = unsigned(&Scalar::Number("13811883869871834768E+0"), true, KnownProduct::OpenSearch);
        assert_eq!(exact, Some(13_811_883_869_871_834_768_u64 as i64));
        assert_eq!(unsigned(&Scalar::Number("-1"), true, KnownProduct::OpenSearch), None);
        assert_eq!(unsigned(&Scalar::Number("1.5"), true, KnownProduct::OpenSearch), Some(1));
        assert_eq!(unsigned(&Scalar::Number("1.5"), true, KnownProduct::Elasticsearch), None);
    }

    #[test]
    fn addresses() {
        assert_eq!(address("1.2.3.4", false), Some(0xffff_0102_0304));
        assert_eq!(address("::1", false), Some(1));
        assert_eq!(address("::1%eth0", false), Some(1));
        assert_eq!(address("1.2.3.4%eth0", false), None);
        for with_interface in ["1.2.3.4%eth0", "::ffff:1.2.3.4%a.b", "1.2.3.4%%"] {
            assert_eq!(address(with_interface, true), Some(0xffff_0102_0304), "{with_interface}");
        }
        for (text, nearly) in
            [("f2001db8::6b2", true), ("::28001%a", true), ("::1", false), ("12345", false), ("x12345::", false)]
        {
            assert_eq!(
                (is_nearly_address_in_9_4(text), nearly && address(text, true).is_some()),
                (nearly, false),
                "{text}"
            );
        }
        assert_eq!((address("1.2.3.4%", true), address("%1", true), address("1.2.3.%1", true)), (None, None, None));
        assert_eq!((address("::ffff:1.2.3.4%eth0", false), address("::1%eth.0", false)), (None, Some(1)));
        assert_eq!(address("1.2.3.256", false), None);
        assert_eq!(address("::1%", false), None);
        assert_eq!(address("02001:db8::00001", false), address("2001:db8::1", false));
        assert_eq!(address("::012.2.3.4", false), None);
        assert_eq!(address("1::0fffff", false), None);
        for (text, of_elasticsearch) in [
            ("1.1.1.1280", true),
            ("::15030.1.1.1784", true),
            ("1.1.1.1279", false),
            ("1.1.1.12800", false),
            ("1.1.1.", true),
            ("1.1..1", false),
            ("1.1", false),
        ] {
            assert_eq!((address(text, false), is_nearly_address(text)), (None, of_elasticsearch), "{text}");
        }
    }
}
