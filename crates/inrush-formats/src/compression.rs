//! Compressed files, recognised by their first bytes.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::input::{Bytes, CountedBuf, Input};

/// A compression that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// Bytes needed to recognise a codec or another binary format. A shorter input that pauses is
/// decided at a line end: no magic number contains one.
pub(crate) const MAGIC_LEN: usize = 16;

impl Codec {
    /// The codec of a file that begins with `head`.
    pub(crate) fn detect(head: &[u8]) -> Option<Codec> {
        match head {
            [0x1F, 0x8B, 8, ..] => Some(Codec::Gzip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Codec::Zstd),
            // A skippable frame may come first (RFC 8878, 3.1.2).
            [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Codec::Zstd),
            // The magic of a block, or of the end in an empty file, follows the level.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Some(Codec::Bzip2),
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Codec::Xz),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Codec::Gzip => "gzip",
            Codec::Zstd => "zstd",
            Codec::Bzip2 => "bzip2",
            Codec::Xz => "xz",
        }
    }

    /// Reads the contents. Several members, frames or streams in a row are one file. `consumed`
    /// counts the compressed bytes that were used.
    pub(crate) fn decompress(self, input: Input, consumed: Arc<AtomicU64>) -> io::Result<Box<dyn Bytes>> {
        let input = CountedBuf::new(input, consumed);
        Ok(match self {
            Codec::Gzip => {
                Box::new(Gzip { member: Some(flate2::bufread::GzDecoder::new(input)), produced: 0, member_start: 0 })
            }
            Codec::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
            Codec::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
            Codec::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(input)),
        })
    }
}

impl Codec {
    /// What reading a file that begins with `head` requires beyond the supported limits, if
    /// anything.
    pub(crate) fn needs(self, head: &[u8]) -> Option<String> {
        let frame = head.strip_prefix(&ZSTD_MAGIC).filter(|_| self == Codec::Zstd)?;
        let (&descriptor, rest) = frame.split_first()?;
        let single_segment = descriptor & 0x20 != 0;
        let (window, rest) = match (single_segment, rest) {
            (true, rest) => (0, rest),
            (false, [byte, rest @ ..]) => (window(*byte), rest),
            (false, []) => return None,
        };
        if window > WINDOW_MAX {
            return Some(format!(
                "it needs a window of {} MiB, and at most {} MiB are supported; unpack it first, with `zstd -d --long=31`",
                window >> 20,
                WINDOW_MAX >> 20
            ));
        }
        let id_len = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let id = rest.get(..id_len)?.iter().rev().fold(0_u32, |id, byte| id << 8 | u32::from(*byte));
        (id != 0).then(|| {
            format!("it needs the dictionary {id} that it was compressed with; unpack it first, with `zstd -d -D DICTIONARY`")
        })
    }

    /// What reading the file would require, as far as the error tells.
    pub(crate) fn needed(self, error: &io::Error, content_bytes: u64) -> Option<&'static str> {
        if self != Codec::Zstd {
            return None;
        }
        let said = error.to_string();
        if said.contains("requires too much memory") {
            Some("it needs a window of more than 128 MiB; unpack it first, with `zstd -d --long=31`")
        } else if said.contains("Dictionary mismatch") {
            Some("it needs the dictionary that it was compressed with; unpack it first, with `zstd -d -D DICTIONARY`")
        } else if said.contains("corruption") && content_bytes == 0 {
            // Dictionaries without an id leave no trace in the file.
            Some(
                "it is damaged, or needs a dictionary that it was compressed with: then unpack it first, with `zstd -d -D DICTIONARY`",
            )
        } else {
            None
        }
    }

    /// The part of `content_bytes` that no checksum has confirmed when a stream proves to be
    /// damaged, as text.
    pub(crate) fn unconfirmed(self, error: &io::Error, content_bytes: u64) -> Option<String> {
        let place = match self {
            Codec::Gzip => {
                let Unconfirmed { from, .. } = error.get_ref()?.downcast_ref()?;
                format!("bytes {from} to {content_bytes} of the content")
            }
            Codec::Zstd => "the content of this frame".to_owned(),
            Codec::Bzip2 | Codec::Xz => "the content of this block".to_owned(),
        };
        Some(format!("{place} may be wrong: no checksum confirms it, and its documents were read"))
    }
}

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The largest window that the library accepts by default, bytes.
const WINDOW_MAX: u64 = 128 << 20;

/// The size that a window descriptor encodes, bytes (RFC 8878, 3.1.1.1.2).
fn window(descriptor: u8) -> u64 {
    let base = 1_u64 << (10 + (descriptor >> 3));
    base + base / 8 * u64::from(descriptor & 7)
}

/// An error in a gzip member that began at byte `from` of the content.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
struct Unconfirmed {
    from: u64,
    error: io::Error,
}

impl Bytes for Gzip {}
impl Bytes for zstd::stream::read::Decoder<'static, CountedBuf> {}
impl Bytes for bzip2::bufread::MultiBzDecoder<CountedBuf> {}
impl Bytes for liblzma::bufread::XzDecoder<CountedBuf> {}

/// Several gzip members in a row. Zeros after the last one are padding, as for `gzip`. Other bytes
/// are an error.
struct Gzip {
    member: Option<flate2::bufread::GzDecoder<CountedBuf>>,
    /// Bytes of content so far, and how many of them precede this member.
    produced: u64,
    member_start: u64,
}

impl Gzip {
    fn explain(&self, error: io::Error) -> io::Error {
        match error.kind() {
            kind @ (io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                io::Error::new(kind, Unconfirmed { from: self.member_start, error })
            }
            _ => error,
        }
    }
}

impl Read for Gzip {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            match member.read(buf) {
                Ok(0) => {}
                Ok(n) => {
                    self.produced += n as u64;
                    return Ok(n);
                }
                Err(error) => return Err(self.explain(error)),
            }
            self.member_start = self.produced;
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
                    "the bytes after the last gzip member are not gzip",
                ));
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;
    use std::sync::atomic::Ordering;

    use super::*;

    pub(crate) fn compress(codec: Codec, data: &[u8]) -> Vec<u8> {
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

    pub(crate) const ALL: [Codec; 4] = [Codec::Gzip, Codec::Zstd, Codec::Bzip2, Codec::Xz];

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
        assert!(result.unwrap_err().to_string().contains("not gzip"));
    }

    #[test]
    fn what_no_checksum_confirms_is_named() {
        let mut data = compress(Codec::Gzip, b"one\n");
        data.extend(compress(Codec::Gzip, b"two\n"));
        let checksum = data.len() - 8;
        data[checksum] ^= 1;
        let (out, result, _) = decompress(data);
        assert_eq!(out, b"one\ntwo\n");
        let said = Codec::Gzip.unconfirmed(&result.unwrap_err(), 8).unwrap();
        assert!(said.starts_with("bytes 4 to 8 of the content"), "{said}");
    }

    #[test]
    fn what_zstd_needs_is_told_by_its_header() {
        let needs = |data: &[u8]| Codec::Zstd.needs(&data[..data.len().min(MAGIC_LEN)]);
        assert_eq!(needs(&compress(Codec::Zstd, b"one\n")), None);
        let of = |parameter, value| {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
            encoder.set_parameter(parameter).unwrap();
            if let Some(log) = value {
                encoder.window_log(log).unwrap();
            }
            encoder.write_all(b"one\n").unwrap();
            encoder.finish().unwrap()
        };
        let long = |log| of(zstd::zstd_safe::CParameter::EnableLongDistanceMatching(true), Some(log));
        assert_eq!(needs(&long(27)), None);
        let needed = needs(&long(31)).unwrap();
        assert!(needed.contains("window of 2048 MiB") && needed.contains("--long=31"), "{needed}");
        // A frame whose descriptor says that a two-byte dictionary id follows the window.
        let needed = needs(&[0x28, 0xB5, 0x2F, 0xFD, 0x02, 0x00, 0x39, 0x05, 0x01, 0, 0]).unwrap();
        assert!(needed.contains("dictionary 1337"), "{needed}");
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
