//! The bytes of a file, before anything is known of its format.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::SourceError;
#[cfg(feature = "parquet")]
use super::binary::ParquetOpen;
use super::compression::{Codec, MAGIC_LEN};
#[cfg(feature = "parquet")]
use super::cut_file::ReadFile;
use super::input::Input;

/// The bytes of a file as they are.
pub struct Raw {
    /// The stream.
    pub input: Input,
    /// How many were read.
    pub read: Arc<AtomicU64>,
    /// The file itself, where it can be read at any place.
    pub seekable: Option<Seekable>,
}

/// A file that can be read at any place.
pub enum Seekable {
    /// A regular file of this machine.
    File(File),
    /// A file on a server.
    Remote(Box<dyn RemoteFile>),
}

/// A file on a server that can be read at any place.
pub trait RemoteFile: Send {
    /// Opens it as Parquet, from the parts of it that a reader asks for.
    ///
    /// # Errors
    /// A server that gives no parts of the file, and all errors of [`ParquetOpen::from`].
    #[cfg(feature = "parquet")]
    fn open_parquet(self: Box<Self>, open: ParquetOpen<'_>) -> Result<Box<dyn ReadFile>, SourceError>;
}

/// The bytes of a file, decompressed.
pub(crate) struct Contents {
    pub(crate) codec: Option<Codec>,
    pub(crate) contents: Input,
    /// Bytes used of the file.
    pub consumed: Arc<AtomicU64>,
}

/// Decompresses a file if it is compressed. `read` counts the bytes that are used of it as it is.
pub(crate) fn unpacked(mut raw: Input, read: Arc<AtomicU64>, name: &str) -> Result<Contents, SourceError> {
    let head = raw.peek(MAGIC_LEN, |head| head.contains(&b'\n'));
    let Some(codec) = Codec::detect(head) else {
        return Ok(Contents { codec: None, contents: raw, consumed: read });
    };
    if let Some(needs) = codec.needs(head) {
        return Err(SourceError::new(name, format!("the {} stream cannot be read: {needs}", codec.name())));
    }
    let consumed = Arc::new(AtomicU64::new(0));
    let contents =
        codec.decompress(raw, Arc::clone(&consumed)).map_err(|e| SourceError::io(name, "cannot be decompressed", e))?;
    Ok(Contents { codec: Some(codec), contents: Input::new(contents), consumed })
}
