//! The output buffer of the document being written.

use alloc::vec::Vec;

use crate::token;

/// A buffer longer than its content, so that a store of eight bytes is allowed where fewer count.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    len: usize,
}

impl Output {
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Removes everything after the first `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        debug_assert!(len <= self.len);
        self.len = len;
    }

    pub(crate) fn set(&mut self, at: usize, byte: u8) {
        self.bytes[at] = byte;
    }

    #[inline]
    fn room(&mut self, bytes: usize) {
        if self.bytes.len() - self.len < bytes {
            self.grow(bytes);
        }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) {
        self.bytes.resize((self.bytes.len() * 2).max(self.len + bytes).max(4096), 0);
    }

    #[inline]
    pub(crate) fn push(&mut self, byte: u8) {
        self.room(1);
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.room(bytes.len());
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Appends the first `len` of eight bytes.
    #[inline]
    pub(crate) fn extend_word(&mut self, word: [u8; 8], len: usize) {
        self.room(8);
        self.bytes[self.len..self.len + 8].copy_from_slice(&word);
        self.len += len;
    }

    /// Appends a whole number of at most 64 bits in the shortest of the three forms.
    #[inline]
    pub(crate) fn integer(&mut self, value: i64) {
        let zigzag = ((value << 1) ^ (value >> 63)) as u64;
        if zigzag < 32 {
            return self.push(token::SMALL_INT + zigzag as u8);
        }
        self.push(if i32::try_from(value).is_ok() { token::INT_32 } else { token::INT_64 });
        self.variable(zigzag);
    }

    /// Appends a number with seven bits a byte, high bits first. The last byte has six bits and a
    /// set high bit.
    pub(crate) fn variable(&mut self, value: u64) {
        let mut bytes = [0; 10];
        let mut first = bytes.len() - 1;
        bytes[first] = 0x80 | (value & 0x3F) as u8;
        let mut rest = value >> 6;
        while rest > 0 {
            first -= 1;
            bytes[first] = (rest & 0x7F) as u8;
            rest >>= 7;
        }
        self.extend(&bytes[first..]);
    }

    #[inline]
    pub(crate) fn double(&mut self, value: f64) {
        let bits = value.to_bits();
        let mut bytes = [token::FLOAT_64; 11];
        for (n, byte) in bytes[1..].iter_mut().enumerate() {
            *byte = (bits >> (63 - 7 * n)) as u8 & 0x7F;
        }
        self.extend(&bytes);
    }

    /// Appends the length, then the data with seven bits a byte. The last byte holds the remaining
    /// bits in its low bits.
    pub(crate) fn binary(&mut self, data: &[u8]) {
        self.variable(data.len() as u64);
        for chunk in data.chunks(7) {
            let mut bits = 0_u64;
            for &byte in chunk {
                bits = bits << 8 | u64::from(byte);
            }
            let count = 8 * chunk.len();
            let mut left = count;
            while left >= 7 {
                left -= 7;
                self.push((bits >> left) as u8 & 0x7F);
            }
            if left > 0 {
                self.push(bits as u8 & ((1 << left) - 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut Output)) -> Vec<u8> {
        let mut out = Output::default();
        write(&mut out);
        out.written().to_vec()
    }

    #[test]
    fn integers_take_as_few_bytes_as_they_need() {
        let integer = |value: i64| written(|out| out.integer(value));
        assert_eq!(integer(0), [0xC0]);
        assert_eq!(integer(-16), [0xDF]);
        assert_eq!(integer(15), [0xDE]);
        assert_eq!(integer(16), [0x24, 0xA0]);
        assert_eq!(integer(-32), [0x24, 0xBF]);
        assert_eq!(integer(32), [0x24, 0x01, 0x80]);
        assert_eq!(integer(i64::from(i32::MIN)), [0x24, 0x1F, 0x7F, 0x7F, 0x7F, 0xBF]);
        assert_eq!(integer(i64::from(i32::MAX) + 1), [0x25, 0x20, 0, 0, 0, 0x80]);
        assert_eq!(integer(i64::MIN), [0x25, 0x03, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0xBF]);
    }

    #[test]
    fn doubles_have_seven_bits_a_byte() {
        assert_eq!(written(|out| out.double(1.5)), [0x29, 0, 0x3F, 0x7C, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(written(|out| out.double(-0.0)), [0x29, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn binary_values_have_seven_bits_a_byte() {
        assert_eq!(written(|out| out.binary(&[0xFF])), [0x81, 0x7F, 0x01]);
        assert_eq!(written(|out| out.binary(&[0xFF, 0, 0xFF])), [0x83, 0x7F, 0x40, 0x1F, 0x07]);
        assert_eq!(written(|out| out.binary(&[0xFF; 7])), [0x87, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F]);
    }
}
