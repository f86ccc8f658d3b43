//! Fields of suggestions, which have a format of postings of their own.

use std::io;

use super::terms::Grouped;
use crate::build::segment::Place;
use crate::build::values::Suggestions;
use crate::formats::norms::{NormsWriter, norm};
use crate::formats::postings::{Occurrences, Payloads, Postings, PostingsWriter};
use crate::formats::suggestions::{FieldSuggestions, Suggested, SuggestionsWriter};
use crate::formats::terms::{FieldTerms, TermsWriter};

use super::terms::SortedTerms;

const OCCURRENCES: Occurrences = Occurrences { positions: true, offsets: false, payloads: true };

/// Writes fields with their numbers, in the order of their names; returns the names of the files.
/// They are none if no field has a term.
pub(super) fn write(
    place: &Place,
    mut fields: Vec<(u32, &mut Suggestions)>,
    norms: Option<&mut NormsWriter>,
) -> io::Result<Vec<String>> {
    if let Some(norms) = norms {
        for (number, suggestions) in &mut fields {
            let lens = lengths(suggestions, place.docs);
            norms.add(*number, suggestions.docs.finish(place.docs), &lens);
        }
    }
    let with_terms = fields.iter().any(|(_, suggestions)| !suggestions.positions.is_empty());
    if !with_terms {
        return Ok(Vec::new());
    }
    let (base, suffix) = place.suggestions_base();
    let mut postings = PostingsWriter::create(place.folder, &base, place.id, &suffix, OCCURRENCES)?;
    let mut terms = TermsWriter::create(place.folder, &base, place.id, &suffix)?;
    let mut dictionary = SuggestionsWriter::create(place.folder, &base, place.id, &suffix)?;
    for (number, suggestions) in fields {
        if !suggestions.positions.is_empty() {
            let lens = lengths(suggestions, place.docs);
            add(number, suggestions, &lens, (&mut postings, &mut terms, &mut dictionary));
        }
    }
    let mut files = postings.finish()?;
    files.extend(terms.finish()?);
    files.extend(dictionary.finish()?);
    Ok(files)
}

/// The norm of each document, which is how many terms it has.
fn lengths(suggestions: &mut Suggestions, max_doc: u32) -> Vec<u8> {
    let mut norms = vec![0; max_doc as usize];
    match suggestions.terms.docs.finish(max_doc) {
        None => norms.fill(norm(1)),
        Some(docs) => {
            for same in docs.chunk_by(|a, b| a == b) {
                norms[same[0] as usize] = norm(same.len() as u32);
            }
        }
    }
    norms
}

fn add(
    number: u32,
    suggestions: &mut Suggestions,
    lens: &[u8],
    (postings, terms, dictionary): (&mut PostingsWriter, &mut TermsWriter, &mut SuggestionsWriter),
) {
    let Suggestions { terms: keywords, positions, payloads, .. } = suggestions;
    let order = keywords.terms.sorted();
    let docs = keywords.docs.finish(lens.len() as u32);
    let doc = |i: usize| docs.map_or(i as u32, |docs| docs[i]);
    let grouped = Grouped::new(&keywords.values, keywords.terms.len(), |i| i);
    let mut states = Vec::with_capacity(order.len());
    let mut found = FieldSuggestions::default();
    let (mut own, mut freqs, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for &term in &order {
        [&mut own, &mut freqs, &mut gaps, &mut ends].into_iter().for_each(Vec::clear);
        bytes.clear();
        let places = grouped.of(term);
        let mut before = (u32::MAX, 0);
        for &at in places {
            let (doc, position) = (doc(at), positions[at]);
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
            bytes.extend_from_slice(payloads.get(at));
            ends.push(bytes.len() as u32);
        }
        let own = Postings {
            docs: &own,
            freqs: Some(&freqs),
            position_gaps: Some(&gaps),
            offsets: None,
            payloads: Some(Payloads { bytes: &bytes, ends: &ends }),
        };
        states.push(postings.add(&own, Some(lens)));
        found.add(keywords.terms.term(term), places.iter().map(|&at| suggested(doc(at), payloads.get(at))));
    }
    let field = FieldTerms { number, freqs: true, occurrences: OCCURRENCES, docs: keywords.docs.distinct() };
    terms.add(&field, &SortedTerms { terms: &keywords.terms, order: &order, states });
    dictionary.add(number, &found);
}

/// What the payload of a term says.
fn suggested(doc: u32, payload: &[u8]) -> Suggested<'_> {
    let (len, rest) = vint(payload);
    let (text, rest) = rest.split_at(len as usize);
    Suggested { doc, text, weight: vint(rest).0 - 1 }
}

/// The number at the beginning of bytes, and those behind it.
fn vint(bytes: &[u8]) -> (u32, &[u8]) {
    let end = bytes.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let number = bytes[..end].iter().rev().fold(0, |number, byte| number << 7 | u32::from(byte & 0x7f));
    (number, &bytes[end..])
}
