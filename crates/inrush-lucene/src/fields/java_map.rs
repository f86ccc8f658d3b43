//! The order of a hash map of Java.
//!
//! Source: the documentation of `java.util.HashMap`.

/// The buckets with which a map begins that is not told how many.
pub(super) const BUCKETS: usize = 16;
/// The fewest of one bucket, of which the order is not known.
const BUCKET_MAX: usize = 8;

/// Puts what has names into the order of a hash map of Java that began with `buckets` buckets.
/// `None` where that is not known.
pub(super) fn in_order<T>(all: Vec<T>, mut buckets: usize, name: impl Fn(&T) -> &str) -> Option<Vec<T>> {
    while all.len() > buckets * 3 / 4 {
        buckets *= 2;
    }
    let mut sorted: Vec<(usize, T)> = all.into_iter().map(|one| (bucket(name(&one), buckets), one)).collect();
    sorted.sort_by_key(|(bucket, _)| *bucket);
    let is_known = sorted.chunk_by(|a, b| a.0 == b.0).all(|bucket| bucket.len() < BUCKET_MAX);
    is_known.then(|| sorted.into_iter().map(|(_, one)| one).collect())
}

/// The bucket of a text, where their number is a power of two.
pub(super) fn bucket(text: &str, buckets: usize) -> usize {
    let hash = text.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
    (hash ^ hash >> 16) as usize & (buckets - 1)
}
