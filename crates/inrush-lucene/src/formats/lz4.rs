//! LZ4 blocks whose matches may lie in a dictionary before them.
//!
//! Source: the description of the LZ4 block format (`lz4_Block_format.md` of the LZ4 project) and
//! the documentation of `org.apache.lucene.util.compress.LZ4`.

use std::ops::Range;

const HASH_BITS: u32 = 12;
const MATCH_LEAST: usize = 4;
/// Bytes by which matches are looked for. More than the least length finds fewer and longer ones,
/// which are faster to write and to read, and mostly smaller.
const HASHED: usize = 6;
/// Matches are at most this far back.
pub(crate) const WINDOW: usize = 65_535;
/// The last bytes of a block are never part of a match.
const LAST_LITERALS: usize = 5;
/// No match begins behind this distance from the end.
const LAST_MATCH: usize = 12;

/// The places where bytes were seen last, plus 1, by their hash; 0 is none.
type Places = [u32; 1 << HASH_BITS];

/// Compresses blocks, one after the other.
pub(crate) struct Compressor {
    places: Box<Places>,
    /// The places after the dictionary, to be taken again for each block behind it.
    dictionary: Box<Places>,
}

#[inline]
fn four(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default())
}

#[inline]
fn eight(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

/// The hash of the first bytes of a word.
#[inline]
fn hash(word: u64) -> usize {
    ((word << (64 - 8 * HASHED)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HASH_BITS)) as usize
}

impl Compressor {
    pub(crate) fn new() -> Self {
        let none = || Box::new([0; 1 << HASH_BITS]);
        Self { places: none(), dictionary: none() }
    }

    /// Notes the places of `bytes[..len]`, for [`Compressor::compress_behind`].
    pub(crate) fn learn(&mut self, bytes: &[u8], len: usize) {
        self.dictionary.fill(0);
        let mut at = 0;
        while at + 8 <= len {
            self.dictionary[hash(eight(bytes, at))] = at as u32 + 1;
            at += 3;
        }
    }

    /// Appends `bytes`, compressed.
    pub(crate) fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.places.fill(0);
        self.run(bytes, 0, out);
    }

    /// Appends `bytes[start..]`, compressed with `bytes[..start]` as its dictionary, whose places
    /// are known. Both together are at most a window.
    pub(crate) fn compress_behind(&mut self, bytes: &[u8], start: usize, out: &mut Vec<u8>) {
        self.places.copy_from_slice(&*self.dictionary);
        self.run(bytes, start, out);
    }

    fn run(&mut self, bytes: &[u8], start: usize, out: &mut Vec<u8>) {
        let before = out.len();
        out.resize(before + longest(bytes.len() - start), 0);
        let mut block = Block { out: &mut out[before..], len: 0 };
        let mut literals = start;
        let mut at = start;
        let end = bytes.len();
        let mut misses = 0;
        if end - start > LAST_MATCH {
            let limit = end - LAST_MATCH;
            while at < limit {
                let word = eight(bytes, at);
                let place = &mut self.places[hash(word)];
                let before = *place as usize;
                *place = at as u32 + 1;
                if before == 0 || at + 1 - before > WINDOW || four(bytes, before - 1) != word as u32 {
                    misses += 1;
                    at += 1 + (misses >> 6);
                    continue;
                }
                misses = 0;
                let mut from = before - 1;
                // What is equal before the four bytes belongs to the match, too.
                while at > literals && from > 0 && bytes[at - 1] == bytes[from - 1] {
                    at -= 1;
                    from -= 1;
                }
                let len = MATCH_LEAST + equal(bytes, from + MATCH_LEAST, at + MATCH_LEAST, end - LAST_LITERALS);
                block.put_sequence(bytes, literals..at, at - from, len);
                at += len;
                literals = at;
                if at < limit {
                    self.places[hash(eight(bytes, at - 2))] = at as u32 - 1;
                }
            }
        }
        block.put_literals(bytes, literals..end, 0);
        let len = block.len;
        out.truncate(before + len);
    }
}

/// How many bytes from `a` on are equal to those from `b` on, before `end`.
#[inline]
fn equal(bytes: &[u8], a: usize, b: usize, end: usize) -> usize {
    let mut len = 0;
    while b + len + 8 <= end {
        let difference = eight(bytes, a + len) ^ eight(bytes, b + len);
        if difference != 0 {
            return len + difference.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    while b + len < end && bytes[a + len] == bytes[b + len] {
        len += 1;
    }
    len
}

/// Bytes that are copied at once where no more are needed.
const COPIED: usize = 16;

/// The greatest length of a block of `len` bytes, and room for copies.
fn longest(len: usize) -> usize {
    // A sequence needs no more bytes than it stands for, but for the lengths of its literals.
    len + len / 255 + 4 * COPIED
}

/// A compressed block, with room for [`longest`].
struct Block<'o> {
    out: &'o mut [u8],
    len: usize,
}

impl Block<'_> {
    #[inline]
    fn put_sequence(&mut self, bytes: &[u8], literals: Range<usize>, distance: usize, len: usize) {
        let rest = len - MATCH_LEAST;
        self.put_literals(bytes, literals, rest.min(15) as u8);
        self.out[self.len..self.len + 2].copy_from_slice(&(distance as u16).to_le_bytes());
        self.len += 2;
        if rest >= 15 {
            self.put_length(rest - 15);
        }
    }

    #[inline]
    fn put_literals(&mut self, bytes: &[u8], literals: Range<usize>, low: u8) {
        let len = literals.len();
        self.out[self.len] = (len.min(15) as u8) << 4 | low;
        self.len += 1;
        if len >= 15 {
            self.put_length(len - 15);
        }
        // A copy of a fixed length is fast; what is too much is written over.
        match bytes.get(literals.start..literals.start + COPIED) {
            Some(bytes) if len <= COPIED => self.out[self.len..self.len + COPIED].copy_from_slice(bytes),
            _ => self.out[self.len..self.len + len].copy_from_slice(&bytes[literals]),
        }
        self.len += len;
    }

    fn put_length(&mut self, mut len: usize) {
        while len >= 255 {
            self.out[self.len] = 255;
            self.len += 1;
            len -= 255;
        }
        self.out[self.len] = len as u8;
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Compressor;

    struct Packed<'a>(&'a [u8]);

    impl Packed<'_> {
        fn byte(&mut self) -> usize {
            let byte = self.0[0];
            self.0 = &self.0[1..];
            usize::from(byte)
        }

        fn len(&mut self, low: usize) -> usize {
            let mut len = low;
            let mut more = low == 15;
            while more {
                let byte = self.byte();
                len += byte;
                more = byte == 255;
            }
            len
        }
    }

    /// Appends what a block stands for to `out`, which begins with the dictionary.
    fn decompress(block: &[u8], out: &mut Vec<u8>) {
        let mut block = Packed(block);
        while !block.0.is_empty() {
            let token = block.byte();
            for _ in 0..block.len(token >> 4) {
                out.push(block.byte() as u8);
            }
            if block.0.is_empty() {
                return;
            }
            let distance = block.byte() | block.byte() << 8;
            for _ in 0..block.len(token & 15) + 4 {
                out.push(out[out.len() - distance]);
            }
        }
    }

    /// Text with repetitions, and bytes without.
    fn sample(len: usize, kinds: u64) -> Vec<u8> {
        let mut state = kinds;
        let mut bytes = Vec::new();
        while bytes.len() < len {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match state >> 62 {
                0 => bytes.extend_from_slice(b"GET /images/logo.png "),
                1 => bytes.extend(std::iter::repeat_n(b'a', (state >> 40) as usize % 300)),
                _ => bytes.push((state >> 50) as u8),
            }
        }
        bytes.truncate(len);
        bytes
    }

    #[test]
    fn blocks_stand_for_what_was_compressed() {
        let mut compressor = Compressor::new();
        for len in [0, 1, 4, 5, 12, 13, 100, 5_000, 80_000] {
            for kinds in 1..20 {
                let bytes = sample(len, kinds);
                let (mut packed, mut back) = (Vec::new(), Vec::new());
                compressor.compress(&bytes, &mut packed);
                decompress(&packed, &mut back);
                assert_eq!(back, bytes);
            }
        }
    }

    #[test]
    fn matches_may_lie_in_the_dictionary() {
        let mut compressor = Compressor::new();
        let mut bytes = sample(4_000, 7);
        let start = bytes.len();
        compressor.learn(&bytes, start);
        bytes.extend(sample(8_000, 7));
        let mut packed = Vec::new();
        compressor.compress_behind(&bytes, start, &mut packed);
        let mut back = bytes[..start].to_vec();
        decompress(&packed, &mut back);
        assert_eq!(back, bytes);
        let mut alone = Vec::new();
        compressor.compress(&bytes[start..], &mut alone);
        assert!(packed.len() < alone.len());
    }
}
