//! The bytes of the format, named as in its specification (SMILE 1.0).

/// `:)\n`; a byte with version (0) and options follows.
pub(crate) const HEADER: [u8; 3] = *b":)\n";
pub(crate) const SHARED_NAMES: u8 = 0x01;
pub(crate) const SHARED_VALUES: u8 = 0x02;
/// Binary values may be raw. Then 0xFF may occur inside a document.
pub(crate) const RAW_BINARY: u8 = 0x04;

pub(crate) const EMPTY_STRING: u8 = 0x20;
pub(crate) const NULL: u8 = 0x21;
pub(crate) const FALSE: u8 = 0x22;
pub(crate) const TRUE: u8 = 0x23;
pub(crate) const INT_32: u8 = 0x24;
pub(crate) const INT_64: u8 = 0x25;
pub(crate) const BIG_INTEGER: u8 = 0x26;
pub(crate) const FLOAT_32: u8 = 0x28;
pub(crate) const FLOAT_64: u8 = 0x29;
pub(crate) const BIG_DECIMAL: u8 = 0x2A;
/// Plus the length of an ASCII value, 1 to 64 bytes.
pub(crate) const ASCII: u8 = 0x40 - 1;
/// Plus the length of a Unicode value, 2 to 64 bytes.
pub(crate) const UNICODE: u8 = 0x80 - 2;
/// Plus an integer from -16 to 15 in zigzag form.
pub(crate) const SMALL_INT: u8 = 0xC0;
pub(crate) const LONG_ASCII: u8 = 0xE0;
pub(crate) const LONG_UNICODE: u8 = 0xE4;
pub(crate) const BINARY_7BIT: u8 = 0xE8;
/// Plus the two high bits of a reference; the low byte follows.
pub(crate) const SHARED_VALUE_LONG: u8 = 0xEC;
pub(crate) const START_ARRAY: u8 = 0xF8;
pub(crate) const END_ARRAY: u8 = 0xF9;
pub(crate) const START_OBJECT: u8 = 0xFA;
pub(crate) const END_OBJECT: u8 = 0xFB;
pub(crate) const END_OF_STRING: u8 = 0xFC;
pub(crate) const BINARY_RAW: u8 = 0xFD;
pub(crate) const END_OF_CONTENT: u8 = 0xFF;

pub(crate) const NAME_EMPTY: u8 = 0x20;
/// Plus the two high bits of a reference; the low byte follows.
pub(crate) const NAME_SHARED_LONG: u8 = 0x30;
pub(crate) const NAME_LONG: u8 = 0x34;
/// Plus a reference below 64.
pub(crate) const NAME_SHARED_SHORT: u8 = 0x40;
/// Plus the length of an ASCII name, 1 to 64 bytes.
pub(crate) const NAME_ASCII: u8 = 0x80 - 1;
/// Plus the length of a Unicode name, 2 to 56 bytes.
pub(crate) const NAME_UNICODE: u8 = 0xC0 - 2;

/// Bytes of the longest value whose length is in its token. Only such values are shared.
pub(crate) const SHORT_VALUE_LEN_MAX: usize = 64;
pub(crate) const SHORT_ASCII_NAME_LEN_MAX: usize = 64;
pub(crate) const SHORT_UNICODE_NAME_LEN_MAX: usize = 56;
/// Names that references can point to, and likewise values. The next one clears the table.
pub(crate) const SHARED_MAX: u32 = 1024;

/// Whether a reference may be used: its low byte must not be 0xFE or 0xFF, which mark ends.
pub(crate) const fn can_refer(reference: u32) -> bool {
    reference & 0xFF < 0xFE
}
