//! Vectors as base64, and a vector that shows whether a server takes it so.

use std::sync::LazyLock;

use base64::Engine as _;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use base64::engine::GeneralPurpose as Base64;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use base64::engine::Simd as Base64;
use base64::engine::general_purpose::PAD;

use super::field::{Element, VectorField};

/// Elements of a vector of unknown length that is sent to see whether a server takes it.
const PROBE_LEN: usize = 64;

/// Fewer elements do not tell the forms of a vector apart: the base64 and the hex text of two bytes
/// are of the same length.
const LENGTH_MIN: usize = 8;

impl VectorField {
    /// Whether vectors of the field are packed where the server takes that.
    pub fn is_packable(&self) -> bool {
        let is_long = match self.element {
            Element::Float => self.length.is_none_or(|length| length >= LENGTH_MIN),
            // The first vector of a field without a length gives it one, and may be short.
            Element::Byte | Element::Bit => self.length.is_some_and(|length| length >= LENGTH_MIN),
        };
        self.may_be_packed && is_long
    }

    /// A vector that every similarity takes, and whose bytes in another order are another vector.
    /// Elements of 16 bits can hold it, and its length is 1, so each server gives it back exactly.
    pub fn probe(&self) -> Vec<f32> {
        let len = self.length.unwrap_or(PROBE_LEN);
        let pattern: &[f32] = match self.element {
            Element::Float => &[-0.0, 0.5, -0.5, 0.5, -0.5, f32::from_bits(0x0d80_0000)],
            Element::Byte | Element::Bit => &[-128.0, -1.0, 0.0, 1.0, 127.0, 64.0],
        };
        (0..len).map(|at| pattern.get(at).copied().unwrap_or_default()).collect()
    }

    /// Whether a server that gives `found` back for [`VectorField::probe`] has understood it.
    pub fn is_probe(&self, found: &[f32]) -> bool {
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        bits(found) == bits(&self.probe())
    }
}

/// The fastest engine of this processor.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static BASE64: LazyLock<Base64> = LazyLock::new(|| Base64::standard(PAD));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
static BASE64: LazyLock<Base64> = LazyLock::new(|| Base64::new(&base64::alphabet::STANDARD, PAD));

/// Bytes that are encoded together: a multiple of three, so that only the last have padding, and of
/// four.
const TOGETHER: usize = 3072;

/// Appends a vector of floats as a JSON string: the base64 of big-endian float32.
pub fn push_packed(values: &[f32], out: &mut Vec<u8>) {
    push_base64(values, |value| value.to_be_bytes(), out);
}

/// Appends a vector of bytes as a JSON string: their base64. `values` are whole numbers of 8 bits.
pub fn push_packed_bytes(values: &[f32], out: &mut Vec<u8>) {
    push_base64(values, |value| [(value as i8).cast_unsigned()], out);
}

/// `N` divides [`TOGETHER`].
fn push_base64<const N: usize>(values: &[f32], bytes_of: impl Fn(f32) -> [u8; N], out: &mut Vec<u8>) {
    let mut bytes = [0; TOGETHER];
    out.push(b'"');
    for values in values.chunks(TOGETHER / N) {
        let bytes = &mut bytes[..values.len() * N];
        for (place, value) in bytes.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&bytes_of(*value));
        }
        let start = out.len();
        out.resize(start + bytes.len().div_ceil(3) * 4, 0);
        BASE64.encode_slice(bytes, &mut out[start..]).expect("four characters for each three bytes are enough");
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;

    fn packed(values: &[f32]) -> String {
        let mut out = b"x".to_vec();
        push_packed(values, &mut out);
        String::from_utf8(out[1..].to_vec()).unwrap()
    }

    #[test]
    fn floats_are_big_endian() {
        assert_eq!(packed(&[1.0, -0.0, f32::from_bits(1)]), r#""P4AAAIAAAAAAAAAB""#);
        assert_eq!(packed(&[]), r#""""#);
        for len in [1, 2, 3, 8, 127, 767, 768, 769, 4096] {
            let values: Vec<f32> = (0..len).map(|n| n as f32 / 7.0).collect();
            let text = packed(&values);
            let bytes = STANDARD.decode(text.trim_matches('"')).unwrap();
            let read: Vec<f32> = bytes.chunks(4).map(|four| f32::from_be_bytes(four.try_into().unwrap())).collect();
            assert_eq!(read, values);
        }
    }

    #[test]
    fn bytes_have_their_sign() {
        let mut out = Vec::new();
        push_packed_bytes(&[-128.0, -1.0, 0.0, 127.0], &mut out);
        assert_eq!(STANDARD.decode(&out[1..out.len() - 1]).unwrap(), [0x80, 0xff, 0, 0x7f]);
    }

    #[test]
    fn a_probe_is_fine_and_tells_byte_orders_apart() {
        for similarity in ["cosine", "dot_product", "l2_norm", "max_inner_product"] {
            for dims in [json!(8), json!(384), json!(null)] {
                let field =
                    VectorField::of(&json!({"type": "dense_vector", "dims": dims, "similarity": similarity})).unwrap();
                let probe = field.probe();
                assert_eq!((field.check(&probe), field.is_packable()), (Ok(()), true));
                assert!(field.is_probe(&probe));
                let turned: Vec<f32> = probe.iter().map(|value| f32::from_bits(value.to_bits().swap_bytes())).collect();
                assert!(!field.is_probe(&turned));
                assert!(!field.is_probe(&probe[1..]));
            }
        }
        let few = VectorField::of(&json!({"type": "dense_vector", "dims": 2})).unwrap();
        assert!(!few.is_packable());
        for element in ["byte", "bit"] {
            let of = |dims: Value| json!({"type": "dense_vector", "dims": dims, "element_type": element});
            let is_packable = |dims: Value| VectorField::of(&of(dims)).unwrap().is_packable();
            assert_eq!((is_packable(json!(64)), is_packable(json!(null))), (true, false), "{element}");
        }
        let not_indexed = VectorField::of(&json!({"type": "dense_vector", "dims": 64, "index": false})).unwrap();
        assert!(!not_indexed.is_packable());
    }
}
