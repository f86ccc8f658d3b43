//! The id of a run, which names its requests and its records in a cluster, and the seed of its
//! jitter.

use std::time::UNIX_EPOCH;

use crate::clock;

/// Twelve hexadecimal digits that are unique among the runs of this machine.
pub fn run_id() -> String {
    format!("{:012x}", seed() & 0xffff_ffff_ffff)
}

/// A number that differs between runs.
pub fn seed() -> u64 {
    let clock = clock::date().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    (clock ^ u64::from(std::process::id()).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
