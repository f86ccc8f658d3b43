//! Terms with their postings, out of columns that have each occurrence's term.

use crate::build::column::{Keywords, Texts, sort_in_docs};
use crate::build::intern::Interner;
use crate::build::values::Features;
use crate::fields::field::TextOptions;
use crate::formats::doc_values::{Dictionary, DocValuesWriter, Values};
use crate::formats::norms::norm;
use crate::formats::postings::{Occurrences, Postings, PostingsWriter};
use crate::formats::terms::{FieldTerms, TermState, Terms, TermsWriter};

/// Sorted terms with their postings.
pub(super) struct SortedTerms<'a> {
    pub(super) terms: &'a Interner,
    pub(super) order: &'a [u32],
    pub(super) states: Vec<TermState>,
}

impl Terms for SortedTerms<'_> {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn term(&self, at: usize) -> &[u8] {
        self.terms.term(self.order[at])
    }

    fn state(&self, at: usize) -> TermState {
        self.states[at]
    }
}

impl Dictionary for SortedTerms<'_> {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        for number in self.order {
            visit(self.terms.term(*number));
        }
    }
}

/// Sorted terms with something before each of them.
struct Prefixed<'a> {
    prefix: &'a str,
    terms: SortedTerms<'a>,
}

impl Dictionary for Prefixed<'_> {
    fn len(&self) -> usize {
        self.terms.order.len()
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        if self.prefix.is_empty() {
            return self.terms.each(visit);
        }
        let mut whole = self.prefix.as_bytes().to_vec();
        self.terms.each(&mut |term| {
            whole.truncate(self.prefix.len());
            whole.extend_from_slice(term);
            visit(&whole);
        });
    }
}

/// Adds the doc values of terms of which a document has one at most; `order` has their numbers in
/// their order.
pub(super) fn add_keyword(
    number: u32,
    keywords: &mut Keywords,
    order: &[u32],
    max_doc: u32,
    doc_values: &mut DocValuesWriter,
) {
    let values = ranks(keywords, order);
    let docs = keywords.docs.finish(max_doc);
    let sorted = SortedTerms { terms: &keywords.terms, order, states: Vec::new() };
    doc_values.add_sorted(number, Values { values: &values, docs }, &sorted);
}

/// The place of each value's term in the order of the terms.
fn ranks(keywords: &Keywords, order: &[u32]) -> Vec<i64> {
    let mut ranks = vec![0_i64; order.len()];
    for (rank, number) in (0..).zip(order) {
        ranks[*number as usize] = rank;
    }
    keywords.values.iter().map(|&number| ranks[number as usize]).collect()
}

/// Adds the doc values of terms; `order` has their numbers in their order, `prefix` comes before
/// each of them.
pub(super) fn add_keyword_set(
    number: u32,
    keywords: &mut Keywords,
    (order, prefix): (&[u32], &str),
    max_doc: u32,
    doc_values: &mut DocValuesWriter,
) {
    let mut values = ranks(keywords, order);
    let docs = keywords.docs.finish(max_doc);
    sort_in_docs(&mut values, docs);
    let sorted = Prefixed { prefix, terms: SortedTerms { terms: &keywords.terms, order, states: Vec::new() } };
    match docs {
        None => doc_values.add_sorted_set(number, Values { values: &values, docs }, &sorted),
        Some(docs) => {
            // A document has a term once, however often it comes.
            let mut pairs: Vec<(u32, i64)> = docs.iter().copied().zip(values).collect();
            pairs.dedup();
            let (docs, values): (Vec<u32>, Vec<i64>) = pairs.into_iter().unzip();
            doc_values.add_sorted_set(number, Values { values: &values, docs: Some(&docs) }, &sorted);
        }
    }
}

/// The norms of keywords, which are how many different ones a document has, with the documents that
/// have some, if not all have.
pub(super) fn keyword_norms(keywords: &mut Keywords, max_doc: u32) -> (Option<Vec<u32>>, Vec<u8>) {
    let Some(docs) = keywords.docs.finish(max_doc) else { return (None, vec![norm(1); max_doc as usize]) };
    let (mut with, mut norms) = (Vec::new(), vec![0; max_doc as usize]);
    let mut first = 0;
    for same in docs.chunk_by(|a, b| a == b) {
        let own = &keywords.values[first..first + same.len()];
        first += same.len();
        with.push(same[0]);
        norms[same[0] as usize] = norm(distinct(own));
    }
    (if with.len() == max_doc as usize { None } else { Some(with) }, norms)
}

/// Adds the postings of terms; `order` has their numbers in their order. With `norms` the field has
/// those of each document.
pub(super) fn add_keyword_terms(
    number: u32,
    keywords: &mut Keywords,
    (order, norms): (&[u32], Option<&[u8]>),
    max_doc: u32,
    postings: &mut PostingsWriter,
    terms: &mut TermsWriter,
) {
    let docs = keywords.docs.finish(max_doc);
    let grouped = Grouped::new(&keywords.values, keywords.terms.len(), |i| docs.map_or(i as u32, |docs| docs[i]));
    let mut states = Vec::with_capacity(order.len());
    let mut own = Vec::new();
    for number in order {
        own.clear();
        own.extend_from_slice(grouped.of(*number));
        own.dedup();
        states.push(
            postings
                .add(&Postings { docs: &own, freqs: None, position_gaps: None, offsets: None, payloads: None }, norms),
        );
    }
    let field = FieldTerms { number, freqs: false, occurrences: Occurrences::NONE, docs: keywords.docs.distinct() };
    terms.add(&field, &SortedTerms { terms: &keywords.terms, order, states });
}

/// Adds the postings of all parts of three characters of the terms.
pub(super) fn add_gram_terms(
    number: u32,
    keywords: &mut Keywords,
    max_doc: u32,
    postings: &mut PostingsWriter,
    terms: &mut TermsWriter,
) {
    let docs = keywords.docs.finish(max_doc);
    let grouped = Grouped::new(&keywords.values, keywords.terms.len(), |i| docs.map_or(i as u32, |docs| docs[i]));
    // Each part of each term once, and the term.
    let (mut grams, mut numbers, mut of) = (Interner::new(), Vec::new(), Vec::new());
    let mut own = Vec::new();
    for term in 0..keywords.terms.len() as u32 {
        own.clear();
        each_gram(&String::from_utf8_lossy(keywords.terms.term(term)), |gram| own.push(grams.number(gram.as_bytes())));
        own.sort_unstable();
        own.dedup();
        numbers.extend_from_slice(&own);
        of.resize(numbers.len(), term);
    }
    let by_gram = Grouped::new(&numbers, grams.len(), |i| of[i]);
    let order = grams.sorted();
    let mut states = Vec::with_capacity(order.len());
    let mut with_some = vec![false; max_doc as usize];
    for gram in &order {
        own.clear();
        by_gram.of(*gram).iter().for_each(|term| own.extend_from_slice(grouped.of(*term)));
        own.sort_unstable();
        own.dedup();
        own.iter().for_each(|doc| with_some[*doc as usize] = true);
        let own = Postings { docs: &own, freqs: None, position_gaps: None, offsets: None, payloads: None };
        states.push(postings.add(&own, None));
    }
    let docs = with_some.iter().filter(|with| **with).count() as u32;
    let field = FieldTerms { number, freqs: false, occurrences: Occurrences::NONE, docs };
    terms.add(&field, &SortedTerms { terms: &grams, order: &order, states });
}

/// Visits the parts of three characters of a text, of which two zeros are before it and behind it;
/// three zeros end it. Characters are units of UTF-16, of which half a pair is U+FFFD in a term.
fn each_gram(text: &str, mut visit: impl FnMut(&str)) {
    let mut gram = [0_u16; 3];
    for unit in text.encode_utf16().chain([0; 2]) {
        gram = [gram[1], gram[2], unit];
        if gram == [0; 3] {
            return;
        }
        visit(&String::from_utf16_lossy(&gram));
    }
}

/// Adds the postings of terms with weights, which are the frequencies.
pub(super) fn add_features(
    number: u32,
    features: &mut Features,
    max_doc: u32,
    postings: &mut PostingsWriter,
    terms: &mut TermsWriter,
) {
    let Features { terms: keywords, weights } = features;
    let order = keywords.terms.sorted();
    let docs = keywords.docs.finish(max_doc);
    let weighted = |i: usize| (docs.map_or(i as u32, |docs| docs[i]), weights[i]);
    let grouped = Grouped::new(&keywords.values, keywords.terms.len(), weighted);
    let mut states = Vec::with_capacity(order.len());
    for number in &order {
        let (docs, freqs): (Vec<u32>, Vec<u32>) = grouped.of(*number).iter().copied().unzip();
        states.push(postings.add(
            &Postings { docs: &docs, freqs: Some(&freqs), position_gaps: None, offsets: None, payloads: None },
            None,
        ));
    }
    let field = FieldTerms { number, freqs: true, occurrences: Occurrences::NONE, docs: keywords.docs.distinct() };
    terms.add(&field, &SortedTerms { terms: &keywords.terms, order: &order, states });
}

/// Something of each occurrence, by term.
pub(super) struct Grouped<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> Grouped<T> {
    /// `numbers` are the terms of the occurrences, of which there are `terms`.
    pub(super) fn new(numbers: &[u32], terms: usize, mut item: impl FnMut(usize) -> T) -> Self {
        let mut starts = vec![0_u32; terms + 1];
        for &number in numbers {
            starts[number as usize + 1] += 1;
        }
        for i in 1..=terms {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut items = vec![T::default(); numbers.len()];
        for (i, &number) in numbers.iter().enumerate() {
            let place = &mut next[number as usize];
            items[*place as usize] = item(i);
            *place += 1;
        }
        Self { starts, items }
    }

    pub(super) fn of(&self, number: u32) -> &[T] {
        let number = number as usize;
        &self.items[self.starts[number] as usize..self.starts[number + 1] as usize]
    }
}

/// How long the texts are.
pub(super) struct Lengths {
    /// The norm of each document.
    pub(super) norms: Vec<u8>,
    /// The documents that have a term.
    docs: u32,
}

impl Lengths {
    /// `once` counts each term of a text once.
    pub(super) fn new(texts: &mut Texts, max_doc: u32, once: bool) -> Self {
        let docs = texts.docs.finish(max_doc);
        let mut norms = vec![0; max_doc as usize];
        let mut start = 0;
        let mut with_terms = 0;
        for (i, &end) in texts.ends.iter().enumerate() {
            let own = start as usize..end as usize;
            let len = match &texts.positions {
                _ if once => distinct(&texts.occurrences[own]),
                // What is at the position of the one before does not count.
                Some(positions) => end - start - stacked(&positions[own]),
                None => end - start,
            };
            norms[docs.map_or(i, |docs| docs[i] as usize)] = norm(len);
            with_terms += u32::from(end > start);
            start = end;
        }
        Self { norms, docs: with_terms }
    }
}

fn stacked(positions: &[u32]) -> u32 {
    positions.windows(2).filter(|pair| pair[0] == pair[1]).count() as u32
}

fn distinct(terms: &[u32]) -> u32 {
    let mut terms = terms.to_vec();
    terms.sort_unstable();
    terms.dedup();
    terms.len() as u32
}

pub(super) fn add_text(
    number: u32,
    texts: &mut Texts,
    lens: &Lengths,
    what: TextTerms,
    postings: &mut PostingsWriter,
    terms: &mut TermsWriter,
) {
    let order = texts.terms.sorted();
    let max_doc = lens.norms.len() as u32;
    let docs = texts.docs.finish(max_doc);
    // Occurrences come in the order of the documents, so a cursor knows where they are.
    let mut at = Cursor::new(what.options.gap);
    let own = (texts.ends.as_slice(), texts.jumps.as_slice(), texts.positions.as_deref());
    let grouped = Grouped::new(&texts.occurrences, texts.terms.len(), |i| {
        let (text, position) = at.next(i, own);
        (docs.map_or(text as u32, |docs| docs[text]), position)
    });
    let grouped_offsets = |offsets: &[(u32, u32)]| Grouped::new(&texts.occurrences, texts.terms.len(), |i| offsets[i]);
    let offsets = texts.offsets().filter(|_| what.options.offsets).map(grouped_offsets);
    let mut states = Vec::with_capacity(order.len());
    let (mut own, mut freqs, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
    for number in &order {
        own.clear();
        freqs.clear();
        gaps.clear();
        let mut before = (u32::MAX, 0);
        for &(doc, position) in grouped.of(*number) {
            if doc == before.0 {
                gaps.push(position - before.1);
                if let Some(freq) = freqs.last_mut() {
                    *freq += 1;
                }
            } else {
                own.push(doc);
                freqs.push(1);
                gaps.push(position);
            }
            before = (doc, position);
        }
        let TextOptions { freqs: with_freqs, positions, .. } = what.options;
        let own = Postings {
            docs: &own,
            freqs: with_freqs.then_some(freqs.as_slice()),
            position_gaps: positions.then_some(gaps.as_slice()),
            offsets: offsets.as_ref().map(|offsets| offsets.of(*number)),
            payloads: None,
        };
        states.push(postings.add(&own, what.norms.then_some(lens.norms.as_slice())));
    }
    let TextOptions { freqs, positions, offsets, .. } = what.options;
    let field =
        FieldTerms { number, freqs, occurrences: Occurrences { positions, offsets, payloads: false }, docs: lens.docs };
    terms.add(&field, &SortedTerms { terms: &texts.terms, order: &order, states });
}

/// What is written of the terms of a text.
#[derive(Clone, Copy)]
pub(super) struct TextTerms {
    pub(super) norms: bool,
    pub(super) options: TextOptions,
}

/// Goes from occurrence to occurrence.
pub(super) struct Cursor {
    /// The gap in positions between two values of one document (`position_increment_gap`).
    gap: u32,
    texts_at: usize,
    position: u32,
    jump: usize,
}

/// Ends of texts, jumps between them, and positions, if each occurrence has its own.
type Own<'a> = (&'a [u32], &'a [(u32, u32)], Option<&'a [u32]>);

impl Cursor {
    pub(super) fn new(gap: u32) -> Self {
        Self { gap, texts_at: 0, position: 0, jump: 0 }
    }

    /// The text of the next occurrence, `i`, and its position.
    #[inline]
    pub(super) fn next(&mut self, i: usize, texts: Own<'_>) -> (usize, u32) {
        let (ends, jumps, positions) = texts;
        match positions {
            None => self.go(i as u32, ends, jumps),
            Some(positions) => self.go_to(i as u32, ends, jumps, positions[i]),
        }
    }

    /// The text of the next occurrence, `i`, and the position in it, if each is one further than
    /// the one before.
    #[inline]
    fn go(&mut self, i: u32, ends: &[u32], jumps: &[(u32, u32)]) -> (usize, u32) {
        self.enter(i, ends, jumps);
        let position = self.position;
        self.position += 1;
        (self.texts_at, position)
    }

    /// The text of the next occurrence, `i`, and the position in it, of which `own` is the part
    /// without the gaps.
    fn go_to(&mut self, i: u32, ends: &[u32], jumps: &[(u32, u32)], own: u32) -> (usize, u32) {
        // It has only the gaps.
        self.enter(i, ends, jumps);
        (self.texts_at, self.position + own)
    }

    /// Goes to the text of an occurrence, and past the gaps before it.
    #[inline]
    fn enter(&mut self, i: u32, ends: &[u32], jumps: &[(u32, u32)]) {
        while i >= ends[self.texts_at] {
            self.texts_at += 1;
            self.position = 0;
        }
        while let Some(&(text, at)) = jumps.get(self.jump)
            && (text as usize, at) <= (self.texts_at, i)
        {
            if text as usize == self.texts_at {
                self.position += self.gap;
            }
            self.jump += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::each_gram;

    #[test]
    fn a_text_has_zeros_around_it() {
        let grams = |text: &str| {
            let mut grams = Vec::new();
            each_gram(text, |gram| grams.push(gram.replace('\0', ".")));
            grams
        };
        assert_eq!(grams("abc"), ["..a", ".ab", "abc", "bc.", "c.."]);
        assert_eq!(grams(""), [""; 0]);
        assert_eq!(grams("a\0\0b"), ["..a", ".a.", "a..", "..b", ".b.", "b.."]);
        assert_eq!(grams("a\0\0\0b"), ["..a", ".a.", "a.."]);
        assert_eq!(grams("👩"), ["..\u{fffd}", ".👩", "👩.", "\u{fffd}.."]);
    }
}
