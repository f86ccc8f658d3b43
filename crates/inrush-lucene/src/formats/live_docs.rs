//! Which documents of a segment are not deleted.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90LiveDocsFormat`.

use std::io;
use std::path::Path;

use crate::formats::output::{FileOutput, ID_BYTES, Put};

/// How often deletions were written: once.
pub(crate) const GENERATION: u64 = 1;

/// Documents that are deleted: a bit for each up to the last one of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deleted {
    words: Vec<u64>,
    count: u32,
}

impl Deleted {
    fn insert(&mut self, doc: u32) {
        let (word, bit) = ((doc / u64::BITS) as usize, 1 << (doc % u64::BITS));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.count += u32::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    #[cfg(test)]
    pub(crate) fn contains(&self, doc: u32) -> bool {
        self.words.get((doc / u64::BITS) as usize).is_some_and(|word| word >> (doc % u64::BITS) & 1 == 1)
    }
}

impl Extend<u32> for Deleted {
    fn extend<T: IntoIterator<Item = u32>>(&mut self, docs: T) {
        docs.into_iter().for_each(|doc| self.insert(doc));
    }
}

/// Writes `.liv` for a segment of `docs` documents.
///
/// # Errors
///
/// If the file cannot be written, or is there.
pub(crate) fn write_live_docs(
    folder: &Path,
    segment: &str,
    id: &[u8; ID_BYTES],
    docs: u32,
    deleted: &Deleted,
) -> io::Result<()> {
    let mut words = vec![u64::MAX; docs.div_ceil(u64::BITS) as usize];
    if let (Some(last), used @ 1..) = (words.last_mut(), docs % u64::BITS) {
        *last = u64::MAX >> (u64::BITS - used);
    }
    for (word, deleted) in words.iter_mut().zip(&deleted.words) {
        *word &= !deleted;
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
