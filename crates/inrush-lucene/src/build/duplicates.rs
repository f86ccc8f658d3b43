//! Documents with one id in several segments: one of them stays.
//!
//! Each segment leaves a list of its ids in their order, on disk: memory stays free however many
//! documents a shard has. The lists are merged once, before the commit, and the documents that lose
//! are deleted in their segments.
//!
//! An entry of a list is: the length of what its id shares with the one before, the length of the
//! rest, the rest, the document, the bits by which the number under which it came differs, and how
//! many documents before it belong to it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::fields::ids::Keep;
use crate::formats::commit::Segment;
use crate::formats::output::Put;

/// Bytes of a list that are read at once.
const READ_BYTES: usize = 64 << 10;

/// When documents came: the first of some in their segment, and a number that grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals(Vec<(u32, u64)>);

impl Arrivals {
    /// The documents from `first` on came after those with a lesser number.
    pub(crate) fn push(&mut self, first: u32, number: u64) {
        if self.0.last().is_none_or(|(_, last)| *last != number) {
            self.0.push((first, number));
        }
    }

    fn of(&self, doc: u32) -> u64 {
        let at = self.0.partition_point(|(first, _)| *first <= doc);
        at.checked_sub(1).map_or(0, |at| self.0[at].1)
    }
}

/// A segment that is written, and when its documents came.
pub(crate) struct Built {
    pub(crate) segment: Segment,
    pub(crate) arrivals: Arrivals,
}

/// A document that no other one of its segment loses to.
pub(crate) struct Entry<'a> {
    pub(crate) id: &'a [u8],
    /// The document in its segment, the number under which it came, and how many documents belong
    /// to it: they are before it.
    pub(crate) doc: u32,
    pub(crate) came: u32,
    pub(crate) children: u32,
}

fn path(folder: &Path, segment: &str) -> PathBuf {
    folder.join(format!("ids{segment}"))
}

/// Writes the list of a segment; its entries come in the order of their ids.
pub(crate) fn write_list<'a>(folder: &Path, segment: &str, entries: impl Iterator<Item = Entry<'a>>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path(folder, segment))?);
    let (mut before, mut bytes): (&[u8], _) = (&[], Vec::new());
    for Entry { id, doc, came, children } in entries {
        let shared = before.iter().zip(id).take_while(|(a, b)| a == b).count();
        bytes.clear();
        bytes.put_vint(shared as u32);
        bytes.put_vint((id.len() - shared) as u32);
        bytes.extend_from_slice(&id[shared..]);
        bytes.put_vint(doc);
        bytes.put_vint(came ^ doc);
        bytes.put_vint(children);
        out.write_all(&bytes)?;
        before = id;
    }
    out.flush()
}

/// The list of one segment while it is merged.
struct List {
    reader: BufReader<File>,
    id: Vec<u8>,
}

/// The first entry of a list that was not merged yet. The order of the fields is that of the merge.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    id: Vec<u8>,
    segment: usize,
    doc: u32,
    came: u32,
    children: u32,
}

impl List {
    /// The next entry, in the buffer of another one. `None` at the end.
    fn next(&mut self, segment: usize, mut id: Vec<u8>) -> io::Result<Option<Head>> {
        if self.reader.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let shared = self.vint()? as usize;
        let rest = self.vint()? as usize;
        self.id.truncate(shared);
        self.id.resize(shared + rest, 0);
        self.reader.read_exact(&mut self.id[shared..])?;
        id.clear();
        id.extend_from_slice(&self.id);
        let doc = self.vint()?;
        Ok(Some(Head { id, segment, doc, came: self.vint()? ^ doc, children: self.vint()? }))
    }

    fn vint(&mut self) -> io::Result<u32> {
        let mut value = 0;
        for shift in (0..32).step_by(7) {
            let mut byte = [0];
            self.reader.read_exact(&mut byte)?;
            value |= u32::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                break;
            }
        }
        Ok(value)
    }
}

/// Merges the lists of the segments and deletes the documents that lose, and the lists. Returns how
/// many documents lost to one of another segment.
pub(crate) fn resolve(folder: &Path, segments: &mut [Built], keep: Keep) -> io::Result<u64> {
    let mut lists: Vec<Option<List>> = Vec::with_capacity(segments.len());
    for Built { segment, .. } in &*segments {
        lists.push(match File::open(path(folder, &segment.name)) {
            Ok(file) => Some(List { reader: BufReader::with_capacity(READ_BYTES, file), id: Vec::new() }),
            // A segment whose ids were all made here has none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        });
    }
    let several = lists.iter().flatten().count() > 1;
    let duplicates = if several { merge(&mut lists, segments, keep)? } else { 0 };
    drop(lists);
    for Built { segment, .. } in &*segments {
        match fs::remove_file(path(folder, &segment.name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(duplicates)
}

fn merge(lists: &mut [Option<List>], segments: &mut [Built], keep: Keep) -> io::Result<u64> {
    let mut heads = BinaryHeap::with_capacity(lists.len());
    for (segment, list) in lists.iter_mut().enumerate() {
        if let Some(list) = list {
            heads.extend(list.next(segment, Vec::new())?.map(Reverse));
        }
    }
    let mut duplicates = 0;
    // The one that stays so far among those with its id.
    let mut best: Option<Head> = None;
    let mut free = Vec::new();
    while let Some(mut top) = heads.peek_mut() {
        let segment = top.0.segment;
        let following = match &mut lists[segment] {
            Some(list) => list.next(segment, std::mem::take(&mut free))?,
            None => None,
        };
        let head = match following {
            Some(following) => std::mem::replace(&mut top.0, following),
            None => PeekMut::pop(top).0,
        };
        free = match best.as_mut().filter(|best| best.id == head.id) {
            Some(best) => {
                let loser = lost(best, head, segments, keep);
                segments[loser.segment].segment.deleted.extend(loser.doc - loser.children..=loser.doc);
                duplicates += 1;
                loser.id
            }
            None => best.replace(head).map(|old| old.id).unwrap_or_default(),
        };
    }
    Ok(duplicates)
}

/// Of two documents with one id, the one that loses; the other one is `best` then.
fn lost(best: &mut Head, head: Head, segments: &[Built], keep: Keep) -> Head {
    let arrival = |head: &Head| (segments[head.segment].arrivals.of(head.came), head.segment);
    let is_later = arrival(&head) > arrival(best);
    if is_later == (keep == Keep::Last) { std::mem::replace(best, head) } else { head }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::formats::live_docs::Deleted;

    fn built(number: usize) -> Built {
        let name = format!("_{number}");
        let segment = Segment { name, id: [0; 16], docs: 10, deleted: Deleted::default(), duplicates: 0 };
        Built { segment, arrivals: Arrivals::default() }
    }

    /// Merges segments of (id, arrival); returns the deleted documents of each.
    fn merged(keep: Keep, of: &[&[(&str, u64)]]) -> (u64, Vec<Vec<u32>>) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("inrush-lucene-ids-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut segments: Vec<Built> = (0..of.len()).map(built).collect();
        for (built, entries) in segments.iter_mut().zip(of).filter(|(_, entries)| !entries.is_empty()) {
            for (doc, (_, arrival)) in (0..).zip(*entries) {
                built.arrivals.push(2 * doc + 1 - doc, *arrival);
            }
            let entries = (0..).zip(*entries).map(|(doc, (id, _))| Entry {
                id: id.as_bytes(),
                doc: 2 * doc + 1,
                came: 2 * doc + 1,
                children: doc,
            });
            write_list(&folder, &built.segment.name, entries).unwrap();
        }
        let duplicates = resolve(&folder, &mut segments, keep).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(&folder).unwrap();
        let deleted = |built: Built| (0..10).filter(|doc| built.segment.deleted.contains(*doc)).collect();
        (duplicates, segments.into_iter().map(deleted).collect())
    }

    #[test]
    fn the_last_one_stays_or_the_first() {
        // `b` comes three times, with two children less than three of them in a segment.
        let of: [&[(&str, u64)]; 4] = [&[("a", 1), ("b", 2)], &[("b", 9), ("c", 1)], &[], &[("", 3), ("b", 7)]];
        assert_eq!(merged(Keep::Last, &of), (2, vec![vec![2, 3], vec![], vec![], vec![2, 3]]));
        assert_eq!(merged(Keep::First, &of), (2, vec![vec![], vec![1], vec![], vec![2, 3]]));
    }

    #[test]
    fn ids_of_one_segment_are_not_compared() {
        assert_eq!(merged(Keep::Last, &[&[("a", 1)], &[]]), (0, vec![vec![], vec![]]));
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        let long = "x".repeat(512);
        let ids: Vec<String> = (0..5_000).map(|n| format!("{n:07}")).chain([long.clone(), long + "y"]).collect();
        let entries: Vec<(&str, u64)> = ids.iter().map(|id| (id.as_str(), 5)).collect();
        let other: [(&str, u64); 2] = [("0000003", 4), (&ids[5_001], 6)];
        let (duplicates, deleted) = merged(Keep::Last, &[&entries, &other]);
        assert_eq!((duplicates, &deleted[1]), (2, &vec![1]));
    }
}
