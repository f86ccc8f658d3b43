//! The k-th of some things, with those before it that are not greater, in the order of Lucene.
//!
//! Source: the documentation of `org.apache.lucene.util.IntroSelector`. Which of equal things is
//! where follows from its steps.

use std::cmp::Ordering;

use crate::fields::geo::NoPoint;

/// With more things the middle of the middles of nine is taken.
const FEW: usize = 40;

/// Moves things so that the one that belongs at `k` is there.
pub(super) fn select<T: Clone>(all: &mut [T], k: usize, order: impl Fn(&T, &T) -> Ordering) -> Result<(), NoPoint> {
    let (mut from, mut to) = (0, all.len());
    let mut steps = 2 * (all.len().max(1).ilog2() as i32);
    let mut size = to - from;
    while size > 3 {
        steps -= 1;
        if steps < 0 {
            // Lucene shuffles then.
            return Err(NoPoint::Unsupported("a shape whose doc values are in a random order"));
        }
        let pivot = pivot(all, (from, to), k, &order);
        all.swap(from, pivot);
        let (low, high) = partition(all, (from, to), &order);
        if k < low {
            to = low;
        } else if k >= high {
            from = high;
        } else {
            return Ok(());
        }
        size = to - from;
    }
    let is_greater = |all: &[T], a: usize, b: usize| order(&all[a], &all[b]).is_gt();
    if size == 2 && is_greater(all, from, from + 1) {
        all.swap(from, from + 1);
    } else if size == 3 {
        let (middle, last) = (from + 1, from + 2);
        if !is_greater(all, from, middle) {
            if is_greater(all, middle, last) {
                all.swap(middle, last);
                if is_greater(all, from, middle) {
                    all.swap(from, middle);
                }
            }
        } else if !is_greater(all, last, middle) {
            all.swap(from, last);
        } else {
            all.swap(from, middle);
            if is_greater(all, middle, last) {
                all.swap(middle, last);
            }
        }
    }
    Ok(())
}

/// The place of the thing by which others are parted.
fn pivot<T>(all: &[T], (from, to): (usize, usize), k: usize, order: &impl Fn(&T, &T) -> Ordering) -> usize {
    let order = |a: usize, b: usize| order(&all[a], &all[b]);
    let median = |i: usize, j: usize, k: usize| {
        if order(i, j).is_lt() {
            match () {
                () if order(j, k).is_le() => j,
                () if order(i, k).is_lt() => k,
                () => i,
            }
        } else {
            match () {
                () if order(j, k).is_ge() => j,
                () if order(i, k).is_lt() => i,
                () => k,
            }
        }
    };
    let (size, last) = (to - from, to - 1);
    let middle = (from + last) / 2;
    if size <= FEW {
        let range = size / 4;
        return median(middle - range, middle, middle + range);
    }
    let range = size / 8;
    let first = median(from, from + range, from + 2 * range);
    let second = median(middle - range, middle, middle + range);
    let third = median(last - 2 * range, last - range, last);
    if k - from < range {
        let less = if order(first, second).is_le() { first } else { second };
        if order(less, third).is_le() { less } else { third }
    } else if to - k <= range {
        let more = if order(first, second).is_le() { second } else { first };
        if order(more, third).is_lt() { third } else { more }
    } else {
        median(first, second, third)
    }
}

/// Parts things by the first one: returns the place of the first that is equal, and the place
/// behind the last that is.
fn partition<T: Clone>(
    all: &mut [T],
    (from, to): (usize, usize),
    order: &impl Fn(&T, &T) -> Ordering,
) -> (usize, usize) {
    let pivot = all[from].clone();
    let last = to - 1;
    let (mut i, mut j, mut p, mut q) = (from, to, from + 1, last);
    loop {
        i += 1;
        while order(&pivot, &all[i]).is_gt() {
            i += 1;
        }
        let left = order(&pivot, &all[i]);
        j -= 1;
        while order(&pivot, &all[j]).is_lt() {
            j -= 1;
        }
        let right = order(&pivot, &all[j]);
        if i >= j {
            if i == j && right.is_eq() {
                all.swap(i, p);
            }
            break;
        }
        all.swap(i, j);
        if right.is_eq() {
            all.swap(i, p);
            p += 1;
        }
        if left.is_eq() {
            all.swap(j, q);
            q -= 1;
        }
    }
    let (mut i, mut high) = (j + 1, j as isize);
    for low in from..p {
        all.swap(low, high as usize);
        high -= 1;
    }
    for place in (q + 1..=last).rev() {
        all.swap(place, i);
        i += 1;
    }
    ((high + 1) as usize, i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_belongs_there_is_at_its_place() {
        let mut seed = 1_u64;
        for size in [1, 2, 3, 4, 9, 40, 41, 300] {
            for k in [0, size / 3, size / 2, size - 1] {
                let mut all: Vec<u64> = (0..size)
                    .map(|_| {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        (seed >> 33) % 50
                    })
                    .collect();
                let mut sorted = all.clone();
                sorted.sort_unstable();
                if select(&mut all, k, Ord::cmp).is_ok() {
                    assert_eq!(all[k], sorted[k], "{size} {k}");
                    assert!(all[..k].iter().all(|one| *one <= all[k]));
                }
            }
        }
    }
}
