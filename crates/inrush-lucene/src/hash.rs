//! A fast hash of short texts.

#[inline]
pub(crate) fn hash(text: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = text.len() as u64;
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(chunk.try_into().unwrap_or_default())).wrapping_mul(FACTOR);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    }
    (hash >> 32) as u32 ^ (hash as u32) >> 7
}
