//! How many primary shards an index wants, from how large it will be.

use inrush_sources::CHUNK_BYTES;
use inrush_sources::{Source, SourceError};

/// What a shard is to hold, bytes: in the middle of 10 to 30 GB, which both servers' guides recommend.
const SHARD_BYTES: u64 = 20_000_000_000;

/// The servers' `index.max_number_of_shards`.
const SHARDS_MAX: u64 = 1024;

/// Bytes of an index for each byte of JSON: a rule of thumb, see DESIGN.md.
const INDEX_PER_JSON: f64 = 0.7;

/// Bytes of documents that are looked at.
const SAMPLE_BYTES: u64 = 16 << 20;

/// How large an index will be, as far as that can be told from the sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Bytes of the sources, as they are on disk.
    pub source_bytes: u64,
    /// Bytes of JSON for each of them.
    pub growth: f64,
    /// Bytes of a copy of the index.
    pub index_bytes: u64,
}

impl Estimate {
    /// From the size of the sources and of what they become.
    pub fn new(source_bytes: u64, growth: f64) -> Self {
        Estimate { source_bytes, growth, index_bytes: (source_bytes as f64 * growth * INDEX_PER_JSON) as u64 }
    }

    /// Reads the beginning of `source`, in the calling thread. `None` where its size is not known, as of stdin, or it has no
    /// documents.
    ///
    /// # Errors
    /// [`SourceError`] where it cannot be read.
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
        // What was read to the end is known, however its bytes were counted on the way.
        let read = if complete { source_bytes } else { read };
        Ok((read > 0 && json > 0).then(|| Estimate::new(source_bytes, json as f64 / read as f64)))
    }

    /// So many shards that each holds 10 to 30 GB, or one for less.
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
