//! The compression of an output, and the number of its bytes.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use zstd::stream::write::Encoder;

/// The compression of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// None.
    #[default]
    None,
    /// gzip, at level 6.
    Gzip,
    /// zstd, at level 3.
    Zstd,
}

impl Packing {
    /// The ending of a file's name.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Packing::None => "",
            Packing::Gzip => ".gz",
            Packing::Zstd => ".zst",
        }
    }
}

/// A file that is written, and its bytes so far.
pub(super) trait Out: Write + Send {
    /// The bytes that have left the compression.
    fn bytes(&self) -> u64;
}

/// Compresses what is written to it.
pub(super) enum Packed<W: Write> {
    Plain(Counted<W>),
    Gzip(GzEncoder<Counted<W>>),
    Zstd(Encoder<'static, Counted<W>>),
}

impl<W: Write> Packed<W> {
    pub(super) fn new(packing: Packing, out: W) -> io::Result<Self> {
        let out = Counted { out, bytes: 0 };
        Ok(match packing {
            Packing::None => Packed::Plain(out),
            Packing::Gzip => Packed::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Packing::Zstd => Packed::Zstd(Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?),
        })
    }

    /// Writes the end, and returns the number of bytes.
    pub(super) fn finish(self) -> io::Result<u64> {
        let mut out = match self {
            Packed::Plain(out) => out,
            Packed::Gzip(out) => out.finish()?,
            Packed::Zstd(out) => out.finish()?,
        };
        out.out.flush()?;
        Ok(out.bytes)
    }
}

impl<W: Write + Send> Out for Packed<W> {
    fn bytes(&self) -> u64 {
        match self {
            Packed::Plain(out) => out.bytes,
            Packed::Gzip(out) => out.get_ref().bytes,
            Packed::Zstd(out) => out.get_ref().bytes,
        }
    }
}

impl<W: Write> Write for Packed<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Packed::Plain(out) => out.write(data),
            Packed::Gzip(out) => out.write(data),
            Packed::Zstd(out) => out.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Packed::Plain(out) => out.flush(),
            Packed::Gzip(out) => out.flush(),
            Packed::Zstd(out) => out.flush(),
        }
    }
}

/// Counts the bytes that are written.
pub(super) struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.out.write(data)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
