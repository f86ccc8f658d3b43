//! Documents with one id in several segments: one of them stays.
//!
//! Each segment leaves a list of its ids in their order, on disk: memory stays free however many
//! documents a shard has. The lists are merged once, before the commit, and the documents that lose
//! are deleted in their segments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::fields::ids::Keep;
use crate::formats::commit::Segment;

/// A document that no other one of its segment loses to.
pub(crate) struct Entry<'a> {
    pub(crate) id: &'a [u8],
    /// When the document came, in comparison with those of other segments.
    pub(crate) arrival: u64,
    /// The document in its segment, and those that belong to it: they are before it.
    pub(crate) doc: u32,
    pub(crate) children: u32,
}

fn path(folder: &Path, segment: &str) -> PathBuf {
    folder.join(format!("ids{segment}"))
}

/// Writes the list of a segment; its entries come in the order of their ids.
pub(crate) fn write_list<'a>(folder: &Path, segment: &str, entries: impl Iterator<Item = Entry<'a>>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path(folder, segment))?);
    for Entry { id, arrival, doc, children } in entries {
        // An id has 513 bytes at most.
        out.write_all(&(id.len() as u16).to_le_bytes())?;
        out.write_all(id)?;
        out.write_all(&arrival.to_le_bytes())?;
        out.write_all(&doc.to_le_bytes())?;
        out.write_all(&children.to_le_bytes())?;
    }
    out.flush()
}

/// The list of one segment while it is merged.
struct List {
    reader: BufReader<File>,
}

/// The first entry of a list that was not merged yet. The order of the fields is that of the merge.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    id: Vec<u8>,
    arrival: u64,
    segment: usize,
    doc: u32,
    children: u32,
}

impl List {
    /// The next entry, in the buffer of the one before. `None` at the end.
    fn next(&mut self, segment: usize, mut id: Vec<u8>) -> io::Result<Option<Head>> {
        if self.reader.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut len = [0; 2];
        self.reader.read_exact(&mut len)?;
        id.resize(usize::from(u16::from_le_bytes(len)), 0);
        self.reader.read_exact(&mut id)?;
        let (mut arrival, mut doc, mut children) = ([0; 8], [0; 4], [0; 4]);
        self.reader.read_exact(&mut arrival)?;
        self.reader.read_exact(&mut doc)?;
        self.reader.read_exact(&mut children)?;
        let arrival = u64::from_le_bytes(arrival);
        Ok(Some(Head { id, arrival, segment, doc: u32::from_le_bytes(doc), children: u32::from_le_bytes(children) }))
    }
}

/// Merges the lists of the segments and deletes the documents that lose, and the lists. Returns how
/// many documents lost to one of another segment.
pub(crate) fn resolve(folder: &Path, segments: &mut [Segment], keep: Keep) -> io::Result<u64> {
    let mut lists: Vec<Option<List>> = Vec::with_capacity(segments.len());
    for segment in &*segments {
        lists.push(match File::open(path(folder, &segment.name)) {
            Ok(file) => Some(List { reader: BufReader::with_capacity(64 << 10, file) }),
            // A segment whose ids were all made here has none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        });
    }
    let mut duplicates = 0;
    if lists.iter().flatten().count() > 1 {
        duplicates = merge(&mut lists, segments, keep)?;
        for segment in &mut *segments {
            segment.deleted.sort_unstable();
        }
    }
    drop(lists);
    for segment in &*segments {
        match fs::remove_file(path(folder, &segment.name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(duplicates)
}

fn merge(lists: &mut [Option<List>], segments: &mut [Segment], keep: Keep) -> io::Result<u64> {
    let mut heads = BinaryHeap::with_capacity(lists.len());
    for (segment, list) in lists.iter_mut().enumerate() {
        if let Some(list) = list {
            heads.extend(list.next(segment, Vec::new())?.map(Reverse));
        }
    }
    let mut duplicates = 0;
    let mut delete = |head: &Head| {
        segments[head.segment].deleted.extend(head.doc - head.children..=head.doc);
        duplicates += 1;
    };
    // The one that stays so far among those with its id.
    let mut best: Option<Head> = None;
    while let Some(Reverse(head)) = heads.pop() {
        let segment = head.segment;
        let free = match &mut best {
            // Heads with one id come in the order of their arrival.
            Some(best) if best.id == head.id => match keep {
                Keep::First => {
                    delete(&head);
                    head.id
                }
                Keep::Last => {
                    delete(best);
                    std::mem::replace(best, head).id
                }
            },
            none => none.replace(head).map(|old| old.id).unwrap_or_default(),
        };
        if let Some(list) = &mut lists[segment] {
            heads.extend(list.next(segment, free)?.map(Reverse));
        }
    }
    Ok(duplicates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(number: usize) -> Segment {
        Segment { name: format!("_{number}"), id: [0; 16], docs: 10, deleted: Vec::new(), duplicates: 0 }
    }

    /// Merges segments of (id, arrival); returns the deleted documents of each.
    fn merged(keep: Keep, of: &[&[(&str, u64)]]) -> (u64, Vec<Vec<u32>>) {
        let folder =
            std::env::temp_dir().join(format!("inrush-lucene-ids-{keep:?}-{}-{}", of.len(), std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut segments: Vec<Segment> = (0..of.len()).map(segment).collect();
        for (segment, entries) in segments.iter().zip(of).filter(|(_, entries)| !entries.is_empty()) {
            let entries = (0..).zip(*entries).map(|(doc, (id, arrival))| Entry {
                id: id.as_bytes(),
                arrival: *arrival,
                doc: 2 * doc + 1,
                children: doc,
            });
            write_list(&folder, &segment.name, entries).unwrap();
        }
        let duplicates = resolve(&folder, &mut segments, keep).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(&folder).unwrap();
        (duplicates, segments.into_iter().map(|segment| segment.deleted).collect())
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
}
