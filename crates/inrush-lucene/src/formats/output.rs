//! Bytes as Lucene's `DataOutput` writes them, and files with Lucene's headers and checksums.
//!
//! Source: the documentation of `org.apache.lucene.store.DataOutput` and
//! `org.apache.lucene.codecs.CodecUtil`. Fixed-width integers are little-endian, those of headers
//! and footers big-endian.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The length of the ids of segments and commits, in bytes.
pub(crate) const ID_BYTES: usize = 16;

const CODEC_MAGIC: u32 = 0x3fd7_6c17;
const FOOTER_MAGIC: u32 = !CODEC_MAGIC;

/// A place that bytes are appended to.
pub(crate) trait Put {
    fn put(&mut self, bytes: &[u8]);

    fn put_u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    fn put_u16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    fn put_u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    fn put_i32(&mut self, value: i32) {
        self.put(&value.to_le_bytes());
    }

    fn put_i64(&mut self, value: i64) {
        self.put(&value.to_le_bytes());
    }

    /// Seven bits a byte, the lowest first; the highest bit says that more follow.
    fn put_vlong(&mut self, mut value: u64) {
        let mut bytes = [0; 10];
        let mut len = 0;
        while value >= 0x80 {
            bytes[len] = value as u8 | 0x80;
            value >>= 7;
            len += 1;
        }
        bytes[len] = value as u8;
        self.put(&bytes[..=len]);
    }

    fn put_vint(&mut self, value: u32) {
        self.put_vlong(u64::from(value));
    }

    /// A signed number, small where its distance from 0 is.
    fn put_zlong(&mut self, value: i64) {
        self.put_vlong(zigzag(value));
    }

    fn put_string(&mut self, text: &str) {
        self.put_vint(text.len() as u32);
        self.put(text.as_bytes());
    }

    fn put_string_map(&mut self, map: &[(String, String)]) {
        self.put_vint(map.len() as u32);
        for (key, value) in map {
            self.put_string(key);
            self.put_string(value);
        }
    }

    fn put_string_set(&mut self, set: &[String]) {
        self.put_vint(set.len() as u32);
        for text in set {
            self.put_string(text);
        }
    }

    /// A codec header: a magic number, the name of the format and its version.
    fn put_header(&mut self, codec: &str, version: u32) {
        self.put(&CODEC_MAGIC.to_be_bytes());
        self.put_string(codec);
        self.put(&version.to_be_bytes());
    }

    /// A codec header, the id of the segment or commit, and the suffix of the file's name.
    fn put_index_header(&mut self, codec: &str, version: u32, id: &[u8; ID_BYTES], suffix: &str) {
        self.put_header(codec, version);
        self.put(id);
        self.put_u8(suffix.len() as u8);
        self.put(suffix.as_bytes());
    }
}

impl Put for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }

    #[inline]
    fn put_vlong(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }
}

/// Appends a footer to bytes that are whole.
pub(crate) fn put_footer(bytes: &mut Vec<u8>) {
    bytes.put(&FOOTER_MAGIC.to_be_bytes());
    bytes.put(&0_u32.to_be_bytes());
    let checksum = u64::from(crc32fast::hash(bytes));
    bytes.put(&checksum.to_be_bytes());
}

/// Maps 0, -1, 1, -2 … to 0, 1, 2, 3 …
#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Bytes that are kept before they go to the file at once.
const BUFFER_BYTES: usize = 64 << 10;

/// One file of an index, written from its beginning to its end.
///
/// An error of the disk is kept and returned by [`FileOutput::finish`], so that the formats need
/// not ask after each number.
pub(crate) struct FileOutput {
    name: String,
    file: File,
    buffer: Vec<u8>,
    spilled: u64,
    checksum: crc32fast::Hasher,
    error: Option<io::Error>,
}

impl FileOutput {
    /// Creates the file; it must not exist yet.
    pub(crate) fn create(folder: &Path, name: String) -> io::Result<Self> {
        let file = File::create_new(folder.join(&name))?;
        Ok(Self {
            name,
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES * 2),
            spilled: 0,
            checksum: crc32fast::Hasher::new(),
            error: None,
        })
    }

    /// The number of bytes so far, which is where the next byte will be.
    pub(crate) fn position(&self) -> u64 {
        self.spilled + self.buffer.len() as u64
    }

    fn spill(&mut self) {
        self.checksum.update(&self.buffer);
        self.spilled += self.buffer.len() as u64;
        if self.error.is_none()
            && let Err(error) = self.file.write_all(&self.buffer)
        {
            self.error = Some(error);
        }
        self.buffer.clear();
    }

    /// Appends the footer.
    pub(crate) fn put_footer(&mut self) {
        self.put(&FOOTER_MAGIC.to_be_bytes());
        self.put(&0_u32.to_be_bytes());
        self.spill();
        let checksum = u64::from(self.checksum.clone().finalize());
        self.put(&checksum.to_be_bytes());
    }

    /// Writes what is left, and returns the name of the file. Does not sync.
    pub(crate) fn finish(mut self) -> io::Result<String> {
        self.spill();
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.name),
        }
    }
}

impl Put for FileOutput {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES {
            self.spill();
        }
    }
}
