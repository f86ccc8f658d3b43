//! The points and doc values of ranges.
//!
//! Source: the indices that OpenSearch and Elasticsearch make of fields of the range types, and
//! the documentation of `org.apache.lucene.document.LongRange` and its neighbours. The doc values
//! of a document are how many ranges it has, and the two ends of each: 4, 8 or 16 bytes, or, of
//! whole numbers and dates, a sign, how many bytes follow, and the number in few bytes.

use super::bytes::Groups;
use crate::build::values::Ranges;
use crate::fields::field::{Field, Kind};
use crate::formats::doc_values::DocValuesWriter;
use crate::formats::output::Put;
use crate::formats::points::PointsWriter;
use crate::formats::points::dimensions::Pair;

/// Adds what is kept of the ranges of a field, whose ends are those of the field `bound`.
pub(super) fn add_ranges(
    number: u32,
    (field, bound): (&Field, &Field),
    ranges: &mut Ranges,
    max_doc: u32,
    (doc_values, points): (&mut DocValuesWriter, &mut PointsWriter),
) {
    let width = bound.kind.point().0 as usize;
    let docs = ranges.docs.finish(max_doc);
    let groups = Groups::new(docs, ranges.values.len());
    if field.doc_values {
        let is_short = matches!(bound.kind, Kind::Whole { .. } | Kind::Date(_));
        doc_values.add_binary(number, groups.docs(max_doc), |visit| {
            let (mut own, mut value) = (Vec::new(), Vec::new());
            for places in groups.ranges() {
                own.clear();
                own.extend_from_slice(&ranges.values[places]);
                own.sort_unstable();
                own.dedup();
                value.clear();
                value.put_vint(own.len() as u32);
                for end in own.iter().flat_map(|range| range.ends) {
                    match is_short {
                        true => put_whole(&mut value, whole(end, width)),
                        false => value.put(&end.to_be_bytes()[16 - width..]),
                    }
                }
                visit(&value);
            }
        });
    }
    if field.indexed {
        let doc = |i: usize| docs.map_or(i as u32, |docs| docs[i]);
        let ends = ranges.values.iter().enumerate().map(|(i, range)| (range.ends, doc(i)));
        let count = groups.len() as u32;
        match width {
            4 => points.add_pairs(number, ends.map(|(ends, doc)| (ends.map(|end| end as u32), doc)).collect(), count),
            8 => points.add_pairs(number, ends.map(|(ends, doc)| (ends.map(|end| end as u64), doc)).collect(), count),
            _ => points.add_pairs(number, ends.collect::<Vec<Pair<u128>>>(), count),
        }
    }
}

/// The number that stands for an end in points of `width` bytes.
fn whole(end: u128, width: usize) -> i64 {
    match width {
        4 => i64::from((end as u32 ^ 1 << 31) as i32),
        _ => (end as u64 ^ 1 << 63) as i64,
    }
}

/// Three bits of a number, and the rest in as many bytes as it needs. Bytes sort as the numbers do.
fn put_whole(out: &mut Vec<u8>, number: i64) {
    let is_negative = number < 0;
    let distance = if is_negative { !number } else { number };
    let bits = 64 - distance.leading_zeros() as usize;
    let more = (bits + 4) / 8;
    // A zero stands before the eight bytes, if all are needed.
    let bytes = (distance as u128).to_be_bytes();
    let start = out.len();
    out.extend_from_slice(&bytes[15 - more..]);
    if is_negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        out[start] = out[start] & 7 | (15 - more as u8) << 3;
    } else {
        out[start] |= 0x80 | (more as u8) << 3;
    }
}

#[cfg(test)]
mod tests {
    use super::{put_whole, whole};

    #[test]
    fn wholes_sort_as_their_bytes() {
        let encoded = |number| {
            let mut out = Vec::new();
            put_whole(&mut out, number);
            out
        };
        assert_eq!(encoded(0), [0x80]);
        assert_eq!(encoded(7), [0x87]);
        assert_eq!(encoded(8), [0x88, 8]);
        assert_eq!(encoded(-1), [0x7f]);
        assert_eq!(encoded(-9), [0x77, 0xf7]);
        assert_eq!(encoded(0x7ff), [0x8f, 0xff]);
        assert_eq!(encoded(i64::MAX), [&[0xc0, 0x7f][..], &[0xff; 7]].concat());
        assert_eq!(encoded(i64::MIN), [&[0x3f, 0x80][..], &[0; 7]].concat());
        let powers = (0..63).flat_map(|shift| [-1_i64 << shift, (1 << shift) - 1, 1 << shift]);
        let mut numbers: Vec<i64> = powers.flat_map(|number| [number - 1, number]).collect();
        numbers.sort_unstable();
        assert!(numbers.is_sorted_by(|a, b| encoded(*a) <= encoded(*b)));
        assert_eq!((whole(0, 4), whole(1 << 31, 4)), (i64::from(i32::MIN), 0));
        assert_eq!((whole(0, 8), whole(u128::from(u64::MAX), 8)), (i64::MIN, i64::MAX));
    }
}
