//! The dictionary of suggestions: for each term the suggestions with it, as a trie in which those
//! with the highest weight are found first.
//!
//! Source: the documentation of
//! `org.apache.lucene.search.suggest.document.CompletionPostingsFormat` and of `NRTSuggester` in
//! Lucene 9.12. Behind a term stand a byte that ends it, and bytes that tell suggestions of the
//! same term apart.

use std::io;
use std::path::Path;

use crate::formats::field_infos::{POSTINGS_FORMAT, SUGGEST_FORMAT};
use crate::formats::fst::{WeightedTerm, weighted};
use crate::formats::output::{FileOutput, ID_BYTES, Put};

const VERSION: u32 = 1;

/// The byte behind a term.
const END: u8 = 0;
/// The byte between the text of a suggestion and its document.
const SEPARATOR: u8 = 0x1f;

/// The files `.lkp` and `.cmp`.
pub(crate) struct SuggestionsWriter {
    dictionary: FileOutput,
    index: FileOutput,
    fields: Vec<u8>,
    count: u32,
}

/// A suggestion of a term.
pub(crate) struct Suggested<'a> {
    pub(crate) doc: u32,
    pub(crate) text: &'a [u8],
    pub(crate) weight: u32,
}

/// The suggestions of a field, term after term.
#[derive(Default)]
pub(crate) struct FieldSuggestions {
    /// Terms with what stands behind them, and texts with their documents.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    most: usize,
    weights: Option<(u32, u32)>,
}

/// Where the term, and behind it the text, of a suggestion are.
struct Entry {
    term: usize,
    text: usize,
    end: usize,
    cost: u32,
}

/// The greatest weight, from which costs count.
const WEIGHT_MAX: u32 = i32::MAX as u32;

impl FieldSuggestions {
    /// Adds the suggestions of the next term, which is greater than the one before.
    pub(crate) fn add<'a>(&mut self, term: &[u8], suggestions: impl Iterator<Item = Suggested<'a>>) {
        let mut queue: Vec<Suggested> = Vec::new();
        for suggestion in suggestions {
            let (least, most) = self.weights.unwrap_or((suggestion.weight, suggestion.weight));
            self.weights = Some((least.min(suggestion.weight), most.max(suggestion.weight)));
            push_to_heap(&mut queue, suggestion);
        }
        self.most = self.most.max(queue.len());
        // The bytes that tell them apart: the more there are, the more bytes.
        let mut behind = vec![0_u8];
        let mut count = 0;
        for Suggested { doc, text, weight } in queue {
            if count == in_last_byte(behind.len()) {
                let last = behind.len() - 1;
                behind[last] = count as u8;
                behind.push(0);
                count = 0;
            }
            let last = behind.len() - 1;
            behind[last] = count as u8;
            count += 1;
            let at = self.bytes.len();
            self.bytes.extend_from_slice(term);
            self.bytes.push(END);
            self.bytes.extend_from_slice(&behind);
            let text_at = self.bytes.len();
            self.bytes.extend_from_slice(text);
            self.bytes.push(SEPARATOR);
            self.bytes.put_vint(doc);
            self.entries.push(Entry { term: at, text: text_at, end: self.bytes.len(), cost: WEIGHT_MAX - weight });
        }
    }
}

/// How many suggestions the last of some bytes tells apart.
fn in_last_byte(bytes: usize) -> usize {
    let most = 2 * bytes + 1;
    if most >= 255 { 255 } else { (if bytes > 5 { most * bytes } else { most }).min(255) }
}

/// Puts a suggestion into a heap as Java's `PriorityQueue` does, whose order in memory decides
/// which of two with the same weight is found first.
fn push_to_heap<'a>(heap: &mut Vec<Suggested<'a>>, suggestion: Suggested<'a>) {
    heap.push(suggestion);
    let mut at = heap.len() - 1;
    while at > 0 {
        let parent = (at - 1) / 2;
        // The highest weight is the first.
        if heap[at].weight <= heap[parent].weight {
            break;
        }
        heap.swap(at, parent);
        at = parent;
    }
}

impl SuggestionsWriter {
    pub(crate) fn create(folder: &Path, base: &str, id: &[u8; ID_BYTES], suffix: &str) -> io::Result<Self> {
        let open = |extension: &str| {
            let mut file = FileOutput::create(folder, format!("{base}.{extension}"))?;
            file.put_index_header(SUGGEST_FORMAT, VERSION, id, suffix);
            io::Result::Ok(file)
        };
        Ok(Self { dictionary: open("lkp")?, index: open("cmp")?, fields: Vec::new(), count: 0 })
    }

    /// Adds a field that has a term.
    pub(crate) fn add(&mut self, number: u32, suggestions: &FieldSuggestions) {
        let FieldSuggestions { bytes, entries, most, weights } = suggestions;
        let (least_weight, most_weight) = weights.unwrap_or_default();
        let start = self.dictionary.position();
        let term = |entry: &Entry| WeightedTerm {
            term: &bytes[entry.term..entry.text],
            cost: u64::from(entry.cost),
            text: &bytes[entry.text..entry.end],
        };
        let (meta, trie) = weighted(&entries.iter().map(term).collect::<Vec<_>>());
        self.dictionary.put(&meta);
        self.dictionary.put(&trie);
        self.dictionary.put_vint(*most as u32);
        self.dictionary.put_vint(u32::from(END));
        self.dictionary.put_vint(u32::from(SEPARATOR));
        self.fields.put_vint(number);
        self.fields.put_vlong(start);
        self.fields.put_vlong(u64::from(least_weight));
        self.fields.put_vlong(u64::from(most_weight));
        // Without contexts.
        self.fields.put_u8(0);
        self.count += 1;
    }

    pub(crate) fn finish(mut self) -> io::Result<Vec<String>> {
        self.index.put_string(POSTINGS_FORMAT);
        self.index.put_vint(self.count);
        self.index.put(&self.fields);
        self.index.put_footer();
        self.dictionary.put_footer();
        [self.dictionary, self.index].into_iter().map(FileOutput::finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldSuggestions, Suggested, in_last_byte};

    #[test]
    fn suggestions_of_a_term_are_told_apart() {
        let mut found = FieldSuggestions::default();
        let weights = [1, 5, 3, 5];
        found.add(b"a", weights.into_iter().zip(0..).map(|(weight, doc)| Suggested { doc, text: b"A", weight }));
        found.add(b"b", std::iter::once(Suggested { doc: 9, text: b"B", weight: 0 }));
        let entries: Vec<(&[u8], &[u8])> = found
            .entries
            .iter()
            .map(|entry| (&found.bytes[entry.term..entry.text], &found.bytes[entry.text..entry.end]))
            .collect();
        let expected: [(&[u8], &[u8]); 5] = [
            (b"a\0\0", b"A\x1f\x01"),
            (b"a\0\x01", b"A\x1f\x03"),
            (b"a\0\x02", b"A\x1f\x02"),
            (b"a\0\x03\0", b"A\x1f\0"),
            (b"b\0\0", b"B\x1f\x09"),
        ];
        assert_eq!(entries, expected);
        assert_eq!((found.most, found.weights), (4, Some((0, 5))));
        assert_eq!([1, 2, 5, 6, 10, 11, 127].map(in_last_byte), [3, 5, 11, 78, 210, 253, 255]);
    }
}
