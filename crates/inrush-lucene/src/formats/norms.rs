//! Norms: a byte for each document with the field, which says how long its text is.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90NormsFormat`.

use std::io;
use std::path::Path;

use crate::formats::docs_with::write_docs_with;
use crate::formats::output::{FileOutput, ID_BYTES, Put};

const VERSION: u32 = 0;

/// The files `.nvd` and `.nvm`.
pub(crate) struct NormsWriter {
    data: FileOutput,
    meta: FileOutput,
    max_doc: u32,
}

impl NormsWriter {
    pub(crate) fn create(folder: &Path, segment: &str, id: &[u8; ID_BYTES], max_doc: u32) -> io::Result<Self> {
        let open = |extension: &str, codec: &str| {
            let mut file = FileOutput::create(folder, format!("{segment}.{extension}"))?;
            file.put_index_header(codec, VERSION, id, "");
            io::Result::Ok(file)
        };
        Ok(Self { data: open("nvd", "Lucene90NormsData")?, meta: open("nvm", "Lucene90NormsMetadata")?, max_doc })
    }

    /// Adds the norms of a field. `docs` are the documents with the field; `None` is all of them.
    /// The norm of each is at its number in `norms`.
    pub(crate) fn add(&mut self, number: u32, docs: Option<&[u32]>, norms: &[u8]) {
        self.meta.put_u32(number);
        write_docs_with(&mut self.meta, &mut self.data, docs, self.max_doc);
        let values: Vec<u8> = match docs {
            Some(docs) => docs.iter().map(|&doc| norms[doc as usize]).collect(),
            None => norms.to_vec(),
        };
        self.meta.put_u32(values.len() as u32);
        // Norms are signed.
        let least = values.iter().map(|&norm| norm as i8).min().unwrap_or_default();
        let most = values.iter().map(|&norm| norm as i8).max().unwrap_or_default();
        if least == most {
            self.meta.put_u8(0);
            self.meta.put_i64(i64::from(least));
        } else {
            self.meta.put_u8(1);
            self.meta.put_u64(self.data.position());
            self.data.put(&values);
        }
    }

    pub(crate) fn finish(mut self) -> io::Result<Vec<String>> {
        self.meta.put_i32(-1);
        self.meta.put_footer();
        self.data.put_footer();
        [self.data, self.meta].into_iter().map(FileOutput::finish).collect()
    }
}

/// The norm of a text with that number of terms; it loses precision where they are many.
///
/// Source: the documentation of `org.apache.lucene.util.SmallFloat.intToByte4`. The lengths up to
/// 39 are exact; beyond, three bits behind the highest one are kept.
#[inline]
pub(crate) fn norm(terms: u32) -> u8 {
    const EXACT: u32 = 24;
    if terms < EXACT {
        return terms as u8;
    }
    let rest = terms - EXACT;
    let bits = 32 - rest.leading_zeros();
    if bits < 4 {
        (EXACT + rest) as u8
    } else {
        let shift = bits - 4;
        (EXACT + (rest >> shift & 7 | (shift + 1) << 3)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::norm;

    #[test]
    fn lengths_up_to_39_are_exact_and_all_ascend() {
        assert_eq!((0..=39).map(norm).collect::<Vec<_>>(), (0..=39).collect::<Vec<u8>>());
        assert!((1..100_000).all(|terms| norm(terms - 1) <= norm(terms)));
        assert_eq!((norm(40), norm(41), norm(i32::MAX as u32)), (40, 40, 255));
    }
}
