//! Integers in as few bits as their largest needs.
//!
//! Source: the documentation of `org.apache.lucene.util.packed.DirectWriter` and
//! `DirectMonotonicWriter`, and of `org.apache.lucene.codecs.lucene912.Lucene912PostingsFormat`
//! (packed blocks); the order of the bits in a block is that of `ForUtil` in Lucene 9.12.

use crate::formats::output::Put;

/// The number of bits that `value` needs, at least 1.
#[inline]
pub(crate) fn bits(value: u64) -> u32 {
    (64 - value.leading_zeros()).max(1)
}

/// The next width from `value`'s that values can be read at directly.
pub(crate) fn direct_bits(value: u64) -> u32 {
    const WIDTHS: [u32; 14] = [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64];
    let least = bits(value);
    WIDTHS.into_iter().find(|&width| width >= least).unwrap_or(64)
}

/// Values that go to a file with a fixed width, which a reader can look up one by one: their bits
/// one after the other, the lowest first.
pub(crate) struct DirectWriter<'a, P: Put> {
    out: &'a mut P,
    width: u32,
    buffer: Vec<u8>,
    /// Less than 64 bits that are not in the buffer yet, and how many there are.
    pending: u64,
    pending_bits: u32,
}

impl<'a, P: Put> DirectWriter<'a, P> {
    /// `width` is one that [`direct_bits`] returns.
    pub(crate) fn new(out: &'a mut P, width: u32) -> Self {
        Self { out, width, buffer: Vec::with_capacity(BUFFER + 16), pending: 0, pending_bits: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.pending |= value << self.pending_bits;
        self.pending_bits += self.width;
        if self.pending_bits >= 64 {
            self.buffer.extend_from_slice(&self.pending.to_le_bytes());
            self.pending_bits -= 64;
            // The bits of the value that had no room.
            self.pending = value.checked_shr(self.width - self.pending_bits).unwrap_or(0);
            if self.buffer.len() >= BUFFER {
                self.out.put(&self.buffer);
                self.buffer.clear();
            }
        }
    }

    /// Writes what is left, and bytes to let a reader read whole integers.
    pub(crate) fn finish(mut self) {
        let len = self.pending_bits.div_ceil(8) as usize;
        self.buffer.extend_from_slice(&self.pending.to_le_bytes()[..len]);
        let padding_bits = match self.width {
            33.. => 64 - self.width,
            17.. => 32 - self.width,
            9.. => 16 - self.width,
            _ => 0,
        };
        self.buffer.extend_from_slice(&[0; 4][..padding_bits.div_ceil(8) as usize]);
        self.out.put(&self.buffer);
    }
}

const BUFFER: usize = 4096;

/// Writes ascending `values`: blocks of 2^`shift` differences from a straight line. What a block
/// needs to be read goes to `meta`.
pub(crate) fn write_monotonic<M: Put, D: Put>(meta: &mut M, data: &mut D, values: &[u64], shift: u32) {
    let mut written = 0;
    for block in values.chunks(1 << shift) {
        let last = block.len() - 1;
        let rise = ((block[last] - block[0]) as f64 / last.max(1) as f64) as f32;
        let differences: Vec<i64> =
            block.iter().enumerate().map(|(i, &value)| (value as i64).wrapping_sub((rise * i as f32) as i64)).collect();
        let min = differences.iter().copied().min().unwrap_or(0);
        let all = differences.iter().fold(0, |all, &value| all | value.wrapping_sub(min) as u64);
        meta.put_i64(min);
        meta.put_u32(rise.to_bits());
        meta.put_u64(written);
        if all == 0 {
            meta.put_u8(0);
            continue;
        }
        let width = direct_bits(all);
        let mut bytes = Vec::with_capacity(block.len() * width as usize / 8 + 8);
        let mut writer = DirectWriter::new(&mut bytes, width);
        for value in differences {
            writer.add(value.wrapping_sub(min) as u64);
        }
        writer.finish();
        written += bytes.len() as u64;
        data.put(&bytes);
        meta.put_u8(width as u8);
    }
}

/// The number of integers in a packed block of postings.
pub(crate) const BLOCK: usize = 128;

/// Appends 128 values of `width` bits, laid out for lanes of `lane` bits (8, 16 or 32).
///
/// The values are first put side by side into 64-bit words, `64 / lane` of them in each, so that
/// value `i` shares its word with the values that are a fixed distance away. Then the words are
/// shifted together: the first `2 * width` output words take as many whole words as fit into a
/// lane, and the bits that are left in each lane are filled with pieces of the remaining words.
fn put_lanes(out: &mut Vec<u8>, values: &[u32; BLOCK], width: u32, lane: u32) {
    let lanes = (64 / lane) as usize;
    let words = BLOCK / lanes;
    let mut wide = [0_u64; BLOCK / 2];
    for (i, word) in wide[..words].iter_mut().enumerate() {
        for k in 0..lanes {
            *word = *word << lane | u64::from(values[k * words + i]);
        }
    }
    let packed_len = 2 * width as usize;
    let mut packed = [0_u64; BLOCK / 2];
    let mut next = 0;
    let mut shift = lane as i32 - width as i32;
    while shift >= 0 {
        for word in &mut packed[..packed_len] {
            *word |= wide[next] << shift;
            next += 1;
        }
        shift -= width as i32;
    }
    let room = (shift + width as i32) as u32;
    put_rest(&mut packed[..packed_len], &wide[next..words], width, room, lane);
    for word in &packed[..packed_len] {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// Spreads the bits of the words in `rest`, the highest of each lane first, over the `room` lowest
/// bits of the lanes of `packed`.
fn put_rest(packed: &mut [u64], rest: &[u64], width: u32, room: u32, lane: u32) {
    let mask = |bits: u32| lane_mask(bits, lane);
    let mut rest = rest.iter();
    let Some(mut word) = rest.next() else { return };
    let mut left = width;
    for target in packed {
        let mut space = room;
        while space > 0 {
            let take = space.min(left);
            left -= take;
            space -= take;
            *target |= (word >> left & mask(take)) << space;
            if left == 0 {
                let Some(following) = rest.next() else { return };
                word = following;
                left = width;
            }
        }
    }
}

/// The `bits` lowest bits of each lane.
fn lane_mask(bits: u32, lane: u32) -> u64 {
    let one = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    match lane {
        8 => one * 0x0101_0101_0101_0101,
        16 => one * 0x0001_0001_0001_0001,
        _ => one * 0x0000_0001_0000_0001,
    }
}

/// Appends the gaps of 128 ascending document numbers.
pub(crate) fn put_gap_block(out: &mut Vec<u8>, gaps: &[u32; BLOCK]) {
    let all = gaps.iter().fold(0, |all, gap| all | gap);
    if gaps[0] == 1 && gaps.iter().all(|&gap| gap == 1) {
        out.push(0);
        return;
    }
    let width = bits(u64::from(all));
    out.push(width as u8);
    let lane = match width {
        0..=4 => 8,
        5..=11 => 16,
        _ => 32,
    };
    put_lanes(out, gaps, width, lane);
}

/// The most values of a block that may be larger than its width.
const EXCEPTIONS: usize = 7;

/// Appends 128 values of which a few may be much larger than the others: those are patched.
pub(crate) fn put_patched_block(out: &mut Vec<u8>, values: &[u32; BLOCK]) {
    // How many values have each width.
    let mut widths = [0_u8; 33];
    for &value in values {
        widths[bits(u64::from(value)) as usize] += 1;
    }
    let largest = (1..=32).rev().find(|&width| widths[width] > 0).unwrap_or(1) as u32;
    let mut width = largest;
    let mut exceptions = 0;
    // A patch has one byte, so the width shrinks by 8 at most.
    while width > 1 && largest - width < 8 {
        let more = exceptions + widths[width as usize] as usize;
        if more > EXCEPTIONS {
            break;
        }
        exceptions = more;
        width -= 1;
    }
    let max = if width == 32 { u32::MAX } else { (1 << width) - 1 };
    let mut patched = *values;
    let mut patches = Vec::with_capacity(2 * exceptions);
    for (i, value) in patched.iter_mut().enumerate() {
        if *value > max {
            patches.push(i as u8);
            patches.push((*value >> width) as u8);
            *value &= max;
        }
    }
    let exceptions = (patches.len() / 2) as u8;
    if largest <= 8 && patched.iter().all(|value| *value == patched[0]) {
        // One value for all; the patches are then not shifted.
        for patch in patches.chunks_exact_mut(2) {
            patch[1] = (u32::from(patch[1]) << width) as u8;
        }
        out.push(exceptions << 5);
        out.put_vlong(u64::from(patched[0]));
    } else {
        out.push(exceptions << 5 | width as u8);
        let lane = match width {
            0..=8 => 8,
            9..=16 => 16,
            _ => 32,
        };
        put_lanes(out, &patched, width, lane);
    }
    out.extend_from_slice(&patches);
}

/// Appends values in groups of four: a byte with their lengths, then their bytes. Less than four at
/// the end have seven bits a byte.
pub(crate) fn put_group_vints(out: &mut Vec<u8>, values: &[u32]) {
    let groups = values.chunks_exact(4);
    let rest = groups.remainder();
    for group in groups {
        let len = |value: u32| value.max(1).ilog2() / 8;
        let lens = group.iter().fold(0, |lens, &value| lens << 2 | len(value));
        out.push(lens as u8);
        for &value in group {
            out.extend_from_slice(&value.to_le_bytes()[..=len(value) as usize]);
        }
    }
    for &value in rest {
        out.put_vlong(u64::from(value));
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, DirectWriter, direct_bits, put_gap_block, put_group_vints, put_lanes, put_patched_block};

    /// Reads what `put_lanes` wrote: the bits of a lane, the highest first, are those of its
    /// values.
    fn read_lanes(bytes: &[u8], width: u32, lane: u32) -> Vec<u64> {
        let words: Vec<u64> = bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        let (lanes, per_lane) = (64 / lane, BLOCK as u32 * lane / 64);
        let whole = lane / width;
        let room = lane - whole * width;
        let mut values = vec![0; BLOCK];
        for k in 0..lanes {
            let in_lane = |word: u64| word >> (lane * (lanes - 1 - k)) & (u64::MAX >> (64 - lane));
            let mut at = (k * per_lane) as usize;
            for i in 0..whole {
                for &word in &words {
                    values[at] = in_lane(word) >> (lane - (i + 1) * width) & ((1 << width) - 1);
                    at += 1;
                }
            }
            let mut bits = words.iter().flat_map(|&word| (0..room).rev().map(move |bit| in_lane(word) >> bit & 1));
            while at < ((k + 1) * per_lane) as usize {
                values[at] = (0..width).fold(0, |value, _| value << 1 | bits.next().unwrap());
                at += 1;
            }
        }
        values
    }

    fn values(width: u32) -> [u32; BLOCK] {
        std::array::from_fn(|i| (i as u32).wrapping_mul(2_654_435_761) >> (32 - width))
    }

    #[test]
    fn lanes_have_all_values() {
        for (widths, lane) in [(1..=8, 8), (5..=16, 16), (12..=31, 32)] {
            for width in widths {
                let values = values(width);
                let mut bytes = Vec::new();
                put_lanes(&mut bytes, &values, width, lane);
                assert_eq!(bytes.len(), 16 * width as usize);
                assert_eq!(read_lanes(&bytes, width, lane), values.map(u64::from), "{width} bits in {lane}");
            }
        }
    }

    #[test]
    fn blocks_of_one_value_are_short() {
        let mut out = Vec::new();
        put_gap_block(&mut out, &[1; BLOCK]);
        put_patched_block(&mut out, &[5; BLOCK]);
        assert_eq!(out, [0, 0, 5]);
    }

    #[test]
    fn large_values_are_patched() {
        let mut values = [1; BLOCK];
        values[9] = 201;
        let mut out = Vec::new();
        put_patched_block(&mut out, &values);
        // One value for all but one, which is there with its other bits.
        assert_eq!(out, [1 << 5, 1, 9, 200]);
        values[3] = 70_000;
        out.clear();
        put_patched_block(&mut out, &values);
        // The width is smaller than the largest value's by 8 bits at most.
        assert_eq!(out[0], 1 << 5 | 9);
        assert_eq!(out[out.len() - 2..], [3, (70_000 >> 9) as u8]);
    }

    #[test]
    fn direct_values_are_side_by_side() {
        let mut out = Vec::new();
        let mut writer = DirectWriter::new(&mut out, 12);
        for value in [0xabc, 0x123, 0xfff] {
            writer.add(value);
        }
        writer.finish();
        // Half a byte is filled up, and one more lets a reader read 16 bits.
        assert_eq!(out, [0xbc, 0x3a, 0x12, 0xff, 0x0f, 0]);
        assert_eq!([0, 3, 9, 1 << 33].map(direct_bits), [1, 2, 4, 40]);
    }

    #[test]
    fn direct_values_of_all_widths_are_found_again() {
        for width in [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64] {
            let values: Vec<u64> =
                (1..3000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width)).collect();
            let mut out = Vec::new();
            let mut writer = DirectWriter::new(&mut out, width);
            values.iter().for_each(|value| writer.add(*value));
            writer.finish();
            let bit = |at: usize| u64::from(out[at / 8] >> (at % 8) & 1);
            for (i, value) in values.iter().enumerate() {
                let start = i * width as usize;
                let found = (0..width as usize).fold(0, |found, k| found | bit(start + k) << k);
                assert_eq!(found, *value, "{width} bits");
            }
        }
    }

    #[test]
    fn groups_begin_with_their_lengths() {
        let mut out = Vec::new();
        put_group_vints(&mut out, &[1, 256, 0, 1 << 24, 300]);
        assert_eq!(out, [0b00_01_00_11, 1, 0, 1, 0, 0, 0, 0, 1, 0xac, 2]);
    }
}
