//! The beginning of a source.

use super::{Chunk, Fingerprint, Repeats, Source, SourceError, Warnings};

/// What a source begins with, cut off where about so many bytes were asked of it.
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
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left = self.left.saturating_sub(bytes);
        self.inner.next_chunk(bytes)
    }

    fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    fn bytes_total(&self) -> Option<u64> {
        self.inner.bytes_total().map(|total| total.min(self.left as u64))
    }

    fn repeats(&self) -> Repeats {
        self.inner.repeats()
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        self.inner.fingerprints()
    }

    fn keep_texts(&mut self, fields: &[String]) {
        self.inner.keep_texts(fields);
    }

    fn reading(&self) -> String {
        format!("{} sampled", self.inner.reading())
    }

    fn warnings(&self) -> Option<Warnings> {
        self.inner.warnings()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FormatOptions, SourceSpec, open};
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
