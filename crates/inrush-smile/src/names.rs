//! Field names: recognized by one comparison, and written as references where the document has had
//! them.

use alloc::vec::Vec;

use xxhash_rust::xxh3::xxh3_64;

use crate::output::Output;
use crate::text;
use crate::token::{self, can_refer};
use crate::{EncodeError, NAME_LEN_MAX};

/// Above these bounds the names of earlier documents are dropped before the next document.
const KEPT_MAX: usize = 4096;
const KEPT_BYTES_MAX: usize = 1 << 20;

/// The empty name. It is never shared, and also stands for "no name yet".
const EMPTY: u32 = 0;

/// The names of this and earlier documents.
///
/// Each name remembers its successors, because the next document usually has the same fields in the
/// same order. Then one comparison recognizes a name.
#[derive(Debug)]
pub(crate) struct Names {
    /// For each name its token, its bytes and a quote. Token and bytes are written to the output;
    /// bytes and quote are compared with the document.
    texts: Vec<u8>,
    names: Vec<Name>,
    /// A hash table with open addressing. 0 marks a free slot, because the empty name has no entry.
    slots: Vec<u32>,
    previous: u32,
    /// Identifies the reference table of this document since the table was last cleared.
    epoch: u64,
    count: u32,
    /// The number of the object being written. Each object has its own.
    object: u64,
    objects: u64,
    /// Names that open objects have taken from outer objects, with the outer object of each.
    taken: Vec<(u32, u64)>,
}

#[derive(Debug)]
struct Name {
    start: u32,
    /// Bytes of the name alone.
    len: u32,
    /// The names that followed this one, the most recent first.
    next: [u32; 2],
    /// The epoch in which `reference` is valid.
    epoch: u64,
    reference: u32,
    /// The innermost object that has the name.
    object: u64,
    /// Whether the document spells the name without an escape.
    plain: bool,
}

/// What an outer object gets back when an inner one ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outer {
    object: u64,
    taken: usize,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Names {
            texts: Vec::new(),
            names: Vec::new(),
            slots: Vec::new(),
            previous: EMPTY,
            epoch: 0,
            count: 0,
            object: 0,
            objects: 0,
            taken: Vec::new(),
        };
        names.forget();
        names
    }
}

impl Names {
    /// Drops all names.
    fn forget(&mut self) {
        self.texts.clear();
        self.texts.extend([token::NAME_EMPTY, b'"']);
        self.names.clear();
        self.names.push(Name { start: 0, len: 0, next: [EMPTY; 2], epoch: 0, reference: 0, object: 0, plain: true });
        self.slots.clear();
        self.slots.resize(256, EMPTY);
        self.previous = EMPTY;
    }

    /// Begins a document.
    pub(crate) fn begin(&mut self) {
        if self.names.len() > KEPT_MAX || self.texts.len() > KEPT_BYTES_MAX {
            self.forget();
        }
        self.epoch += 1;
        self.count = 0;
        self.taken.clear();
    }

    /// Starts an object inside the current one.
    pub(crate) fn open(&mut self) -> Outer {
        let outer = Outer { object: self.object, taken: self.taken.len() };
        self.objects += 1;
        self.object = self.objects;
        outer
    }

    /// Ends the current object and gives its names back to the outer one.
    pub(crate) fn close(&mut self, outer: Outer) {
        self.object = outer.object;
        for (name, object) in self.taken.drain(outer.taken..) {
            self.names[name as usize].object = object;
        }
    }

    /// Reads the name whose first byte after the opening quote is `at`, and writes it. Returns the
    /// offset after the closing quote.
    #[inline]
    pub(crate) fn transcode(&mut self, json: &[u8], at: usize, out: &mut Output) -> Result<usize, EncodeError> {
        let [first, second] = self.names[self.previous as usize].next;
        let (name, after) = if self.stands(first, &json[at..]) {
            (first, at + self.names[first as usize].len as usize + 1)
        } else {
            let (name, after) = if self.stands(second, &json[at..]) {
                (second, at + self.names[second as usize].len as usize + 1)
            } else {
                self.read(json, at, out)?
            };
            self.names[self.previous as usize].next = [name, first];
            (name, after)
        };
        self.previous = name;
        let entry = &mut self.names[name as usize];
        if entry.object == self.object {
            return Err(EncodeError::DuplicateName { at });
        }
        self.taken.push((name, entry.object));
        entry.object = self.object;
        self.write(name, out);
        Ok(after)
    }

    /// Whether `json` starts with this name and a quote.
    #[inline]
    fn stands(&self, name: u32, json: &[u8]) -> bool {
        let name = &self.names[name as usize];
        let start = name.start as usize + 1;
        name.plain && json.starts_with(&self.texts[start..start + name.len as usize + 1])
    }

    fn read(&mut self, json: &[u8], at: usize, out: &mut Output) -> Result<(u32, usize), EncodeError> {
        let start = out.len();
        let after = text::copy(json, at, out)?.after;
        if out.len() - start > NAME_LEN_MAX {
            return Err(EncodeError::NameTooLong { at });
        }
        let name = self.find(&out.written()[start..]);
        out.truncate(start);
        Ok((name, after))
    }

    /// The number of this name, new or known.
    fn find(&mut self, name: &[u8]) -> u32 {
        if name.is_empty() {
            return EMPTY;
        }
        if self.names.len() * 2 > self.slots.len() {
            self.rehash();
        }
        let mut slot = xxh3_64(name) as usize & (self.slots.len() - 1);
        loop {
            match self.slots[slot] {
                EMPTY => break,
                found if self.name(found) == name => return found,
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
        let found = self.names.len() as u32;
        self.slots[slot] = found;
        self.names.push(Name {
            start: self.texts.len() as u32,
            len: name.len() as u32,
            next: [EMPTY; 2],
            epoch: 0,
            reference: 0,
            object: 0,
            plain: !name.iter().any(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\'),
        });
        self.texts.push(match (name.len(), name.is_ascii()) {
            (len @ 1..=token::SHORT_ASCII_NAME_LEN_MAX, true) => token::NAME_ASCII + len as u8,
            (len @ 1..=token::SHORT_UNICODE_NAME_LEN_MAX, false) => token::NAME_UNICODE + len as u8,
            _ => token::NAME_LONG,
        });
        self.texts.extend_from_slice(name);
        self.texts.push(b'"');
        found
    }

    fn rehash(&mut self) {
        let len = self.slots.len() * 2;
        self.slots.clear();
        self.slots.resize(len, EMPTY);
        for name in 1..self.names.len() as u32 {
            let mut slot = xxh3_64(self.name(name)) as usize & (len - 1);
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & (len - 1);
            }
            self.slots[slot] = name;
        }
    }

    fn name(&self, name: u32) -> &[u8] {
        let name = &self.names[name as usize];
        let start = name.start as usize + 1;
        &self.texts[start..start + name.len as usize]
    }

    #[inline]
    fn write(&mut self, name: u32, out: &mut Output) {
        let entry = &mut self.names[name as usize];
        if entry.epoch == self.epoch {
            match entry.reference {
                reference @ 0..64 => out.push(token::NAME_SHARED_SHORT + reference as u8),
                reference => {
                    out.push(token::NAME_SHARED_LONG + (reference >> 8) as u8);
                    out.push(reference as u8);
                }
            }
            return;
        }
        let start = entry.start as usize;
        let text = &self.texts[start..start + entry.len as usize + 1];
        out.extend(text);
        if name == EMPTY {
            return;
        }
        if text[0] == token::NAME_LONG {
            out.push(token::END_OF_STRING);
        }
        if self.count == token::SHARED_MAX {
            self.epoch += 1;
            self.count = 0;
        }
        if can_refer(self.count) {
            entry.epoch = self.epoch;
            entry.reference = self.count;
        }
        self.count += 1;
    }
}
