//! Which documents of a segment are not deleted.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90LiveDocsFormat`.

use std::io;
use std::path::Path;

use crate::formats::output::{FileOutput, ID_BYTES, Put};

/// How often deletions were written: once.
pub(crate) const GENERATION: u64 = 1;

/// Writes `.liv` for a segment of `docs` documents, of which `deleted` are deleted: ascending, each
/// once.
///
/// # Errors
///
/// If the file cannot be written, or is there.
pub(crate) fn write_live_docs(
    folder: &Path,
    segment: &str,
    id: &[u8; ID_BYTES],
    docs: u32,
    deleted: &[u32],
) -> io::Result<()> {
    let mut words = vec![u64::MAX; docs.div_ceil(u64::BITS) as usize];
    if let (Some(last), used @ 1..) = (words.last_mut(), docs % u64::BITS) {
        *last = u64::MAX >> (u64::BITS - used);
    }
    for doc in deleted {
        words[(doc / u64::BITS) as usize] &= !(1 << (doc % u64::BITS));
    }
    let mut out = FileOutput::create(folder, format!("{segment}_{GENERATION}.liv"))?;
    out.put_index_header("Lucene90LiveDocs", 0, id, &GENERATION.to_string());
    for word in words {
        out.put_u64(word);
    }
    out.put_footer();
    out.finish()?;
    Ok(())
}
