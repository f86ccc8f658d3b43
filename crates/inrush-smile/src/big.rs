//! Whole numbers of any length: decimal digits to the bytes of the format, and back. The work grows
//! with the square of the length, so the callers bound it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The shortest big-endian two's complement of a number. `digits` are ASCII digits.
pub(crate) fn to_bytes(negative: bool, digits: &[u8]) -> Vec<u8> {
    // The least significant limb comes first.
    let mut limbs: Vec<u32> = Vec::new();
    for chunk in digits.chunks(9) {
        let mut carry = 0_u64;
        for &digit in chunk {
            carry = carry * 10 + u64::from(digit - b'0');
        }
        let factor = 10_u64.pow(chunk.len() as u32);
        for limb in &mut limbs {
            carry += u64::from(*limb) * factor;
            *limb = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            limbs.push(carry as u32);
        }
    }
    // One more limb holds the sign.
    limbs.push(0);
    if negative {
        negate(&mut limbs);
    }
    let bytes: Vec<u8> = limbs.iter().rev().flat_map(|limb| limb.to_be_bytes()).collect();
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { 0xFF };
    let spare = bytes.windows(2).take_while(|pair| pair[0] == sign && (pair[1] ^ sign) & 0x80 == 0).count();
    bytes[spare..].to_vec()
}

/// Returns whether the number is negative, and its decimal digits without leading zeros.
pub(crate) fn to_digits(bytes: &[u8]) -> (bool, String) {
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let sign = if negative { 0xFF } else { 0 };
    let mut limbs: Vec<u32> = bytes
        .rchunks(4)
        .map(|chunk| {
            let mut limb = [sign; 4];
            limb[4 - chunk.len()..].copy_from_slice(chunk);
            u32::from_be_bytes(limb)
        })
        .collect();
    if negative {
        negate(&mut limbs);
    }
    let mut groups = Vec::new();
    while let Some(last) = limbs.last() {
        if *last == 0 {
            limbs.pop();
            continue;
        }
        let mut rest = 0_u64;
        for limb in limbs.iter_mut().rev() {
            rest = rest << 32 | u64::from(*limb);
            *limb = (rest / 1_000_000_000) as u32;
            rest %= 1_000_000_000;
        }
        groups.push(rest);
    }
    let mut digits = groups.pop().unwrap_or_default().to_string();
    for group in groups.iter().rev() {
        digits.push_str(&format!("{group:09}"));
    }
    (negative, digits)
}

fn negate(limbs: &mut [u32]) {
    let mut carry = true;
    for limb in limbs {
        (*limb, carry) = (!*limb).overflowing_add(u32::from(carry));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(value: i128, bytes: &[u8]) {
        assert_eq!(to_bytes(value < 0, value.unsigned_abs().to_string().as_bytes()), bytes, "{value}");
        assert_eq!(to_digits(bytes), (value < 0, value.unsigned_abs().to_string()));
    }

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        check(0, &[0]);
        check(127, &[127]);
        check(128, &[0, 128]);
        check(-128, &[128]);
        check(-129, &[0xFF, 0x7F]);
        check(-256, &[0xFF, 0]);
        check(1 << 64, &[1, 0, 0, 0, 0, 0, 0, 0, 0]);
        check(1 << 63, &[0, 0x80, 0, 0, 0, 0, 0, 0, 0]);
        check(-(1 << 63), &[0x80, 0, 0, 0, 0, 0, 0, 0]);
        check(-(1 << 32), &[0xFF, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn digits_come_back(negative: bool, digits in "[1-9][0-9]{0,400}") {
            let bytes = to_bytes(negative, digits.as_bytes());
            prop_assert_eq!(to_digits(&bytes), (negative, digits));
        }

        #[test]
        fn bytes_are_those_of_the_processor(value: i128) {
            let bytes = to_bytes(value < 0, value.unsigned_abs().to_string().as_bytes());
            let all = value.to_be_bytes();
            let sign = if value < 0 { 0xFF } else { 0 };
            prop_assert!(all.ends_with(&bytes) && all[..16 - bytes.len()].iter().all(|&byte| byte == sign));
            prop_assert_eq!(to_digits(&all), (value < 0, value.unsigned_abs().to_string()));
        }
    }
}
