//! Compression of request bodies.

use std::fmt;

use bytes::Bytes;
pub use inrush_core::GzipLevel;
use libdeflater::{CompressionLvl, Compressor};

/// Compresses bodies for `Content-Encoding: gzip`, one body at a time.
///
/// Compression occupies a core for milliseconds per MiB. Call it where blocking does no harm
/// (`spawn_blocking`), with one `Gzip` per thread. Memory: up to about 1 MiB for libdeflate, the
/// largest body that came in several slices, and the largest possible result.
pub struct Gzip {
    compressor: Compressor,
    level: GzipLevel,
    whole: Vec<u8>,
    compressed: Vec<u8>,
}

impl fmt::Debug for Gzip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gzip").field("level", &self.level).finish_non_exhaustive()
    }
}

impl Gzip {
    /// A compressor of this level.
    pub fn new(level: GzipLevel) -> Self {
        // Every `GzipLevel` is a level of libdeflate.
        let lvl = CompressionLvl::new(level.get().into()).unwrap_or(CompressionLvl::fastest());
        Gzip { compressor: Compressor::new(lvl), level, whole: Vec::new(), compressed: Vec::new() }
    }

    /// The compression level.
    pub fn level(&self) -> GzipLevel {
        self.level
    }

    /// Compresses the body made of `slices` as one gzip member, which every reader accepts.
    pub fn compress(&mut self, slices: &[Bytes]) -> Bytes {
        let body = match slices {
            [only] => &only[..],
            _ => {
                self.whole.clear();
                for slice in slices {
                    self.whole.extend_from_slice(slice);
                }
                &self.whole
            }
        };
        let most = self.compressor.gzip_compress_bound(body.len());
        if self.compressed.len() < most {
            self.compressed.resize(most, 0);
        }
        // A lack of room for the result is the only error, and there is room for the largest
        // result.
        let len =
            self.compressor.gzip_compress(body, &mut self.compressed).expect("there is room for the largest result");
        Bytes::copy_from_slice(&self.compressed[..len])
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn check(slices: &[Bytes], level: GzipLevel, gzip: &mut Gzip) {
        let compressed = gzip.compress(slices);
        // The body is one gzip member, not several.
        let mut reader = flate2::read::GzDecoder::new(&compressed[..]);
        let mut body = Vec::new();
        reader.read_to_end(&mut body).unwrap();
        assert_eq!(body, slices.concat(), "level {level}");
        assert!(reader.into_inner().is_empty());
    }

    #[test]
    fn bodies_come_back() {
        let line = Bytes::from("{\"index\":{}}\n{\"message\":\"GET /index.html\",\"status\":200}\n".repeat(1000));
        for level in (1..=12).filter_map(GzipLevel::new) {
            let mut gzip = Gzip::new(level);
            for slices in [
                vec![],
                vec![Bytes::new()],
                vec![line.clone()],
                vec![line.slice(..5), Bytes::new(), line.slice(5..)],
                vec![line.slice(..1)],
            ] {
                check(&slices, level, &mut gzip);
            }
            assert!(gzip.compress(std::slice::from_ref(&line)).len() * 50 < line.len());
        }
    }

    #[test]
    fn levels_are_those_of_libdeflate() {
        assert_eq!((GzipLevel::new(0), GzipLevel::new(13)), (None, None));
        assert_eq!(GzipLevel::new(1), Some(GzipLevel::default()));
    }
}
