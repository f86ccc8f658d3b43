//! JSON text to SMILE and back.
//!
//! [SMILE] is a binary form of JSON. Jackson defines it; Elasticsearch and OpenSearch accept it
//! as `application/smile`. [`SmileEncoder`] reads JSON text and writes SMILE in one pass, without a
//! tree of values. Its output equals that of Jackson's generator byte for byte. [`SmileDecoder`]
//! reads SMILE and writes the JSON text that Jackson would write.
//!
//! ```
//! use inrush_smile::{SmileDecoder, SmileEncoder, SmileOptions};
//!
//! let mut encoder = SmileEncoder::new(SmileOptions::default());
//! let mut smile = Vec::new();
//! encoder.encode(br#"{"name":"Ada","born":1815}"#, &mut smile)?;
//! assert!(smile.starts_with(b":)\n"));
//!
//! let mut json = Vec::new();
//! let read = SmileDecoder::default().decode(&smile, &mut json)?;
//! assert_eq!(read, smile.len());
//! assert_eq!(json, br#"{"name":"Ada","born":1815}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A stream is a sequence of documents, each followed by [`SEPARATOR`].
//!
//! # What the encoder refuses
//!
//! The encoder refuses a document that a server would read differently from SMILE than from JSON
//! ([`EncodeError`]): a number that no SMILE form represents exactly, a field that occurs twice in
//! one object, half a surrogate pair. The caller can still send such a document as JSON.
//!
//! # Limits
//!
//! | limit | encoder | decoder |
//! |---|---|---|
//! | nested objects and arrays | [`DEPTH_MAX`] | [`DEPTH_MAX`] |
//! | bytes of a field name | [`NAME_LEN_MAX`] | 3 x [`NAME_LEN_MAX`] |
//! | digits of a whole number | 1,000 | about 10,000 |
//! | bytes of a document | 2 GiB | - |
//!
//! The crate uses `core` and `alloc` only.
//!
//! [SMILE]: https://github.com/FasterXML/smile-format-specification

#![cfg_attr(not(test), no_std)]

extern crate alloc;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod big;
mod decimal;
mod decode;
mod encode;
mod names;
mod number;
mod output;
#[cfg(test)]
mod tests;
mod text;
mod token;
mod values;

pub use decode::{DecodeError, SmileDecoder};
pub use encode::SmileEncoder;

/// The end-of-content marker of the specification. It separates the documents of a stream and never
/// occurs inside a document, because binary values are written with seven bits a byte.
pub const SEPARATOR: u8 = token::END_OF_CONTENT;

/// Nested objects and arrays in one document, at most, in either direction. Jackson has the same
/// limit (`StreamReadConstraints.DEFAULT_MAX_DEPTH`).
pub const DEPTH_MAX: usize = 1000;

/// Bytes of the longest field name that the encoder accepts. Jackson accepts names of 50,000
/// characters (`StreamReadConstraints.DEFAULT_MAX_NAME_LEN`).
pub const NAME_LEN_MAX: usize = 50_000;

/// How an encoder writes documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SmileOptions {
    /// Whether a string value of at most 64 bytes that occurs again in the same document is
    /// written as a reference to the first one. Default: off, as in Jackson.
    ///
    /// Documents with repeated values become smaller. Every short string costs a hash here and
    /// memory in the reader.
    pub shared_values: bool,
    /// How numbers with a point or an exponent are written. Default: [`Decimals::ByText`].
    pub decimals: Decimals,
}

impl SmileOptions {
    /// Sets [`SmileOptions::shared_values`].
    #[must_use]
    pub fn with_shared_values(self, shared_values: bool) -> Self {
        SmileOptions { shared_values, ..self }
    }

    /// Sets [`SmileOptions::decimals`].
    #[must_use]
    pub fn with_decimals(self, decimals: Decimals) -> Self {
        SmileOptions { decimals, ..self }
    }
}

/// How a JSON number with a point or an exponent is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decimals {
    /// The reader's text of the number equals the text in the document. That matters where text,
    /// keyword or date fields take numbers.
    ///
    /// A number becomes a double if Java prints that double as the document spells it (`1.5`), else
    /// a BigDecimal (`1.50`; `12345678.5`, whose double Java prints as `1.23456785E7`). A number
    /// that neither form reproduces (`1e3`) is [`EncodeError::Inexact`].
    #[default]
    ByText,
    /// The number becomes a double, as in Jackson, if the double has the same value. Otherwise it
    /// is [`EncodeError::Inexact`]. This is enough where decimals go into numeric fields only.
    ByValue,
}

/// Why a document has no exact SMILE form. It can still be sent as JSON.
///
/// Every offset is in bytes from the start of the document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The document is not JSON.
    #[error("the document is not JSON at byte {at}: {reason}")]
    Invalid {
        /// The offset of the first byte that does not fit.
        at: usize,
        /// What was expected or found.
        reason: &'static str,
    },
    /// An object has the same field twice. Servers refuse such an object.
    #[error("an object has the field at byte {at} twice")]
    DuplicateName {
        /// The offset of the second name.
        at: usize,
    },
    /// A field name has more than [`NAME_LEN_MAX`] bytes.
    #[error("the field name at byte {at} has more than {NAME_LEN_MAX} bytes")]
    NameTooLong {
        /// The offset of the name.
        at: usize,
    },
    /// A number would be read back as another one: `-0`, a number with too many digits, or a number
    /// that [`Decimals`] excludes.
    #[error("SMILE cannot represent the number at byte {at} exactly")]
    Inexact {
        /// The offset of the number.
        at: usize,
    },
    /// More than [`DEPTH_MAX`] objects and arrays are nested.
    #[error("more than {DEPTH_MAX} nested objects and arrays at byte {at}")]
    TooDeep {
        /// The offset of the first object or array beyond the limit.
        at: usize,
    },
    /// The document has 2 GiB or more.
    #[error("the document has {bytes} bytes; at most {} can be encoded", i32::MAX)]
    TooLarge {
        /// The size of the document, bytes.
        bytes: usize,
    },
}

impl EncodeError {
    fn invalid(at: usize, reason: &'static str) -> Self {
        EncodeError::Invalid { at, reason }
    }
}
