//! The values of a field, document after document, until the segment is written.

use crate::analysis::{Analyzer, Pipeline, Plain};
use crate::build::intern::Interner;
use crate::build::offsets::{Offsets, Units};
use crate::build::order::Order;
use crate::formats::doc_values::Values;
use crate::formats::terms::TermState;
use crate::memory::Memory;

/// The documents of values, in the order of the values.
#[derive(Default)]
pub(crate) struct Docs {
    list: Vec<u32>,
    /// As long as each document has one value, they are not listed.
    is_listed: bool,
    count: u32,
}

impl Docs {
    #[inline]
    pub(crate) fn push(&mut self, doc: u32) {
        if !self.is_listed && doc != self.count {
            self.list();
        }
        if self.is_listed {
            self.list.push(doc);
        }
        self.count += 1;
    }

    #[cold]
    fn list(&mut self) {
        self.list.extend(0..self.count);
        self.is_listed = true;
    }

    /// The document of each value, or `None` if each of `max_doc` documents has one.
    pub(crate) fn finish(&mut self, max_doc: u32) -> Option<&[u32]> {
        if !self.is_listed && self.count != max_doc {
            self.list();
        }
        self.listed()
    }

    fn listed(&self) -> Option<&[u32]> {
        self.is_listed.then_some(&self.list)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many different documents there are.
    pub(crate) fn distinct(&self) -> u32 {
        self.listed().map_or(self.count, |docs| docs.chunk_by(|a, b| a == b).count() as u32)
    }

    pub(super) fn held(&self) -> usize {
        4 * self.list.len()
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        (self.is_listed, self.count) = (false, 0);
    }

    /// Lists other documents in their place.
    pub(crate) fn replace(&mut self, docs: impl Iterator<Item = u32>) {
        self.list.clear();
        self.list.extend(docs);
        self.is_listed = true;
    }

    /// Bytes that [`Order::apply`] needs.
    pub(super) fn sorting(&self, docs: u32) -> usize {
        // The list, if it is not there yet, and the places in two forms; or the places alone.
        let each = if self.is_listed || self.count != docs { 16 } else { 4 };
        each * self.count as usize
    }
}

/// Numbers.
#[derive(Default)]
pub(crate) struct Numbers {
    pub(crate) values: Vec<i64>,
    pub(crate) docs: Docs,
}

impl Numbers {
    #[inline]
    pub(crate) fn push(&mut self, doc: u32, value: i64) {
        self.values.push(value);
        self.docs.push(doc);
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.docs.clear();
    }

    /// The values with those of a document ascending.
    pub(crate) fn ascending(&mut self, max_doc: u32) -> Values<'_> {
        let docs = self.docs.finish(max_doc);
        sort_in_docs(&mut self.values, docs);
        Values { values: &self.values, docs }
    }

    /// Puts the values into another order of the documents.
    pub(crate) fn sort(&mut self, order: &Order) {
        self.values = moved(&self.values, &order.apply(&mut self.docs));
    }

    pub(crate) fn sorting(&self, docs: u32) -> usize {
        8 * self.values.len() + self.docs.sorting(docs)
    }

    pub(crate) fn memory(&self) -> Memory {
        let count = self.values.len();
        // Two arrays of words are sorted; or documents and their counts and addresses.
        Memory { held: 8 * count + self.docs.held(), writing: 20 * count }
    }
}

/// Sorts the values of each document.
pub(crate) fn sort_in_docs<T: Ord>(values: &mut [T], docs: Option<&[u32]>) {
    let mut start = 0;
    for same in docs.into_iter().flat_map(|docs| docs.chunk_by(|a, b| a == b)) {
        let end = start + same.len();
        if same.len() > 1 {
            values[start..end].sort_unstable();
        }
        start = end;
    }
}

/// The values in another order: where each of them was.
pub(super) fn moved<T: Copy>(values: &[T], places: &[u32]) -> Vec<T> {
    places.iter().map(|place| values[*place as usize]).collect()
}

/// Addresses of 128 bits.
#[derive(Default)]
pub(crate) struct Addresses {
    pub(crate) values: Vec<u128>,
    pub(crate) docs: Docs,
}

impl Addresses {
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.docs.clear();
    }

    /// Puts the values into another order of the documents.
    pub(crate) fn sort(&mut self, order: &Order) {
        self.values = moved(&self.values, &order.apply(&mut self.docs));
    }

    pub(crate) fn sorting(&self, docs: u32) -> usize {
        16 * self.values.len() + self.docs.sorting(docs)
    }

    pub(crate) fn memory(&self) -> Memory {
        let count = self.values.len();
        // Sorted pairs of 32 bytes, and ordinals with their documents, twice.
        Memory { held: 16 * count + self.docs.held(), writing: 60 * count }
    }
}

/// Terms, of which a document has some without an order.
pub(crate) struct Keywords {
    pub(crate) terms: Interner,
    /// The number of each value's term.
    pub(crate) values: Vec<u32>,
    pub(crate) docs: Docs,
    /// Whether parts of the terms are written.
    pub(crate) grams: bool,
}

impl Keywords {
    pub(crate) fn new() -> Self {
        Self { terms: Interner::new(), values: Vec::new(), docs: Docs::default(), grams: false }
    }

    /// Forgets the terms with their memory.
    pub(crate) fn renew(&mut self) {
        *self = Self { grams: self.grams, ..Self::new() };
    }

    #[inline]
    pub(crate) fn push(&mut self, doc: u32, term: &[u8]) {
        self.values.push(self.terms.number(term));
        self.docs.push(doc);
    }

    pub(crate) fn clear(&mut self) {
        self.terms.clear();
        self.values.clear();
        self.docs.clear();
    }

    /// Puts the values into another order of the documents.
    pub(crate) fn sort(&mut self, order: &Order) {
        if !self.values.is_empty() {
            self.values = moved(&self.values, &order.apply(&mut self.docs));
        }
    }

    pub(crate) fn sorting(&self, docs: u32) -> usize {
        4 * self.values.len() + self.docs.sorting(docs)
    }

    pub(crate) fn memory(&self) -> Memory {
        let (terms, count) = (self.terms.len(), self.values.len());
        let held = self.terms.held() + 4 * count + self.docs.held();
        // The order of the terms; then the ranks of terms and values, or the grouped documents and
        // where they are written.
        let per_value = if self.docs.is_listed { 36 } else { 8 };
        let ranks = 8 * terms + per_value * count;
        let grouped = (8 + size_of::<TermState>()) * terms + 4 * count;
        // The parts of each term, and which terms have each of them.
        let grams = if self.grams { 4 * count + 24 * self.terms.held() } else { 0 };
        Memory { held, writing: 4 * terms + ranks.max(grouped) + grams }
    }
}

/// Texts: the terms of each document in their order.
pub(crate) struct Texts {
    pub(crate) terms: Interner,
    /// The number of each occurrence's term.
    pub(crate) occurrences: Vec<u32>,
    /// The documents with the field, and where the occurrences of each end.
    pub(crate) docs: Docs,
    pub(crate) ends: Vec<u32>,
    /// Where a text has a further value: the place of the text, and the number of the next
    /// occurrence, whose position is further from the one before.
    pub(crate) jumps: Vec<(u32, u32)>,
    /// Where the occurrences are in the texts, if the field has that.
    offsets: Option<Offsets>,
    /// The position of each occurrence in its document without the gaps between values, where that
    /// is not its number.
    pub(crate) positions: Option<Vec<u32>>,
    /// One less than the position of the next occurrence, if that is one position further.
    position: u32,
    last_doc: Option<u32>,
}

impl Texts {
    pub(crate) fn new(offsets: bool, analyzer: &Analyzer) -> Self {
        let positions = matches!(analyzer, Analyzer::Pipeline(_)).then(Vec::new);
        Self::with(offsets.then(Offsets::default), positions)
    }

    fn with(offsets: Option<Offsets>, positions: Option<Vec<u32>>) -> Self {
        Self {
            terms: Interner::new(),
            occurrences: Vec::new(),
            docs: Docs::default(),
            ends: Vec::new(),
            jumps: Vec::new(),
            offsets,
            positions,
            position: 0,
            last_doc: None,
        }
    }

    /// Forgets the texts with their memory.
    pub(crate) fn renew(&mut self) {
        let offsets = self.offsets.as_ref().map(|_| Offsets::default());
        *self = Self::with(offsets, self.positions.as_ref().map(|_| Vec::new()));
    }

    pub(crate) fn clear(&mut self) {
        self.terms.clear();
        self.occurrences.clear();
        self.docs.clear();
        self.ends.clear();
        self.jumps.clear();
        if let Some(offsets) = &mut self.offsets {
            offsets.clear();
        }
        if let Some(positions) = &mut self.positions {
            positions.clear();
        }
        self.last_doc = None;
    }

    /// Adds a value of a document.
    #[inline]
    pub(crate) fn add(&mut self, doc: u32, analyzer: &Analyzer, text: &str) {
        self.start(doc);
        match analyzer {
            Analyzer::Plain(plain) if self.offsets.is_none() => plain.each(text, |term| self.push(term)),
            Analyzer::Plain(plain) => self.add_with_offsets(*plain, text),
            Analyzer::Pipeline(pipeline) => self.add_with_positions(pipeline, text),
        }
    }

    fn add_with_positions(&mut self, pipeline: &Pipeline, text: &str) {
        let end = pipeline.each(text, self.offsets.is_some(), |term| {
            self.push(term.term);
            self.position = self.position.wrapping_add(term.increment);
            if let Some(positions) = &mut self.positions {
                positions.push(self.position);
            }
            if let Some(offsets) = &mut self.offsets {
                offsets.push(term.offsets.0, term.offsets.1);
            }
        });
        self.position = self.position.wrapping_add(end.increment);
        if let Some(offsets) = &mut self.offsets {
            offsets.end_value(end.offset);
        }
    }

    fn add_with_offsets(&mut self, analyzer: Plain, text: &str) {
        let mut units = Units::new(text);
        analyzer.each_at(text, |place, term| {
            self.push(term);
            if let Some(offsets) = &mut self.offsets {
                offsets.push(units.before(place.start), units.before(place.end));
            }
        });
        if let Some(offsets) = &mut self.offsets {
            offsets.end_value(units.before(text.len()));
        }
    }

    /// Begins a value of a document; [`Texts::push`] adds its terms.
    fn start(&mut self, doc: u32) {
        if self.last_doc == Some(doc) {
            self.jumps.push((self.ends.len() as u32 - 1, self.occurrences.len() as u32));
        } else {
            self.docs.push(doc);
            self.ends.push(self.occurrences.len() as u32);
            self.last_doc = Some(doc);
            // The first one of a document is at 0.
            self.position = u32::MAX;
            if let Some(offsets) = &mut self.offsets {
                offsets.start();
            }
        }
    }

    /// Where each occurrence starts and ends in the texts of its document, if the field has that.
    pub(crate) fn offsets(&self) -> Option<&[(u32, u32)]> {
        self.offsets.as_ref().map(Offsets::places)
    }

    #[inline]
    fn push(&mut self, term: &[u8]) {
        let number = self.terms.number(term);
        self.occurrences.push(number);
        if let Some(end) = self.ends.last_mut() {
            *end += 1;
        }
    }

    /// Puts the texts into another order of the documents.
    pub(crate) fn sort(&mut self, order: &Order) {
        let places = order.apply(&mut self.docs);
        let mut occurrences = Vec::with_capacity(self.occurrences.len());
        let (mut ends, mut jumps) = (Vec::with_capacity(self.ends.len()), Vec::with_capacity(self.jumps.len()));
        // One for each occurrence, if the field has them.
        let offsets = self.offsets();
        let mut moved_offsets = Vec::with_capacity(offsets.map_or(0, <[_]>::len));
        let positions = self.positions.as_deref();
        let mut moved_positions = Vec::with_capacity(positions.map_or(0, <[_]>::len));
        for (text, place) in (0..).zip(&places) {
            let was = *place as usize;
            let start = was.checked_sub(1).map_or(0, |before| self.ends[before]);
            let first = self.jumps.partition_point(|(text, _)| text < place);
            let own = self.jumps[first..].iter().take_while(|(text, _)| text == place);
            jumps.extend(own.map(|(_, at)| (text, at - start + occurrences.len() as u32)));
            let own = start as usize..self.ends[was] as usize;
            occurrences.extend_from_slice(&self.occurrences[own.clone()]);
            if let Some(offsets) = offsets {
                moved_offsets.extend_from_slice(&offsets[own.clone()]);
            }
            if let Some(positions) = positions {
                moved_positions.extend_from_slice(&positions[own]);
            }
            ends.push(occurrences.len() as u32);
        }
        (self.occurrences, self.ends, self.jumps) = (occurrences, ends, jumps);
        if let Some(offsets) = &mut self.offsets {
            offsets.replace(moved_offsets);
        }
        if let Some(positions) = &mut self.positions {
            *positions = moved_positions;
        }
    }

    pub(crate) fn sorting(&self, docs: u32) -> usize {
        let texts = 4 * (self.occurrences.len() + self.ends.len()) + 8 * self.jumps.len();
        texts + self.places_held() + self.docs.sorting(docs)
    }

    /// Bytes of offsets and positions.
    fn places_held(&self) -> usize {
        let positions = self.positions.as_deref().map_or(0, size_of_val);
        self.offsets.as_ref().map_or(0, Offsets::held) + positions
    }

    pub(crate) fn memory(&self) -> Memory {
        let (terms, count) = (self.terms.len(), self.occurrences.len());
        let held = self.terms.held() + 4 * (count + self.ends.len()) + 8 * self.jumps.len() + self.docs.held();
        let offsets = self.places_held();
        // The grouped occurrences with their positions and offsets, and where the terms are
        // written.
        let writing = (12 + size_of::<TermState>()) * terms + 8 * count + offsets + self.ends.len();
        Memory { held: held + offsets, writing }
    }
}

#[cfg(test)]
mod tests {
    use super::Texts;
    use crate::analysis::Analyzer;

    #[test]
    fn a_further_value_begins_behind_the_one_before() {
        let mut texts = Texts::new(true, &Analyzer::STANDARD);
        for (doc, text) in [(0, "a  👩 b "), (0, ""), (0, "x"), (2, "x y")] {
            texts.add(doc, &Analyzer::STANDARD, text);
        }
        assert_eq!(texts.offsets(), Some(&[(0, 1), (3, 5), (6, 7), (10, 11), (0, 1), (2, 3)][..]));
        texts.renew();
        assert_eq!(texts.offsets(), Some(&[][..]));
        assert_eq!(Texts::new(false, &Analyzer::STANDARD).offsets(), None);
    }
}
