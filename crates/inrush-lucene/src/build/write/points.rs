//! Points and the doc values of addresses, both of sorted values.

use crate::formats::doc_values::{Dictionary, DocValuesWriter, Values};
use crate::formats::points::PointsWriter;
use crate::radix::Sorted;

/// Adds points of numbers, which are unsigned there: the least one is 0. Those of 16 bytes have no
/// sign here, but there.
pub(super) fn add_number_points(points: &mut PointsWriter, number: u32, width: usize, values: Values, docs: u32) {
    let doc = |i: usize| values.docs.map_or(i as u32, |docs| docs[i]);
    let each = values.values.iter().enumerate();
    let sorted = if width == 16 {
        Sorted::new(each.map(|(i, &value)| (1 << 127 | u128::from(value as u64), doc(i))), docs)
    } else {
        let flip = 1_u64 << (8 * width - 1);
        let mask = u64::MAX >> (64 - 8 * width);
        Sorted::new(each.map(|(i, &value)| (u128::from((value as u64 ^ flip) & mask), doc(i))), docs)
    };
    points.add(number, width, &sorted, distinct(values, docs));
}

/// Adds points of two dimensions, which are the upper and the lower 32 bits of a number.
pub(super) fn add_pairs(points: &mut PointsWriter, number: u32, values: Values, docs: u32) {
    const FLIP: u32 = 1 << 31;
    let doc = |i: usize| values.docs.map_or(i as u32, |docs| docs[i]);
    let parts = |value: i64| [(value >> 32) as u32 ^ FLIP, value as u32 ^ FLIP];
    let pairs = values.values.iter().enumerate().map(|(i, &value)| (parts(value), doc(i))).collect();
    points.add_pairs(number, pairs, distinct(values, docs));
}

/// How many documents have a value.
fn distinct(values: Values, docs: u32) -> u32 {
    values.docs.map_or(docs, |docs| docs.chunk_by(|a, b| a == b).count() as u32)
}

/// Sorted addresses, each once.
struct AddressDictionary<'a> {
    sorted: &'a Sorted,
    len: usize,
}

impl Dictionary for AddressDictionary<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        let mut before = None;
        for at in 0..self.sorted.len() {
            let value = self.sorted.get(at).0;
            if before != Some(value) {
                visit(&value.to_be_bytes());
                before = Some(value);
            }
        }
    }
}

/// Adds the doc values of addresses. `single` is whether each document has one.
pub(super) fn add_address_set(doc_values: &mut DocValuesWriter, number: u32, sorted: &Sorted, single: bool) {
    let mut ordinal = -1;
    let mut before = None;
    let mut next = |at: usize| {
        let (value, doc) = sorted.get(at);
        if before != Some(value) {
            ordinal += 1;
            before = Some(value);
        }
        (doc, ordinal)
    };
    let (values, docs) = if single {
        let mut values = vec![0; sorted.len()];
        for at in 0..sorted.len() {
            let (doc, ordinal) = next(at);
            values[doc as usize] = ordinal;
        }
        (values, None)
    } else {
        let mut pairs: Vec<(u32, i64)> = (0..sorted.len()).map(&mut next).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let (docs, values): (Vec<u32>, Vec<i64>) = pairs.into_iter().unzip();
        (values, Some(docs))
    };
    let dictionary = AddressDictionary { sorted, len: (ordinal + 1) as usize };
    doc_values.add_sorted_set(number, Values { values: &values, docs: docs.as_deref() }, &dictionary);
}
