//! Where the chunks of stored fields and of term vectors are.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.compressing.FieldsIndexWriter`.

use std::io;
use std::path::Path;

use crate::formats::output::{FileOutput, ID_BYTES, Put};
use crate::formats::packed::write_monotonic;

const SHIFT: u32 = 10;

/// The index, and the file that says how to read it.
pub(crate) struct FieldsIndex {
    index: FileOutput,
    pub(crate) meta: FileOutput,
    /// The first document of each chunk, and where it is.
    firsts: Vec<u64>,
    starts: Vec<u64>,
    docs: u64,
}

impl FieldsIndex {
    /// `extensions` and `versions` are those of the index and of its metadata.
    pub(crate) fn create(
        folder: &Path,
        segment: &str,
        id: &[u8; ID_BYTES],
        codec: &str,
        extensions: [&str; 2],
        versions: [u32; 2],
    ) -> io::Result<Self> {
        let open = |at: usize, kind: &str| {
            let mut file = FileOutput::create(folder, format!("{segment}.{}", extensions[at]))?;
            file.put_index_header(&format!("{codec}{kind}"), versions[at], id, "");
            io::Result::Ok(file)
        };
        let (index, meta) = (open(0, "Idx")?, open(1, "Meta")?);
        Ok(Self { index, meta, firsts: Vec::new(), starts: Vec::new(), docs: 0 })
    }

    /// Notes a chunk of that many documents; returns the first of them.
    pub(crate) fn start_chunk(&mut self, docs: u64, position: u64) -> u64 {
        let first = self.docs;
        self.firsts.push(first);
        self.starts.push(position);
        self.docs += docs;
        first
    }

    /// Writes all. `end` is the end of the chunks, `unfinished` are the documents of the last one
    /// if it is not full.
    pub(crate) fn finish(mut self, end: u64, unfinished: u64) -> io::Result<Vec<String>> {
        self.firsts.push(self.docs);
        self.starts.push(end);
        let Self { mut index, mut meta, firsts, starts, docs } = self;
        let chunks = starts.len() as u64 - 1;
        meta.put_u32(docs as u32);
        meta.put_u32(SHIFT);
        meta.put_u32(chunks as u32 + 1);
        meta.put_u64(index.position());
        write_monotonic(&mut meta, &mut index, &firsts, SHIFT);
        meta.put_u64(index.position());
        write_monotonic(&mut meta, &mut index, &starts, SHIFT);
        meta.put_u64(index.position());
        meta.put_u64(end);
        index.put_footer();
        meta.put_vlong(chunks);
        meta.put_vlong(u64::from(unfinished > 0));
        meta.put_vlong(unfinished);
        meta.put_footer();
        [index, meta].into_iter().map(FileOutput::finish).collect()
    }
}
