//! Which shard of an index a document goes to, by the rule of both servers, so that documents can be parted before they are sent.

/// The shards of an index, as its documents see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routing {
    shards: u32,
    routing_shards: u32,
}

impl Routing {
    /// An index of `shards` primary shards that was made with the server's default of `index.number_of_routing_shards`: `shards` doubled as often
    /// as it stays at 1,024 or below, at least once (`MetadataCreateIndexService.calculateNumRoutingShards` of both servers, from version 7 on).
    ///
    /// `shards`: at least 1; 0 counts as 1.
    pub fn new(shards: u32) -> Routing {
        let shards = shards.max(1);
        let log2 = 32 - (shards - 1).leading_zeros();
        let splits = 10_u32.saturating_sub(log2).max(1);
        Routing { shards, routing_shards: shards << splits }
    }

    /// An index with a `number_of_routing_shards` of its own.
    ///
    /// # Errors
    /// The servers take only multiples of the number of shards, and so do we.
    pub fn with_routing_shards(shards: u32, routing_shards: u32) -> Result<Routing, String> {
        if shards == 0 || routing_shards == 0 || !routing_shards.is_multiple_of(shards) {
            return Err(format!("number_of_routing_shards {routing_shards} is no multiple of {shards} shards"));
        }
        Ok(Routing { shards, routing_shards })
    }

    /// How many shards there are.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// The slots that documents are spread over, of which each shard has the same number: `index.number_of_routing_shards`.
    pub fn routing_shards(&self) -> u32 {
        self.routing_shards
    }

    /// The shard of a document with this routing value, or with this id where it has none, from 0 (`OperationRouting.generateShardId` of
    /// both servers). Not for indices with `routing_partition_size`.
    pub fn shard_of(&self, routing: &str) -> u32 {
        // The servers take the signed hash modulo, rounded down.
        let slot = i64::from(hash(routing).cast_signed()).rem_euclid(i64::from(self.routing_shards));
        // Below `routing_shards`, which is 32 bits wide.
        u32::try_from(slot).unwrap_or_default() / (self.routing_shards / self.shards)
    }
}

/// `murmur3_x86_32` with the seed 0 over the UTF-16 of the text, low byte first (`Murmur3HashFunction` of both servers).
fn hash(text: &str) -> u32 {
    let mut hash = 0_u32;
    let mut length = 0_u32;
    let mut units = text.encode_utf16();
    while let Some(first) = units.next() {
        match units.next() {
            Some(second) => {
                let block = u32::from(first) | u32::from(second) << 16;
                hash = (hash ^ mix(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
                length += 4;
            }
            None => {
                hash ^= mix(u32::from(first));
                length += 2;
            }
        }
    }
    hash ^= length;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

fn mix(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_servers() {
        // Vectors of the servers' own Murmur3HashFunctionTests.
        for (text, expected) in [
            ("hell", 0x5a0c_b7c3),
            ("hello", 0xd7c3_1989),
            ("hello w", 0x22ab_2984),
            ("hello wo", 0xdf0c_a123),
            ("hello wor", 0xe774_4d61),
            ("The quick brown fox jumps over the lazy dog", 0xe07d_b09c),
            ("The quick brown fox jumps over the lazy cog", 0x4e63_d2ad),
        ] {
            assert_eq!(hash(text), expected, "{text}");
        }
    }

    #[test]
    fn routing_shards_are_doubled_up_to_1024() {
        let of = |shards| Routing::new(shards).routing_shards;
        assert_eq!((of(1), of(2), of(3), of(5), of(7)), (1024, 1024, 768, 640, 896));
        assert_eq!((of(512), of(513), of(1024), of(1025)), (1024, 1026, 2048, 2050));
        assert_eq!(Routing::new(0), Routing::new(1));
    }

    #[test]
    fn every_shard_gets_its_part() {
        for shards in [1_u32, 2, 3, 5, 8, 600] {
            let routing = Routing::new(shards);
            let mut seen = vec![0_u32; shards as usize];
            for n in 0..shards * 200 {
                seen[routing.shard_of(&format!("id-{n}")) as usize] += 1;
            }
            assert!(seen.iter().all(|n| (100..350).contains(n)), "{shards}: {seen:?}");
        }
    }

    #[test]
    fn only_multiples_are_taken() {
        assert_eq!(Routing::with_routing_shards(3, 12).unwrap().routing_shards, 12);
        assert!(Routing::with_routing_shards(3, 10).unwrap_err().contains("no multiple"));
        assert!(Routing::with_routing_shards(0, 10).is_err());
    }
}
