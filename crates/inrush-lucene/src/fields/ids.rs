//! The ids of documents, as the servers index them.
//!
//! Source: the documentation of the field `_id`; the encoding is that of `Uid.encodeId` of
//! OpenSearch and Elasticsearch: digits two to a byte behind 0xfe, URL-safe Base64 decoded, other
//! texts behind 0xff.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::formats::terms::{TermState, Terms};

/// Bytes of an id that is made here.
const MADE_BYTES: usize = 15;
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
}

impl Ids {
    pub(crate) fn push(&mut self, id: &[u8]) {
        self.bytes.extend_from_slice(id);
        self.ends.push(self.bytes.len() as u32);
    }

    #[inline]
    pub(crate) fn get(&self, doc: u32) -> &[u8] {
        let doc = doc as usize;
        let start = if doc == 0 { 0 } else { self.ends[doc - 1] as usize };
        &self.bytes[start..self.ends[doc] as usize]
    }

    /// Sorts the ids. Returns two documents with one id, if there are any.
    pub(crate) fn sort(&mut self) -> Option<(u32, u32)> {
        let docs = self.ends.len() as u32;
        if (1..docs).all(|doc| self.get(doc - 1) < self.get(doc)) {
            return None;
        }
        let mut keys: Vec<(u64, u32)> = (0..docs).map(|doc| (first_eight(self.get(doc)), doc)).collect();
        keys.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.get(a.1).cmp(self.get(b.1))));
        self.order = keys.into_iter().map(|(_, doc)| doc).collect();
        self.order.windows(2).find(|pair| self.get(pair[0]) == self.get(pair[1])).map(|pair| (pair[0], pair[1]))
    }

    fn doc(&self, at: usize) -> u32 {
        self.order.get(at).copied().unwrap_or(at as u32)
    }

    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + 4 * self.ends.capacity()
    }
}

fn first_eight(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = bytes.len().min(8);
    first[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(first)
}

/// Sorted ids as terms, each with its document; nothing of them is in the file of documents, which
/// is at `docs_at`.
pub(crate) struct IdTerms<'a> {
    pub(crate) ids: &'a Ids,
    pub(crate) docs_at: u64,
}

impl Terms for IdTerms<'_> {
    fn len(&self) -> usize {
        self.ids.ends.len()
    }

    fn term(&self, at: usize) -> &[u8] {
        self.ids.get(self.ids.doc(at))
    }

    fn state(&self, at: usize) -> TermState {
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
    use super::encode;

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
