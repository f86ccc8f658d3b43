//! Formats of request bodies: how they are encoded and compressed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The encoding of documents in a request. Servers store `_source` in this encoding, and transcode
/// it whenever it is read in the other one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// NDJSON.
    #[default]
    Json,
    /// SMILE, binary JSON.
    Smile,
}

impl Encoding {
    /// The `Content-Type` of a bulk body.
    pub const fn content_type(self) -> &'static str {
        match self {
            Encoding::Json => "application/x-ndjson",
            Encoding::Smile => "application/smile",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encoding::Json => "json",
            Encoding::Smile => "smile",
        })
    }
}

/// The gzip level: 1 (fastest) to 12 (smallest), as in libdeflate. Default 1: level 6 takes two to
/// three times as long for bodies that are a fifth smaller, level 9 up to twelve times
/// (`bench/runs/2026-11-21-smile/README.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct GzipLevel(u8);

impl GzipLevel {
    /// The level, or `None` outside 1 to 12.
    pub const fn new(level: u8) -> Option<Self> {
        if matches!(level, 1..=12) { Some(GzipLevel(level)) } else { None }
    }

    /// The level as a number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for GzipLevel {
    fn default() -> Self {
        GzipLevel(1)
    }
}

impl fmt::Display for GzipLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<u8> for GzipLevel {
    type Error = String;

    fn try_from(level: u8) -> Result<Self, String> {
        GzipLevel::new(level).ok_or_else(|| format!("gzip level {level}: expected 1 (fastest) to 12 (smallest)"))
    }
}

impl From<GzipLevel> for u8 {
    fn from(level: GzipLevel) -> u8 {
        level.0
    }
}

/// The compression of request bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// `Content-Encoding: gzip`.
    Gzip(GzipLevel),
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compression::None => f.write_str("none"),
            Compression::Gzip(level) => write!(f, "gzip:{level}"),
        }
    }
}

impl FromStr for Compression {
    type Err = String;

    /// Parses `none`, `gzip` (level 1) or `gzip:LEVEL`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "none" => Ok(Compression::None),
            None if text == "gzip" => Ok(Compression::Gzip(GzipLevel::default())),
            Some(("gzip", level)) => {
                let level = level.parse::<u8>().map_err(|_| format!("gzip level {level:?} is not a whole number"))?;
                GzipLevel::try_from(level).map(Compression::Gzip)
            }
            _ => Err(format!(
                "unknown compression {text:?}; expected none, gzip or gzip:LEVEL with a level from 1 to 12"
            )),
        }
    }
}

/// Encoding and compression of a request body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BodyFormat {
    /// The encoding of documents.
    pub encoding: Encoding,
    /// The compression of the body.
    pub compression: Compression,
}

impl BodyFormat {
    /// Uncompressed JSON, which every server accepts.
    pub const PLAIN: BodyFormat = BodyFormat { encoding: Encoding::Json, compression: Compression::None };

    /// Sets the encoding.
    #[must_use]
    pub const fn with_encoding(self, encoding: Encoding) -> Self {
        BodyFormat { encoding, ..self }
    }
}

impl fmt::Display for BodyFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.compression {
            Compression::None => self.encoding.fmt(f),
            compression => write!(f, "{} {compression}", self.encoding),
        }
    }
}

/// A change of the body format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyFormatChange {
    /// The format before.
    pub from: BodyFormat,
    /// The format from now on.
    pub to: BodyFormat,
    /// The reason in words, with its figures.
    pub why: String,
    /// The server does not accept the old format. The change is a warning then.
    pub forced: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_are_read_as_they_are_written() {
        for text in ["none", "gzip:1", "gzip:12"] {
            assert_eq!(text.parse::<Compression>().unwrap().to_string(), text);
        }
        assert_eq!("gzip".parse(), Ok(Compression::Gzip(GzipLevel::default())));
        for (bad, problem) in [("zstd", "unknown compression"), ("gzip:0", "expected 1"), ("gzip:x", "whole number")] {
            let error = bad.parse::<Compression>().unwrap_err();
            assert!(error.contains(problem), "{bad}: {error}");
        }
        let format = BodyFormat { encoding: Encoding::Smile, compression: Compression::Gzip(GzipLevel::default()) };
        assert_eq!([format.to_string(), BodyFormat::PLAIN.to_string()], ["smile gzip:1", "json"]);
    }
}
