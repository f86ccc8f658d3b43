//! Numbers in their order, each with its document.

use std::cell::Cell;

/// The numbers of a field, sorted, and those that are equal by document.
///
/// Each is one word of 64 or 128 bits: the distance from the least number, then the document.
/// Numbers that are too far apart for that are kept apart from their documents.
pub(crate) enum Sorted {
    Packed { words: Vec<u64>, doc_bits: u32, least: u128 },
    Wide { words: Vec<u128>, least: u128 },
    Pairs(Vec<(u128, u32)>),
}

thread_local! {
    /// The memory of words of 64 bits that were sorted, for the next column of the segment: fresh
    /// memory costs more than the sort. A thread sorts one column at a time.
    static SPARE: Cell<[Vec<u64>; 2]> = const { Cell::new([Vec::new(), Vec::new()]) };
}

/// Gives back the memory that is kept for the next column.
pub(crate) fn forget() {
    drop(SPARE.take());
}

/// Bits that one pass sorts by.
const DIGIT_BITS: u32 = 11;

impl Sorted {
    /// Sorts `values`, which come in the order of their documents. Documents are below `docs`.
    pub(crate) fn new(values: impl ExactSizeIterator<Item = (u128, u32)> + Clone, docs: u32) -> Self {
        let (mut least, mut most) = (u128::MAX, 0);
        for (value, _) in values.clone() {
            least = least.min(value);
            most = most.max(value);
        }
        let doc_bits = 32 - docs.leading_zeros();
        let bits = 128 - most.saturating_sub(least).leading_zeros();
        if bits + 32 > 128 {
            let mut pairs: Vec<_> = values.collect();
            pairs.sort_unstable();
            return Self::Pairs(pairs);
        }
        if bits + doc_bits > 64 {
            let mut words: Vec<u128> = values.map(|(value, doc)| (value - least) << 32 | u128::from(doc)).collect();
            words.sort_unstable();
            return Self::Wide { words, least };
        }
        let [mut words, mut other] = SPARE.take();
        words.clear();
        words.extend(values.map(|(value, doc)| ((value - least) as u64) << doc_bits | u64::from(doc)));
        sort(&mut words, &mut other, doc_bits, bits);
        SPARE.set([Vec::new(), other]);
        Self::Packed { words, doc_bits, least }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Packed { words, .. } => words.len(),
            Self::Wide { words, .. } => words.len(),
            Self::Pairs(pairs) => pairs.len(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> (u128, u32) {
        match self {
            Self::Packed { words, doc_bits, least } => {
                let word = words[at];
                (least + u128::from(word >> doc_bits), (word & ((1 << doc_bits) - 1)) as u32)
            }
            Self::Wide { words, least } => (least + (words[at] >> 32), words[at] as u32),
            Self::Pairs(pairs) => pairs[at],
        }
    }
}

impl Drop for Sorted {
    fn drop(&mut self) {
        if let Self::Packed { words, .. } = self {
            let [_, other] = SPARE.take();
            SPARE.set([std::mem::take(words), other]);
        }
    }
}

/// Sorts words by `bits` bits from bit `from` on; equal ones stay in their order. One pass a digit,
/// the lowest first. `other` is memory for as many.
fn sort(words: &mut Vec<u64>, other: &mut Vec<u64>, from: u32, bits: u32) {
    if words.is_sorted_by_key(|word| word >> from) {
        return;
    }
    let passes = bits.div_ceil(DIGIT_BITS);
    let digit_bits = bits.div_ceil(passes);
    let mask = (1 << digit_bits) - 1;
    other.resize(words.len(), 0);
    for pass in 0..passes {
        let shift = from + pass * digit_bits;
        let digit = |word: u64| (word >> shift & mask) as usize;
        let mut places = vec![0_usize; 1 << digit_bits];
        for &word in words.iter() {
            places[digit(word)] += 1;
        }
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        for &word in words.iter() {
            let place = &mut places[digit(word)];
            other[*place] = word;
            *place += 1;
        }
        std::mem::swap(words, other);
    }
}

#[cfg(test)]
mod tests {
    use super::Sorted;

    #[test]
    fn numbers_are_sorted_and_then_their_documents() {
        for spread in [1_u128, 1 << 20, 1 << 60, 1 << 100] {
            let values: Vec<(u128, u32)> = (0..5_000_u32)
                .map(|doc| (5 + u128::from(doc.wrapping_mul(2_654_435_761) % 97) * spread, doc))
                .collect();
            let mut expected = values.clone();
            expected.sort_unstable();
            let sorted = Sorted::new(values.iter().copied(), 5_000);
            assert_eq!(matches!(sorted, Sorted::Packed { .. }), spread < 1 << 60);
            assert_eq!(matches!(sorted, Sorted::Pairs(_)), spread == 1 << 100);
            assert_eq!((0..sorted.len()).map(|at| sorted.get(at)).collect::<Vec<_>>(), expected);
        }
    }
}
