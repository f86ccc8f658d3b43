//! The beginning of a source.

use super::{Fingerprint, Source, SourceError, SourceInfo, Step};

/// The beginning of a source, of about a given number of bytes.
pub struct Sampled {
    inner: Box<dyn Source>,
    left: usize,
}

impl Sampled {
    /// Reads about `bytes` of `inner`.
    pub fn new(inner: Box<dyn Source>, bytes: usize) -> Self {
        Sampled { inner, left: bytes }
    }
}

impl Source for Sampled {
    fn describe(&self) -> SourceInfo {
        let mut info = self.inner.describe();
        info.bytes_total = info.bytes_total.map(|total| total.min(self.left as u64));
        info.reading.push_str(" sampled");
        info
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        if self.left == 0 {
            return Ok(Step::End);
        }
        let step = self.inner.next(want_bytes)?;
        if matches!(step, Step::Chunk(_)) {
            self.left = self.left.saturating_sub(want_bytes);
        }
        Ok(step)
    }

    fn keep_texts(&mut self, fields: &[String]) {
        self.inner.keep_texts(fields);
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        self.inner.fingerprints()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FormatOptions, SourceSpec, Warnings, open};
    use super::*;

    #[test]
    fn only_the_beginning_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ndjson");
        std::fs::write(&path, "{\"n\":1}\n".repeat(10_000)).unwrap();
        let whole = open(&[SourceSpec::Path(path)], FormatOptions::default(), &Warnings::default()).unwrap();
        let mut source = Sampled::new(Box::new(whole), 2000);
        let mut documents = 0;
        while let Some(chunk) = source.next_chunk(1000).unwrap() {
            documents += chunk.into_block().records.len();
        }
        assert!((200..=300).contains(&documents), "{documents}");
    }
}
