//! The ids of documents, as the servers index them.
//!
//! Source: the documentation of the field `_id`; the encoding is that of `Uid.encodeId` of
//! OpenSearch and Elasticsearch: digits two to a byte behind 0xfe, URL-safe Base64 decoded, other
//! texts behind 0xff.

use std::ops::Range;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::formats::terms::{TermState, Terms};
use crate::memory::Memory;

/// Which of several documents with one id stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first one, as with the action `create`.
    First,
    /// The last one, as with the action `index`.
    Last,
}

/// Bytes of an id that is made here.
pub(crate) const MADE_BYTES: usize = 15;
/// Of those, the ones at the end that count.
const COUNTER_BYTES: usize = 6;

/// Makes ids that no other builder makes, in ascending order.
#[derive(Debug, Clone)]
pub(crate) struct IdMaker {
    next: [u8; MADE_BYTES],
    count: u64,
}

impl IdMaker {
    /// Makes ids that begin with `random` bytes, from the number `first` on. Two builders have to
    /// have different random bytes, or numbers apart.
    pub(crate) fn new(random: [u8; 9], first: u64) -> Self {
        let mut next = [0; MADE_BYTES];
        next[..9].copy_from_slice(&random);
        // As text, the id begins with a letter, so that it is not taken for a number.
        next[0] %= 4 * 26;
        Self { next, count: first }
    }

    /// The next id, encoded.
    #[inline]
    pub(crate) fn make(&mut self) -> [u8; MADE_BYTES] {
        self.next[MADE_BYTES - COUNTER_BYTES..].copy_from_slice(&self.count.to_be_bytes()[8 - COUNTER_BYTES..]);
        self.count += 1;
        self.next
    }
}

/// The text of an id that was made here.
pub(crate) fn decode_made(id: &[u8; MADE_BYTES]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(id)
}

/// Encodes an id that is not empty.
pub(crate) fn encode(id: &str) -> Vec<u8> {
    let bytes = id.as_bytes();
    if bytes.iter().all(u8::is_ascii_digit) {
        let digit = |byte: &u8| byte - b'0';
        let pairs = bytes.chunks(2).map(|pair| digit(&pair[0]) << 4 | pair.get(1).map_or(0xf, digit));
        return std::iter::once(0xfe).chain(pairs).collect();
    }
    // Only the text that its bytes have is decoded.
    if let Ok(decoded) = BASE64_URL_SAFE_NO_PAD.decode(bytes) {
        let escape = decoded.first().is_some_and(|&byte| byte >= 0xfd);
        return std::iter::repeat_n(0xfd, usize::from(escape)).chain(decoded).collect();
    }
    std::iter::once(0xff).chain(bytes.iter().copied()).collect()
}

/// The encoded ids of a segment.
#[derive(Default)]
pub(crate) struct Ids {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// The documents in the order of their ids; empty where that is their own.
    order: Vec<u32>,
    /// Where each document is in the index, behind its nested objects; empty where none has any.
    places: Vec<u32>,
}

impl Ids {
    /// Adds the id of a document, which is at `place` in the index.
    pub(crate) fn push(&mut self, id: &[u8], place: u32) {
        let number = self.len();
        if place != number && self.places.is_empty() {
            self.places.extend(0..number);
        }
        if place != number || !self.places.is_empty() {
            self.places.push(place);
        }
        self.bytes.extend_from_slice(id);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Forgets the ids, and keeps the memory of those that come next.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.places.clear();
        self.order = Vec::new();
    }

    /// How many documents there are.
    pub(crate) fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The documents of the index that a document is: its nested objects, and then itself.
    pub(crate) fn places(&self, doc: u32) -> Range<u32> {
        if self.places.is_empty() {
            return doc..doc + 1;
        }
        let doc = doc as usize;
        let start = if doc == 0 { 0 } else { self.places[doc - 1] + 1 };
        start..self.places[doc] + 1
    }

    /// Where each document is in the index; `None` if none has nested objects.
    pub(crate) fn own_places(&self) -> Option<&[u32]> {
        (!self.places.is_empty()).then_some(&self.places)
    }

    /// How many documents of the index have an id, once they are sorted.
    pub(crate) fn docs_with_id(&self) -> u32 {
        match self.own_places() {
            None => self.terms(),
            Some(_) => (0..self.terms() as usize).map(|at| self.places(self.doc(at)).len() as u32).sum(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, doc: u32) -> &[u8] {
        let doc = doc as usize;
        let start = if doc == 0 { 0 } else { self.ends[doc - 1] as usize };
        &self.bytes[start..self.ends[doc] as usize]
    }

    /// Sorts the ids. Of documents with one id, one stays, and only that one has the id from now
    /// on. Returns the others, ascending.
    pub(crate) fn sort(&mut self, keep: Keep) -> Vec<u32> {
        let docs = self.ends.len() as u32;
        if (1..docs).all(|doc| self.get(doc - 1) < self.get(doc)) {
            return Vec::new();
        }
        let mut keys: Vec<(u64, u32)> = (0..docs).map(|doc| (first_eight(self.get(doc)), doc)).collect();
        keys.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| self.get(a.1).cmp(self.get(b.1))).then_with(|| a.1.cmp(&b.1))
        });
        let mut losers = Vec::new();
        let mut order: Vec<u32> = Vec::with_capacity(keys.len());
        for (_, doc) in keys {
            match order.last_mut().filter(|before| self.get(**before) == self.get(doc)) {
                None => order.push(doc),
                Some(before) if keep == Keep::Last => losers.push(std::mem::replace(before, doc)),
                Some(_) => losers.push(doc),
            }
        }
        losers.sort_unstable();
        self.order = order;
        losers
    }

    /// Puts documents with their nested objects into another order, once they are sorted. `came`
    /// has the present number of each, `gets` the one that each gets.
    pub(crate) fn reorder(&mut self, came: &[u32], gets: &[u32]) {
        let order = (0..self.terms() as usize).map(|at| gets[self.doc(at) as usize]).collect();
        let (bytes, ends) = (Vec::with_capacity(self.bytes.len()), Vec::with_capacity(self.ends.len()));
        let places = Vec::with_capacity(self.places.len());
        let (mut moved, mut end) = (Ids { bytes, ends, places, order: Vec::new() }, 0);
        for doc in came {
            end += self.places(*doc).len() as u32;
            moved.push(self.get(*doc), end - 1);
        }
        moved.order = order;
        *self = moved;
    }

    /// How many different ids there are, once they are sorted.
    pub(crate) fn terms(&self) -> u32 {
        match self.order.len() {
            0 => self.ends.len() as u32,
            terms => terms as u32,
        }
    }

    /// The ids in their order, each with its documents of the index, once they are sorted.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = (&[u8], Range<u32>)> {
        (0..self.terms() as usize).map(|at| (self.get(self.doc(at)), self.places(self.doc(at))))
    }

    fn doc(&self, at: usize) -> u32 {
        self.order.get(at).copied().unwrap_or(at as u32)
    }

    /// Bytes that [`Ids::reorder`] needs: both orders of the ids, and the ids once more.
    pub(crate) fn sorting(&self) -> usize {
        self.bytes.len() + 4 * (3 * self.ends.len() + self.places.len())
    }

    pub(crate) fn memory(&self) -> Memory {
        let count = self.ends.len();
        let held = self.bytes.len() + 4 * (count + self.places.len());
        // Keys with their documents, and the order; or sequence numbers, which are sorted; with
        // nested objects where each id is written.
        let writing = if self.places.is_empty() { 24 } else { 4 + size_of::<TermState>() };
        Memory { held, writing: writing * count }
    }
}

fn first_eight(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = bytes.len().min(8);
    first[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(first)
}

/// Sorted ids as terms, each with its document. Without nested objects, nothing of them is in the
/// file of documents, which is at `docs_at`; with some, `states` says where they are.
pub(crate) struct IdTerms<'a> {
    pub(crate) ids: &'a Ids,
    pub(crate) docs_at: u64,
    pub(crate) states: Vec<TermState>,
}

impl Terms for IdTerms<'_> {
    fn len(&self) -> usize {
        self.ids.terms() as usize
    }

    fn term(&self, at: usize) -> &[u8] {
        self.ids.get(self.ids.doc(at))
    }

    fn state(&self, at: usize) -> TermState {
        if let Some(state) = self.states.get(at) {
            return *state;
        }
        TermState {
            docs: 1,
            occurrences: 1,
            docs_at: self.docs_at,
            only_doc: Some(self.ids.doc(at)),
            ..TermState::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IdMaker, Ids, Keep, decode_made, encode};

    #[test]
    fn made_ids_have_the_text_that_they_are_encoded_from() {
        let mut ids = IdMaker::new([0xff; 9], 7 << 40);
        for id in [ids.make(), ids.make()] {
            assert_eq!(encode(&decode_made(&id)), id);
        }
    }

    #[test]
    fn one_of_documents_with_one_id_stays() {
        for (keep, winners, losers) in [(Keep::Last, [2, 3, 4], [0, 1]), (Keep::First, [1, 0, 4], [2, 3])] {
            let mut ids = Ids::default();
            for id in ["b", "a", "a", "b", "c"] {
                ids.push(id.as_bytes(), ids.len());
            }
            assert_eq!(ids.sort(keep), losers);
            let sorted: Vec<(&[u8], u32)> = ids.sorted().map(|(id, places)| (id, places.start)).collect();
            assert_eq!(sorted, [&b"a"[..], b"b", b"c"].into_iter().zip(winners).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nested_objects_are_before_their_documents() {
        let mut ids = Ids::default();
        for (id, place) in [("b", 0), ("a", 3), ("c", 4)] {
            ids.push(id.as_bytes(), place);
        }
        assert_eq!(ids.sort(Keep::Last), [0; 0]);
        let sorted: Vec<(&[u8], std::ops::Range<u32>)> = ids.sorted().collect();
        assert_eq!(sorted, [(&b"a"[..], 1..4), (b"b", 0..1), (b"c", 4..5)]);
        assert_eq!(ids.docs_with_id(), 5);
    }

    #[test]
    fn ids_are_encoded_as_by_the_servers() {
        assert_eq!(encode("123"), [0xfe, 0x12, 0x3f]);
        assert_eq!(encode("abcd"), [0x69, 0xb7, 0x1d]);
        assert_eq!(encode("_w"), [0xfd, 0xff]);
        // Not the text that its bytes have.
        assert_eq!(encode("ab"), [0xff, b'a', b'b']);
        assert_eq!(encode("a b"), [0xff, b'a', b' ', b'b']);
    }
}
