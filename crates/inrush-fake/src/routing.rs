//! The shard of a document, by `murmur3_x86_32` of the routing value in UTF-16LE, as in both
//! servers.
//!
//! The code is separate from that of inrush itself, so that a test with the fake compares two
//! implementations.

use crate::model::settings::Settings;

/// The first version of an index (`index.version.created`) in which a shard is the remainder of the
/// hash: `IndexVersions.MOD_ROUTING_FUNCTION` of Elasticsearch 9.5. Those of OpenSearch are larger.
const REMAINDERS: std::ops::Range<usize> = 9_064_000..100_000_000;

/// How an index places its documents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    shards: u32,
    /// The slots that documents are hashed into. Each shard has the same number of them.
    slots: u32,
    /// The shards that a routing value stands for (`index.routing_partition_size`).
    partition: u32,
    /// `routing_num_shards` of the cluster state. Since Elasticsearch 9.5 no document depends on
    /// it.
    routing_shards: u32,
}

impl Placement {
    /// The placement of an index with these settings.
    pub(crate) fn of(settings: &Settings) -> Self {
        let number = |name: &str, default: usize| settings.number(name, default);
        let shards = u32::try_from(number("index.number_of_shards", 1)).unwrap_or(1).max(1);
        let default = default_routing_shards(shards);
        let given = u32::try_from(number("index.number_of_routing_shards", default as usize)).unwrap_or(default);
        let routing_shards = given.max(shards);
        let partition = u32::try_from(number("index.routing_partition_size", 1)).unwrap_or(1).max(1);
        let slots = match REMAINDERS.contains(&number("index.version.created", 0)) {
            true => shards,
            false => routing_shards,
        };
        Placement { shards, slots, partition, routing_shards }
    }

    /// Primary shards.
    pub(crate) fn shards(&self) -> u32 {
        self.shards
    }

    /// `routing_num_shards` of the cluster state.
    pub(crate) fn routing_shards(&self) -> u32 {
        self.routing_shards
    }

    /// The shard of a document.
    pub(crate) fn shard(&self, id: &str, routing: Option<&str>) -> u32 {
        // The servers use `floorMod` on a signed hash, and their sum wraps.
        let offset = match self.partition {
            1 => 0,
            size => hash(id).rem_euclid(size.cast_signed()),
        };
        let hash = i64::from(hash(routing.unwrap_or(id)).wrapping_add(offset));
        let slot = u32::try_from(hash.rem_euclid(i64::from(self.slots))).unwrap_or(0);
        slot / (self.slots / self.shards)
    }
}

/// The default of `number_of_routing_shards` in an index with `shards` shards
/// (`IndexMetadata.calculateNumRoutingShards` of both servers).
fn default_routing_shards(shards: u32) -> u32 {
    let log2 = 32 - (shards - 1).leading_zeros();
    shards << 10_u32.saturating_sub(log2).max(1)
}

fn hash(text: &str) -> i32 {
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    murmur3_x86_32(&bytes).cast_signed()
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

    fn placement(created: &str, shards: u32) -> Placement {
        let mut settings = Settings::default();
        settings.set("index.version.created", created);
        settings.set("index.number_of_shards", shards.to_string());
        Placement::of(&settings)
    }

    #[test]
    fn one_shard_takes_all_documents_and_five_share_them() {
        for created in ["8537000", "9111000"] {
            assert!((0..100).all(|i| placement(created, 1).shard(&i.to_string(), None) == 0));
            let mut seen = [0; 5];
            for i in 0..1000 {
                seen[placement(created, 5).shard(&i.to_string(), None) as usize] += 1;
            }
            assert!(seen.iter().all(|n| *n > 100), "{seen:?}");
        }
    }

    #[test]
    fn the_version_of_an_index_decides() {
        let shards = |created: &str| -> Vec<u32> {
            (0..10).map(|id: u32| placement(created, 3).shard(&id.to_string(), None)).collect()
        };
        // As Elasticsearch 9.5.3 has placed them.
        assert_eq!(shards("9111000"), [0, 2, 0, 2, 0, 0, 0, 0, 1, 2]);
        assert_eq!(placement("9111000", 3).routing_shards(), 768);
        assert_eq!(shards("8537000"), shards("137277827"));
        assert_ne!(shards("8537000"), shards("9111000"));
    }
}
