//! The number of primary shards for an index, from an estimate of its size.

use inrush_sources::CHUNK_BYTES;
use inrush_sources::{Source, SourceError};

/// The target size of a shard, bytes: in the middle of 10 to 30 GB, which the guides of both
/// servers recommend.
const SHARD_BYTES: u64 = 20_000_000_000;

/// The servers' `index.max_number_of_shards`.
const SHARDS_MAX: u64 = 1024;

/// Bytes of an index per byte of JSON: a rule of thumb, see DESIGN.md.
const INDEX_PER_JSON: f64 = 0.7;

/// Bytes of documents in the sample.
const SAMPLE_BYTES: u64 = 16 << 20;

/// An estimate of the size of an index, from its sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Bytes of the sources on disk.
    pub source_bytes: u64,
    /// Bytes of JSON per byte of the sources.
    pub growth: f64,
    /// Bytes of one copy of the index.
    pub index_bytes: u64,
}

impl Estimate {
    /// Estimates from the size of the sources and the growth from source to JSON.
    pub fn new(source_bytes: u64, growth: f64) -> Self {
        Estimate { source_bytes, growth, index_bytes: (source_bytes as f64 * growth * INDEX_PER_JSON) as u64 }
    }

    /// Estimates from the beginning of `source`, which it reads in the calling thread. `None` if
    /// the source's size is unknown, as for stdin, or if it has no documents.
    ///
    /// # Errors
    /// [`SourceError`] if the source cannot be read.
    pub fn of(source: &mut dyn Source) -> Result<Option<Self>, SourceError> {
        let Some(source_bytes) = source.describe().bytes_total else { return Ok(None) };
        let (mut read, mut json) = (0, 0);
        let mut complete = false;
        while json < SAMPLE_BYTES {
            let Some(chunk) = source.next_chunk(CHUNK_BYTES)? else {
                complete = true;
                break;
            };
            let block = chunk.into_block();
            read += block.bytes_read;
            json += block.records.iter().map(|record| u64::from(record.end - record.start)).sum::<u64>();
        }
        // The size of a source that was read to its end is known, even if its bytes were counted in
        // another way.
        let read = if complete { source_bytes } else { read };
        Ok((read > 0 && json > 0).then(|| Estimate::new(source_bytes, json as f64 / read as f64)))
    }

    /// The number of shards that hold 10 to 30 GB each, or one for a smaller index.
    pub fn shards(&self) -> u32 {
        let shards = (self.index_bytes + SHARD_BYTES / 2) / SHARD_BYTES;
        // At most 1024.
        shards.clamp(1, SHARDS_MAX) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_hold_ten_to_thirty_gigabytes() {
        let of = |gigabytes: u64| Estimate { source_bytes: 0, growth: 1.0, index_bytes: gigabytes * 1_000_000_000 };
        for (gigabytes, shards) in [(0, 1), (9, 1), (29, 1), (30, 2), (100, 5), (1_000, 50), (1_000_000, 1024)] {
            assert_eq!(of(gigabytes).shards(), shards, "{gigabytes} GB");
        }
        for gigabytes in 10..2_000 {
            let each = gigabytes / u64::from(of(gigabytes).shards());
            assert!((10..=30).contains(&each), "{gigabytes} GB in shards of {each}");
        }
        assert_eq!(Estimate::new(1_000, 2.0).index_bytes, 1_400);
    }
}
