//! The bytes of a file of unknown format.

use inrush_core::Code;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::SourceError;
use super::compression::{Codec, MAGIC_LEN};
#[cfg(feature = "parquet")]
use super::cut_file::ReadFile;
use super::input::Input;
#[cfg(feature = "parquet")]
use super::open_columns::ParquetOpen;

/// The unchanged bytes of a file.
pub struct Raw {
    /// The stream.
    pub input: Input,
    /// Number of bytes that were read.
    pub read: Arc<AtomicU64>,
    /// The file itself, if it can be read at any offset.
    pub seekable: Option<Seekable>,
}

/// A file that can be read at any offset.
pub enum Seekable {
    /// A regular file of this machine.
    File(File),
    /// A file on a server.
    Remote(Box<dyn RemoteFile>),
}

/// A file on a server that can be read at any offset.
pub trait RemoteFile: Send {
    /// Opens the file as Parquet, and reads only the parts that the reader requests.
    ///
    /// # Errors
    /// A server that cannot return parts of the file, and all errors of [`ParquetOpen::from`].
    #[cfg(feature = "parquet")]
    fn open_parquet(self: Box<Self>, open: ParquetOpen<'_>) -> Result<Box<dyn ReadFile>, SourceError>;
}

/// The bytes of a file, without its compression if it has one.
///
/// # Errors
/// The compression cannot be read.
pub fn contents(raw: Raw, name: &str) -> Result<Input, SourceError> {
    Ok(unpacked(raw.input, raw.read, name)?.contents)
}

/// The bytes of a file, decompressed.
pub(crate) struct Contents {
    pub(crate) codec: Option<Codec>,
    pub(crate) contents: Input,
    /// Bytes of the file that were used.
    pub consumed: Arc<AtomicU64>,
}

/// Decompresses a file if it is compressed. `read` counts the bytes of an uncompressed file that
/// are used.
pub(crate) fn unpacked(mut raw: Input, read: Arc<AtomicU64>, name: &str) -> Result<Contents, SourceError> {
    let head = raw.peek(MAGIC_LEN, |head| head.contains(&b'\n'));
    let Some(codec) = Codec::detect(head) else {
        return Ok(Contents { codec: None, contents: raw, consumed: read });
    };
    if let Some(needs) = codec.needs(head) {
        let message = format!("the {} stream cannot be read: {needs}", codec.name());
        return Err(SourceError::new(name, message).coded(Code::DamagedCompression));
    }
    let consumed = Arc::new(AtomicU64::new(0));
    let contents =
        codec.decompress(raw, Arc::clone(&consumed)).map_err(|e| SourceError::io(name, "cannot be decompressed", e))?;
    Ok(Contents { codec: Some(codec), contents: Input::new(contents), consumed })
}
