//! Doc values: the values of each document, by document.
//!
//! Source: the documentation of `org.apache.lucene.codecs.lucene90.Lucene90DocValuesFormat`; that
//! of `org.apache.lucene.index.DocValuesSkipper` in Lucene 10 for the index of ranges.

mod dictionary;
mod ranges;

use std::io;
use std::path::Path;

use crate::formats::docs_with::write_docs_with;
use crate::formats::output::{FileOutput, ID_BYTES, Put};
use crate::formats::packed::{DirectWriter, direct_bits, write_monotonic};

pub(crate) use dictionary::Dictionary;

const VERSION: u32 = 0;
const NUMERIC: u8 = 0;
const BINARY: u8 = 1;
const SORTED: u8 = 2;
const SORTED_SET: u8 = 3;
const SORTED_NUMERIC: u8 = 4;
const ADDRESS_SHIFT: u32 = 16;
/// Numbers in a block with a width of its own.
const BLOCK_SHIFT: u32 = 14;
/// The most numbers that are written as places in a table.
const TABLE_MAX: usize = 256;
/// The greatest range of numbers that are looked up by their distance from the least one.
const LOOKED_UP: u64 = 1 << 16;

/// Values with their documents, in the order of the documents.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) values: &'a [i64],
    /// The document of each value. `None` if each document has one value.
    pub(crate) docs: Option<&'a [u32]>,
}

impl<'a> Values<'a> {
    /// The documents with a value, each once, and how many values each has.
    fn counts(&self) -> Option<(Vec<u32>, Vec<u64>)> {
        let docs = self.docs?;
        let mut each = Vec::with_capacity(docs.len());
        let mut counts = Vec::with_capacity(docs.len());
        for same in docs.chunk_by(|a, b| a == b) {
            each.push(same[0]);
            counts.push(same.len() as u64);
        }
        Some((each, counts))
    }

    fn iter(&self) -> impl Iterator<Item = (u32, i64)> + 'a {
        let docs = self.docs;
        self.values.iter().enumerate().map(move |(i, &value)| (docs.map_or(i as u32, |docs| docs[i]), value))
    }
}

/// The files `.dvd` and `.dvm`.
pub(crate) struct DocValuesWriter {
    data: FileOutput,
    meta: FileOutput,
    max_doc: u32,
}

impl DocValuesWriter {
    pub(crate) fn create(
        folder: &Path,
        base: &str,
        id: &[u8; ID_BYTES],
        suffix: &str,
        max_doc: u32,
    ) -> io::Result<Self> {
        let open = |extension: &str, codec: &str| {
            let mut file = FileOutput::create(folder, format!("{base}.{extension}"))?;
            file.put_index_header(codec, VERSION, id, suffix);
            io::Result::Ok(file)
        };
        Ok(Self {
            data: open("dvd", "Lucene90DocValuesData")?,
            meta: open("dvm", "Lucene90DocValuesMetadata")?,
            max_doc,
        })
    }

    /// Adds a field of which a document has one number at most.
    pub(crate) fn add_numeric(&mut self, number: u32, values: Values) {
        self.start(number, NUMERIC);
        self.put_values(values, values.docs, false);
    }

    /// Adds a field of which a document has any number of numbers, which ascend. With `ranges` a
    /// reader of Lucene 10 can leave out documents by the range of their values.
    pub(crate) fn add_sorted_numeric(&mut self, number: u32, values: Values, ranges: bool) {
        self.start(number, SORTED_NUMERIC);
        if ranges {
            self.put_ranges(values);
        }
        self.put_sorted_numeric(values, false);
    }

    /// Adds a field of which a document has one term at most: `values` are their numbers in
    /// `terms`.
    pub(crate) fn add_sorted(&mut self, number: u32, values: Values, terms: &impl Dictionary) {
        self.start(number, SORTED);
        self.put_values(values, values.docs, true);
        self.put_dictionary(terms);
        self.put_dictionary_index(terms);
    }

    /// Adds a field of which a document has any number of terms: `values` are their numbers in
    /// `terms`, ascending and each once in a document.
    pub(crate) fn add_sorted_set(&mut self, number: u32, values: Values, terms: &impl Dictionary) {
        self.start(number, SORTED_SET);
        let several = values.docs.is_some_and(|docs| docs.windows(2).any(|pair| pair[0] == pair[1]));
        self.meta.put_u8(u8::from(several));
        if several {
            self.put_sorted_numeric(values, true);
        } else {
            self.put_values(values, values.docs, true);
        }
        self.put_dictionary(terms);
        self.put_dictionary_index(terms);
    }

    /// Adds a field of which a document has one run of bytes at most. `docs` are those with one,
    /// each once; `None` is all. `each` shows them one after the other.
    pub(crate) fn add_binary(&mut self, number: u32, docs: Option<&[u32]>, each: impl FnOnce(&mut dyn FnMut(&[u8]))) {
        self.start(number, BINARY);
        let start = self.data.position();
        let mut ends = vec![0_u64];
        let (mut least, mut most) = (u64::MAX, 0);
        each(&mut |bytes| {
            self.data.put(bytes);
            let len = bytes.len() as u64;
            (least, most) = (least.min(len), most.max(len));
            ends.push(ends[ends.len() - 1] + len);
        });
        self.meta.put_u64(start);
        self.meta.put_u64(self.data.position() - start);
        write_docs_with(&mut self.meta, &mut self.data, docs, self.max_doc);
        self.meta.put_u32(ends.len() as u32 - 1);
        self.meta.put_u32(least as u32);
        self.meta.put_u32(most as u32);
        if most > least {
            let start = self.data.position();
            self.meta.put_u64(start);
            self.meta.put_vint(ADDRESS_SHIFT);
            write_monotonic(&mut self.meta, &mut self.data, &ends, ADDRESS_SHIFT);
            self.meta.put_u64(self.data.position() - start);
        }
    }

    fn start(&mut self, number: u32, kind: u8) {
        self.meta.put_u32(number);
        self.meta.put_u8(kind);
    }

    /// Where the values of each document begin.
    fn put_addresses(&mut self, counts: impl Iterator<Item = u64>) {
        let mut sum = 0;
        let mut addresses = vec![0];
        addresses.extend(counts.map(|count| {
            sum += count;
            sum
        }));
        let start = self.data.position();
        self.meta.put_u64(start);
        self.meta.put_vint(ADDRESS_SHIFT);
        write_monotonic(&mut self.meta, &mut self.data, &addresses, ADDRESS_SHIFT);
        self.meta.put_u64(self.data.position() - start);
    }

    fn put_sorted_numeric(&mut self, values: Values, ordinals: bool) {
        match values.counts() {
            None => {
                self.put_values(values, None, ordinals);
                self.meta.put_u32(values.values.len() as u32);
            }
            Some((docs, counts)) => {
                self.put_values(values, Some(&docs), ordinals);
                self.meta.put_u32(docs.len() as u32);
                if values.values.len() > docs.len() {
                    self.put_addresses(counts.into_iter());
                }
            }
        }
    }

    /// Writes which documents have values (`docs`, each once), and the values in the width that
    /// needs least room.
    fn put_values(&mut self, values: Values, docs: Option<&[u32]>, ordinals: bool) {
        write_docs_with(&mut self.meta, &mut self.data, docs, self.max_doc);
        let values = values.values;
        self.meta.put_u64(values.len() as u64);
        let look = Look::new(values, ordinals);
        let mut least = look.least;
        let mut divisor = look.divisor;
        let width;
        let mut encoding = Encoding::Whole;
        if look.least >= look.most {
            if values.is_empty() {
                (least, divisor) = (i64::MAX, 0);
            }
            self.meta.put_i32(-1);
            width = 0;
        } else if let Some(table) = look.table {
            width = direct_bits(table.len() as u64 - 1);
            self.meta.put_u32(table.len() as u32);
            for value in &table {
                self.meta.put_i64(*value);
            }
            (least, divisor) = (0, 1);
            encoding = Encoding::Table(table);
        } else if look.blocks {
            width = 0xff;
            self.meta.put_i32(-2 - BLOCK_SHIFT as i32);
            encoding = Encoding::Blocks;
        } else {
            width = direct_bits(look.most.wrapping_sub(least) as u64 / divisor);
            if divisor == 1 && least > 0 && direct_bits(look.most as u64) == width {
                least = 0;
            }
            self.meta.put_i32(-1);
        }
        self.meta.put_u8(width as u8);
        self.meta.put_i64(least);
        self.meta.put_u64(divisor);
        let start = self.data.position();
        self.meta.put_u64(start);
        let mut jumps = -1;
        match encoding {
            _ if width == 0 => {}
            Encoding::Table(table) => self.put_table(values, width, &table),
            Encoding::Blocks => jumps = self.put_blocks(values, divisor) as i64,
            Encoding::Whole => put_numbers(&mut self.data, values, width, least, divisor),
        }
        self.meta.put_u64(self.data.position() - start);
        self.meta.put_i64(jumps);
    }

    fn put_table(&mut self, values: &[i64], width: u32, table: &[i64]) {
        let mut writer = DirectWriter::new(&mut self.data, width);
        let (least, most) = (table[0], table[table.len() - 1]);
        if most.abs_diff(least) < LOOKED_UP {
            let mut places = vec![0_u8; most.abs_diff(least) as usize + 1];
            for (place, value) in table.iter().enumerate() {
                places[value.abs_diff(least) as usize] = place as u8;
            }
            values.iter().for_each(|value| writer.add(u64::from(places[value.abs_diff(least) as usize])));
        } else {
            for value in values {
                // Each value is in the table.
                writer.add(table.binary_search(value).unwrap_or_default() as u64);
            }
        }
        writer.finish();
    }

    /// Blocks with a width each; returns where it says where they are.
    fn put_blocks(&mut self, values: &[i64], divisor: u64) -> u64 {
        let mut places = Vec::new();
        let mut bytes = Vec::new();
        for block in values.chunks(1 << BLOCK_SHIFT) {
            places.push(self.data.position());
            let least = block.iter().copied().min().unwrap_or_default();
            let most = block.iter().copied().max().unwrap_or_default();
            if least == most {
                self.data.put_u8(0);
                self.data.put_i64(least);
                continue;
            }
            let width = direct_bits(most.wrapping_sub(least) as u64 / divisor);
            bytes.clear();
            put_numbers(&mut bytes, block, width, least, divisor);
            self.data.put_u8(width as u8);
            self.data.put_i64(least);
            self.data.put_u32(bytes.len() as u32);
            self.data.put(&bytes);
        }
        let jumps = self.data.position();
        for place in places {
            self.data.put_u64(place);
        }
        self.data.put_u64(jumps);
        jumps
    }

    pub(crate) fn finish(mut self) -> io::Result<Vec<String>> {
        self.meta.put_i32(-1);
        self.meta.put_footer();
        self.data.put_footer();
        [self.data, self.meta].into_iter().map(FileOutput::finish).collect()
    }
}

/// How numbers are written.
enum Encoding {
    Whole,
    Blocks,
    Table(Vec<i64>),
}

/// The properties of a field's numbers that decide how they are written.
struct Look {
    least: i64,
    most: i64,
    /// The greatest common divisor of all distances between numbers.
    divisor: u64,
    /// The numbers, if there are few and their places need fewer bits than themselves.
    table: Option<Vec<i64>>,
    /// Whether blocks with a width each save a tenth.
    blocks: bool,
}

impl Look {
    fn new(values: &[i64], ordinals: bool) -> Self {
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        let mut block_bits = 0;
        for block in values.chunks(1 << BLOCK_SHIFT) {
            let low = block.iter().copied().min().unwrap_or_default();
            let high = block.iter().copied().max().unwrap_or_default();
            if high > low {
                block_bits += u64::from(direct_bits(high.wrapping_sub(low) as u64)) * block.len() as u64;
            }
            (least, most) = (least.min(low), most.max(high));
        }
        let range = most.wrapping_sub(least) as u64;
        let divisor = if ordinals && most > least { 1 } else { divisor(values, least, most) };
        let all_bits = u64::from(direct_bits(range)) * values.len() as u64;
        let table = if ordinals || most <= least { None } else { table(values, least, most) };
        let table = table.filter(|table| direct_bits(table.len() as u64 - 1) < direct_bits(range / divisor));
        Self { least, most, divisor, table, blocks: most > least && block_bits as f64 / all_bits as f64 <= 0.9 }
    }
}

/// The greatest number that divides all distances; 0 if all are equal, 1 if some are too large.
fn divisor(values: &[i64], least: i64, most: i64) -> u64 {
    let Some(&first) = values.first() else { return 0 };
    if least < i64::MIN / 2 || most > i64::MAX / 2 {
        return 1;
    }
    let mut divisor = 0_u64;
    for value in values {
        let distance = value.abs_diff(first);
        if divisor == 0 || !distance.is_multiple_of(divisor) {
            divisor = common_divisor(divisor, distance);
            if divisor == 1 {
                break;
            }
        }
    }
    divisor
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The different numbers, sorted, if there are 2 to 256; `least` and `most` are among them.
fn table(values: &[i64], least: i64, most: i64) -> Option<Vec<i64>> {
    if most.abs_diff(least) < LOOKED_UP {
        return near_table(values, least, most);
    }
    let mut table: Vec<i64> = Vec::new();
    let mut last = None;
    for value in values {
        if last == Some(*value) {
            continue;
        }
        last = Some(*value);
        if let Err(place) = table.binary_search(value) {
            // Most columns have a few numbers, or show at once that they have many.
            if table.len() == TABLE_MAX {
                return None;
            }
            table.insert(place, *value);
        }
    }
    (table.len() > 1).then_some(table)
}

/// The same of numbers that are near each other.
fn near_table(values: &[i64], least: i64, most: i64) -> Option<Vec<i64>> {
    let mut seen = vec![false; most.abs_diff(least) as usize + 1];
    let mut count = 0;
    for value in values {
        let seen = &mut seen[value.abs_diff(least) as usize];
        count += usize::from(!std::mem::replace(seen, true));
        if count > TABLE_MAX {
            return None;
        }
    }
    Some((least..=most).zip(seen).filter(|(_, seen)| *seen).map(|(value, _)| value).collect())
}

fn put_numbers<P: Put>(out: &mut P, values: &[i64], width: u32, least: i64, divisor: u64) {
    let mut writer = DirectWriter::new(out, width);
    if divisor == 1 {
        for value in values {
            writer.add(value.wrapping_sub(least) as u64);
        }
    } else {
        for value in values {
            writer.add(value.wrapping_sub(least) as u64 / divisor);
        }
    }
    writer.finish();
}
