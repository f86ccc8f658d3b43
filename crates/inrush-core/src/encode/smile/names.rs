//! Field names: found again without being read, and written as references where the document has had them.

use xxhash_rust::xxh3::xxh3_64;

use super::output::Output;
use super::text;
use super::token::{self, can_refer};
use super::{NAME_LEN_MAX, NotSmile};

/// Beyond this the names of earlier documents are forgotten before the next one.
const KEPT_MAX: usize = 4096;
const KEPT_BYTES_MAX: usize = 1 << 20;

/// The empty name, which is never shared and stands for "none yet".
const EMPTY: u32 = 0;

/// The names of this and earlier documents. Which name follows which is remembered, because the next document most often has
/// the same fields in the same order: then one comparison tells the name.
#[derive(Debug)]
pub(super) struct Names {
    /// Of each name its token, its bytes and a quote: what is written, and what stands in the document.
    texts: Vec<u8>,
    names: Vec<Name>,
    /// Open addressing; 0 is free, because the empty name needs no entry.
    slots: Vec<u32>,
    previous: u32,
    /// Tells the table of shared names of this document, since it was emptied last, from all others.
    epoch: u64,
    count: u32,
    /// The object that is being written, a new number for each.
    object: u64,
    objects: u64,
    /// Which names the open objects have taken from which outer ones.
    taken: Vec<(u32, u64)>,
}

#[derive(Debug)]
struct Name {
    start: u32,
    /// Bytes of the name alone.
    len: u32,
    /// The names that followed it, the last one first.
    next: [u32; 2],
    /// The epoch in which `reference` is valid.
    epoch: u64,
    reference: u32,
    /// The object that has it.
    object: u64,
    /// Whether it stands in the document as it is: without an escape.
    plain: bool,
}

/// What an outer object gets back when an inner one ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
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
    pub(super) fn begin(&mut self) {
        if self.names.len() > KEPT_MAX || self.texts.len() > KEPT_BYTES_MAX {
            self.forget();
        }
        self.epoch += 1;
        self.count = 0;
        self.taken.clear();
    }

    pub(super) fn open(&mut self) -> Outer {
        let outer = Outer { object: self.object, taken: self.taken.len() };
        self.objects += 1;
        self.object = self.objects;
        outer
    }

    pub(super) fn close(&mut self, outer: Outer) {
        self.object = outer.object;
        for (name, object) in self.taken.drain(outer.taken..) {
            self.names[name as usize].object = object;
        }
    }

    /// Reads the name whose first byte after the opening quote is `at`, and writes it. Returns the byte after the closing quote.
    #[inline]
    pub(super) fn transcode(&mut self, json: &[u8], at: usize, out: &mut Output) -> Result<usize, NotSmile> {
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
            return Err(NotSmile::DuplicateName { at });
        }
        self.taken.push((name, entry.object));
        entry.object = self.object;
        self.write(name, out);
        Ok(after)
    }

    /// Writes a name that is not in the document's text.
    pub(super) fn insert(&mut self, name: &str, out: &mut Output) {
        let name = self.find(name.as_bytes());
        self.write(name, out);
    }

    #[inline]
    fn stands(&self, name: u32, json: &[u8]) -> bool {
        let name = &self.names[name as usize];
        let start = name.start as usize + 1;
        name.plain && json.starts_with(&self.texts[start..start + name.len as usize + 1])
    }

    fn read(&mut self, json: &[u8], at: usize, out: &mut Output) -> Result<(u32, usize), NotSmile> {
        let start = out.len();
        let after = text::copy(json, at, out)?.after;
        if out.len() - start > NAME_LEN_MAX {
            return Err(NotSmile::NameTooLong { at });
        }
        let name = self.find(&out.written()[start..]);
        out.truncate(start);
        Ok((name, after))
    }

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
