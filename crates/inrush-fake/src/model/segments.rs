//! Lucene segments, as far as `_segments` shows them. A refresh and a flush write what is new in a
//! shard as one segment; only `_forcemerge` merges, at once. So there is never a running merge.

use serde_json::{Map, Value, json};

use super::index::Index;

/// The operations of a shard between two sequence numbers.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    generation: u64,
    /// The first operation.
    from: u64,
    /// The first operation behind it.
    to: u64,
    /// Operations without a document that a merge has removed.
    removed: u64,
    committed: bool,
}

/// The segments of a shard.
#[derive(Clone, Debug, Default)]
pub(super) struct Segments {
    all: Vec<Segment>,
    /// The generation of the next segment.
    next: u64,
}

impl Segments {
    fn add(&mut self, from: u64, to: u64, removed: u64, committed: bool) {
        self.all.push(Segment { generation: self.next, from, to, removed, committed });
        self.next += 1;
    }
}

/// Documents and bytes of a segment.
type Contents = (u64, u64);

impl Index {
    /// Writes what is new in each shard as a segment.
    pub(super) fn seal(&mut self) {
        for (segments, next) in self.segments.iter_mut().zip(&self.next_seq_no) {
            let from = segments.all.last().map_or(0, |segment| segment.to);
            if from < *next {
                segments.add(from, *next, 0, false);
            }
        }
    }

    /// Commits all segments.
    pub(super) fn commit(&mut self) {
        self.seal();
        self.segments.iter_mut().flat_map(|segments| &mut segments.all).for_each(|segment| segment.committed = true);
    }

    /// Merges the segments of each shard that searches see into one.
    pub(crate) fn merge(&mut self) {
        self.commit();
        let contents = self.contents();
        let shards = self.segments.iter_mut().zip(contents).zip(&self.searchable_seq_no);
        for ((segments, contents), searchable) in shards {
            let seen = segments.all.partition_point(|segment| segment.to <= *searchable);
            let docs: u64 = contents.iter().take(seen).map(|(docs, _)| docs).sum();
            let unseen = segments.all.split_off(seen);
            if let (Some(first), Some(last)) = (segments.all.first(), segments.all.last()) {
                let (from, to) = (first.from, last.to);
                let removed = (to - from).saturating_sub(docs);
                if seen > 1 || first.removed < removed {
                    segments.all.clear();
                    segments.add(from, to, removed, true);
                }
            }
            segments.all.extend(unseen);
        }
    }

    /// `segments` of each shard's copies.
    pub(crate) fn segments_values(&self) -> Vec<Value> {
        let contents = self.contents();
        let shards = self.segments.iter().zip(contents).zip(&self.searchable_seq_no);
        shards
            .map(|((segments, contents), searchable)| {
                let shown = segments.all.iter().zip(contents).map(|(segment, (docs, bytes))| {
                    let deleted = (segment.to - segment.from).saturating_sub(segment.removed + docs);
                    let value = json!({"generation": segment.generation, "num_docs": docs, "deleted_docs": deleted,
                        "size_in_bytes": bytes, "committed": segment.committed, "search": segment.to <= *searchable,
                        "version": "9.12.0", "compound": true, "attributes": {}});
                    (name(segment.generation), value)
                });
                Value::Object(shown.collect::<Map<_, _>>())
            })
            .collect()
    }

    /// Documents and bytes of each segment of each shard.
    fn contents(&self) -> Vec<Vec<Contents>> {
        let mut contents: Vec<Vec<Contents>> =
            self.segments.iter().map(|segments| vec![(0, 0); segments.all.len()]).collect();
        for ((shard, _), slot) in &self.docs {
            let Some(source) = &slot.source else { continue };
            let shard = *shard as usize;
            let at = self.segments[shard].all.partition_point(|segment| segment.to <= slot.seq_no);
            if let Some((docs, bytes)) = contents[shard].get_mut(at) {
                *docs += 1;
                *bytes += source.len() as u64;
            }
        }
        contents
    }
}

/// `_` and the generation in base 36.
fn name(generation: u64) -> String {
    let mut digits = Vec::new();
    let mut rest = generation;
    while digits.is_empty() || rest > 0 {
        // A digit is below 36.
        digits.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('0'));
        rest /= 36;
    }
    format!("_{}", digits.iter().rev().collect::<String>())
}
