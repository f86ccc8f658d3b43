//! The values of fields that are neither numbers nor texts, document after document: bytes,
//! ranges, shapes, terms with a weight, and suggestions.

use crate::build::column::{Docs, Keywords, moved};
use crate::build::order::Order;
use crate::fields::composed::{Range, Suggestion};
use crate::fields::shapes::{Encoded, Shape};
use crate::formats::output::Put;
use crate::memory::Memory;

/// Bytes, of which a document has some without an order.
#[derive(Default)]
pub(crate) struct Blobs {
    bytes: Vec<u8>,
    /// Where each value ends.
    ends: Vec<u32>,
    pub(crate) docs: Docs,
}

impl Blobs {
    pub(crate) fn push(&mut self, doc: u32, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len() as u32);
        self.docs.push(doc);
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.bytes[start..self.ends[at] as usize]
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.docs.clear();
    }

    /// Puts the values into another order of the documents.
    pub(crate) fn sort(&mut self, order: &Order) {
        let places = order.apply(&mut self.docs);
        let (mut bytes, mut ends) = (Vec::with_capacity(self.bytes.len()), Vec::with_capacity(self.ends.len()));
        for place in places {
            bytes.extend_from_slice(self.get(place as usize));
            ends.push(bytes.len() as u32);
        }
        (self.bytes, self.ends) = (bytes, ends);
    }

    pub(crate) fn sorting(&self, docs: u32) -> usize {
        self.bytes.len() + 4 * self.ends.len() + self.docs.sorting(docs)
    }

    pub(crate) fn memory(&self) -> Memory {
        let count = self.ends.len();
        // The documents and where their bytes begin, and the values of one document.
        Memory { held: self.bytes.len() + 4 * count + self.docs.held(), writing: 40 * count }
    }
}

/// Terms with a weight each, which stands where others have their frequency.
pub(crate) struct Features {
    pub(crate) terms: Keywords,
    pub(crate) weights: Vec<u32>,
}

impl Features {
    pub(crate) fn new() -> Self {
        Self { terms: Keywords::new(), weights: Vec::new() }
    }

    pub(crate) fn push(&mut self, doc: u32, term: &[u8], weight: u32) {
        self.terms.push(doc, term);
        self.weights.push(weight);
    }

    pub(crate) fn clear(&mut self) {
        self.terms.clear();
        self.weights.clear();
    }

    /// Puts the values into another order of the documents.
    pub(crate) fn sort(&mut self, order: &Order) {
        let places = order.apply(&mut self.terms.docs);
        self.terms.values = moved(&self.terms.values, &places);
        self.weights = moved(&self.weights, &places);
    }

    pub(crate) fn sorting(&self, docs: u32) -> usize {
        4 * self.weights.len() + self.terms.sorting(docs)
    }

    pub(crate) fn memory(&self) -> Memory {
        let (terms, count) = (self.terms.memory(), self.weights.len());
        Memory { held: terms.held + 4 * count, writing: terms.writing + 12 * count }
    }
}

/// Ranges, of which a document has some without an order.
#[derive(Default)]
pub(crate) struct Ranges {
    pub(crate) values: Vec<Range>,
    pub(crate) docs: Docs,
}

impl Ranges {
    pub(crate) fn push(&mut self, doc: u32, range: Range) {
        self.values.push(range);
        self.docs.push(doc);
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.docs.clear();
    }

    /// Puts the values into another order of the documents.
    pub(crate) fn sort(&mut self, order: &Order) {
        self.values = moved(&self.values, &order.apply(&mut self.docs));
    }

    pub(crate) fn sorting(&self, docs: u32) -> usize {
        size_of_val(self.values.as_slice()) + self.docs.sorting(docs)
    }

    pub(crate) fn memory(&self) -> Memory {
        let count = self.values.len();
        // Points with their documents; or the documents and where their ranges begin.
        Memory { held: size_of::<Range>() * count + self.docs.held(), writing: 48 * count }
    }
}

/// Shapes, which are triangles, and their doc values, of which a document has at most one.
#[derive(Default)]
pub(crate) struct Shapes {
    pub(crate) triangles: Vec<Encoded>,
    /// The document of each triangle.
    pub(crate) docs: Docs,
    pub(crate) values: Blobs,
}

impl Shapes {
    pub(crate) fn push(&mut self, doc: u32, shape: &Shape) {
        for triangle in &shape.triangles {
            self.triangles.push(*triangle);
            self.docs.push(doc);
        }
        if let Some(bytes) = &shape.doc_values {
            self.values.push(doc, bytes);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.triangles.clear();
        self.docs.clear();
        self.values.clear();
    }

    /// Puts the values into another order of the documents.
    pub(crate) fn sort(&mut self, order: &Order) {
        self.triangles = moved(&self.triangles, &order.apply(&mut self.docs));
        self.values.sort(order);
    }

    pub(crate) fn sorting(&self, docs: u32) -> usize {
        size_of_val(self.triangles.as_slice()) + self.docs.sorting(docs) + self.values.sorting(docs)
    }

    pub(crate) fn memory(&self) -> Memory {
        let (count, values) = (self.triangles.len(), self.values.memory());
        let held = size_of::<Encoded>() * count + self.docs.held() + values.held;
        // Points with their documents.
        Memory { held, writing: values.writing.max(32 * count) }
    }
}

/// Suggestions: at most one term of each, and beside it the text and its weight.
pub(crate) struct Suggestions {
    /// The terms, and the documents of those.
    pub(crate) terms: Keywords,
    /// The position of each term in its document.
    pub(crate) positions: Vec<u32>,
    /// What stands beside each term.
    pub(crate) payloads: Blobs,
    /// The documents with a suggestion, also with one without a term.
    pub(crate) docs: Docs,
    last_doc: Option<u32>,
    /// One less than the position of the next term.
    position: u32,
}

/// The gap in positions between two suggestions of a document.
const GAP: u32 = 100;

impl Suggestions {
    pub(crate) fn new() -> Self {
        Self {
            terms: Keywords::new(),
            positions: Vec::new(),
            payloads: Blobs::default(),
            docs: Docs::default(),
            last_doc: None,
            position: 0,
        }
    }

    pub(crate) fn push(&mut self, doc: u32, suggestion: &Suggestion) {
        if self.last_doc != Some(doc) {
            self.last_doc = Some(doc);
            self.docs.push(doc);
            // The first one of a document is at 0.
            self.position = u32::MAX;
        }
        if let Some(term) = &suggestion.term {
            self.position = self.position.wrapping_add(1);
            self.terms.push(doc, term);
            self.positions.push(self.position);
            let mut payload = Vec::with_capacity(suggestion.text.len() + 8);
            payload.put_string(&suggestion.text);
            payload.put_vint(suggestion.weight + 1);
            // The type of a suggestion without contexts.
            payload.push(0);
            self.payloads.push(doc, &payload);
        }
        self.position = self.position.wrapping_add(GAP);
    }

    pub(crate) fn clear(&mut self) {
        self.terms.clear();
        self.positions.clear();
        self.payloads.clear();
        self.docs.clear();
        self.last_doc = None;
    }

    /// Puts the values into another order of the documents.
    pub(crate) fn sort(&mut self, order: &Order) {
        self.payloads.sort(order);
        let places = order.apply(&mut self.terms.docs);
        self.terms.values = moved(&self.terms.values, &places);
        self.positions = moved(&self.positions, &places);
        order.apply(&mut self.docs);
    }

    pub(crate) fn sorting(&self, docs: u32) -> usize {
        4 * self.positions.len() + self.terms.sorting(docs) + self.payloads.sorting(docs) + self.docs.sorting(docs)
    }

    pub(crate) fn memory(&self) -> Memory {
        let (terms, payloads) = (self.terms.memory(), self.payloads.memory());
        let held = terms.held + payloads.held + 4 * self.positions.len() + self.docs.held();
        // The entries of the trie with their terms and texts, and its bytes.
        let trie = 100 * self.positions.len() + 4 * (self.terms.terms.held() + self.payloads.bytes.len());
        let writing = terms.writing + payloads.writing + trie;
        Memory { held, writing }
    }
}
