//! Request bodies, compressed.

use std::fmt;

use bytes::Bytes;
use libdeflater::{CompressionLvl, Compressor};

/// How hard to compress: 1 (fastest) to 12 (smallest), in the steps of libdeflate. Default 1: level 6 takes two to three times as long for bodies
/// that are a fifth smaller, level 9 up to twelve times (`bench/runs/2026-11-21-smile.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GzipLevel(u8);

impl GzipLevel {
    /// The level, or `None` if there is no such one.
    pub const fn new(level: u8) -> Option<Self> {
        if matches!(level, 1..=12) { Some(GzipLevel(level)) } else { None }
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

/// Compresses bodies for `Content-Encoding: gzip`, one after another, each as a whole. This takes a core: 1 MiB is milliseconds, so it belongs where
/// waiting does no harm (`spawn_blocking`), one for each thread that compresses. Memory: what libdeflate needs (up to about 1 MiB), a body as large
/// as the largest that came in several slices, and the largest possible result.
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
        // Every level that can be made is one of libdeflate's.
        let lvl = CompressionLvl::new(level.0.into()).unwrap_or(CompressionLvl::fastest());
        Gzip { compressor: Compressor::new(lvl), level, whole: Vec::new(), compressed: Vec::new() }
    }

    /// The body whose slices these are, as one gzip member, which every reader takes.
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
        // The only error is a result that has no room, and there is room for the largest.
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
        // Not one that goes on to a second member.
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
