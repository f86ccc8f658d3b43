//! The bytes of the format, by the names of its specification (SMILE 1.0).

/// `:)\n`, then a byte of version (0) and options.
pub(super) const HEADER: [u8; 3] = *b":)\n";
pub(super) const SHARED_NAMES: u8 = 0x01;
pub(super) const SHARED_VALUES: u8 = 0x02;
/// Whether binary values may be raw; then `0xFF` can be inside a document.
pub(super) const RAW_BINARY: u8 = 0x04;

pub(super) const EMPTY_STRING: u8 = 0x20;
pub(super) const NULL: u8 = 0x21;
pub(super) const FALSE: u8 = 0x22;
pub(super) const TRUE: u8 = 0x23;
pub(super) const INT_32: u8 = 0x24;
pub(super) const INT_64: u8 = 0x25;
pub(super) const BIG_INTEGER: u8 = 0x26;
pub(super) const FLOAT_32: u8 = 0x28;
pub(super) const FLOAT_64: u8 = 0x29;
pub(super) const BIG_DECIMAL: u8 = 0x2A;
/// The length of an ASCII value of 1 to 64 bytes is added to it.
pub(super) const ASCII: u8 = 0x40 - 1;
/// The length of another value of 2 to 64 bytes is added to it.
pub(super) const UNICODE: u8 = 0x80 - 2;
/// -16 to 15, zigzag, are added to it.
pub(super) const SMALL_INT: u8 = 0xC0;
pub(super) const LONG_ASCII: u8 = 0xE0;
pub(super) const LONG_UNICODE: u8 = 0xE4;
pub(super) const BINARY_7BIT: u8 = 0xE8;
/// The two high bits of a reference are added to it, the low byte follows.
pub(super) const SHARED_VALUE_LONG: u8 = 0xEC;
pub(super) const START_ARRAY: u8 = 0xF8;
pub(super) const END_ARRAY: u8 = 0xF9;
pub(super) const START_OBJECT: u8 = 0xFA;
pub(super) const END_OBJECT: u8 = 0xFB;
pub(super) const END_OF_STRING: u8 = 0xFC;
pub(super) const BINARY_RAW: u8 = 0xFD;
pub(super) const END_OF_CONTENT: u8 = 0xFF;

pub(super) const NAME_EMPTY: u8 = 0x20;
/// The two high bits of a reference are added to it, the low byte follows.
pub(super) const NAME_SHARED_LONG: u8 = 0x30;
pub(super) const NAME_LONG: u8 = 0x34;
/// A reference below 64 is added to it.
pub(super) const NAME_SHARED_SHORT: u8 = 0x40;
/// The length of an ASCII name of 1 to 64 bytes is added to it.
pub(super) const NAME_ASCII: u8 = 0x80 - 1;
/// The length of another name of 2 to 56 bytes is added to it.
pub(super) const NAME_UNICODE: u8 = 0xC0 - 2;

/// Bytes of the longest value that has its length in its token, and that can be shared.
pub(super) const SHORT_VALUE_LEN_MAX: usize = 64;
pub(super) const SHORT_ASCII_NAME_LEN_MAX: usize = 64;
pub(super) const SHORT_UNICODE_NAME_LEN_MAX: usize = 56;
/// Names, and likewise values, that can be referred to. The next one empties the table.
pub(super) const SHARED_MAX: u32 = 1024;

/// Whether a reference may be used: its low byte must not be 0xFE or 0xFF, which mark ends.
pub(super) const fn can_refer(reference: u32) -> bool {
    reference & 0xFF < 0xFE
}
