//! Sorts more keys than fit into memory. Keys that fill the memory are sorted and written to a
//! temporary file without a name as a run. Reading merges the runs. The file disappears with the
//! process, however it ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::FileExt;

/// The read buffer of a run, bytes. It is smaller if there are many runs, so that all buffers fit
/// into the memory.
const READ_MAX: usize = 1 << 20;
const READ_MIN: usize = 4 << 10;

/// Accepts keys with values in any order. Equal keys keep the order in which they were added.
pub(super) struct Sorter {
    memory: usize,
    arena: Vec<u8>,
    entries: Vec<Entry>,
    spilled: Option<File>,
    runs: Vec<Run>,
}

/// Offsets in the arena.
#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    value: usize,
    end: usize,
}

/// Offsets in the file.
#[derive(Clone, Copy)]
struct Run {
    start: u64,
    end: u64,
}

impl Sorter {
    /// A sorter that uses about `memory` bytes.
    pub(super) fn new(memory: usize) -> Self {
        Sorter { memory, arena: Vec::new(), entries: Vec::new(), spilled: None, runs: Vec::new() }
    }

    /// Adds a key.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let used = self.arena.len() + self.entries.len() * size_of::<Entry>();
        if used > 0 && used + key.len() + value.len() > self.memory {
            self.spill()?;
        }
        let start = self.arena.len();
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(value);
        self.entries.push(Entry { start, value: start + key.len(), end: self.arena.len() });
        Ok(())
    }

    /// Sorts the rest, and returns the sorted keys.
    pub(super) fn finish(mut self) -> Sorted {
        self.sort();
        Sorted { memory: self.memory, arena: self.arena, entries: self.entries, spilled: self.spilled, runs: self.runs }
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        self.entries
            .sort_unstable_by(|a, b| arena[a.start..a.value].cmp(&arena[b.start..b.value]).then(a.start.cmp(&b.start)));
    }

    fn spill(&mut self) -> io::Result<()> {
        self.sort();
        let mut file = match self.spilled.take() {
            Some(file) => file,
            None => tempfile::tempfile()?,
        };
        let start = file.stream_position()?;
        let mut out = BufWriter::with_capacity(READ_MAX, &mut file);
        for entry in &self.entries {
            out.write_all(&((entry.value - entry.start) as u32).to_le_bytes())?;
            out.write_all(&((entry.end - entry.value) as u32).to_le_bytes())?;
            out.write_all(&self.arena[entry.start..entry.end])?;
        }
        out.flush()?;
        drop(out);
        self.runs.push(Run { start, end: file.stream_position()? });
        self.spilled = Some(file);
        self.arena.clear();
        self.entries.clear();
        Ok(())
    }
}

/// Sorted keys, which can be read any number of times.
pub(super) struct Sorted {
    memory: usize,
    arena: Vec<u8>,
    entries: Vec<Entry>,
    spilled: Option<File>,
    runs: Vec<Run>,
}

/// A key and its value.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

impl Sorted {
    /// Reads from the smallest key on.
    pub(super) fn read(&self) -> io::Result<Merge<'_>> {
        let buffer = (self.memory / self.runs.len().max(1)).clamp(READ_MIN, READ_MAX);
        let mut cursors = Vec::new();
        if let Some(file) = &self.spilled {
            for run in &self.runs {
                let section = Section { file, at: run.start, end: run.end };
                cursors.push(Cursor::Spilled(BufReader::with_capacity(buffer, section)));
            }
        }
        // The last keys are still in memory.
        cursors.push(Cursor::Memory { arena: &self.arena, entries: self.entries.iter() });
        let mut merge = Merge { cursors, heads: BinaryHeap::new() };
        for cursor in 0..merge.cursors.len() {
            merge.advance(cursor)?;
        }
        Ok(merge)
    }
}

/// Key, run, value. Of equal keys, the one of the earlier run comes first.
type Head = (Vec<u8>, usize, Vec<u8>);

/// Merges the runs.
pub(super) struct Merge<'a> {
    cursors: Vec<Cursor<'a>>,
    /// The next pair of each run.
    heads: BinaryHeap<Reverse<Head>>,
}

impl Merge<'_> {
    /// The next pair; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Pair>> {
        let Some(Reverse((key, cursor, value))) = self.heads.pop() else { return Ok(None) };
        self.advance(cursor)?;
        Ok(Some((key, value)))
    }

    /// All values of the next key, in the order in which they came; `None` at the end.
    pub(super) fn next_group(&mut self) -> io::Result<Option<(Vec<u8>, Group)>> {
        let Some((key, mut last)) = self.next()? else { return Ok(None) };
        let mut count = 1;
        while self.heads.peek().is_some_and(|Reverse((next, _, _))| *next == key) {
            if let Some((_, value)) = self.next()? {
                last = value;
                count += 1;
            }
        }
        Ok(Some((key, Group { count, last })))
    }

    fn advance(&mut self, cursor: usize) -> io::Result<()> {
        if let Some((key, value)) = self.cursors[cursor].next()? {
            self.heads.push(Reverse((key, cursor, value)));
        }
        Ok(())
    }
}

/// The values of one key.
pub(super) struct Group {
    /// The number of values.
    pub(super) count: u64,
    /// The value that was added last.
    pub(super) last: Vec<u8>,
}

enum Cursor<'a> {
    Memory { arena: &'a [u8], entries: std::slice::Iter<'a, Entry> },
    Spilled(BufReader<Section<'a>>),
}

impl Cursor<'_> {
    fn next(&mut self) -> io::Result<Option<Pair>> {
        match self {
            Cursor::Memory { arena, entries } => Ok(entries
                .next()
                .map(|entry| (arena[entry.start..entry.value].to_vec(), arena[entry.value..entry.end].to_vec()))),
            Cursor::Spilled(run) => {
                if run.buffer().is_empty() && run.get_ref().is_at_end() {
                    return Ok(None);
                }
                let mut lens = [0; 8];
                run.read_exact(&mut lens)?;
                let [k0, k1, k2, k3, v0, v1, v2, v3] = lens;
                let mut key = vec![0; u32::from_le_bytes([k0, k1, k2, k3]) as usize];
                let mut value = vec![0; u32::from_le_bytes([v0, v1, v2, v3]) as usize];
                run.read_exact(&mut key)?;
                run.read_exact(&mut value)?;
                Ok(Some((key, value)))
            }
        }
    }
}

/// A part of a file, read without moving the file's own position.
struct Section<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Section<'_> {
    fn is_at_end(&self) -> bool {
        self.at >= self.end
    }
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(&mut buffer[..left], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(pairs: &[Pair], memory: usize) -> Sorted {
        let mut sorter = Sorter::new(memory);
        for (key, value) in pairs {
            sorter.push(key, value).unwrap();
        }
        sorter.finish()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn as_a_stable_sort_whatever_the_memory(
            keys in prop::collection::vec("[a-d]{0,3}", 0..300),
            memory in prop_oneof![Just(1_usize), Just(500), Just(1 << 20)],
        ) {
            let mut pairs: Vec<Pair> =
                keys.into_iter().enumerate().map(|(n, key)| (key.into_bytes(), n.to_string().into_bytes())).collect();
            let sorted = sorted(&pairs, memory);
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            // Read twice, because reading does not consume the keys.
            for _ in 0..2 {
                let mut merge = sorted.read().unwrap();
                for pair in &pairs {
                    let next = merge.next().unwrap();
                    prop_assert_eq!(next.as_ref(), Some(pair));
                }
                prop_assert_eq!(merge.next().unwrap(), None);
            }
        }
    }

    #[test]
    fn groups_have_the_last_value() {
        let pairs: Vec<Pair> = ["b1", "a1", "b2", "b3"]
            .map(|text| (text.as_bytes()[..1].to_vec(), text.as_bytes()[1..].to_vec()))
            .to_vec();
        let sorted = sorted(&pairs, 1);
        assert_eq!(sorted.runs.len(), 3);
        let mut merge = sorted.read().unwrap();
        let mut found = Vec::new();
        while let Some((key, group)) = merge.next_group().unwrap() {
            found.push((key[0], group.count, group.last[0]));
        }
        assert_eq!(found, [(b'a', 1, b'1'), (b'b', 3, b'3')]);
    }
}
