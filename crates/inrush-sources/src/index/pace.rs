//! The size of one search: as many sequence numbers as have about the wanted bytes of documents.

use super::page::{Page, Window};

/// Largest number of sequence numbers in a window, however few of them have a document.
const SPAN_MAX: f64 = 1_000_000.0;
/// Weight of the last page in the averages.
const WEIGHT: f64 = 0.5;
/// Largest growth of a window from one page to the next.
const GROWTH_MAX: f64 = 4.0;

/// Averages of the documents of one shard.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    bytes_wanted: f64,
    docs_max: usize,
    /// Average bytes of a document.
    doc_bytes: f64,
    /// Documents for each sequence number.
    density: f64,
    /// Sequence numbers of the last window.
    span: f64,
    /// Largest number of documents in a search, after a failed one.
    docs_allowed: f64,
}

impl Pace {
    /// `docs_max` is the largest number of documents in a reply, and `doc_bytes` the average of the
    /// sample.
    pub(super) fn new(bytes_wanted: usize, docs_max: usize, doc_bytes: f64) -> Self {
        let doc_bytes = doc_bytes.max(1.0);
        let docs = (bytes_wanted as f64 / doc_bytes).clamp(1.0, docs_max as f64);
        // The first windows are smaller, because the documents of the sample may be small ones.
        let span = (docs / 4.0).max(1.0);
        let docs_allowed = docs_max as f64;
        Pace { bytes_wanted: bytes_wanted as f64, docs_max, doc_bytes, density: 1.0, span, docs_allowed }
    }

    /// The next window, within `from..bound`.
    pub(super) fn window(&self, from: u64, bound: u64) -> Window {
        let docs = (self.bytes_wanted / self.doc_bytes).min(self.docs_allowed).max(1.0);
        let span = (docs / self.density).min(self.span * GROWTH_MAX).clamp(1.0, SPAN_MAX) as u64;
        let end = from.saturating_add(span).min(bound);
        // Half as much again, so that a page with a few documents more than expected is still
        // complete, but at most the size of the window.
        let docs_max = (docs * 1.5) as usize + 1;
        Window { from, end, docs_max: docs_max.min(self.docs_max).min((end - from) as usize).max(1) }
    }

    /// Updates the averages by a page.
    pub(super) fn saw(&mut self, page: &Page, window: &Window) {
        let numbers = page.block.lines.max(1) as f64;
        let docs = page.block.records.len() as f64;
        if docs > 0.0 {
            let bytes = page.block.bytes_read as f64 / docs;
            // A larger average counts at once, so that no page is much larger than wanted.
            self.doc_bytes = bytes.max(self.doc_bytes + WEIGHT * (bytes - self.doc_bytes)).max(1.0);
        }
        self.density = (self.density + WEIGHT * (docs / numbers - self.density)).max(1.0 / SPAN_MAX);
        self.span = (window.end - window.from) as f64;
        self.docs_allowed = (self.docs_allowed * 2.0).min(self.docs_max as f64);
    }

    /// Handles a page that was too large for the server or for this process.
    pub(super) fn failed(&mut self, window: &Window) {
        self.docs_allowed = (window.docs_max as f64 / 2.0).max(1.0);
        self.span = (self.span / 2.0).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::DocBlock;
    use inrush_core::block::Record;

    use super::*;

    fn page(window: &Window, docs: usize, bytes: u64) -> Page {
        let records = vec![Record { start: 0, end: 0, byte: 0, line: 0 }; docs];
        let block = DocBlock { records, bytes_read: bytes, lines: window.end - window.from, ..DocBlock::default() };
        Page { end: window.end, block }
    }

    #[test]
    fn pages_come_near_the_bytes_that_are_wanted() {
        let mut pace = Pace::new(1_000_000, 10_000, 100.0);
        let first = pace.window(0, u64::MAX);
        assert_eq!((first.end, first.docs_max), (10_000, 10_000));
        pace.saw(&page(&first, 10_000, 10_000 * 1_000), &first);
        let next = pace.window(first.end, u64::MAX);
        assert_eq!(next.end - next.from, 1_000);
        pace.saw(&page(&next, 1_000, 100_000), &next);
        let next = pace.window(next.end, next.end + 500);
        assert_eq!((next.end - next.from, next.docs_max), (500, 500));
    }

    #[test]
    fn where_few_numbers_have_a_document_windows_are_wide() {
        let mut pace = Pace::new(1_000_000, 10_000, 1_000.0);
        let mut at = 0;
        for _ in 0..30 {
            let window = pace.window(at, u64::MAX);
            let numbers = window.end - window.from;
            pace.saw(&page(&window, numbers as usize / 1000, numbers), &window);
            at = window.end;
        }
        let window = pace.window(at, u64::MAX);
        assert!((900_000..=1_000_000).contains(&(window.end - window.from)), "{window:?}");
        // The window is halved after a failure, and grows again.
        let docs = window.docs_max;
        pace.failed(&window);
        assert!(pace.window(at, u64::MAX).docs_max <= docs * 3 / 4 + 1);
    }

    #[test]
    fn one_document_at_least_is_asked_for() {
        let mut pace = Pace::new(1_000, 10_000, 1e9);
        let window = pace.window(7, u64::MAX);
        assert_eq!((window.end, window.docs_max), (8, 1));
        pace.failed(&window);
        assert_eq!(pace.window(7, u64::MAX).end, 8);
    }
}
