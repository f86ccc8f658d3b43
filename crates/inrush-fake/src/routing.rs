//! The shard of a document: `murmur3_x86_32` of the routing value in UTF-16LE, as in both servers.
//!
//! The code is separate from that of inrush itself, so that a test with the fake compares two
//! implementations.

/// The shard of an id or routing value in an index with `number_of_shards` shards.
///
/// Source: `Murmur3HashFunction` and `IndexMetadata.calculateNumRoutingShards` of both servers.
pub(crate) fn shard_of(routing: &str, number_of_shards: u32) -> u32 {
    let shards = number_of_shards.max(1);
    let routing_shards = routing_shards(shards);
    let bytes: Vec<u8> = routing.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // The servers use `floorMod` on a signed hash.
    let hash = i64::from(murmur3_x86_32(&bytes).cast_signed());
    let slot = hash.rem_euclid(i64::from(routing_shards));
    u32::try_from(slot).unwrap_or(0) / (routing_shards / shards)
}

/// The default of `number_of_routing_shards` in an index with `shards` shards.
pub(crate) fn routing_shards(shards: u32) -> u32 {
    let log2 = 32 - (shards - 1).leading_zeros();
    shards << 10_u32.saturating_sub(log2).max(1)
}

fn murmur3_x86_32(bytes: &[u8]) -> u32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let mix = |k: u32| k.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    let mut hash = 0_u32;
    let (chunks, tail) = bytes.as_chunks::<4>();
    for chunk in chunks {
        hash = (hash ^ mix(u32::from_le_bytes(*chunk))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        let mut last = [0_u8; 4];
        last[..tail.len()].copy_from_slice(tail);
        hash ^= mix(u32::from_le_bytes(last));
    }
    hash ^= u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_servers() {
        // Vectors from Murmur3HashFunctionTests of the servers.
        let hash = |text: &str| {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            murmur3_x86_32(&bytes)
        };
        assert_eq!(hash("hell"), 0x5a0c_b7c3);
        assert_eq!(hash("hello"), 0xd7c3_1989);
        assert_eq!(hash("hello w"), 0x22ab_2984);
        assert_eq!(hash("hello wo"), 0xdf0c_a123);
        assert_eq!(hash("hello wor"), 0xe774_4d61);
    }

    #[test]
    fn one_shard_takes_all_documents_and_five_share_them() {
        assert!((0..100).all(|i| shard_of(&i.to_string(), 1) == 0));
        let mut seen = [0; 5];
        for i in 0..1000 {
            seen[shard_of(&i.to_string(), 5) as usize] += 1;
        }
        assert!(seen.iter().all(|n| *n > 100), "{seen:?}");
    }
}
