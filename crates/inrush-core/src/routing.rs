//! The shard of a document, computed as both servers compute it
//! (`OperationRouting.generateShardId`): `murmur3_x86_32` (UTF-16LE, seed 0) of the routing value,
//! or of the id where there is none; modulo the number of routing shards; divided by the routing
//! shards of one shard.

/// How an index distributes its documents over shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routing {
    shards: u32,
    routing_shards: u32,
    partition_size: u32,
}

/// The largest number of shards of an index (`IndexMetadata.MAX_NUMBER_OF_SHARDS`).
const SHARDS_MAX: u32 = 1024;

impl Routing {
    /// The routing of an index; `None` for numbers that no index can have.
    ///
    /// `shards` is `index.number_of_shards`. `routing_shards` is `index.number_of_routing_shards`;
    /// its default is the one of servers since version 7. `partition_size` is
    /// `index.routing_partition_size`.
    pub fn new(shards: u32, routing_shards: Option<u32>, partition_size: u32) -> Option<Self> {
        if !(1..=SHARDS_MAX).contains(&shards) {
            return None;
        }
        let routing_shards = routing_shards.unwrap_or_else(|| default_routing_shards(shards));
        let possible = routing_shards >= shards && routing_shards.is_multiple_of(shards) && partition_size >= 1;
        possible.then_some(Routing { shards, routing_shards, partition_size })
    }

    /// The number of shards.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// The number of slots that documents are hashed into (`index.number_of_routing_shards`). Each
    /// shard has the same number of slots.
    pub fn routing_shards(&self) -> u32 {
        self.routing_shards
    }

    /// The number of shards that a routing value stands for (`index.routing_partition_size`).
    pub fn partition_size(&self) -> u32 {
        self.partition_size
    }

    /// Whether a routing value stands for several shards, of which the id selects one.
    pub fn is_partitioned(&self) -> bool {
        self.partition_size > 1
    }

    /// The shard of a document with this id and routing value.
    pub fn shard(&self, id: &str, routing: Option<&str>) -> u32 {
        let offset = match self.partition_size {
            1 => 0,
            size => hash(id).rem_euclid(size.cast_signed()),
        };
        // Java's addition wraps as well.
        let hash = hash(routing.unwrap_or(id)).wrapping_add(offset);
        let slot = i64::from(hash).rem_euclid(i64::from(self.routing_shards)) as u32;
        slot / (self.routing_shards / self.shards)
    }

    /// For each shard, the smallest whole number that, as a routing value, leads to it.
    pub fn values(&self) -> Vec<String> {
        let mut values = vec![None; self.shards as usize];
        let mut missing = values.len();
        // About shards x ln(shards) numbers reach every shard.
        for number in 0..u32::MAX {
            let value = number.to_string();
            let place = &mut values[self.shard("", Some(&value)) as usize];
            if place.is_none() {
                *place = Some(value);
                missing -= 1;
            }
            if missing == 0 {
                break;
            }
        }
        values.into_iter().flatten().collect()
    }
}

/// `IndexMetadata.calculateNumRoutingShards`: the largest multiple that allows splits up to 1024
/// shards, and at least one split.
fn default_routing_shards(shards: u32) -> u32 {
    let log2 = u32::BITS - (shards - 1).leading_zeros();
    shards << 10_u32.saturating_sub(log2).max(1)
}

fn hash(text: &str) -> i32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let mix = |k: u32| k.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    let mut hash = 0_u32;
    let mut units = text.encode_utf16();
    let mut len = 0_u32;
    while let Some(first) = units.next() {
        let Some(second) = units.next() else {
            hash ^= mix(u32::from(first));
            len = len.wrapping_add(2);
            break;
        };
        let word = u32::from(first) | u32::from(second) << 16;
        hash = (hash ^ mix(word)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
        len = len.wrapping_add(4);
    }
    hash ^= len;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_servers_own_tests() {
        // Murmur3HashFunctionTests.
        for (text, expected) in [
            ("hell", 0x5a0c_b7c3_u32),
            ("hello", 0xd7c3_1989),
            ("hello w", 0x22ab_2984),
            ("hello wo", 0xdf0c_a123),
            ("hello wor", 0xe774_4d61),
            ("The quick brown fox jumps over the lazy dog", 0xe07d_b09c),
            ("The quick brown fox jumps over the lazy cog", 0x4e63_d2ad),
        ] {
            assert_eq!(hash(text).cast_unsigned(), expected, "{text}");
        }
    }

    #[test]
    fn routing_shards_default_to_the_servers_number() {
        for (shards, routing_shards) in
            [(1, 1024), (2, 1024), (3, 768), (5, 640), (12, 768), (1000, 2000), (1024, 2048)]
        {
            assert_eq!(Routing::new(shards, None, 1), Routing::new(shards, Some(routing_shards), 1), "{shards}");
        }
        for (shards, routing_shards, partition_size) in
            [(0, None, 1), (1025, None, 1), (3, Some(4), 1), (4, Some(2), 1), (3, None, 0)]
        {
            assert_eq!(Routing::new(shards, routing_shards, partition_size), None);
        }
    }

    #[test]
    fn partitions_spread_one_routing_value_over_several_shards() {
        // The offset is added before slots are combined to shards, so it only shows where there are
        // few slots.
        let routing = Routing::new(12, Some(12), 4).unwrap();
        let shards: std::collections::BTreeSet<u32> =
            (0..1000).map(|n| routing.shard(&n.to_string(), Some("r"))).collect();
        assert!((2..=4).contains(&shards.len()), "{shards:?}");
        assert!(routing.is_partitioned());
    }

    #[test]
    fn there_is_a_value_for_every_shard() {
        for shards in [1, 2, 5, 12, 1024] {
            let routing = Routing::new(shards, None, 1).unwrap();
            let values = routing.values();
            assert!(values.iter().enumerate().all(|(shard, value)| routing.shard("x", Some(value)) == shard as u32));
            assert_eq!(values.len(), shards as usize);
        }
    }
}
