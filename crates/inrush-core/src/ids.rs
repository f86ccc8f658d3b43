//! Ids for documents without one, made of the document's position or content. They are the same in
//! every run, so a document that is sent twice is indexed once.

use std::hash::BuildHasherDefault;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hashbrown::HashMap;
use sha2::{Digest, Sha256};

use crate::block::{DocBlock, DocMeta};
use crate::order::AlreadyHashed;

/// The hash of a document's bytes: the first half of their SHA-256.
///
/// Two different documents among n share a hash with a probability below n^2 / 2^129. Finding such
/// a pair takes about 2^64 attempts, so the author of one document cannot replace another.
pub type ContentHash = [u8; 16];

/// The hashes of a block's documents.
pub fn content_hashes(block: &DocBlock) -> Vec<ContentHash> {
    (0..block.records.len()).map(|at| half(Sha256::digest(block.record(at)).as_slice())).collect()
}

/// How often each content occurred. 16 bytes for each distinct content, in a table that is between
/// 7/16 and 7/8 full.
#[derive(Debug, Default)]
pub struct Occurrences(HashMap<u64, u32, BuildHasherDefault<AlreadyHashed>>);

impl Occurrences {
    /// Counts documents and returns, for each, the number of equal documents before it. Only half
    /// of a hash is kept. If two documents share that half, their ids still differ, but depend on
    /// their order.
    pub fn count(&mut self, hashes: &[ContentHash]) -> Vec<u32> {
        let next = |hash: &ContentHash| {
            let [a, b, c, d, e, f, g, h, ..] = *hash;
            let seen = self.0.entry(u64::from_le_bytes([a, b, c, d, e, f, g, h])).or_insert(0);
            let before = *seen;
            *seen = seen.saturating_add(1);
            before
        };
        hashes.iter().map(next).collect()
    }
}

/// Sets the ids of a block to the hashes of the contents. The second of equal documents gets the
/// suffix `-1`, the third `-2`.
pub fn from_content(block: &mut DocBlock, hashes: &[ContentHash], occurrences: &[u32]) {
    fill(block, |at| {
        let hash = URL_SAFE_NO_PAD.encode(hashes[at]);
        match occurrences[at] {
            0 => hash,
            before => format!("{hash}-{before}"),
        }
    });
}

/// Sets the ids of a block to the positions: the prefix of the partition ([`position_prefix`]) and
/// the document number with at least ten digits. Successive ids share most characters, which keeps
/// the index small.
pub fn from_position(block: &mut DocBlock, prefix: &str, first_doc: u64) {
    fill(block, |at| format!("{prefix}-{:010}", first_doc + at as u64));
}

/// The common prefix of the ids of one partition: 96 bits of a hash. `repetition`: how often the
/// same name stands before this source in the job's list.
pub fn position_prefix(name: &str, repetition: u32, partition: u32) -> String {
    let mut hash = Sha256::new();
    hash.update(partition.to_le_bytes());
    hash.update(repetition.to_le_bytes());
    hash.update(name.as_bytes());
    URL_SAFE_NO_PAD.encode(&hash.finalize().as_slice()[..12])
}

/// Sets the ids of documents without one.
fn fill(block: &mut DocBlock, id: impl Fn(usize) -> String) {
    block.meta.resize(block.records.len(), DocMeta::default());
    for (at, meta) in block.meta.iter_mut().enumerate() {
        meta.id.get_or_insert_with(|| id(at));
    }
}

fn half(digest: &[u8]) -> ContentHash {
    // SHA-256 has 32 bytes.
    std::array::from_fn(|at| digest[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Record;

    fn block(documents: &[&str]) -> DocBlock {
        let mut block = DocBlock::default();
        let mut data = Vec::new();
        for document in documents {
            let start = data.len() as u32;
            data.extend_from_slice(document.as_bytes());
            block.records.push(Record { start, end: data.len() as u32, byte: start, line: 0 });
        }
        DocBlock { data: data.into(), ..block }
    }

    fn content_ids(occurrences: &mut Occurrences, documents: &[&str]) -> Vec<String> {
        let mut block = block(documents);
        let hashes = content_hashes(&block);
        let counts = occurrences.count(&hashes);
        from_content(&mut block, &hashes, &counts);
        block.meta.into_iter().map(|meta| meta.id.unwrap()).collect()
    }

    #[test]
    fn equal_documents_stay_as_many_as_they_are_in_any_order_and_any_blocks() {
        let documents = ["a", "b", "a", "c", "a", "b"];
        let whole = content_ids(&mut Occurrences::default(), &documents);
        let mut occurrences = Occurrences::default();
        let mut parts = content_ids(&mut occurrences, &documents[3..]);
        parts.extend(content_ids(&mut occurrences, &documents[..3]));
        let set = |ids: &[String]| ids.iter().cloned().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(set(&whole).len(), 6);
        assert_eq!(set(&whole), set(&parts));
        // The first half of SHA-256("a").
        assert_eq!(whole[0], "ypeBEsobvcr6wjGzmiPcTQ");
        assert_eq!(whole[2], format!("{}-1", whole[0]));
    }

    #[test]
    fn positions_are_ids_of_their_own_and_ids_of_the_source_stay() {
        let mut some = block(&["x", "x", "x"]);
        some.meta = vec![DocMeta { id: Some("mine".into()), ..DocMeta::default() }];
        let prefix = position_prefix("a.ndjson", 0, 0);
        assert_eq!(prefix.len(), 16);
        from_position(&mut some, &prefix, 41);
        let ids: Vec<_> = some.meta.iter().map(|meta| meta.id.clone().unwrap()).collect();
        assert_eq!(ids, ["mine".to_owned(), format!("{prefix}-0000000042"), format!("{prefix}-0000000043")]);
        let others = [("a.ndjson", 1, 0), ("a.ndjson", 0, 1), ("b.ndjson", 0, 0)];
        assert!(others.iter().all(|&(name, again, partition)| position_prefix(name, again, partition) != prefix));
    }
}
