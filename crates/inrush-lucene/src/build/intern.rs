//! Terms, each kept once and known by a number.

use crate::hash::hash;

/// Places of a table in the beginning: an index may have thousands of fields.
const PLACES: usize = 16;

/// A set of terms. Numbers are given in the order in which terms are first seen.
pub(crate) struct Interner {
    bytes: Vec<u8>,
    /// Where each term ends.
    ends: Vec<u32>,
    /// A power of two of places; a term's hash in the upper half, and its number plus 1, or 0.
    table: Vec<u64>,
}

impl Interner {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), table: vec![0; PLACES] }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Forgets the terms, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        if !self.ends.is_empty() {
            self.table.fill(0);
        }
        self.bytes.clear();
        self.ends.clear();
    }

    /// Bytes in memory.
    pub(crate) fn held(&self) -> usize {
        self.bytes.len() + 4 * self.ends.len() + 8 * self.table.len()
    }

    #[inline]
    pub(crate) fn term(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] as usize };
        &self.bytes[start..self.ends[number] as usize]
    }

    /// The number of a term, a new one if it was not seen before.
    #[inline]
    pub(crate) fn number(&mut self, term: &[u8]) -> u32 {
        let hash = hash(term);
        let mask = self.table.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let entry = self.table[place];
            if entry == 0 {
                return self.add(term, hash, place);
            }
            let number = entry as u32;
            if (entry >> 32) as u32 == hash && self.term(number - 1) == term {
                return number - 1;
            }
            place = (place + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, term: &[u8], hash: u32, place: usize) -> u32 {
        self.bytes.extend_from_slice(term);
        self.ends.push(self.bytes.len() as u32);
        let number = self.ends.len() as u32;
        self.table[place] = u64::from(hash) << 32 | u64::from(number);
        if self.ends.len() * 2 > self.table.len() {
            let mask = self.table.len() * 2 - 1;
            let mut table = vec![0; mask + 1];
            for entry in self.table.iter().copied().filter(|entry| *entry != 0) {
                let mut place = (entry >> 32) as usize & mask;
                while table[place] != 0 {
                    place = (place + 1) & mask;
                }
                table[place] = entry;
            }
            self.table = table;
        }
        number - 1
    }

    /// The numbers of all terms, in the order of the terms.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let key = |number: u32| {
            let term = self.term(number);
            let mut first = [0; 8];
            let len = term.len().min(8);
            first[..len].copy_from_slice(&term[..len]);
            u64::from_be_bytes(first)
        };
        let mut keys: Vec<(u64, u32)> = (0..self.len() as u32).map(|number| (key(number), number)).collect();
        keys.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.term(a.1).cmp(self.term(b.1))));
        keys.into_iter().map(|(_, number)| number).collect()
    }
}
