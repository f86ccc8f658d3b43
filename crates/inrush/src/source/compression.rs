//! Compressed files, recognised by their first bytes.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::input::{Bytes, CountedBuf, Input};

/// A compression we can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// Bytes needed to recognise a codec or another binary format.
/// A file that says less and then falls silent has said enough with a line end: no magic number has one.
pub(super) const MAGIC_LEN: usize = 16;

impl Codec {
    /// The codec of a file that begins with `head`.
    pub(super) fn detect(head: &[u8]) -> Option<Codec> {
        match head {
            [0x1F, 0x8B, 8, ..] => Some(Codec::Gzip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Codec::Zstd),
            // A skippable frame may come first (RFC 8878, 3.1.2).
            [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Codec::Zstd),
            // The magic of a block, or that of the end in an empty file, follows the level.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Some(Codec::Bzip2),
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Codec::Xz),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Codec::Gzip => "gzip",
            Codec::Zstd => "zstd",
            Codec::Bzip2 => "bzip2",
            Codec::Xz => "xz",
        }
    }

    /// Reads the contents. Several members, frames or streams in a row are one file. `consumed` counts the compressed
    /// bytes that were used.
    pub(super) fn decompress(self, input: Input, consumed: Arc<AtomicU64>) -> io::Result<Box<dyn Bytes>> {
        let input = CountedBuf::new(input, consumed);
        Ok(match self {
            Codec::Gzip => Box::new(Gzip { member: Some(flate2::bufread::GzDecoder::new(input)) }),
            Codec::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
            Codec::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
            Codec::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(input)),
        })
    }
}

impl Bytes for Gzip {}
impl Bytes for zstd::stream::read::Decoder<'static, CountedBuf> {}
impl Bytes for bzip2::bufread::MultiBzDecoder<CountedBuf> {}
impl Bytes for liblzma::bufread::XzDecoder<CountedBuf> {}

/// Several gzip members in a row. Zeros after the last one are padding, as `gzip` sees it; anything else is an error.
struct Gzip {
    member: Option<flate2::bufread::GzDecoder<CountedBuf>>,
}

impl Read for Gzip {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            let n = member.read(buf)?;
            if n > 0 {
                return Ok(n);
            }
            let Some(mut input) = self.member.take().map(flate2::bufread::GzDecoder::into_inner) else { break };
            if next_member(&mut input)? {
                self.member = Some(flate2::bufread::GzDecoder::new(input));
            }
        }
        Ok(0)
    }
}

fn next_member(input: &mut CountedBuf) -> io::Result<bool> {
    let mut padded = false;
    loop {
        let rest = input.fill_buf()?;
        match rest.first() {
            None => return Ok(false),
            Some(0x1F) if !padded => return Ok(true),
            Some(0) => {
                let zeros = rest.iter().take_while(|&&b| b == 0).count();
                input.consume(zeros);
                padded = true;
            }
            Some(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "bytes follow the last gzip member that are no gzip",
                ));
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;
    use std::sync::atomic::Ordering;

    use super::*;

    pub(in crate::source) fn compress(codec: Codec, data: &[u8]) -> Vec<u8> {
        match codec {
            Codec::Gzip => {
                let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                writer.write_all(data).unwrap();
                writer.finish().unwrap()
            }
            Codec::Zstd => zstd::encode_all(data, 1).unwrap(),
            Codec::Bzip2 => {
                let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                writer.write_all(data).unwrap();
                writer.finish().unwrap()
            }
            Codec::Xz => {
                let mut writer = liblzma::write::XzEncoder::new(Vec::new(), 1);
                writer.write_all(data).unwrap();
                writer.finish().unwrap()
            }
        }
    }

    pub(in crate::source) const ALL: [Codec; 4] = [Codec::Gzip, Codec::Zstd, Codec::Bzip2, Codec::Xz];

    fn decompress(data: Vec<u8>) -> (Vec<u8>, io::Result<usize>, u64) {
        let codec = Codec::detect(&data).unwrap();
        let consumed = Arc::new(AtomicU64::new(0));
        let mut reader = codec.decompress(Input::new(io::Cursor::new(data)), Arc::clone(&consumed)).unwrap();
        let mut out = Vec::new();
        let result = reader.read_to_end(&mut out);
        (out, result, consumed.load(Ordering::Relaxed))
    }

    #[test]
    fn several_streams_in_a_row_are_one_file() {
        for codec in ALL {
            let mut data = compress(codec, b"one\n");
            data.extend(compress(codec, b""));
            data.extend(compress(codec, b"two\n"));
            let len = data.len() as u64;
            let (out, result, consumed) = decompress(data);
            result.unwrap();
            assert_eq!(out, b"one\ntwo\n", "{codec:?}");
            assert_eq!(consumed, len, "{codec:?}");
        }
    }

    #[test]
    fn zstd_skips_skippable_frames_wherever_they_are() {
        let skippable = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let mut data = skippable.to_vec();
        data.extend(compress(Codec::Zstd, b"one\n"));
        data.extend(skippable);
        data.extend(compress(Codec::Zstd, b"two\n"));
        data.extend(skippable);
        let (out, result, _) = decompress(data);
        result.unwrap();
        assert_eq!(out, b"one\ntwo\n");
    }

    #[test]
    fn gzip_takes_zero_padding_and_refuses_garbage() {
        let mut data = compress(Codec::Gzip, b"one\n");
        data.extend([0; 512]);
        assert_eq!(decompress(data.clone()).1.unwrap(), 4);
        data.extend(b"x");
        let (out, result, _) = decompress(data);
        assert_eq!(out, b"one\n");
        assert!(result.unwrap_err().to_string().contains("no gzip"));
    }

    #[test]
    fn a_stream_that_is_cut_off_is_an_error_wherever_it_is_cut() {
        let mut text = Vec::new();
        for i in 0..2000 {
            writeln!(text, "{}", i * 7919 % 1000).unwrap();
        }
        for codec in ALL {
            let data = compress(codec, &text);
            for cut in [MAGIC_LEN, data.len() / 2, data.len() - 1] {
                let (out, result, _) = decompress(data[..cut].to_vec());
                assert!(result.is_err(), "{codec:?} cut at {cut} of {}", data.len());
                assert!(text.starts_with(&out));
            }
        }
    }
}
